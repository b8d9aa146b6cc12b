"""Containers and draws of the standard library: deques and named tuples of `collections`, and the random module."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from shapelint.domain.dims import Dim, data_dependent
from shapelint.domain.values import NONE, UNKNOWN, Class, Const, Float, Int, Library, Many, Tuple, Unknown, Value
from shapelint.interpreter.flow import comprehensions
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.numbers import Builtin
from shapelint.interpreter.operations import Arguments


def queue(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """A list; with a maximal length it drops items at one end, so that how many it has is never known."""
    is_bounded = len(arguments.args) > 1 or arguments.kwargs.get("maxlen", NONE) != NONE
    if not arguments.args or arguments.args[0] == Tuple((), "list"):
        return Tuple((), "deque" if is_bounded else "list")
    return Many(comprehensions.item(frame, arguments.args[0], node), None, "list")


def named_tuple(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """namedtuple("Point", "x y"), namedtuple("Point", ["x", "y"]): a class whose fields are not annotated."""
    given = (*arguments.args, *(arguments.kwargs[n] for n in ("typename", "field_names") if n in arguments.kwargs))
    match given:
        case (Const(value=str() as name), Const(value=str() as text)):
            fields = text.replace(",", " ").split()
        case (Const(value=str() as name), Tuple(items=items)):
            fields = [item.value for item in items if isinstance(item, Const) and isinstance(item.value, str)]
            if len(fields) < len(items):
                return UNKNOWN
        case _:
            return UNKNOWN
    return Class(name, (Library("typing.NamedTuple"),), {"_fields": Tuple(tuple(map(Const, fields)))})


def drawn(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """random.sample(items, k), random.choices(items, k=k)"""
    count = arguments.kwargs.get("k", arguments.args[1] if len(arguments.args) == 2 else UNKNOWN)
    size = count.dim if isinstance(count, Int | Unknown) and isinstance(count.dim, Dim) else None
    return Many(one(frame, arguments, node), size, "list")


def one(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """random.choice(items)"""
    return comprehensions.item(frame, arguments.args[0], node)


def whole(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """random.randint(2, n), random.randrange(n): no less than the lower bound, which is 0 where there is none.

    A symbol is at least 1, and a draw that starts an index may be 0.
    """
    given = arguments.kwargs.get("a", arguments.args[0] if len(arguments.args) > 1 else NONE)
    lowest = given.dim.value if isinstance(given, Int) and given.dim.value is not None else 0
    return Int(data_dependent(frame.place(node), "random") + (lowest - 1))


def real(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    return Float()


TABLE: Mapping[str, Builtin] = {
    "collections.deque": queue,
    "collections.namedtuple": named_tuple,
    "random.sample": drawn,
    "random.choices": drawn,
    "random.choice": one,
    **{f"random.{name}": whole for name in ("randint", "randrange", "getrandbits")},
    **{f"random.{name}": real for name in ("random", "uniform", "gauss", "normalvariate", "triangular", "betavariate")},
}
