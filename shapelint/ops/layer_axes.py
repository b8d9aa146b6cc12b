"""What layers ask of single axes: their sizes, checks in the field's words, and the arithmetic of windows."""

from __future__ import annotations

from collections.abc import Sequence

from shapelint.domain.dims import ONE, Dim, anonymous, as_dim
from shapelint.domain.shapes import never_equal
from shapelint.domain.values import Axis, Const, Int, Maker, Shape, Tuple, Value
from shapelint.ops.op import ShapeError, Unknowable, dimension, size_or_any

ZERO_INT = Int(as_dim(0))
ONE_INT = Int(as_dim(1))


def made(size: Dim) -> Axis:
    """An axis that a layer made."""
    return Axis(size, maker=Maker.LAYER)


def unknown_axis() -> Axis:
    return Axis(anonymous(object()))


def spell(axis: Axis) -> str:
    """The size with its factors: "8*7*7 = 392"."""
    if len(axis.factors) < 2 or axis.size.value is None:
        return str(axis.size)
    return f"{'*'.join(map(str, axis.factors))} = {axis.size}"


def expect(axis: Axis, size: Value, subject: str, place: str) -> None:
    """ShapeError where the axis can never have this size: "Linear expects 400 features, the input's last axis is 3"."""
    try:
        expected = dimension(size)
    except Unknowable:
        return
    if axis.size == ONE and expected.value is None:
        return  # one channel that was made by hand: who does so builds the layer for it, whatever the default
    if never_equal(axis.size, expected):
        raise ShapeError(f"{subject.format(expected)}, {place} is {spell(axis)}")


def expect_rank(shape: Shape, ranks: Sequence[int], layer: str) -> None:
    """ShapeError where the input certainly has another number of axes than `ranks`."""
    certain = shape.rank is not None and shape.rank not in ranks
    if certain or shape.least_rank > max(ranks):
        expected = " or ".join(f"{rank}-D" for rank in ranks)
        raise ShapeError(f"{layer} expects {expected} input, this one is {shape}")


def per_axis(value: Value, count: int) -> tuple[Dim, ...]:
    """An int, or a tuple of them, for each of `count` axes. Unknowable where it may be either."""
    match value:
        case Int(dim=dim):
            return (dim,) * count
        case Const(value=bool() as flag):
            return (as_dim(int(flag)),) * count
        case Tuple(items=(one,)):
            return (dimension(one),) * count
        case Tuple(items=items) if len(items) == count:
            return tuple(map(dimension, items))
    raise Unknowable("neither an int nor a tuple of them")


def channels(value: Value) -> Axis:
    return made(size_or_any(value))


def floor_divide(dim: Dim, divisor: Dim) -> Dim:
    """`dim // divisor` with its whole part taken out: (2*h + 3) // 2 is h + 1, (h - 2) // 2 + 1 is h // 2."""
    by = divisor.value
    if by is None or by <= 0:
        return dim // divisor
    quotient = Dim(tuple((m, c // by) for m, c in dim.terms if c // by and (not m or c % by == 0)))
    return quotient + (dim - quotient * by) // divisor


def positive(size: Dim, layer: str, axis: Axis) -> Dim:
    """The size; ShapeError where nothing is left."""
    if size.value is not None and size.value < 1:
        raise ShapeError(f"{layer} leaves nothing of an axis of size {axis.size}")
    return size
