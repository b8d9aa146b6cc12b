"""Ops that take axes away: sum, mean, max, argmax, norm."""

from __future__ import annotations

from collections.abc import Callable

from shapelint.domain.dims import as_dim
from shapelint.domain.values import FALSE, NONE, Const, Int, Shape, Tensor, Tuple, Unknown, Value
from shapelint.events import Kind
from shapelint.ops.axes import axes_argument, reduced
from shapelint.ops.dtypes import unknown_dtype
from shapelint.ops.elementwise import PLACES, binary
from shapelint.ops.op import (
    DtypeRule,
    GraphEffect,
    Named,
    Op,
    Part,
    Result,
    Unknowable,
    flag,
    is_none,
    tensor,
    unknown_shape,
)

NO_GRAPH = GraphEffect.NO_GRAPH
LAST = Int(as_dim(-1))


def reduction(x: Value, dim: Value = NONE, keepdim: Value = FALSE) -> Shape:
    """(…, n, …) -> (…) along `dim`: one axis, several, or all of them."""
    shape = tensor(x).shape
    try:
        return reduced(shape, axes_argument(dim), flag(keepdim))
    except Unknowable:
        return unknown_shape()


def several_axes(x: Value, dim: Value = NONE, keepdim: Value = FALSE) -> Shape:
    """As `reduction`; torch reads `dim=()` as all axes."""
    return reduction(x, NONE if dim == Tuple(()) else dim, keepdim)


def flat_argument(x: Value, dim: Value = NONE, keepdim: Value = FALSE) -> Shape:
    """argmax: without `dim` the position in the flattened array, a number also with torch's keepdim."""
    return reduction(x, dim, keepdim)


def extremum(x: Value, dim: Value = NONE, keepdim: Value = FALSE, y: Value = NONE) -> Result:
    """torch's max, min, median: values and indices along `dim`, the one value without, or of two tensors."""
    match dim if is_none(y) else y:
        case Tensor():
            return binary(x, dim if is_none(y) else y)
        case Const(value=None):
            return reduction(x)
        case Unknown():
            raise Unknowable("a tensor or an axis")
    return with_indices(reduction(x, dim, keepdim))


def along_last(x: Value, dim: Value = LAST, keepdim: Value = FALSE) -> Result:
    """torch's mode: values and indices along the last axis."""
    return with_indices(reduction(x, dim, keepdim))


def kthvalue(x: Value, k: Value, dim: Value = LAST, keepdim: Value = FALSE) -> Result:
    return along_last(x, dim, keepdim)


def with_indices(shape: Shape) -> Named:
    """torch's named tuple (values, indices)."""
    return Named({"values": shape, "indices": Part(shape, "index", NO_GRAPH)})


def extrema(x: Value, dim: Value = NONE, keepdim: Value = FALSE) -> Named:
    """torch.aminmax"""
    shape = reduction(x, dim, keepdim)
    return Named({"min": shape, "max": shape})


def mean_and(x: Value, dim: Value = NONE, keepdim: Value = FALSE) -> tuple[Shape, Shape]:
    """torch.std_mean, torch.var_mean."""
    shape = spread(x, dim, keepdim=keepdim)
    return shape, shape


def spread(x: Value, dim: Value = NONE, unbiased: Value = NONE, keepdim: Value = FALSE) -> Shape:
    """torch's std and var; the second argument may also be `unbiased`, a bool."""
    if isinstance(dim, Const) and isinstance(dim.value, bool):
        dim = NONE
    return several_axes(x, dim, keepdim)


def norm(x: Value, p: Value = NONE, dim: Value = NONE, keepdim: Value = FALSE) -> Shape:
    return several_axes(x, dim, keepdim)


def matrix_norm(x: Value, ord: Value = NONE, dim: Value = NONE, keepdim: Value = FALSE) -> Shape:
    """torch.linalg.matrix_norm: over the last two axes where none are given."""
    return reduction(x, Tuple((Int(as_dim(-2)), LAST)) if is_none(dim) else dim, keepdim)


def quantile(x: Value, q: Value, dim: Value = NONE, keepdim: Value = FALSE) -> Shape:
    """(…, n, …) -> (*q, …)"""
    rest, levels = reduction(x, dim, keepdim), tensor(q).shape
    if levels.run is not None:
        raise Unknowable("rank of q not known")
    return Shape(levels.head + rest.head, rest.run, rest.tail)


def logsumexp(x: Value, dim: Value = NONE, keepdim: Value = FALSE, return_sign: Value = FALSE) -> Result:
    """(…, n, …) -> (…), with a sign of that shape where it is asked for."""
    shape = reduction(x, dim, keepdim)
    return (Part(shape, "moment"), shape) if flag(return_sign) else shape


def dist(x: Value, y: Value) -> Shape:
    binary(x, y)
    return Shape()


def average(
    x: Value, dim: Value = NONE, weights: Value = NONE, keepdim: Value = FALSE, returned: Value = FALSE
) -> Shape:
    """numpy.average; the pair with the sum of weights is not modelled."""
    if flag(returned):
        raise Unknowable("a pair")
    return reduction(x, dim, keepdim)


TORCH = "dim, keepdim, *, dtype"
NUMPY = "axis, dtype, out, keepdims, *, where"
NUMPY_PLAIN = "axis, out, keepdims, *, where"
NUMPY_MOMENT = "axis, dtype, out, ddof, keepdims, *, where"
JAX_PLAIN = "axis, out, keepdims, *, where"
OVERWRITING = "axis, out, overwrite_input, keepdims"
POSITION = "axis, out, *, keepdims"


