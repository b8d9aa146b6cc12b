"""Ops that pick or write elements by index: gather, take, index_select, masked_select, scatter, diagonals."""

from __future__ import annotations

from shapelint.domain.dims import ONE, Dim, as_dim, data_dependent
from shapelint.domain.values import NONE, Axis, Int, Maker, Shape, Tensor, Tuple, Value
from shapelint.events import Kind
from shapelint.ops.axes import edited, reduced, resized
from shapelint.ops.broadcasting import broadcast_all
from shapelint.ops.dtypes import promote_of
from shapelint.ops.layout import movedim
from shapelint.ops.op import (
    GraphEffect,
    Op,
    Part,
    Result,
    ShapeError,
    Unknowable,
    axis_index,
    integer,
    is_none,
    size_or_any,
    tensor,
)
from shapelint.ops.ordering import nonzero_tuple
from shapelint.ops.reshaping import flatten
from shapelint.ops.runs import ends, hidden, joined, with_rank
from shapelint.ops.slices import least, slice_size


def gather(x: Value, dim: Value, index: Value) -> Shape:
    """The shape of `index`, which has as many axes as x."""
    shape, chosen = tensor(x).shape, tensor(index).shape
    return _gathered(_of_same_rank(chosen, shape, integer(dim)))


def _of_same_rank(index: Shape, shape: Shape, dim: int) -> Shape:
    """The index, which has the axes of x; a scalar counts as one axis, and an empty index fits all."""
    if shape.rank is None or (shape.rank < 2 and index.least_rank < 2) or as_dim(0) in index.sizes:
        return index
    axis_index(dim, shape)
    return with_rank(index, shape.rank)


def _gathered(shape: Shape) -> Shape:
    """An axis of one that an index made is the gather's."""

    def mark(axis: Axis) -> Axis:
        return Axis(ONE, maker=Maker.GATHER) if axis.size == ONE else axis

    return Shape(tuple(map(mark, shape.head)), shape.run, tuple(map(mark, shape.tail)))


def take_along_axis(x: Value, indices: Value, dim: Value = NONE) -> Shape:
    """x and indices broadcast except along `dim`, which is that of indices; flat without `dim`."""
    shape, chosen = tensor(x).shape, tensor(indices).shape
    if is_none(dim):
        return flatten(indices) if chosen.rank is not None else hidden(chosen, "take")
    if shape.rank is None or chosen.rank is None:
        raise Unknowable("rank not known")
    if shape.rank != chosen.rank:
        raise ShapeError(f"indices of {chosen} for {shape}: they differ in rank")
    axis = axis_index(integer(dim), shape)
    own = resized(shape, axis, ONE)
    other = resized(chosen, axis, ONE)
    return _gathered(edited(broadcast_all(own, other), (axis,), lambda _: (chosen.head[axis],)))


def index_select(x: Value, dim: Value, index: Value) -> Shape:
    """(…, n, …) -> (…, k, …) for an index of (k,)"""
    chosen = tensor(index).shape
    count = chosen.head[0] if chosen.rank == 1 else Axis(ONE) if chosen.rank == 0 else Axis(data_dependent(object()))
    return edited(tensor(x).shape, (integer(dim),), lambda _: (count,))


def take(x: Value, indices: Value, dim: Value = NONE) -> Shape:
    """np.take: the axes of indices in place of `dim`; those alone without it."""
    chosen = tensor(indices).shape
    if is_none(dim) or tensor(x).shape.rank == 0:
        return chosen
    if chosen.rank is None:
        raise Unknowable("rank not known")
    return edited(tensor(x).shape, (integer(dim),), lambda _: chosen.head)


def masked_select(x: Value, mask: Value) -> Shape:
    """As many as the mask has ones."""
    broadcast_all(tensor(x).shape, tensor(mask).shape)
    return Shape((Axis(data_dependent(object())),))


def masked_scatter(x: Value, mask: Value) -> Shape:
    """x and mask together."""
    return broadcast_all(tensor(x).shape, tensor(mask).shape)


def scatter(x: Value, dim: Value, index: Value) -> Shape:
    """x with some elements replaced; index has as many axes as x."""
    shape, chosen = tensor(x).shape, tensor(index).shape
    _of_same_rank(chosen, shape, integer(dim))
    return shape


def unchanged(x: Value) -> Shape:
    """The shape of x; its elements are others."""
    return tensor(x).shape


def select(x: Value, dim: Value) -> Shape:
    """(…, n, …) -> (…, …)"""
    return edited(tensor(x).shape, (integer(dim),), lambda _: ())


def narrow(x: Value, dim: Value, length: Value) -> Shape:
    """(…, n, …) -> (…, length, …)"""
    return resized(tensor(x).shape, integer(dim), size_or_any(length), Maker.SLICE)


