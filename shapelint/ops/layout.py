"""Ops that move, drop or add axes: transpose, permute, squeeze, unsqueeze, flip, roll."""

from __future__ import annotations

from collections.abc import Sequence

from shapelint.domain.dims import ONE, Dim, Origin, Truth, as_dim, compare
from shapelint.domain.shapes import never_equal
from shapelint.domain.values import NONE, Axis, Int, Maker, Run, Shape, Tensor, Tuple, Value
from shapelint.events import Kind
from shapelint.ops.axes import axes_argument, check_axis, edited
from shapelint.ops.op import Op, ShapeError, Unknowable, axis_index, integer, integers, is_none, tensor
from shapelint.ops.runs import ROUNDS, ends, hidden, joined, with_rank

NEW = Axis(ONE, maker=Maker.INSERTED)


def squeeze(x: Value, dim: Value = NONE) -> Shape:
    """Without the axes of size 1, or those of `dim` that are 1. A named size counts as generic: it stays."""
    shape, axes = tensor(x).shape, axes_argument(dim)
    if axes is None or shape.rank == 0:
        return _squeeze_all(shape)
    return _squeeze_some(shape, axes)


def _squeeze_all(shape: Shape) -> Shape:
    if shape.run is not None:
        return hidden(shape, "squeeze")
    open_ends = [i for i, axis in enumerate(shape.head) if _may_be_one(axis.size)]
    kept = [axis for axis in shape.head if axis.size != ONE]
    if not open_ends:
        is_list = any(symbol.name == ROUNDS for axis in kept for symbol in axis.size.symbols())  # squeezed by habit
        is_idle = len(kept) == len(shape.head) and any(axis.size.value is None for axis in kept) and not is_list
        return hidden(shape, "squeeze") if is_idle else Shape(tuple(kept))  # nobody squeezes for nothing
    head = tuple(a for a in shape.head[: open_ends[0]] if a.size != ONE)
    tail = tuple(a for a in shape.head[open_ends[-1] + 1 :] if a.size != ONE)
    return Shape(head, Run("", (shape, "squeeze")), tail)


def _may_be_one(size: Dim, is_named: bool = False) -> bool:
    """Nothing tells that this size is a generic one. Where its axis is named, `? + 1` is 1 if there is none of `?`."""
    unknown = any(s.origin in {Origin.ANONYMOUS, Origin.DATA} and s.name != ROUNDS for s in size.symbols())
    return unknown and (compare(size, ONE) is not Truth.DIFFERENT or (is_named and ((), 1) in size.terms))


def _squeeze_some(shape: Shape, axes: tuple[int, ...]) -> Shape:
    if shape.run is None:
        chosen = {axis_index(i, shape) for i in axes}
        doubtful = sorted(i for i in chosen if _may_be_one(shape.head[i].size, is_named=True))
        if doubtful:
            first, last = doubtful[0], doubtful[-1]
            kept = [(i, a) for i, a in enumerate(shape.head) if not (i in chosen and a.size == ONE)]
            head, tail = (a for i, a in kept if i < first), (a for i, a in kept if i > last)
            return Shape(tuple(head), Run("", (shape, "squeeze", axes)), tuple(tail))
    elif any(_at(shape, i) is None for i in axes):
        return hidden(shape, "squeeze", axes)
    return edited(shape, axes, lambda axis: () if axis.size == ONE else (axis,))


def _at(shape: Shape, index: int) -> Axis | None:
    """The axis at `index`; None where it is not known, or not known to be there at all."""
    axis = shape.axis(index)
    return None if axis is not None and shape.run is not None and _may_be_one(axis.size, is_named=True) else axis


def squeeze_axis(x: Value, dim: Value = NONE) -> Shape:
    """numpy's squeeze: the axes of `dim` are 1, or the call fails."""
    shape, axes = tensor(x).shape, axes_argument(dim)
    if axes is None:
        return _squeeze_all(shape)
    for index in axes:
        axis = shape.axis(index)
        if axis is not None and never_equal(axis.size, ONE):
            raise ShapeError(f"axis {index} of {shape} is {axis}, only a size of 1 can be squeezed")
    return edited(shape, axes, lambda _: ())


