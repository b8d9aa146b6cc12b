"""Matrices put together of blocks, factors of low rank, slopes and differences of sets: results of several parts."""

from __future__ import annotations

from collections.abc import Sequence

from shapelint.domain.dims import ONE, anonymous, as_dim
from shapelint.domain.shapes import never_equal
from shapelint.domain.values import NONE, UNKNOWN, Axis, Int, Many, Shape, Tuple, Value, shape_of
from shapelint.events import Kind
from shapelint.ops.layout import matrices
from shapelint.ops.linalg import square
from shapelint.ops.op import (
    DtypeRule,
    GraphEffect,
    Named,
    Op,
    Result,
    ShapeError,
    Unknowable,
    is_none,
    size_or_any,
    tensor,
)
from shapelint.ops.ordering import counted
from shapelint.ops.runs import joined


def block(tensors: Value) -> Shape:
    """Nested lists of arrays: those of the innermost lists side by side, those around them below one another."""
    depth, rank = _depth(tensors), _rank(tensors)
    return _assembled(tensors, max(depth, rank), depth)


def _depth(value: Value) -> int:
    match value:
        case Tuple(kind="list", items=items) if items:
            depths = {_depth(item) for item in items}
            if len(depths) != 1:
                raise ShapeError("lists of different depth side by side")
            return 1 + depths.pop()
        case Tuple() | Many():
            raise Unknowable("blocks that are not known one by one")
    return 0


def _rank(value: Value) -> int:
    if isinstance(value, Tuple):
        return max(map(_rank, value.items))
    rank = tensor(value).shape.rank
    if rank is None:
        raise Unknowable("a block's rank is not known")
    return rank


def _assembled(value: Value, rank: int, depth: int) -> Shape:
    if not isinstance(value, Tuple):
        axes = tensor(value).shape.head
        return Shape((*(Axis(ONE) for _ in range(rank - len(axes))), *axes))
    parts = [_assembled(item, rank, depth - 1).head for item in value.items]
    along = rank - depth
    return Shape(tuple(_along(axes) if at == along else _common(axes) for at, axes in enumerate(zip(*parts))))


def _along(axes: Sequence[Axis]) -> Axis:
    total = as_dim(0)
    for axis in axes:
        total = total + axis.size
    return Axis(total) if len(axes) > 1 else axes[0]


def _common(axes: Sequence[Axis]) -> Axis:
    first = next((axis for axis in axes if axis.size.value is not None), axes[0])
    if any(never_equal(first.size, axis.size) for axis in axes):
        raise ShapeError(f"blocks of {' and '.join(map(str, axes))} along one axis")
    return first


def factor_and_flag(x: Value) -> tuple[Result, Value]:
    """cho_factor: (…, n, n) -> the factor (…, n, n), and whether it is the lower one."""
    return square(x), UNKNOWN


def low_rank(x: Value, q: Value = NONE) -> Named:
    """(…, m, n) -> U (…, m, q), S (…, q), V (…, n, q)"""
    batch, (m, n) = matrices(tensor(x).shape)
    width = size_or_any(q) if not is_none(q) else anonymous(object())
    k = Axis(width)
    return Named(
        {"U": joined((), batch, (m, k)), "S": joined((), batch, (k,)), "V": joined((), batch, (n, k))}, "linalg"
    )


def slopes(x: Value, dim: Value = NONE) -> Result:
    """np.gradient: along one axis an array like x, else one for each of its axes."""
    shape = tensor(x).shape
    if isinstance(dim, Int) or (is_none(dim) and shape.rank == 1):
        return shape
    if shape.rank is None or not is_none(dim):
        raise Unknowable("how many arrays is not known")
    return (shape,) * shape.rank


def some_of(x: Value, y: Value) -> Shape:
    """setdiff1d, union1d: as many elements as the data say."""
    return shape_of(counted("set", x, y))


def _op(name: str, function: object, *spellings: str, dtype: DtypeRule = "promote", graph: bool = True) -> Op:
    effect = GraphEffect.DIFFERENTIABLE if graph else GraphEffect.NO_GRAPH
    return Op(name, function, spellings, Kind.OTHER, dtype, effect)  # type: ignore[arg-type]


OPS: tuple[Op, ...] = (
    _op("block", block, "numpy.block(arrays: tensors)", "jax.numpy.block(arrays: tensors)"),
    _op("cho_factor", factor_and_flag, "jax.scipy.linalg.cho_factor(a, lower)", dtype="float"),
    _op("low_rank", low_rank, "torch.pca_lowrank(A: x, q, center, niter)", "torch.svd_lowrank(A: x, q, niter, M)"),
    _op(
        "gradient",
        slopes,
        "numpy.gradient(f: x, *varargs, axis: dim, edge_order)",
        "jax.numpy.gradient(f: x, *varargs, axis: dim, edge_order)",
        dtype="quotient",
    ),
    _op(
        "set_operation",
        some_of,
        *(f"{lib}.{name}(ar1: x, ar2: y)" for lib in ("numpy", "jax.numpy") for name in ("setdiff1d", "union1d")),
        graph=False,
    ),
)