def delete(x: Value, obj: Value, dim: Value = NONE) -> Shape:
    """np.delete: without one element of `dim`, or some."""
    shape = flatten(x) if is_none(dim) else tensor(x).shape
    axis = 0 if is_none(dim) else integer(dim)
    try:
        integer(obj)
    except Unknowable:
        return resized(shape, axis, data_dependent(object()))
    return edited(shape, (axis,), lambda own: (Axis(own.size - 1),))


def _offset(value: Value) -> int:
    return 0 if is_none(value) else integer(value)


def _diagonal_size(n: Dim, m: Dim, offset: int) -> Dim:
    """How long the diagonal of an (n, m) matrix is."""
    if offset > 0:
        m = m - offset
    elif offset < 0:
        n = n + offset
    return least(n, m)


def diagonal(x: Value, offset: Value = NONE, first: Value = NONE, second: Value = NONE) -> Shape:
    """Two axes, 0 and 1 by default, become one at the end."""
    shape = tensor(x).shape
    i = 0 if is_none(first) else integer(first)
    j = 1 if is_none(second) else integer(second)
    if shape.rank is not None and shape.rank < 2:
        raise ShapeError(f"{shape} has no diagonal")
    a, b = shape.axis(i), shape.axis(j)
    if a is None or b is None:
        return hidden(shape, "diagonal", i, j)
    size = _diagonal_size(a.size, b.size, _offset(offset))
    return joined((), edited(shape, (i, j), lambda _: ()), (Axis(size),))


def last_diagonal(x: Value, offset: Value = NONE) -> Shape:
    """linalg.diagonal: of the last two axes."""
    _, batch, (n, m) = ends(tensor(x).shape, 0, 2)
    return joined((), batch, (Axis(_diagonal_size(n.size, m.size, _offset(offset))),))


def diag(x: Value, diagonal: Value = NONE) -> Shape:
    """A vector becomes a matrix, a matrix its diagonal."""
    shape = tensor(x).shape
    offset = _offset(diagonal)
    if shape.rank == 1:
        return Shape((Axis(shape.head[0].size + abs(offset)),) * 2)
    if shape.rank == 2:
        return Shape((Axis(_diagonal_size(shape.sizes[0], shape.sizes[1], offset)),))
    if shape.rank is not None:
        raise ShapeError(f"diag needs one or two axes, not {shape}")
    raise Unknowable("rank not known")


def diag_embed(x: Value, offset: Value = NONE, dim1: Value = NONE, dim2: Value = NONE) -> Shape:
    """(…, n) -> (…, n, n); the two axes stand at `dim1` and `dim2`."""
    _, batch, (n,) = ends(tensor(x).shape, 0, 1)
    square = joined((), batch, (Axis(n.size + abs(_offset(offset))),) * 2)
    last = Tuple((Int(as_dim(-2)), Int(as_dim(-1))))
    targets = tuple(default if is_none(d) else d for d, default in zip((dim1, dim2), last.items))
    return square if targets == last.items else movedim(Tensor(square), last, Tuple(targets))


def diagflat(x: Value, offset: Value = NONE) -> Shape:
    """A square matrix with all elements on its diagonal."""
    return Shape((Axis(flatten(x).head[0].size + abs(_offset(offset))),) * 2)


def trace(x: Value, offset: Value = NONE, first: Value = NONE, second: Value = NONE) -> Shape:
    """The sum of a diagonal."""
    return reduced(diagonal(x, offset, first, second), (-1,), keepdim=False)


def torch_trace(x: Value) -> Shape:
    """(n, m) -> ()"""
    with_rank(tensor(x).shape, 2)
    return Shape()


def dynamic_slice(x: Value, slice_sizes: Value) -> Shape:
    """jax.lax.dynamic_slice: as many as `slice_sizes` say."""
    if not isinstance(slice_sizes, Tuple):
        return hidden(tensor(x).shape, "dynamic_slice", object())
    return Shape(tuple(Axis(size_or_any(size)) for size in slice_sizes.items))


def dynamic_slice_in_dim(x: Value, slice_size: Value, dim: Value = NONE) -> Shape:
    return resized(tensor(x).shape, 0 if is_none(dim) else integer(dim), size_or_any(slice_size), Maker.SLICE)


def slice_in_dim(x: Value, start_index: Value, limit_index: Value, stride: Value = NONE, dim: Value = NONE) -> Shape:
    axis = 0 if is_none(dim) else integer(dim)
    return edited(
        tensor(x).shape, (axis,), lambda own: (Axis(slice_size(start_index, limit_index, stride, own.size)[0]),)
    )


def where(condition: Value, x: Value = NONE, y: Value = NONE) -> Result:
    """condition, x and y together. With the condition alone (k,) for each of its axes, as nonzero gives."""
    if is_none(x) and is_none(y):
        return tuple(Part(shape, "index", GraphEffect.NO_GRAPH) for shape in nonzero_tuple(condition))
    return broadcast_all(*(tensor(v).shape for v in (condition, x, y)))


