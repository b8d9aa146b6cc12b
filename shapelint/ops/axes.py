"""Picking, dropping and replacing axes by index, also where a run hides the rank."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shapelint.domain.dims import ONE, Dim, anonymous
from shapelint.domain.values import Axis, Maker, Run, Shape, Value
from shapelint.ops.op import ShapeError, Unknowable, axis_index, integers, is_none

UNKNOWN_AXIS = Axis(anonymous("edited"))


def axes_argument(dim: Value | None) -> tuple[int, ...] | None:
    """`dim` as given: one axis or several, None for all. Unknowable where it is not constant."""
    if dim is None or is_none(dim):
        return None
    axes = integers(dim)
    if not axes:
        raise Unknowable("no axes: all in torch, none in numpy")
    return axes


def reduced(shape: Shape, axes: tuple[int, ...] | None, keepdim: bool) -> Shape:
    """`shape` without `axes` (None: all), or with 1 in their place. AxisError where the rank has no such axis."""
    kept = (Axis(ONE, maker=Maker.KEEPDIM),) if keepdim else ()
    if axes is None:
        if not keepdim:
            return Shape()
        if shape.run is not None:
            return Shape((), Run("", ("all reduced", shape)))
        return Shape(kept * len(shape.head))
    return edited(shape, axes, lambda _: kept)


def resized(shape: Shape, axis: int, size: Dim, maker: Maker | None = None) -> Shape:
    """`shape` with another size along one axis."""
    return edited(shape, (axis,), lambda _: (Axis(size, maker=maker),))


def edited(shape: Shape, axes: tuple[int, ...], edit: Callable[[Axis], tuple[Axis, ...]]) -> Shape:
    """`shape` with each of `axes` replaced by what `edit` makes of it. A shape without axes stays."""
    if shape.run is not None:
        return _edited_beside_run(shape, axes, edit)
    indices = {axis_index(index, shape) for index in axes}
    if len(indices) < len(axes):
        raise ShapeError(f"axes {axes} of {shape} name one axis twice")
    return Shape(_apply(shape.head, indices, edit))


def _edited_beside_run(shape: Shape, axes: tuple[int, ...], edit: Callable[[Axis], tuple[Axis, ...]]) -> Shape:
    """What lies in the run is not known, and neither is what stands between it and an axis counted through it."""
    head = {index for index in axes if 0 <= index < len(shape.head)}
    tail = {index + len(shape.tail) for index in axes if -len(shape.tail) <= index < 0}
    through = [index for index in axes if index >= len(shape.head) or index < -len(shape.tail)]
    if not through:
        return Shape(_apply(shape.head, head, edit), shape.run, _apply(shape.tail, tail, edit))
    forward = all(index >= 0 for index in through)
    backward = all(index < 0 for index in through)
    return Shape(
        _apply(shape.head, head, edit) if forward else (),
        Run("", (shape, axes, _outcome(edit))),
        _apply(shape.tail, tail, edit) if backward else (),
    )


def _outcome(edit: Callable[[Axis], tuple[Axis, ...]]) -> object:
    """What tells one edit of an unknown axis from another: a mean that keeps it has one axis more."""
    try:
        return edit(UNKNOWN_AXIS)
    except (ShapeError, Unknowable):
        return object()


def _apply(
    axes: tuple[Axis, ...], indices: Iterable[int], edit: Callable[[Axis], tuple[Axis, ...]]
) -> tuple[Axis, ...]:
    chosen = set(indices)
    return tuple(new for i, axis in enumerate(axes) for new in (edit(axis) if i in chosen else (axis,)))


def check_axis(shape: Shape, axis: int) -> None:
    """AxisError where the rank is known and has no such axis."""
    if shape.rank is not None:
        axis_index(axis, shape)
