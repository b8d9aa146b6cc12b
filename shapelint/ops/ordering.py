"""Ops that sort, select or count: their sizes are arguments, or depend on the data."""

from __future__ import annotations

from collections.abc import Mapping

from shapelint.domain.dims import Dim, as_dim, data_dependent
from shapelint.domain.values import FALSE, NONE, Axis, Int, Shape, Tensor, Value, maker_of, shape_of
from shapelint.events import Kind
from shapelint.ops.axes import resized
from shapelint.ops.dtypes import element_dtype, unknown_dtype
from shapelint.ops.normalisation import along, cumulative
from shapelint.ops.op import (
    GraphEffect,
    Op,
    Part,
    Result,
    Unknowable,
    flag,
    integer,
    is_none,
    size_or_any,
    tensor,
)
from shapelint.ops.reductions import LAST, with_indices

NO_GRAPH = GraphEffect.NO_GRAPH


def counted(what: str, *values: Value) -> Dim:
    """A size that the data decide: the same for the same values."""
    makers = tuple(id(maker_of(v)) if maker_of(v) is not None else object() for v in values)
    return data_dependent((what, makers), "k")


def topk(x: Value, k: Value, dim: Value = LAST) -> Result:
    """(…, n, …) -> (…, k, …), values and indices."""
    return with_indices(resized(tensor(x).shape, integer(dim), size_or_any(k)))


def lax_top_k(operand: Value, k: Value, dim: Value = LAST) -> Result:
    """(…, n, …) -> (…, k, …), values and indices as a plain pair."""
    shape = resized(tensor(operand).shape, integer(dim), size_or_any(k))
    return shape, Part(shape, "index", NO_GRAPH)


def of_operand(bound: Mapping[str, Value], library: str | None) -> str | None:
    return element_dtype(bound["operand"], library)


def in_place(x: Value) -> Value:
    """x.sort() of numpy changes x and gives None."""
    return NONE


def torch_sort(x: Value, dim: Value = LAST) -> Result:
    """torch.sort: values and indices."""
    return with_indices(along(x, dim))


def sort(x: Value, dim: Value = LAST) -> Shape:
    """numpy's sort: flattened where axis is None."""
    return cumulative(x, dim)


def unique(
    x: Value,
    return_index: Value = FALSE,
    return_inverse: Value = FALSE,
    return_counts: Value = FALSE,
    dim: Value = NONE,
) -> Result:
    """(…) -> (k,), and on request positions, the inverse and counts; with `dim` only that axis shortens."""
    shape = tensor(x).shape
    size = counted("unique", x)
    values = shape_of(size) if is_none(dim) else resized(shape, integer(dim), size)
    inverse = shape
    if not is_none(dim):
        axis = shape.axis(integer(dim))
        if axis is None:
            raise Unknowable("axis not known")
        inverse = Shape((axis,))
    wanted = ((return_index, shape_of(size)), (return_inverse, inverse), (return_counts, shape_of(size)))
    extras = tuple(Part(extra, "index", NO_GRAPH) for asked, extra in wanted if flag(asked))
    return (values, *extras) if extras else values


def numpy_unique(
    x: Value,
    return_index: Value = FALSE,
    return_inverse: Value = FALSE,
    return_counts: Value = FALSE,
    dim: Value = NONE,
) -> Result:
    """As torch's, but releases of numpy differ about the inverse of more than one axis."""
    if flag(return_inverse) and tensor(x).shape.rank != 1:
        raise Unknowable("the inverse is flat in some releases")
    return unique(x, return_index, return_inverse, return_counts, dim)


def nonzero(x: Value, as_tuple: Value = FALSE) -> Result:
    """(…rank axes) -> (k, rank), or one (k,) for each axis."""
    if not flag(as_tuple):
        return argwhere(x)
    return nonzero_tuple(x) or (flatnonzero(x),)


def argwhere(x: Value) -> Shape:
    rank = tensor(x).shape.rank
    if rank is None:
        return Shape((Axis(counted("nonzero", x)), Axis(counted("rank", x))))
    return shape_of(counted("nonzero", x), rank)


