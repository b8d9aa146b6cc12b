"""Tensors in memory: which storage each one lies in, and with which strides, as torch lays them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from shapelint.domain.memory import width_of
from shapelint.domain.values import NONE, Const, Int, Slice, Tensor, Tuple, Value


@dataclass(eq=False)
class Storage:
    """One allocation: `kind` is "parameter", "input" or "activation"; `made_by` is the call that made it."""

    shape: tuple[int, ...]
    dtype: str
    kind: str
    made_by: str = ""
    is_statistic: bool = False  # kept in float32 whatever the precision: means and deviations of a norm

    @property
    def bytes(self) -> int:
        return prod(self.shape) * (width_of(self.dtype) or 4)


@dataclass(frozen=True)
class View:
    """A tensor: axes over a storage."""

    storage: Storage
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def is_contiguous(self) -> bool:
        return prod(self.shape) == 0 or all(
            size == 1 or stride == dense
            for size, stride, dense in zip(self.shape, self.strides, dense_strides(self.shape))
        )


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def fresh(storage: Storage) -> View:
    return View(storage, storage.shape, dense_strides(storage.shape))


def reshaped(view: View, shape: Sequence[int]) -> View | None:
    """The view in another shape; None where only a copy can have it."""
    groups: list[tuple[int, int]] = []  # runs of axes that lie in memory as one: size, stride of the last
    for size, stride in zip(view.shape, view.strides):
        if size == 1:
            continue
        if groups and groups[-1][1] == size * stride:
            groups[-1] = groups[-1][0] * size, stride
        else:
            groups.append((size, stride))
    strides: list[int] = []
    left, step = groups.pop() if groups else (1, 1)
    for size in reversed(shape):
        if size == 1:
            strides.append(step * left)
            continue
        if left == 1 and groups:
            left, step = groups.pop()
        if left % size:
            return None
        strides.append(step)
        left, step = left // size, step * size
    return View(view.storage, tuple(shape), tuple(reversed(strides)))


def permuted(view: View, order: Sequence[int]) -> View:
    return View(view.storage, tuple(view.shape[i] for i in order), tuple(view.strides[i] for i in order))


def expanded(view: View, shape: Sequence[int]) -> View:
    """Repeated along new axes and those of size 1, which costs nothing."""
    missing = len(shape) - len(view.shape)
    sizes, strides = (1,) * missing + view.shape, (0,) * missing + view.strides
    return View(view.storage, tuple(shape), tuple(0 if a == 1 != b else s for a, b, s in zip(sizes, shape, strides)))


def without_axis(view: View, axis: int) -> View:
    keep = [i for i in range(len(view.shape)) if i != axis % len(view.shape)]
    return permuted(view, keep)


def indexed(view: View, index: Value) -> View | None:
    """`x[0, :, None]`; None where tensors or lists pick elements, which copies them."""
    items = list(index.items) if isinstance(index, Tuple) and index.kind == "tuple" else [index]
    named = sum(isinstance(item, Int | Slice) for item in items)
    shape, strides, axis = [], [], 0
    for item in items:
        match item:
            case Int():
                axis += 1
            case Slice(start=start, stop=stop, step=step):
                bounds = [_number(bound) for bound in (start, stop, step)]
                if "?" in bounds:
                    return None
                span = range(*slice(*bounds).indices(view.shape[axis]))
                shape.append(len(span))
                strides.append(view.strides[axis] * span.step)
                axis += 1
            case Const(value=None):
                shape.append(1)
                strides.append(0)
            case Const() if item.value is Ellipsis:
                skipped = len(view.shape) - named
                shape += view.shape[axis : axis + skipped]
                strides += view.strides[axis : axis + skipped]
                axis += skipped
            case _:
                return None
    return View(view.storage, (*shape, *view.shape[axis:]), (*strides, *view.strides[axis:]))


def _number(value: Value) -> int | str | None:
    if value == NONE:
        return None
    return value.dim.value if isinstance(value, Int) and value.dim.value is not None else "?"


def shape_of(value: Tensor) -> tuple[int, ...] | None:
    """The sizes as numbers; None where one is not known."""
    sizes = [size.value for size in value.shape.sizes]
    return None if value.shape.rank is None or None in sizes else tuple(size or 0 for size in sizes)
