"""What `x[index]` is, and what may be stored there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from shapelint.domain.dims import ONE, Dim, anonymous, as_dim, broadcast_size, data_dependent
from shapelint.domain.record import record
from shapelint.domain.shapes import line_up, never_equal
from shapelint.domain.values import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    Axis,
    Const,
    Int,
    Library,
    Maker,
    Many,
    Run,
    Shape,
    Slice,
    Tensor,
    Tuple,
    Unknown,
    Value,
    maker_of,
)
from shapelint.events import Input, Kind, Operation
from shapelint.ops.op import Op, ShapeError, Unknowable, is_none, tensor
from shapelint.ops.runs import ends, joined
from shapelint.ops.slices import slice_size

INSERTED = Axis(ONE, maker=Maker.INSERTED)
BOOLEAN = "bool"
KIND = Kind.INDEXING


# One item of an index, with what it makes of the axes it consumes.


@record()
class New:
    """None: a new axis."""


@record()
class Rest:
    """Ellipsis: the axes that no other item is for."""


@record()
class Range:
    """A slice of one axis."""

    start: Value
    stop: Value
    step: Value


@record()
class Pick:
    """An integer: its axis is gone."""

    at: Dim | None


@record()
class Array:
    """An array of integers, or a mask over `consumes` axes."""

    shape: Shape
    consumes: int = 1
    mask: Shape | None = None


Item = New | Rest | Range | Pick | Array


def indexed(x: Tensor, index: Value) -> Shape:
    """The shape of `x[index]`. ShapeError for an axis or element that x certainly does not have."""
    items = list(_items(index, x))
    needed = sum(_consumed(item) for item in items)
    rank = x.shape.rank
    if rank is not None and needed > rank:
        if rank == 0:
            if may_be_object(x) or may_be_of_distribution(x) or isinstance(index, Unknown):
                raise Unknowable("it need not be one number, or the index may be the empty tuple")
            raise ShapeError("it is a single number, which has no axes to index: .item() gives it")
        raise ShapeError(f"{needed} indices for {x.shape}, which has {rank} axes")
    if not any(isinstance(item, Rest) for item in items):
        items.append(Rest())
    if sum(isinstance(item, Rest) for item in items) > 1:
        raise ShapeError("an index has one ellipsis at most")
    at = next(i for i, item in enumerate(items) if isinstance(item, Rest))
    before, after = items[:at], items[at + 1 :]
    front, middle, back = ends(x.shape, sum(map(_consumed, before)), sum(map(_consumed, after)))
    cells = [*_apply(before, front), middle, *_apply(after, back)]
    return _arranged(cells, x)


def may_be_object(x: Tensor) -> bool:
    """Whether what numpy holds need not be numbers: np.loadtxt(path, dtype=str), np.empty(n, dtype=object)."""
    is_element = isinstance(x.made_by, Operation) and x.made_by.name == "getitem"
    return x.dtype in {None, "object"} and (x.library == "numpy" or (x.library is None and is_element))


def may_be_of_distribution(x: Tensor) -> bool:
    """Whether a method gave it that says all that is known of its receiver: the mean of a distribution has axes."""
    event = x.made_by
    if not isinstance(event, Operation) or event.kind is not Kind.REDUCTION or len(event.values) != 1:
        return False
    owner = event.values[0]
    is_open = isinstance(owner, Tensor) and owner.shape.rank is None and not owner.shape.least_rank
    return is_open and x.library is None and not isinstance(owner.made_by, Operation)  # type: ignore[union-attr]


def _items(index: Value, x: Tensor) -> Iterator[Item]:
    match index:
        case Tuple(items=items, kind=kind) if kind != "list":
            for item in items:
                yield _item(item, x)
        case _:
            yield _item(index, x)


def _item(value: Value, x: Tensor) -> Item:
    match value:
        case Const(value=None):
            return New()
        case Library(name="numpy.newaxis" | "jax.numpy.newaxis" | "torch.newaxis"):
            return New()
        case Const(value=v) if v is Ellipsis:
            return Rest()
        case Slice(start, stop, step):
            return Range(start, stop, step)
        case Int(dim=dim):
            return Pick(dim)
        case Tensor():
            return _array(value, x.shape.rank)
        case Tuple() | Many():
            return _sequence(value, x.library)
        case Unknown(made_by=Input(kind="iteration") as item):
            return Array(Shape((), Run("", item)))  # `x[:, i] for i in indices`: no axis is left, or those of i
    raise Unknowable(f"indexed by {type(value).__name__}")


def _sequence(value: Value, library: str | None) -> Item:
    """A list is the array that it becomes: of integers, or a mask whose ones are counted here."""
    leaves = list(_leaves(value))
    nested = isinstance(value, Tuple) and any(isinstance(item, Tuple | Many) for item in value.items)
    if nested and library != "numpy":
        raise Unknowable("a list of lists is a tuple to some")
    shape = tensor(value).shape
    if all(isinstance(leaf, Int) or is_whole(leaf) for leaf in leaves):
        return Array(shape)
    if all(leaf in (TRUE, FALSE) for leaf in leaves):
        return Array(Shape((Axis(as_dim(leaves.count(TRUE))),)), len(shape.head), shape)
    raise Unknowable("a list of tensors or slices")


def is_whole(value: Value) -> bool:
    """Whether a value is one whole number that an array holds."""
    match value:
        case Tensor(shape=Shape(head=(), run=None), dtype=str() as dtype):
            return dtype.startswith("int")
    return False


def _leaves(value: Value) -> Iterator[Value]:
    match value:
        case Tuple(items=items):
            for item in items:
                yield from _leaves(item)
        case Many(item=item):
            yield from _leaves(item if item not in (TRUE, FALSE) else UNKNOWN)
        case _:
            yield value


def _array(value: Tensor, most: int | None) -> Item:
    """`most` is how many axes a mask may have at the most."""
    shape, dtype = value.shape, value.dtype
    if dtype == BOOLEAN:
        if shape.rank is None:
            raise Unknowable("a mask of unknown rank")
        return Array(Shape((Axis(data_dependent(_mask_identity(value))),)), shape.rank, shape)
    if most is not None and shape.rank is not None and shape.rank > max(most, 1):
        return Array(shape)
    if dtype is None or not dtype.startswith(("int", "uint")):
        # A mask and an array of integers agree only in what one axis becomes: one axis.
        if shape.rank != 1:
            raise Unknowable("a mask, or integers?")
        return Array(Shape((Axis(anonymous(object())),)))
    if dtype == "uint8" and value.library in {"torch", None}:
        raise Unknowable("a mask in old code")
    return Pick(None) if shape.rank == 0 else Array(shape)


def _mask_identity(value: Tensor) -> object:
    """One and the same mask picks equally many."""
    return value.made_by if value.made_by is not None else object()


def _consumed(item: Item) -> int:
    match item:
        case New() | Rest():
            return 0
        case Array(consumes=consumes):
            return consumes
    return 1


Cell = Axis | Pick | Array | Shape


def _apply(items: Sequence[Item], axes: tuple[Axis, ...]) -> Iterator[Cell]:
    """What each item makes of its axes. Picks and arrays stay: they are arranged together."""
    rest = list(axes)
    for item in items:
        own, rest = rest[: _consumed(item)], rest[_consumed(item) :]
        match item:
            case New():
                yield INSERTED
            case Range(start, stop, step):
                yield sliced(own[0], start, stop, step)
            case Pick(at):
                _check_element(at, own[0])
                yield item
            case Array(mask=mask):
                _check_mask(mask, own)
                yield item


def _check_element(at: Dim | None, axis: Axis) -> None:
    if at is None or at.value is None or not axis.size.value:
        return  # also of an empty array, which is to grow before anybody takes something out
    if not -axis.size.value <= at.value < axis.size.value:
        raise ShapeError(f"index {at} of an axis of {axis}")


def _check_mask(mask: Shape | None, axes: Sequence[Axis]) -> None:
    for own, other in zip(axes, mask.head if mask else ()):
        if never_equal(own.size, other.size):
            raise ShapeError(f"a mask of {mask} over axes of {', '.join(map(str, axes))}")


def _arranged(cells: Sequence[Cell], x: Tensor) -> Shape:
    """Arrays broadcast together. Side by side they stand where they were, apart they come first."""
    arrays = [cell for cell in cells if isinstance(cell, Array)]
    if not arrays:
        return _concatenated([cell for cell in cells if not isinstance(cell, Pick)])
    if len(arrays) > 1 and any(array.shape.run is not None for array in arrays):
        raise Unknowable("an index of unknown rank")
    places = {_group(cells, like_torch) for like_torch in _conventions(x)}
    if len(places) > 1:
        raise Unknowable("numpy and torch place the arrays differently")
    shape = reduce(_broadcast, (array.shape for array in arrays))
    place = places.pop()
    kept: list[Axis | Shape] = []
    for i, cell in enumerate(cells):
        if i == place:
            kept.append(shape)
        if isinstance(cell, Axis | Shape):
            kept.append(cell)
    return _concatenated([shape, *kept] if place < 0 else kept)


def _conventions(x: Tensor) -> tuple[bool, ...]:
    """Whether torch's rule holds: an integer is no array, and an ellipsis for no axes stands between none."""
    match x.library:
        case "torch":
            return (True,)
        case "numpy" | "jax":
            return (False,)
    return True, False


