"""Columns (n, 1) that meet vectors: operands that make a table of each other, also of a loss or an assignment."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product, takewhile

from shapelint.analysis import syntax
from shapelint.analysis.axes.alignment import axis_symbol
from shapelint.analysis.axes.outer import taken_over
from shapelint.analysis.evidence import (
    PLACE_KEEPING,
    axes_of,
    elementwise_sources,
    feeds,
    identity,
    made_by,
    maker_event,
    within_call,
)
from shapelint.analysis.index import events_of, once_per_file, operations
from shapelint.analysis.uses import part_of
from shapelint.domain.dims import ONE, Dim, Origin
from shapelint.domain.record import record
from shapelint.domain.shapes import line_up, never_equal
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Axis,
    Float,
    Int,
    Maker,
    Run,
    Shape,
    Slice,
    Tensor,
    Tuple,
    Value,
    maker_of,
)
from shapelint.events import Carried, Event, Grown, Kind, Operation
from shapelint.ops.indexing import indexed
from shapelint.ops.op import ShapeError, Unknowable

SQUARES = frozenset({"pow", "square", "mul"})
PER_ELEMENT = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "l2_loss", "log_cosh"})
LAYERS = frozenset({"linear", "dropout", "batch_norm", "layer_norm"})
MOST_LAYERS = 32
MADE_BY_THE_WAY = frozenset({Maker.LAYER, Maker.KEEPDIM, Maker.GATHER, Maker.DATASET, Maker.ANNOTATION})
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


def moved_table(a: Tensor, b: Tensor) -> Table | None:
    """(b, t, 1) against (b, t): beside the column that a layer or a reduction left, all other axes are moved by one."""
    for column, rest in ((a, b), (b, a)):
        axes, count = column.shape.axes, rest.shape.rank
        if count is None or count < 2 or column.shape.rank != count + 1 or axes[-1].maker not in MADE_BY_THE_WAY:
            continue
        sizes = rest.shape.sizes
        if axes[-1].size == ONE and column.shape.sizes[:-1] == sizes and len({*sizes, ONE}) > 2:
            return Table(column, rest, -1, sizes[-1], line_up(column.shape, rest.shape).shape)
    return None


def open_table(a: Tensor, b: Tensor) -> Table | None:
    """A layer's one output (..., 1) against a vector: of one sample it would be (1,), beside as many numbers."""
    for column, vector in ((a, b), (b, a)):
        shape, count = column.shape, vector.shape.axis(0)
        is_open = shape.run is not None and not shape.head and [axis.size for axis in shape.tail] == [ONE]
        if not is_open or shape.tail[0].maker is not Maker.LAYER or vector.shape.rank != 1 or count is None:
            continue
        if count.maker is Maker.DATASET or axis_symbol(count.size) is not None or count.size.value not in {None, 1}:
            return Table(column, vector, -1, count.size, Shape((count,), Run(), (count,)))
    return None


def tally_table(events: Sequence[Event], a: Tensor, b: Tensor) -> Table | None:
    """Discounted returns, each put to a list in its round, against a layer's one output (..., 1)."""
    for column, vector in ((a, b), (b, a)):
        last, shape = column.shape.axis(-1), vector.shape
        if last is None or last.size != ONE or last.maker is not Maker.LAYER or column.shape.rank == 1:
            continue
        if shape.run is None or len(shape.head) != 1 or shape.tail or not _is_of_tallies(events, vector):
            continue
        vector = replace(vector, shape=Shape(shape.head))
        return Table(column, vector, -1, shape.head[0].size, Shape(shape.head, Run(), shape.head))
    return None


def _is_of_tallies(events: Sequence[Event], vector: Tensor) -> bool:
    """Whether a tensor was made of a list of tallies: torch takes no tensors there, and few have arrays."""
    for source in elementwise_sources(vector):
        event = made_by(within_call(source))
        if isinstance(event, Operation) and event.name == "tensor" and event.callee.startswith("torch."):
            given = re.match(r"[\w.]+\(([\w.]+)", event.site.text)
            return given is not None and given[1] in _tallies(events)[0]
    return False


@once_per_file
def _tallies(events: Sequence[Event]) -> Iterator[frozenset[str]]:
    """The lists of what began as a number and is computed anew in each round: `total = reward + gamma * total`."""
    carried = {identity(e.after) for e in events_of(events, Carried) if isinstance(e.before, Int | Float)}
    yield frozenset(event.name for event in events_of(events, Grown) if identity(event.value) in carried)


