"""Factorisations of matrices with pivots and error codes, and solving with what they give: LU, LDL, Householder."""

from __future__ import annotations

from shapelint.domain.dims import as_dim
from shapelint.domain.values import FALSE, NONE, TRUE, Int, Shape, Value
from shapelint.events import Kind
from shapelint.ops.broadcasting import broadcast_all
from shapelint.ops.layout import matrices
from shapelint.ops.linalg import core, solved_either_side, square, square_axes, torch_solve
from shapelint.ops.op import GraphEffect, Named, Op, Part, Result, Unknowable, flag, integer, is_none, tensor
from shapelint.ops.runs import ends, joined

NO_GRAPH = GraphEffect.NO_GRAPH
TWO = Int(as_dim(2))


def _codes(shape: Shape) -> Part:
    """Pivots and error codes: 32-bit numbers without a graph."""
    return Part(shape, "int32", NO_GRAPH)


def _named(names: str, *parts: Shape | Part) -> Named:
    return Named(dict(zip(names.split(), parts)), "linalg")


def cholesky_ex(x: Value) -> Named:
    """(…, n, n) -> L (…, n, n), info (…)"""
    return _named("L info", square(x), _codes(square_axes(tensor(x).shape)[0]))


def inv_ex(x: Value) -> Named:
    """(…, n, n) -> inverse (…, n, n), info (…)"""
    return _named("inverse info", square(x), _codes(square_axes(tensor(x).shape)[0]))


def solve_ex(x: Value, y: Value, left: Value = TRUE) -> Named:
    """As solve, with error codes for the matrices."""
    solution = torch_solve(x, y, left)
    batch, _ = square_axes(tensor(x).shape)
    rank = tensor(y).shape.rank
    vectors = rank == 1 or (tensor(x).shape.rank or 0) == (rank or 0) + 1
    codes = Shape(solution.head[: -1 if vectors else -2]) if solution.run is None else batch
    return _named("result info", solution, _codes(codes))


def lu(x: Value, pivot: Value = TRUE) -> Named:
    """(…, n, m) -> P (…, n, n), L (…, n, k), U (…, k, m)"""
    batch, n, m, k = core(x)
    permutation = joined((), batch, (n, n))
    if not flag(pivot):
        raise Unknowable("no permutation")
    return _named("P L U", Part(permutation, None, NO_GRAPH), joined((), batch, (n, k)), joined((), batch, (k, m)))


def lu_factor(x: Value) -> Named:
    """(…, n, m) -> LU (…, n, m), pivots (…, k)"""
    batch, _, _, k = core(x)
    return _named("LU pivots", tensor(x).shape, _codes(joined((), batch, (k,))))


def lu_factor_ex(x: Value) -> Named:
    batch, _, _, k = core(x)
    return _named("LU pivots info", tensor(x).shape, _codes(joined((), batch, (k,))), _codes(batch))


def old_lu(x: Value, get_infos: Value = FALSE) -> Result:
    """torch.lu: a plain tuple, with error codes on request."""
    batch, _, _, k = core(x)
    found = (tensor(x).shape, _codes(joined((), batch, (k,))))
    return (*found, _codes(batch)) if flag(get_infos) else found


def lu_unpack(x: Value, unpack_data: Value = TRUE, unpack_pivots: Value = TRUE) -> Named:
    """LU (…, n, m) -> P (…, n, n), L (…, n, k), U (…, k, m)"""
    if not flag(unpack_data) or not flag(unpack_pivots):
        raise Unknowable("parts that are left out")
    return lu(x)


def lu_solve(x: Value, y: Value, left: Value = TRUE) -> Shape:
    """LU (…, n, n), right sides (…, n, k) -> (…, n, k)"""
    return solved_either_side(x, y, flag(left))


def old_lu_solve(y: Value, x: Value) -> Shape:
    """torch.lu_solve: right sides first."""
    return solved_either_side(x, y, True)


def ldl_factor(x: Value) -> Named:
    """(…, n, n) -> LD (…, n, n), pivots (…, n)"""
    batch, n = square_axes(tensor(x).shape)
    return _named("LD pivots", square(x), _codes(joined((), batch, (n,))))


def ldl_factor_ex(x: Value) -> Named:
    batch, n = square_axes(tensor(x).shape)
    return _named("LD pivots info", square(x), _codes(joined((), batch, (n,))), _codes(batch))


