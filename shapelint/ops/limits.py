"""torch.finfo and its like: what a dtype holds, as constants."""

from __future__ import annotations

from collections.abc import Mapping

from shapelint.dims import as_dim
from shapelint.events import Kind
from shapelint.ops.dtypes import named
from shapelint.ops.op import Op, Result
from shapelint.precision import FORMATS, INTEGERS
from shapelint.values import UNKNOWN, Float, Int, Layer, Shape, Tensor, Value

LIBRARIES: Mapping[str, str] = {"torch": "torch", "numpy": "numpy", "jax.numpy": "jax"}
NAMES = frozenset(f"{library}.{name}" for library in LIBRARIES for name in ("finfo", "iinfo"))


def info(x: Value = UNKNOWN) -> Result:
    """The object is made from the dtype alone; nobody calls it."""
    return UNKNOWN


OPS: tuple[Op, ...] = (
    Op("finfo", info, tuple(f"{name}(dtype)" for name in sorted(NAMES)), Kind.OTHER, inputs="input"),
)


def attribute(layer: Layer, name: str) -> Value | None:
    """`torch.finfo(torch.float16).max`; a number that is not known where the dtype is not."""
    library = LIBRARIES[layer.name.rpartition(".")[0]]
    argument = layer.config.get("dtype", UNKNOWN)
    dtype = argument.dtype if isinstance(argument, Tensor) else named(argument, library)
    if layer.name.endswith("iinfo"):
        limits = INTEGERS.get(dtype or "")
        return {"min": Int(as_dim(limits[0])), "max": Int(as_dim(limits[1]))}.get(name) if limits else None
    known = FORMATS.get("float32" if not layer.config else dtype or "")
    if name not in {"min", "max", "eps", "tiny", "smallest_normal", "resolution"}:
        return None
    if known is None or name == "resolution":
        return Float()
    value = {"min": -known.largest, "max": known.largest, "eps": known.spacing}.get(name, known.normal)
    if library == "torch":
        return Float(value)
    return Tensor(Shape(), dtype, library)  # numpy's scalars are of the dtype that they describe
