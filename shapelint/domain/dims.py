"""Symbolic sizes: integer polynomials over symbols, and what can be said of two of them.

A size is at least 1. Two sizes are the same, different, or undecided; only the first two are facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum
from functools import lru_cache
from math import gcd, prod
from operator import attrgetter

from shapelint.domain.record import record
from shapelint.domain.spelling import FUNCTIONS, derived_name, spell
from shapelint.domain.tokens import token


class Truth(Enum):
    SAME = "same"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


class Origin(Enum):
    """Where a symbol comes from; it decides what two different names mean (see `meant_different`)."""

    AXIS = "axis"  # named by its author as an axis: jaxtyping name, einsum letter, `b, t = x.shape`
    SIZE = "size"  # an integer parameter, attribute or config value
    DATA = "data"  # depends on the data: a boolean mask, `nonzero`
    ANONYMOUS = "anonymous"  # not known, but equal to itself

    __hash__ = object.__hash__  # members are singletons; Enum's own hash is a Python function


@record(own_hash=True)
class Symbol:
    """One unknown size. `scope` tells apart equal names of different functions, tensors or classes.

    `derivation` is set when the symbol stands for an expression without polynomial form, such as
    `n // 2`: the same expression is then the same symbol. `default` is the value of the parameter's
    default, if it has one: `def f(width=64)`; it is no fact about the size.
    """

    name: str
    origin: Origin
    scope: object = None
    derivation: Derivation | None = field(default=None, compare=False)
    default: int | None = field(default=None, compare=False)
    hashed: int = field(default=0, init=False, compare=False, repr=False)
    key: tuple[str, str, int] = field(default=("", "", 0), init=False, compare=False, repr=False)  # to sort by

    def __post_init__(self) -> None:
        scope = token(self.scope if self.derivation is None else self.derivation)
        object.__setattr__(self, "scope", scope)
        object.__setattr__(self, "hashed", hash((self.name, self.origin, scope)))
        object.__setattr__(self, "key", (self.name, self.origin._value_, scope or 0))

    def __hash__(self) -> int:  # asked for many times as often as symbols are made
        return self.hashed

    def __repr__(self) -> str:
        return self.name


@record()
class Derivation:
    """`function` applied to `operands`; FUNCTIONS has what it computes."""

    function: str
    operands: tuple[Dim, ...]


Monomial = tuple[Symbol, ...]
by_key = attrgetter("key")


@record()
class Dim:
    """A size in canonical form: the sum of `coefficient * monomial`, sorted, without zero terms."""

    terms: tuple[tuple[Monomial, int], ...]

    @property
    def value(self) -> int | None:
        """The number, if it is one."""
        match self.terms:
            case ():
                return 0
            case (((), value),):
                return value
        return None

    @property
    def symbol(self) -> Symbol | None:
        """The symbol, if this is one symbol and nothing else."""
        match self.terms:
            case (((symbol,), 1),):
                return symbol
        return None

    def symbols(self) -> Iterable[Symbol]:
        for monomial, _ in self.terms:
            yield from monomial

    def __add__(self, other: Dim | int) -> Dim:
        added = as_dim(other)
        if not added.terms:
            return self
        return _collect([*self.terms, *added.terms]) if self.terms else added

    def __neg__(self) -> Dim:
        return Dim(tuple((monomial, -coefficient) for monomial, coefficient in self.terms))

    def __sub__(self, other: Dim | int) -> Dim:
        return _collect([*self.terms, *((monomial, -number) for monomial, number in as_dim(other).terms)])

    def __mul__(self, other: Dim | int) -> Dim:
        factor = as_dim(other)
        if factor.terms == ONE.terms:
            return self
        if self.terms == ONE.terms:
            return factor
        if len(self.terms) == len(factor.terms) == 1:  # the frequent case
            (left, a), (right, b) = self.terms[0], factor.terms[0]
            return Dim(((tuple(sorted(left + right, key=by_key)) if left and right else left or right, a * b),))
        return _collect(
            (tuple(sorted(left + right, key=by_key)), a * b) for left, a in self.terms for right, b in factor.terms
        )

    def __floordiv__(self, other: Dim | int) -> Dim:
        divisor = as_dim(other)
        quotient = divide(self, divisor)
        return quotient if quotient is not None else derive("//", self, divisor)

    def __mod__(self, other: Dim | int) -> Dim:
        divisor = as_dim(other)
        if divide(self, divisor) is not None:
            return as_dim(0)
        return derive("%", self, divisor)

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other: int) -> Dim:
        return as_dim(other) - self

    def __str__(self) -> str:
        return " ".join(spell(self.terms)) or "0"

    __repr__ = __str__


@lru_cache(maxsize=4096)
def _constant(value: int) -> Dim:
    return Dim((((), value),) if value else ())


def as_dim(value: Dim | Symbol | int) -> Dim:
    match value:
        case Dim():
            return value
        case Symbol():
            return Dim((((value,), 1),))
    return _constant(value)


ONE = as_dim(1)


def axis(name: str, scope: object = None) -> Dim:
    return as_dim(Symbol(name, Origin.AXIS, scope))


def size(name: str, scope: object = None, default: int | None = None) -> Dim:
    return as_dim(Symbol(name, Origin.SIZE, scope, default=default))


def anonymous(scope: object, name: str = "?") -> Dim:
    """The unknown size that belongs to `scope` (a fresh object, or what determines it) and `name`."""
    return as_dim(Symbol(name, Origin.ANONYMOUS, scope))


def data_dependent(scope: object, name: str = "?") -> Dim:
    return as_dim(Symbol(name, Origin.DATA, scope))


def derive(function: str, *operands: Dim) -> Dim:
    """The size `function(*operands)`: a number where all operands are, else one symbol per expression."""
    values = [operand.value for operand in operands]
    if all(value is not None for value in values):
        try:
            number = FUNCTIONS[function](*values)
        except (ZeroDivisionError, ValueError, TypeError, OverflowError):
            number = None
        return as_dim(number) if isinstance(number, int) else anonymous((function, operands))  # 2**-1 is no size
    if function in {"max", "min", "broadcast"} and len(set(operands)) == 1:
        return operands[0]
    if function in {"max", "min"}:
        operands = tuple(sorted(operands, key=_dim_key))
    derivation = Derivation(function, operands)
    return as_dim(Symbol(derived_name(derivation), _common_origin(operands), None, derivation))


def broadcast_size(a: Dim, b: Dim) -> Dim:
    """The size of two lined-up axes after broadcasting, if the operation is legal."""
    if a == b or b == ONE:
        return a
    if a == ONE:
        return b
    certain = [dim for dim in (a, b) if compare(dim, ONE) is Truth.DIFFERENT]
    if certain:  # the other is 1 or equal, or this would have raised
        return min(certain, key=lambda dim: (dim.value is None, _dim_key(dim)))
    return derive("broadcast", *sorted((a, b), key=_dim_key))


def divide(dividend: Dim, divisor: Dim) -> Dim | None:
    """The exact quotient, or None where there is no polynomial one."""
    if len(divisor.terms) != 1:
        return _divide_by_sum(dividend, divisor)
    ((monomial, coefficient),) = divisor.terms
    terms = []
    for factors, value in dividend.terms:
        rest = _without(factors, monomial)
        if rest is None or value % coefficient:
            return None
        terms.append((rest, value // coefficient))
    return _collect(terms)


def _divide_by_sum(dividend: Dim, divisor: Dim) -> Dim | None:
    """Polynomial long division on the leading term; None when a rest stays."""
    if not divisor.terms:
        return None
    quotient, rest = as_dim(0), dividend
    leading = Dim((_leading(divisor),))
    for _ in range(len(dividend.terms) + 4):
        if not rest.terms:
            return quotient
        step = divide(Dim((_leading(rest),)), leading)
        if step is None:
            return None
        quotient, rest = quotient + step, rest - step * divisor
    return None


def _leading(dim: Dim) -> tuple[Monomial, int]:
    return max(dim.terms, key=lambda term: (len(term[0]), [s.key for s in term[0]]))


def compare(a: Dim, b: Dim) -> Truth:
    """Same, different, or undecided, given that every symbol is at least 1."""
    if a == b:
        return Truth.SAME
    if _is_free(a, b) or _is_free(b, a):
        return Truth.UNDECIDED  # what comes out below, and the frequent case
    difference = a - b
    if difference.value is not None:
        return Truth.DIFFERENT
    if _is_positive(difference) or _is_positive(-difference) or _never_zero_mod(difference):
        return Truth.DIFFERENT
    return Truth.UNDECIDED


def _is_free(a: Dim, b: Dim) -> bool:
    """Whether one is a product of symbols, and the other such a product as well or a number from 1 on."""
    if len(a.terms) != 1 or len(b.terms) != 1:
        return False
    (monomial, coefficient), (other, number) = a.terms[0], b.terms[0]
    return bool(monomial) and coefficient == 1 and (number == 1 if other else number >= 1)


def _is_positive(dim: Dim) -> bool:
    """True when every value of the symbols (each at least 1) makes it positive."""
    constant = sum(c for monomial, c in dim.terms if not monomial)
    rest = [(monomial, c) for monomial, c in dim.terms if monomial]
    if any(s.derivation for monomial, _ in rest for s in monomial):
        return False  # n // 2 may be 0
    return all(c > 0 for _, c in rest) and constant + sum(c for _, c in rest) > 0


def _never_zero_mod(dim: Dim) -> bool:
    """`2*n - 3` is never 0: the constant is no multiple of what divides all other terms."""
    constant = sum(c for monomial, c in dim.terms if not monomial)
    divisor = gcd(*(c for monomial, c in dim.terms if monomial))
    return divisor > 1 and constant % divisor != 0


def differs_by_default(a: Dim, b: Dim) -> bool:
    """True when every symbol of both has a default and these defaults make the sizes differ."""
    symbols = {*a.symbols(), *b.symbols()}
    if not symbols or any(s.default is None for s in symbols):
        return False
    defaults = {s: s.default for s in symbols if s.default is not None}
    return evaluate(a, defaults) != evaluate(b, defaults)


def meant_different(a: Dim, b: Dim) -> bool:
    """True for two axes that one author named differently in one scope ("n" and "d"); num_bins counts the bins."""
    left, right = a.symbol, b.symbol
    return (
        left is not None
        and right is not None
        and left.origin is right.origin is Origin.AXIS
        and left.scope == right.scope
        and left.name != right.name
        and _counted(left.name) != _counted(right.name)
    )


def _counted(name: str) -> str:
    return name.removeprefix("num_").removeprefix("n_")


def evaluate(dim: Dim, sizes: Mapping[Symbol, int]) -> int:
    """The number for given sizes; KeyError when a symbol has none."""
    return sum(c * prod(_evaluate_symbol(s, sizes) for s in monomial) for monomial, c in dim.terms)


def _evaluate_symbol(symbol: Symbol, sizes: Mapping[Symbol, int]) -> int:
    if symbol in sizes:
        return sizes[symbol]
    if symbol.derivation is None:
        raise KeyError(symbol)
    operands = (evaluate(operand, sizes) for operand in symbol.derivation.operands)
    return FUNCTIONS[symbol.derivation.function](*operands)


def substitute(dim: Dim, facts: Mapping[Symbol, Dim]) -> Dim:
    """`dim` with symbols replaced by what is known of them, also inside derived symbols."""
    if not any(s in facts or s.derivation for monomial, _ in dim.terms for s in monomial):
        return dim
    result = as_dim(0)
    for monomial, coefficient in dim.terms:
        term = as_dim(coefficient)
        for symbol in monomial:
            term = term * _substitute_symbol(symbol, facts)
        result = result + term
    return result


def _substitute_symbol(symbol: Symbol, facts: Mapping[Symbol, Dim]) -> Dim:
    if symbol in facts:
        return facts[symbol]
    match symbol.derivation:
        case Derivation(function, operands):
            replaced = tuple(substitute(operand, facts) for operand in operands)
            if replaced == operands:
                return as_dim(symbol)
            match function, replaced:
                case "//", (a, b):
                    return a // b
                case "%", (a, b):
                    return a % b
                case "broadcast", (a, b):
                    return broadcast_size(a, b)
            return derive(function, *replaced)
    return as_dim(symbol)


def product(dims: Iterable[Dim]) -> Dim:
    result = ONE
    for dim in dims:
        result = result * dim
    return result


def _collect(terms: Iterable[tuple[Monomial, int]]) -> Dim:
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    kept = [(m, c) for m, c in total.items() if c]
    if len(kept) > 1:
        kept.sort(key=lambda term: (-len(term[0]), [s.key for s in term[0]]))
    return Dim(tuple(kept))


def _without(factors: Monomial, divisor: Monomial) -> Monomial | None:
    rest = list(factors)
    for symbol in divisor:
        if symbol not in rest:
            return None
        rest.remove(symbol)
    return tuple(rest)


def _dim_key(dim: Dim) -> list[tuple[list[tuple[str, str, int]], int]]:
    return [([s.key for s in monomial], coefficient) for monomial, coefficient in dim.terms]


def _common_origin(operands: Iterable[Dim]) -> Origin:
    origins = {s.origin for operand in operands for s in operand.symbols()}
    for origin in (Origin.ANONYMOUS, Origin.DATA, Origin.SIZE):
        if origin in origins:
            return origin
    return Origin.SIZE
