"""What jax's libraries make of whole trees of arrays: norms, products (lineax, optax), checked values (equinox)."""

from __future__ import annotations

from shapelint.domain.values import Shape, Tensor, Value
from shapelint.events import Kind
from shapelint.ops.dtypes import unknown_dtype
from shapelint.ops.op import Op, Unknowable


def number(x: Value) -> Shape:
    """One number, whatever the tree is."""
    return Shape()


def product(x: Value, y: Value) -> Shape:
    """One number of two trees."""
    return Shape()


def handed_on(x: Value) -> Tensor:
    """The value that is checked."""
    if isinstance(x, Tensor):
        return x
    raise Unknowable("a tree")


OPS: tuple[Op, ...] = (
    Op(
        "norm",
        number,
        (
            *(f"lineax.internal.{name}(x)" for name in ("two_norm", "rms_norm", "max_norm", "sum_squares")),
            "optax.global_norm(updates: x)",
        ),
        Kind.REDUCTION,
        unknown_dtype,
    ),
    Op("dot", product, ("lineax.internal.tree_dot(tree1: x, tree2: y)",), Kind.CONTRACTION, unknown_dtype),
    Op(
        "identity",
        handed_on,
        ("equinox.error_if(x, pred, msg)", "equinox.branched_error_if(x, pred, index, msgs)"),
        Kind.OTHER,
        "same",
    ),
)
