"""Which attributes of self a class sets or fills outside of __init__, by its syntax alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import libcst as cst

INITIALISERS = frozenset({"__init__", "setup", "__post_init__"})
FILLING = frozenset({"append", "extend", "insert", "update", "add", "setdefault", "appendleft"})
RESHAPING = frozenset({"resize_", "resize", "set_", "squeeze_", "unsqueeze_", "t_", "transpose_", "swapaxes_"})
STORES = frozenset({cst.Assign, cst.AnnAssign})
CHANGING = STORES | {cst.AugAssign, cst.Expr}
BLOCKS: Mapping[type[cst.CSTNode], tuple[str, ...]] = {
    **dict.fromkeys((cst.For, cst.While, cst.If), ("body", "orelse")),
    **dict.fromkeys((cst.Try, cst.TryStar), ("body", "orelse", "finalbody", "handlers")),
    **dict.fromkeys((cst.ExceptHandler, cst.ExceptStarHandler, cst.Else, cst.Finally, cst.With), ("body",)),
    **dict.fromkeys((cst.Module, cst.ClassDef, cst.FunctionDef, cst.Lambda, cst.MatchCase), ("body",)),
    **dict.fromkeys((cst.IndentedBlock, cst.SimpleStatementSuite, cst.SimpleStatementLine), ("body",)),
    cst.Match: ("cases",),
}


@lru_cache(maxsize=64)  # a base class is asked for by each of its subclasses
def changed_attributes(node: cst.ClassDef) -> frozenset[str]:
    """Attributes whose value after __init__ says nothing of what other methods find."""
    methods = (part for part in node.body.body if type(part) is cst.FunctionDef)
    return frozenset(
        name
        for method in methods
        for statement in statements(method)
        if type(statement) in CHANGING
        for name in changes(statement)
        if method.name.value not in INITIALISERS or type(statement) not in STORES
    )


@lru_cache(maxsize=64)
def rebound_attributes(node: cst.ClassDef) -> frozenset[str]:
    """Attributes that methods other than __init__ bind anew; an array that is only written into keeps its shape."""
    methods = (part for part in node.body.body if type(part) is cst.FunctionDef)
    return frozenset(
        name
        for method in methods
        if method.name.value not in INITIALISERS
        for statement in statements(method)
        if type(statement) in STORES or type(statement) is cst.Expr
        for name in bound(statement)
    )


def bound(node: cst.CSTNode) -> Iterator[str]:
    """`self.x = y` and `self.x.resize_(n)`, but not `self.x[i] = y` or `self.x.zero_()`."""
    match node:
        case cst.Assign(targets=targets):
            for target in targets:
                yield from bound_names(target.target)
        case cst.AnnAssign(target=target):
            yield from bound_names(target)
        case cst.Expr(value=cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=method)))):
            if method in RESHAPING:
                yield from bound_names(receiver)


def bound_names(target: cst.CSTNode) -> Iterator[str]:
    match target:
        case cst.Attribute(value=cst.Name(), attr=cst.Name(value=name)):
            yield name
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                yield from bound_names(element.value)


@lru_cache(maxsize=64)
def filled_elsewhere(module: cst.Module) -> frozenset[str]:
    """Attributes that a file fills from outside of their class: `self.buffer.states.append(x)`."""
    return frozenset(
        name.value
        for statement in statements(module)
        if type(statement) is cst.Expr
        for name in filled_from_outside(statement.value)
    )


def filled_from_outside(node: cst.BaseExpression) -> Iterator[cst.Name]:
    match node:
        case cst.Call(func=cst.Attribute(value=cst.Attribute(value=owner, attr=name), attr=cst.Name(value=method))):
            is_self = isinstance(owner, cst.Name) and owner.value == "self"
            if method in FILLING and not is_self:
                yield name


def statements(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements inside a compound statement, at any depth."""
    stack: list[Any] = [node]
    while stack:
        current = stack.pop()
        yield current
        for block in BLOCKS.get(type(current), ()):
            inner = getattr(current, block)
            if inner is not None:
                stack.extend(inner) if type(inner) in (tuple, list) else stack.append(inner)


@lru_cache(maxsize=512)
def gives_nothing(node: cst.FunctionDef | cst.Lambda) -> bool:
    """Whether a function returns no value and yields none: it is called for what it checks, prints or changes."""
    return type(node) is cst.FunctionDef and not any(map(gives_value, statements(node)))


def gives_value(statement: cst.CSTNode) -> bool:
    match statement:
        case cst.Return(value=value):
            return value is not None
        case cst.Expr(value=cst.Yield()) | cst.Assign(value=cst.Yield()):
            return True
    return False


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
    if type(target) is cst.Name or type(target) is cst.Call:  # the most frequent ones
        return
    match target:
        case cst.Attribute(value=cst.Name(), attr=cst.Name(value=name)):
            yield name
        case cst.Subscript(value=inner):
            yield from stored(inner)
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                yield from stored(element.value)