def unsqueeze(x: Value, dim: Value) -> Shape:
    """A new axis of size 1 at each of `dim`, counted in the result."""
    shape = tensor(x).shape
    axes = integers(dim)
    if shape.run is not None:
        return _unsqueeze_beside_run(shape, axes)
    rank = len(shape.head) + len(axes)
    for index in axes:
        if not -rank <= index < rank:
            raise ShapeError(f"a new axis {index} is out of range for {shape}")
    places = {index % rank for index in axes}
    if len(places) < len(axes):
        raise ShapeError(f"axes {axes} name one axis twice")
    rest = iter(shape.head)
    return Shape(tuple(NEW if i in places else next(rest) for i in range(rank)))


def _unsqueeze_beside_run(shape: Shape, axes: Sequence[int]) -> Shape:
    head, tail = list(shape.head), list(shape.tail)
    for index in sorted(i for i in axes if i >= 0):
        if index > len(head):
            return hidden(shape, "unsqueeze", axes)
        head.insert(index, NEW)
    for index in sorted((i for i in axes if i < 0), reverse=True):
        if -index - 1 > len(tail):
            return hidden(shape, "unsqueeze", axes)
        tail.insert(len(tail) + index + 1, NEW)
    return Shape(tuple(head), shape.run, tuple(tail))


def transpose(x: Value, first: Value, second: Value) -> Shape:
    """Two axes change places."""
    shape = tensor(x).shape
    i, j = integer(first), integer(second)
    check_axis(shape, i)
    check_axis(shape, j)
    if shape.rank == 0:
        return shape
    a, b = shape.axis(i), shape.axis(j)
    if a is None or b is None:
        return _swapped_beside_run(shape, i, j)
    axes = {_place(shape, i): b, _place(shape, j): a}
    return _rebuilt(shape, [axes.get(k, axis) for k, axis in enumerate(shape.axes)])


def _swapped_beside_run(shape: Shape, i: int, j: int) -> Shape:
    """Axes that come out of a run are there for certain, as they are named."""
    if (i < 0) != (j < 0):
        return hidden(shape, "transpose", i, j)
    before, after = (max(i, j) + 1, 0) if i >= 0 else (0, -min(i, j))
    front, middle, back = ends(shape, before, after)
    swapped = [*front, *back]
    swapped[i], swapped[j] = swapped[j], swapped[i]
    return joined(tuple(swapped[:before]), middle, tuple(swapped[before:]))


def _place(shape: Shape, index: int) -> int:
    return index if index >= 0 else shape.least_rank + index


def _rebuilt(shape: Shape, axes: Sequence[Axis]) -> Shape:
    return Shape(tuple(axes[: len(shape.head)]), shape.run, tuple(axes[len(shape.head) :]))


def permute(x: Value, dim: Value) -> Shape:
    """All axes in another order; reversed without one."""
    shape = tensor(x).shape
    if is_none(dim):
        return reverse(x)
    if isinstance(dim, Tuple) and len(dim.items) == 1 and isinstance(dim.items[0], Tuple):
        dim = dim.items[0]
    order = integers(dim)
    shape = with_rank(shape, len(order))
    chosen = [axis_index(i, shape) for i in order] if order else []
    if len(set(chosen)) < len(chosen):
        raise ShapeError(f"{order} names one axis of {shape} twice")
    return Shape(tuple(shape.head[i] for i in chosen))


def numpy_transpose(x: Value, dim: Value = NONE) -> Shape:
    """np.transpose: axes reversed, or in the order of `dim`."""
    return reverse(x) if dim in (NONE, Tuple(()), Tuple((NONE,))) else permute(x, dim)


def reverse(x: Value) -> Shape:
    """(a, b, c) -> (c, b, a)"""
    shape = tensor(x).shape
    run = shape.run if shape.run is None or shape.least_rank == 0 else Run("", (shape, "reversed"))
    if shape.run is None:
        return Shape(shape.head[::-1])
    return Shape(shape.tail[::-1], hidden(shape, "reversed").run if run else None, shape.head[::-1])


def t(x: Value) -> Shape:
    """torch's t(): at most two axes."""
    shape = tensor(x).shape
    if shape.least_rank > 2:
        raise ShapeError(f"t() needs at most 2 axes, {shape} has {shape.least_rank}")
    return reverse(x)


def matrix_transpose(x: Value) -> Shape:
    """(…, n, m) -> (…, m, n)"""
    batch, (a, b) = matrices(tensor(x).shape)
    return joined((), batch, (b, a))


def matrices(shape: Shape) -> tuple[Shape, tuple[Axis, Axis]]:
    """Batch axes and the last two. ShapeError where there are fewer than two."""
    _, batch, (n, m) = ends(shape, 0, 2)
    return batch, (n, m)


