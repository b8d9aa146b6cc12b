"""Views by strides, copies of views, and resizing: torch's ops that speak of memory."""

from __future__ import annotations

from shapelint.domain.values import Maker, Shape, Tensor, Value
from shapelint.events import Kind
from shapelint.ops.creation import TORCH, filled, new, of_floats
from shapelint.ops.op import GraphEffect, Op, sizes, tensor


def strided(x: Value, size: Value) -> Shape:
    """as_strided: whatever is asked for."""
    return sizes(size)


def resized(x: Value, size: Value) -> Tensor:
    """resize_: the receiver itself becomes of that size."""
    known = tensor(x)
    return Tensor(sizes(size, Maker.CREATED), known.dtype, known.library, known.graph)


def resized_as(x: Value, y: Value) -> Tensor:
    """resize_as_: the receiver takes the other's shape."""
    known = tensor(x)
    return Tensor(tensor(y).shape, known.dtype, known.library, known.graph)


def unchanged(x: Value) -> Shape:
    return tensor(x).shape


def _op(name: str, function: object, *spellings: str) -> Op:
    return Op(name, function, spellings, Kind.LAYOUT, "same")  # type: ignore[arg-type]


COPIES = (
    *("alias", "detach", "diagonal", "narrow", "permute", "select", "split", "split_with_sizes", "squeeze", "t"),
    *("transpose", "unbind", "unsqueeze", "view_as_real", "view_as_complex", "as_strided"),
)
METHOD_COPIES = ("expand", "unfold", "view")
UNSAFE = ("split", "chunk", "split_with_sizes")

# A copy of a view has the view's shape.
ALIASES = {
    **{f"torch.{name}_copy": f"torch.{name}" for name in COPIES},
    **{f"torch.{name}_copy": f"torch.Tensor.{name}" for name in METHOD_COPIES},
    **{f"torch.unsafe_{name}": f"torch.{name}" for name in UNSAFE},
}

OPS: tuple[Op, ...] = (
    _op("as_strided", strided, "torch.as_strided(input, size, stride, storage_offset)"),
    _op("as_strided_scatter", unchanged, "torch.as_strided_scatter(input, src, size, stride, storage_offset)"),
    _op("diagonal_scatter", unchanged, "torch.diagonal_scatter(input, src, offset, dim1, dim2)"),
    _op("alias", unchanged, "torch.alias(input)", "torch.resolve_neg(input)", "torch.Tensor.resolve_neg(input)"),
    _op("sum_to_size", strided, "torch.Tensor.sum_to_size(self, *size)"),
    _op("put", unchanged, "torch.put(input, index, source, accumulate)"),
    _op("resize_", resized, "torch.Tensor.resize_(self, *size, memory_format)"),
    _op("resize_as_", resized_as, "torch.Tensor.resize_as_(self, other)", "torch.resize_as_(input, other)"),
    Op(
        "empty",
        filled,
        (
            f"torch.empty_strided(size, stride, {TORCH})",
            f"torch.empty_permuted(size, physical_layout, {TORCH})",
        ),
        Kind.CREATION,
        of_floats,
        GraphEffect.CONSTANT,
    ),
    Op(
        "new_empty",
        new,
        (f"torch.Tensor.new_empty_strided(x, size, stride, {TORCH})",),
        Kind.CREATION,
        "same",
        GraphEffect.CONSTANT,
    ),
)
