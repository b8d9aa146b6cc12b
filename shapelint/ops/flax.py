"""Layers of flax, equinox and haiku. Channels are the last axis in flax and haiku; equinox has no batch axis."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from shapelint.domain.dims import as_dim
from shapelint.domain.values import NONE, Axis, Const, Int, Shape, Tuple, Value
from shapelint.events import Kind
from shapelint.ops.convolutions import conv, windows
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
from shapelint.ops.layers import embedding, linear, same
from shapelint.ops.op import Op, Result, Unknowable, integer, is_none, tensor
from shapelint.ops.runs import ends, joined

LAST = Int(as_dim(-1))
SAME = Const("SAME")
VALID = Const("VALID")


def dense_general(x: Value, features: Value, dim: Value = LAST) -> Shape:
    """(…, in) -> (…, *features)"""
    if integer(dim) != -1:
        raise Unknowable("other axes")
    _, lead, _ = ends(tensor(x).shape, 0, 1)
    wanted = features.items if isinstance(features, Tuple) else (features,)
    return joined((), lead, tuple(map(channels, wanted)))


def conv_last(
    x: Value,
    features: Value,
    kernel_size: Value,
    in_features: Value = NONE,
    strides: Value = ONE_INT,
    padding: Value = SAME,
    kernel_dilation: Value = ONE_INT,
) -> Shape:
    """(…, h, w, in) -> (…, h', w', out); the number of spatial axes is the kernel's."""
    count = _count(kernel_size)
    _, lead, (*axes, channel) = ends(tensor(x).shape, 0, count + 1)
    expect(channel, in_features, "Conv expects {} features", "the input's last axis")
    strides = ONE_INT if is_none(strides) else strides
    return joined((), lead, (*_slid(axes, kernel_size, strides, padding, kernel_dilation), channels(features)))


def _count(kernel_size: Value) -> int:
    match kernel_size:
        case Tuple(items=items):
            return len(items)
        case Int():
            return 1
    raise Unknowable("number of spatial axes not known")


def _slid(axes: Sequence[Axis], kernel: Value, strides: Value, padding: Value, dilation: Value) -> tuple[Axis, ...]:
    count = len(axes)
    try:
        kernels, steps, gaps = (per_axis(option, count) for option in (kernel, strides, dilation))
        match padding:
            case Const(value="SAME" | "CIRCULAR"):
                return tuple(made(floor_divide(axis.size + s - 1, s)) for axis, s in zip(axes, steps))
            case Const(value="VALID"):
                padding = ZERO_INT
        paddings = per_axis(padding, count)
    except Unknowable:
        return tuple(unknown_axis() for _ in axes)
    return tuple(
        made(positive(windows(axis.size, k, s, p, d), "the convolution", axis))
        for axis, k, s, p, d in zip(axes, kernels, steps, paddings, gaps)
    )


def pool_last(x: Value, window_shape: Value, strides: Value = NONE, padding: Value = VALID) -> Shape:
    """(n, h, w, c) -> (n, h', w', c)"""
    count = _count(window_shape)
    _, lead, (*axes, channel) = ends(tensor(x).shape, 0, count + 1)
    steps = ONE_INT if is_none(strides) else strides
    return joined((), lead, (*_slid(axes, window_shape, steps, padding, ONE_INT), channel))


def haiku_conv(
    count: int,
    x: Value,
    output_channels: Value,
    kernel_shape: Value,
    stride: Value = ONE_INT,
    rate: Value = ONE_INT,
    padding: Value = SAME,
    data_format: Value = NONE,
) -> Shape:
    """(n, h, w, in) -> (n, h', w', out)"""
    if not is_none(data_format) and data_format not in (Const("NHWC"), Const("NWC")):
        raise Unknowable("channels elsewhere")
    _, lead, axes = ends(tensor(x).shape, 0, count + 1)
    return joined((), lead, (*_slid(axes[:-1], kernel_shape, stride, padding, rate), channels(output_channels)))


def normed(x: Value, num_features: Value = NONE) -> Shape:
    """(…, c) -> (…, c)"""
    shape = tensor(x).shape
    if not is_none(num_features):
        _, _, (last,) = ends(shape, 0, 1)
        expect(last, num_features, "the norm expects {} features", "the input's last axis")
    return shape


def attention_last(x: Value, out_features: Value = NONE) -> Shape:
    """query (…, t, d) -> (…, t, out), the query's own width by default."""
    shape = tensor(x).shape
    if is_none(out_features):
        return shape
    _, lead, _ = ends(shape, 0, 1)
    return joined((), lead, (channels(out_features),))


def vector_linear(x: Value, out_features: Value, in_features: Value = NONE) -> Shape:
    """(in,) -> (out,); "scalar" stands for no axis."""
    shape = tensor(x).shape
    if in_features != Const("scalar"):
        expect_rank(shape, (1,), "an equinox layer")
        _, _, (last,) = ends(shape, 0, 1)
        expect(last, in_features, "Linear expects {} features", "the input's axis")
    return Shape() if out_features == Const("scalar") else Shape((channels(out_features),))


