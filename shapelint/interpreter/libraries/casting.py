"""Dtypes that calls leave behind: of the parameters of modules that were cast, and inside autocast regions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from shapelint.domain.values import (
    FALSE,
    NONE,
    UNKNOWN,
    Const,
    Dict,
    Graph,
    GraphState,
    Instance,
    Layer,
    Library,
    Many,
    Method,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    tensors_in,
)
from shapelint.events import Call
from shapelint.interpreter.frame import Frame
from shapelint.ops import lookup
from shapelint.ops.autocast import Autocast, adapted
from shapelint.ops.calls import is_trainable
from shapelint.ops.casts import to_dtype
from shapelint.ops.dtypes import is_inexact, named
from shapelint.provenance import originate

if TYPE_CHECKING:
    from shapelint.interpreter.operations import Arguments

CASTS: Mapping[str, str] = {"half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64"}
MOVES = frozenset({"to", "type"})
PARAMETERS = frozenset({"parameters", "named_parameters"})
METHODS = frozenset({*CASTS, *MOVES, *PARAMETERS})

AUTOCASTS: Mapping[str, tuple[str, ...]] = {
    "torch.autocast": ("device_type", "dtype", "enabled"),
    "torch.amp.autocast": ("device_type", "dtype", "enabled"),
    "torch.cuda.amp.autocast": ("enabled", "dtype"),
    "torch.cpu.amp.autocast": ("enabled", "dtype"),
}
DEFAULTS: Mapping[str, str] = {"cuda": "float16", "cpu": "bfloat16"}


def asked(name: str, before: str | None, arguments: Arguments) -> str | None:
    """The dtype after a cast: `half()`, `to(torch.float16)`, `to(device)`; None where that is not known."""
    if name in CASTS:
        return CASTS[name]
    if name not in MOVES:
        return before
    keyword = arguments.kwargs.get("dtype", NONE)
    if keyword != NONE:
        return named(keyword, "torch")
    other = {key: value for key, value in arguments.kwargs.items() if key in {"other", "tensor"}}
    return to_dtype({"x": Tensor(dtype=before), "targets": Tuple(arguments.args), **other}, "torch")


def call(frame: Frame, method: Method, arguments: Arguments, node: cst.Call) -> Value | None:
    """What a method says of a module's dtype is noted; the parameters of a module that was cast are returned."""
    module, name = method.receiver, method.name
    if name in PARAMETERS:
        return parameters(frame, method, arguments, node)
    if isinstance(module, Instance | Layer | Tuple | Many | Dict | Union):
        before = dtype_of(frame, module)
        after = asked(name, before, arguments)
        if after != before:
            cast(frame, module, None if frame.branch_depth else after)
    return None


def cast(frame: Frame, value: Value, dtype: str | None) -> None:
    """A module and all its parts have parameters of this dtype from now on."""
    frame.run.memo.clear()  # what its methods gave may be of another dtype now
    stack: list[Value | None] = [value]
    seen: set[int] = set()
    for part in stack:
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        match part:
            case Instance(attributes=attributes):
                frame.run.dtypes[part] = dtype
                stack.extend(attributes.values())
            case Layer():
                frame.run.dtypes[part] = dtype
            case Tuple(items=items) | Union(options=items):
                stack.extend(items)
            case Many(item=item):
                stack.append(item)
            case Dict(items=pairs, other=other):
                stack.extend((*(inner for _, inner in pairs), other))


def in_place(frame: Frame, node: cst.BaseExpression, dtype: str) -> None:
    """`model.half()` as a statement of its own: what is cast without using the result is a module."""
    from shapelint.interpreter import attributes, expressions

    match node:
        case cst.Call(func=cst.Attribute(value=(cst.Name() | cst.Attribute()) as receiver, attr=cst.Name(value=name))):
            module = expressions.evaluate(frame, receiver) if name in METHODS else None
            if isinstance(module, Unknown):
                attributes.rebind(frame, receiver, replace(module, dtype=dtype))


def dtype_of(frame: Frame, value: Value) -> str | None:
    """The dtype of a module's parameters, where it was cast or built with one."""
    match value:
        case Instance() | Layer() if value in frame.run.dtypes:
            return frame.run.dtypes[value]
        case Layer(config=config):
            return named(config.get("dtype"), "torch")
        case Tuple(items=items) | Union(options=items) if items:
            found = {dtype_of(frame, item) for item in items if has_parameters(item)}
            return found.pop() if len(found) == 1 else None
        case Many(item=item):
            return dtype_of(frame, item)
        case Unknown(dtype=dtype):
            return dtype
    return None


