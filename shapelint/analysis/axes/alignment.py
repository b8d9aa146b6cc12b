"""How operands line up: axes that must have one size, by broadcasting, joining, or because a sum goes over both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

from shapelint.analysis.evidence import BROADCASTING, axes_of, broadcasts, made_by, tensors_of
from shapelint.domain.dims import ONE, Dim, Origin, Symbol, Truth, compare
from shapelint.domain.record import record
from shapelint.domain.shapes import line_up
from shapelint.domain.values import Axis, Const, Function, Shape, Tensor
from shapelint.events import Entered, Event, Input, Kind, Left, Operation

PATTERNS = frozenset({"einsum", "rearrange", "repeat", "reduce"})
NAMED = frozenset({Origin.AXIS, Origin.SIZE})


@record()
class Facing:
    """Two axes of two operands that must have one size."""

    left: Axis
    right: Axis
    first: Tensor
    second: Tensor


FACING: frozenset[str | Kind] = frozenset({*BROADCASTING, Kind.LOSS, Kind.CONTRACTION, Kind.JOINING})


def faced(event: Operation) -> Iterator[Facing]:
    """The axes of named sizes that an operation lines up: by broadcasting, by joining, or as it sums over both."""
    named = [tensor for tensor in tensors_of(event) if axis_symbols(tensor.shape)]
    for first, second in combinations(named, 2):
        match event.kind:
            case Kind.ELEMENTWISE | Kind.LOSS if broadcasts(event) or event.name.endswith("_loss"):
                pairs = [(pair.left, pair.right) for pair in line_up(first.shape, second.shape).pairs]
            case Kind.CONTRACTION if event.name == "matmul":
                pairs = [(first.shape.axis(-1), second.shape.axis(-2 if second.shape.rank != 1 else -1))]
            case Kind.JOINING if event.name in {"cat", "stack"}:
                pairs = _beside(event, first, second)
            case _:
                return
        yield from (Facing(a, b, first, second) for a, b in pairs if a is not None and b is not None)


def displaced(event: Operation) -> Iterator[Facing]:
    """Axes of an operand with fewer axes that it shares with the other one, where they stand elsewhere: (n,) on (n, d).

    One of the two sizes that meet is an axis that its author named; no size of them is just unknown.
    """
    operands = tensors_of(event)
    if event.kind is not Kind.ELEMENTWISE or event.problem is not None or len(operands) != 2:
        return
    short, long = sorted(operands, key=lambda operand: operand.shape.least_rank)
    if short.shape.rank is None or short.shape.rank >= long.shape.least_rank:
        return
    for pair in line_up(long.shape, short.shape).pairs:
        if pair.left is None or pair.right is None or ONE in (pair.left.size, pair.right.size):
            continue
        there, own = pair.left.size, pair.right.size
        is_named = own.symbol is not None and {o.origin for o in (*own.symbols(), *there.symbols())} <= NAMED
        is_axis = axis_symbol(own) is not None or axis_symbol(there) is not None
        if is_named and is_axis and own in long.shape.sizes and compare(own, there) is Truth.UNDECIDED:
            yield Facing(pair.left, pair.right, long, short)


def _beside(event: Operation, first: Tensor, second: Tensor) -> list[tuple[Axis | None, Axis | None]]:
    """The axes of two pieces that are joined, without the one along which they are."""
    rank = first.shape.rank
    if rank is None or rank != second.shape.rank:
        return []
    along = axes_of(event) or (0,)
    kept = range(rank) if event.name == "stack" else set(range(rank)) - {axis % rank for axis in along}
    return [(first.shape.head[index], second.shape.head[index]) for index in kept]


def axis_symbol(size: Dim) -> Symbol | None:
    """The named axis that a size is, or that cuts it off: x[:t] has t rows, or fewer."""
    symbol = size.symbol
    if symbol is not None and symbol.derivation is not None and symbol.derivation.function in {"min", "slice"}:
        if any(operand.symbol is None and operand.symbols() for operand in symbol.derivation.operands):
            return None  # x[t - n : t] has n rows
        named = {axis_symbol(operand) for operand in symbol.derivation.operands} - {None}
        return named.pop() if len(named) == 1 else None
    return symbol if symbol is not None and symbol.origin is Origin.AXIS and symbol.derivation is None else None


def axis_symbols(shape: Shape) -> tuple[Symbol, ...]:
    """The names of a shape's axes, of those that have one."""
    return tuple(symbol for axis in shape.axes if (symbol := axis_symbol(axis.size)) is not None)


def used_together(event: Operation) -> Iterator[frozenset[Symbol]]:
    """Pairs of names that stand for two axes of one tensor, or in the annotations of one signature."""
    declared: list[Symbol] = []
    for operand in event.operands:
        names = axis_symbols(operand.shape)
        yield from _pairs(names)
        if isinstance(maker := made_by(operand), Input) and maker.declaration is not None:
            declared.extend(names)
    yield from _pairs(declared)


def _pairs(names: Iterable[Symbol]) -> Iterator[frozenset[Symbol]]:
    yield from (frozenset((a, b)) for a, b in combinations(names, 2) if a.scope == b.scope and a.name != b.name)


def birthplaces(events: Iterable[Event]) -> dict[object, Function | None]:
    """By scope of names: the function in which they first occur; None for the letters of a pattern."""
    places: dict[object, Function | None] = {}
    stack: list[Function] = []
    letters: set[str] = set()
    for event in events:
        match event:
            case Entered(function=function):
                stack.append(function)
            case Left() if stack:
                stack.pop()
            case Operation(operands=operands, result=result):
                if event.name == "einsum" and isinstance(pattern := event.arguments.get("equation"), Const):
                    letters.update(str(pattern.value))
                for symbol in (symbol for operand in operands for symbol in axis_symbols(operand.shape)):
                    is_letter = symbol.name in letters
                    places.setdefault(symbol.scope, stack[-1] if stack and not is_letter else None)
                if event.name in PATTERNS and isinstance(result, Tensor):
                    for symbol in axis_symbols(result.shape):
                        places.setdefault(symbol.scope, None)
    return places
