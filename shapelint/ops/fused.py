"""torch's ops that are several in one, and those that only its own code calls."""

from __future__ import annotations

from collections.abc import Mapping

from shapelint.domain.shapes import never_equal
from shapelint.domain.values import FALSE, NONE, TRUE, Axis, Int, Shape, Tensor, Tuple, Value
from shapelint.events import Kind
from shapelint.ops.broadcasting import broadcast_all
from shapelint.ops.contractions import matmul
from shapelint.ops.dtypes import is_inexact
from shapelint.ops.layers import bilinear, embedding_bag
from shapelint.ops.layout import matrices
from shapelint.ops.losses import MEAN, cross_entropy
from shapelint.ops.op import Op, Result, ShapeError, Unknowable, flag, is_none, size_or_any, sizes, tensor
from shapelint.ops.pooling import channel_shuffle
from shapelint.ops.runs import ends, with_rank

NO_MORE = Tuple(())


def linear_cross_entropy(x: Value, weight: Value, target: Value, reduction: Value = MEAN) -> Shape:
    """(n, in), (classes, …, in), class indices (n, …) -> ()"""
    _, lead, (features,) = ends(tensor(x).shape, 0, 1)
    _, classes, (expected,) = ends(tensor(weight).shape, 0, 1)
    if never_equal(features.size, expected.size):
        raise ShapeError(f"the weights {tensor(weight)} expect {expected} features, the input is {tensor(x)}")
    if lead.rank is None or classes.rank is None:
        raise Unknowable("rank not known")
    return cross_entropy(Tensor(Shape(lead.head + classes.head)), target, reduction)


def linear_cross_entropy_layer(
    x: Value,
    target: Value,
    in_features: Value,
    num_classes: Value,
    out_features: Value = NO_MORE,
    reduction: Value = MEAN,
) -> Shape:
    """(n, in), class indices (n, *out) -> ()"""
    further = sizes(out_features)
    if further.run is not None:
        raise Unknowable("rank not known")
    weight = Shape((Axis(size_or_any(num_classes)), *further.head, Axis(size_or_any(in_features))))
    return linear_cross_entropy(x, Tensor(weight), target, reduction)


def functional_bilinear(x: Value, y: Value, weight: Value) -> Shape:
    """(…, a), (…, b), (out, a, b) -> (…, out)"""
    out, a, b = with_rank(tensor(weight).shape, 3).axes
    return bilinear(x, y, Int(out.size), Int(a.size), Int(b.size))


def functional_embedding_bag(
    x: Value, weight: Value, offsets: Value = NONE, include_last_offset: Value = FALSE
) -> Shape:
    """(n, l), (v, d) -> (n, d); torch still takes the table first."""
    if is_inexact(tensor(weight).dtype) is False and is_inexact(tensor(x).dtype):
        x, weight = weight, x
    _, (_, width) = matrices(tensor(weight).shape)
    return embedding_bag(x, Int(width.size), offsets, include_last_offset)


def added_outer(x: Value, y: Value, z: Value) -> Shape:
    """addr: (n,), (m,) -> (n, m), to which x stretches."""
    (n,), (m,) = (with_rank(tensor(v).shape, 1).axes for v in (y, z))
    return broadcast_all(Shape((n, m)), tensor(x).shape)


def added_batch(x: Value, y: Value, z: Value) -> Shape:
    """addbmm: (b, n, k), (b, k, m) -> (n, m), to which x stretches."""
    _, n, _ = with_rank(tensor(y).shape, 3).axes
    _, _, m = with_rank(tensor(z).shape, 3).axes
    return broadcast_all(Shape((n, m)), tensor(x).shape)


def multi_head_attention(
    x: Value,
    key: Value,
    need_weights: Value = TRUE,
    average_attn_weights: Value = TRUE,
    num_heads: Value = NONE,
    bias_k: Value = NONE,
    add_zero_attn: Value = FALSE,
    static_k: Value = NONE,
) -> Result:
    """(l, n, e), (s, n, e) -> (l, n, e), and weights (n, l, s) where they are asked for."""
    shape, other = tensor(x).shape, tensor(key).shape
    if not flag(need_weights):
        return (shape, NONE)
    if shape.rank not in {2, 3} or shape.rank != other.rank or not is_none(static_k):
        raise Unknowable("weights of unknown length")
    length, source = shape.head[0], other.head[0]
    extra = int(flag(add_zero_attn)) + int(not is_none(bias_k))
    weights = (length, Axis(source.size + extra) if extra else source)
    if not flag(average_attn_weights):
        if not isinstance(num_heads, Int):
            raise Unknowable("number of heads")
        weights = (Axis(num_heads.dim), *weights)  # type: ignore[assignment]
    return (shape, Shape((*shape.head[1:-1], *weights)))


