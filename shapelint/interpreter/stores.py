"""Which attributes of self a class sets or fills outside of __init__, by its syntax alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

INITIALISERS = frozenset({"__init__", "setup", "__post_init__"})
FILLING = frozenset({"append", "extend", "insert", "update", "add", "setdefault", "appendleft"})
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def changed_attributes(node: cst.ClassDef) -> frozenset[str]:
    """Attributes whose value after __init__ says nothing of what other methods find."""
    methods = (part for part in node.body.body if isinstance(part, cst.FunctionDef))
    return frozenset(
        name
        for method in methods
        for statement in statements(method)
        for name in changes(statement)
        if method.name.value not in INITIALISERS or not is_store(statement)
    )


def statements(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements inside a compound statement, at any depth."""
    for block in BLOCKS:
        inner = getattr(node, block, None)
        if inner is None:
            continue
        for part in inner if isinstance(inner, Iterable) else (inner,):
            yield part
            yield from statements(part)


def is_store(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Assign | cst.AnnAssign)


def changes(node: cst.CSTNode) -> Iterator[str]:
    match node:
        case cst.Assign(targets=targets):
            for target in targets:
                yield from stored(target.target)
        case cst.AugAssign(target=target) | cst.AnnAssign(target=target):
            yield from stored(target)
        case cst.Expr(value=cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=method)))):
            if method in FILLING or method.endswith("_"):
                yield from stored(receiver)


def stored(target: cst.CSTNode) -> Iterator[str]:
    """`self.x`, `self.x[i]`, and those among the elements of a tuple."""
    match target:
        case cst.Attribute(value=cst.Name(), attr=cst.Name(value=name)):
            yield name
        case cst.Subscript(value=inner):
            yield from stored(inner)
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                yield from stored(element.value)