KIND = Kind.INDEXING


def _torch(name: str, function: object, parameters: str) -> Op:
    return Op(name, function, (f"torch.{name}({parameters})",), KIND, "same")  # type: ignore[arg-type]


def _op(name: str, function: object, *spellings: str) -> Op:
    return Op(name, function, spellings, KIND, "same")  # type: ignore[arg-type]


OPS: tuple[Op, ...] = (
    Op(
        "where",
        where,
        (
            "torch.where(condition, input, other)",
            "torch.Tensor.where(self, condition, other)",
            "numpy.where(condition, x, y)",
            "jax.numpy.where(condition, x, y)",
            "jax.lax.select(pred: condition, on_true: x, on_false: y)",
        ),
        Kind.ELEMENTWISE,
        promote_of("x", "y"),
    ),
    _op("gather", gather, "torch.gather(input, dim, index, *, sparse_grad)"),
    _op(
        "take_along_dim",
        take_along_axis,
        "torch.take_along_dim(input, indices, dim)",
        "numpy.take_along_axis(arr, indices, axis)",
        "jax.numpy.take_along_axis(arr, indices, axis, mode)",
    ),
    _op("index_select", index_select, "torch.index_select(input, dim, index)"),
    _op(
        "take",
        take,
        "torch.take(input, index: indices)",
        "numpy.take(a, indices, axis, out, mode)",
        "jax.numpy.take(a, indices, axis, out, mode)",
    ),
    _op("masked_select", masked_select, "torch.masked_select(input, mask)"),
    *(_torch(name, scatter, "input, dim, index, src, reduce") for name in ("scatter", "scatter_add", "scatter_reduce")),
    *(
        _torch(name, unchanged, "input, dim, index, source, alpha")
        for name in ("index_add", "index_copy", "index_fill", "index_reduce")
    ),
    _torch("index_put", unchanged, "input, indices, values, accumulate"),
    _torch("masked_scatter", masked_scatter, "input, mask, source"),
    _torch("select_scatter", unchanged, "input, src, dim, index"),
    _torch("slice_scatter", unchanged, "input, src, dim, start, end, step"),
    _op("fill_diagonal", unchanged, "torch.Tensor.fill_diagonal_(self, fill_value, wrap)"),
    _torch("select", select, "input, dim, index"),
    _torch("narrow", narrow, "input, dim, start, length"),
    _op("delete", delete, "numpy.delete(arr, obj, axis)", "jax.numpy.delete(arr, obj, axis)"),
    _op(
        "diagonal",
        diagonal,
        "torch.diagonal(input, offset, dim1: first, dim2: second)",
        "numpy.diagonal(a, offset, axis1: first, axis2: second)",
        "jax.numpy.diagonal(a, offset, axis1: first, axis2: second)",
    ),
    _op(
        "diagonal",
        last_diagonal,
        "torch.linalg.diagonal(input, *, offset)",
        "numpy.linalg.diagonal(x, *, offset)",
        "jax.numpy.linalg.diagonal(x, *, offset)",
    ),
    _op(
        "diag",
        diag,
        "torch.diag(input, diagonal)",
        "numpy.diag(v: x, k: diagonal)",
        "jax.numpy.diag(v: x, k: diagonal)",
    ),
    _torch("diag_embed", diag_embed, "input, offset, dim1, dim2"),
    _op(
        "diagflat",
        diagflat,
        "torch.diagflat(input, offset)",
        "numpy.diagflat(v: x, k: offset)",
        "jax.numpy.diagflat(v: x, k: offset)",
    ),
    Op("trace", torch_trace, ("torch.trace(input)",), Kind.REDUCTION, "total"),
    Op(
        "trace",
        trace,
        (
            "numpy.trace(a, offset, axis1: first, axis2: second)",
            "jax.numpy.trace(a, offset, axis1: first, axis2: second)",
        ),
        Kind.REDUCTION,
        "total",
    ),
    _op("dynamic_slice", dynamic_slice, "jax.lax.dynamic_slice(operand, start_indices, slice_sizes)"),
    _op(
        "dynamic_slice",
        dynamic_slice_in_dim,
        "jax.lax.dynamic_slice_in_dim(operand, start_index, slice_size, axis)",
    ),
    _op(
        "slice",
        slice_in_dim,
        "jax.lax.slice_in_dim(operand, start_index, limit_index, stride, axis)",
    ),
    _op("dynamic_update_slice", unchanged, "jax.lax.dynamic_update_slice(operand, update, start_indices)"),
    _op(
        "dynamic_update_slice",
        unchanged,
        "jax.lax.dynamic_update_slice_in_dim(operand, update, start_index, axis)",
    ),
)
