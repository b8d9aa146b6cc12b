"""The parameters and buffers of a module: what each submodule holds, shared ones counted once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from shapelint.budget import transformers
from shapelint.domain.values import (
    FALSE,
    TRUE,
    Dict,
    GraphState,
    Instance,
    Int,
    Layer,
    Many,
    Tensor,
    Tuple,
    Value,
    maker_of,
)
from shapelint.events import Event, Written


@dataclass(frozen=True)
class Weight:
    """A parameter or buffer: where it stands first, its shape, and whether it trains."""

    path: str
    shape: tuple[int, ...]
    is_trained: bool = True

    @property
    def count(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class Weights:
    """All weights, each once, and the layers whose weights are not known."""

    known: tuple[Weight, ...]
    unknown: tuple[str, ...]

    @property
    def parameters(self) -> int:
        return sum(weight.count for weight in self.known if weight.is_trained)


def weights(module: Instance, construction: Sequence[Event]) -> Weights:
    """Everything that parameters() and buffers() of the built module would give."""
    tied = {(id(e.owner), e.attribute): e.value for e in construction if isinstance(e, Written)}
    seen: set[object] = set()
    known: list[Weight] = []
    unknown: list[str] = []
    for path, name, key, shape, is_trained in _walk("", module, set()):
        key = _source(tied, *key) if isinstance(key, tuple) else key
        if key in seen:
            continue
        seen.add(key)
        if shape is None:
            unknown.append(path)
        else:
            known.append(Weight(f"{path}.{name}".strip("."), shape, is_trained))
    return Weights(tuple(known), tuple(unknown))


def _source(tied: Mapping[tuple[int, str], Value], layer: int, name: str) -> tuple[int, str]:
    """`head.weight = embedding.weight`: both are the embedding's."""
    value = tied.get((layer, name))
    origins = value.graph.origins if isinstance(value, Tensor) else frozenset()
    layers = [origin for origin in origins if isinstance(origin, Layer)]
    return (id(layers[0]), "weight") if len(layers) == 1 else (layer, name)


Found = tuple[str, str, object, tuple[int, ...] | None, bool]


def _walk(path: str, value: Value, around: set[int]) -> Iterator[Found]:
    match value:
        case Instance(attributes=attributes) if id(value) not in around:
            for name, part in attributes.items():
                if isinstance(part, Tensor):
                    yield from _tensor(path, name, part)
                else:
                    yield from _walk(f"{path}.{name}".strip("."), part, around | {id(value)})
        case Layer():
            table = of_layer(value)
            if table is None and value.name.startswith("torch.nn."):
                yield path, "", (id(value), ""), None, True
            for name, (shape, is_trained) in (table or {}).items():
                yield path, name, (id(value), name), shape, is_trained
        case Tuple(items=items, kind="Sequential" | "ModuleList"):
            for index, item in enumerate(items):
                yield from _walk(f"{path}.{index}", item, around)
        case Many(kind="Sequential" | "ModuleList"):
            yield path, "", id(value), None, True
        case Dict(items=pairs, kind="ModuleDict"):
            for key, item in pairs:
                yield from _walk(f"{path}.{key}", item, around)


def _tensor(path: str, name: str, value: Tensor) -> Iterator[Found]:
    """A Parameter, or a registered buffer: other tensors on self are not the module's."""
    shape = sizes_of(value)
    is_parameter = value.graph.state is GraphState.LEAF
    if is_parameter:
        yield path, name, (id(maker_of(value)), name), shape, True


def sizes_of(value: Tensor) -> tuple[int, ...] | None:
    sizes = [axis.value for axis in value.shape.sizes]
    return None if value.shape.rank is None or None in sizes else tuple(s for s in sizes if s is not None)


Table = dict[str, tuple[tuple[int, ...], bool]]


def of_layer(layer: Layer) -> Table | None:
    """The weights of a library layer by name, and whether they train; None where they are not known."""
    kind = layer.name.rpartition(".")[2]
    config = layer.config

    def number(name: str, default: int | None = None) -> int:
        match config.get(name):
            case Int(dim=dim) if dim.value is not None:
                return dim.value
            case None if default is not None:
                return default
            case Tuple(items=items) if len({str(item) for item in items}) == 1:
                return number_of(items[0])
        raise LookupError(name)

    def has(name: str, default: bool = True) -> bool:
        value = config.get(name, TRUE if default else FALSE)
        if value not in (TRUE, FALSE):
            raise LookupError(name)
        return value == TRUE

    try:
        return _table(kind, config, number, has)
    except LookupError:
        return None


def shapes_of(layer: Layer) -> dict[str, tuple[int, ...]]:
    """The shapes of what a library layer holds, by name. Raises LookupError where they are not known."""
    table = of_layer(layer)
    if table is None:
        raise LookupError(layer.name)
    return {name: shape for name, (shape, _) in table.items()}


def number_of(value: Value) -> int:
    if isinstance(value, Int) and value.dim.value is not None:
        return value.dim.value
    raise LookupError("size")


