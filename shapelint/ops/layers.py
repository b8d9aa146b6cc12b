"""Layers that work on the last axis, on one channel axis, or on each element: nn.Linear, norms, activations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from shapelint.domain.dims import as_dim
from shapelint.domain.shapes import line_up, never_equal
from shapelint.domain.values import FALSE, NONE, TRUE, Axis, Int, Layer, Shape, Value
from shapelint.events import Kind
from shapelint.ops.dtypes import result_dtype
from shapelint.ops.elementwise import glu
from shapelint.ops.layer_axes import ONE_INT, channels, expect, expect_rank
from shapelint.ops.normalisation import along
from shapelint.ops.op import (
    DtypeRule,
    GraphEffect,
    Op,
    ShapeError,
    Unknowable,
    axis_index,
    dimension,
    dimensions,
    flag,
    integer,
    size_or_any,
    sizes,
    tensor,
)
from shapelint.ops.reshaping import flatten, unflatten
from shapelint.ops.runs import ends, joined, with_rank

LAST = Int(as_dim(-1))


def linear(x: Value, out_features: Value, in_features: Value = NONE) -> Shape:
    """(…, in) -> (…, out)"""
    _, lead, (last,) = ends(tensor(x).shape, 0, 1)
    expect(last, in_features, "Linear expects {} features", "the input's last axis")
    return joined((), lead, (channels(out_features),))


def functional_linear(x: Value, weight: Value) -> Shape:
    """(…, in), (out, in) -> (…, out); a weight (in,) gives (…)"""
    matrix = tensor(weight).shape
    if matrix.rank is None:
        raise Unknowable("rank not known")
    expect_rank(matrix, (1, 2), "linear's weight")
    shape = linear(x, Int(matrix.head[0].size), Int(matrix.head[-1].size))
    return shape if matrix.rank == 2 else ends(shape, 0, 1)[1]


def bilinear(x: Value, y: Value, out_features: Value, in1_features: Value = NONE, in2_features: Value = NONE) -> Shape:
    """(…, a), (…, b) -> (…, out)"""
    _, lead, (last,) = ends(tensor(x).shape, 0, 1)
    _, _, (other,) = ends(tensor(y).shape, 0, 1)
    expect(last, in1_features, "Bilinear expects {} features", "the first input's last axis")
    expect(other, in2_features, "Bilinear expects {} features", "the second input's last axis")
    return joined((), lead, (channels(out_features),))


def same(x: Value) -> Shape:
    return tensor(x).shape


def prelu(x: Value, num_parameters: Value = ONE_INT) -> Shape:
    """(n, c, …) -> (n, c, …), one slope for all or one each channel."""
    shape = tensor(x).shape
    known = num_parameters if num_parameters != ONE_INT else NONE
    if shape.rank is not None and shape.rank > 1:
        expect(shape.head[1], known, "PReLU has {} slopes", "the input's channel axis")
    return shape


def embedding(x: Value, embedding_dim: Value) -> Shape:
    """(…) of indices -> (…, d)"""
    return joined((), tensor(x).shape, (channels(embedding_dim),))


def functional_embedding(x: Value, weight: Value) -> Shape:
    """(…), (v, d) -> (…, d)"""
    _, _, (_, last) = ends(tensor(weight).shape, 0, 2)
    return joined((), tensor(x).shape, (last,))


def pretrained(embeddings: Value) -> Layer:
    """nn.Embedding.from_pretrained: a frozen layer with the table's sizes."""
    _, _, (count, width) = ends(tensor(embeddings).shape, 0, 2)
    return Layer("torch.nn.Embedding", {"num_embeddings": Int(count.size), "embedding_dim": Int(width.size)})


def embedding_bag(x: Value, embedding_dim: Value, offsets: Value = NONE, include_last_offset: Value = FALSE) -> Shape:
    """(n, l) -> (n, d), or (l,) with (n,) offsets -> (n, d)"""
    shape = tensor(x).shape
    if shape.rank is None:
        raise Unknowable("rank not known")
    if shape.rank == 2:
        return Shape((shape.head[0], channels(embedding_dim)))
    _, _, (bags,) = ends(tensor(offsets).shape, 0, 1)
    return Shape((Axis(bags.size - int(flag(include_last_offset))), channels(embedding_dim)))


