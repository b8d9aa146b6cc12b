"""Ops that keep the row-major order of elements and only group them anew: reshape, view, flatten, unflatten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shapelint.domain.dims import ONE, Dim, anonymous, as_dim, divide, product
from shapelint.domain.shapes import never_equal
from shapelint.domain.values import NONE, Axis, Const, Int, Library, Maker, Many, Shape, Tensor, Tuple, Unknown, Value
from shapelint.events import Input, Kind
from shapelint.ops.axes import edited
from shapelint.ops.dtypes import element_dtype, named, parse
from shapelint.ops.op import Op, ShapeError, Unknowable, axis_index, count_in, integer, is_none, size_or_any, tensor
from shapelint.ops.runs import hidden, joined, unknown_size

FREE = as_dim(-1)  # the size to be solved for


def reshape(x: Value, shape: Value, order: Value = NONE) -> Shape:
    """(…) -> `shape`, -1 standing for what remains. ShapeError where the numbers of elements can never agree."""
    source = tensor(x).shape
    if is_dtype(as_what := shape.items[0] if isinstance(shape, Tuple) and len(shape.items) == 1 else shape):
        return _as_dtype(tensor(x), named(as_what))
    targets = target_sizes(shape)
    if targets is None or (targets == () and source.rank is None):  # x.view(dtype=...) names no sizes
        return hidden(Shape((), source.run), "reshape", object())
    row_major = order in (NONE, Const("C"))
    return regrouped(source, targets) if row_major else Shape(tuple(map(Axis, solved(source, targets))))


def is_dtype(value: Value) -> bool:
    """Whether a value is a dtype: torch.int32, "float32", or `y.dtype` of an array whose dtype is not known."""
    match value:
        case Library() | Const(value=str()):
            return True
        case Unknown(made_by=Input(name="dtype", kind="attribute", source=Tensor())):
            return True
    return False


def _as_dtype(x: Tensor, dtype: str | None) -> Shape:
    """The same bytes read as another dtype: the last axis has as many elements as fill them."""
    before, after = parse(x.dtype), parse(dtype)
    if before is not None and before.bits and after is not None and before.bits == after.bits:
        return x.shape
    if x.shape.rank == 0:
        return x.shape  # that needs elements of one size
    return edited(x.shape, (-1,), lambda axis: (Axis(anonymous(("bytes", x.shape, x.dtype, dtype or object()))),))


def target_sizes(shape: Value) -> tuple[Dim, ...] | None:
    """The sizes that a shape argument names; None where their number is not known."""
    match shape:
        case Tuple(items=(Tuple() as inner,)):
            return target_sizes(inner)
        case Tuple(items=(Tensor() as array,)) if array.shape.rank != 0:  # x.reshape(np.array(sizes))
            count = count_in(array)
            return None if count is None else tuple(anonymous(object()) for _ in range(count))
        case Tuple(items=items):
            return tuple(map(_target_size, items))
        case Int(dim=dim):
            return (dim,)
        case Many() | Unknown():
            return None
    raise Unknowable("no shape")


def _target_size(value: Value) -> Dim:
    """A size, -1 for the free one. A parameter whose default is negative may be either."""
    size = size_or_any(value)
    default = size.symbol.default if size.symbol else None
    return anonymous(object()) if default is not None and default < 1 else size


def regrouped(source: Shape, targets: Sequence[Dim]) -> Shape:
    """`source` in row-major order as axes of these sizes, each with the factors that it runs over."""
    sizes = solved(source, targets)
    if source.run is not None:
        return Shape(tuple(Axis(size, maker=_one(size)) for size in sizes))
    return Shape(tuple(_regroup(source.axes, sizes)))


def solved(source: Shape, targets: Sequence[Dim]) -> tuple[Dim, ...]:
    """`targets` with the size that -1 stands for."""
    free = sum(size == FREE for size in targets)
    if free > 1:
        raise ShapeError("only one size can be -1")
    rest = product(size for size in targets if size != FREE)
    numel = source.numel()
    if not free:
        if numel is not None and numel.terms and numel != rest and never_equal(numel, rest):
            raise ShapeError(f"{source} has {numel} elements, {spell(targets)} needs {rest}")
        return tuple(targets)
    size = unknown_size(source, *targets) if numel is None else _remaining(source, numel, rest, targets)
    return tuple(size if target == FREE else target for target in targets)


def _remaining(source: Shape, numel: Dim, rest: Dim, targets: Sequence[Dim]) -> Dim:
    if not rest.terms:
        raise Unknowable("-1 beside a size of 0")
    quotient = divide(numel, rest)
    if quotient is not None:
        return quotient
    if _never_divides(rest, numel):
        raise ShapeError(f"{source} has {numel} elements, no multiple of {rest} in {spell(targets)}")
    return numel // rest


def _never_divides(divisor: Dim, dividend: Dim) -> bool:
    """A constant divides every term but the constant one: 2*n + 1 by 2."""
    by = divisor.value or 1
    constant = sum(c for monomial, c in dividend.terms if not monomial)
    return constant % by != 0 and all(c % by == 0 for monomial, c in dividend.terms if monomial)


def spell(targets: Sequence[Dim]) -> str:
    return str(Shape(tuple(map(Axis, targets))))


def _one(size: Dim) -> Maker | None:
    return Maker.RESHAPE if size == ONE else None


def _regroup(axes: Sequence[Axis], sizes: Sequence[Dim]) -> list[Axis]:
    """Neighbours merge in order, an axis splits in order; from where neither fits, axes are of one piece."""
    pieces = [Axis(part, maker=axis.maker) for axis in axes for part in axis.parts]
    result: list[Axis] = []
    lost = False
    for size in sizes:
        if size == ONE:
            kept = pieces.pop(0) if pieces and pieces[0].size == ONE else None
            result.append(kept or Axis(ONE, maker=Maker.RESHAPE))
            continue
        factors = None if lost else _take(pieces, size)
        lost = factors is None
        result.append(Axis(size, factors if factors and len(factors) > 1 else ()))
    return result


def _take(pieces: list[Axis], size: Dim) -> tuple[Dim, ...] | None:
    """Factors of `size` from the front of `pieces`, which lose them; None where they do not fit."""
    taken: list[Dim] = []
    while size != ONE:
        if not pieces:
            return None
        part = pieces.pop(0).size
        if part == ONE:
            continue
        if part == size:
            return (*taken, part)
        rest = divide(size, part)
        if rest is not None:
            taken.append(part)
            size = rest
            continue
        rest = divide(part, size)
        if rest is None:
            return None
        taken.append(size)
        pieces.insert(0, Axis(rest))
        size = ONE
    return tuple(taken)


def merged(axes: Sequence[Axis]) -> Axis:
    """One axis that runs over all of these in row-major order."""
    if len(axes) == 1:
        return axes[0]
    size = product(axis.size for axis in axes)
    parts = tuple(part for axis in axes for part in axis.parts if part != ONE)
    return Axis(size, parts if len(parts) > 1 else (), _one(size))


def flatten(x: Value, start_dim: Value = NONE, end_dim: Value = NONE) -> Shape:
    """(…, a, b, …) -> (…, a*b, …) from `start_dim` to `end_dim`, all axes by default."""
    shape = tensor(x).shape
    start = 0 if is_none(start_dim) else integer(start_dim)
    end = -1 if is_none(end_dim) else integer(end_dim)
    if shape.run is not None:
        return _flattened_beside_run(shape, start, end)
    if not shape.head:
        return Shape((Axis(ONE, maker=Maker.RESHAPE),))
    first, last = axis_index(start, shape), axis_index(end, shape)
    if first > last:
        raise ShapeError(f"axes {start} to {end} of {shape} are in the wrong order")
    return Shape((*shape.head[:first], merged(shape.head[first : last + 1]), *shape.head[last + 1 :]))


def _flattened_beside_run(shape: Shape, start: int, end: int) -> Shape:
    head, tail = shape.head, shape.tail
    if 0 <= end < len(head) and 0 <= start <= end:
        return joined((*head[:start], merged(head[start : end + 1])), Shape(head[end + 1 :], shape.run, tail))
    if -len(tail) <= start <= end < 0:
        first, last = start + len(tail), end + len(tail)
        return Shape(head, shape.run, (*tail[:first], merged(tail[first : last + 1]), *tail[last + 1 :]))
    if 0 <= start <= len(head) and -len(tail) - 1 <= end < 0:
        middle = Axis(unknown_size(shape, start, end))
        return Shape((*head[:start], middle, *tail[len(tail) + end + 1 :]))
    return hidden(shape, "flatten", start, end)


def ravel(x: Value, order: Value = NONE) -> Shape:
    """(…) -> (numel,)"""
    shape = flatten(x)
    return shape if order in (NONE, Const("C")) else Shape((Axis(shape.head[0].size),))


def unflatten(x: Value, dim: Value, sizes: Value) -> Shape:
    """(…, a*b, …) -> (…, a, b, …)"""
    targets = target_sizes(sizes)
    shape = tensor(x).shape
    if targets is None:
        return hidden(Shape((), shape.run), "unflatten", object())
    return edited(shape, (integer(dim),), lambda axis: regrouped(Shape((axis,)), targets).head)


def reshape_as(x: Value, y: Value) -> Shape:
    """(…) -> the shape of `y`."""
    target = tensor(y).shape
    return target if target.run is not None else regrouped(tensor(x).shape, target.sizes)


def view_as_real(x: Value) -> Shape:
    """(…) complex -> (…, 2)"""
    return joined((), tensor(x).shape, (Axis(as_dim(2)),))


def view_as_complex(x: Value) -> Shape:
    """(…, 2) -> (…)"""
    shape = tensor(x).shape
    last = shape.axis(-1)
    if last is not None and never_equal(last.size, as_dim(2)):
        raise ShapeError(f"the last axis of {shape} is {last}, a complex number needs 2")
    return edited(shape, (-1,), lambda _: ())


def viewed(bound: Mapping[str, Value], library: str | None) -> str | None:
    """x.view(torch.int16) reads the same bytes as another dtype."""
    shape = bound.get("shape")
    target = shape.items[0] if isinstance(shape, Tuple) and len(shape.items) == 1 else shape
    return named(target, library) or element_dtype(bound["x"], library)


OPS: tuple[Op, ...] = (
    Op(
        "reshape",
        reshape,
        (
            "torch.reshape(input, shape)",
            "torch.Tensor.reshape(self, *shape)",
            "torch.Tensor.view(self, *shape)",
            "numpy.reshape(a, shape, order, *, copy)",
            "numpy.ndarray.reshape(self, *shape, order, copy)",
            "jax.numpy.reshape(a, shape, order, *, copy)",
            "jax.Array.reshape(self, *shape, order)",
            "jax.lax.reshape(operand, new_sizes: shape, dimensions)",
        ),
        Kind.RESHAPE,
        viewed,
    ),
    Op(
        "flatten",
        flatten,
        ("torch.flatten(input, start_dim, end_dim)",),
        Kind.RESHAPE,
        "same",
    ),
    Op(
        "ravel",
        ravel,
        (
            "torch.ravel(input)",
            "numpy.ravel(a, order)",
            "numpy.ndarray.flatten(self, order)",
            "jax.numpy.ravel(a, order)",
            "jax.Array.flatten(self, order)",
        ),
        Kind.RESHAPE,
        "same",
    ),
    Op("unflatten", unflatten, ("torch.unflatten(input, dim, sizes)",), Kind.RESHAPE, "same"),
    Op(
        "reshape_as",
        reshape_as,
        ("torch.Tensor.reshape_as(self, other)", "torch.Tensor.view_as(self, other)"),
        Kind.RESHAPE,
        "same",
    ),
    Op("view_as_real", view_as_real, ("torch.view_as_real(input)",), Kind.RESHAPE, "magnitude"),
    Op(
        "view_as_complex",
        view_as_complex,
        ("torch.view_as_complex(input)",),
        Kind.RESHAPE,
        lambda bound, library: {"float32": "complex64", "float64": "complex128"}.get(
            getattr(bound.get("x"), "dtype", None) or "", "complex"
        ),
    ),
)
