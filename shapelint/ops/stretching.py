"""Ops that stretch, repeat or frame axes: expand, broadcast_to, repeat, tile, repeat_interleave, pad, unfold,
and NumPy's functions of all pairs, np.subtract.outer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shapelint.domain.dims import ONE, Dim, as_dim, data_dependent
from shapelint.domain.shapes import never_equal
from shapelint.domain.values import NONE, Axis, Int, Shape, Tuple, Value
from shapelint.events import Kind
from shapelint.ops.axes import edited
from shapelint.ops.dtypes import promote_of
from shapelint.ops.op import (
    DtypeRule,
    Op,
    ShapeError,
    Unknowable,
    dimension,
    integer,
    integers,
    is_none,
    size_or_any,
    sizes,
    tensor,
)
from shapelint.ops.reshaping import FREE, flatten, spell, target_sizes
from shapelint.ops.runs import hidden, joined, unknown_size, with_rank


def expand(x: Value, shape: Value) -> Shape:
    """Axes of size 1 stretch to `shape`, lined up from the right; -1 keeps an axis."""
    source = tensor(x).shape
    targets = target_sizes(shape)
    if targets is None:
        return hidden(Shape((), source.run), "expand", object())
    return _expanded(source, targets)


def _expanded(source: Shape, targets: Sequence[Dim]) -> Shape:
    if source.run is not None:
        known = source.tail[-len(targets) :] if targets else ()
        targets_head = targets[: len(targets) - len(known)]
        free = tuple(Axis(_or_unknown(size, source, i)) for i, size in enumerate(targets_head))
        return Shape(free + tuple(_stretched(a, s, source, targets) for a, s in zip(known, targets[len(free) :])))
    new = len(targets) - len(source.head)
    if new < 0:
        raise ShapeError(f"{source} has more axes than {spell(targets)}")
    if FREE in targets[:new]:
        raise ShapeError(f"-1 in {spell(targets)} stands for no axis of {source}")
    added = tuple(map(Axis, targets[:new]))
    return Shape(added + tuple(_stretched(a, s, source, targets) for a, s in zip(source.head, targets[new:])))


def _or_unknown(size: Dim, source: Shape, index: int) -> Dim:
    return unknown_size(source, "expand", index) if size == FREE else size


def _stretched(axis: Axis, size: Dim, source: Shape, targets: Sequence[Dim]) -> Axis:
    if size in (FREE, axis.size):
        return axis
    if axis.size != ONE and never_equal(axis.size, size):
        raise ShapeError(f"{source} does not expand to {spell(targets)}: {axis} is neither 1 nor {size}")
    return Axis(size)


def expand_as(x: Value, y: Value) -> Shape:
    """x stretched to the shape of y."""
    target = tensor(y).shape
    return target if target.run is not None else _expanded(tensor(x).shape, target.sizes)


def broadcast_in_dim(x: Value, shape: Value, dim: Value) -> Shape:
    """jax.lax: the axes of x become the axes `dim` of the result."""
    targets = target_sizes(shape)
    if targets is None or tensor(x).shape.rank != len(integers(dim)):
        raise Unknowable("axes not known")
    return Shape(tuple(map(Axis, targets)))


def repeat(x: Value, repeats: Value) -> Shape:
    """torch's repeat: each axis so many times over; more numbers than axes add axes in front."""
    shape = tensor(x).shape
    counts = target_sizes(repeats)
    if counts is None:
        return hidden(Shape((), shape.run), "repeat", object())
    if shape.run is not None:
        return with_rank(hidden(shape, "repeat", counts), len(counts))
    if len(counts) < len(shape.head):
        raise ShapeError(f"{shape} has more axes than the {len(counts)} repeats")
    return _tiled(shape, counts)


def resize(x: Value, shape: Value) -> Shape:
    """The shape that is asked for, whatever it was."""
    return sizes(shape)


def tile(x: Value, repeats: Value) -> Shape:
    """np.tile: like repeat, but fewer numbers than axes concern the last axes."""
    shape = tensor(x).shape
    counts = target_sizes(repeats)
    if counts is None or shape.run is not None:
        return hidden(Shape((), shape.run), "tile", object())
    return _tiled(shape, (ONE,) * (len(shape.head) - len(counts)) + counts)


