"""Matrix functions: solve, inverse, determinant and the decompositions, each over batches of matrices."""

from __future__ import annotations

from collections.abc import Mapping

from shapelint.domain.dims import ONE
from shapelint.domain.shapes import never_equal
from shapelint.domain.values import FALSE, NONE, UNKNOWN, Axis, Const, Shape, Tensor, Tuple, Value
from shapelint.events import Kind
from shapelint.ops.broadcasting import broadcast_all
from shapelint.ops.dtypes import element_dtype, promote, to_complex
from shapelint.ops.layout import matrices
from shapelint.ops.op import (
    DtypeRule,
    GraphEffect,
    Named,
    Op,
    Part,
    ShapeError,
    Unknowable,
    flag,
    integer,
    is_none,
    tensor,
)
from shapelint.ops.runs import ends, hidden, joined
from shapelint.ops.slices import least


def square_axes(shape: Shape) -> tuple[Shape, Axis]:
    """What stands before the axes of a square matrix, and its side."""
    batch, (n, m) = matrices(shape)
    if never_equal(n.size, m.size):
        raise ShapeError(f"{shape}: a square matrix is needed, not {n} by {m}")
    return batch, n


def square(x: Value) -> Shape:
    """(…, n, n) -> (…, n, n)"""
    shape = tensor(x).shape
    square_axes(shape)
    return shape


def scalar(x: Value) -> Shape:
    """(…, n, n) -> (…)"""
    return square_axes(tensor(x).shape)[0]


def slogdet(x: Value) -> Named:
    """(…, n, n) -> sign (…), logarithm (…)"""
    return _named("sign logabsdet", scalar(x), _real(scalar(x)))


def rank(x: Value) -> Shape:
    """(…, n, m) -> (…)"""
    return matrices(tensor(x).shape)[0]


def pinv(x: Value, rcond: Value = NONE, atol: Value = NONE, rtol: Value = NONE) -> Shape:
    """(…, n, m) -> (…, m, n)"""
    if any(isinstance(tolerance, Tensor) and tolerance.shape.rank != 0 for tolerance in (rcond, atol, rtol)):
        raise Unknowable("tolerances that stretch the batch")
    batch, (n, m) = matrices(tensor(x).shape)
    return joined((), batch, (m, n))


def solve(x: Value, y: Value) -> Shape:
    """(…, n, n), (…, n, k) -> (…, n, k); a right side of one axis is a vector."""
    return _solved(x, y, vector=tensor(y).shape.rank == 1)


def torch_solve(x: Value, y: Value, left: Value = NONE) -> Shape:
    """Like solve; (…, n) is a batch of vectors where its axes are those of the matrices without the last."""
    a, b = tensor(x).shape, tensor(y).shape
    if a.rank is None or b.rank is None:
        raise Unknowable("rank not known")
    if not is_none(left) and not flag(left):
        return solved_either_side(x, y, False)
    batch_of_vectors = b.rank == a.rank - 1 and not any(map(never_equal, b.sizes, a.sizes[:-1]))
    return _solved(x, y, vector=b.rank == 1 or batch_of_vectors)


def _solved(x: Value, y: Value, vector: bool) -> Shape:
    a, b = tensor(x).shape, tensor(y).shape
    batch, n = square_axes(a)
    if b.rank is None and b.least_rank < 2:
        return hidden(a, "solve", b)
    _, others, right = ends(b, 0, 1 if vector else 2)
    if never_equal(n.size, right[0].size):
        raise ShapeError(f"{a} with {b}: {n} equations, {right[0]} right sides")
    return joined((), broadcast_all(batch, others), right)


def triangular(x: Value, y: Value, left: Value = NONE) -> Shape:
    """(…, n, n), (…, n, k) -> (…, n, k)"""
    if not is_none(left) and not flag(left):
        return solved_either_side(x, y, False)
    return solve(x, y)


def solved_either_side(x: Value, y: Value, left: bool) -> Shape:
    """(…, n, n) with right sides (…, n, k) -> (…, n, k), or with (…, k, n) from the right."""
    if left:
        return _solved(x, y, vector=False)
    batch, n = square_axes(tensor(x).shape)
    _, others, (k, width) = ends(tensor(y).shape, 0, 2)
    if never_equal(n.size, width.size):
        raise ShapeError(f"{tensor(y)} with {tensor(x)}: {width} columns, {n} equations")
    return joined((), broadcast_all(batch, others), (k, width))


def cho_solve(x: Value, y: Value) -> Shape:
    """solve with (factor, lower) in place of the matrix."""
    if not isinstance(x, Tuple) or not x.items:
        raise Unknowable("no pair of factor and flag")
    return batches_solved(x.items[0], y)


