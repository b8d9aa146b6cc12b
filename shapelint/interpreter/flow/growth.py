"""What grows from round to round: `total += x`, `losses.append(x)`, `self.history[k].append(x)`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import libcst as cst

from shapelint.domain.formats import NARROW
from shapelint.domain.values import (
    UNKNOWN,
    Dict,
    Float,
    Instance,
    Int,
    Layer,
    Library,
    Many,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    maker_of,
)
from shapelint.events import Call, Carried, Grown, Operation, Written
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.functions.stores import statements
from shapelint.interpreter.scopes import Path

APPENDING = frozenset({"append", "appendleft", "extend", "insert", "add", "clear"})
BINDING = frozenset({cst.For, cst.AnnAssign, cst.Del, cst.Expr, cst.With})
RECORDS = Tensor | Unknown | Tuple | Dict | Union


def appended(frame: Frame, node: cst.Call, receiver: Value, args: tuple[Value, ...]) -> None:
    """Tell the rules of `receiver.append(value)` and `receiver.clear()`; adding to a tensor is no growth."""
    if not args and isinstance(node.func, cst.Attribute):
        emptied(frame, node.func.value, node)
    if args and isinstance(node.func, cst.Attribute) and not isinstance(receiver, Tensor):
        is_set = node.func.attr.value == "add" and not isinstance(receiver, Tuple | Many)
        if isinstance(receiver, Instance) or is_foreign(receiver) or is_set:
            return  # meter.add(loss): what it keeps of it is the meter's own affair
        grown(frame, node.func.value, args[-1], node)


def is_foreign(receiver: Value) -> bool:
    """Whether a library made it, and no list: a metric takes what it is given and keeps a number of it."""
    maker = maker_of(receiver)
    callee = maker.callee if isinstance(maker, Call) and isinstance(receiver, Unknown) else None
    return isinstance(callee, Library) and callee.name.partition(".")[0] not in {"builtins", "collections", "queue"}


def emptied(frame: Frame, target: cst.CSTNode, node: cst.CSTNode) -> None:
    """Tell the rules of `self.losses.clear()` and `del policy.rewards[:]`: a list that is an attribute begins anew."""
    if isinstance(target, cst.Attribute):
        frame.tell(Written(UNKNOWN, target.attr.value, Tuple((), "list"), frame.site(node)))


def grown(frame: Frame, target: cst.CSTNode, value: Value, node: cst.CSTNode) -> None:
    """Tell the rules that what stands at `target` grows by a value, where it may outlive a round of a loop."""
    if not isinstance(value, RECORDS | Layer | Instance) or not has_graphs(frame):
        return
    name, owner = accumulator(frame, target)
    outer = owner is None and is_outer(frame, name)
    if name and (frame.loops or owner is not None or outer):
        outlived = tuple(frame.site(loop) for loop in surviving(frame, name))
        frame.tell(Grown(name, value, frame.site(node), outlived, owner, frame.regions, outer))


def summed(frame: Frame, target: cst.Subscript, value: Value, node: cst.CSTNode) -> None:
    """`totals[k] = totals.get(k, 0.0) + x` is `totals[k] += x`."""
    maker = maker_of(value)
    if not isinstance(maker, Operation) or maker.name != "add" or type(maker.site.node) is not cst.BinaryOperation:
        return
    match maker.site.node.left:
        case cst.Call(func=cst.Attribute(value=table, attr=cst.Name(value="get" | "pop" | "setdefault"))):
            is_same = True
        case cst.Subscript(value=table) as item:
            is_same = item.deep_equals(target)
        case _:
            return
    if is_same and table.deep_equals(target.value):
        grown(frame, target, maker.values[-1], node)


def is_outer(frame: Frame, name: str) -> bool:
    """Whether a list or sum of what is around a function grows in it: in a closure, or one of the module's own."""
    if frame.function is None or "." in name or name in frame.scope.names:
        return False
    is_known = isinstance(frame.scope.lookup(name), Tuple | Many | Dict | Int | Float | Tensor)
    return is_known and name not in begun_somewhere(frame.scope.file()[0])


@lru_cache(maxsize=4)
def begun_somewhere(module: cst.Module) -> frozenset[str]:
    """What any loop of a file begins anew."""
    loops = (statement for statement in statements(module) if type(statement) in {cst.For, cst.While})
    return frozenset(name for loop in loops for name in begun(loop))


