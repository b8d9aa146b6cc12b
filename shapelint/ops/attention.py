"""Attention and transformer layers: the query's axes are kept."""

from __future__ import annotations

from shapelint.domain.dims import Dim
from shapelint.domain.values import FALSE, NONE, TRUE, Axis, Shape, Value
from shapelint.events import Kind
from shapelint.ops.layer_axes import expect, expect_rank, made
from shapelint.ops.op import Op, Result, Unknowable, flag, size_or_any, tensor
from shapelint.ops.runs import ends, joined


def attention(
    x: Value,
    key: Value,
    embed_dim: Value,
    num_heads: Value = NONE,
    batch_first: Value = FALSE,
    need_weights: Value = TRUE,
    average_attn_weights: Value = TRUE,
    add_bias_kv: Value = FALSE,
    add_zero_attn: Value = FALSE,
) -> Result:
    """query (l, n, e), key (s, n, e) -> (l, n, e) and weights (n, l, s), or None; n first where `batch_first`."""
    shape = tensor(x).shape
    expect_rank(shape, (2, 3), "MultiheadAttention")
    _, lead, (last,) = ends(shape, 0, 1)
    expect(last, embed_dim, "MultiheadAttention expects {} features", "the query's last axis")
    output = joined((), lead, (made(size_or_any(embed_dim)),))
    if not flag(need_weights):
        return (output, NONE)
    return (
        output,
        _weights(
            shape,
            tensor(key).shape,
            num_heads,
            batch_first,
            average_attn_weights,
            int(flag(add_bias_kv)) + int(flag(add_zero_attn)),
        ),
    )


def _weights(query: Shape, key: Shape, heads: Value, batch_first: Value, average: Value, extra: int) -> Shape:
    if query.rank is None or key.rank is None:
        raise Unknowable("rank not known")
    first = flag(batch_first)
    batch = () if query.rank == 2 else (query.head[0] if first else query.head[1],)
    place = 1 if query.rank == 3 and first else 0
    source: Dim = key.head[place].size + extra
    by_head = () if flag(average) else (Axis(size_or_any(heads)),)
    return Shape((*batch, *by_head, query.head[place], Axis(source) if extra else key.head[place]))


def transformer_layer(x: Value, d_model: Value = NONE) -> Shape:
    """(l, n, d) -> the same"""
    shape = tensor(x).shape
    expect_rank(shape, (2, 3), "a transformer layer")
    _, _, (last,) = ends(shape, 0, 1)
    expect(last, d_model, "the transformer layer expects {} features", "the input's last axis")
    return shape


def stack(x: Value) -> Shape:
    """(l, n, d) -> the same"""
    shape = tensor(x).shape
    expect_rank(shape, (2, 3), "a transformer")
    return shape


def transformer(x: Value, target: Value) -> Shape:
    """(s, n, d), (t, n, d) -> (t, n, d)"""
    return stack(target)


LAYER_ARGUMENTS = (
    "d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device, dtype"
)
MASKS = "tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal, memory_is_causal"

OPS: tuple[Op, ...] = (
    Op(
        "attention",
        attention,
        (
            "torch.nn.MultiheadAttention(embed_dim, num_heads, dropout, bias, add_bias_kv, add_zero_attn, kdim, vdim,"
            " batch_first, device, dtype)",
        ),
        Kind.LAYER,
        "same",
        inputs="query: x, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal",
    ),
    Op(
        "transformer",
        transformer_layer,
        (f"torch.nn.TransformerEncoderLayer({LAYER_ARGUMENTS})",),
        Kind.LAYER,
        "same",
        inputs="src: x, src_mask, src_key_padding_mask, is_causal",
    ),
    Op(
        "transformer",
        transformer_layer,
        (f"torch.nn.TransformerDecoderLayer({LAYER_ARGUMENTS})",),
        Kind.LAYER,
        "same",
        inputs=f"tgt: x, memory, {MASKS}",
    ),
    Op(
        "transformer",
        stack,
        ("torch.nn.TransformerEncoder(encoder_layer, num_layers, norm, enable_nested_tensor, mask_check)",),
        Kind.LAYER,
        "same",
        inputs="src: x, mask, src_key_padding_mask, is_causal",
    ),
    Op(
        "transformer",
        stack,
        ("torch.nn.TransformerDecoder(decoder_layer, num_layers, norm)",),
        Kind.LAYER,
        "same",
        inputs=f"tgt: x, memory, {MASKS}",
    ),
    Op(
        "transformer",
        transformer,
        (
            "torch.nn.Transformer(d_model, nhead, num_encoder_layers, num_decoder_layers, dim_feedforward, dropout,"
            " activation, custom_encoder, custom_decoder, layer_norm_eps, batch_first, norm_first, bias, device)",
        ),
        Kind.LAYER,
        "same",
        inputs="src: x, tgt: target",
    ),
)
