"""Ops that multiply and sum over shared axes: matmul, dot, einsum, tensordot, attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shapelint.domain.dims import ONE, anonymous, as_dim
from shapelint.domain.shapes import never_equal
from shapelint.domain.values import NONE, Axis, Many, Shape, Tuple, Value
from shapelint.events import Kind
from shapelint.ops.axes import axes_argument, check_axis, reduced
from shapelint.ops.broadcasting import broadcast_all
from shapelint.ops.equations import einsum
from shapelint.ops.op import Op, ShapeError, Unknowable, axis_index, flag, integer, integers, is_none, tensor
from shapelint.ops.reshaping import flatten, merged
from shapelint.ops.runs import ends, hidden, joined, with_rank

THREE = as_dim(3)


def contract(a: Shape, b: Shape, left: Axis, right: Axis) -> None:
    """ShapeError where two axes that are summed over together can never have one size."""
    if never_equal(left.size, right.size):
        raise ShapeError(f"{a} with {b}: the contracted sizes {left} and {right} differ")


def matmul(x: Value, y: Value) -> Shape:
    """(…, n, k) @ (…, k, m) -> (…, n, m); an operand of one axis is a vector."""
    a, b = tensor(x).shape, tensor(y).shape
    if 0 in (a.rank, b.rank):
        raise ShapeError(f"{a} @ {b}: matmul needs at least one axis")
    left, right = a.axis(-1), b.axis(0 if b.rank == 1 else -2)
    if left and right:
        contract(a, b, left, right)
    if b.rank == 1:
        return _without_last(a)
    if a.rank == 1 and _is_matrix(b):
        _, batch, (_, m) = ends(b, 0, 2)
        return joined((), batch, (m,))
    columns = b.axis(-1) if _is_matrix(b) else None
    if b.rank == 2 and columns:
        return joined((), _without_last(a), (columns,))
    if not (_is_matrix(a) and columns):
        return hidden(a, b, "matmul", tail=(columns,) if columns else ())
    (n, _), (_, m) = ends(a, 0, 2)[2], ends(b, 0, 2)[2]
    return joined((), broadcast_all(ends(a, 0, 2)[1], ends(b, 0, 2)[1]), (n, m))


def _is_matrix(shape: Shape) -> bool:
    """At least two axes for certain."""
    return shape.least_rank >= 2


def _without_last(shape: Shape) -> Shape:
    _, rest, _ = ends(shape, 0, 1)
    return rest


def mm(x: Value, y: Value) -> Shape:
    """(n, k) with (k, m) -> (n, m)"""
    return _ranked_matmul(x, 2, y, 2)


def bmm(x: Value, y: Value) -> Shape:
    """(b, n, k) with (b, k, m) -> (b, n, m)"""
    return _ranked_matmul(x, 3, y, 3)


def mv(x: Value, y: Value) -> Shape:
    """(n, k) with (k,) -> (n,)"""
    return _ranked_matmul(x, 2, y, 1)


def vector_dot(x: Value, y: Value) -> Shape:
    """torch.dot: (n,) with (n,) -> ()"""
    return _ranked_matmul(x, 1, y, 1)


def _ranked_matmul(x: Value, left: int, y: Value, right: int) -> Shape:
    a, b = with_rank(tensor(x).shape, left), with_rank(tensor(y).shape, right)
    contract(a, b, a.head[-1], b.head[-2 if right > 1 else -1])
    if left == right == 3:
        if never_equal(a.head[0].size, b.head[0].size):
            raise ShapeError(f"{a} with {b}: the batch sizes {a.head[0]} and {b.head[0]} differ")
        return Shape((a.head[0] if a.head[0].size != ONE else b.head[0], a.head[1], b.head[2]))
    return Shape(a.head[:-1] + b.head[-1:]) if right == 2 else Shape(a.head[:-1])


def added_product(x: Value, y: Value, z: Value) -> Shape:
    """addmm, baddbmm, addmv: x stretched to the product of y and z."""
    ranks = {1: (2, 1), 2: (2, 2), 3: (3, 3)}
    last = tensor(z).shape.rank or (tensor(y).shape.rank or 0)
    if last not in ranks:
        raise Unknowable("rank not known")
    left, right = ranks[last]
    product = _ranked_matmul(y, left, z, right)
    broadcast_all(tensor(x).shape, product)
    return product


def dot(x: Value, y: Value) -> Shape:
    """np.dot: the last axis of x with the last but one of y; a number scales."""
    a, b = tensor(x).shape, tensor(y).shape
    if 0 in (a.rank, b.rank):
        return b if a.rank == 0 else a
    if b.rank in (1, 2):
        return matmul(x, y)
    if a.rank is None or b.rank is None:
        left, right = a.axis(-1), b.axis(-2)
        if left and right and min(a.least_rank, b.least_rank) > 1:
            contract(a, b, left, right)
        return hidden(a, b, "dot")
    contract(a, b, a.head[-1], b.head[-2])
    return Shape(a.head[:-1] + b.head[:-2] + b.head[-1:])


def inner(x: Value, y: Value) -> Shape:
    """The last axes of both are contracted."""
    a, b = tensor(x).shape, tensor(y).shape
    if 0 in (a.rank, b.rank):
        return b if a.rank == 0 else a
    left, right = a.axis(-1), b.axis(-1)
    if left and right:
        contract(a, b, left, right)
    if b.rank == 1:
        return _without_last(a)
    if a.rank is None or b.rank is None:
        return hidden(a, b, "inner")
    return Shape(a.head[:-1] + b.head[:-1])


def outer(x: Value, y: Value) -> Shape:
    """(n,) with (m,) -> (n, m)"""
    a, b = with_rank(tensor(x).shape, 1), with_rank(tensor(y).shape, 1)
    return Shape(a.head + b.head)


def flat_outer(x: Value, y: Value) -> Shape:
    """np.outer flattens its operands first."""
    return Shape(flatten(x).head + flatten(y).head)


def vdot(x: Value, y: Value) -> Shape:
    """All elements of both, paired."""
    a, b = tensor(x).shape.numel(), tensor(y).shape.numel()
    if a is not None and b is not None and never_equal(a, b):
        raise ShapeError(f"vdot of {a} and {b} elements")
    return Shape()


def vecdot(x: Value, y: Value, dim: Value = NONE) -> Shape:
    """Both broadcast, `dim` (the last) contracted."""
    a, b = tensor(x).shape, tensor(y).shape
    axis = (axes_argument(dim) or (-1,))[0]
    if axis < 0 and a.axis(axis) and b.axis(axis):
        contract(a, b, a.axis(axis) or a.head[0], b.axis(axis) or b.head[0])
    return reduced(broadcast_all(a, b), (axis,), keepdim=False)


def tensordot(x: Value, y: Value, dim: Value = NONE) -> Shape:
    """The axes of `dim` contracted: how many, or which of x and which of y."""
    a, b = tensor(x).shape, tensor(y).shape
    if a.rank is None or b.rank is None:
        raise Unknowable("rank not known")
    if isinstance(dim, Tuple) and len(dim.items) == 2:
        left = [axis_index(i, a) for i in integers(dim.items[0])]
        right = [axis_index(i, b) for i in integers(dim.items[1])]
    else:
        count = 2 if is_none(dim) else integer(dim)
        if count > min(a.rank, b.rank):
            raise ShapeError(f"{a} with {b}: there are no {count} axes to contract")
        left, right = list(range(a.rank - count, a.rank)), list(range(count))
    if len(left) != len(right):
        raise ShapeError(f"{len(left)} axes of {a} are contracted with {len(right)} of {b}")
    for i, j in zip(left, right):
        if ONE not in (a.head[i].size, b.head[j].size):  # torch stretches a size of 1
            contract(a, b, a.head[i], b.head[j])
    return Shape(_without(a.head, left) + _without(b.head, right))


def dot_general(x: Value, y: Value, dimension_numbers: Value) -> Shape:
    """jax.lax: batch axes, then what remains of x and of y; axes are ((x, y) contracted, (x, y) batch)."""
    a, b = tensor(x).shape, tensor(y).shape
    match dimension_numbers:
        case Tuple(items=(Tuple(items=(left, right)), Tuple(items=(left_batch, right_batch)))):
            pairs = [(integers(p), integers(q)) for p, q in ((left, right), (left_batch, right_batch))]
        case _:
            raise Unknowable("axes not known")
    if a.rank is None or b.rank is None:
        raise Unknowable("rank not known")
    for p, q in pairs:
        for i, j in zip(p, q):
            contract(a, b, a.head[axis_index(i, a)], b.head[axis_index(j, b)])
    (p, q), (batch, other) = pairs
    return Shape(tuple(a.head[i] for i in batch) + _without(a.head, (*p, *batch)) + _without(b.head, (*q, *other)))


def _without(axes: tuple[Axis, ...], indices: Sequence[int]) -> tuple[Axis, ...]:
    return tuple(axis for i, axis in enumerate(axes) if i not in indices)


def chain(tensors: Value) -> Shape:
    """multi_dot: matrices multiplied one after the other."""
    if not isinstance(tensors, Tuple) or not tensors.items:
        raise Unknowable("not a known number of matrices")
    result, *others = tensors.items
    for other in others:
        result = replace(tensor(result), shape=matmul(result, other))
    return tensor(result).shape


def kron(x: Value, y: Value) -> Shape:
    """(a, b) with (c, d) -> (a*c, b*d); the shorter gets leading axes of 1."""
    a, b = tensor(x).shape, tensor(y).shape
    if a.rank is None or b.rank is None:
        raise Unknowable("rank not known")
    rank = max(a.rank, b.rank)
    left, right = ((Axis(ONE),) * (rank - len(s.head)) + s.head for s in (a, b))
    return Shape(tuple(_times(p, q) for p, q in zip(left, right)))


def _times(a: Axis, b: Axis) -> Axis:
    return merged((a, b))


def cross(x: Value, y: Value, dim: Value = NONE) -> Shape:
    """Vectors of three along `dim`; the operands broadcast."""
    a, b = tensor(x).shape, tensor(y).shape
    if not is_none(dim):
        check_axis(a, integer(dim))
    for shape in (a, b):
        last = shape.axis(-1 if is_none(dim) else integer(dim))
        if last and last.size.value == 2:
            raise Unknowable("vectors of two have another rule")
    return broadcast_all(a, b)


def numpy_cross(
    x: Value, y: Value, axisa: Value = NONE, axisb: Value = NONE, axisc: Value = NONE, dim: Value = NONE
) -> Shape:
    """(…, 3) with (…, 3) or (…, 2) -> (…, 3); two vectors of two give one number."""
    a, b = tensor(x).shape, tensor(y).shape
    given = tuple(value for value in (axisa, axisb, axisc, dim) if not is_none(value))
    if given == (dim,) and all(shape.axis(integer(dim)) == Axis(THREE) for shape in (a, b)):
        return broadcast_all(a, b)
    if given or a.axis(-1) is None or b.axis(-1) is None:
        raise Unknowable("axes of another place")
    (_, rows, (left,)), (_, others, (right,)) = ends(a, 0, 1), ends(b, 0, 1)
    if THREE not in {left.size, right.size}:
        raise Unknowable("vectors of two or of three")
    return joined((), broadcast_all(rows, others), (left if left.size == THREE else right,))


def cdist(x: Value, y: Value) -> Shape:
    """(…, n, d) with (…, m, d) -> (…, n, m)"""
    a, b = tensor(x).shape, tensor(y).shape
    _, batch, (n, d) = ends(a, 0, 2)
    _, other, (m, e) = ends(b, 0, 2)
    contract(a, b, d, e)
    return joined((), broadcast_all(batch, other), (n, m))


def attention(x: Value, key: Value, value: Value, attn_mask: Value = NONE, enable_gqa: Value = NONE) -> Shape:
    """(…, l, e), (…, s, e), (…, s, v) -> (…, l, v)"""
    q, k, v = (tensor(t).shape for t in (x, key, value))
    _, batch, (length, e) = ends(q, 0, 2)
    _, others, (s, f) = ends(k, 0, 2)
    _, more, (r, width) = ends(v, 0, 2)
    contract(q, k, e, f)
    contract(k, v, s, r)
    if not is_none(enable_gqa) and flag(enable_gqa):
        return joined((), batch, (length, width))
    if not is_none(attn_mask):
        broadcast_all(tensor(attn_mask).shape, Shape((length, s)))
    return joined((), broadcast_all(batch, others, more), (length, width))


def block_diag(tensors: Value) -> Shape:
    """(a, b), (c, d) -> (a + c, b + d)"""
    if isinstance(tensors, Many):
        return Shape((Axis(anonymous(object())), Axis(anonymous(object()))))
    if not isinstance(tensors, Tuple):
        raise Unknowable("no matrices")
    # A list alone is one matrix, as its rows.
    shapes = [tensor(t).shape for t in (tensors.items if tensors.kind == "tuple" else (tensors,))]
    if any(shape.rank is None or shape.rank > 2 for shape in shapes):
        raise Unknowable("rank not known")
    padded = [(Axis(ONE),) * (2 - len(shape.head)) + shape.head for shape in shapes]
    rows, columns = (sum((axes[i].size for axes in padded[1:]), padded[0][i].size) for i in (0, 1))
    return Shape((Axis(rows), Axis(columns)))


def _op(name: str, function: object, *spellings: str) -> Op:
    return Op(name, function, spellings, Kind.CONTRACTION, "arrays")  # type: ignore[arg-type]


OPS: tuple[Op, ...] = (
    _op(
        "matmul",
        matmul,
        "torch.matmul(input, other)",
        "torch.linalg.matmul(input, other)",
        "numpy.matmul(x1, x2, out)",
        "numpy.linalg.matmul(x1, x2)",
        "jax.numpy.matmul(a, b, *, precision, preferred_element_type: dtype)",
        "jax.numpy.linalg.matmul(x1, x2, *, precision, preferred_element_type: dtype)",
    ),
    _op("mm", mm, "torch.mm(input, mat2)"),
    _op("bmm", bmm, "torch.bmm(input, mat2)"),
    _op("mv", mv, "torch.mv(input, vec: y)"),
    _op("dot", vector_dot, "torch.dot(input, tensor: y)", "torch.vdot(input, other)"),
    _op("dot", dot, "numpy.dot(a, b, out)", "jax.numpy.dot(a, b, *, preferred_element_type: dtype)"),
    _op("vdot", vdot, "numpy.vdot(a, b)", "jax.numpy.vdot(a, b, *, preferred_element_type: dtype)"),
    _op(
        "inner",
        inner,
        "torch.inner(input, other)",
        "numpy.inner(a, b)",
        "jax.numpy.inner(a, b, *, preferred_element_type: dtype)",
    ),
    _op("outer", outer, "torch.outer(input, vec2: y)", "torch.ger(input, vec2: y)", "numpy.linalg.outer(x1, x2)"),
    _op("outer", flat_outer, "numpy.outer(a, b, out)", "jax.numpy.outer(a, b)"),
    _op(
        "vecdot",
        vecdot,
        "torch.linalg.vecdot(x, y, *, dim)",
        "numpy.vecdot(x1, x2)",
        "numpy.linalg.vecdot(x1, x2, *, axis)",
        "jax.numpy.vecdot(x1, x2, *, axis, preferred_element_type: dtype)",
        "jax.numpy.linalg.vecdot(x1, x2, *, axis, preferred_element_type: dtype)",
    ),
    _op(
        "tensordot",
        tensordot,
        "torch.tensordot(a, b, dims: dim)",
        "numpy.tensordot(a, b, axes)",
        "numpy.linalg.tensordot(x1, x2, *, axes)",
        "jax.numpy.tensordot(a, b, axes, *, preferred_element_type: dtype)",
    ),
    _op(
        "dot_general",
        dot_general,
        "jax.lax.dot_general(lhs: x, rhs: y, dimension_numbers, precision, preferred_element_type: dtype)",
    ),
    _op("addmm", added_product, "torch.addmm(input, mat1: y, mat2: z, *, beta, alpha)"),
    _op("addmv", added_product, "torch.addmv(input, mat: y, vec: z, *, beta, alpha)"),
    _op("baddbmm", added_product, "torch.baddbmm(input, batch1: y, batch2: z, *, beta, alpha)"),
    _op(
        "einsum",
        einsum,
        "torch.einsum(equation, *operands)",
        "numpy.einsum(subscripts: equation, *operands, out, optimize)",
        "jax.numpy.einsum(subscripts: equation, *operands, out, optimize, precision, preferred_element_type: dtype)",
    ),
    _op(
        "multi_dot",
        chain,
        "torch.linalg.multi_dot(tensors)",
        "torch.chain_matmul(*matrices: tensors)",
        "numpy.linalg.multi_dot(arrays: tensors)",
        "jax.numpy.linalg.multi_dot(arrays: tensors)",
    ),
    _op("kron", kron, "torch.kron(input, other)", "numpy.kron(a, b)", "jax.numpy.kron(a, b)"),
    _op(
        "cross",
        cross,
        "torch.cross(input, other, dim)",
        "torch.linalg.cross(input, other, *, dim)",
    ),
    _op(
        "cross",
        numpy_cross,
        "numpy.cross(a, b, axisa, axisb, axisc, axis)",
        "jax.numpy.cross(a, b, axisa, axisb, axisc, axis)",
    ),
    _op("cdist", cdist, "torch.cdist(x1, x2, p, compute_mode)"),
    _op(
        "scaled_dot_product_attention",
        attention,
        "torch.nn.functional.scaled_dot_product_attention"
        "(query: x, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)",
    ),
    _op(
        "block_diag",
        block_diag,
        "torch.block_diag(*tensors)",
        *(f"{lib}.linalg.block_diag(*arrs: tensors)" for lib in ("scipy", "jax.scipy")),
    ),
)