def movedim(x: Value, source: Value, destination: Value) -> Shape:
    """Axes `source` move to the places `destination`, the others keep their order."""
    shape = tensor(x).shape
    sources, targets = integers(source), integers(destination)
    if len(sources) != len(targets):
        raise ShapeError(f"{len(sources)} axes do not move to {len(targets)} places")
    if shape.run is not None:
        return _move_beside_run(shape, sources, targets)
    moved = {axis_index(t, shape): axis_index(s, shape) for s, t in zip(sources, targets)}
    if len(moved) < len(sources) or len(set(moved.values())) < len(sources):
        raise ShapeError(f"{sources} to {targets} names one axis twice")
    rest = (i for i in range(len(shape.head)) if i not in moved.values())
    return Shape(tuple(shape.head[moved[i] if i in moved else next(rest)] for i in range(len(shape.head))))


def _move_beside_run(shape: Shape, sources: tuple[int, ...], targets: tuple[int, ...]) -> Shape:
    """One axis moves from a known place to a known place."""
    axis = shape.axis(sources[0]) if len(sources) == 1 else None
    if axis is None:
        return hidden(shape, "movedim", sources, targets)
    rest = edited(shape, sources, lambda _: ())
    head, tail, target = list(rest.head), list(rest.tail), targets[0]
    if 0 <= target <= len(head):
        head.insert(target, axis)
    elif -len(tail) - 1 <= target < 0:
        tail.insert(len(tail) + target + 1, axis)
    else:
        return hidden(shape, "movedim", sources, targets)
    return Shape(tuple(head), rest.run, tuple(tail))


def rollaxis(x: Value, dim: Value, start: Value = NONE) -> Shape:
    """np.rollaxis: axis `dim` moves before `start`."""
    shape = tensor(x).shape
    axis = axis_index(integer(dim), shape)
    to = 0 if is_none(start) else integer(start)
    to += len(shape.head) if to < 0 else 0
    rest = [a for i, a in enumerate(shape.head) if i != axis]
    rest.insert(to - 1 if axis < to else to, shape.head[axis])
    return Shape(tuple(rest))


def same(x: Value, dim: Value = NONE) -> Shape:
    """The shape of x; flip, roll and tril only move values."""
    shape = tensor(x).shape
    for index in () if is_none(dim) else integers(dim):
        check_axis(shape, index)
    return shape


def same_matrix(x: Value) -> Shape:
    """tril, triu: (…, n, m) as it is."""
    shape = tensor(x).shape
    if shape.rank is not None and shape.rank < 2:
        raise ShapeError(f"{shape} is no matrix")
    return shape


def numpy_tril(x: Value) -> Shape:
    """np.tril makes a square matrix of one axis."""
    shape = tensor(x).shape
    return Shape(shape.head * 2) if shape.rank == 1 else shape


def rot90(x: Value, k: Value = NONE, dim: Value = NONE) -> Shape:
    """Two axes, 0 and 1 by default, change places for odd k."""
    turns = 1 if is_none(k) else integer(k)
    first, second = (0, 1) if is_none(dim) else integers(dim)
    return transpose(x, Int(as_dim(first)), Int(as_dim(second))) if turns % 2 else tensor(x).shape


def at_least(rank: int, front: Sequence[int]) -> object:
    """atleast_2d and its like: axes of size 1 are added up to `rank`; `front[r]` of them before rank r's own axes."""

    def shape(x: Value) -> Shape:
        if isinstance(x, Tuple) and any(isinstance(item, Tensor) for item in x.items):
            raise Unknowable("a list of arrays, each on its own in torch")
        own = tensor(x).shape
        if own.run is not None:
            return own if own.least_rank >= rank else hidden(own, "at least", rank)
        missing = rank - len(own.head)
        if missing <= 0:
            return own
        before = front[len(own.head)]
        return Shape((NEW,) * before + own.head + (NEW,) * (missing - before))

    return shape


def _op(name: str, function: object, *spellings: str) -> Op:
    return Op(name, function, spellings, Kind.LAYOUT, "same")  # type: ignore[arg-type]


