"""Functions that jax makes of functions: grad, value_and_grad, vmap. Calling one evaluates what it was made of."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from shapelint.dims import Dim
from shapelint.events import Call
from shapelint.interpreter import calls
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments
from shapelint.ops.op import prepend
from shapelint.provenance import originate
from shapelint.values import (
    FALSE,
    NONE,
    UNKNOWN,
    Axis,
    Const,
    Dict,
    Float,
    Function,
    Int,
    Layer,
    Library,
    Method,
    Partial,
    Shape,
    Tensor,
    Tuple,
    Value,
)

GRADIENTS = frozenset({"jax.grad", "jax.value_and_grad", "equinox.filter_grad", "equinox.filter_value_and_grad"})
TRANSFORMS = GRADIENTS | {"jax.vmap"}
APPLIED = "()"
OPTIONS = {"jax.vmap": ("in_axes", "out_axes")}
FIRST_AXIS = Int(Dim(()))


def call(frame: Frame, name: str, arguments: Arguments, node: cst.Call) -> Value | None:
    if name in TRANSFORMS:
        return transformed(frame, name, arguments, node)
    if name.endswith(APPLIED):
        return applied(frame, name.removesuffix(APPLIED), arguments, node)
    return None


def transformed(frame: Frame, name: str, arguments: Arguments, node: cst.Call) -> Value | None:
    """`jax.grad(f)`: a callable that remembers f; as a decorator with options it waits for f."""
    known = calls.opaque(frame, Library(name), arguments, node)
    match arguments.args:
        case ((Function() | Method() | Partial() | Layer() | Library()) as function, *rest) if arguments.complete:
            options = {**dict(zip(OPTIONS.get(name, ("argnums", "has_aux")), rest)), **arguments.kwargs}
            return Partial(Library(name + APPLIED), (function, Dict(tuple(options.items()))))
        case () if arguments.kwargs:
            return Partial(Library(name), (), tuple(arguments.kwargs.items()))
    return known


def applied(frame: Frame, name: str, arguments: Arguments, node: cst.Call) -> Value:
    function, options, *args = arguments.args
    assert isinstance(options, Dict)
    own = replace(arguments, args=tuple(args), arg_nodes=arguments.arg_nodes[2:])
    result = mapped(frame, function, options, own, node) if name == "jax.vmap" else None
    if name in GRADIENTS:
        value = calls.dispatch(frame, function, own, node)
        result = with_gradient(name, value, gradient(own, options.get("argnums")), options.get("has_aux"))
    event = Call(function, own.args, tuple(own.kwargs.items()), result or UNKNOWN, frame.site(node), frame.regions)
    frame.tell(event)
    return originate(result or UNKNOWN, event)


def with_gradient(name: str, value: Value, grads: Value, has_aux: Value | None) -> Value:
    if name.endswith("value_and_grad"):
        return Tuple((value, grads))
    if has_aux in (None, FALSE):
        return grads
    aux = value.items[1] if isinstance(value, Tuple) and len(value.items) == 2 else UNKNOWN
    return Tuple((grads, aux))


def gradient(arguments: Arguments, argnums: Value | None) -> Value:
    """It has the shapes of what is differentiated by."""
    match argnums:
        case None:
            return like(arguments.args[0]) if arguments.args else UNKNOWN
        case Int(dim=dim) if dim.value is not None and 0 <= dim.value < len(arguments.args):
            return like(arguments.args[dim.value])
        case Tuple(items=items):
            return Tuple(tuple(gradient(arguments, item) for item in items))
    return UNKNOWN


def like(value: Value) -> Value:
    match value:
        case Tensor(shape=shape, dtype=dtype):
            return Tensor(shape, dtype, "jax")
        case Tuple(items=items):
            return replace(value, items=tuple(map(like, items)), made_by=None)
        case Dict(items=items, other=None):
            return Dict(tuple((key, like(item)) for key, item in items))
        case Float():
            return Tensor(Shape(), None, "jax")
    return UNKNOWN


def mapped(frame: Frame, function: Value, options: Dict, arguments: Arguments, node: cst.Call) -> Value | None:
    """`jax.vmap(f)(x)`: f of one item along the first axis, and all results along a first axis of the result."""
    axes = options.get("in_axes") or FIRST_AXIS
    each = axes.items if isinstance(axes, Tuple) else (axes,) * len(arguments.args)
    if options.get("out_axes") not in (None, FIRST_AXIS) or arguments.kwargs or len(each) != len(arguments.args):
        return None
    if any(axis not in (FIRST_AXIS, NONE) for axis in each):
        return None
    batches = [lead for value, axis in zip(arguments.args, each) if axis != NONE for lead in leading(value)]
    items = tuple(value if axis == NONE else item_of(value) for value, axis in zip(arguments.args, each))
    value = calls.dispatch(frame, function, replace(arguments, args=items), node)
    return batched(value, batches[0]) if batches else None


def leading(value: Value) -> list[Axis]:
    match value:
        case Tensor(shape=shape):
            axis = shape.axis(0)
            return [axis] if axis is not None else []
        case Tuple(items=items):
            return [axis for item in items for axis in leading(item)]
        case Dict(items=items):
            return [axis for _, item in items for axis in leading(item)]
    return []


def item_of(value: Value) -> Value:
    match value:
        case Tensor(shape=shape) if shape.head:
            return Tensor(Shape(shape.head[1:], shape.run, shape.tail), value.dtype, value.library, value.graph)
        case Tuple(items=items):
            return replace(value, items=tuple(map(item_of, items)), made_by=None)
        case Dict(items=items, other=None):
            return Dict(tuple((key, item_of(item)) for key, item in items))
    return UNKNOWN


def batched(value: Value, axis: Axis) -> Value:
    match value:
        case Tensor(shape=shape):
            return Tensor(prepend(axis, shape), value.dtype, "jax", value.graph)
        case Int() | Float() | Const(value=bool()):
            return Tensor(Shape((axis,)), None, "jax")
        case Tuple(items=items):
            return replace(value, items=tuple(batched(item, axis) for item in items), made_by=None)
        case Dict(items=items, other=None):
            return Dict(tuple((key, batched(item, axis)) for key, item in items))
    return UNKNOWN
