"""Pooling layers and what changes the resolution of images: upsampling, pixel shuffle, padding."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import floor

from shapelint.domain.dims import Dim, as_dim
from shapelint.domain.values import FALSE, NONE, Axis, Float, Int, Shape, Tuple, Value
from shapelint.events import Kind
from shapelint.ops.convolutions import windows
from shapelint.ops.layer_axes import (
    ONE_INT,
    ZERO_INT,
    expect_rank,
    floor_divide,
    made,
    per_axis,
    positive,
    unknown_axis,
)
from shapelint.ops.op import Op, Part, Result, ShapeError, Unknowable, dimension, flag, is_none, sizes, tensor
from shapelint.ops.runs import ends, joined


def pool(
    count: int,
    x: Value,
    kernel_size: Value,
    stride: Value = NONE,
    padding: Value = ZERO_INT,
    dilation: Value = ONE_INT,
    ceil_mode: Value = FALSE,
    return_indices: Value = FALSE,
) -> Result:
    """(n, c, h, w) -> (n, c, h', w'), and the indices where they are asked for."""
    shape = tensor(x).shape
    layer = f"a {count}-D pooling"
    expect_rank(shape, (count + 1, count + 2), layer)
    _, lead, (channel, *axes) = ends(shape, 0, count + 1)
    pooled = _pooled(axes, kernel_size, kernel_size if _absent(stride) else stride, padding, dilation, ceil_mode, layer)
    return _with_indices(joined((), lead, (channel, *pooled)), return_indices)


def _absent(stride: Value) -> bool:
    return is_none(stride) or stride == Tuple(())


def _pooled(
    axes: Sequence[Axis], kernel: Value, stride: Value, padding: Value, dilation: Value, ceil_mode: Value, layer: str
) -> tuple[Axis, ...]:
    try:
        options = [per_axis(option, len(axes)) for option in (kernel, stride, padding, dilation)]
        up = flag(ceil_mode)
    except Unknowable:
        return tuple(unknown_axis() for _ in axes)
    count = _windows_rounded_up if up else windows
    return tuple(_axis(count(axis.size, *option), layer, axis) for axis, *option in zip(axes, *options))


def _axis(size: Dim | None, layer: str, axis: Axis) -> Axis:
    return unknown_axis() if size is None else made(positive(size, layer, axis))


def _windows_rounded_up(size: Dim, kernel: Dim, stride: Dim, padding: Dim, dilation: Dim) -> Dim | None:
    """Windows that start inside the input or its left padding; None where that cannot be said of a symbol."""
    count = floor_divide(size + padding * 2 - dilation * (kernel - 1) - 1 + stride - 1, stride) + 1
    surplus = (padding + stride - 2 - dilation * (kernel - 1)).value
    if surplus is not None and surplus < 0:
        return count  # the last window starts before the end
    start, end = ((count - 1) * stride).value, (size + padding).value
    if start is None or end is None:
        return None
    return count - 1 if start >= end else count


def _with_indices(shape: Shape, return_indices: Value) -> Result:
    return (shape, Part(shape, "index")) if flag(return_indices) else shape


def lp_pool(count: int, x: Value, kernel_size: Value, stride: Value = NONE, ceil_mode: Value = FALSE) -> Result:
    return pool(count, x, kernel_size, stride, ceil_mode=ceil_mode)


def adaptive_pool(count: int, x: Value, output_size: Value, return_indices: Value = FALSE) -> Result:
    """(n, c, h, w) -> (n, c, *output_size); None keeps an axis."""
    shape = tensor(x).shape
    expect_rank(shape, (count + 1, count + 2), f"a {count}-D adaptive pooling")
    _, lead, (channel, *axes) = ends(shape, 0, count + 1)
    return _with_indices(joined((), lead, (channel, *_adapted(axes, output_size))), return_indices)


def _adapted(axes: Sequence[Axis], output_size: Value) -> tuple[Axis, ...]:
    match output_size:
        case Tuple(items=items) if len(items) in (1, len(axes)):
            wanted = items * len(axes) if len(items) == 1 else items
            return tuple(axis if is_none(w) else _sized(w) for axis, w in zip(axes, wanted))
        case Int(dim=dim):
            return tuple(made(dim) for _ in axes)
    return tuple(axes) if is_none(output_size) else tuple(unknown_axis() for _ in axes)


def _sized(value: Value) -> Axis:
    try:
        return made(dimension(value))
    except Unknowable:
        return unknown_axis()


def fractional_pool(
    count: int,
    x: Value,
    output_size: Value = NONE,
    output_ratio: Value = NONE,
    return_indices: Value = FALSE,
) -> Result:
    """(n, c, h, w) -> (n, c, *output_size), or h and w times their ratios."""
    shape = tensor(x).shape
    expect_rank(shape, (count + 1, count + 2), f"a {count}-D fractional pooling")
    _, lead, (channel, *axes) = ends(shape, 0, count + 1)
    return _with_indices(joined((), lead, (channel, *_resized(axes, output_size, output_ratio))), return_indices)


def unpool(
    count: int,
    x: Value,
    kernel_size: Value,
    stride: Value = NONE,
    padding: Value = ZERO_INT,
    output_size: Value = NONE,
) -> Shape:
    """(n, c, h, w) -> (n, c, (h - 1) * stride - 2 * padding + kernel, ...)"""
    shape = tensor(x).shape
    _, lead, (channel, *axes) = ends(shape, 0, count + 1)
    if not is_none(output_size):
        _, _, wanted = ends(sizes(output_size), 0, count)
        return joined((), lead, (channel, *wanted))
    options = [per_axis(o, count) for o in (kernel_size, kernel_size if is_none(stride) else stride, padding)]
    grown = (made((axis.size - 1) * s - p * 2 + k) for axis, k, s, p in zip(axes, *options))
    return joined((), lead, (channel, *grown))


def interpolate(x: Value, size: Value = NONE, scale_factor: Value = NONE) -> Shape:
    """(n, c, h, w) -> (n, c, *size), or each of h, w times its factor, rounded down."""
    shape = tensor(x).shape
    expect_rank(shape, (3, 4, 5), "interpolate")
    if shape.run is not None:
        if not isinstance(size, Tuple):
            raise Unknowable("rank not known")
        first, _, axes = ends(shape, 2, len(size.items))
    else:
        first, axes = shape.head[:2], shape.head[2:]
    return Shape((*first, *_resized(axes, size, scale_factor)))


def _resized(axes: Sequence[Axis], size: Value, factor: Value) -> tuple[Axis, ...]:
    match size:
        case Tuple(items=items) if len(items) == len(axes):
            return tuple(map(_sized, items))
        case Tuple(items=items):
            raise ShapeError(f"{len(items)} sizes for {len(axes)} axes")
        case Int(dim=dim):
            return tuple(made(dim) for _ in axes)
    if not is_none(size):
        return tuple(unknown_axis() for _ in axes)
    factors = factor.items if isinstance(factor, Tuple) else (factor,) * len(axes)
    return tuple(_scaled(axis, value) for axis, value in zip(axes, factors))


def _scaled(axis: Axis, factor: Value) -> Axis:
    match factor, axis.size.value:
        case Int(dim=dim), _:
            return made(axis.size * dim)
        case Float(value=float() as value), int() as known:
            return made(as_dim(floor(known * value)))
        case Float(value=float() as value), _ if value > 0 and value.is_integer():
            return made(axis.size * int(value))
        case Float(value=float() as value), _ if value in {1 / 2**k for k in range(1, 8)}:
            return made(floor_divide(axis.size, as_dim(int(1 / value))))
    return unknown_axis()


def pixel_shuffle(x: Value, upscale_factor: Value) -> Shape:
    """(…, c * r * r, h, w) -> (…, c, h * r, w * r)"""
    factor = dimension(upscale_factor)
    _, lead, (channel, *axes) = ends(tensor(x).shape, 0, 3)
    _divisible(channel, factor * factor, "PixelShuffle")
    return joined((), lead, (Axis(channel.size // (factor * factor)), *(Axis(axis.size * factor) for axis in axes)))


def pixel_unshuffle(x: Value, downscale_factor: Value) -> Shape:
    """(…, c, h * r, w * r) -> (…, c * r * r, h, w)"""
    factor = dimension(downscale_factor)
    _, lead, (channel, *axes) = ends(tensor(x).shape, 0, 3)
    for axis in axes:
        _divisible(axis, factor, "PixelUnshuffle")
    return joined((), lead, (Axis(channel.size * factor * factor), *(Axis(axis.size // factor) for axis in axes)))


def _divisible(axis: Axis, divisor: Dim, layer: str) -> None:
    if axis.size.value is not None and divisor.value and axis.size.value % divisor.value:
        raise ShapeError(f"{layer} divides an axis of {axis} by {divisor}")


def channel_shuffle(x: Value) -> Shape:
    return tensor(x).shape


def pad_layer(count: int, x: Value, padding: Value) -> Shape:
    """(…, h, w) -> (…, h + top + bottom, w + left + right); the last axis is given first."""
    shape = tensor(x).shape
    sides = per_axis(padding, 2 * count)
    _, lead, axes = ends(shape, 0, count)
    pairs = list(zip(sides[::2], sides[1::2]))[::-1]
    padded = (Axis(positive(axis.size + a + b, "a padding", axis)) for axis, (a, b) in zip(axes, pairs))
    return joined((), lead, (*padded,))


def grid_sample(x: Value, grid: Value) -> Shape:
    """(n, c, h, w), (n, h', w', 2) -> (n, c, h', w')"""
    source, target = tensor(x).shape, tensor(grid).shape
    if source.rank is None and target.rank is None:
        raise Unknowable("rank not known")
    rank = source.rank or target.rank or 0
    first, _, _ = ends(source, 2, 0)
    _, _, sampled = ends(target, 0, rank - 1)
    return Shape((*first, *sampled[:-1]))


def affine_grid(theta: Value, size: Value) -> Shape:
    """theta (n, 2, 3), size (n, c, h, w) -> (n, h, w, 2)"""
    target = sizes(size)
    if target.rank not in (4, 5):
        raise Unknowable("size not known")
    return Shape((target.head[0], *target.head[2:], Axis(as_dim(target.rank - 2))))


F = "torch.nn.functional"
LAYER = partial(Op, kind=Kind.LAYER, dtype="same", inputs="input")
POOLS = {
    "MaxPool": "kernel_size, stride, padding, dilation, return_indices, ceil_mode",
    "AvgPool": "kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override",
}
FUNCTIONS = {
    "max_pool": "input, kernel_size, stride, padding, dilation, ceil_mode, return_indices",
    "avg_pool": "input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override",
}
PADS = ("Constant", "Reflection", "Replication", "Zero", "Circular")
DIMENSIONS = (1, 2, 3)

FRACTION = "output_size, output_ratio, return_indices, _random_samples"

OPS: tuple[Op, ...] = (
    *(LAYER("pool", partial(pool, n), tuple(f"torch.nn.{p}{n}d({a})" for p, a in POOLS.items())) for n in DIMENSIONS),
    *(
        Op("pool", partial(pool, n), tuple(f"{F}.{f}{n}d({a})" for f, a in FUNCTIONS.items()), Kind.LAYER, "same")
        for n in DIMENSIONS
    ),
    *(
        Op(
            "pool",
            partial(pool, n),
            (f"torch.max_pool{n}d(input, kernel_size, stride, padding, dilation, ceil_mode)",),
            Kind.LAYER,
            "same",
        )
        for n in DIMENSIONS
    ),
    *(
        LAYER("pool", partial(lp_pool, n), (f"torch.nn.LPPool{n}d(norm_type, kernel_size, stride, ceil_mode)",))
        for n in DIMENSIONS
    ),
    *(
        Op(
            "pool",
            partial(lp_pool, n),
            (f"{F}.lp_pool{n}d(input, norm_type, kernel_size, stride, ceil_mode)",),
            Kind.LAYER,
            "same",
        )
        for n in DIMENSIONS
    ),
    *(
        LAYER(
            "adaptive_pool",
            partial(adaptive_pool, n),
            (
                f"torch.nn.AdaptiveAvgPool{n}d(output_size)",
                f"torch.nn.AdaptiveMaxPool{n}d(output_size, return_indices)",
            ),
        )
        for n in DIMENSIONS
    ),
    *(
        Op(
            "adaptive_pool",
            partial(adaptive_pool, n),
            (
                f"{F}.adaptive_avg_pool{n}d(input, output_size)",
                f"{F}.adaptive_max_pool{n}d(input, output_size, return_indices)",
            ),
            Kind.LAYER,
            "same",
        )
        for n in DIMENSIONS
    ),
    *(
        Op(
            "unpool",
            partial(unpool, n),
            (f"torch.nn.MaxUnpool{n}d(kernel_size, stride, padding)",),
            Kind.LAYER,
            "same",
            inputs="input, indices, output_size",
        )
        for n in DIMENSIONS
    ),
    *(
        Op(
            "unpool",
            partial(unpool, n),
            (f"{F}.max_unpool{n}d(input, indices, kernel_size, stride, padding, output_size)",),
            Kind.LAYER,
            "same",
        )
        for n in DIMENSIONS
    ),
    *(
        LAYER("pad", partial(pad_layer, n), tuple(f"torch.nn.{p}Pad{n}d(padding, value)" for p in PADS))
        for n in DIMENSIONS
    ),
    *(
        op
        for n in (2, 3)
        for op in (
            Op(
                "max_pool",
                partial(fractional_pool, n),
                (f"{F}.fractional_max_pool{n}d(input, kernel_size, {FRACTION})",),
                Kind.LAYER,
                "same",
            ),
            LAYER(
                "max_pool", partial(fractional_pool, n), (f"torch.nn.FractionalMaxPool{n}d(kernel_size, {FRACTION})",)
            ),
        )
    ),
    Op(
        "interpolate",
        interpolate,
        (
            f"{F}.upsample_nearest(input, size, scale_factor)",
            f"{F}.upsample_bilinear(input, size, scale_factor)",
            f"{F}.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)",
            f"{F}.upsample(input, size, scale_factor, mode, align_corners)",
        ),
        Kind.LAYER,
        "same",
    ),
    LAYER(
        "interpolate",
        interpolate,
        (
            "torch.nn.Upsample(size, scale_factor, mode, align_corners, recompute_scale_factor)",
            "torch.nn.UpsamplingNearest2d(size, scale_factor)",
            "torch.nn.UpsamplingBilinear2d(size, scale_factor)",
        ),
    ),
    Op("pixel_shuffle", pixel_shuffle, (f"{F}.pixel_shuffle(input, upscale_factor)",), Kind.LAYER, "same"),
    LAYER("pixel_shuffle", pixel_shuffle, ("torch.nn.PixelShuffle(upscale_factor)",)),
    Op("pixel_unshuffle", pixel_unshuffle, (f"{F}.pixel_unshuffle(input, downscale_factor)",), Kind.LAYER, "same"),
    LAYER("pixel_unshuffle", pixel_unshuffle, ("torch.nn.PixelUnshuffle(downscale_factor)",)),
    LAYER("channel_shuffle", channel_shuffle, ("torch.nn.ChannelShuffle(groups)",)),
    Op("grid_sample", grid_sample, (f"{F}.grid_sample(input, grid, mode, padding_mode, align_corners)",), dtype="same"),
    Op("affine_grid", affine_grid, (f"{F}.affine_grid(theta, size, align_corners)",), dtype="float"),
)
