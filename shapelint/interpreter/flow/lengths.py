"""How long lists are that a loop fills: one item in each round comes to as many items as there are rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import libcst as cst

from shapelint.domain.dims import Dim, as_dim
from shapelint.domain.values import Many, Tuple, Value
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.functions.stores import statements
from shapelint.interpreter.knowledge.questions import nodes
from shapelint.ops.runs import rounds

APPENDING = frozenset({"append", "appendleft", "insert"})


def filled(frame: Frame, loop: cst.For | cst.While, before: Mapping[str, Value], count: Dim | None) -> None:
    """Lists that get one item in each round have one length after the loop: `count` more than before it, if known."""
    for name, ends in lists_of(loop).items() if frame.alive else ():
        match before.get(name), frame.scope.names.get(name):
            case Tuple(items=items, kind=kind), Many(length=None) as after if after.kind == kind:
                if names_in(loop.body)[name] == 1:  # nothing else in the loop has to do with it
                    new = rounds((frame.place(loop), ends)) if count is None or has_exits(loop) else count
                    frame.scope.names[name] = replace(after, length=new + as_dim(len(items)))


@lru_cache(maxsize=256)
def lists_of(loop: cst.For | cst.While) -> Mapping[str, int]:
    """The lists that are appended to once in each round, with the number of statements before that may end a round."""
    found: dict[str, int] = {}
    ends = 0
    for statement in loop.body.body:
        name = appended(statement)
        if name is not None:
            found[name] = ends
        elif may_end(statement):
            ends += 1
    return found


@lru_cache(maxsize=256)
def has_exits(loop: cst.For | cst.While) -> bool:
    return any(map(may_end, loop.body.body))


def may_end(statement: cst.CSTNode) -> bool:
    """Whether what follows in this round may be left out."""
    return any(type(inner) in {cst.Break, cst.Continue} for inner in statements(statement))


def appended(statement: cst.CSTNode) -> str | None:
    """The list of `name.append(item)`."""
    match statement:
        case cst.SimpleStatementLine(body=[inner]):
            return appended(inner)
        case cst.Expr(value=cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=method)))):
            return name if method in APPENDING else None
    return None


@lru_cache(maxsize=64)
def names_in(node: cst.CSTNode) -> Mapping[str, int]:
    """How often each name stands in a piece of code."""
    return Counter(inner.value for inner in nodes(node) if type(inner) is cst.Name)