def geqrf(x: Value) -> Named:
    """(…, n, m) -> a (…, n, m), tau (…, k)"""
    batch, _, _, k = core(x)
    return _named("a tau", tensor(x).shape, joined((), batch, (k,)))


def unchanged(x: Value) -> Shape:
    """householder_product: the shape of the reflectors."""
    return tensor(x).shape


def ormqr(x: Value, tau: Value, y: Value) -> Shape:
    """The shape of what is multiplied."""
    return tensor(y).shape


def tensorinv(x: Value, ind: Value = TWO) -> Shape:
    """(a, b, c) with ind=2 -> (c, a, b)"""
    shape, split = tensor(x).shape, integer(ind)
    if shape.rank is None:
        raise Unknowable("rank not known")
    return Shape(shape.head[split:] + shape.head[:split])


def tensorsolve(x: Value, y: Value, dims: Value = NONE) -> Shape:
    """(*b, *rest), (*b) -> rest"""
    a, b = tensor(x).shape, tensor(y).shape
    if a.rank is None or b.rank is None or not is_none(dims):
        raise Unknowable("rank not known, or other axes")
    if not 0 < b.rank < a.rank:
        raise Unknowable("no axes are left, or none contracted")
    return Shape(a.head[b.rank :])


def triangular_solve(y: Value, x: Value) -> Named:
    """torch.triangular_solve: right sides first; the solution, and the coefficients stretched."""
    batch, _ = square_axes(tensor(x).shape)
    _, others, right = ends(tensor(y).shape, 0, 2)
    both = broadcast_all(batch, others)
    _, (n, m) = matrices(tensor(x).shape)
    return _named("solution cloned_coefficient", joined((), both, right), joined((), both, (n, m)))


def _op(name: str, function: object, *spellings: str) -> Op:
    return Op(name, function, spellings, Kind.OTHER, "float")  # type: ignore[arg-type]


OPS: tuple[Op, ...] = (
    _op("cholesky", cholesky_ex, "torch.linalg.cholesky_ex(A: x, *, upper, check_errors)"),
    _op("inv", inv_ex, "torch.linalg.inv_ex(A: x, *, check_errors)"),
    _op("solve", solve_ex, "torch.linalg.solve_ex(A: x, B: y, *, left, check_errors)"),
    _op("lu", lu, "torch.linalg.lu(A: x, *, pivot)"),
    _op("lu", lu_factor, "torch.linalg.lu_factor(A: x, *, pivot)"),
    _op("lu", lu_factor_ex, "torch.linalg.lu_factor_ex(A: x, *, pivot, check_errors)"),
    _op("lu", old_lu, "torch.lu(A: x, pivot, get_infos)"),
    _op("lu", lu_unpack, "torch.lu_unpack(LU_data: x, LU_pivots: pivots, unpack_data, unpack_pivots)"),
    _op("lu_solve", lu_solve, "torch.linalg.lu_solve(LU: x, pivots, B: y, *, left, adjoint)"),
    _op("lu_solve", old_lu_solve, "torch.lu_solve(b: y, LU_data: x, LU_pivots: pivots)"),
    _op("ldl", ldl_factor, "torch.linalg.ldl_factor(A: x, *, hermitian)"),
    _op("ldl", ldl_factor_ex, "torch.linalg.ldl_factor_ex(A: x, *, hermitian, check_errors)"),
    _op("ldl_solve", lu_solve, "torch.linalg.ldl_solve(LD: x, pivots, B: y, *, hermitian)"),
    _op("geqrf", geqrf, "torch.geqrf(input)"),
    _op(
        "householder_product",
        unchanged,
        "torch.linalg.householder_product(A: x, tau)",
        "torch.orgqr(input, tau)",
    ),
    _op("ormqr", ormqr, "torch.ormqr(input, tau, other, left, transpose)"),
    _op("tensorinv", tensorinv, *(f"{lib}.linalg.tensorinv(a, ind)" for lib in ("torch", "numpy", "jax.numpy"))),
    _op(
        "tensorsolve",
        tensorsolve,
        "torch.linalg.tensorsolve(A: x, B: y, dims)",
        "numpy.linalg.tensorsolve(a, b, axes: dims)",
        "jax.numpy.linalg.tensorsolve(a, b, axes: dims)",
    ),
    _op("triangular_solve", triangular_solve, "torch.triangular_solve(b: y, A: x, upper, transpose, unitriangular)"),
)