def _group(cells: Sequence[Cell], like_torch: bool) -> int:
    """Where the arrays' axes go: the place of the first one, or -1 for the front, when others stand between."""
    kinds = (Array,) if like_torch else (Array, Pick)
    there = [i for i, cell in enumerate(cells) if isinstance(cell, kinds)]
    between = cells[there[0] : there[-1] + 1]
    nothing = Shape() if like_torch else None
    apart = any(isinstance(cell, Axis | Shape) and cell != nothing for cell in between)
    return -1 if apart else there[0]


def _broadcast(a: Shape, b: Shape) -> Shape:
    long, short = (a.head, b.head) if len(a.head) >= len(b.head) else (b.head, a.head)
    extra = len(long) - len(short)
    for x, y in zip(long[extra:], short):
        if ONE not in (x.size, y.size) and never_equal(x.size, y.size):
            raise ShapeError(f"indices of {a} and {b} do not broadcast")
    merged = (x if x.size == y.size else Axis(broadcast_size(x.size, y.size)) for x, y in zip(long[extra:], short))
    return Shape((*long[:extra], *merged))


def _concatenated(cells: Sequence[Cell]) -> Shape:
    result = Shape()
    for cell in cells:
        match cell:
            case Axis():
                result = joined((), result, (cell,))
            case Shape(run=None):
                result = joined((), result, cell.head)
            case Shape():
                result = Shape((*result.head, *cell.head), cell.run, cell.tail)
    return result


