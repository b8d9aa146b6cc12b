"""Objects of library classes that are built now and called later: nn.Linear(64, 1), Normal(mu, std), DataLoader(ds)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from inspect import Parameter, signature

from shapelint.domain.dims import anonymous
from shapelint.domain.values import FALSE, NONE, UNKNOWN, Graph, GraphState, Layer, Shape, Tensor, Tuple, Unknown, Value
from shapelint.ops import convolutions, layers, recurrent
from shapelint.ops.op import Op, Spelling, Unknowable, bind, parse_spelling

# Ops whose layers have weights of their own that learn.
TRAINABLE = frozenset({
    "linear", "bilinear", "conv", "embedding", "embedding_bag", "rnn", "rnn_cell", "attention", "transformer",
    "batch_norm", "instance_norm", "group_norm", "layer_norm", "rms_norm", "prelu", "mlp",
    "linear_cross_entropy",
})  # fmt: skip
AFFINE = ("affine", "elementwise_affine")  # False: a norm without weights
HANGS_ON = frozenset({GraphState.GRAPH, GraphState.LEAF, GraphState.UNKNOWN})


def construct(spelling: Spelling, bound: Mapping[str, Value]) -> Layer:
    """The object that a constructor returns. A size that is not known is the same one at every later call."""
    return Layer(spelling.callee, {name: _settled(value) for name, value in bound.items()})


def _settled(value: Value) -> Value:
    return replace(value, dim=anonymous(object())) if isinstance(value, Unknown) and value == UNKNOWN else value


@cache
def _calling(op: Op, callee: str) -> Spelling:
    """The signature of the call, where the row's spelling is the constructor's."""
    return parse_spelling(replace(op, inputs=""), f"{callee}({op.inputs})")


def bind_inputs(
    constructor: Spelling, layer: Layer, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> tuple[Spelling, dict[str, Value]]:
    """The call's signature, and its arguments by canonical name: the inputs, then the constructor's arguments."""
    spelling = replace(_calling(constructor.op, constructor.callee), layer=layer)
    inputs = bind(spelling, tuple(args), kwargs)
    return spelling, {**inputs, **{name: value for name, value in layer.config.items() if name not in inputs}}


def bind_receiver(
    spelling: Spelling, layer: Layer, args: Sequence[Value], kwargs: Mapping[str, Value]
) -> tuple[Spelling, dict[str, Value]]:
    """The same for a method: its arguments, the constructor's, and the object itself as `receiver`."""
    arguments = bind(spelling, tuple(args), kwargs)
    rest = {name: value for name, value in layer.config.items() if name not in arguments}
    return spelling, {**arguments, **rest, "receiver": layer}


def attach(result: Value, spelling: Spelling) -> Value:
    """The result of a layer that learns hangs on the layer too."""
    layer = spelling.layer
    return result if layer is None or not is_trainable(spelling.op, layer) else _attached(result, layer)


def is_trainable(op: Op, layer: Layer) -> bool:
    if op.name not in TRAINABLE:
        return False
    config, defaults = dict(layer.config), _defaults(op)
    return all((config if name in config else defaults).get(name) != FALSE for name in AFFINE)


@cache
def _defaults(op: Op) -> Mapping[str, object]:
    return {name: parameter.default for name, parameter in signature(op.shape).parameters.items()}


def _attached(result: Value, layer: Layer) -> Value:
    match result:
        case Tensor(graph=graph) | Unknown(graph=graph):
            before = graph.origins if graph.state in HANGS_ON else frozenset()
            return replace(result, graph=Graph(GraphState.GRAPH, before | {layer}))
        case Tuple(items=items):
            return replace(result, items=tuple(_attached(item, layer) for item in items))
    return result


def attribute(constructor: Spelling, layer: Layer, name: str) -> Value | None:
    """A weight (`conv.weight`), or a constructor's argument, given or by default (`lstm.hidden_size`); else None."""
    canon = constructor.keywords.get(name, "")
    if name in WEIGHT_NAMES or recurrent.WEIGHT.fullmatch(name):
        return _weight(constructor, layer, name)
    if canon in layer.config:
        return layer.config[canon]
    parameter = signature(constructor.op.shape).parameters.get(canon)
    return None if parameter is None or parameter.default is Parameter.empty else parameter.default


WEIGHT_NAMES = frozenset({"weight", "bias", "running_mean", "running_var"})
BUFFERS = frozenset({"running_mean", "running_var"})


def _weight(constructor: Spelling, layer: Layer, name: str) -> Value | None:
    config = dict(layer.config)
    if name == "bias" and config.get("bias", NONE) == FALSE:
        return NONE
    try:
        shape = _weights(constructor, config).get(name) or _recurrent(constructor, config, name)
    except (Unknowable, KeyError):
        return Tensor(library="torch", graph=Graph(GraphState.LEAF, frozenset({layer})))
    if shape is None:
        return None
    if name in BUFFERS:
        return Tensor(shape, None, "torch", Graph(GraphState.CONST))
    return Tensor(shape, None, "torch", Graph(GraphState.LEAF, frozenset({layer})))


def _weights(constructor: Spelling, config: dict[str, Value]) -> dict[str, Shape]:
    if not constructor.callee.startswith("torch.nn."):
        return {}
    if constructor.op.name == "conv":
        kind = constructor.callee.rpartition(".")[2]
        return convolutions.weights(config, int(kind[-2]), "Transpose" in kind)
    return layers.weights(constructor.op.name, config)


def _recurrent(constructor: Spelling, config: dict[str, Value], name: str) -> Shape | None:
    module, _, kind = constructor.callee.rpartition(".")
    return recurrent.weight(kind, config, name) if module == "torch.nn" else None