def vector_embedding(x: Value, embedding_size: Value) -> Shape:
    """() -> (d,)"""
    expect_rank(tensor(x).shape, (0,), "an equinox Embedding")
    return Shape((channels(embedding_size),))


def vector_cell(name: str, x: Value, hidden_size: Value) -> Result:
    """(in,) -> (hidden,); an LSTM cell gives a pair."""
    state = Shape((channels(hidden_size),))
    return (state, state) if name == "LSTMCell" else state


def layer(
    name: str, shape: object, *spellings: str, inputs: str = "inputs: x, *rest: rest", dtype: str = "float"
) -> Op:
    return Op(name, shape, spellings, Kind.LAYER, dtype, inputs=inputs)  # type: ignore[arg-type]


LINEN, NNX, EQX, HAIKU = "flax.linen", "flax.nnx", "equinox.nn", "haiku"
CONV = "kernel_size, strides, padding, input_dilation, kernel_dilation, feature_group_count"

OPS: tuple[Op, ...] = (
    layer("linear", linear, f"{LINEN}.Dense(features: out_features, use_bias, dtype, param_dtype)"),
    layer("linear", linear, f"{NNX}.Linear(in_features, out_features, *, use_bias, dtype, param_dtype, rngs)"),
    layer("linear", linear, f"{HAIKU}.Linear(output_size: out_features, with_bias)"),
    layer("linear", dense_general, f"{LINEN}.DenseGeneral(features, axis, batch_dims, use_bias)"),
    layer("conv", conv_last, f"{LINEN}.Conv(features, {CONV})"),
    layer("conv", conv_last, f"{NNX}.Conv(in_features, out_features: features, {CONV})"),
    *(
        layer(
            "conv",
            partial(haiku_conv, n),
            f"{HAIKU}.Conv{n}D(output_channels, kernel_shape, stride, rate, padding, with_bias)",
        )
        for n in (1, 2, 3)
    ),
    layer("embedding", embedding, f"{LINEN}.Embed(num_embeddings, features: embedding_dim)"),
    layer("embedding", embedding, f"{NNX}.Embed(num_embeddings, features: embedding_dim, *, rngs)"),
    *(
        layer(
            name,
            normed,
            f"{LINEN}.{flax_name}()",
            f"{NNX}.{flax_name}(num_features, *, rngs)",
            f"{HAIKU}.{flax_name}()",
        )
        for name, flax_name in {
            "layer_norm": "LayerNorm",
            "batch_norm": "BatchNorm",
            "rms_norm": "RMSNorm",
            "group_norm": "GroupNorm",
        }.items()
    ),
    layer("dropout", same, f"{LINEN}.Dropout(rate)", f"{NNX}.Dropout(rate, *, rngs)", f"{EQX}.Dropout(p, inference)"),
    layer(
        "attention",
        attention_last,
        *(
            f"{LINEN}.{name}(num_heads, dtype, param_dtype, qkv_features, out_features)"
            for name in ("MultiHeadDotProductAttention", "MultiHeadAttention", "SelfAttention")
        ),
    ),
    Op(
        "pool",
        pool_last,
        tuple(
            f"{home}.{name}(inputs: x, window_shape, strides, padding)"
            for home in (LINEN, NNX)
            for name in ("max_pool", "avg_pool", "min_pool")
        ),
        Kind.LAYER,
        "same",
    ),
    layer(
        "linear", vector_linear, f"{EQX}.Linear(in_features, out_features, use_bias, dtype)", inputs="x, *rest: rest"
    ),
    layer(
        "mlp",
        vector_linear,
        f"{EQX}.MLP(in_size: in_features, out_size: out_features, width_size, depth, activation)",
        inputs="x, *rest: rest",
    ),
    *(
        layer(
            "conv",
            partial(conv, n),
            f"{EQX}.Conv{n}d(in_channels, out_channels, kernel_size, stride, padding, dilation, groups)",
            inputs="x, *rest: rest",
        )
        for n in (1, 2, 3)
    ),
    layer("embedding", vector_embedding, f"{EQX}.Embedding(num_embeddings, embedding_size)", inputs="x, *rest: rest"),
    layer("layer_norm", same, f"{EQX}.LayerNorm(shape)", f"{EQX}.RMSNorm(shape)", inputs="x, *rest: rest"),
    *(
        layer("rnn_cell", partial(vector_cell, name), f"{EQX}.{name}(input_size, hidden_size)", inputs="input, hidden")
        for name in ("GRUCell", "LSTMCell")
    ),
)

ALIASES = {
    f"flax.linen.{module}.{name}": f"flax.linen.{name}"
    for module, names in {
        "linear": ("Dense", "DenseGeneral", "Conv", "Embed"),
        "normalization": ("LayerNorm", "BatchNorm", "RMSNorm", "GroupNorm"),
        "stochastic": ("Dropout",),
        "attention": ("MultiHeadDotProductAttention", "MultiHeadAttention", "SelfAttention"),
        "pooling": ("max_pool", "avg_pool", "min_pool"),
    }.items()
    for name in names
}
