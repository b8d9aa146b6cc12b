"""Ops that join several tensors into one: cat, stack, hstack, meshgrid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from shapelint.domain.dims import ONE, Dim, anonymous, as_dim
from shapelint.domain.shapes import never_equal
from shapelint.domain.values import NONE, Axis, Const, Int, Many, Shape, Tensor, Tuple, Unknown, Value
from shapelint.events import Kind
from shapelint.ops.axes import check_axis, edited
from shapelint.ops.dtypes import result_dtype
from shapelint.ops.layout import at_least, unsqueeze
from shapelint.ops.op import (
    DtypeRule,
    Op,
    ShapeError,
    Unknowable,
    axis_index,
    flag,
    integer,
    is_none,
    size_or_any,
    tensor,
)
from shapelint.ops.reshaping import flatten
from shapelint.ops.runs import ends, hidden, rounds, unknown_size, with_rank


def cat(tensors: Value, dim: Value = NONE) -> Shape:
    """(…, n, …), (…, m, …) -> (…, n + m, …), equal in the other axes."""
    return _cat(tensors, 0 if is_none(dim) else integer(dim))


def concatenate(tensors: Value, dim: Value = Int(as_dim(0))) -> Shape:  # noqa: B008  (frozen)
    """np.concatenate: like cat; flat for axis=None."""
    if is_none(dim):
        match tensors:
            case Tuple(items=items):
                return _cat(Tuple(tuple(Tensor(flatten(item)) for item in items)), 0)
        return Shape((Axis(anonymous(object())),))
    return _cat(tensors, integer(dim))


def _cat(tensors: Value, dim: int) -> Shape:
    match tensors:
        case Tuple(items=items) if items:
            if any(map(_is_zero, items)):
                raise Unknowable("0 stands where the first round of a loop puts a tensor")
            shapes = [tensor(item).shape for item in items]
            return _cat_shapes([s for s in shapes if s.sizes != (as_dim(0),)] or shapes, dim)
        case Many(item=item, length=length):
            return edited(tensor(item).shape, (dim,), lambda axis: (_many_times(axis, length),))
        case Tensor(shape=shape) if shape.run is None and len(shape.head) > 1:
            count, rest = shape.head[0], Shape(shape.head[1:])
            return edited(rest, (dim,), lambda axis: (_many_times(axis, count.size),))
    raise Unknowable("nothing known to join")


def _is_zero(item: Value) -> bool:
    return isinstance(item, Int) and item.dim.value == 0


def _many_times(axis: Axis, count: Dim | None) -> Axis:
    if count is None:
        count = anonymous(object())
    return Axis(count) if axis.size == ONE else Axis(count * axis.size, (count, *axis.parts) if count != ONE else ())


def _cat_shapes(shapes: Sequence[Shape], dim: int) -> Shape:
    rank = next((shape.rank for shape in shapes if shape.rank is not None), None)
    if rank is not None:
        shapes = [_of_rank(shape, rank, shapes) for shape in shapes]
        if rank == 0:
            raise ShapeError("scalars can not be joined along an axis")
        check_axis(shapes[0], dim)
    else:
        shapes = _comparable(shapes, dim)
    axes = [shape.axis(dim) for shape in shapes]
    rest = [edited(shape, (dim,), lambda _: (Axis(ONE),)) for shape in shapes]
    result = reduce(lambda a, b: _alike(a, b, "joined along another axis"), rest)
    whole = _sum([axis for axis in axes if axis is not None], len(axes), result, shapes)
    return edited(result, (dim,), lambda _: (whole,))


def _of_rank(shape: Shape, rank: int, shapes: Sequence[Shape]) -> Shape:
    try:
        return with_rank(shape, rank)
    except ShapeError:
        raise ShapeError(f"{' and '.join(map(str, shapes))} can not be joined: they differ in rank") from None


def _comparable(shapes: Sequence[Shape], dim: int) -> list[Shape]:
    """Shapes of unknown rank with the axes that all of them have: as many as one has on the side `dim` is counted from.

    They are of one rank, so that what is known of the axes of one says that the others have them, too.
    """
    first = shapes[0]
    if all((s.run, len(s.head), len(s.tail)) == (first.run, len(first.head), len(first.tail)) for s in shapes):
        return list(shapes)
    head = (max if dim >= 0 else min)(len(s.head) for s in shapes)
    tail = (min if dim >= 0 else max)(len(s.tail) for s in shapes)
    run = hidden(first, "cat", *shapes).run
    known = [ends(s, head, tail) for s in shapes]
    return [Shape(front, run, back) for front, _, back in known]


def _sum(axes: Sequence[Axis], count: int, result: Shape, shapes: Sequence[Shape]) -> Axis:
    """The joined axis. Of equal pieces it is made of their number and the piece."""
    if len(axes) < count:
        return Axis(unknown_size(result, "cat", *shapes))
    if count == 1:
        return axes[0]
    total = sum((axis.size for axis in axes[1:]), axes[0].size)
    piece = axes[0]
    alike = all(axis.size == piece.size and axis.factors == piece.factors for axis in axes)
    return Axis(total, (as_dim(count), *piece.parts) if alike and piece.size != ONE else ())


def _alike(a: Shape, b: Shape, how: str) -> Shape:
    """Two shapes of the same structure as the one that both are; ShapeError where they can never be one."""
    if (len(a.head), len(a.tail), a.run is None) != (len(b.head), len(b.tail), b.run is None):
        raise ShapeError(f"{a} and {b} differ in rank")
    for x, y in zip(a.axes, b.axes):
        if never_equal(x.size, y.size):
            raise ShapeError(f"{a} and {b} differ: {x} against {y}, {how}")

    def better(x: Axis, y: Axis) -> Axis:
        if x.size == y.size:
            return x if x.factors == y.factors else Axis(x.size, maker=x.maker)
        return y if x.size.value is None and y.size.value is not None else x

    head, tail = (tuple(map(better, p, q)) for p, q in ((a.head, b.head), (a.tail, b.tail)))
    return Shape(head, a.run, tail)


def stack(tensors: Value, dim: Value = NONE) -> Shape:
    """k times (…) -> (…, k, …), all alike."""
    index = Int(as_dim(0)) if is_none(dim) else dim
    match tensors:
        case Tuple(items=items) if items:
            shapes = [tensor(item).shape for item in items]
            one, count = _one_of(shapes), as_dim(len(items))
        case Many(item=Tensor(shape=shape)) if shape.sizes == (as_dim(0),):
            raise Unknowable("an empty tensor is what out= fills, and gets its shape from that")
        case Many(item=item, length=length):
            one, count = tensor(item).shape, length if length is not None else rounds(object())
        case Tensor(shape=shape) if shape.run is None and shape.head:
            one, count = Shape(shape.head[1:]), shape.head[0].size
        case _:
            raise Unknowable("nothing known to stack")
    stacked = unsqueeze(Tensor(one), index)
    place = integer(index)
    return edited(stacked, (place,), lambda _: (Axis(count),)) if stacked.axis(place) else stacked


def _one_of(shapes: Sequence[Shape]) -> Shape:
    rank = next((shape.rank for shape in shapes if shape.rank is not None), None)
    if rank is None:
        same = all(shape == shapes[0] for shape in shapes)
        return shapes[0] if same else hidden(shapes[0], "stack", *shapes)
    alike = [_of_rank(shape, rank, shapes) for shape in shapes]
    return reduce(lambda a, b: _alike(a, b, "stacked"), alike)


def _each(tensors: Value, change: object) -> Value:
    """All tensors of a sequence with their shapes changed."""
    match tensors:
        case Tuple(items=items):
            return Tuple(tuple(Tensor(change(item)) for item in items))  # type: ignore[operator]
        case Many(item=item, length=length):
            return Many(Tensor(change(item)), length)  # type: ignore[operator]
        case Tensor(shape=shape) if shape.run is None and shape.head:
            return Many(Tensor(change(Tensor(Shape(shape.head[1:])))), shape.head[0].size)  # type: ignore[operator]
    raise Unknowable("nothing known to join")


def _first(tensors: Value) -> Shape:
    match tensors:
        case Tuple(items=(first, *_)):
            return tensor(first).shape
        case Many(item=item):
            return tensor(item).shape
    raise Unknowable("nothing known to join")


def hstack(tensors: Value) -> Shape:
    """Vectors end to end, others along axis 1."""
    widened = _each(tensors, at_least(1, (0,)))
    rank = _first(widened).rank
    if rank is None:
        raise Unknowable("rank not known")
    return _cat(widened, 0 if rank == 1 else 1)


def vstack(tensors: Value) -> Shape:
    """Vectors as rows, others along axis 0."""
    return _cat(_each(tensors, at_least(2, (0, 1))), 0)


def dstack(tensors: Value) -> Shape:
    """Along the third axis."""
    return _cat(_each(tensors, at_least(3, (1, 1, 0))), 2)


def column_stack(tensors: Value) -> Shape:
    """Vectors as columns, others along axis 1."""
    return _cat(_each(tensors, at_least(2, (1, 0))), 1)


def append(x: Value, values: Value, dim: Value = NONE) -> Shape:
    """np.append: flat without an axis."""
    return concatenate(Tuple((x, values)), dim)


def insert(x: Value, place: Value, values: Value, dim: Value = NONE) -> Shape:
    """np.insert: an index puts in one entry, or as many as `values` has; a list one for each. Flat without an axis."""
    shape = flatten(x) if is_none(dim) else tensor(x).shape
    at = 0 if is_none(dim) else axis_index(integer(dim), shape)
    added = inserted(place, tensor(values).shape, len(shape.head))
    size = size_or_any(Unknown()) if added is None else shape.head[at].size + added
    return Shape((*shape.head[:at], Axis(size), *shape.head[at + 1 :]))


def inserted(place: Value, values: Shape, rank: int) -> Dim | None:
    """How many entries np.insert adds to an array of this rank; None where that is not known."""
    match place:
        case Int() if values.rank is not None and values.rank < rank:
            return ONE
        case Int() if values.rank == rank:
            return values.head[0].size
        case Tuple(items=items, kind="list") if all(isinstance(item, Int) for item in items):
            return as_dim(len(items)) if len(items) > 1 else None  # one of them stands for as many as there are values
    return None


def appended_dtype(bound: Mapping[str, Value], library: str | None) -> str | None:
    return result_dtype("arrays", {"x": bound["x"], "y": bound["values"]}, library)


def _meshgrid(default: str) -> object:
    def shape(tensors: Value, indexing: Value = NONE, sparse: Value = NONE) -> tuple[Shape, ...]:
        """(n,), (m,) -> (n, m) twice; (m, n) for "xy"."""
        if not isinstance(tensors, Tuple) or (not is_none(sparse) and flag(sparse)):
            raise Unknowable("not a full grid")
        axes = [flatten(item).head[0] for item in tensors.items]
        order = default if is_none(indexing) else indexing.value if isinstance(indexing, Const) else None
        if order not in {"ij", "xy"}:
            raise Unknowable("order not known")
        if order == "xy" and len(axes) > 1:
            axes[0], axes[1] = axes[1], axes[0]
        return (Shape(tuple(axes)),) * len(axes)

    return shape


def _op(name: str, function: object, *spellings: str, dtype: DtypeRule = "promote") -> Op:
    return Op(name, function, spellings, Kind.JOINING, dtype)  # type: ignore[arg-type]


def _everywhere(name: str, function: object) -> Op:
    return _op(
        name, function, f"torch.{name}(tensors)", f"numpy.{name}(tup: tensors)", f"jax.numpy.{name}(tup: tensors)"
    )


OPS: tuple[Op, ...] = (
    _op("cat", cat, "torch.cat(tensors, dim)"),
    _op(
        "cat",
        concatenate,
        "torch.concatenate(tensors, axis)",
        "torch.concat(tensors, dim)",
        "numpy.concatenate(arrays: tensors, axis)",
        "numpy.concat(arrays: tensors, axis)",
        "jax.numpy.concatenate(arrays: tensors, axis)",
        "jax.numpy.concat(arrays: tensors, axis)",
        "jax.lax.concatenate(operands: tensors, dimension: dim)",
    ),
    _op(
        "stack",
        stack,
        "torch.stack(tensors, dim)",
        "numpy.stack(arrays: tensors, axis)",
        "jax.numpy.stack(arrays: tensors, axis)",
    ),
    _everywhere("hstack", hstack),
    _everywhere("vstack", vstack),
    _everywhere("dstack", dstack),
    _everywhere("column_stack", column_stack),
    _op("row_stack", vstack, "torch.row_stack(tensors)", "numpy.row_stack(tup: tensors)"),
    _op(
        "append", append, "numpy.append(arr, values, axis)", "jax.numpy.append(arr, values, axis)", dtype=appended_dtype
    ),
    _op(
        "insert",
        insert,
        "numpy.insert(arr, obj: place, values, axis)",
        "jax.numpy.insert(arr, obj: place, values, axis)",
        dtype="same",
    ),
    _op("meshgrid", _meshgrid("ij"), "torch.meshgrid(*tensors, indexing)"),
    _op(
        "meshgrid",
        _meshgrid("xy"),
        "numpy.meshgrid(*xi: tensors, copy, sparse, indexing)",
        "jax.numpy.meshgrid(*xi: tensors, copy, sparse, indexing)",
    ),
)
