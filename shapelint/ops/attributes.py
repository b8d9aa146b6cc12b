"""Attributes of tensors that are values and not methods: x.shape, x.T, x.data."""

from __future__ import annotations

from dataclasses import replace

from shapelint.domain.values import UNKNOWN, Int, Layer, Library, Many, Run, Shape, Tensor, Tuple, Unknown, Value
from shapelint.ops import questions
from shapelint.ops.dtypes import magnitude
from shapelint.ops.op import GraphEffect
from shapelint.ops.results import take_effect

# Attributes that say nothing of shapes.
OPAQUE = frozenset({
    "device", "is_cuda", "is_leaf", "is_sparse", "is_quantized", "is_mps", "is_cpu", "is_nested", "is_meta",
    "requires_grad", "grad_fn", "name", "names", "layout", "strides", "flags", "base", "ctypes", "output_nr",
    "weak_type", "sharding", "aval", "is_fully_replicated", "is_fully_addressable", "committed", "retains_grad",
})  # fmt: skip
NAMESPACES = {"torch": "torch", "numpy": "numpy", "jax": "jax.numpy"}


def tensor_attribute(tensor: Tensor, name: str) -> Value | None:
    """The value of `tensor.name`, or None where the name is a method's (or nothing's)."""
    shape = tensor.shape
    match name:
        case "shape":
            return size_tuple(shape)
        case "ndim":
            return questions.rank(tensor)
        case "size" if tensor.library in {"numpy", "jax"}:
            return questions.numel(tensor)
        case "dtype":
            return dtype_object(tensor)
        case "T" | "mT" | "H" | "mH" if _transposable(name, tensor):
            return replace(tensor, shape=transposed(shape, whole=name == "T"), made_by=None)
        case "T" | "mT" | "H" | "mH":
            return replace(tensor, shape=Shape((), Run("", (name, shape))), made_by=None)
        case "data" if tensor.library in {"torch", None}:
            return replace(tensor, graph=take_effect(GraphEffect.CUT, tensor.graph), made_by=None)
        case "grad":
            return replace(tensor, graph=take_effect(GraphEffect.CONSTANT, tensor.graph), made_by=None)
        case "real" | "imag":
            return replace(tensor, dtype=magnitude(tensor.dtype), made_by=None)
        case "itemsize" | "nbytes":
            return UNKNOWN
        case "flat":
            return UNKNOWN
    if name == "device" and tensor.library in {"torch", None}:
        return Layer("torch.device", {})
    return Unknown() if name in OPAQUE else None


def size_tuple(shape: Shape) -> Value:
    """The sizes as ints; of unknown number where the rank is not known."""
    if shape.rank is None:
        return Many(UNKNOWN, kind="size")
    return Tuple(tuple(Int(size) for size in shape.sizes), "size")


def dtype_object(tensor: Tensor) -> Value:
    """torch.float32 and its like, where the dtype is a concrete one."""
    concrete = tensor.dtype is not None and (tensor.dtype == "bool" or tensor.dtype[-1:].isdigit())
    if not concrete or tensor.library not in NAMESPACES:
        return UNKNOWN
    return Library(f"{NAMESPACES[tensor.library]}.{tensor.dtype}")


def _transposable(name: str, tensor: Tensor) -> bool:
    return tensor.shape.rank is not None if name == "T" else len(tensor.shape.tail or tensor.shape.head) >= 2


def transposed(shape: Shape, whole: bool) -> Shape:
    """All axes reversed, or the last two swapped."""
    if whole:
        return Shape(shape.head[::-1])
    axes = shape.tail or shape.head
    swapped = (*axes[:-2], axes[-1], axes[-2])
    return Shape(shape.head, shape.run, swapped) if shape.run is not None else Shape(swapped)
