"""Objects of libraries: what is done to them changes them, and what they are called by tells what they are."""

from __future__ import annotations

import libcst as cst

from shapelint.interpreter import attributes
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments
from shapelint.ops import frames
from shapelint.values import Layer, Many, Tensor, Tuple, Value


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


SCATTERED = frozenset({"dim", "index", "src", "value", "reduce"})


def is_plot(name: str, arguments: Arguments) -> bool:
    """`ax.scatter(x, y, c=labels)` draws points; an array's scatter takes an axis first."""
    first = arguments.args[0] if arguments.args else None
    return name == "scatter" and (isinstance(first, Tensor | Tuple | Many) or not arguments.kwargs.keys() <= SCATTERED)
