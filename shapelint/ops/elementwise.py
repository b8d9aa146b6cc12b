"""Ops that broadcast their tensor operands."""

from __future__ import annotations

from shapelint.events import Kind
from shapelint.ops.op import Op, ShapeError, tensor
from shapelint.shapes import line_up
from shapelint.values import Shape, Value


def binary(x: Value, y: Value) -> Shape:
    """(…a) with (…b): lined up from the right, sizes equal or 1."""
    a, b = tensor(x).shape, tensor(y).shape
    lined_up = line_up(a, b)
    conflict = lined_up.conflict
    if conflict is not None:
        raise ShapeError(f"{a} and {b} do not broadcast: {conflict.left} against {conflict.right}")
    return lined_up.shape


OPS: tuple[Op, ...] = (
    Op(
        "add",
        binary,
        ("torch.add(input, other, *, alpha)", "numpy.add(x1, x2)", "jax.numpy.add(x1, x2)"),
        Kind.ELEMENTWISE,
    ),
)
