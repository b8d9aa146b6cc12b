"""Shapes lined up from the right, and the functions that do no more than that."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from shapelint.domain.shapes import line_up
from shapelint.domain.values import Int, Shape, Tensor, Tuple, Value, tensors_in
from shapelint.events import Kind
from shapelint.ops.dtypes import unknown_dtype
from shapelint.ops.op import Op, ShapeError, Unknowable, sizes


def broadcast_all(*shapes: Shape) -> Shape:
    """The shapes lined up from the right, sizes equal or 1; ShapeError where that can never be."""
    return reduce(_broadcast_two, shapes)


def _broadcast_two(a: Shape, b: Shape) -> Shape:
    if b.run is None and (not b.head or a == b):
        return a  # as what follows would find
    lined_up = line_up(a, b)
    conflict = lined_up.conflict
    if conflict is not None:
        raise ShapeError(f"{a} and {b} do not broadcast: {conflict.left} against {conflict.right}")
    return lined_up.shape


def broadcast_arrays(tensors: Value) -> tuple[Tensor, ...]:
    """Each with the shape of all together, and with a dtype and graph of its own."""
    found = tuple(tensors_in([tensors]))
    if not isinstance(tensors, Tuple) or len(found) != len(tensors.items):
        raise Unknowable("not a known number of tensors")
    shape = broadcast_all(*(t.shape for t in found))
    return tuple(replace(t, shape=shape, made_by=None) for t in found)


def broadcast_shapes(shapes: Value) -> Value:
    """The size that tensors of these sizes broadcast to."""
    if not isinstance(shapes, Tuple):
        raise Unknowable("not a known number of shapes")
    if all(isinstance(item, Int) for item in shapes.items):
        raise Unknowable("one shape of several sizes, or several shapes")
    shape = broadcast_all(*map(sizes, shapes.items))
    if shape.rank is None:
        raise Unknowable("rank not known")
    return Tuple(tuple(Int(size) for size in shape.sizes), "size")


OPS: tuple[Op, ...] = (
    Op(
        "broadcast_tensors",
        broadcast_arrays,
        (
            "torch.broadcast_tensors(*tensors)",
            "numpy.broadcast_arrays(*tensors)",
            "jax.numpy.broadcast_arrays(*tensors)",
        ),
        Kind.LAYOUT,
        unknown_dtype,
    ),
    Op(
        "broadcast_shapes",
        broadcast_shapes,
        ("torch.broadcast_shapes(*shapes)", "numpy.broadcast_shapes(*shapes)", "jax.numpy.broadcast_shapes(*shapes)"),
        Kind.OTHER,
    ),
)
