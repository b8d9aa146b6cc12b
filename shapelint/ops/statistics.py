"""Covariances, histograms, numerical integrals and derivatives, and combinations of elements."""

from __future__ import annotations

from collections.abc import Mapping
from math import comb

from shapelint.domain.dims import ONE, Dim, anonymous, as_dim, product
from shapelint.domain.values import FALSE, NONE, TRUE, Axis, Int, Shape, Tensor, Tuple, Value, shape_of
from shapelint.events import Kind
from shapelint.ops.axes import edited, reduced
from shapelint.ops.broadcasting import broadcast_all
from shapelint.ops.dtypes import default_dtype, is_inexact, promote, result_dtype, to_complex, unknown_dtype
from shapelint.ops.op import (
    DtypeRule,
    GraphEffect,
    Named,
    Op,
    Part,
    Result,
    ShapeError,
    Unknowable,
    dimension,
    flag,
    integer,
    integers,
    is_none,
    size_or_any,
    sizes,
    tensor,
)
from shapelint.ops.ordering import bincount, counted
from shapelint.ops.runs import ends

LAST = Int(as_dim(-1))
TWO = Int(as_dim(2))
NO_GRAPH = GraphEffect.NO_GRAPH


def covariance(x: Value) -> Shape:
    """(n, k) of n variables -> (n, n); a vector is one variable."""
    shape = tensor(x).shape
    if shape.rank is None:
        raise Unknowable("rank not known")
    if shape.rank > 2:
        raise ShapeError(f"{shape}: variables and observations are two axes")
    several = shape.rank == 2 and shape.head[0].size != ONE
    return Shape((shape.head[0],) * 2) if several else Shape()


def table_covariance(x: Value, other: Value = NONE, rowvar: Value = TRUE) -> Shape:
    """numpy's cov: the variables are the rows, or the columns with rowvar=False."""
    if not is_none(other):
        raise Unknowable("variables of two tables")
    shape = tensor(x).shape
    turned = shape.rank == 2 and not flag(rowvar)
    return covariance(Tensor(Shape(shape.head[::-1]) if turned else shape))


def at_least_double(bound: Mapping[str, Value], library: str | None) -> str | None:
    """numpy's cov: float64 at least."""
    known = result_dtype("float", bound, library)
    return "float64" if library == "numpy" and known in {"float16", "float32", "float64"} else None


def histogram(x: Value, bins: Value) -> Named:
    """counts (bins,), edges (bins + 1,); `bins` may be the edges."""
    count = _bins(bins)
    return Named({"hist": shape_of(count), "bin_edges": shape_of(count + 1)})


def _bins(bins: Value) -> Dim:
    if isinstance(bins, Tensor):
        return ends(bins.shape, 0, 1)[2][0].size - 1
    return dimension(bins)


def histogram_dd(x: Value, bins: Value) -> Result:
    """(…, d) -> counts with d axes, d vectors of edges."""
    width = ends(tensor(x).shape, 0, 1)[2][0].size.value
    if width is None:
        raise Unknowable("number of axes not known")
    each = bins.items if isinstance(bins, Tuple) else (bins,) * width
    counts = tuple(map(_bins, each))
    known = tensor(x)
    edges = tuple(Tensor(shape_of(count + 1), known.dtype, known.library) for count in counts)
    return (shape_of(*counts), Tuple(edges))


def trapezoid(y: Value, x: Value = NONE, dim: Value = LAST) -> Shape:
    """(…, n, …) -> (…)"""
    return reduced(_sampled(y, x, dim), (integer(dim),), keepdim=False)


def cumulative_trapezoid(y: Value, x: Value = NONE, dim: Value = LAST) -> Shape:
    """(…, n, …) -> (…, n - 1, …)"""
    return edited(_sampled(y, x, dim), (integer(dim),), lambda axis: (Axis(axis.size - 1),))


def _sampled(y: Value, x: Value, dim: Value) -> Shape:
    shape = tensor(y).shape
    if is_none(x) or tensor(x).shape.rank == 1:
        return shape
    other = tensor(x).shape
    if shape.rank is None or shape.rank != other.rank:
        raise Unknowable("samples of another rank")
    return broadcast_all(shape, other)


