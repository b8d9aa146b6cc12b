"""Attention and transformer layers: their weights, which stand in submodules, and the products inside of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import prod

from shapelint.domain.values import FALSE, NONE, TRUE, Layer, Tensor, Value

Shapes = dict[str, tuple[int, ...]]
Number = Callable[..., int]

LAYERS = {"TransformerEncoder": "encoder_layer", "TransformerDecoder": "decoder_layer"}


def attention_weights(config: Mapping[str, Value], number: Number, bias: bool) -> Shapes:
    """Of nn.MultiheadAttention. Raises LookupError where keys or values have a width of their own."""
    width = number("embed_dim")
    if any(config.get(name, NONE) not in (NONE, FALSE) for name in ("kdim", "vdim", "add_bias_kv")):
        raise LookupError("kdim")
    shapes = {"in_proj_weight": (3 * width, width), "out_proj.weight": (width, width)}
    return shapes | ({"in_proj_bias": (3 * width,), "out_proj.bias": (width,)} if bias else {})


def layer_weights(number: Number, is_decoder: bool, bias: bool) -> Shapes:
    """Of one layer: one attention and two norms, in a decoder one more of each, and two linear layers."""
    width, inner = number("d_model", 512), number("dim_feedforward", 2048)
    attentions, norms = (("self_attn", "multihead_attn"), 3) if is_decoder else (("self_attn",), 2)
    shapes: Shapes = {"linear1.weight": (inner, width), "linear2.weight": (width, inner)}
    for name in attentions:
        shapes |= {f"{name}.in_proj_weight": (3 * width, width), f"{name}.out_proj.weight": (width, width)}
    shapes |= {f"norm{place}.weight": (width,) for place in range(1, norms + 1)}
    if bias:
        shapes |= {f"{name.removesuffix('weight')}bias": sizes[:1] for name, sizes in shapes.items()}
    return shapes


def stack_weights(
    kind: str, config: Mapping[str, Value], number: Number, shapes_of: Callable[[Layer], Shapes]
) -> Shapes:
    """Of nn.TransformerEncoder and nn.TransformerDecoder: copies of one layer, and a norm if there is one."""
    return {
        f"{path}.{name}": shape
        for path, layer in _parts(kind, config, number)
        for name, shape in shapes_of(layer).items()
    }


def _parts(kind: str, config: Mapping[str, Value], number: Number) -> Iterator[tuple[str, Layer]]:
    layer, norm = config.get(LAYERS[kind]), config.get("norm", NONE)
    if not isinstance(layer, Layer) or not (norm == NONE or isinstance(norm, Layer)):
        raise LookupError(kind)
    yield from ((f"layers.{place}", layer) for place in range(number("num_layers")))
    if isinstance(norm, Layer):
        yield "norm", norm


def whole_weights(config: Mapping[str, Value], number: Number, bias: bool) -> Shapes:
    """Of nn.Transformer: both stacks, each with a norm at its end."""
    if any(config.get(name, NONE) != NONE for name in ("custom_encoder", "custom_decoder")):
        raise LookupError("custom_encoder")
    width = number("d_model", 512)
    norm = {"norm.weight": (width,), **({"norm.bias": (width,)} if bias else {})}
    shapes: Shapes = {}
    for name, is_decoder in (("encoder", False), ("decoder", True)):
        layer = layer_weights(number, is_decoder, bias)
        shapes |= {
            f"{name}.layers.{place}.{part}": shape
            for place in range(number(f"num_{name}_layers", 6))
            for part, shape in layer.items()
        }
        shapes |= {f"{name}.{part}": shape for part, shape in norm.items()}
    return shapes


def flops(layer: Layer, weights: Shapes, arguments: Mapping[str, Value]) -> int | None:
    """Two for each multiplication and addition of a forward pass; None where a size is not known.

    Each weight meets each token once, and in an attention each token of the query meets each one of the keys.
    """
    kind = layer.name.rpartition(".")[2]
    x, key, memory, target = (
        _tokens(arguments.get(name), _is_batch_first(layer)) for name in ("x", "key", "memory", "target")
    )
    match kind:
        case "MultiheadAttention":
            inputs = {"": (x, key)}
        case "Transformer":
            inputs = {"encoder.": (x, x), "decoder.": (target, x)}
        case _:
            inputs = {"": (x, memory if "Decoder" in kind else x)}
    if any(tokens is None for pair in inputs.values() for tokens in pair):
        return None
    return sum(
        _flops(name, shape, query, source if "multihead_attn" in name or kind == "MultiheadAttention" else query)
        for name, shape in weights.items()
        for stack, (query, source) in inputs.items()
        if name.startswith(stack) and len(shape) == 2 and query is not None and source is not None
    )


def _flops(name: str, weight: tuple[int, ...], query: tuple[int, int], keys: tuple[int, int]) -> int:
    """Of one weight on (samples, tokens): the projections of an attention bring its two products of tables along."""
    width, count = weight[1], prod(query)
    if name.endswith("in_proj_weight"):
        return 2 * width * width * (count + 2 * prod(keys)) + 4 * count * keys[1] * width
    return 2 * count * prod(weight)


def _is_batch_first(layer: Layer) -> bool:
    inner = next((layer.config[name] for name in LAYERS.values() if name in layer.config), layer)
    return isinstance(inner, Layer) and inner.config.get("batch_first") == TRUE


def _tokens(value: Value | None, is_batch_first: bool) -> tuple[int, int] | None:
    """How many samples a tensor has, and how many tokens each of them."""
    sizes = [axis.value for axis in value.shape.sizes] if isinstance(value, Tensor) and value.shape.rank else []
    match sizes:
        case [int(length), _]:
            return 1, length
        case [int(first), int(second), _]:
            return (first, second) if is_batch_first else (second, first)
    return None
