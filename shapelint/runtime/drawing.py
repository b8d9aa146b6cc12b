"""Random data for an annotation, once every named axis has a size."""

from __future__ import annotations

import ast
import collections.abc
import dataclasses
import inspect
import random
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from jaxtyping import AbstractArray

from shapelint.annotations.patterns import Anonymous, Fixed, Formula, Named, Pattern, parse
from shapelint.runtime.checking import spelled

PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
CONTAINERS = (list, tuple, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)


class NotProbed(Exception):
    """No data can be drawn: why, for the user."""


def arrays(hint: Any) -> Iterator[Any]:
    """The array annotations within an annotation, fields of dataclasses included."""
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        yield hint
    elif isinstance(hint, type) and dataclasses.is_dataclass(hint):
        for inner in typing.get_type_hints(hint, include_extras=True).values():
            yield from arrays(inner)
    else:
        for inner in typing.get_args(hint):
            yield from arrays(inner)


def names_of(hints: Iterable[Any]) -> tuple[list[str], set[int]]:
    """The axis names in annotations, in order, and the constant sizes."""
    names: dict[str, None] = {}
    constants: set[int] = set()
    for array in (array for hint in hints for array in arrays(hint)):
        pattern = parse(array.dim_str)
        for axis in pattern.prefix + pattern.suffix:
            match axis:
                case Named(name=name) if name.isidentifier():
                    names[name] = None
                case Formula(source=source) if "{" not in source:
                    found = ast.walk(ast.parse(source, mode="eval"))
                    names.update(
                        dict.fromkeys(n.id for n in found if isinstance(n, ast.Name) and n.id not in FUNCTIONS)
                    )
                case Fixed(size=size):
                    constants.add(size)
                case Anonymous():
                    names["_"] = None
        if pattern.variadic is not None:
            names["*" + (pattern.variadic.name or "")] = None
    return list(names), constants


LARGEST = 3_000_000
FUNCTIONS = {"min": min, "max": max, "abs": abs}


def distinct(names: Iterable[str], constants: set[int], seed: int, factor: int = 1) -> dict[str, int]:
    """A different prime, or multiple of one, for each name; none is a constant of the annotations."""
    wanted = list(names)
    sizes = [factor * prime for prime in PRIMES if factor * prime not in constants]
    few = sizes[: len(wanted) + 2]
    return dict(zip(wanted, random.Random(seed).sample(few, min(len(wanted), len(few)))))


class TooLarge(NotProbed):
    """These sizes make an array that is too large to be drawn again and again."""


class Draw:
    """Values for annotations; the same sizes and seed give the same values."""

    def __init__(self, sizes: Mapping[str, int], seed: int) -> None:
        self.sizes = sizes
        self.random = np.random.default_rng(seed)

    def value(self, name: str, hint: Any, scope: Mapping[str, Any]) -> Any:
        """Raises NotProbed for what no data is known."""
        origin, inner = typing.get_origin(hint), typing.get_args(hint)
        if isinstance(hint, type) and issubclass(hint, AbstractArray):
            return self._array(hint, scope)
        if origin in (typing.Union, types.UnionType):
            member = next((part for part in inner if any(arrays(part))), None)
            if member is not None:
                return self.value(name, member, scope)
        elif origin is tuple and Ellipsis not in inner and any(map(list, map(arrays, inner))):
            return tuple(self.value(name, part, scope) for part in inner)
        elif origin in CONTAINERS and any(arrays(hint)):
            items = [self.value(name, inner[0], scope) for _ in range(2)]
            return tuple(items) if origin is tuple else items
        elif isinstance(hint, type) and dataclasses.is_dataclass(hint):
            fields = typing.get_type_hints(hint, include_extras=True)
            needed = [f.name for f in dataclasses.fields(hint) if f.init and not _has_default(f)]
            return hint(**{field: self.value(f"{name}.{field}", fields[field], scope) for field in needed})
        shown = "" if hint is inspect.Parameter.empty else f": {spelled(hint)}"
        raise NotProbed(f"needs `{name}{shown}`; give it with @shapelint.runtime.example({name.partition('.')[0]}=...)")

    def shape(self, pattern: Pattern, scope: Mapping[str, Any]) -> tuple[int, ...]:
        middle = () if pattern.variadic is None else (self.sizes["*" + (pattern.variadic.name or "")],)
        head, tail = ([self._size(axis, scope) for axis in part] for part in (pattern.prefix, pattern.suffix))
        return (*head, *middle, *tail)

    def _size(self, axis: Any, scope: Mapping[str, Any]) -> int:
        match axis:
            case Fixed(size=size):
                return int(size)
            case Anonymous():
                return self.sizes["_"]
            case Named(name=name) if name in self.sizes:
                return self.sizes[name]
        source = axis.source if isinstance(axis, Formula) else axis.name
        try:
            if "{" in source:
                source = eval(f"f{source!r}", dict(scope))
            return int(eval(source, {"__builtins__": FUNCTIONS}, dict(self.sizes)))
        except Exception as error:
            raise NotProbed(f"the size {axis.text} cannot be computed: {error}") from None

    def _array(self, hint: Any, scope: Mapping[str, Any]) -> Any:
        shape = self.shape(parse(hint.dim_str), scope)
        if np.prod(shape, dtype=float) > LARGEST:
            raise TooLarge(f"{spelled(hint)} would have the shape {shape}")
        dtypes = hint.dtypes if isinstance(hint.dtypes, tuple | list) else ("float32",)
        dtype = next((d for d in ("float32", "int64", "int32", "bool", *dtypes) if d in dtypes), "float32")
        if dtype.startswith("bool"):
            values: Any = self.random.random(shape) < 0.5
        elif "int" in dtype:
            values = self.random.integers(0, 2, shape)  # a class and an index of any axis of two or more
        elif dtype == "prng_key":
            raise NotProbed(f"needs a key: {spelled(hint)}")
        else:
            values = self.random.uniform(0.05, 0.95, shape)  # probabilities, and fit for log and sqrt
        return _converted(np.asarray(values), dtype, hint.array_type)


def _converted(values: Any, dtype: str, array_type: Any) -> Any:
    root = getattr(array_type, "__module__", "").partition(".")[0]
    if root == "torch":
        import torch

        tensor = torch.as_tensor(values).to(getattr(torch, dtype))
        return torch.nn.Parameter(tensor) if array_type is torch.nn.Parameter else tensor
    if root in ("jax", "jaxlib"):
        import jax.numpy as jnp

        return jnp.asarray(values, dtype=dtype)
    return np.asarray(values).astype(dtype if dtype != "bfloat16" else "float32")


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