def gradient(x: Value, dim: Value = NONE) -> tuple[Shape, ...]:
    """One (…) for each axis, or each of `dim`."""
    shape = tensor(x).shape
    if shape.rank is None and is_none(dim):
        raise Unknowable("rank not known")
    return (shape,) * (len(shape.head) if is_none(dim) else len(integers(dim)))


def combinations(x: Value, r: Value = TWO, with_replacement: Value = FALSE) -> Shape:
    """(n,) -> (n choose r, r)"""
    _, _, (axis,) = ends(tensor(x).shape, 0, 1)
    size, width = axis.size.value, integer(r)
    if width == 0:
        return shape_of(0)
    if size is None:
        return shape_of(axis.size if width == 1 else anonymous(object()), width)
    return shape_of(comb(size + width - 1 if size and flag(with_replacement) else size, width), width)


def cartesian_product(tensors: Value) -> Shape:
    """(n,), (m,) -> (n * m, 2)"""
    if not isinstance(tensors, Tuple) or not tensors.items:
        raise Unknowable("not a known number of vectors")
    axes = [ends(tensor(item).shape, 0, 1)[2][0] for item in tensors.items]
    return Shape((axes[0],)) if len(axes) == 1 else shape_of(product(axis.size for axis in axes), len(axes))


def nonzero_static(x: Value, size: Value) -> Shape:
    """(size, rank)"""
    rank = tensor(x).shape.rank
    return shape_of(size_or_any(size), counted("rank", x) if rank is None else rank)


