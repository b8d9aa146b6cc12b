"""Names: what they are bound to, on which path, and what is known of sizes there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import gcd
from typing import Any

from shapelint.domain.dims import Dim, Origin, Symbol, Truth, as_dim, compare, divide, substitute
from shapelint.domain.joins import filled, join, resolve_shape
from shapelint.domain.record import record
from shapelint.domain.values import UNKNOWN, Deferred, Run, Shape, Tensor, Union, Value, options


@dataclass(slots=True, eq=False)
class Scope:
    """The names of a module, class body or function, and the scope around it."""

    names: dict[str, Value] = field(default_factory=dict)
    parent: Scope | None = None
    is_class: bool = False
    origin: Any = None  # for a module's scope: its tree and file name
    is_comprehension: bool = False

    def file(self) -> Any:
        """Tree and file name of the module that this scope belongs to."""
        scope: Scope | None = self
        while scope is not None:
            if scope.origin is not None:
                return scope.origin
            scope = scope.parent
        return None

    def lookup(self, name: str) -> Value | None:
        """What a name is bound to here or around; class bodies are not visible from their methods."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names and (scope is self or not scope.is_class):
                return named(scope.names, name)
            scope = scope.parent
        return None


def named(names: dict[str, Value], name: str) -> Value | None:
    """What a name is bound to; an import is followed when it is first asked for."""
    value = names.get(name)
    if type(value) is Deferred:
        names[name] = UNKNOWN  # where modules import one another in a circle
        value = names[name] = value.load()
    return value


@record()
class Path:
    """The state of one path: bindings of the innermost scope, facts on sizes and runs, and whether it goes on."""

    names: dict[str, Value]
    facts: dict[Symbol, Dim]
    shapes: dict[Run, Shape]  # what runs of unknown axes turned out to be
    alive: bool = True


def meet(paths: list[Path], scope: object) -> Path:
    """The state after several paths come together; `scope` identifies the place."""
    living = [path for path in paths if path.alive]
    if not living:
        return Path(dict(paths[0].names), dict(paths[0].facts), dict(paths[0].shapes), alive=False)
    first, *others = living
    names, facts, shapes = dict(first.names), dict(first.facts), dict(first.shapes)
    for other in others:
        for name, value in other.names.items():
            if name not in names:
                names[name] = value
            elif names[name] is not value:
                a, b = loaded(names[name]), loaded(value)
                names[name] = join(reopened(a, b, first), reopened(b, a, other), (scope, name))
        facts = dict(common_facts(facts, other.facts))
        shapes = dict(common_shapes(shapes, other.shapes))
    return Path(names, facts, shapes)


def common_facts(facts: dict[Symbol, Dim], others: dict[Symbol, Dim]) -> Iterator[tuple[Symbol, Dim]]:
    """What two paths know of sizes: of n = 2*m and n = 8, as m is 4 on that path, the former."""
    for symbol, dim in facts.items():
        other = others.get(symbol)
        if other is not None and (other == dim or substitute(dim, others) == other):
            yield symbol, dim
        elif other is not None and substitute(other, facts) == dim:
            yield symbol, other


def common_shapes(shapes: dict[Run, Shape], others: dict[Run, Shape]) -> Iterator[tuple[Run, Shape]]:
    """What two paths know of runs of axes: of (n, ...) and (n,), as there is no more on that path, the former."""
    for run, shape in shapes.items():
        other = others.get(run)
        if other is not None and (other == shape or filled(shape, others) == other):
            yield run, shape
        elif other is not None and filled(other, shapes) == shape:
            yield run, other


def reopened(value: Value, like: Value, path: Path) -> Value:
    """What is (n,) by what is known on its path alone, in the open form (n, ...) that another path has it in."""
    if not path.shapes or type(value) not in OPEN or type(like) not in OPEN:
        return value
    open_shapes = {
        resolve_shape(filled(option.shape, path.shapes), path.facts): option.shape
        for option in options(like)
        if type(option) is Tensor and option.shape.run in path.shapes
    }
    if not open_shapes:
        return value
    again = [
        replace(option, shape=open_shapes.get(option.shape, option.shape)) if type(option) is Tensor else option
        for option in options(value)
    ]
    return Union(tuple(again)) if type(value) is Union else again[0]


OPEN = frozenset({Tensor, Union})


def loaded(value: Value) -> Value:
    return value.load() if type(value) is Deferred else value


RANK = {Origin.ANONYMOUS: 0, Origin.DATA: 1, Origin.SIZE: 2, Origin.AXIS: 3}


def compare_numbers(a: Dim, b: Dim) -> Truth:
    """`compare` for what need not be sizes: a parameter or an index may be 0 or less, an axis is at least 1."""
    truth = compare(a, b)
    if truth is Truth.DIFFERENT and (a - b).value is None:
        origins = {symbol.origin for symbol in (*a.symbols(), *b.symbols())}
        return truth if origins <= {Origin.AXIS, Origin.ANONYMOUS} else Truth.UNDECIDED
    return truth


def learn(facts: dict[Symbol, Dim], a: Dim, b: Dim) -> bool:
    """Record that two sizes are equal; False where they can never be. The vaguer symbol gives way."""
    a, b = substitute(a, facts), substitute(b, facts)
    match compare_numbers(a, b):
        case Truth.SAME:
            return True
        case Truth.DIFFERENT:
            return False
    for symbol, other in sorted(_solvable(*_without_factor(a, b)), key=lambda pair: RANK[pair[0].origin]):
        fact = {symbol: other}
        for known, dim in facts.items():
            facts[known] = substitute(dim, fact)
        facts[symbol] = other
        break
    return True


def _without_factor(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """2*n = 2*m says no more than n = m."""
    factor = as_dim(gcd(*(coefficient for _, coefficient in (*a.terms, *b.terms))))
    left, right = divide(a, factor), divide(b, factor)
    return (left, right) if left is not None and right is not None else (a, b)


def _solvable(a: Dim, b: Dim) -> Iterator[tuple[Symbol, Dim]]:
    for left, right in ((a, b), (b, a)):
        symbol = left.symbol
        if symbol is not None and symbol.derivation is None and as_dim(symbol) not in map(as_dim, right.symbols()):
            yield symbol, right
