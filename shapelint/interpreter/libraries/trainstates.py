"""flax's TrainState: what it was created with is what its attributes are."""

from __future__ import annotations

import libcst as cst

from shapelint.domain.values import Class, Instance, Library, Method, Value
from shapelint.events import Call
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments

STATE = "flax.training.train_state.TrainState"
METHODS = frozenset({"create", "apply_gradients", "replace"})


def created(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """TrainState.create(apply_fn=model.apply, params=params, tx=optimizer)"""
    return state(frame, Class("TrainState", (Library(STATE),), {}), Library(f"{STATE}.create"), arguments, node)


def call(frame: Frame, method: Method, arguments: Arguments, node: cst.Call) -> Value | None:
    """A method that a class of the linted code, or an object, has of TrainState; None where it has none."""
    match method:
        case Method(receiver=Class() as cls, name="create") if cls.is_a(STATE):
            return state(frame, cls, method, arguments, node)
        case Method(receiver=Instance() as owner, name="apply_gradients" | "replace") if owner.cls.is_a(STATE):
            changed = {name: value for name, value in arguments.kwargs.items() if name in owner.attributes}
            after = Instance(owner.cls, owner.attributes | changed) if changed else owner
            told(frame, method, arguments, node, after)
            return after
    return None


def state(frame: Frame, cls: Class, callee: Value, arguments: Arguments, node: cst.Call) -> Instance:
    made = Instance(cls, dict(arguments.kwargs))
    made.made_by = told(frame, callee, arguments, node, made)
    return made


def told(frame: Frame, callee: Value, arguments: Arguments, node: cst.Call, result: Value) -> Call:
    event = Call(callee, arguments.args, tuple(arguments.kwargs.items()), result, frame.site(node), frame.regions)
    frame.tell(event)
    return event


TABLE = {f"{STATE}.create": created}