def sliced(axis: Axis, start: Value, stop: Value, step: Value) -> Axis:
    """The axis that a slice leaves."""
    if all(map(is_none, (start, stop))) and step in (NONE, Int(ONE)):
        return axis
    size, _ = slice_size(start, stop, step, axis.size)
    if size == axis.size:
        return Axis(size, maker=axis.maker) if step not in (NONE, Int(ONE)) else axis
    return Axis(size, maker=Maker.SLICE if size == ONE else None)


def store(x: Tensor, where: Value, value: Value) -> None:
    """ShapeError where `x[where] = value` can never work: value stretches to the region, not the region to value."""
    region = indexed(x, where)
    if region.rank == 0 and x.dtype is None and x.library in {None, "numpy"}:
        return  # an array of objects holds anything
    shape = tensor(value).shape
    while shape.head and shape.head[0].size == ONE and region.rank is not None and shape.least_rank > region.rank:
        shape = Shape(shape.head[1:], shape.run, shape.tail)
    if region.rank is not None and shape.least_rank > region.rank:
        if not any(never_equal(axis.size, ONE) for axis in shape.axes[: shape.least_rank - region.rank]):
            return  # they may be 1, and are left out then
        raise ShapeError(f"a value of {shape} does not fit into {region}")
    for pair in line_up(shape, region).pairs:
        if pair.left and pair.right and pair.left.size != ONE and never_equal(pair.left.size, pair.right.size):
            raise ShapeError(f"a value of {shape} does not fit into {region}: {pair.left} against {pair.right}")


def getitem(x: Value, index: Value) -> Shape:
    """x[index]"""
    array = _array_only(x)
    found = indexed(array, index)
    if array.dtype == "object" and found.rank == 0:
        raise Unknowable("an element may be any object")
    return found


def setitem(x: Value, index: Value, value: Value) -> Shape:
    """x[index] = value: what x is after it."""
    array = _array_only(x)
    is_any = may_be_object(array) and (indexed(array, index).rank == 0 or is_cut_out_of(value, array))
    if not is_any:  # an element may be any object, and one that is cut and put back is a text
        store(array, index, value)
    return array.shape


def is_cut_out_of(value: Value, array: Tensor) -> bool:
    """`names[i] = names[i][:-2]`: part of one of its own elements."""
    cut = maker_of(value)
    element = maker_of(cut.arguments["x"]) if isinstance(cut, Operation) and cut.name == "getitem" else None
    if not isinstance(element, Operation) or element.name != "getitem" or array.made_by is None:
        return False
    return maker_of(element.arguments["x"]) is array.made_by


def updated(x: Value, index: Value, values: Value = NONE) -> Shape:
    """jax's x.at[index].set(values): x with another content."""
    array = _array_only(x)
    if not is_none(values):
        store(array, index, values)
    return array.shape


def _array_only(x: Value) -> Tensor:
    if isinstance(x, Tensor):
        return x
    raise Unknowable("no tensor")


UPDATES = ("set", "add", "subtract", "multiply", "mul", "divide", "power", "min", "max")

OPS: tuple[Op, ...] = (
    Op("getitem", getitem, ("operator.getitem(x, index)", "jax.Array.at.get(x, index)"), KIND, "same"),
    Op("setitem", setitem, ("operator.setitem(x, index, value)",), KIND, "same"),
    Op("set", updated, tuple(f"jax.Array.at.{name}(x, index, values)" for name in UPDATES), KIND, "same"),
    Op("apply", updated, ("jax.Array.at.apply(x, index, func)",), KIND, "same"),
)