def one_hot(x: Value, num_classes: Value = LAST) -> Shape:
    """(…) of classes -> (…, num_classes)"""
    count = size_or_any(num_classes)
    axis = channels(NONE if count.value == -1 else num_classes)
    return joined((), tensor(x).shape, (Axis(axis.size),))


def batch_norm(ranks: tuple[int, ...], x: Value, num_features: Value = NONE) -> Shape:
    """(n, c, …) -> (n, c, …)"""
    shape = tensor(x).shape
    if ranks:
        expect_rank(shape, ranks, "this BatchNorm")
    if len(ranks) == 1 and shape.least_rank <= ranks[0]:
        shape = with_rank(shape, ranks[0])
    return _channelled(shape, num_features, "BatchNorm expects {} features")


def instance_norm(count: int, x: Value, num_features: Value = NONE, affine: Value = FALSE) -> Shape:
    """(n, c, …) -> (n, c, …), and the same without n."""
    shape = tensor(x).shape
    expect_rank(shape, (count + 1, count + 2), f"InstanceNorm{count}d")
    if affine == TRUE and shape.rank is not None:
        expect(shape.head[-count - 1], num_features, "InstanceNorm expects {} channels", "the input's channel axis")
    return shape


def group_norm(x: Value, num_groups: Value = NONE, num_channels: Value = NONE) -> Shape:
    """(n, c, …) -> (n, c, …)"""
    return _channelled(tensor(x).shape, num_channels, "GroupNorm expects {} channels")


def _channelled(shape: Shape, count: Value, subject: str) -> Shape:
    if shape.rank is not None and shape.rank < 2 and as_dim(0) not in shape.sizes:
        raise ShapeError(f"{shape} has no channel axis")
    channel = shape.axis(1)
    if channel is not None:
        expect(channel, count, subject, "the input's channel axis")
    return shape


def layer_norm(x: Value, normalized_shape: Value = NONE) -> Shape:
    """(…, *normalized_shape) -> the same"""
    shape = tensor(x).shape
    try:
        wanted = dimensions(normalized_shape)
    except Unknowable:
        return shape
    _, _, last = ends(shape, 0, len(wanted))
    if any(never_equal(axis.size, size) for axis, size in zip(last, wanted)):
        expected = Shape(tuple(map(Axis, wanted)))
        raise ShapeError(f"the norm is over {expected}, the input ends with {Shape(last)}")
    return shape


def local_response(bound: Mapping[str, Value], library: str | None) -> str | None:
    """A float also of whole numbers, but an array without elements is handed back."""
    empty = as_dim(0) in tensor(bound["x"]).shape.sizes
    return result_dtype("same" if empty else "float", bound, library)


def cosine_similarity(x: Value, y: Value, dim: Value = ONE_INT) -> Shape:
    """Broadcast, then without `dim`."""
    shape = _paired(x, y)
    if shape.rank is None:
        raise Unknowable("rank not known")
    return _without(shape, integer(dim))


def _paired(x: Value, y: Value) -> Shape:
    lined_up = line_up(tensor(x).shape, tensor(y).shape)
    if lined_up.conflict is not None:
        raise ShapeError(f"{tensor(x)} and {tensor(y)} do not broadcast")
    return lined_up.shape


def _without(shape: Shape, index: int) -> Shape:
    dropped = axis_index(index, shape)
    return Shape(tuple(axis for i, axis in enumerate(shape.head) if i != dropped))


def pairwise_distance(x: Value, y: Value, keepdim: Value = FALSE) -> Shape:
    """(…, d), (…, d) -> (…), or (…, 1)"""
    _, lead, _ = ends(_paired(x, y), 0, 1)
    return joined((), lead, (Axis(as_dim(1)),)) if flag(keepdim) else lead


def flatten_layer(x: Value, start_dim: Value = ONE_INT, end_dim: Value = LAST) -> Shape:
    """(n, a, b) -> (n, a * b)"""
    return flatten(x, start_dim, end_dim)


def unflatten_layer(x: Value, dim: Value, unflattened_size: Value) -> Shape:
    return unflatten(x, dim, unflattened_size)


def softmax(x: Value, dim: Value = NONE) -> Shape:
    return along(x, dim)


def softmax2d(x: Value) -> Shape:
    """Softmax over the channels of (n, c, h, w) or (c, h, w)."""
    shape = tensor(x).shape
    expect_rank(shape, (3, 4), "Softmax2d")
    return shape