def _tiled(shape: Shape, counts: Sequence[Dim]) -> Shape:
    if any(count.value is not None and count.value < 0 for count in counts):
        raise ShapeError(f"({', '.join(map(str, counts))}) repeats: none may be negative")
    new = len(counts) - len(shape.head)
    axes = (Axis(ONE),) * new + shape.head
    return Shape(tuple(_times(axis, count) for axis, count in zip(axes, counts)))


def _times(axis: Axis, count: Dim) -> Axis:
    """All of an axis, `count` times over."""
    if count == ONE:
        return axis
    return Axis(count) if axis.size == ONE else Axis(count * axis.size, (count, *axis.parts))


def repeat_interleave(x: Value, repeats: Value = NONE, dim: Value = NONE, output_size: Value = NONE) -> Shape:
    """(…, n, …) -> (…, n * repeats, …), each element so many times in a row; flat without `dim`."""
    if is_none(repeats):
        return Shape((Axis(data_dependent(object())),))
    shape = flatten(x) if is_none(dim) or tensor(x).shape.rank == 0 else tensor(x).shape
    axis = 0 if is_none(dim) else integer(dim)
    if not is_none(output_size):
        return edited(shape, (axis,), lambda _: (Axis(size_or_any(output_size)),))
    return edited(shape, (axis,), lambda axis: (_each(axis, repeats),))


def _each(axis: Axis, repeats: Value) -> Axis:
    match repeats:
        case Tuple(items=(single,)):
            return _each(axis, single)
        case Int(dim=count):
            if count == ONE:
                return axis
            return Axis(count) if axis.size == ONE else Axis(axis.size * count, (*axis.parts, count))
        case Tuple(items=items) if all(isinstance(item, Int) for item in items):
            if never_equal(axis.size, as_dim(len(items))):
                raise ShapeError(f"{len(items)} repeats for an axis of {axis}")
            return Axis(sum(map(dimension, items), as_dim(0)))
    return Axis(data_dependent(object()))


def pad(x: Value, pad: Value) -> Shape:
    """F.pad: (left, right) of the last axis, then of the one before it, and so on."""
    shape = tensor(x).shape
    if not isinstance(pad, Tuple):
        return hidden(shape, "pad", object()) if shape.run else with_rank(hidden(shape, object()), len(shape.head))
    if len(pad.items) % 2:
        raise ShapeError("pad needs two numbers for each axis")
    frames = [[size_or_any(item) for item in pad.items[i : i + 2]] for i in range(0, len(pad.items), 2)]
    if shape.rank is not None and len(frames) > shape.rank:
        raise ShapeError(f"pad has {len(pad.items)} numbers for {shape}")
    for index, (before, after) in enumerate(frames):
        shape = edited(shape, (-1 - index,), lambda axis, by=before + after: (_longer(axis, by),))  # type: ignore[misc]
    return shape


def _longer(axis: Axis, by: Dim) -> Axis:
    return axis if by == as_dim(0) else Axis(axis.size + by)


def numpy_pad(x: Value, pad_width: Value) -> Shape:
    """np.pad: one number for all, (before, after) for all, or a pair for each axis."""
    shape = tensor(x).shape
    if shape.run is not None:
        return hidden(shape, "pad", object())
    match pad_width:
        case Tuple(items=(pair,)) if isinstance(pair, Tuple):
            pairs: tuple[Value, ...] = (pair,) * len(shape.head)
        case Tuple(items=items) if items and all(isinstance(item, Tuple) for item in items):
            pairs = items
        case _:
            pairs = (pad_width,) * len(shape.head)
    if len(pairs) != len(shape.head):
        raise ShapeError(f"{len(pairs)} pairs of pad_width for {shape}")
    return Shape(tuple(_longer(axis, _frame(pair)) for axis, pair in zip(shape.head, pairs)))


def _frame(pair: Value) -> Dim:
    match pair:
        case Tuple(items=(before, after)):
            return size_or_any(before) + size_or_any(after)
        case Tuple(items=(both,)) | both:
            return 2 * size_or_any(both)