OPS: tuple[Op, ...] = (
    _op("squeeze", squeeze, "torch.squeeze(input, dim)"),
    _op(
        "squeeze",
        squeeze_axis,
        "numpy.squeeze(a, axis)",
        "jax.numpy.squeeze(a, axis)",
        "jax.lax.squeeze(array, dimensions: dim)",
    ),
    _op(
        "unsqueeze",
        unsqueeze,
        "torch.unsqueeze(input, dim)",
        "numpy.expand_dims(a, axis)",
        "jax.numpy.expand_dims(a, axis)",
        "jax.lax.expand_dims(array, dimensions: dim)",
    ),
    _op(
        "transpose",
        transpose,
        "torch.transpose(input, dim0: first, dim1: second)",
        "torch.swapaxes(input, axis0: first, axis1: second)",
        "torch.swapdims(input, dim0: first, dim1: second)",
        "numpy.swapaxes(a, axis1: first, axis2: second)",
        "jax.numpy.swapaxes(a, axis1: first, axis2: second)",
    ),
    _op(
        "permute",
        permute,
        "torch.permute(input, dims: dim)",
        "torch.Tensor.permute(self, *dims: dim)",
        "jax.lax.transpose(operand, permutation: dim)",
    ),
    _op(
        "permute",
        numpy_transpose,
        "numpy.transpose(a, axes)",
        "numpy.permute_dims(a, axes)",
        "numpy.ndarray.transpose(self, *axes)",
        "jax.numpy.transpose(a, axes)",
        "jax.numpy.permute_dims(a, axes)",
        "jax.Array.transpose(self, *axes)",
    ),
    _op("t", reverse, "torch.Tensor.T(self)", "numpy.ndarray.T(self)", "jax.Array.T(self)"),
    _op("t", t, "torch.t(input)"),
    _op(
        "mT",
        matrix_transpose,
        "torch.Tensor.mT(self)",
        "torch.Tensor.mH(self)",
        "torch.Tensor.H(self)",
        "torch.adjoint(input)",
        "numpy.ndarray.mT(self)",
        "numpy.matrix_transpose(x)",
        "numpy.linalg.matrix_transpose(x)",
        "jax.Array.mT(self)",
        "jax.numpy.matrix_transpose(x)",
        "jax.numpy.linalg.matrix_transpose(x)",
    ),
    _op(
        "movedim",
        movedim,
        "torch.movedim(input, source, destination)",
        "torch.moveaxis(input, source, destination)",
        "numpy.moveaxis(a, source, destination)",
        "jax.numpy.moveaxis(a, source, destination)",
    ),
    _op("rollaxis", rollaxis, "numpy.rollaxis(a, axis, start)", "jax.numpy.rollaxis(a, axis, start)"),
    _op(
        "flip",
        same,
        "torch.flip(input, dims: dim)",
        "torch.Tensor.flip(self, *dims: dim)",
        "torch.fliplr(input)",
        "torch.flipud(input)",
        "numpy.flip(m: x, axis)",
        "numpy.fliplr(m: x)",
        "numpy.flipud(m: x)",
        "jax.numpy.flip(m: x, axis)",
        "jax.numpy.fliplr(m: x)",
        "jax.numpy.flipud(m: x)",
        "jax.lax.rev(operand, dimensions: dim)",
    ),
    _op(
        "roll",
        same,
        "torch.roll(input, shifts, dims: dim)",
        "numpy.roll(a, shift, axis)",
        "jax.numpy.roll(a, shift, axis)",
        "numpy.fft.fftshift(x, axes)",
        "numpy.fft.ifftshift(x, axes)",
        "torch.fft.fftshift(input, dim)",
        "torch.fft.ifftshift(input, dim)",
        "jax.numpy.fft.fftshift(x, axes)",
        "jax.numpy.fft.ifftshift(x, axes)",
    ),
    _op(
        "rot90",
        rot90,
        "torch.rot90(input, k, dims: dim)",
        "numpy.rot90(m: x, k, axes)",
        "jax.numpy.rot90(m: x, k, axes)",
    ),
    _op("tril", same_matrix, "torch.tril(input, diagonal)", "jax.numpy.tril(m: x, k)"),
    _op("triu", same_matrix, "torch.triu(input, diagonal)", "jax.numpy.triu(m: x, k)"),
    _op("tril", numpy_tril, "numpy.tril(m: x, k)"),
    _op("triu", numpy_tril, "numpy.triu(m: x, k)"),
    _op("atleast_1d", at_least(1, (0,)), "torch.atleast_1d(input)", "numpy.atleast_1d(x)", "jax.numpy.atleast_1d(x)"),
    _op("atleast_2d", at_least(2, (0, 1)), "torch.atleast_2d(input)", "numpy.atleast_2d(x)", "jax.numpy.atleast_2d(x)"),
    _op(
        "atleast_3d",
        at_least(3, (1, 1, 0)),
        "torch.atleast_3d(input)",
        "numpy.atleast_3d(x)",
        "jax.numpy.atleast_3d(x)",
    ),
)
