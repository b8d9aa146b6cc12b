"""The algebra of sizes: what it says of symbols holds for all numbers they may stand for."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import product as assignments

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shapelint.domain.dims import (
    FUNCTIONS,
    ONE,
    Dim,
    Origin,
    Symbol,
    Truth,
    anonymous,
    as_dim,
    axis,
    broadcast_size,
    compare,
    data_dependent,
    derive,
    differs_by_default,
    divide,
    evaluate,
    meant_different,
    product,
    size,
    substitute,
)

# Equal names on purpose: origin and scope alone tell some of them apart.
SYMBOLS = (
    Symbol("n", Origin.AXIS, "f"),
    Symbol("n", Origin.AXIS, "g"),
    Symbol("n", Origin.SIZE, "f"),
    Symbol("k", Origin.ANONYMOUS, ("f", 1)),
)
N, M, WIDTH, K = map(as_dim, SYMBOLS)
Sizes = Mapping[Symbol, int]
SIZES: st.SearchStrategy[Sizes] = st.fixed_dictionaries({s: st.integers(1, 6) for s in SYMBOLS})
quick = settings(derandomize=True, max_examples=120, deadline=None)


@dataclass(frozen=True)
class Term:
    """A size, and the number that it ought to be; None where Python itself raises."""

    dim: Dim
    number: Callable[[Sizes], int]

    def __repr__(self) -> str:
        return str(self.dim)


def _leaf(symbol: Symbol) -> Term:
    return Term(as_dim(symbol), lambda sizes: sizes[symbol])


def _number(value: int) -> Term:
    return Term(as_dim(value), lambda _: value)


def _apply(function: Callable[..., object], number: Callable[..., int], *terms: Term) -> Term:
    dim = function(*(t.dim for t in terms))
    assert isinstance(dim, Dim)
    return Term(dim, lambda sizes: number(*(t.number(sizes) for t in terms)))


RING = (operator.add, operator.sub, operator.mul)
LEAVES = st.one_of(st.sampled_from(SYMBOLS).map(_leaf), st.integers(-3, 4).map(_number))


def _combined(inner: st.SearchStrategy[Term], functions: tuple[Callable[..., int], ...]) -> st.SearchStrategy[Term]:
    return st.tuples(st.sampled_from(functions), inner, inner).map(lambda t: _apply(t[0], t[0], t[1], t[2]))


POLYNOMIALS = st.recursive(LEAVES, lambda inner: _combined(inner, RING), max_leaves=6)


def _derived(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    named = st.tuples(st.sampled_from(["max", "min", "broadcast"]), inner, inner)
    return st.one_of(
        _combined(inner, RING),
        _combined(inner, (operator.floordiv, operator.mod)),
        named.map(lambda t: _apply(lambda a, b: derive(t[0], a, b), FUNCTIONS[t[0]], t[1], t[2])),
    )


TERMS = st.recursive(LEAVES, _derived, max_leaves=6)


def number_of(term: Term, sizes: Sizes) -> int:
    """The expected number. Assignments for which the expression divides by zero are no sizes at all."""
    try:
        return term.number(sizes)
    except ZeroDivisionError:
        assume(False)
        raise


def value_of(dim: Dim, sizes: Sizes) -> int:
    """The number of a dim. What is made up (for a division by the number zero) has none."""
    try:
        return evaluate(dim, sizes)
    except (ZeroDivisionError, KeyError):
        assume(False)
        raise


@quick
@given(TERMS, SIZES)
def test_arithmetic_agrees_with_python(term: Term, sizes: Sizes) -> None:
    expected = number_of(term, sizes)
    assert value_of(term.dim, sizes) == expected


@quick
@given(POLYNOMIALS, POLYNOMIALS, POLYNOMIALS)
def test_polynomials_are_a_ring(x: Term, y: Term, z: Term) -> None:
    a, b, c = x.dim, y.dim, z.dim
    assert a + b == b + a
    assert a * b == b * a
    assert (a + b) + c == a + (b + c)
    assert (a * b) * c == a * (b * c)
    assert a * (b + c) == a * b + a * c
    assert a + 0 == a * 1 == 0 + a == 1 * a == a
    assert a - a == as_dim(0) == a * 0
    assert as_dim(0) - (-a) == a == b - (b - a)
    assert 3 - a == -(a - 3)


@quick
@given(st.lists(TERMS, min_size=2, max_size=5).flatmap(lambda ts: st.tuples(st.just(ts), st.permutations(ts))))
def test_equal_polynomials_are_one_object_whatever_the_order(lists: tuple[list[Term], list[Term]]) -> None:
    for function in (operator.add, operator.mul):
        first, second = (reduce(function, (t.dim for t in terms)) for terms in lists)
        assert first == second
        assert hash(first) == hash(second)
        assert str(first) == str(second)


def test_derived_symbols_of_two_scopes_have_one_order() -> None:
    left, right = N // 2, M // 2
    assert str(left) == str(right)
    assert left != right
    assert left + right == right + left
    assert left * right == right * left
    assert compare(left * right, right * left) is Truth.SAME


@quick
@given(POLYNOMIALS, POLYNOMIALS)
def test_polynomials_are_equal_only_if_their_numbers_are(x: Term, y: Term) -> None:
    grid = [dict(zip(SYMBOLS, values)) for values in assignments((1, 2, 5), repeat=len(SYMBOLS))]
    numbers = [(evaluate(x.dim, sizes), evaluate(y.dim, sizes)) for sizes in grid]
    if x.dim == y.dim:
        assert all(a == b for a, b in numbers)
    constant = x.dim.value
    assert constant is None or {a for a, _ in numbers} == {constant}


@settings(quick, max_examples=250)
@given(TERMS, TERMS, SIZES)
def test_compare_never_contradicts_an_assignment(x: Term, y: Term, sizes: Sizes) -> None:
    a, b = number_of(x, sizes), number_of(y, sizes)
    truth = compare(x.dim, y.dim)
    assert truth is compare(y.dim, x.dim)
    assert truth is not Truth.SAME or a == b
    assert truth is not Truth.DIFFERENT or a != b


@pytest.mark.parametrize(
    ("a", "b", "truth"),
    [
        (N + N, 2 * N, Truth.SAME),
        (N * M, M * N, Truth.SAME),
        (N // 2, N // 2, Truth.SAME),
        (as_dim(3), as_dim(4), Truth.DIFFERENT),
        (N, N + 1, Truth.DIFFERENT),
        (N, as_dim(0), Truth.DIFFERENT),
        (N + M, ONE, Truth.DIFFERENT),
        (2 * N, as_dim(3), Truth.DIFFERENT),
        (4 * N, 2 * M + 1, Truth.DIFFERENT),
        (N, as_dim(3), Truth.UNDECIDED),
        (N, M, Truth.UNDECIDED),
        (N, ONE, Truth.UNDECIDED),
        (N // 2, as_dim(0), Truth.UNDECIDED),
        (N * M, N + M, Truth.UNDECIDED),
        (N + N // 2, N, Truth.UNDECIDED),
    ],
)
def test_compare(a: Dim, b: Dim, truth: Truth) -> None:
    assert compare(a, b) is truth


@quick
@given(POLYNOMIALS, POLYNOMIALS)
def test_division_is_exact(x: Term, y: Term) -> None:
    quotient = divide(x.dim, y.dim)
    assert quotient is None or quotient * y.dim == x.dim
    if len(y.dim.terms) == 1:
        assert divide(x.dim * y.dim, y.dim) == x.dim


@quick
@given(POLYNOMIALS, st.sampled_from([N + 1, N - M, 2 * N + 3, N * M + WIDTH, K + N]))
def test_division_undoes_multiplication_by_a_sum(x: Term, divisor: Dim) -> None:
    assert divide(x.dim * divisor, divisor) == x.dim


def test_division() -> None:
    assert 6 * N * M // (2 * N) == 3 * M
    assert (N * N - 1) // (N + 1) == N - 1
    assert as_dim(0) == N * WIDTH % WIDTH
    assert divide(N, as_dim(2)) is None
    assert divide(N, as_dim(0)) is None
    assert divide(N, M) is None
    assert as_dim(7) // 2 == as_dim(3)
    assert as_dim(7) % 2 == ONE
    assert (N // 2).symbol is not None


REPLACEMENTS = st.dictionaries(st.sampled_from(SYMBOLS), POLYNOMIALS, max_size=3)


@settings(quick, max_examples=250)
@given(TERMS, REPLACEMENTS, SIZES)
def test_substitution_is_evaluation_with_the_facts(term: Term, facts: dict[Symbol, Term], sizes: Sizes) -> None:
    known = {symbol: evaluate(fact.dim, sizes) for symbol, fact in facts.items()}
    assume(all(value >= 1 for value in known.values()))
    expected = number_of(term, {**sizes, **known})
    replaced = substitute(term.dim, {symbol: fact.dim for symbol, fact in facts.items()})
    if "broadcast" not in str(term.dim):  # of sizes that do not broadcast it is no size
        assert value_of(replaced, sizes) == expected


def test_substitution_inside_derived_symbols() -> None:
    (n,) = N.symbols()
    assert substitute(N // 2, {n: as_dim(7)}) == as_dim(3)
    assert substitute(N // 2, {n: 2 * M}) == M
    assert substitute(N % 2, {n: 2 * M}) == as_dim(0)
    assert substitute(N // 2 + N, {n: M}) == M // 2 + M
    assert substitute(M // 2, {n: ONE}) == M // 2
    assert substitute(broadcast_size(N, M), {n: ONE}) == M
    assert substitute(derive("max", N, as_dim(3)), {n: as_dim(5)}) == as_dim(5)


@quick
@given(TERMS, TERMS, SIZES)
def test_broadcast_size(x: Term, y: Term, sizes: Sizes) -> None:
    a, b = number_of(x, sizes), number_of(y, sizes)
    assume(min(a, b) >= 1 and (a == b or 1 in (a, b)))
    both = broadcast_size(x.dim, y.dim)
    assert both == broadcast_size(y.dim, x.dim)
    assert value_of(both, sizes) == max(a, b)


def test_broadcast_size_of_what_is_known() -> None:
    assert broadcast_size(N, ONE) == broadcast_size(ONE, N) == broadcast_size(N, N) == N
    assert broadcast_size(N, as_dim(3)) == broadcast_size(as_dim(3), N) == as_dim(3)
    assert broadcast_size(N + 1, M) == N + 1
    assert broadcast_size(N, M) not in (N, M)


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (as_dim(0), "0"),
        (N, "n"),
        (-N, "-n"),
        (N * K + 1, "k*n + 1"),
        (2 * N - 3 * K, "-3*k + 2*n"),
        (N * N - 1, "n*n - 1"),
        (N // 2, "n // 2"),
        ((N + 1) // 2, "(n + 1) // 2"),
        (N // 2 * K, "k*(n // 2)"),
        (N % 4, "n % 4"),
        (derive("**", as_dim(2), N), "2**n"),
        (derive("max", N, as_dim(3)), "max(3, n)"),
        (derive("slice", ONE, K, ONE, N), "len(n[1:k])"),
    ],
)
def test_spelling(dim: Dim, text: str) -> None:
    assert str(dim) == text


def test_functions_of_numbers_are_numbers() -> None:
    assert derive("slice", ONE, as_dim(9), as_dim(2), as_dim(6)) == as_dim(3)
    assert derive("min", as_dim(3), as_dim(2)) == as_dim(2)
    assert derive("**", as_dim(2), as_dim(5)) == as_dim(32)
    assert derive("max", N, N) == derive("min", N, N, N) == N
    assert derive("max", N, M) == derive("max", M, N)
    assert derive("max", N, N, M) != N


def test_functions_that_give_no_integer_are_unknown() -> None:
    for dim in (derive("**", as_dim(2), as_dim(-1)), as_dim(3) // 0, as_dim(3) % 0):
        assert dim.symbol is not None
        assert dim.symbol.origin is Origin.ANONYMOUS


@pytest.mark.parametrize(
    ("a", "b", "meant"),
    [
        (axis("b", "f"), axis("t", "f"), True),
        (axis("b", "f"), axis("b", "f"), False),
        (axis("b", "f"), axis("t", "g"), False),
        (axis("b", "f"), size("t", "f"), False),
        (size("d_model"), size("width"), False),
        (axis("b", "f"), axis("t", "f") + 1, False),
        (axis("b", "f"), as_dim(3), False),
        (data_dependent("f", "b"), anonymous("f", "t"), False),
    ],
)
def test_meant_different(a: Dim, b: Dim, meant: bool) -> None:
    assert meant_different(a, b) is meant is meant_different(b, a)


def test_defaults_are_no_facts_but_may_differ() -> None:
    width, height = size("width", "f", default=64), size("height", "f", default=32)
    assert compare(width, as_dim(32)) is Truth.UNDECIDED
    assert differs_by_default(width, height)
    assert differs_by_default(width, as_dim(32))
    assert not differs_by_default(width, 2 * height)
    assert not differs_by_default(width, size("depth", "f"))
    assert not differs_by_default(as_dim(3), as_dim(4))
    assert width == size("width", "f")


def test_evaluate_needs_every_size() -> None:
    (n,) = N.symbols()
    assert evaluate(N // 2 + N, {n: 5}) == 7
    with pytest.raises(KeyError):
        evaluate(N + M, {n: 5})


def test_product() -> None:
    assert product([]) == ONE
    assert product([N, M, as_dim(2)]) == 2 * N * M