def pairwise(x: Value) -> Shape:
    """pdist: (n, d) -> (n * (n - 1) / 2,)"""
    _, _, (n, _) = ends(tensor(x).shape, 0, 2)
    return shape_of((n.size * n.size - n.size) // 2)


def unravelled(x: Value, shape: Value) -> tuple[Shape, ...]:
    """unravel_index: the positions along each axis."""
    target = sizes(shape)
    if target.rank is None:
        raise Unknowable("rank not known")
    return (tensor(x).shape,) * target.rank


def counts(bound: Mapping[str, Value], library: str | None) -> str | None:
    """bincount: whole numbers, or what the weights sum up to."""
    weights = bound.get("weights", NONE)
    if is_none(weights):
        return "int64"
    dtype = tensor(weights).dtype
    return None if dtype is None else "float32" if dtype == "float32" else "float64"


def of_parts(x: Value, y: Value) -> Shape:
    """complex, polar: two real numbers make a complex one."""
    return broadcast_all(tensor(x).shape, tensor(y).shape)


def positions(x: Value) -> Shape:
    return tensor(x).shape


def found_in(sorted_sequence: Value, x: Value) -> Shape:
    """searchsorted: the shape of what is searched for."""
    return tensor(x).shape


def polyval(p: Value, x: Value) -> Shape:
    """The shape of the places at which a polynomial with coefficients (k,) is evaluated."""
    if not isinstance(p, Tuple) and tensor(p).shape.rank != 1:
        raise Unknowable
    return tensor(x).shape


def polyfit(y: Value, deg: Value, full: Value = FALSE, cov: Value = FALSE) -> Shape:
    """One coefficient more than the degree, for each column of y."""
    shape = tensor(y).shape
    if full != FALSE or cov != FALSE or shape.rank is None or not isinstance(deg, Int):
        raise Unknowable
    return Shape((Axis(deg.dim + 1), *shape.head[1:]))


def as_asked(bound: Mapping[str, Value], library: str | None) -> str | None:
    """int64, or int32 with `out_int32`."""
    wanted = bound.get("out_int32", NONE)
    return "int32" if flag(wanted) else "int64"


def integrated(bound: Mapping[str, Value], library: str | None) -> str | None:
    """A product of samples and distances, which are real."""
    known = [tensor(bound[name]) for name in ("y", "x") if name in bound and not is_none(bound[name])]
    dtype = promote(known, library)
    return dtype if is_inexact(dtype) else default_dtype(library, "float") if dtype is not None else None


def mantissa_and_exponent(x: Value) -> Named:
    shape = tensor(x).shape
    return Named({"mantissa": shape, "exponent": Part(shape, "int32", NO_GRAPH)})


def _op(
    name: str,
    function: object,
    *spellings: str,
    dtype: DtypeRule = "same",
    graph: GraphEffect = GraphEffect.DIFFERENTIABLE,
) -> Op:
    return Op(name, function, spellings, Kind.OTHER, dtype, graph)  # type: ignore[arg-type]


def interp(x: Value) -> Shape:
    """(…) -> (…): a value for each place of `x`, whatever the table is."""
    return tensor(x).shape


SAMPLES = "y, x, *, dx, dim"


def _both(name: str, signature: str) -> tuple[str, str]:
    return f"numpy.{name}({signature})", f"jax.numpy.{name}({signature})"


OPS: tuple[Op, ...] = (
    _op("cov", covariance, "torch.cov(input, *, correction, fweights, aweights)", dtype="float"),
    _op("corrcoef", covariance, "torch.corrcoef(input)", dtype="float"),
    _op("cov", table_covariance, *_both("cov", "m: x, y: other, rowvar, bias, ddof"), dtype=at_least_double),
    _op("corrcoef", table_covariance, *_both("corrcoef", "x, y: other, rowvar"), dtype=at_least_double),
    _op("histogram", histogram, "torch.histogram(input, bins, *, range, weight, density)", graph=NO_GRAPH),
    _op("histogram", histogram_dd, "torch.histogramdd(input, bins, range, weight, density)", graph=NO_GRAPH),
    _op("trapezoid", trapezoid, f"torch.trapezoid({SAMPLES})", f"torch.trapz({SAMPLES})", dtype=integrated),
    _op("trapezoid", trapezoid, *_both("trapezoid", "y, x, dx, axis"), "numpy.trapz(y, x, dx, axis)", dtype=integrated),
    _op("trapezoid", cumulative_trapezoid, f"torch.cumulative_trapezoid({SAMPLES})", dtype=integrated),
    _op("interp", interp, *_both("interp", "x, xp, fp, left, right, period"), dtype=at_least_double),
    _op("polyval", polyval, "numpy.polyval(p, x)", "jax.numpy.polyval(p, x, *, unroll)", dtype=unknown_dtype),
    _op("polyfit", polyfit, *_both("polyfit", "x, y, deg, rcond, full, w, cov"), dtype=unknown_dtype),
    _op("gradient", gradient, "torch.gradient(input, *, spacing, dim, edge_order)", dtype="float"),
    _op("combinations", combinations, "torch.combinations(input, r, with_replacement)"),
    _op("cartesian_prod", cartesian_product, "torch.cartesian_prod(*tensors)", dtype="promote"),
    _op("nonzero", nonzero_static, "torch.nonzero_static(input, *, size, fill_value)", dtype="index", graph=NO_GRAPH),
    _op(
        "bucketize",
        positions,
        "torch.bucketize(input, boundaries, *, out_int32, right)",
        dtype=as_asked,
        graph=NO_GRAPH,
    ),
    _op(
        "searchsorted",
        found_in,
        "torch.searchsorted(sorted_sequence, input, *, out_int32, right, side, sorter)",
        dtype=as_asked,
        graph=NO_GRAPH,
    ),
    _op("pdist", pairwise, "torch.nn.functional.pdist(input, p)", "torch.pdist(input, p)"),
    _op(
        "unravel_index",
        unravelled,
        "torch.unravel_index(indices: x, shape)",
        "jax.numpy.unravel_index(indices: x, shape)",
        graph=NO_GRAPH,
    ),
    _op("bincount", bincount, "torch.bincount(input, weights, minlength)", dtype=counts, graph=NO_GRAPH),
    _op(
        "complex",
        of_parts,
        "torch.complex(real: x, imag: y)",
        "torch.polar(abs: x, angle: y)",
        dtype=to_complex,
    ),
    _op("frexp", mantissa_and_exponent, "torch.frexp(input)"),
)
