"""How many bytes an array takes, and how to say it."""

from __future__ import annotations

import re

from shapelint.domain.values import Shape, Tensor

DEFAULT = {"torch": "float32", "jax": "float32", "numpy": "float64"}
WORTH_TELLING = 2**20
UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB")


def memory(shape: Shape, dtype: str | None) -> int | None:
    """The bytes of an array; None where a size or the dtype is not known."""
    numel = shape.numel()
    width = width_of(dtype)
    return None if numel is None or numel.value is None or width is None else numel.value * width


def width_of(dtype: str | None) -> int | None:
    """The bytes of one element; None for a class of dtypes such as "float"."""
    if dtype == "bool":
        return 1
    bits = re.fullmatch(r"[a-z]+?(8|16|32|64|128)", dtype or "")
    return int(bits[1]) // 8 if bits else None


def dtype_of(value: Tensor) -> str | None:
    """The dtype of an array, or what its library makes of floats where it is not known."""
    return value.dtype if width_of(value.dtype) is not None else DEFAULT.get(value.library or "")


def spelled(count: int) -> str:
    """64 MiB, 1.5 GiB."""
    size, unit = float(count), 0
    while size >= 1024 and unit < len(UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.0f} {UNITS[unit]}" if size >= 10 or size == int(size) else f"{size:.1f} {UNITS[unit]}"


def cost(shape: Shape, value: Tensor) -> str:
    """` (float32, 64 MiB)` for an array of this shape that is like `value`; empty where it is small, or not known."""
    dtype = dtype_of(value)
    count = memory(shape, dtype)
    return f" ({dtype}, {spelled(count)})" if count is not None and count >= WORTH_TELLING else ""
