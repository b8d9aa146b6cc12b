"""Objects of libraries: what is done to them changes them, and what they are called by tells what they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import libcst as cst

from shapelint.domain.values import (
    UNKNOWN,
    Dict,
    Instance,
    Layer,
    Library,
    Many,
    Run,
    Shape,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    maker_of,
)
from shapelint.events import Event, Operation
from shapelint.interpreter import attributes
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments
from shapelint.ops import frames, lookup
from shapelint.provenance import parts


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


def seen_as(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """typing.cast: what is of a type that nobody knows here may be another array than the one that is known."""
    kind, value = arguments.args[:2]
    is_foreign = isinstance(kind, Library) and kind.name.partition(".")[0] not in OF_ARRAYS
    return UNKNOWN if (is_foreign or isinstance(kind, Unknown)) and not isinstance(value, Instance) else value


OF_ARRAYS = frozenset({"torch", "numpy", "jax", "jaxtyping", "typing", "builtins"})
SCATTERED = frozenset({"dim", "index", "src", "value", "reduce"})


ALONE = frozenset({"abs", "cos", "detach", "exp", "floor", "log", "sigmoid", "sin", "sqrt", "tanh", "tolist"})


# Functions of array libraries that no array has as a method.
FREE = frozenset(
    {"arange", "concatenate", "einsum", "eye", "full", "full_like", "linspace", "ones", "ones_like", "zeros"}
)
NAMESPACE = Library("?")  # some array library behind a name: `xp`, a backend


def seen_as_namespace(frame: Frame, name: str, arguments: Arguments, node: cst.BaseExpression) -> bool:
    """`xp.einsum("ij,ij->i", a, b)`, `xp.sum(a, axis=1)`: no array has such a method, or takes an axis twice."""
    is_twice = bool(arguments.args) and not arguments.kwargs.keys().isdisjoint({"axis", "dim"})
    if name in FREE:
        found = bool(arguments.args)
    else:
        found = is_twice and (known := lookup(f"torch.Tensor.{name}")) is not None and known.positional[1:2] == ("dim",)
    if found:
        attributes.rebind(frame, node, NAMESPACE)
    return found


def is_of_other(name: str, arguments: Arguments) -> bool:
    """`ax.scatter(x, y, c=labels)` draws points, an array's takes an axis first; `run.log(values)` is a logger's."""
    if name in ALONE:
        return bool(arguments.args or arguments.kwargs)
    if arguments.kwargs and not arguments.kwargs.keys() <= keywords_of(name):
        return True  # points.norm(epsilon=1e-8)
    first = arguments.args[0] if arguments.args else None
    return name == "scatter" and (isinstance(first, Tensor | Tuple | Many) or not arguments.kwargs.keys() <= SCATTERED)


# What methods of arrays take by keyword besides what the table of ops has of them.
_COMMON = """
    accumulate alpha atol beta casting copy correction create_graph ddof decimals descending device diagonal dtype
    equal_nan fill_value force generator gradient include_self initial inputs interpolation largest layout max mean
    memory_format method min mode non_blocking order out output_size p pin_memory reduce repeats requires_grad
    retain_graph rounding_mode rtol side sorted stable std subok unbiased value values weights where
"""
COMMON = frozenset(_COMMON.split())
CLASSES = ("torch.Tensor", "numpy.ndarray", "jax.Array")


@lru_cache(maxsize=256)
def keywords_of(name: str) -> frozenset[str]:
    """The keywords that a method of this name has in any class of arrays; the table need not have all of them."""
    spellings = [found for cls in CLASSES if (found := lookup(f"{cls}.{name}")) is not None]
    return COMMON.union(*(found.keywords for found in spellings))


def made_within(result: Value, events: Sequence[Event], begun: int) -> dict[int, Value]:
    """The objects in what came of a call that it made itself, by identity; an unknown one may be such an object."""
    held: list[Value] = [part for part in parts((result,)) if isinstance(part, Layer | Instance)]
    held += [result] if isinstance(result, Unknown | Many) else []
    made = set(map(id, events[begun:])) if held else set()
    return {id(part): part for part in held if id(maker_of(part)) in made}


def anew(frame: Frame, value: Value, made: dict[int, Value]) -> Value:
    """What a call that was executed before gives once more: the layers that it makes are others each time."""
    new: dict[int, Value] = {}
    for key, layer in made.items():
        maker = maker_of(layer)
        if isinstance(layer, Layer) and isinstance(maker, Operation):
            frame.tell(event := replace(maker))
            new[key] = replace(layer, made_by=event)
    return exchanged(value, new) if new else value


def exchanged(value: Value, new: dict[int, Value]) -> Value:
    match value:
        case Layer():
            return new.get(id(value), value)
        case Tuple(items=items):
            return replace(value, items=tuple(exchanged(item, new) for item in items))
        case Union(options=options):
            return replace(value, options=tuple(exchanged(option, new) for option in options))
        case Many(item=item):
            return replace(value, item=exchanged(item, new))
        case Dict(items=items, other=other):
            others = exchanged(other, new) if other is not None else None
            return replace(value, items=tuple((key, exchanged(item, new)) for key, item in items), other=others)
    return value
