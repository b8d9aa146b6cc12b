"""For tests: real arrays as values of the interpreter, and inferred values as plain Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import EllipsisType
from typing import Any

from shapelint.domain.dims import Dim, Origin, Symbol, as_dim, evaluate
from shapelint.domain.values import (
    UNKNOWN,
    Const,
    Dict,
    Float,
    Graph,
    GraphState,
    Int,
    Library,
    Many,
    Slice,
    Tensor,
    Tuple,
    Unknown,
    Value,
    shape_of,
)

Sizes = Callable[[int], Dim]


def lift(obj: Any, size: Sizes = as_dim) -> Value:
    """A torch tensor, NumPy or JAX array, or Python value (also nested) as the interpreter would know it.

    `size` says how a size is known: the number itself, or a symbol that stands for it.
    """
    library = library_of(obj)
    if library is not None and hasattr(obj, "shape") and not isinstance(obj, type):
        return Tensor(shape_of(*map(size, obj.shape)), dtype_name(obj.dtype), library, graph_of(obj))
    match obj:
        case bool() | None | str() | bytes() | complex() | EllipsisType():
            return Const(obj)
        case int():
            return Int(size(obj))
        case float():
            return Float(obj)
        case slice():
            return Slice(lift(obj.start, size), lift(obj.stop, size), lift(obj.step, size))
        case list() | tuple():
            kind = "list" if isinstance(obj, list) else "size" if library == "torch" else "tuple"
            return Tuple(tuple(lift(item, size) for item in obj), kind)
        case dict():
            return Dict(tuple((key, lift(value, size)) for key, value in obj.items()))
        case type() if dtype_name(obj) in {"bool", "int", "float", "complex"}:
            return Library(obj.__name__)
    if library == "torch" and type(obj).__name__ == "dtype":
        return Library(str(obj))
    if library in {"numpy", "jax"} and isinstance(obj, type):
        return Library(f"{'jax.numpy' if library == 'jax' else library}.{dtype_name(obj)}")
    return UNKNOWN


def library_of(obj: Any) -> str | None:
    """The library whose object it is: "torch", "numpy" or "jax"."""
    root = (obj if isinstance(obj, type) else type(obj)).__module__.partition(".")[0]
    return {"torch": "torch", "numpy": "numpy", "jax": "jax", "jaxlib": "jax"}.get(root)


def dtype_name(dtype: Any) -> str:
    """ "float32" of torch.float32, np.dtype("float32"), np.float32 and jnp.float32."""
    if isinstance(dtype, type):
        return dtype.__name__
    return getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype).removeprefix("torch.")


def graph_of(obj: Any) -> Graph:
    """torch says what requires a gradient; of the others nothing is known."""
    if not getattr(obj, "requires_grad", False):
        return Graph(GraphState.CONST)
    return Graph(GraphState.LEAF if obj.is_leaf else GraphState.GRAPH, frozenset({"lifted"}))


def concrete(value: Value, sizes: Mapping[Symbol, int] | None = None) -> Any:
    """What is known of a value: nested tuples of ints for shapes, ints, constants; None where it is unknown.

    A shape of unknown rank is None; an unknown size of a known rank is None in its place.
    """
    known = sizes or {}
    match value:
        case Tensor(shape=shape):
            return None if shape.run is not None else tuple(number(size, known) for size in shape.sizes)
        case Int(dim=dim):
            return number(dim, known)
        case Float(value=constant):
            return constant
        case Const(value=constant):
            return constant
        case Tuple(items=items):
            return tuple(concrete(item, known) for item in items)
        case Many() | Unknown():
            return None
    return None


def number(dim: Dim, sizes: Mapping[Symbol, int]) -> int | None:
    """The size as a number, or None where it depends on what `sizes` does not say."""
    try:
        return evaluate(dim, sizes)
    except (KeyError, ZeroDivisionError):
        return None


class Symbols:
    """Knows the given numbers as symbols, all others as they are; `sizes` has the numbers back."""

    def __init__(self, *numbers: int) -> None:
        self.sizes = {Symbol(f"n{number}", Origin.SIZE): number for number in numbers}

    def __call__(self, value: int) -> Dim:
        return next((as_dim(symbol) for symbol, number in self.sizes.items() if number == value), as_dim(value))
