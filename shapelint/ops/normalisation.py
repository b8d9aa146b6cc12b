"""Ops along an axis that keep it: softmax, normalize, cumsum; and diff, which shortens it."""

from __future__ import annotations

from shapelint.domain.dims import Dim, as_dim
from shapelint.domain.values import NONE, Axis, Int, Shape, Value
from shapelint.events import Kind
from shapelint.ops.axes import check_axis, edited
from shapelint.ops.op import Op, Result, Unknowable, integer, integers, is_none, tensor
from shapelint.ops.reductions import LAST, with_indices

ONCE = Int(as_dim(1))


def along(x: Value, dim: Value = NONE) -> Shape:
    """(…) -> (…), along `dim`: an axis that exists, or several."""
    shape = tensor(x).shape
    if not is_none(dim):
        for axis in _known(dim):
            check_axis(shape, axis)
    return shape


def normalize(x: Value, dim: Value = ONCE) -> Shape:
    """(…) -> (…), along axis 1 unless told otherwise."""
    return along(x, dim)


def _known(dim: Value) -> tuple[int, ...]:
    try:
        return integers(dim)
    except Unknowable:
        return ()


def cumulative(x: Value, dim: Value = NONE) -> Shape:
    """numpy's cumsum: without an axis over the flattened array."""
    shape = tensor(x).shape
    if not is_none(dim) and shape.rank != 0:
        return along(x, dim)
    size = shape.numel()
    if size is None:
        raise Unknowable("rank not known")
    return Shape((Axis(size),))


def cumulative_extremum(x: Value, dim: Value) -> Result:
    """torch.cummax: values and indices."""
    return with_indices(along(x, dim))


def diff(
    x: Value,
    n: Value = ONCE,
    dim: Value = LAST,
    prepend: Value = NONE,
    append: Value = NONE,
) -> Shape:
    """(…, k, …) -> (…, k - n, …)"""
    index, order = integer(dim), integer(n)
    if order == 0:
        return tensor(x).shape
    added = as_dim(0)
    for extra in (prepend, append):
        if not is_none(extra):
            axis = tensor(extra).shape.axis(index)
            if axis is None:
                raise Unknowable("what is put before or after has another rank")
            added = added + axis.size
    return edited(tensor(x).shape, (index,), lambda axis: (Axis(_not_negative(axis.size + added - order)),))


def _not_negative(size: Dim) -> Dim:
    return as_dim(0) if size.value is not None and size.value < 0 else size


def row(name: str, *spellings: str, dtype: str = "float") -> Op:
    return Op(name, along, spellings, Kind.NORMALISATION, dtype)


CUMULATIVE = ("cumsum", "cumprod")

OPS: tuple[Op, ...] = (
    row(
        "softmax",
        "torch.softmax(input, dim, dtype)",
        "torch.nn.functional.softmax(input, dim, _stacklevel, dtype)",
        "torch.special.softmax(input, dim, *, dtype)",
        "jax.nn.softmax(x, axis, where)",
        "jax.scipy.special.softmax(x, axis)",
    ),
    row(
        "log_softmax",
        "torch.log_softmax(input, dim, dtype)",
        "torch.nn.functional.log_softmax(input, dim, _stacklevel, dtype)",
        "torch.special.log_softmax(input, dim, *, dtype)",
        "jax.nn.log_softmax(x, axis, where)",
        "jax.scipy.special.log_softmax(x, axis)",
    ),
    row("softmin", "torch.nn.functional.softmin(input, dim, _stacklevel, dtype)"),
    row("gumbel_softmax", "torch.nn.functional.gumbel_softmax(logits, tau, hard, eps, dim)"),
    Op(
        "normalize", normalize, ("torch.nn.functional.normalize(input, p, dim, eps, out)",), Kind.NORMALISATION, "float"
    ),
    row("standardize", "jax.nn.standardize(x, axis, mean, variance, epsilon, where)"),
    row("renorm", "torch.renorm(input, p, dim, maxnorm)"),
    row("logcumsumexp", "torch.logcumsumexp(input, dim)"),
    *(row(name, f"torch.{name}(input, dim, *, dtype)", dtype="total") for name in CUMULATIVE),
    *(row(name, f"jax.lax.{name}(operand, axis, reverse)", dtype="same") for name in (*CUMULATIVE, "cummax", "cummin")),
    *(
        Op(
            name.removeprefix("nan"),
            cumulative,
            (f"numpy.{name}(a, axis, dtype, out)", f"jax.numpy.{name}(a, axis, dtype, out)"),
            Kind.NORMALISATION,
            "total",
        )
        for name in (*CUMULATIVE, "nancumsum", "nancumprod")
    ),
    *(
        Op(name, cumulative_extremum, (f"torch.{name}(input, dim)",), Kind.NORMALISATION, "same")
        for name in ("cummax", "cummin")
    ),
    Op("diff", diff, ("torch.diff(input, n, dim, prepend, append)",), Kind.NORMALISATION, "same"),
    Op(
        "diff",
        diff,
        ("numpy.diff(a, n, axis, prepend, append)", "jax.numpy.diff(a, n, axis, prepend, append)"),
        Kind.NORMALISATION,
        "same",
    ),
)