def has_parameters(value: Value) -> bool:
    if not isinstance(value, Layer):
        return True
    constructor = lookup(value.name)
    return constructor is not None and is_trainable(constructor.op, value)


def parameters(frame: Frame, method: Method, arguments: Arguments, node: cst.Call) -> Value | None:
    """The parameters of a module whose dtype is known, one by one."""
    module = method.receiver  # taken for an array after requires_grad_(), which modules have as well
    dtype = module.dtype if isinstance(module, Tensor) else dtype_of(frame, module)
    if dtype is None:
        return None
    parameter = Tensor(dtype=dtype, library="torch", graph=Graph(GraphState.LEAF))
    item: Value = Tuple((UNKNOWN, parameter)) if method.name == "named_parameters" else parameter
    result = Many(item, None, "parameters")
    event = Call(method, arguments.args, tuple(arguments.kwargs.items()), result, frame.site(node), frame.regions)
    frame.tell(event)
    return originate(result, event)


def attribute(frame: Frame, owner: Instance, name: str, value: Value) -> Value:
    """A parameter or buffer of a module that was cast."""
    dtype = frame.run.dtypes.get(owner)
    if dtype is None or not isinstance(value, Tensor) or is_inexact(value.dtype) is False:
        return value
    is_part = name in owner.buffers or value.graph.state is GraphState.LEAF
    return replace(value, dtype=dtype) if is_part else value


def weight(frame: Frame, layer: Layer, value: Value) -> Value:
    """A weight of a layer, with the dtype of its parameters."""
    if not isinstance(value, Tensor) or not ("dtype" in layer.config or layer in frame.run.dtypes):
        return value
    return replace(value, dtype=dtype_of(frame, layer) or value.dtype)


def context(name: str, arguments: Arguments) -> Layer:
    """The object that `torch.autocast(...)` makes; "*" is there where not all that it was given is known."""
    device = {"device_type": Const(name.split(".")[1])} if name.count(".") == 3 else {}
    unknown = {} if arguments.complete else {"*": UNKNOWN}
    return Layer(name, device | dict(zip(AUTOCASTS[name], arguments.args)) | dict(arguments.kwargs) | unknown)


def autocast_of(value: Value, around: Autocast | None) -> Autocast | None:
    """The autocast inside a context or a decorated function, given the one around it; None where there is none."""
    if not isinstance(value, Library | Layer) or value.name not in AUTOCASTS:
        return around
    config = value.config if isinstance(value, Layer) else {}
    if config.get("enabled") == FALSE:
        return None
    device = value.name.split(".")[1] if value.name.count(".") == 3 else None
    match config.get("device_type"):
        case Const(value=str() as text):
            device = text.partition(":")[0]
    dtype = config.get("dtype", config.get("*", NONE))
    return Autocast(device, named(dtype, "torch") if dtype != NONE else DEFAULTS.get(device or ""))


def given(frame: Frame, name: str, bound: Mapping[str, Value], layer: Layer | None, result: Value) -> Value:
    """The result of an operation with the dtype that its layer's parameters or an autocast region give it."""
    if frame.autocast is not None and bound.get("dtype", NONE) == NONE:
        return adapted(frame.autocast, name, tuple(tensors_in(bound.values())), result)
    if layer is None or not isinstance(result, Tensor) or not ("dtype" in layer.config or layer in frame.run.dtypes):
        return result
    dtype = dtype_of(frame, layer)
    is_known = dtype is not None and has_parameters(layer) and is_inexact(result.dtype) is not False
    return replace(result, dtype=dtype) if is_known else result


DEFAULT = "float32"
SETTERS = frozenset({"torch.set_default_dtype", "torch.set_default_tensor_type"})


def set_default(frame: Frame, arguments: Arguments) -> None:
    """torch.set_default_dtype(torch.float64) holds for all that is made afterwards."""
    frame.run.default_dtype = named(arguments.args[0] if arguments.args else None, "torch") or ""


def by_default(default: str, bound: Mapping[str, Value], result: Value) -> Value:
    """A new tensor of torch with the dtype that was set, where nothing else says one."""
    is_open = isinstance(result, Tensor) and result.library == "torch" and result.dtype == DEFAULT
    if not is_open or bound.get("dtype", NONE) != NONE or any(tensors_in(bound.values())):
        return result
    return replace(result, dtype=default or None)  # type: ignore[arg-type]