def batches_solved(x: Value, y: Value) -> Shape:
    """Like solve; jax.scipy reads a right side of the matrices' sizes without the last as a batch of vectors."""
    a, b = tensor(x).shape, tensor(y).shape
    if a.rank is None or b.rank is None:
        raise Unknowable("rank not known")
    if b.rank != a.rank - 1 or b.rank == 1:
        return solve(x, y)
    if any(map(never_equal, b.sizes, a.sizes[:-1])):
        return _solved(x, y, vector=False)
    if b.sizes != a.sizes[:-1]:
        raise Unknowable("vectors, or columns of a matrix")
    return _solved(x, y, vector=True)


def cholesky_solve(x: Value, y: Value) -> Shape:
    """torch: right side first, then the factor."""
    return _solved(y, x, vector=False)


def core(x: Value) -> tuple[Shape, Axis, Axis, Axis]:
    """(…, n, m) as its batch, n, m and the smaller of the two."""
    batch, (n, m) = matrices(tensor(x).shape)
    return batch, n, m, Axis(least(n.size, m.size))


def _known(option: Value, default: bool) -> bool:
    return default if is_none(option) else flag(option)


def svd(x: Value, full_matrices: Value = NONE, compute_uv: Value = NONE) -> Part | Named:
    """(…, n, m) -> u (…, n, n), s (…, k), vh (…, m, m), or k for n and m where they are not full."""
    batch, n, m, k = core(x)
    if not _known(compute_uv, True):
        return _real(joined((), batch, (k,)))
    full = _known(full_matrices, True)
    u, vh = (n, n if full else k), (m if full else k, m)
    return _named("U S Vh", joined((), batch, u), _real(joined((), batch, (k,))), joined((), batch, vh))


def old_svd(x: Value, some: Value = NONE) -> Named:
    """torch.svd: v instead of its transpose, and not full by default."""
    batch, n, m, k = core(x)
    full = not _known(some, True)
    u, v = (n, n if full else k), (m, m if full else k)
    return _named("U S V", joined((), batch, u), _real(joined((), batch, (k,))), joined((), batch, v))


def svdvals(x: Value) -> Part:
    """(…, n, m) -> (…, k)"""
    batch, _, _, k = core(x)
    return _real(joined((), batch, (k,)))


def _real(shape: Shape) -> Part:
    return Part(shape, "moment")


def _named(names: str, *parts: Shape | Part) -> Named:
    return Named(dict(zip(names.split(), parts)), "linalg")


def eig(x: Value) -> Named:
    """(…, n, n) -> eigenvalues (…, n), eigenvectors (…, n, n)"""
    values = eigenvalues(x)
    return _named("eigenvalues eigenvectors", Part(values, eigen), Part(tensor(x).shape, eigen))


def eigh(x: Value) -> Named:
    """(…, n, n) symmetric -> eigenvalues (…, n), eigenvectors (…, n, n)"""
    return _named("eigenvalues eigenvectors", _real(eigenvalues(x)), tensor(x).shape)


def eigen(bound: Mapping[str, Value], library: str | None) -> str | None:
    """Complex; numpy gives real numbers where the matrix happens to have no others."""
    return to_complex(bound, library) if library != "numpy" else None


def eigenvalues(x: Value) -> Shape:
    """(…, n, n) -> (…, n)"""
    batch, n = square_axes(tensor(x).shape)
    return joined((), batch, (n,))


def eigvalsh(x: Value) -> Part:
    return _real(eigenvalues(x))


def qr(x: Value, mode: Value = NONE) -> Shape | Named:
    """(…, n, m) -> q (…, n, k), r (…, k, m)"""
    batch, n, m, k = core(x)
    match mode:
        case Const(value=None | "reduced"):
            middle = k
        case Const(value="complete"):
            middle = n
        case _:
            raise Unknowable("a mode that is not modelled")
    return _named("Q R", joined((), batch, (n, middle)), joined((), batch, (middle, m)))


def full_qr(x: Value, mode: Value = NONE, pivoting: Value = FALSE) -> Named:
    """scipy's: (…, n, m) -> q (…, n, n), r (…, n, m), or k for the middle n where it is to be economic."""
    batch, n, m, k = core(x)
    if mode not in (NONE, Const("full"), Const("economic")) or flag(pivoting):
        raise Unknowable("other results")
    middle = k if mode == Const("economic") else n
    return _named("Q R", joined((), batch, (n, middle)), joined((), batch, (middle, m)))


def lstsq(x: Value, y: Value) -> Named:
    """(…, n, m), (…, n, k) -> solution (…, m, k), and what describes it."""
    a, b = tensor(x).shape, tensor(y).shape
    batch, (n, m) = matrices(a)
    if b.rank is None:
        raise Unknowable("rank not known")
    _, others, right = ends(b, 0, 1 if b.rank == 1 else 2)
    if never_equal(n.size, right[0].size):
        raise ShapeError(f"{a} with {b}: {n} equations, {right[0]} right sides")
    solution = joined((), broadcast_all(batch, others), (m, *right[1:]))
    return Named(
        {"solution": solution, "residuals": UNKNOWN, "rank": UNKNOWN, "singular_values": UNKNOWN},  # as the driver says
        "linalg",
    )


def power(x: Value, n: Value) -> Shape:
    """matrix_power: (…, n, n) as it is."""
    return square(x)


