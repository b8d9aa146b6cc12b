"""Arrays that methods bind anew: `self.std = torch.full((n,), x)` in __init__, and the like of it in another method.

What each of these lines gives is known as far as it hangs on no argument and no local name; what all of them have in
common is known of the attribute. What is computed from the attribute itself, `self.w = self.w - step`, has its shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import libcst as cst

from shapelint.domain.dims import ONE, anonymous
from shapelint.domain.values import UNKNOWN, Axis, Class, Function, Instance, Shape, Tensor, Unknown, Value, maker_of
from shapelint.interpreter.flow.conditions import quietly
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.functions.stores import INITIALISERS, bound_names, changes, statements
from shapelint.interpreter.scopes import Scope

MOST = 6  # lines that bind one attribute
BINDERS = {
    cst.AssignTarget: "target", cst.AnnAssign: "target", cst.AugAssign: "target", cst.NamedExpr: "target",
    cst.For: "target", cst.CompFor: "target", cst.AsName: "name", cst.Param: "name", cst.FunctionDef: "name",
    cst.ClassDef: "name", cst.ImportAlias: "name", cst.MatchAs: "name", cst.MatchStar: "name",
}  # fmt: skip


class Store(NamedTuple):
    """`self.name = value` in a method."""

    method: cst.FunctionDef
    value: cst.BaseExpression


def alike(frame: Frame, instance: Instance, before: Mapping[str, Value]) -> Iterator[tuple[str, Value]]:
    """The attributes of `self` that were arrays `before`, after __init__, are unknown by now, and stay of one rank."""
    found = [
        (name, known)
        for name, value in before.items()
        if type(value) is Tensor and type(instance.attributes[name]) is Unknown
        if (known := common(frame, instance, name, value)) is not None
    ]
    for name, known in found:
        yield name, replace(known, made_by=maker_of(instance.attributes[name]))


def common(frame: Frame, instance: Instance, name: str, before: Tensor) -> Tensor | None:
    """An array of the rank that `before` and all that methods bind the attribute to have; None where they differ."""
    if before.shape.run is not None:
        return None
    values: list[Value] = []
    for ancestor in instance.cls.ancestry():
        if isinstance(ancestor, Class) and ancestor.node is not None:
            found = stores(ancestor.node).get(name, ())
            if found is None or len(values) + len(found) > MOST:
                return None
            values.extend(
                stored(frame, ancestor, instance, store)
                if not is_update(store.value, name)
                else updated(frame, ancestor, instance, store, name, before)
                for store in found
            )
    known: Tensor | None = before
    for value in values:
        if known is None or not isinstance(value, Tensor):
            return None
        known = together(known, value, (instance.cls.name, id(instance.cls), name))
    return known


def is_update(value: cst.BaseExpression, name: str) -> bool:
    """`self.w - step`, `F @ self.w + noise`: the attribute is an operand."""
    match value:
        case cst.BinaryOperation(left=left, right=right):
            return is_update(left, name) or is_update(right, name)
        case cst.Attribute(value=cst.Name(), attr=cst.Name(value=found)):
            return found == name
    return False


def updated(frame: Frame, owner: Class, instance: Instance, store: Store, name: str, before: Tensor) -> Value:
    """An array that takes up what is added to it has the shape it began with, if the line can give that.

    One number is where sums begin, of whatever shape, and one row where sums of rows do.
    """
    sizes = before.shape.sizes
    if ONE in sizes[:-1] or {*sizes} <= {ONE}:
        return UNKNOWN
    entered = instance.attributes[name]
    instance.attributes[name] = before
    value = stored(frame, owner, instance, store)
    instance.attributes[name] = entered
    is_other = isinstance(value, Tensor) and value.shape.rank is not None and value.shape != before.shape
    return UNKNOWN if is_other else replace(before, dtype=None)


def together(a: Tensor, b: Tensor, scope: object) -> Tensor | None:
    """What two arrays of one library and one rank have in common."""
    if a.shape.rank != b.shape.rank or a.library != b.library:
        return None
    known = Tensor(a.shape, a.dtype if a.dtype == b.dtype else None, a.library)
    return known if a.shape == b.shape else replace(known, shape=unknown_sizes(a.shape, scope))


def unknown_sizes(shape: Shape, scope: object) -> Shape:
    return Shape(tuple(Axis(anonymous((scope, index))) for index in range(len(shape.head))))


def stored(frame: Frame, owner: Class, instance: Instance, store: Store) -> Value:
    """What a method binds an attribute to, whatever its arguments and its local names are."""
    from shapelint.interpreter.functions.bodies import frame_of

    function, run = owner.attributes.get(store.method.name.value), frame.run
    if not isinstance(function, Function) or function.node is not store.method:
        return UNKNOWN
    inner = frame_of(frame, function, (owner.name, store.method.name.value, run.next_serial()))
    me, *_ = store.method.params.params
    inner.scope = Scope({**dict.fromkeys(own_names(store.method), UNKNOWN), me.name.value: instance}, function.scope)
    before = run.credit, run.called, run.told, dict(instance.attributes)
    run.called, run.told = dict(run.called), dict(run.told)
    try:
        return quietly(inner, store.value)
    finally:
        run.credit, run.called, run.told, instance.attributes = before


def left_by(frame: Frame, function: Function, instance: Instance, before: Mapping[str, Value]) -> dict[str, Value]:
    """Arrays that this method alone binds, for the others: what `fit` stores, `predict` finds."""
    found: dict[str, Value] = {}
    for name, value in instance.attributes.items():
        earlier = before.get(name)
        if type(value) is not Tensor or value.shape.rank is None or not (earlier is None or type(earlier) is Unknown):
            continue
        changing = {method for node in nodes_of(instance.cls) for method in changed_by(node).get(name, ())}
        if changing != {function.node} or any(name in begun(node) for node in nodes_of(instance.cls)):
            continue
        entered = frame.unknown(name, instance.cls.node or function.node, "attribute", instance)
        found[name] = replace(value, graph=entered.graph, made_by=entered.made_by)
    return found


def nodes_of(cls: Class) -> Iterator[cst.ClassDef]:
    yield from (c.node for c in cls.ancestry() if isinstance(c, Class) and c.node is not None)


@lru_cache(maxsize=64)
def changed_by(node: cst.ClassDef) -> dict[str, tuple[cst.FunctionDef, ...]]:
    """The methods beside __init__ that bind an attribute or write into it."""
    found: dict[str, tuple[cst.FunctionDef, ...]] = {}
    for method in node.body.body:
        if type(method) is cst.FunctionDef and method.name.value not in INITIALISERS:
            for name in {name for statement in statements(method) for name in changes(statement)}:
                found[name] = (*found.get(name, ()), method)
    return found


@lru_cache(maxsize=64)
def begun(node: cst.ClassDef) -> frozenset[str]:
    """The attributes that __init__ binds to more than None."""
    methods = (part for part in node.body.body if type(part) is cst.FunctionDef and part.name.value in INITIALISERS)
    binding = (statement for method in methods for statement in statements(method) if not binds_none(statement))
    return frozenset(name for statement in binding for name in changes(statement))


def binds_none(statement: cst.CSTNode) -> bool:
    match statement:
        case cst.Assign(value=cst.Name(value="None")) | cst.AnnAssign(value=None | cst.Name(value="None")):
            return True
    return False


@lru_cache(maxsize=64)
def stores(node: cst.ClassDef) -> dict[str, tuple[Store, ...] | None]:
    """How the methods of a class bind its attributes outside of __init__; None: not by a plain `self.name = value`."""
    found: dict[str, tuple[Store, ...] | None] = {}
    for method in node.body.body:
        if type(method) is cst.FunctionDef and method.name.value not in INITIALISERS:
            for statement in statements(method):
                for name, store in bindings(method, statement):
                    others = found.get(name, ())
                    found[name] = (*others, store) if store is not None and others is not None else None
    return found


def bindings(method: cst.FunctionDef, statement: cst.CSTNode) -> Iterator[tuple[str, Store | None]]:
    me = method.params.params[0].name.value if method.params.params else ""
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute(value=cst.Name(value=base), attr=attr))]):
            yield attr.value, Store(method, statement.value) if base == me else None
        case cst.Assign(targets=targets):
            yield from ((name, None) for target in targets for name in bound_names(target.target))
        case cst.AnnAssign() | cst.AugAssign() | cst.Expr():
            yield from ((name, None) for name in changes(statement))


@lru_cache(maxsize=64)
def own_names(method: cst.FunctionDef) -> frozenset[str]:
    """All names that a method binds anywhere in it."""
    found: set[str] = set()
    stack: list[cst.CSTNode] = [*method.params.children, method.body]
    while stack:
        current = stack.pop()
        field = BINDERS.get(type(current))
        if field is not None:
            found.update(names_in(getattr(current, field)))
        stack.extend(current.children)
    return frozenset(found) | frozenset(names_in(method.params))


def names_in(node: cst.CSTNode) -> Iterator[str]:
    stack: list[cst.CSTNode] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Name):
            yield current.value
        elif current is not None:
            stack.extend(current.children)
