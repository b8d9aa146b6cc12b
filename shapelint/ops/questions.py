"""Questions about an array that a Python number or a bool answers: how many axes, how many elements, which dtype."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from shapelint.domain.dims import Dim, as_dim, data_dependent
from shapelint.domain.values import (
    EITHER,
    FALSE,
    NONE,
    UNKNOWN,
    Const,
    Float,
    Int,
    Layer,
    Many,
    Shape,
    Tensor,
    Tuple,
    Value,
)
from shapelint.ops.dtypes import parse
from shapelint.ops.runs import fresh

Answer: TypeAlias = "Callable[[Tensor], Value]"


def rank(tensor: Tensor) -> Int:
    known = tensor.shape.rank
    return Int(as_dim(known) if known is not None else count(tensor.shape, "ndim"))


def numel(tensor: Tensor) -> Int:
    known = tensor.shape.numel()
    return Int(known if known is not None else count(tensor.shape, "numel"))


def count(shape: Shape, what: str) -> Dim:
    """A number that hangs on how many axes there are; it may well be 0."""
    return data_dependent(fresh(shape, what), what)


def may_be_object(value: Value) -> bool:
    """Whether it may be no number at all, but what an array of objects holds: None, an environment, a string."""
    if not isinstance(value, Tensor) or value.library != "numpy" or value.dtype is not None:
        return False
    return value.shape.run is not None and not value.shape.least_rank


def is_of(category: str) -> Answer:
    """Whether the dtype is one of floats, or of complex numbers."""

    def ask(tensor: Tensor) -> Value:
        dtype = parse(tensor.dtype)
        return EITHER if dtype is None else Const(dtype.category == category)

    return ask


def is_tensor(tensor: Tensor) -> Value:
    return EITHER if tensor.library is None else Const(tensor.library == "torch")


def strides(tensor: Tensor) -> Value:
    """stride(): one for each axis."""
    known = tensor.shape.rank
    each = Int(data_dependent(object(), "stride"))
    return (
        Many(each, kind="tuple")
        if known is None
        else Tuple(tuple(Int(data_dependent(object(), "stride")) for _ in range(known)))
    )


def either(tensor: Tensor) -> Value:
    return EITHER


def some_number(tensor: Tensor) -> Value:
    return Int(data_dependent(object(), "n"))


METHODS: Mapping[str, Answer] = {
    "dim": rank,
    "ndimension": rank,
    "numel": numel,
    "nelement": numel,
    "stride": strides,
    "is_floating_point": is_of("float"),
    "is_complex": is_of("complex"),
    **{f"is_{what}": either for what in ("contiguous", "signed", "pinned", "shared", "inference", "coalesced")},
    **dict.fromkeys(("element_size", "get_device", "data_ptr", "storage_offset"), some_number),
}
FUNCTIONS: Mapping[str, Answer] = {
    **{f"torch.{name}": METHODS[name] for name in ("numel", "is_floating_point")},
    "torch.is_tensor": is_tensor,
    "numpy.ndim": rank,
    "jax.numpy.ndim": rank,
}
# What only checks or writes, and gives None back.
CHECKS = ("numpy.testing.assert_", "torch.testing.assert_", "chex.assert_", "numpy.save", "torch.save")
WRITING = frozenset({"tofile", "dump", "flush", "setflags"})  # methods of NumPy's arrays


def of_method(tensor: Tensor, name: str) -> Value | None:
    """What `tensor.name()` answers; None where it is no such question."""
    ask = METHODS.get(name)
    return ask(tensor) if ask is not None and tensor.library in {"torch", None} else None


def of_writing(tensor: Tensor, name: str) -> Value:
    """What methods give back that only write the array somewhere; Unknown of all others."""
    return NONE if name in WRITING and tensor.library in {"numpy", None} else UNKNOWN


def of_function(name: str, args: tuple[Value, ...]) -> Value:
    """What `torch.numel(x)` and its like answer; Unknown where that is no such question."""
    if name.startswith(CHECKS):
        return NONE
    if name.endswith((".result_type", ".promote_types")):
        return Layer("numpy.dtype", {})
    ask = FUNCTIONS.get(name)
    match args:
        case (Tensor() as tensor,) if ask is not None:
            return ask(tensor)
        case (Int() | Float(),) if ask is not None:
            return FALSE if ask is is_tensor else ask(Tensor(Shape()))
    return UNKNOWN