def unchanged(x: Value) -> Shape:
    return tensor(x).shape


def reflected_matmul(x: Value, y: Value) -> Result:
    """x.__rmatmul__(y) is y @ x."""
    return matmul(y, x)


def of_weight(bound: Mapping[str, Value], library: str | None) -> str | None:
    """That of the table."""
    table = tensor(bound["weight"]).dtype
    return table if is_inexact(table) is not False else tensor(bound["x"]).dtype


F = "torch.nn.functional"
REFLECTED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
PLAIN = {"and": "and_", "or": "or_"}

# x.__radd__(y), x.__add__(y): the operator, whose shape does not depend on the order.
ALIASES = {
    **{f"torch.Tensor.__{r}{name}__": f"operator.{PLAIN.get(name, name)}" for name in REFLECTED for r in ("", "r")},
    **{f"torch.Tensor.__{name}__": f"operator.{name}" for name in ("eq", "ne", "lt", "le", "gt", "ge", "matmul")},
    "torch.Tensor.__rdiv__": "operator.truediv",
    "torch.constant_pad_nd": f"{F}.pad",
    "torch.Tensor.__getitem__": "operator.getitem",
    "torch.functional.einsum": "torch.einsum",
    "torch.zero_": "torch.Tensor.zero_",
    "torch.grid_sampler_2d": f"{F}.grid_sample",
    "torch.grid_sampler_3d": f"{F}.grid_sample",
}


def _op(name: str, function: object, *spellings: str, kind: Kind = Kind.OTHER, dtype: str = "same") -> Op:
    return Op(name, function, spellings, kind, dtype)  # type: ignore[arg-type]


OPS: tuple[Op, ...] = (
    _op(
        "cross_entropy",
        linear_cross_entropy,
        f"{F}.linear_cross_entropy(input, linear_weight: weight, target, *, linear_bias, weight: balance, reduction, "
        "ignore_index, label_smoothing)",
        kind=Kind.LOSS,
    ),
    Op(
        "linear_cross_entropy",
        linear_cross_entropy_layer,
        (
            "torch.nn.LinearCrossEntropyLoss(in_features, num_classes, *, out_features, bias, device, dtype, "
            "reduction, weight, ignore_index, label_smoothing, options)",
        ),
        Kind.LOSS,
        "same",
        inputs="input, target",
    ),
    _op("bilinear", functional_bilinear, f"{F}.bilinear(input1: x, input2: y, weight, bias)"),
    Op(
        "embedding_bag",
        functional_embedding_bag,
        (
            f"{F}.embedding_bag(input, weight, offsets, max_norm, norm_type, scale_grad_by_freq, mode, sparse, "
            "per_sample_weights, include_last_offset, padding_idx)",
        ),
        dtype=of_weight,
    ),
    _op("addr", added_outer, "torch.addr(input, vec1: y, vec2: z, *, beta, alpha)", dtype="promote"),
    _op("addbmm", added_batch, "torch.addbmm(input, batch1: y, batch2: z, *, beta, alpha)", dtype="promote"),
    _op(
        "attention",
        multi_head_attention,
        f"{F}.multi_head_attention_forward(query: x, key, value, embed_dim_to_check, num_heads, in_proj_weight, "
        "in_proj_bias, bias_k, bias_v, add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training, "
        "key_padding_mask, need_weights, attn_mask, use_separate_proj_weight, q_proj_weight, k_proj_weight, "
        "v_proj_weight, static_k, static_v, average_attn_weights, is_causal)",
    ),
    _op(
        "channel_shuffle",
        channel_shuffle,
        f"{F}.channel_shuffle(input, groups)",
        "torch.channel_shuffle(input, groups)",
    ),
    _op("matmul", reflected_matmul, "torch.Tensor.__rmatmul__(self, other)", kind=Kind.CONTRACTION, dtype="promote"),
    _op(
        "max_pool2d",
        unchanged,
        "torch.ops.aten.max_pool2d_with_indices_backward.default(grad_output, self, kernel_size, stride, padding, "
        "dilation, ceil_mode, indices)",
    ),
    _op("softmax", unchanged, "torch.ops.aten._safe_softmax.default(input, dim, dtype)", dtype="float"),
)