def vander(x: Value, n: Value = NONE) -> Shape:
    """(…, n) -> (…, n, N)"""
    if tensor(x).shape.rank == 0:
        raise Unknowable("a scalar")
    _, batch, (axis,) = ends(tensor(x).shape, 0, 1)
    columns = axis if is_none(n) else Axis(ONE * integer(n))
    return joined((), batch, (axis, columns))


def powers_dtype(bound: Mapping[str, Value], library: str | None) -> str | None:
    """numpy's vander holds at least its default ints."""
    return promote([Tensor(dtype=element_dtype(bound["x"], library)), Tensor(dtype="int64")], library)


LIBRARIES = ("torch.linalg", "numpy.linalg", "jax.numpy.linalg")


def _everywhere(name: str, function: object, parameters: str, *others: str, dtype: DtypeRule = "float") -> Op:
    spellings = tuple(f"{library}.{name}({parameters})" for library in LIBRARIES)
    return Op(name, function, (*spellings, *others), Kind.OTHER, dtype)  # type: ignore[arg-type]


def _op(name: str, function: object, *spellings: str, dtype: str = "float") -> Op:
    return Op(name, function, spellings, Kind.OTHER, dtype)  # type: ignore[arg-type]


OPS: tuple[Op, ...] = (
    _everywhere("inv", square, "a", "torch.inverse(input)", "jax.scipy.linalg.inv(a)"),
    _everywhere("cholesky", square, "a", "torch.cholesky(input, upper)", "jax.scipy.linalg.cholesky(a, lower)"),
    _everywhere("det", scalar, "a", "torch.det(input)", "jax.scipy.linalg.det(a)"),
    _everywhere("slogdet", slogdet, "a", "torch.slogdet(input)"),
    _op("logdet", scalar, "torch.logdet(input)"),
    _everywhere("pinv", pinv, "a, rcond, *, atol, rtol, hermitian", "torch.pinverse(input)"),
    Op(
        "matrix_rank",
        rank,
        tuple(f"{library}.matrix_rank(a, tol)" for library in LIBRARIES),
        Kind.OTHER,
        "index",
        GraphEffect.NO_GRAPH,
    ),
    _everywhere("cond", rank, "a, p", dtype="moment"),
    _everywhere("matrix_power", power, "a, n", dtype="same"),
    _op(
        "matrix_exp",
        square,
        "torch.linalg.matrix_exp(input)",
        "torch.matrix_exp(input)",
        "jax.scipy.linalg.expm(a)",
    ),
    _op("solve", torch_solve, "torch.linalg.solve(A: x, B: y, *, left)"),
    _op(
        "solve",
        solve,
        "numpy.linalg.solve(a, b)",
        "jax.numpy.linalg.solve(a, b)",
        "jax.scipy.linalg.solve(a, b)",
        dtype="floats",
    ),
    _op(
        "solve_triangular",
        triangular,
        "torch.linalg.solve_triangular(A: x, B: y, *, upper, left)",
        dtype="floats",
    ),
    _op(
        "solve_triangular",
        batches_solved,
        "jax.scipy.linalg.solve_triangular(a, b, trans, lower)",
        dtype="floats",
    ),
    _op("cho_solve", cho_solve, "jax.scipy.linalg.cho_solve(c_and_lower: x, b)", dtype="float"),
    _op("cholesky_solve", cholesky_solve, "torch.cholesky_solve(input, L: y, upper)"),
    _op("cholesky_inverse", square, "torch.cholesky_inverse(input, upper)"),
    _op(
        "svd",
        svd,
        "torch.linalg.svd(A: x, full_matrices)",
        "numpy.linalg.svd(a, full_matrices, compute_uv)",
        "jax.numpy.linalg.svd(a, full_matrices, compute_uv)",
        "jax.scipy.linalg.svd(a, full_matrices, compute_uv)",
    ),
    _op("svd", old_svd, "torch.svd(input, some, compute_uv)"),
    _op("svdvals", svdvals, "torch.linalg.svdvals(A: x)", "numpy.linalg.svdvals(x)", "jax.numpy.linalg.svdvals(x)"),
    _everywhere("eig", eig, "a"),
    _everywhere("eigh", eigh, "a, UPLO"),
    _everywhere("eigvals", eigenvalues, "a", dtype=eigen),
    _everywhere("eigvalsh", eigvalsh, "a"),
    _everywhere("qr", qr, "a, mode", "torch.qr(input)"),
    _op("qr", full_qr, "jax.scipy.linalg.qr(a, overwrite_a, lwork, mode, pivoting)"),
    _everywhere("lstsq", lstsq, "a, b"),
    _op("vander", vander, "torch.linalg.vander(x, N: n)", "torch.vander(x, N: n)", dtype="same"),
    Op("vander", vander, ("numpy.vander(x, N: n)",), Kind.OTHER, powers_dtype),
    _op("vander", vander, "jax.numpy.vander(x, N: n, increasing)", dtype="same"),
)