ACTIVATIONS: dict[str, str] = {
    "relu": "ReLU(inplace)", "relu6": "ReLU6(inplace)", "leaky_relu": "LeakyReLU(negative_slope, inplace)",
    "elu": "ELU(alpha, inplace)", "selu": "SELU(inplace)", "celu": "CELU(alpha, inplace)", "gelu": "GELU(approximate)",
    "silu": "SiLU(inplace)", "mish": "Mish(inplace)", "softplus": "Softplus(beta, threshold)", "tanh": "Tanh()",
    "softsign": "Softsign()",
    "logsigmoid": "LogSigmoid()", "sigmoid": "Sigmoid()", "hardtanh": "Hardtanh(min_val, max_val)",
    "hardsigmoid": "Hardsigmoid(inplace)", "hardswish": "Hardswish(inplace)", "tanhshrink": "Tanhshrink()",
    "hardshrink": "Hardshrink(lambd)", "softshrink": "Softshrink(lambd)", "rrelu": "RReLU(lower, upper, inplace)",
    "threshold": "Threshold(threshold, value, inplace)", "dropout": "Dropout(p, inplace)",
}  # fmt: skip
DROPOUTS = ("Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout")
NORM = "eps, momentum, affine, track_running_stats, device, dtype"
BATCH_RANKS = {"1d": (2, 3), "2d": (4,), "3d": (5,)}
F = "torch.nn.functional"


def layer(
    name: str, shape: object, *spellings: str, inputs: str = "input", kind: Kind = Kind.LAYER, dtype: DtypeRule = "same"
) -> Op:
    names = tuple(f"torch.nn.{s}" for s in spellings)
    return Op(name, shape, names, kind, dtype, inputs=inputs)  # type: ignore[arg-type]


def function(name: str, shape: object, *spellings: str, dtype: DtypeRule = "same") -> Op:
    return Op(name, shape, tuple(f"{F}.{s}" for s in spellings), Kind.LAYER, dtype)  # type: ignore[arg-type]


