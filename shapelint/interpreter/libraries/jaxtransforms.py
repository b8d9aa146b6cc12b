"""Functions that jax makes of functions: grad, jacfwd, hessian, vmap. Calling one evaluates what it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import libcst as cst

from shapelint.domain.dims import anonymous, as_dim
from shapelint.domain.values import (
    FALSE,
    NONE,
    UNKNOWN,
    Axis,
    Const,
    Dict,
    Float,
    Function,
    Instance,
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
from shapelint.events import Call
from shapelint.interpreter import calls
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments
from shapelint.ops.axes import edited
from shapelint.ops.op import prepend
from shapelint.ops.runs import joined
from shapelint.provenance import originate

GRADIENTS = frozenset({"jax.grad", "jax.value_and_grad", "equinox.filter_grad", "equinox.filter_value_and_grad"})
# How many times their result has the axes of what is differentiated by.
JACOBIANS: Mapping[str, int] = {
    **dict.fromkeys((f"jax.{name}" for name in ("jacfwd", "jacrev", "jacobian")), 1),
    **dict.fromkeys(("equinox.filter_jacfwd", "equinox.filter_jacrev"), 1),
    **dict.fromkeys(("jax.hessian", "equinox.filter_hessian"), 2),
}
MAPS = frozenset({"jax.vmap", "equinox.filter_vmap"})
TRANSFORMS = GRADIENTS | JACOBIANS.keys() | MAPS
APPLIED = "()"
OPTIONS = {"jax.vmap": ("in_axes", "out_axes")}
FIRST_AXIS = Int(as_dim(0))


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
        case ((Function() | Method() | Partial() | Layer() | Library() | Instance()) as function, *rest) if (
            arguments.complete
        ):
            options = {**dict(zip(OPTIONS.get(name, ("argnums", "has_aux")), rest)), **arguments.kwargs}
            return Partial(Library(name + APPLIED), (function, Dict(tuple(options.items()))))
        case () if arguments.kwargs:
            return Partial(Library(name), (), tuple(arguments.kwargs.items()))
    return known


def decorated(name: str, decorator: Library | Partial, function: Value) -> Value:
    """`@jax.value_and_grad` or `@partial(jax.grad, argnums=1)` over a function of the linted code, no method."""
    if not isinstance(function, Function) or function.owner is not None:
        return UNKNOWN
    options = decorator.kwargs if isinstance(decorator, Partial) else ()
    return Partial(Library(name + APPLIED), (function, Dict(tuple(options))))


def applied(frame: Frame, name: str, arguments: Arguments, node: cst.Call) -> Value:
    function, options, *args = arguments.args
    assert isinstance(options, Dict)
    own = replace(arguments, args=tuple(args), arg_nodes=arguments.arg_nodes[2:])
    result: Value | None = None
    if name in MAPS:
        result = mapped(frame, function, options, own, node)
    elif name in TRANSFORMS:
        value = calls.dispatch(frame, function, own, node)
        slopes, has_aux = gradient(own, options.get("argnums")), options.get("has_aux")
        if name in GRADIENTS:
            result = with_gradient(name, value, slopes, has_aux)
        elif has_aux in (None, FALSE):
            result = value
            for _ in range(JACOBIANS[name]):
                result = jacobian(result, slopes)
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


def jacobian(value: Value, by: Value) -> Value:
    """For each array of a result, and each that it is differentiated by: the axes of the one, then of the other."""
    match value, by:
        case Tensor(shape=shape), Tensor(shape=Shape(head=axes, run=None)):
            return Tensor(joined((), shape, axes), None, "jax")
        case Tensor(shape=Shape(head=axes, run=None)), Tensor(shape=shape):
            return Tensor(joined(axes, shape), None, "jax")
        case Float(), Tensor(shape=shape):
            return Tensor(shape, None, "jax")
        case Tuple(items=items), _:
            return replace(value, items=tuple(jacobian(item, by) for item in items), made_by=None)
        case Dict(items=items, other=None), _:
            return Dict(tuple((key, jacobian(item, by)) for key, item in items))
        case _, Tuple(items=items):
            return replace(by, items=tuple(jacobian(value, item) for item in items), made_by=None)
        case _, Dict(items=items, other=None):
            return Dict(tuple((key, jacobian(value, item)) for key, item in items))
    return UNKNOWN


def mapped(frame: Frame, function: Value, options: Dict, arguments: Arguments, node: cst.Call) -> Value | None:
    """`jax.vmap(f)(x)`: f of one item along an axis, and all results along an axis of the result."""
    args, kwargs = arguments.args, arguments.kwargs
    given, out = options.get("in_axes") or FIRST_AXIS, options.get("out_axes") or FIRST_AXIS
    each = given.items if isinstance(given, Tuple) else (given,) * len(args)
    if len(each) != len(args) or not all(is_axis(axis) for axis in (*each, out)):
        return None
    pairs = [
        (value, place(axis)) for value, axis in (*zip(args, each), *((value, FIRST_AXIS) for value in kwargs.values()))
    ]
    batches = [axis for value, at in pairs if at is not None for axis in leading(value, at)]
    items = [value if at is None else item_of(value, at) for value, at in pairs]
    own = replace(arguments, args=tuple(items[: len(args)]), kwargs=dict(zip(kwargs, items[len(args) :])))
    value = calls.dispatch(frame, function, own, node)
    batch = batches[0] if batches else Axis(anonymous(frame.place(node), "batch"))
    at = place(out)
    return value if at is None else batched(value, batch, at)


def is_axis(value: Value) -> bool:
    return value == NONE or (isinstance(value, Int) and value.dim.value is not None)


def place(axis: Value) -> int | None:
    return axis.dim.value if isinstance(axis, Int) else None


def leading(value: Value, at: int = 0) -> list[Axis]:
    """The axes of a tree's arrays along which they are mapped."""
    match value:
        case Tensor(shape=shape):
            axis = shape.axis(at)
            return [axis] if axis is not None else []
        case Tuple(items=items):
            return [axis for item in items for axis in leading(item, at)]
        case Dict(items=items):
            return [axis for _, item in items for axis in leading(item, at)]
    return []


