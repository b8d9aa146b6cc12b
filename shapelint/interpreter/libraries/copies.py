"""copy.deepcopy of modules: layers of its own, whose parameters have the same dtype."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from shapelint.domain.values import Instance, Layer, Library, Many, Tuple, Unknown, Value
from shapelint.events import Call
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments
from shapelint.provenance import originate


def duplicated(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """copy.deepcopy(module): layers of its own; of other values nothing is changed by it."""
    value = arguments.args[0]
    is_container = isinstance(value, Tuple | Many) and value.kind in {"Sequential", "ModuleList"}
    if not (is_container or isinstance(value, Instance | Layer | Unknown)):
        return value
    event = Call(Library("copy.deepcopy"), arguments.args, (), value, frame.site(node), frame.regions)
    frame.tell(event)
    if isinstance(value, Unknown):
        return originate(Unknown(value.dim, value.graph, None, value.dtype), event)
    return twin(frame, value, event, {})


def twin(frame: Frame, value: Value, event: Call, known: dict[int, Instance]) -> Value:
    """A module with all that is inside of it, made anew by `event`."""
    match value:
        case Layer(name=name, config=config):
            layer = Layer(name, config, event)
            if value in frame.run.dtypes:
                frame.run.dtypes[layer] = frame.run.dtypes[value]
            return layer
        case Tuple(items=items):
            return replace(value, items=tuple(twin(frame, item, event, known) for item in items))
        case Many(item=item):
            return replace(value, item=twin(frame, item, event, known))
        case Instance(cls=cls, attributes=attributes):
            if id(value) not in known:
                known[id(value)] = copy = Instance(cls, {}, event)
                copy.attributes.update((name, twin(frame, part, event, known)) for name, part in attributes.items())
                if value in frame.run.dtypes:
                    frame.run.dtypes[copy] = frame.run.dtypes[value]
            return known[id(value)]
    return value