def unfold(x: Value, dim: Value, size: Value, step: Value) -> Shape:
    """(…, n, …) -> (…, (n - size) // step + 1, …, size)"""
    window, stride = dimension(size), dimension(step)

    def count(axis: Axis) -> tuple[Axis, ...]:
        length = axis.size - window
        if length.value is not None and length.value < 0:
            raise ShapeError(f"a window of {window} is longer than {axis}")
        return (Axis(length // stride + 1),)

    return joined((), edited(tensor(x).shape, (integer(dim),), count), (Axis(window),))


def sliding_windows(x: Value, window_shape: Value, dim: Value = NONE) -> Shape:
    """np.lib.stride_tricks.sliding_window_view: (…, n, …) -> (…, n - window + 1, …, window)"""
    shape = tensor(x).shape
    windows = target_sizes(window_shape)
    if shape.run is not None or windows is None:
        raise Unknowable("rank not known")
    axes = range(len(shape.head)) if is_none(dim) else integers(dim)
    if len(axes) != len(windows):
        raise ShapeError(f"{len(windows)} windows for {len(axes)} axes")
    for index, window in zip(axes, windows):
        shape = edited(shape, (index,), lambda axis, by=window: (Axis(axis.size - by + 1),))  # type: ignore[misc]
    return joined((), shape, tuple(map(Axis, windows)))


def of_all_pairs(x: Value, y: Value) -> Shape:
    """The axes of x, then those of y: np.subtract.outer(x, y)."""
    a, b = tensor(x).shape, tensor(y).shape
    if a.run is not None and b.run is not None:
        return hidden(a, b, "outer")
    if a.run is not None:
        return Shape(a.head, a.run, a.tail + b.head)
    return Shape(a.head + b.head, b.run, b.tail)


def _pairs(names: Iterable[str], dtype: DtypeRule) -> Op:
    return Op("ufunc_outer", of_all_pairs, tuple(f"numpy.{name}.outer(A: x, B: y)" for name in names), dtype=dtype)


def _op(name: str, function: object, *spellings: str) -> Op:
    return Op(name, function, spellings, Kind.LAYOUT, "same")  # type: ignore[arg-type]


OPS: tuple[Op, ...] = (
    _op("expand", expand, "torch.Tensor.expand(self, *size: shape)", "torch.Tensor.broadcast_to(self, *size: shape)"),
    _op(
        "expand",
        expand,
        "torch.broadcast_to(input, size: shape)",
        "numpy.broadcast_to(array, shape)",
        "jax.numpy.broadcast_to(array, shape)",
    ),
    _op("broadcast_in_dim", broadcast_in_dim, "jax.lax.broadcast_in_dim(operand, shape, broadcast_dimensions: dim)"),
    _op("expand_as", expand_as, "torch.Tensor.expand_as(self, other)"),
    _op("repeat", repeat, "torch.Tensor.repeat(self, *repeats)"),
    _op("resize", resize, "numpy.resize(a, new_shape: shape)", "jax.image.resize(image: x, shape, method)"),
    _op(
        "tile",
        tile,
        "torch.tile(input, dims: repeats)",
        "torch.Tensor.tile(self, *dims: repeats)",
        "numpy.tile(A: x, reps: repeats)",
        "jax.numpy.tile(A: x, reps: repeats)",
    ),
    _op(
        "repeat_interleave",
        repeat_interleave,
        "torch.repeat_interleave(input, repeats, dim, *, output_size)",
        "numpy.repeat(a, repeats, axis)",
        "jax.numpy.repeat(a, repeats, axis, *, total_repeat_length: output_size)",
    ),
    _op("pad", pad, "torch.nn.functional.pad(input, pad, mode, value)"),
    _op("pad", numpy_pad, "numpy.pad(array, pad_width, mode)", "jax.numpy.pad(array, pad_width, mode)"),
    _op("unfold", unfold, "torch.Tensor.unfold(self, dimension: dim, size, step)"),
    _op("sliding_window_view", sliding_windows, "numpy.lib.stride_tricks.sliding_window_view(x, window_shape, axis)"),
    _pairs(("add", "subtract", "multiply", "maximum", "minimum"), promote_of("x", "y")),
    _pairs(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"), "bool"),
)