def carried(frame: Frame, loop: cst.CSTNode, entry: Path) -> None:
    """Tell the rules what a round of a loop leaves to the next one."""
    if not frame.alive:
        return
    graphs = has_graphs(frame)
    for name, before in entry.names.items():
        after = frame.scope.names.get(name)
        counts = graphs or (isinstance(after, Tensor) and after.dtype in NARROW)
        if after is not before and isinstance(after, RECORDS) and counts:
            frame.tell(Carried(name, before, after, frame.site(loop)))


def replaced(frame: Frame, target: cst.CSTNode, before: Value, after: Value) -> None:
    """Tell the rules that an item of a list that outlives rounds is replaced: `states[i] = cell(x, states[i])`."""
    if frame.loops and isinstance(after, RECORDS) and has_graphs(frame):
        name, _ = accumulator(frame, target)
        for loop in surviving(frame, name) if name else ():
            frame.tell(Carried(name, before, after, frame.site(loop)))


def has_graphs(frame: Frame) -> bool:
    """Only torch keeps the graph of what is kept."""
    return "torch" in frame.run.libraries


def accumulator(frame: Frame, target: cst.CSTNode) -> tuple[str, Instance | None]:
    """What holds the values, and whose it is: `losses` of losses["a"], `self.history` of self.history[k]."""
    match target:
        case cst.Name(value=name):
            return name, None
        case cst.Attribute(value=cst.Name(value=base), attr=cst.Name(value=attribute)):
            owner = frame.scope.lookup(base)
            return f"{base}.{attribute}", owner if isinstance(owner, Instance) else None
        case cst.Attribute(value=inner) | cst.Subscript(value=inner):
            return accumulator(frame, inner)
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="setdefault"))):
            return accumulator(frame, inner)
    return "", None


def surviving(frame: Frame, name: str) -> Iterator[cst.CSTNode]:
    """The loops around, innermost first, that do not begin it anew in each round."""
    for loop in reversed(frame.loops):
        if begins(frame, loop, name):
            return
        yield loop


def begins(frame: Frame, loop: cst.CSTNode, name: str) -> bool:
    """Whether a loop binds a name, or what it is an attribute of, in its body."""
    known = frame.run.begun
    if id(loop) not in known:
        known[id(loop)] = frozenset(begun(loop))
    return name in known[id(loop)] or name.partition(".")[0] in known[id(loop)]


def may_change(frame: Frame, test: cst.CSTNode) -> bool:
    """Whether a loop around binds the name or the attribute that a test asks for: `if is_last:`."""
    if not frame.loops:
        return False
    if isinstance(test, cst.BooleanOperation):
        return may_change(frame, test.left) or may_change(frame, test.right)
    while isinstance(test, cst.UnaryOperation | cst.Comparison):
        test = test.expression if isinstance(test, cst.UnaryOperation) else test.left
    name, _ = accumulator(frame, test)
    return bool(name) and any(begins(frame, loop, name) for loop in frame.loops)


def begun(loop: cst.CSTNode) -> Iterator[str]:
    """The names and attributes that a loop binds, empties or deletes somewhere in its body."""
    for statement in statements(loop):
        if type(statement) is cst.Assign:  # the frequent case
            for assigned in statement.targets:
                yield from bound(assigned.target)
        if type(statement) not in BINDING:
            continue
        match statement:
            case cst.For(target=target):
                yield from bound(target)
            case cst.AnnAssign(target=target) | cst.Del(target=target):
                yield from bound(target)
            case cst.Expr(value=cst.Call(func=cst.Attribute(value=target, attr=cst.Name(value="clear")))):
                yield from bound(target)
            case cst.With(items=items):
                for item in items:
                    if item.asname is not None:
                        yield from bound(item.asname.name)


def bound(target: cst.CSTNode) -> Iterator[str]:
    if type(target) is cst.Name:
        yield target.value
        return
    match target:
        case cst.Attribute(value=cst.Name(value=base), attr=cst.Name(value=name)):
            yield f"{base}.{name}"
        case cst.Subscript(value=inner, slice=[cst.SubscriptElement(slice=cst.Slice())]):
            yield from bound(inner)  # losses[:] = [], del losses[:]
        case cst.StarredElement(value=inner):
            yield from bound(inner)
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                yield from bound(element.value)