OPS: tuple[Op, ...] = (
    layer(
        "linear",
        linear,
        "Linear(in_features, out_features, bias, device, dtype)",
        "LazyLinear(out_features, bias, device, dtype)",
    ),
    function("linear", functional_linear, "linear(input, weight, bias)"),
    layer(
        "bilinear",
        bilinear,
        "Bilinear(in1_features, in2_features, out_features, bias, device, dtype)",
        inputs="input1: x, input2: y",
    ),
    layer("identity", same, "Identity(*args)", kind=Kind.OTHER),
    layer("flatten", flatten_layer, "Flatten(start_dim, end_dim)", kind=Kind.RESHAPE),
    layer("unflatten", unflatten_layer, "Unflatten(dim, unflattened_size)", kind=Kind.RESHAPE),
    *(layer(name, same, spelling, kind=Kind.ELEMENTWISE) for name, spelling in ACTIVATIONS.items()),
    layer("dropout", same, *(f"{name}(p, inplace)" for name in DROPOUTS), kind=Kind.ELEMENTWISE),
    layer("glu", glu, "GLU(dim)", kind=Kind.ELEMENTWISE),
    layer("prelu", prelu, "PReLU(num_parameters, init, device, dtype)", kind=Kind.ELEMENTWISE),
    layer("softmax", softmax, "Softmax(dim)", kind=Kind.NORMALISATION),
    layer("log_softmax", softmax, "LogSoftmax(dim)", kind=Kind.NORMALISATION),
    layer("softmin", softmax, "Softmin(dim)", kind=Kind.NORMALISATION),
    layer("softmax", softmax2d, "Softmax2d()", kind=Kind.NORMALISATION),
    Op(
        "embedding",
        embedding,
        (
            "torch.nn.Embedding(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq,"
            " sparse, _weight, _freeze, device, dtype)",
        ),
        Kind.LAYER,
        "float",
        inputs="input",
    ),
    Op("from_pretrained", pretrained, ("torch.nn.Embedding.from_pretrained(embeddings, freeze)",)),
    Op("embedding", functional_embedding, (f"{F}.embedding(input, weight)",), Kind.LAYER, "float"),
    Op(
        "embedding_bag",
        embedding_bag,
        (
            "torch.nn.EmbeddingBag(num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, mode,"
            " sparse, _weight, include_last_offset, padding_idx, device, dtype)",
        ),
        Kind.LAYER,
        "float",
        inputs="input, offsets, per_sample_weights",
    ),
    Op(
        "one_hot",
        one_hot,
        (f"{F}.one_hot(input, num_classes)",),
        Kind.OTHER,
        "same",
        GraphEffect.NO_GRAPH,
    ),
    *(
        layer(
            "batch_norm", partial(batch_norm, ranks), f"BatchNorm{n}(num_features, {NORM})", f"LazyBatchNorm{n}({NORM})"
        )
        for n, ranks in BATCH_RANKS.items()
    ),
    layer("batch_norm", partial(batch_norm, ()), "SyncBatchNorm(num_features, eps, momentum, affine)"),
    *(
        layer(
            "instance_norm",
            partial(instance_norm, n),
            f"InstanceNorm{n}d(num_features, {NORM})",
            f"LazyInstanceNorm{n}d({NORM})",
        )
        for n in (1, 2, 3)
    ),
    layer("group_norm", group_norm, "GroupNorm(num_groups, num_channels, eps, affine, device, dtype)"),
    layer("layer_norm", layer_norm, "LayerNorm(normalized_shape, eps, elementwise_affine, bias, device, dtype)"),
    layer("rms_norm", layer_norm, "RMSNorm(normalized_shape, eps, elementwise_affine, device, dtype)"),
    layer(
        "local_response_norm",
        same,
        "LocalResponseNorm(size, alpha, beta, k)",
        "CrossMapLRN2d(size, alpha, beta, k)",
        dtype=local_response,
    ),
    function("layer_norm", layer_norm, "layer_norm(input, normalized_shape, weight, bias, eps)"),
    function("rms_norm", layer_norm, "rms_norm(input, normalized_shape, weight, eps)"),
    function("group_norm", group_norm, "group_norm(input, num_groups, weight, bias, eps)"),
    function(
        "batch_norm",
        partial(batch_norm, ()),
        "batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)",
    ),
    function("instance_norm", same, "instance_norm(input, running_mean, running_var, weight, bias)"),
    function("local_response_norm", same, "local_response_norm(input, size, alpha, beta, k)", dtype=local_response),
    layer("cosine_similarity", cosine_similarity, "CosineSimilarity(dim, eps)", inputs="x1: x, x2: y"),
    Op(
        "cosine_similarity",
        cosine_similarity,
        (f"{F}.cosine_similarity(x1, x2, dim, eps)", "torch.cosine_similarity(x1, x2, dim, eps)"),
        Kind.REDUCTION,
    ),
    layer(
        "pairwise_distance",
        pairwise_distance,
        "PairwiseDistance(p, eps, keepdim)",
        inputs="x1: x, x2: y",
        dtype="floats",
    ),
    Op(
        "pairwise_distance",
        pairwise_distance,
        (f"{F}.pairwise_distance(x1, x2, p, eps, keepdim)", "torch.pairwise_distance(x1, x2, p, eps, keepdim)"),
        Kind.REDUCTION,
        "floats",
    ),
)


def weights(name: str, config: dict[str, Value]) -> dict[str, Shape]:
    """weight and bias of the layers above, by op name."""

    def size(key: str) -> Axis:
        return Axis(size_or_any(config.get(key, NONE)))

    match name:
        case "linear":
            out = size("out_features")
            return {"weight": Shape((out, size("in_features"))), "bias": Shape((out,))}
        case "bilinear":
            out = size("out_features")
            return {"weight": Shape((out, size("in1_features"), size("in2_features"))), "bias": Shape((out,))}
        case "embedding" | "embedding_bag":
            return {"weight": Shape((size("num_embeddings"), size("embedding_dim")))}
        case "batch_norm" | "instance_norm":
            per_channel = Shape((size("num_features"),))
            return dict.fromkeys(("weight", "bias", "running_mean", "running_var"), per_channel)
        case "group_norm":
            return dict.fromkeys(("weight", "bias"), Shape((size("num_channels"),)))
        case "layer_norm":
            return dict.fromkeys(("weight", "bias"), sizes(config["normalized_shape"]))
        case "rms_norm":
            return {"weight": sizes(config["normalized_shape"])}
        case "prelu":
            return {"weight": Shape((Axis(dimension(config.get("num_parameters", ONE_INT))),))}
    return {}
