"""What a function asks about its parameters: how many axes they have, whether they are None; by its syntax alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from typing import Any

import libcst as cst

SPACES = ("whitespace", "lpar", "rpar", "comma", "semicolon", "leading_lines", "header", "footer", "trailing")


PLAIN = frozenset({str, bool, int, cst.MaybeSentinel})  # fields that hold no code


@cache
def parts(kind: Any) -> tuple[str, ...]:
    """The fields of a syntax node that may hold code."""
    return tuple(field.name for field in fields(kind) if not field.name.startswith(SPACES))


def nodes(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes of a piece of code, without its spaces and comments: several times as fast as libcst's own walk."""
    stack: list[Any] = [node]
    while stack:
        current: Any = stack.pop()
        if type(current) is tuple or type(current) is list:
            stack.extend(current)
        elif current is not None and type(current) not in PLAIN:
            yield current
            kind: Any = type(current)
            stack.extend(getattr(current, name) for name in parts(kind))


def questions(function: cst.FunctionDef) -> tuple[set[str], set[str]]:
    """Names of which a function asks how many axes they have, so that it takes several; and whether they are None.

    A test that only guards against what the function cannot take is no such question.
    """
    ranks: set[str] = set()
    nones: set[str] = set()
    stack: list[Any] = [function.body]
    while stack:
        node: Any = stack.pop()
        kind: Any = type(node)
        if kind is tuple or kind is list:
            stack.extend(node)
            continue
        if not issubclass(kind, cst.CSTNode):
            continue
        if kind is cst.Assert or (kind is cst.If and only_raises(node.body)):
            stack.append(getattr(node, "orelse", None))
            continue
        if kind is cst.Attribute or kind is cst.Call or kind is cst.Comparison:
            asked(node, ranks, nones)
        stack.extend(getattr(node, name) for name in parts(kind))
    return ranks, nones


def only_raises(block: cst.BaseSuite) -> bool:
    match block.body:
        case (cst.SimpleStatementLine(body=(cst.Raise(),)),) | (cst.Raise(),):
            return True
    return False


def is_none(node: cst.BaseExpression | None) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def asked(node: cst.CSTNode, ranks: set[str], nones: set[str]) -> None:
    match node:
        case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="ndim" | "dim" | "ndimension")):
            ranks.add(name)
        case cst.Call(func=cst.Name(value="len"), args=(cst.Arg(value=inner),)):
            ranks.update(whole_shape(inner))
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="ndim")), args=(cst.Arg(value=cst.Name(value=name)),)):
            ranks.add(name)
        case cst.Comparison(left=left, comparisons=targets):
            for part in (left, *(target.comparator for target in targets)):
                ranks.update(whole_shape(part))
            if isinstance(left, cst.Name) and any(is_none(target.comparator) for target in targets):
                nones.add(left.value)


def whole_shape(node: cst.BaseExpression) -> Iterator[str]:
    """`x` of `x.shape` and `x.size()`."""
    match node:
        case cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="shape")):
            yield name
        case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value="size")), args=()):
            yield name
