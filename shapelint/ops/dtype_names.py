"""Other names of dtypes, and what the bare words of Python mean to a library."""

from __future__ import annotations

from collections.abc import Mapping

NAMES: Mapping[str, str] = {
    "half": "float16",
    "double": "float64",
    "single": "float32",
    "short": "int16",
    "long": "int64",
    "byte": "uint8",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "bool_": "bool",
    "float_": "float64",
    "int_": "int64",
    "intp": "int64",
}
# What the bare words mean: torch.float and torch.int are concrete, Python's types are each library's default.
TORCH_NAMES: Mapping[str, str] = {"float": "float32", "int": "int32"}
