"""Convolutions, transposed ones, and the windows of unfold and fold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from shapelint.domain.dims import ONE, Dim, product
from shapelint.domain.shapes import never_equal
from shapelint.domain.values import NONE, Axis, Const, Int, Shape, Tuple, Value
from shapelint.events import Kind
from shapelint.ops.layer_axes import (
    ONE_INT,
    ZERO_INT,
    channels,
    expect,
    expect_rank,
    floor_divide,
    made,
    per_axis,
    positive,
    unknown_axis,
)
from shapelint.ops.op import Op, ShapeError, Unknowable, is_none, size_or_any, sizes, tensor
from shapelint.ops.runs import ends, joined


def windows(size: Dim, kernel: Dim, stride: Dim, padding: Dim, dilation: Dim) -> Dim:
    """How many windows fit on an axis."""
    return floor_divide(size + padding * 2 - dilation * (kernel - 1) - 1, stride) + 1


def slid(
    axes: Sequence[Axis], kernel: Value, stride: Value, padding: Value, dilation: Value, layer: str
) -> tuple[Axis, ...]:
    """The axes after a window ran over them; unknown where the window is."""
    count = len(axes)
    match padding:
        case Const(value="same"):
            return tuple(made(axis.size) for axis in axes)
        case Const(value="valid"):
            padding = ZERO_INT
    try:
        options = [per_axis(option, count) for option in (kernel, stride, padding, dilation)]
    except Unknowable:
        return tuple(unknown_axis() for _ in axes)
    return tuple(made(positive(windows(axis.size, *o), layer, axis)) for axis, *o in zip(axes, *options))


def conv(
    count: int,
    x: Value,
    out_channels: Value,
    kernel_size: Value,
    in_channels: Value = NONE,
    stride: Value = ONE_INT,
    padding: Value = ZERO_INT,
    dilation: Value = ONE_INT,
) -> Shape:
    """(n, in, h, w) -> (n, out, h', w'), and the same without n."""
    layer = f"Conv{count}d"
    shape = tensor(x).shape
    expect_rank(shape, (count + 1, count + 2), layer)
    _, lead, (channel, *axes) = ends(shape, 0, count + 1)
    expect(channel, in_channels, f"{layer} expects {{}} channels", "the input's channel axis")
    return joined((), lead, (channels(out_channels), *slid(axes, kernel_size, stride, padding, dilation, layer)))


def functional_conv(
    count: int,
    x: Value,
    weight: Value,
    stride: Value = ONE_INT,
    padding: Value = ZERO_INT,
    dilation: Value = ONE_INT,
    groups: Value = ONE_INT,
) -> Shape:
    """(n, in, h, w), (out, in / groups, k, k) -> (n, out, h', w')"""
    out, within, kernel = _weight(weight, count)
    inner = Int(within.size * size_or_any(groups))
    return conv(count, x, Int(out.size), kernel, inner, stride, padding, dilation)


def _weight(weight: Value, count: int) -> tuple[Axis, Axis, Tuple]:
    shape = tensor(weight).shape
    expect_rank(shape, (count + 2,), "a convolution's weight")
    _, _, (first, second, *kernel) = ends(shape, 0, count + 2)
    return first, second, Tuple(tuple(Int(axis.size) for axis in kernel))


def conv_transposed(
    count: int,
    x: Value,
    out_channels: Value,
    kernel_size: Value,
    in_channels: Value = NONE,
    stride: Value = ONE_INT,
    padding: Value = ZERO_INT,
    output_padding: Value = ZERO_INT,
    dilation: Value = ONE_INT,
    output_size: Value = NONE,
) -> Shape:
    """(n, in, h, w) -> (n, out, (h - 1) * stride - 2 * padding + dilation * (k - 1) + output_padding + 1, ...)"""
    layer = f"ConvTranspose{count}d"
    shape = tensor(x).shape
    expect_rank(shape, (count + 1, count + 2), layer)
    _, lead, (channel, *axes) = ends(shape, 0, count + 1)
    expect(channel, in_channels, f"{layer} expects {{}} channels", "the input's channel axis")
    if is_none(output_size):
        grown = _grown(axes, kernel_size, stride, padding, output_padding, dilation, layer)
    else:
        _, _, grown = ends(sizes(output_size), 0, count)
    return joined((), lead, (channels(out_channels), *grown))


def _grown(axes: Sequence[Axis], *options: Value | str) -> tuple[Axis, ...]:
    *values, layer = options
    try:
        known = [per_axis(value, len(axes)) for value in values if not isinstance(value, str)]
    except Unknowable:
        return tuple(unknown_axis() for _ in axes)
    return tuple(
        made(positive((axis.size - 1) * s - p * 2 + d * (k - 1) + extra + 1, str(layer), axis))
        for axis, k, s, p, extra, d in zip(axes, *known)
    )


def functional_transposed(
    count: int,
    x: Value,
    weight: Value,
    stride: Value = ONE_INT,
    padding: Value = ZERO_INT,
    output_padding: Value = ZERO_INT,
    groups: Value = ONE_INT,
    dilation: Value = ONE_INT,
) -> Shape:
    """(n, in, h, w), (in, out / groups, k, k) -> (n, out, h', w')"""
    inner, within, kernel = _weight(weight, count)
    out = Int(within.size * size_or_any(groups))
    return conv_transposed(count, x, out, kernel, Int(inner.size), stride, padding, output_padding, dilation)


def unfold(
    x: Value,
    kernel_size: Value,
    dilation: Value = ONE_INT,
    padding: Value = ZERO_INT,
    stride: Value = ONE_INT,
) -> Shape:
    """(n, c, h, w) -> (n, c * k * k, windows)"""
    shape = tensor(x).shape
    expect_rank(shape, (3, 4), "Unfold")
    _, lead, (channel, *axes) = ends(shape, 0, 3)
    kernel = per_axis(kernel_size, 2)
    slides = slid(axes, kernel_size, stride, padding, dilation, "Unfold")
    return joined((), lead, (_grouped((channel.size, *kernel)), Axis(product(axis.size for axis in slides))))


def _grouped(parts: tuple[Dim, ...]) -> Axis:
    factors = tuple(part for part in parts if part != ONE)
    return Axis(product(parts), factors if len(factors) > 1 else ())


def fold(
    x: Value,
    output_size: Value,
    kernel_size: Value,
    dilation: Value = ONE_INT,
    padding: Value = ZERO_INT,
    stride: Value = ONE_INT,
) -> Shape:
    """(n, c * k * k, windows) -> (n, c, h, w)"""
    shape = tensor(x).shape
    expect_rank(shape, (2, 3), "Fold")
    _, lead, (channel, count) = ends(shape, 0, 2)
    target = tuple(Axis(size) for size in per_axis(output_size, 2))
    slides = slid(target, kernel_size, stride, padding, dilation, "Fold")
    expected = product(axis.size for axis in slides)
    if never_equal(count.size, expected):
        raise ShapeError(f"Fold expects {expected} windows, the input has {count}")
    kernel = product(per_axis(kernel_size, 2))
    quotient = channel.size // kernel
    if channel.size.value is not None and kernel.value and channel.size.value % kernel.value:
        raise ShapeError(f"Fold divides {channel} channels by a window of {kernel}")
    return joined((), lead, (Axis(quotient), *target))


def weights(config: dict[str, Value], count: int, transposed: bool) -> dict[str, Shape]:
    """weight and bias of a convolution."""
    groups = size_or_any(config.get("groups", ONE_INT))
    inner, outer = size_or_any(config.get("in_channels", NONE)), size_or_any(config["out_channels"])
    kernel = per_axis(config["kernel_size"], count)
    first, second = (inner, outer // groups) if transposed else (outer, inner // groups)
    return {"weight": Shape(tuple(map(Axis, (first, second, *kernel)))), "bias": Shape((Axis(outer),))}


TAIL = "bias, padding_mode, device, dtype"
LAYER = partial(Op, "conv", kind=Kind.LAYER, dtype="same", inputs="input")

OPS: tuple[Op, ...] = (
    *(
        LAYER(
            partial(conv, n),
            (
                f"torch.nn.Conv{n}d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, {TAIL})",
                f"torch.nn.LazyConv{n}d(out_channels, kernel_size, stride, padding, dilation, groups, {TAIL})",
            ),
        )
        for n in (1, 2, 3)
    ),
    *(
        Op(
            "conv",
            partial(conv_transposed, n),
            (
                f"torch.nn.ConvTranspose{n}d(in_channels, out_channels, kernel_size, stride, padding, output_padding,"
                " groups, bias, dilation, padding_mode, device, dtype)",
                f"torch.nn.LazyConvTranspose{n}d(out_channels, kernel_size, stride, padding, output_padding,"
                " groups, bias, dilation, padding_mode, device, dtype)",
            ),
            Kind.LAYER,
            "same",
            inputs="input, output_size",
        )
        for n in (1, 2, 3)
    ),
    *(
        Op(
            "conv",
            partial(functional_conv, n),
            tuple(
                f"{where}.conv{n}d(input, weight, bias, stride, padding, dilation, groups)"
                for where in ("torch.nn.functional", "torch")
            ),
            Kind.LAYER,
            "same",
        )
        for n in (1, 2, 3)
    ),
    *(
        Op(
            "conv",
            partial(functional_transposed, n),
            tuple(
                f"{where}.conv_transpose{n}d(input, weight, bias, stride, padding, output_padding, groups, dilation)"
                for where in ("torch.nn.functional", "torch")
            ),
            Kind.LAYER,
            "same",
        )
        for n in (1, 2, 3)
    ),
    Op("unfold", unfold, ("torch.nn.functional.unfold(input, kernel_size, dilation, padding, stride)",), dtype="same"),
    Op(
        "unfold",
        unfold,
        ("torch.nn.Unfold(kernel_size, dilation, padding, stride)",),
        Kind.LAYER,
        "same",
        inputs="input",
    ),
    Op(
        "fold",
        fold,
        ("torch.nn.functional.fold(input, output_size, kernel_size, dilation, padding, stride)",),
        dtype="same",
    ),
    Op(
        "fold",
        fold,
        ("torch.nn.Fold(output_size, kernel_size, dilation, padding, stride)",),
        Kind.LAYER,
        "same",
        inputs="input",
    ),
)
