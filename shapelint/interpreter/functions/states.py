"""Objects that methods change: what a call depends on beside its arguments, and what it leaves behind."""

from __future__ import annotations

from functools import lru_cache

import libcst as cst

from shapelint.domain.dims import size
from shapelint.domain.joins import join, widened
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Class,
    Dict,
    Function,
    Instance,
    Layer,
    Many,
    Method,
    Tensor,
    Tuple,
    Union,
    Value,
    maker_of,
)
from shapelint.events import Joined
from shapelint.interpreter.frame import Effects, Frame
from shapelint.interpreter.functions.stores import changed_attributes, filled_elsewhere, rebound_attributes
from shapelint.interpreter.operations import Arguments
from shapelint.provenance import originate

EMPTY = Tuple((), "list")
IN_PLACE = frozenset({"numpy", "torch"})  # += writes into their arrays; in jax it makes another
Places = list[tuple[Instance, str]]


@lru_cache(maxsize=256)
def changed_later(cls: Class) -> tuple[str, ...]:
    """Attributes that methods other than __init__ set or fill, here or in a base class; in a fixed order."""
    names = {
        name
        for ancestor in cls.ancestry()
        if isinstance(ancestor, Class) and ancestor.node is not None
        for name in changed_attributes(ancestor.node)
    }
    return tuple(sorted(names))


@lru_cache(maxsize=256)
def rebound_later(cls: Class) -> frozenset[str]:
    """Those of `changed_later` that are bound anew, not only written into: `self.x[i] = y`, `self.x += y`."""
    nodes = [ancestor.node for ancestor in cls.ancestry() if isinstance(ancestor, Class) and ancestor.node is not None]
    return frozenset(name for node in nodes for name in rebound_attributes(node))


def keeps_shape(cls: Class, name: str, value: Value) -> bool:
    """Whether an attribute is an array that methods only write into: what it holds changes, its shape does not."""
    return isinstance(value, Tensor) and value.library in IN_PLACE and name not in rebound_later(cls)


def changeable(arguments: Arguments, module: cst.Module | None = None) -> Places:
    """The attributes that a call may change: of the objects that it is given, and of those that they hold.

    `module` is the file of the function that is called: it may fill lists of objects from outside of their class.
    """
    given = [value for value in (*arguments.args, *arguments.kwargs.values()) if isinstance(value, Instance)]
    if not given:
        return []
    held = [value for owner in given for value in owner.attributes.values() if isinstance(value, Instance)]
    filled = filled_elsewhere(module) if module is not None else frozenset()
    return [
        (owner, name)
        for owner in dict.fromkeys([*given, *held])
        for name in dict.fromkeys([*changed_later(owner.cls), *(n for n in owner.attributes if n in filled)])
    ]


def called_back(frame: Frame, arguments: Arguments, node: cst.CSTNode) -> None:
    """After minimize(self.loss, x) or minimize(lambda p: self.loss(p), x) nothing is known of what loss may change."""
    owners: list[Value] = []
    for value in (*arguments.args, *arguments.kwargs.values()):
        if type(value) is Method:
            owners.append(value.receiver)
        elif type(value) is Function and isinstance(value.node, cst.Lambda) and frame.owner is not None:
            owners.append(frame.owner)
    if owners:
        lose(frame, changeable(Arguments(tuple(owners))), node)


def state(places: Places) -> Effects:
    return tuple(owner.attributes.get(name) for owner, name in places)


def leave(frame: Frame, places: Places, before: Effects, after: Effects, node: cst.CSTNode) -> None:
    """What a call made of the attributes; where it may not have happened, what both states have in common."""
    for (owner, name), old, new in zip(places, before, after):
        if new is None or new is old:
            continue
        if frame.branch_depth and old not in (None, NONE):  # None: not yet, and who asks for it knows that it is there
            scope = (frame.key, id(owner), name)
            both = Joined((old, new), frame.site(node))
            new = widened(join(old, new, scope), (scope, len(frame.run.events)))
            new = new if maker_of(new) is not None else originate(new, both)
        owner.attributes[name] = new


def lose(frame: Frame, places: Places, node: cst.CSTNode) -> None:
    """After a call that was not followed nothing is known of what it may have changed."""
    for owner, name in places:
        old = owner.attributes.get(name)
        if old is not None and not is_part(old):
            symbol = size(name, (owner.cls.name, id(owner), frame.run.next_serial()))
            owner.attributes[name] = frame.unknown(name, node, "attribute", owner, symbol)


def is_part(value: Value) -> bool:
    """Layers, modules and containers of them are what they are, whatever is added later."""
    match value:
        case Tuple(items=items) | Union(options=items):
            return bool(items) and all(is_part(item) for item in items)
        case Many(item=item):
            return is_part(item)
    return isinstance(value, Layer | Instance)


def empty_filled(instance: Instance, module: cst.Module) -> None:
    """Lists that are filled by whoever holds the object are not as __init__ left them; nor do any stay empty."""
    names = filled_elsewhere(module)
    for owner in (instance, *(value for value in instance.attributes.values() if isinstance(value, Instance))):
        for name, value in owner.attributes.items():
            if name not in names and value != EMPTY:
                continue
            match value:
                case Tuple(kind="list" | "deque") | Many(kind="list") as filled if not is_part(filled):
                    owner.attributes[name] = Many(UNKNOWN, None, "list")
                case Dict():
                    owner.attributes[name] = Dict((), UNKNOWN)