WITHOUT = frozenset(
    ["ReLU", "ReLU6", "LeakyReLU", "ELU", "SELU", "CELU", "GELU", "SiLU", "Mish", "Softplus", "Tanh", "Sigmoid"]
    + ["Softmax", "LogSoftmax", "Softmin", "Softmax2d", "Hardtanh", "Hardsigmoid", "Hardswish", "Softsign", "GLU"]
    + ["LogSigmoid", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "Identity", "Flatten"]
    + ["Unflatten", "Upsample", "PixelShuffle", "PixelUnshuffle", "MSELoss", "L1Loss", "CrossEntropyLoss", "NLLLoss"]
    + ["BCELoss", "BCEWithLogitsLoss", "SmoothL1Loss", "HuberLoss", "KLDivLoss", "ZeroPad2d", "ReflectionPad2d"]
    + [f"{kind}Pool{n}d" for kind in ("Max", "Avg", "AdaptiveAvg", "AdaptiveMax") for n in (1, 2, 3)]
)


def _table(kind: str, config: Mapping[str, Value], number: Callable[..., int], has: Callable[..., bool]) -> Table:
    """Weights by name for a layer of this kind. Raises LookupError where a size is not known."""
    shape: tuple[int, ...]
    bias = kind != "Embedding" and has("bias")
    match kind:
        case _ if kind in WITHOUT:
            return {}
        case "Linear":
            out = number("out_features")
            return _trained({"weight": (out, number("in_features")), **({"bias": (out,)} if bias else {})})
        case "Bilinear":
            out = number("out_features")
            shape = (out, number("in1_features"), number("in2_features"))
            return _trained({"weight": shape, **({"bias": (out,)} if bias else {})})
        case "Embedding" | "EmbeddingBag":
            return _trained({"weight": (number("num_embeddings"), number("embedding_dim"))})
        case "Conv1d" | "Conv2d" | "Conv3d" | "ConvTranspose1d" | "ConvTranspose2d" | "ConvTranspose3d":
            inputs, out, groups = number("in_channels"), number("out_channels"), number("groups", 1)
            first = (inputs, out // groups) if "Transpose" in kind else (out, inputs // groups)
            shape = (*first, *spread(config["kernel_size"], int(kind[-2])))
            return _trained({"weight": shape, **({"bias": (out,)} if bias else {})})
        case "LayerNorm" | "RMSNorm":
            if not has("elementwise_affine"):
                return {}
            shape = _shape(config["normalized_shape"])
            return _trained({"weight": shape, **({"bias": shape} if bias and kind == "LayerNorm" else {})})
        case "GroupNorm":
            shape = (number("num_channels"),)
            return _trained({"weight": shape, "bias": shape}) if has("affine") else {}
        case "BatchNorm1d" | "BatchNorm2d" | "BatchNorm3d" | "InstanceNorm1d" | "InstanceNorm2d" | "InstanceNorm3d":
            is_batch = kind.startswith("Batch")
            shape = (number("num_features"),)
            table = _trained({"weight": shape, "bias": shape}) if has("affine", is_batch) else {}
            if has("track_running_stats", is_batch):
                table |= {"running_mean": (shape, False), "running_var": (shape, False)}
                table["num_batches_tracked"] = ((), False)
            return table
        case "PReLU":
            return _trained({"weight": (number("num_parameters", 1),)})
        case "LSTM" | "GRU" | "RNN":
            return _trained(_recurrent({"LSTM": 4, "GRU": 3, "RNN": 1}[kind], number, has, bias))
        case "LSTMCell" | "GRUCell" | "RNNCell":
            gates = {"LSTMCell": 4, "GRUCell": 3, "RNNCell": 1}[kind] * number("hidden_size")
            shapes = {"weight_ih": (gates, number("input_size")), "weight_hh": (gates, number("hidden_size"))}
            return _trained(shapes | ({"bias_ih": (gates,), "bias_hh": (gates,)} if bias else {}))
        case "MultiheadAttention":
            return _trained(transformers.attention_weights(config, number, bias))
        case "TransformerEncoderLayer" | "TransformerDecoderLayer":
            return _trained(transformers.layer_weights(number, "Dec" in kind, bias))
        case "TransformerEncoder" | "TransformerDecoder":
            return _trained(transformers.stack_weights(kind, config, number, shapes_of))
        case "Transformer":
            return _trained(transformers.whole_weights(config, number, bias))
    raise LookupError(kind)


def _trained(shapes: Mapping[str, tuple[int, ...]]) -> Table:
    return {name: (shape, True) for name, shape in shapes.items()}


def _recurrent(
    gates: int, number: Callable[..., int], has: Callable[..., bool], bias: bool
) -> dict[str, tuple[int, ...]]:
    hidden, ways = number("hidden_size"), 2 if has("bidirectional", False) else 1
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in range(number("num_layers", 1)):
        for way in range(ways):
            inputs = number("input_size") if layer == 0 else hidden * ways
            end = f"l{layer}{'_reverse' * way}"
            shapes |= {f"weight_ih_{end}": (gates * hidden, inputs), f"weight_hh_{end}": (gates * hidden, hidden)}
            if bias:
                shapes |= {f"bias_ih_{end}": (gates * hidden,), f"bias_hh_{end}": (gates * hidden,)}
    return shapes


def _shape(value: Value) -> tuple[int, ...]:
    return tuple(map(number_of, value.items)) if isinstance(value, Tuple) else (number_of(value),)


def spread(value: Value, count: int) -> tuple[int, ...]:
    """A size for each of the axes: 3 is (3, 3) of a picture."""
    sizes = _shape(value)
    return sizes * count if len(sizes) == 1 else sizes
