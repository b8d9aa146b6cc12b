"""nn.Sequential: calls of its layers. Of an unknown number of them the axes stay that none of them touches."""

from __future__ import annotations

import libcst as cst

from shapelint import ops
from shapelint.domain.dims import anonymous
from shapelint.domain.values import UNKNOWN, Axis, Int, Layer, Many, Shape, Tensor, Value, options
from shapelint.events import Kind
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments

KEEPING = frozenset({Kind.ELEMENTWISE, Kind.NORMALISATION})
KEEPERS = frozenset({"layer_norm", "batch_norm", "group_norm", "instance_norm", "rms_norm", "identity"})
GRIDS = frozenset({"conv", "pool", "adaptive_pool", "pad", "interpolate"})


def call(frame: Frame, layers: tuple[Value, ...], arguments: Arguments, node: cst.Call) -> Value:
    """Each layer is called with what the one before gave."""
    from shapelint.interpreter import calls

    result: Value = UNKNOWN
    for layer in layers:
        result = calls.dispatch(frame, layer, arguments, node)
        arguments = Arguments((result,), {}, arguments.arg_nodes[:1])
    return result


def call_many(frame: Frame, layers: Many, arguments: Arguments, node: cst.Call) -> Value:
    """All of them at once, and those that are known to stand last one by one."""
    from shapelint.interpreter import calls

    given = arguments.args[0] if len(arguments.args) == 1 else UNKNOWN
    result = calls.opaque(frame, layers, arguments, node, passed(frame, layers, given, node))
    if not layers.tail:
        return result
    return call(frame, layers.tail, Arguments((result,), {}, arguments.arg_nodes[:1]), node)


def passed(frame: Frame, layers: Many, given: Value, node: cst.Call) -> Value:
    """What comes of an array that goes through any number of these layers."""
    names = {name_of(layer) for layer in options(layers.item)}
    place = frame.place(node)
    if not isinstance(given, Tensor) or None in names:
        return UNKNOWN
    if names <= {"keeps"}:
        shape = given.shape
    elif names <= {"keeps", "linear"}:
        width = Int(anonymous((place, "width")))
        linear = ops.call_layer(Layer("torch.nn.Linear", {"in_features": UNKNOWN, "out_features": width}), (given,))
        if not isinstance(linear, Tensor):
            return UNKNOWN
        shape = linear.shape
    elif names <= {"keeps", "grid"} and (given.shape.rank or 0) > 2:
        first, *others = given.shape.head
        shape = Shape((first, *(Axis(anonymous((place, index))) for index in range(len(others)))))
    else:
        return UNKNOWN
    return Tensor(shape, None, "torch", UNKNOWN.graph)


def name_of(layer: Value) -> str | None:
    """What a layer does to the axes of an array; None where that is not known."""
    spelling = ops.lookup(layer.name) if isinstance(layer, Layer) else None
    if spelling is None:
        return None
    op = spelling.op
    if op.kind in KEEPING or op.name in KEEPERS:
        return "keeps"
    return "linear" if op.name == "linear" else "grid" if op.name in GRIDS else None
