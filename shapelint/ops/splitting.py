"""Ops that take one tensor apart: split, chunk, array_split, unbind."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from shapelint.domain.dims import Dim, anonymous, as_dim, divide
from shapelint.domain.shapes import never_equal
from shapelint.domain.values import NONE, Axis, Int, Many, Shape, Tensor, Tuple, Value
from shapelint.events import Kind
from shapelint.ops.axes import check_axis, edited
from shapelint.ops.op import Op, ShapeError, Unknowable, dimension, integer, is_none, size_or_any, tensor
from shapelint.ops.runs import unknown_size
from shapelint.ops.slices import slice_size

Pieces = tuple[Shape, ...] | Many


def _pieces(x: Value, dim: int, sizes: Sequence[Dim]) -> tuple[Shape, ...]:
    shape = tensor(x).shape

    def piece(size: Dim) -> Shape:
        return edited(shape, (dim,), lambda axis: (axis if axis.size == size else Axis(size),))

    return tuple(map(piece, sizes))


def _equal_pieces(x: Value, dim: int, size: Dim, count: Dim) -> Pieces:
    number = count.value
    if number is not None and 0 < number <= 64:
        return _pieces(x, dim, [size] * number)
    return Many(Tensor(_pieces(x, dim, [size])[0]), count, "tuple")


def _length(x: Value, dim: int) -> Dim:
    shape = tensor(x).shape
    check_axis(shape, dim)
    axis = shape.axis(dim)
    return axis.size if axis is not None else unknown_size(shape, "length", dim)


def split(x: Value, split_size_or_sections: Value, dim: Value = NONE) -> Pieces:
    """torch.split: pieces of so many along `dim`, the last one with what remains; or pieces of these sizes."""
    index = 0 if is_none(dim) else integer(dim)
    length = _length(x, index)
    if isinstance(split_size_or_sections, Tuple):
        sizes = [size_or_any(item) for item in split_size_or_sections.items]
        if never_equal(sum(sizes, as_dim(0)), length):
            raise ShapeError(f"pieces of {', '.join(map(str, sizes))} do not make up an axis of {length}")
        return _pieces(x, index, sizes)
    size = dimension(split_size_or_sections)
    count = divide(length, size) if size.terms else None
    if count is not None:
        return _equal_pieces(x, index, size, count)
    if length.value is not None and size.value:
        full, rest = divmod(length.value, size.value)
        return _pieces(x, index, [size] * full + [as_dim(rest)])
    return Many(Tensor(_pieces(x, index, [anonymous(object())])[0]), None, "tuple")


def chunk(x: Value, chunks: Value, dim: Value = NONE) -> Pieces:
    """torch.chunk: at most so many pieces, all but the last of the same size."""
    index = 0 if is_none(dim) else integer(dim)
    length, count = _length(x, index), dimension(chunks)
    exact = divide(length, count) if count.terms else None
    if exact is not None:
        return _equal_pieces(x, index, exact, count)
    if count.value is None:
        return Many(Tensor(_pieces(x, index, [anonymous(object())])[0]), None, "tuple")
    size = (length + (count - 1)) // count
    if length.value is not None:
        return split(x, Int(size), Int(as_dim(index)))
    return _pieces(x, index, [size] * (count.value - 1) + [length - (count - 1) * size])


def array_split(x: Value, indices_or_sections: Value, dim: Value = NONE) -> Pieces:
    """np.array_split: so many pieces as equal as can be, the longer first; or cuts before these indices."""
    index = 0 if is_none(dim) else integer(dim)
    length = _length(x, index)
    if isinstance(indices_or_sections, Tuple):
        cuts = [NONE, *indices_or_sections.items, NONE]
        return _pieces(x, index, [slice_size(a, b, NONE, length)[0] for a, b in pairwise(cuts)])
    count = dimension(indices_or_sections)
    if count.value is None:
        return _equal_pieces(x, index, divide(length, count) or anonymous(object()), count)
    return _pieces(x, index, [(length + (count.value - 1 - i)) // count for i in range(count.value)])


def equal_split(x: Value, indices_or_sections: Value, dim: Value = NONE) -> Pieces:
    """np.split: so many equal pieces; or cuts before these indices."""
    if isinstance(indices_or_sections, Tuple):
        return array_split(x, indices_or_sections, dim)
    index = 0 if is_none(dim) else integer(dim)
    length, count = _length(x, index), dimension(indices_or_sections)
    if length.value is not None and count.value and length.value % count.value:
        raise ShapeError(f"an axis of {length} does not split into {count} equal pieces")
    return _equal_pieces(x, index, length // count, count)


def _split_along(vectors: int, others: int) -> object:
    def shape(x: Value, indices_or_sections: Value) -> Pieces:
        rank = tensor(x).shape.rank
        if rank is None:
            raise Unknowable("rank not known")
        return equal_split(x, indices_or_sections, Int(as_dim(vectors if rank == 1 else others)))

    return shape


def unbind(x: Value, dim: Value = NONE) -> Pieces:
    """(…, k, …) -> k times (…)"""
    shape = tensor(x).shape
    index = 0 if is_none(dim) else integer(dim)
    count = _length(x, index)
    piece = edited(shape, (index,), lambda _: ())
    if count.value is not None and count.value <= 64:
        return (piece,) * count.value
    return Many(Tensor(piece), count, "tuple")


def _op(name: str, function: object, *spellings: str) -> Op:
    return Op(name, function, spellings, Kind.JOINING, "same")  # type: ignore[arg-type]


OPS: tuple[Op, ...] = (
    _op(
        "split",
        split,
        "torch.split(tensor: x, split_size_or_sections, dim)",
        "torch.Tensor.split(self, split_size: split_size_or_sections, dim)",
        "torch.split_with_sizes(input, split_sizes: split_size_or_sections, dim)",
    ),
    _op("chunk", chunk, "torch.chunk(input, chunks, dim)"),
    _op(
        "split",
        equal_split,
        "numpy.split(ary: x, indices_or_sections, axis)",
        "jax.numpy.split(ary: x, indices_or_sections, axis)",
    ),
    _op(
        "array_split",
        array_split,
        "numpy.array_split(ary: x, indices_or_sections, axis)",
        "jax.numpy.array_split(ary: x, indices_or_sections, axis)",
        "torch.tensor_split(input, indices_or_sections, dim)",
    ),
    *(
        _op(
            name,
            _split_along(vectors, others),
            f"torch.{name}(input, indices_or_sections)",
            f"numpy.{name}(ary: x, indices_or_sections)",
            f"jax.numpy.{name}(ary: x, indices_or_sections)",
        )
        for name, vectors, others in (("hsplit", 0, 1), ("vsplit", 0, 0), ("dsplit", 2, 2))
    ),
    _op("unbind", unbind, "torch.unbind(input, dim)", "numpy.unstack(x, *, axis)"),
)
