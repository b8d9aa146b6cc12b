"""Iterators that can be gone through once: who makes them, and who uses them up, is told to the rules."""

from __future__ import annotations

import libcst as cst

from shapelint.domain.values import UNKNOWN, Library, Many, Method, Unknown, Value, maker_of
from shapelint.events import Call
from shapelint.interpreter.frame import Frame
from shapelint.provenance import originate

# Methods of nn.Module that give an iterator, and callables that do.
GIVING = frozenset(
    {"parameters", "named_parameters", "buffers", "named_buffers", "children", "modules", "named_modules"}
)
LAZY = frozenset({"builtins.filter", "builtins.map", "builtins.iter", "builtins.zip", "itertools.chain"})
USING = frozenset(f"builtins.{name}" for name in ("list", "tuple", "set", "sorted", "sum", "max", "min", "any", "all"))


def is_iterator(value: Value) -> bool:
    if not isinstance(value, Many | Unknown):
        return False
    match maker_of(value):
        case Call(callee=Library(name=name)):
            return name in LAZY
        case Call(callee=Method(name=name, function=None)):
            return name in GIVING
    return False


def used(frame: Frame, value: Value, node: cst.CSTNode, by: str = "builtins.iter") -> None:
    """Somebody goes through `value`; where it is an iterator, nothing is left of it."""
    if is_iterator(value):
        frame.tell(Call(Library(by), (value,), (), UNKNOWN, frame.site(node), frame.regions))


def together(frame: Frame, parts: tuple[Value, ...], result: Many, node: cst.CSTNode) -> Value:
    """A list that is put together of others, `a + b`, `a.extend(b)` and `[*a, *b]`: the rules are told of which."""
    event = Call(Library("builtins.list.extend"), parts, (), result, frame.site(node), frame.regions)
    frame.tell(event)
    return originate(result, event)


def made(frame: Frame, by: str, args: tuple[Value, ...], item: Value, node: cst.CSTNode) -> Value:
    """A new iterator over values like `item`."""
    result = Many(item, None, "generator")
    event = Call(Library(by), args, (), result, frame.site(node), frame.regions)
    frame.tell(event)
    return originate(result, event)
