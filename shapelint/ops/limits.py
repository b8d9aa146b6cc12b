"""torch.finfo and its like: what a dtype holds, as constants."""

from __future__ import annotations

from collections.abc import Mapping

from shapelint.domain.dims import as_dim
from shapelint.domain.formats import FORMATS, INTEGERS
from shapelint.domain.values import UNKNOWN, Float, Int, Layer, Shape, Tensor, Value
from shapelint.events import Kind
from shapelint.ops.dtypes import named
from shapelint.ops.op import Op, Result

LIBRARIES: Mapping[str, str] = {"torch": "torch", "numpy": "numpy", "jax.numpy": "jax"}
NAMES = frozenset(f"{library}.{name}" for library in LIBRARIES for name in ("finfo", "iinfo"))

FIELDS = frozenset({"min", "max", "eps", "tiny", "smallest_normal", "resolution"})


def info(x: Value = UNKNOWN) -> Result:
    """The object is made from the dtype alone; nobody calls it."""
    return UNKNOWN


OPS: tuple[Op, ...] = (
    Op("finfo", info, tuple(f"{name}(dtype)" for name in sorted(NAMES)), Kind.OTHER, inputs="input"),
)


def attribute(layer: Layer, name: str) -> Value | None:
    """`torch.finfo(torch.float16).max`; a number that is not known where the dtype is not."""
    dtype = described(layer)
    if layer.name.endswith("iinfo"):
        limits = INTEGERS.get(dtype or "")
        return {"min": Int(as_dim(limits[0])), "max": Int(as_dim(limits[1]))}.get(name) if limits else None
    if name not in FIELDS:
        return None
    value = number(layer, name)
    if value is None or layer.name.startswith("torch"):
        return Float(value)
    return Tensor(Shape(), dtype, LIBRARIES[layer.name.rpartition(".")[0]])  # a scalar of the dtype that it describes


def described(layer: Layer) -> str | None:
    """The dtype that the object describes; torch's is float32 where none is given."""
    if not layer.config:
        return "float32"
    argument = layer.config.get("dtype", UNKNOWN)
    return argument.dtype if isinstance(argument, Tensor) else named(argument, LIBRARIES[layer.name.rpartition(".")[0]])


def number(layer: Layer, name: str) -> float | None:
    """The number that an attribute of finfo is."""
    known = FORMATS.get(described(layer) or "")
    if known is None or name not in FIELDS or name == "resolution":
        return None
    return {"min": -known.largest, "max": known.largest, "eps": known.spacing}.get(name, known.normal)