def nonzero_tuple(x: Value) -> tuple[Shape, ...]:
    """One (k,) for each axis."""
    rank = tensor(x).shape.rank
    if rank is None:
        raise Unknowable("rank not known")
    return (shape_of(counted("nonzero", x)),) * rank


def flatnonzero(x: Value) -> Shape:
    return shape_of(counted("nonzero", x))


def bincount(x: Value) -> Shape:
    """(n,) -> (max + 1 or minlength,)"""
    return shape_of(counted("bincount", x))


def histc(x: Value, bins: Value = Int(as_dim(100))) -> Shape:  # noqa: B008
    return shape_of(size_or_any(bins))


def histogram(x: Value, bins: Value = Int(as_dim(10))) -> Result:  # noqa: B008
    """counts (bins,) and edges (bins + 1,); `bins` may be the edges."""
    match bins:
        case Int(dim=dim):
            edges = dim + 1
        case Tensor() if len(sizes_of(bins)) == 1:
            edges = sizes_of(bins)[0]
        case _:
            raise Unknowable("bins not known")
    return shape_of(edges - 1), shape_of(edges)


def sizes_of(value: Value) -> tuple[Dim, ...]:
    return tensor(value).shape.sizes


def searchsorted(sorted_sequence: Value, values: Value) -> Shape:
    """The shape of what is searched for."""
    return tensor(values).shape


def like(x: Value) -> Shape:
    return tensor(x).shape


def row(name: str, function: object, *spellings: str, dtype: object = "index") -> Op:
    graph = NO_GRAPH if dtype in {"index", "bool"} else GraphEffect.DIFFERENTIABLE
    return Op(name, function, spellings, Kind.INDEXING, dtype, graph)  # type: ignore[arg-type]


def both(name: str, signature: str) -> tuple[str, str]:
    return f"numpy.{name}({signature})", f"jax.numpy.{name}({signature})"


BINCOUNT = both("bincount", "x, weights, minlength")

OPS: tuple[Op, ...] = (
    row("topk", topk, "torch.topk(input, k, dim, largest, sorted)", dtype="same"),
    row("topk", lax_top_k, "jax.lax.top_k(operand, k, *, axis)", dtype=of_operand),
    row("sort", torch_sort, "torch.sort(input, dim, descending, stable)", dtype="same"),
    row("sort", sort, *both("sort", "a, axis, kind, order"), dtype="same"),
    row("sort", along, "torch.msort(input)", "jax.lax.sort(operand, dimension)", dtype="same"),
    row("sort", in_place, "numpy.ndarray.sort(self, axis)", "numpy.ndarray.partition(self, kth, axis)"),
    row("resize", in_place, "numpy.ndarray.resize(self, *new_shape)"),
    row("partition", sort, *both("partition", "a, kth, axis"), dtype="same"),
    row("argsort", along, "torch.argsort(input, dim, descending, stable)"),
    row("argsort", sort, *both("argsort", "a, axis, kind, order"), *both("argpartition", "a, kth, axis")),
    row("unique", unique, "torch.unique(input, sorted, return_inverse, return_counts, dim)", dtype="same"),
    row("unique", unique, "torch.unique_consecutive(input, return_inverse, return_counts, dim)", dtype="same"),
    row("unique", numpy_unique, *both("unique", "ar, return_index, return_inverse, return_counts, axis"), dtype="same"),
    row("nonzero", nonzero, "torch.nonzero(input, *, as_tuple)"),
    row("nonzero", nonzero_tuple, *both("nonzero", "a")),
    row("nonzero", argwhere, "torch.argwhere(input)", *both("argwhere", "a")),
    row("nonzero", flatnonzero, *both("flatnonzero", "a")),
    row(
        "bincount",
        bincount,
        *BINCOUNT,
        dtype=unknown_dtype,
    ),
    row("histc", histc, "torch.histc(input, bins, min, max)", dtype="same"),
    row("histogram", histogram, *both("histogram", "a, bins, range, density, weights"), dtype=unknown_dtype),
    row("searchsorted", searchsorted, *both("searchsorted", "sorted_sequence, values, side, sorter")),
    row("bucketize", like, *both("digitize", "x, bins, right")),
    row("isin", like, "torch.isin(x, test_elements)", *both("isin", "x, test_elements"), dtype="bool"),
)
