"""Calls of what is one of several callables."""

from __future__ import annotations

import libcst as cst

from shapelint.domain.joins import join
from shapelint.domain.values import NONE, UNKNOWN, Instance, Layer, Method, Tensor, Union, Unknown, Value, maker_of
from shapelint.events import Call, Joined
from shapelint.interpreter import calls
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments, operate
from shapelint.interpreter.scopes import Path, meet
from shapelint.provenance import originate


def call_options(frame: Frame, options: tuple[Value, ...], arguments: Arguments, node: cst.Call) -> Value:
    """One of several callables: what all of them give. Only problems of all would count, so none is told."""
    results: list[Value] = []
    outer, told = frame.run.events, []
    options = tuple(option for option in options if option != NONE)
    known = call_array_method(frame, options, arguments, node)
    if known is not None:
        return known
    before, paths = frame.snapshot(), []
    for option in options:
        frame.run.events = []
        frame.facts, frame.shapes = dict(before.facts), dict(before.shapes)
        results.append(calls.dispatch(frame, option, arguments, node))
        told.append(frame.run.events)
        paths.append(Path({}, frame.facts, frame.shapes))
    frame.run.events = outer
    if paths:
        all_find = meet(paths, None)
        frame.facts, frame.shapes = all_find.facts, all_find.shapes
    if not results:
        return UNKNOWN
    common = common_method(options)
    of_libraries = [index for index, option in enumerate(options) if getattr(option, "function", None) is None]
    is_asked = all(len(told[i]) == 1 and isinstance(told[i][0], Call) for i in of_libraries)
    if common is not None and is_asked and all(isinstance(results[i], Unknown) for i in of_libraries):
        return calls.opaque(frame, common, arguments, node)
    result = results[0]
    for other in results[1:]:
        result = join(result, other, frame.place(node))
    if maker_of(result) is None and any(maker_of(option) is not None for option in results):
        return originate(result, Joined(tuple(results), frame.site(node)))
    return result


def call_array_method(frame: Frame, options: tuple[Value, ...], arguments: Arguments, node: cst.Call) -> Value | None:
    """`loss.backward()` where loss is one of several arrays: one operation; None where it is no such method."""
    first = options[0] if options else NONE
    match first, node.func:
        case Method(receiver=Tensor(library=str() as library), name=name), cst.Attribute(value=receiver_node):
            methods = [o for o in options if isinstance(o, Method) and o.name == name]
            arrays = [m.receiver for m in methods if isinstance(m.receiver, Tensor) and m.receiver.library == library]
            if len(arrays) == len(options):
                whole = arguments.after(Union(tuple(arrays)), receiver_node)
                return operate(frame, f"{calls.RECEIVERS[library]}.{name}", whole, node)
    return None


def common_method(options: tuple[Value, ...]) -> Method | None:
    """`opt.step` where opt is Adam(...) or SGD(...), `net.zero_grad`: a method of an object that is one of several.

    One of them may be a stand-in that is written by hand: `scaler = GradScaler() if amp else NoScaler()`.
    """
    methods = [option for option in options if isinstance(option, Method)]
    found = [method for method in methods if isinstance(method.receiver, Layer | Instance)]
    if len(found) < len(options) or len({method.name for method in found}) != 1:
        return None
    if any(m.function is not None for m in found) and not any(isinstance(m.receiver, Layer) for m in found):
        return None
    return Method(Union(tuple(method.receiver for method in found)), found[0].name)
