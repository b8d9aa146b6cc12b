"""Objects of libraries: what is done to them changes them, and what they are called by tells what they are."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from shapelint.interpreter import attributes
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments
from shapelint.ops import frames
from shapelint.values import Layer, Many, Run, Shape, Tensor, Tuple, Unknown, Value


def after_method(
    frame: Frame, receiver: Layer, name: str, result: Value | None, in_place: bool, node: cst.Call
) -> None:
    """After `model.fit(x, y)` the name is the fitted model's; `df.drop(..., inplace=True)` changes the sizes of df."""
    if not isinstance(node.func, cst.Attribute):
        return
    if name == "fit" and isinstance(result, Layer):
        attributes.rebind(frame, node.func.value, result)
    elif receiver.name in frames.NAMES and (in_place or result is None):
        resized(frame, receiver, node.func.value)


def resized(frame: Frame, receiver: Layer, node: cst.BaseExpression) -> None:
    """Something is done to a DataFrame that may change how many rows or columns it has."""
    changed = frames.resized(receiver)
    if changed is not None:
        attributes.rebind(frame, node, changed)


def of_table(frame: Frame, receiver: Unknown, arguments: Arguments, result: Value, node: cst.Call) -> Value:
    """The maximum of an array is one number; of what may be a table of pandas it is a row."""
    may_be_table = receiver.dtype is None and not arguments.args and "pandas" in frame.run.libraries
    if may_be_table and isinstance(result, Tensor) and result.shape.rank == 0:
        return replace(result, shape=Shape((), Run("", frame.place(node))))
    return result


SCATTERED = frozenset({"dim", "index", "src", "value", "reduce"})


ALONE = frozenset({"abs", "cos", "detach", "exp", "floor", "log", "sigmoid", "sin", "sqrt", "tanh", "tolist"})


def is_of_other(name: str, arguments: Arguments) -> bool:
    """`ax.scatter(x, y, c=labels)` draws points, an array's takes an axis first; `run.log(values)` is a logger's."""
    if name in ALONE:
        return bool(arguments.args or arguments.kwargs)
    first = arguments.args[0] if arguments.args else None
    return name == "scatter" and (isinstance(first, Tensor | Tuple | Many) or not arguments.kwargs.keys() <= SCATTERED)