def label_table(a: Tensor, b: Tensor) -> Table | None:
    """Labels (b, 1) of a data set, compared with predictions of which nobody says that they are as many."""
    table = table_of(a, b, may_be_alike)
    return table if table is not None and table.maker is Maker.DATASET and table.vector.shape.rank == 1 else None


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
    if table.maker is Maker.KEEPDIM:
        return any(
            isinstance(e := made_by(v), Operation) and are_of_pairs(maker, e) for v in elementwise_sources(table.vector)
        )
    if table.maker not in {Maker.INSERTED, Maker.RESHAPE} or maker.kind is Kind.CONTRACTION:
        return False  # x @ w.reshape(-1, 1) is a column of its own
    if syntax.stands_in(maker.site, event.site):
        return True
    if any(is_gradient(v) for v in elementwise_sources(table.column)):
        return False  # of what a network makes of the column: the axis is the network's
    before = maker.arguments.get("x", table.column)
    return any(identity(v) == identity(before) for v in elementwise_sources(table.vector)) or (
        is_grid(before) and is_grid(table.vector)
    )


def is_averaged(events: Sequence[Event], event: Operation, table: Table) -> bool:
    """Whether a mean of all pairs is taken for which nobody makes a table.

    That of products is the product of two means. That of a layer's column less a row of data is a loss.
    """
    is_product = event.name == "mul" and not table.is_explicit
    is_loss = event.name == "sub" and table.is_explicit and is_row_by_chance(table)
    reduction = taken_over(events, event) if is_product or is_loss else None
    if reduction is None or reduction.name != "mean" or (is_product and made_by(reduction.values[0]) is not event):
        return False
    return reduction.arguments.get("dim", NONE) == NONE


def is_row_by_chance(table: Table) -> bool:
    """Whether a list of one list meets a layer's (n, 1): nobody put an axis into either, or turned one over."""
    row = made_by(within_call(table.vector))
    if table.maker is not Maker.LAYER or not isinstance(row, Operation) or row.name not in {"tensor", "array"}:
        return False
    return any(isinstance(value, Tuple) for value in row.arguments.values())


def are_of_pairs(kept: Operation, other: Operation) -> bool:
    """Whether two reductions are made to meet each other: |x|^2 + |y|^2 - 2 x.y, means of rows and of columns.

    Sums of sums are terms of a loss.
    """
    if kept.name != other.name:
        return False
    x, y = kept.arguments.get("x", UNKNOWN), other.arguments.get("x", UNKNOWN)
    if axes_of(kept) != axes_of(other) or identity(x) == identity(y):
        return True
    return kept.name not in {"sum", "mean"} or not any(
        isinstance(e := made_by(v), Operation) and e.name in {"add", "sub"} for v in (x, y)
    )


def is_gradient(value: Value) -> bool:
    part = part_of(maker_of(value))
    return part is not None and isinstance(part[0], Operation) and part[0].name == "grad"


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
    leaves = [within_call(v) for v in elementwise_sources(value) if not feeds(v)]
    return all(isinstance(e := made_by(v), Operation) and e.name in GRIDS for v in leaves)


def mismatched_loss(event: Event, events: Sequence[Event] = ()) -> Table | None:
    """How input and target of a loss stretch each other, unless both were given their axes on purpose."""
    if not isinstance(event, Operation) or event.kind is not Kind.LOSS:
        return None
    x, target = event.arguments.get("x"), event.arguments.get("target")
    if not isinstance(x, Tensor) or not isinstance(target, Tensor):
        return None
    found = (table_of(x, target), batch_table(x, target), moved_table(x, target), table_of(x, target, may_be_alike))
    table = next(filter(None, (*found, open_table(x, target))), None) or tally_table(events, x, target)
    return None if table is None or (table.is_explicit and table.maker is Maker.INSERTED) else table


def spread_loss(event: Event) -> Table | None:
    """A column (b, 1) that a loss compares with each of the numbers (b, a) of a sample: torch warns of it.

    Not with those that it is the mean or the norm of.
    """
    if not isinstance(event, Operation) or event.name not in PER_ELEMENT or event.problem is not None:
        return None
    x, target = event.arguments.get("x"), event.arguments.get("target")
    if not isinstance(x, Tensor) or not isinstance(target, Tensor):
        return None
    for column, table in ((x, target), (target, x)):
        rank, last = table.shape.rank, column.shape.axis(-1)
        if rank is None or rank < 2 or column.shape.rank != rank or last is None or last.size != ONE:
            continue
        size, samples = table.shape.head[-1].size, table.shape.sizes[:-1]
        makers = {a.maker for v in elementwise_sources(column) if isinstance(v, Tensor) and (a := v.shape.axis(-1))}
        if column.shape.sizes[:-1] != samples or set(samples) == {ONE} or makers.isdisjoint(MADE_BY_THE_WAY):
            continue
        if (never_equal(size, ONE) or axis_symbol(size) is not None) and not _is_statistic_of(column, table):
            return Table(column, table, -1, size, table.shape)
    return None


def _is_statistic_of(column: Tensor, table: Tensor) -> bool:
    maker = maker_event(column, -1)
    reduced = maker.arguments.get("x") if isinstance(maker, Operation) and maker.kind is Kind.REDUCTION else None
    sources = {identity(value) for value in elementwise_sources(table)}
    return reduced is not None and any(identity(value) in sources for value in elementwise_sources(reduced))


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