def item_of(value: Value, at: int = 0) -> Value:
    match value:
        case Tensor(shape=shape) if shape.axis(at) is not None:
            return Tensor(edited(shape, (at,), lambda _: ()), value.dtype, value.library, value.graph)
        case Tuple(items=items):
            return replace(value, items=tuple(item_of(item, at) for item in items), made_by=None)
        case Dict(items=items, other=None):
            return Dict(tuple((key, item_of(item, at)) for key, item in items))
    return UNKNOWN


def batched(value: Value, axis: Axis, at: int = 0) -> Value:
    again = partial(batched, axis=axis, at=at)
    match value:
        case Tensor(shape=shape) if (whole := with_axis(shape, axis, at)) is not None:
            return Tensor(whole, value.dtype, "jax", value.graph)
        case Int() | Float() | Const(value=bool()):
            return Tensor(Shape((axis,)), None, "jax")
        case Tuple(items=items):
            return replace(value, items=tuple(map(again, items)), made_by=None)
        case Dict(items=items, other=None):
            return Dict(tuple((key, again(item)) for key, item in items))
    return UNKNOWN


def with_axis(shape: Shape, axis: Axis, at: int) -> Shape | None:
    """A shape with a new axis that has the index `at` from then on; None where that is not known."""
    if at == 0:
        return prepend(axis, shape)
    if shape.run is not None:
        return joined((), shape, (axis,)) if at == -1 else None
    rank = len(shape.head) + 1
    if not -rank <= at < rank:
        return None
    return Shape((*shape.head[: at % rank], axis, *shape.head[at % rank :]))