def row(
    name: str,
    function: Callable[..., Result],
    *spellings: str,
    dtype: DtypeRule = "same",
    graph: GraphEffect = GraphEffect.DIFFERENTIABLE,
) -> Op:
    """An op whose spellings are written short: "np.sum axis, keepdims" is "numpy.sum(x, axis, keepdims)"."""

    def full(text: str) -> str:
        callee, _, rest = text.partition(" ")
        place, _, method = callee.partition(".")
        prefix = PLACES[place][0] if place in PLACES else f"{place}."
        return f"{prefix}{method}(x, {rest})"

    return Op(name, function, tuple(map(full, spellings)), Kind.REDUCTION, dtype, graph)


def both(name: str, numpy: str) -> tuple[str, str]:
    """One signature in numpy and jax.numpy."""
    return f"np.{name} {numpy}", f"jnp.{name} {numpy}"


OPS: tuple[Op, ...] = (
    row("sum", several_axes, f"torch.sum {TORCH}", f"torch.nansum {TORCH}", dtype="total"),
    row("sum", reduction, *both("sum", NUMPY), *both("nansum", NUMPY), dtype="total"),
    row("mean", several_axes, f"torch.mean {TORCH}", f"torch.nanmean {TORCH}", dtype="same"),
    row("mean", reduction, *both("mean", NUMPY), *both("nanmean", NUMPY), dtype="quotient"),
    row("mean", average, *both("average", "axis, weights, returned, *, keepdims"), dtype=unknown_dtype),
    row("prod", reduction, f"torch.prod {TORCH}", *both("prod", NUMPY), *both("nanprod", NUMPY), dtype="total"),
    row("max", extremum, "torch.max dim, keepdim"),
    row("min", extremum, "torch.min dim, keepdim"),
    row("median", extremum, "torch.median dim, keepdim", "torch.nanmedian dim, keepdim"),
    row("mode", along_last, "torch.mode dim, keepdim"),
    row("kthvalue", kthvalue, "torch.kthvalue k, dim, keepdim"),
    row("aminmax", extrema, "torch.aminmax *, dim, keepdim"),
    row("max", several_axes, "torch.amax dim, keepdim"),
    row("min", several_axes, "torch.amin dim, keepdim"),
    *(
        row(name[-3:], reduction, *both(name, NUMPY_PLAIN))
        for name in ("max", "amax", "nanmax", "min", "amin", "nanmin")
    ),
    row("median", reduction, *both("median", OVERWRITING), *both("nanmedian", OVERWRITING), dtype="quotient"),
    row("any", reduction, f"torch.any {TORCH}", *both("any", NUMPY_PLAIN), dtype="bool", graph=NO_GRAPH),
    row("all", reduction, f"torch.all {TORCH}", *both("all", NUMPY_PLAIN), dtype="bool", graph=NO_GRAPH),
    *(
        row(name, flat_argument, f"torch.{name} {TORCH}", *both(name, POSITION), dtype="index", graph=NO_GRAPH)
        for name in ("argmax", "argmin")
    ),
    *(
        row(name[3:], flat_argument, *both(name, POSITION), dtype="index", graph=NO_GRAPH)
        for name in ("nanargmax", "nanargmin")
    ),
    row("std", spread, "torch.std dim, unbiased, keepdim, *, correction", dtype="moment"),
    row("var", spread, "torch.var dim, unbiased, keepdim, *, correction", dtype="moment"),
    row("std", mean_and, "torch.std_mean dim, unbiased, keepdim, *, correction"),
    row("var", mean_and, "torch.var_mean dim, unbiased, keepdim, *, correction"),
    *(
        row(name[-3:], reduction, *both(name, NUMPY_MOMENT), dtype="moment")
        for name in ("std", "var", "nanstd", "nanvar")
    ),
    row("ptp", reduction, *both("ptp", NUMPY_PLAIN)),
    row("logsumexp", reduction, f"torch.logsumexp {TORCH}", dtype="float"),
    row(
        "logsumexp",
        logsumexp,
        "jnn.logsumexp axis, b, keepdims, return_sign",
        "jsp.logsumexp axis, b, keepdims, return_sign",
        dtype="float",
    ),
    row(
        "count_nonzero",
        reduction,
        "torch.count_nonzero dim",
        *both("count_nonzero", "axis, *, keepdims"),
        dtype="index",
        graph=NO_GRAPH,
    ),
    row("norm", norm, f"torch.norm p, {TORCH}", dtype="moment"),
    row("norm", norm, f"torch.linalg.norm ord, {TORCH}", f"torch.linalg.vector_norm ord, {TORCH}", dtype="moment"),
    row("norm", matrix_norm, f"torch.linalg.matrix_norm ord, {TORCH}", dtype="moment"),
    row("norm", norm, *both("linalg.norm", "ord, axis, keepdims"), dtype="moment"),
    row("norm", norm, *both("linalg.vector_norm", "*, axis, keepdims, ord"), dtype="moment"),
    row("norm", matrix_norm, *both("linalg.matrix_norm", "*, keepdims, ord"), dtype="moment"),
    row("quantile", quantile, "torch.quantile q, dim, keepdim", "torch.nanquantile q, dim, keepdim"),
    *(
        row("quantile", quantile, *both(name, "q, axis, out, overwrite_input, method, keepdims"), dtype=unknown_dtype)
        for name in ("quantile", "nanquantile", "percentile", "nanpercentile")
    ),
    row("dist", dist, "torch.dist y, p", dtype="promote"),
)
