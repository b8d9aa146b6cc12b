"""How operands line up: a column and a vector that make a table of each other, and axes that must have one size."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, product, takewhile

from shapelint.analysis.evidence import (
    BROADCASTING,
    PLACE_KEEPING,
    axes_of,
    broadcasts,
    elementwise_sources,
    feeds,
    identity,
    made_by,
    maker_event,
    tensors_of,
)
from shapelint.analysis.index import operations
from shapelint.domain.dims import ONE, Dim, Origin, Symbol, Truth, compare
from shapelint.domain.record import record
from shapelint.domain.shapes import line_up, never_equal
from shapelint.domain.values import UNKNOWN, Axis, Const, Function, Int, Maker, Run, Shape, Slice, Tensor, Tuple, Value
from shapelint.events import Entered, Event, Input, Kind, Left, Operation
from shapelint.ops.indexing import indexed
from shapelint.ops.op import ShapeError, Unknowable

PATTERNS = frozenset({"einsum", "rearrange", "repeat", "reduce"})
SQUARES = frozenset({"pow", "square", "mul"})
LAYERS = frozenset({"linear", "dropout", "batch_norm", "layer_norm"})
MOST_LAYERS = 32
NAMED = frozenset({Origin.AXIS, Origin.SIZE})
GRIDS = frozenset({"arange", "linspace", "logspace", "geomspace"})


@record()
class Table:
    """Two operands that stretch each other along one size: a column (n, 1) and a vector (n,) become (n, n).

    `place` is the column's axis of size 1. `is_explicit`: the vector has an axis of size 1 of its own.
    """

    column: Tensor
    vector: Tensor
    place: int
    size: Dim
    shape: Shape
    is_explicit: bool = False

    @property
    def is_anonymous(self) -> bool:
        return any(symbol.origin is Origin.ANONYMOUS for symbol in self.size.symbols())

    @property
    def maker(self) -> Maker | None:
        axis = self.column.shape.axis(self.place)
        return axis.maker if axis is not None else None


def table_of(a: Tensor, b: Tensor, alike: Callable[[Dim, Dim], bool] = operator.eq) -> Table | None:
    """The table that two operands of one length make of each other; None where they do not, or may not.

    `alike` says which lengths count as one.
    """
    if not has_one(a) and not has_one(b):
        return None
    lined_up = line_up(a.shape, b.shape)
    pairs = lined_up.pairs
    for i, j in product(range(len(pairs)), repeat=2):
        if not (pairs[i].stretches_left and pairs[j].stretches_right):
            continue
        long_left, long_right = pairs[j].left, pairs[i].right
        if long_left is None or long_right is None or not alike(long_left.size, long_right.size):
            continue
        if pairs[i].left is None:
            return Table(b, a, _place(b, j, len(pairs)), long_left.size, lined_up.shape)
        place = _place(a, i, len(pairs))
        return Table(a, b, place, long_left.size, lined_up.shape, pairs[j].right is not None)
    return None


def may_be_alike(a: Dim, b: Dim) -> bool:
    """Two lengths of which nobody said that they differ: one of them comes with data of unknown length."""
    unnamed = any(s.origin in {Origin.ANONYMOUS, Origin.DATA} for dim in (a, b) for s in dim.symbols())
    return unnamed and not never_equal(a, b)


def averaged_tables(events: Sequence[Event]) -> Iterator[tuple[Operation, Table]]:
    """Differences of a column and a vector of unknown lengths that are squared and averaged over all pairs.

    That comes to two variances and the difference of two means: nobody asks for it.
    """
    for reduction in operations(events, {"mean", "sum"}):
        square = made_by(reduction.arguments.get("x", UNKNOWN))
        if "dim" in reduction.explicit or not isinstance(square, Operation) or square.name not in SQUARES:
            continue
        difference = made_by(square.operands[0]) if square.operands else None
        if isinstance(difference, Operation) and difference.name == "sub" and len(difference.operands) == 2:
            table = table_of(*difference.operands, may_be_alike)
            if table is not None and table.maker not in {None, Maker.INSERTED}:
                yield difference, table


def batch_table(a: Tensor, b: Tensor) -> Table | None:
    """A layer's column against a vector as long as the batch that the layer was given.

    `critic(states)` is (..., 1) where only the first axis of the states is known; that axis is the vector's. Or the
    one channel of pictures of which it is not known whether they are a batch, against (b, h, w).
    """
    for column, vector in ((a, b), (b, a)):
        if (table := _channel_table(column, vector)) is not None:
            return table
        axis = column.shape.axis(-1)
        if column.shape.run is None or vector.shape.rank != 1 or axis is None or axis.maker is not Maker.LAYER:
            continue
        size = vector.shape.head[0].size
        if axis.size == ONE and size != ONE and size in _leading_sizes(maker_event(column, -1)):
            lead = Axis(size)
            return Table(column, vector, -1, size, Shape((lead,), Run(), (lead,)))
    return None


def _channel_table(column: Tensor, vector: Tensor) -> Table | None:
    tail = column.shape.tail
    if column.shape.run is None or len(tail) < 3 or vector.shape.rank != len(tail) or tail[0].maker is not Maker.LAYER:
        return None
    samples = vector.shape.head[0].size
    if tail[0].size != ONE or (axis_symbol(samples) is None and samples.value in {None, 1}):
        return None
    return Table(column, vector, -len(tail), samples, Shape((), Run(), vector.shape.head))


def _leading_sizes(event: Event | None) -> Iterator[Dim]:
    """The first axis of what a layer was given, and of what the layers before it were."""
    for _ in range(MOST_LAYERS):
        if not isinstance(event, Operation) or not (event.name in LAYERS or event.kind in PLACE_KEEPING):
            return
        x = event.arguments.get("x")
        if not isinstance(x, Tensor):
            return
        if x.shape.head:
            yield x.shape.head[0].size
        event = made_by(x)


def has_one(tensor: Tensor) -> bool:
    return any(axis.size == ONE for axis in tensor.shape.axes)


def _place(operand: Tensor, index: int, count: int) -> int:
    """The axis of an operand that stands in one of `count` pairs: from the left if it stands before a run."""
    shape = operand.shape
    before_run = shape.run is not None and count == shape.least_rank and index < len(shape.head)
    return index if before_run else index - count


def is_meant(event: Operation, table: Table) -> bool:
    """Whether the author asked for the table: an axis inserted for it, a grid, a value against itself."""
    if table.is_explicit:
        return True
    maker = maker_event(table.column, table.place)
    if not isinstance(maker, Operation):
        return False
    if is_channel(maker, table):
        return True
    if table.maker is Maker.KEEPDIM:  # |x|^2 + |y|^2 - 2 x.y
        return any(
            isinstance(e := made_by(v), Operation) and e.name == maker.name for v in elementwise_sources(table.vector)
        )
    if table.maker not in {Maker.INSERTED, Maker.RESHAPE} or maker.kind is Kind.CONTRACTION:
        return False  # x @ w.reshape(-1, 1) is a column of its own
    if maker.site.text in event.site.text:
        return True
    before = maker.arguments.get("x", table.column)
    return any(identity(v) == identity(before) for v in elementwise_sources(table.vector)) or (
        is_grid(before) and is_grid(table.vector)
    )


def is_channel(maker: Operation, table: Table) -> bool:
    """Whether one of as many channels is cut out as it is spread over: rgba[..., 3:4] * background of 4."""
    x, index = maker.arguments.get("x"), maker.arguments.get("index")
    if maker.name != "getitem" or not isinstance(x, Tensor) or not isinstance(index, Tuple):
        return False
    behind = list(takewhile(lambda item: isinstance(item, Int | Slice), reversed(index.items)))
    slices = [place for place, item in enumerate(behind) if isinstance(item, Slice)]
    if not -len(slices) <= table.place < 0:
        return False  # the axis was not cut, but inserted
    axis = x.shape.axis(-slices[-table.place - 1] - 1)
    return axis is not None and axis.size == table.size and table.size.value is not None


def is_grid(value: Value) -> bool:
    """Whether a value depends on nothing but arange and its like."""
    leaves = [v for v in elementwise_sources(value) if not feeds(v)]
    return all(isinstance(e := made_by(v), Operation) and e.name in GRIDS for v in leaves)


def mismatched_loss(event: Event) -> Table | None:
    """How input and target of a loss stretch each other, unless both were given their axes on purpose."""
    if not isinstance(event, Operation) or event.kind is not Kind.LOSS:
        return None
    x, target = event.arguments.get("x"), event.arguments.get("target")
    if not isinstance(x, Tensor) or not isinstance(target, Tensor):
        return None
    table = table_of(x, target) or batch_table(x, target)
    return None if table is None or (table.is_explicit and table.maker is Maker.INSERTED) else table


@record()
class Misfit:
    """A column (n, 1) that is written where one axis is: it fits only if n is 1."""

    column: Tensor
    region: Shape


def column_on_row(event: Operation) -> Misfit | None:
    """`out[i:j] = layer(x)` with a vector `out`; the layer, or the items of a data set, made the column."""
    x, index, value = (event.arguments.get(name) for name in ("x", "index", "value"))
    if event.problem is not None or index is None or not isinstance(x, Tensor) or not isinstance(value, Tensor):
        return None
    last = value.shape.axis(-1)
    if value.shape.rank != 2 or last is None or last.size != ONE:
        return None
    try:
        region = indexed(x, index)
    except (Unknowable, ShapeError):
        return None
    count = value.shape.head[0].size
    if region.rank != 1 or count == ONE:
        return None
    is_column = last.maker in {Maker.LAYER, Maker.DATASET, Maker.KEEPDIM} or count == region.head[0].size
    return Misfit(value, region) if is_column else None


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
