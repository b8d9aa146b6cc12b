"""Methods of lists, tuples, dicts and strings. What changes a container rebinds the name it was reached by."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, takewhile

import libcst as cst

from shapelint.domain.joins import join
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Const,
    Dict,
    Instance,
    Int,
    Layer,
    Many,
    Method,
    Tuple,
    Value,
)
from shapelint.events import Stored
from shapelint.interpreter import attributes, expressions
from shapelint.interpreter.flow import iterators
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments
from shapelint.provenance import meeting

MOST_ITEMS = 16
MOST_AT_END = 4


def call(
    frame: Frame,
    receiver: Tuple | Many | Dict,
    name: str,
    arguments: Arguments,
    node: cst.Call,
    receiver_node: cst.CSTNode | None,
) -> Value:
    """What a method of a container gives, and what it leaves of it; Unknown where the method is not known."""
    known = of_modules(frame, receiver, name, arguments, node)
    if known is not None:
        return known
    if isinstance(receiver, Dict):
        return call_dict(frame, receiver, name, arguments, node)
    if grows(frame, receiver, name, arguments, node, receiver_node):
        return NONE
    match receiver, name, arguments.args:
        case Tuple(kind="size"), "numel", ():
            from shapelint.domain.dims import product

            return Int(product(i.dim for i in receiver.items if isinstance(i, Int)))
        case Tuple(), "copy", ():
            return receiver
        case _, "pop" | "popleft", places:
            item, rest = popped(frame, receiver, 0 if name == "popleft" else place_of(places), node)
            if receiver_node is not None:
                attributes.rebind(frame, receiver_node, rest)
            return item
        case _, "clear" | "remove", _:
            if receiver_node is not None:
                change(frame, receiver_node, fewer(frame, receiver, name == "clear", node), None, node)
            return NONE
        case _, "sort" | "reverse", _:
            if isinstance(receiver, Many) and receiver.tail and receiver_node is not None:
                attributes.rebind(frame, receiver_node, replace(receiver, tail=()))
            return NONE
    return UNKNOWN


def of_modules(
    frame: Frame, receiver: Tuple | Many | Dict, name: str, arguments: Arguments, node: cst.Call
) -> Value | None:
    """What a method gives that lists of modules and ModuleDict have from nn.Module; None for other methods."""
    from shapelint.interpreter import calls

    if isinstance(receiver, Dict) and receiver.kind != "ModuleDict":
        return None
    match name:
        case "parameters" | "named_parameters" | "load_state_dict" | "zero_grad":
            return calls.opaque(frame, Method(receiver, name), arguments, node)
        case "to" | "cuda" | "cpu" | "eval" | "train" | "requires_grad_":
            calls.note_mode(frame, receiver, name, arguments, node)
            return receiver
        case "half" | "float" | "double" | "bfloat16":
            return receiver
    return None


def grows(
    frame: Frame,
    receiver: Tuple | Many,
    name: str,
    arguments: Arguments,
    node: cst.Call,
    receiver_node: cst.CSTNode | None,
) -> bool:
    """Put what a method adds into a list; False where it adds nothing."""
    match name, arguments.args:
        case ("append" | "add" | "appendleft", (item,)) | ("add_module" | "register_module", (_, item)):
            change(frame, receiver_node, appended(frame, receiver, item, node), item, node)
        case "extend", (items,):
            change(frame, receiver_node, extended(frame, receiver, items, node), items, node)
        case "insert", (_, item):
            known = receiver if isinstance(receiver, Many) or receiver.items else Tuple((item,), receiver.kind)
            every_item = either(frame, every(frame, known, node), item, node)
            change(frame, receiver_node, Many(every_item, None, receiver.kind), item, node)
        case "insert", _:
            if receiver_node is not None:
                attributes.rebind(frame, receiver_node, Many(UNKNOWN, kind=receiver.kind))
        case _:
            return False
    return True


def fewer(frame: Frame, receiver: Tuple | Many, is_whole: bool, node: cst.CSTNode) -> Value:
    """A list of which something was taken out, or everything."""
    if is_whole and not frame.branch_depth and receiver.kind == "list":
        return Tuple((), "list")
    if isinstance(receiver, Tuple) and not receiver.items:
        return receiver
    return Many(every(frame, receiver, node), None, receiver.kind)


def emptied(frame: Frame, node: cst.Subscript) -> None:
    """`del items[:]`, `del items[0]`"""
    whole = held(frame, node.value)
    if isinstance(whole, Tuple | Many) and whole.kind == "list":
        match node.slice:
            case (cst.SubscriptElement(slice=cst.Slice(lower=None, upper=None)),):
                change(frame, node.value, fewer(frame, whole, True, node), None, node)
            case _:
                change(frame, node.value, fewer(frame, whole, False, node), None, node)


def place_of(arguments: tuple[Value, ...]) -> int | None:
    """Which item `pop` takes: the last one, unless it is told another."""
    match arguments:
        case ():
            return -1
        case (Int(dim=dim),):
            return dim.value
    return None


def popped(frame: Frame, receiver: Tuple | Many, place: int | None, node: cst.CSTNode) -> tuple[Value, Value]:
    """The item that is taken out, and what is left."""
    if isinstance(receiver, Tuple) and not receiver.items:
        return UNKNOWN, receiver
    if isinstance(receiver, Tuple) and place in {0, -1} and not frame.branch_depth:
        items = receiver.items
        return items[place or 0], Tuple(items[1:] if place == 0 else items[:-1], receiver.kind)
    item = every(frame, receiver, node)
    return item, Many(item, None, receiver.kind)


def appended(frame: Frame, receiver: Tuple | Many, item: Value, node: cst.CSTNode) -> Value:
    if isinstance(receiver, Tuple) and not receiver.items:
        if receiver.kind == "deque":
            return Many(item, None, "list")
        if frame.branch_depth or receiver.kind != "list":
            return Many(item, None, receiver.kind)
        return Tuple((item,), receiver.kind)
    if isinstance(receiver, Tuple) and not frame.branch_depth and len(receiver.items) < MOST_ITEMS:
        return Tuple((*receiver.items, item), receiver.kind)
    known = either(frame, every(frame, receiver, node), item, node)
    return Many(known, None, receiver.kind, () if frame.branch_depth else layers_at_end(receiver, (item,)))


def layers_at_end(receiver: Tuple | Many, items: tuple[Value, ...]) -> tuple[Value, ...]:
    """The layers at the end of a list that more were put to, as far as it is known which."""
    whole = (*(receiver.tail if isinstance(receiver, Many) else receiver.items), *items)
    behind = takewhile(lambda item: type(item) is Layer, reversed(whole))
    return tuple(islice(behind, MOST_AT_END))[::-1]


def either(frame: Frame, known: Value, item: Value, node: cst.CSTNode) -> Value:
    """What the items of a list have in common once there is one more: each of them may be meant."""
    return meeting(join(known, item, frame.place(node)), (known, item), frame.site(node))


def extended(frame: Frame, receiver: Tuple | Many, items: Value, node: cst.CSTNode) -> Value:
    known: Value = UNKNOWN
    match receiver, items:
        case Tuple(), Tuple() if not frame.branch_depth and len(receiver.items) + len(items.items) < MOST_ITEMS:
            return Tuple(receiver.items + items.items, receiver.kind)
        case _, Tuple() | Many():
            known = every(frame, items, node)
            if isinstance(receiver, Many) or receiver.items:
                known = join(every(frame, receiver, node), known, frame.place(node))
    at_end: tuple[Value, ...] = ()
    if isinstance(items, Tuple | Many) and not frame.branch_depth:
        at_end = items.tail if isinstance(items, Many) else layers_at_end(receiver, items.items)
    return iterators.together(frame, (receiver, items), Many(known, None, receiver.kind, at_end), node)


def every(frame: Frame, receiver: Tuple | Many, node: cst.CSTNode) -> Value:
    if isinstance(receiver, Many):
        return receiver.item
    return expressions.joined(list(receiver.items), frame.place(node))


def change(
    frame: Frame, receiver_node: cst.CSTNode | None, value: Value, item: Value | None, node: cst.CSTNode
) -> None:
    """The container behind `receiver_node` is now `value`; an attribute's new element is told to the rules."""
    if receiver_node is None:
        return
    match receiver_node:
        case cst.Attribute(value=inner, attr=cst.Name(value=name)):
            owner = held(frame, inner)
            if isinstance(owner, Instance):
                owner.attributes[name] = value
                if item is not None:
                    tell_stored(frame, owner, name, item, value, node)
                return
        case cst.Subscript(value=cst.Name() | cst.Attribute() | cst.Subscript() as outer):  # groups[key].append(item)
            whole = held(frame, outer)
            if isinstance(whole, Tuple | Many | Dict):
                change(frame, outer, with_changed(frame, whole, receiver_node, value), None, node)
            return
    attributes.rebind(frame, receiver_node, value)


def held(frame: Frame, node: cst.CSTNode) -> Value | None:
    """The container behind a name, an attribute of an object or an item, as far as it is known."""
    match node:
        case cst.Name(value=name):
            return frame.scope.lookup(name)
        case cst.Attribute(value=inner, attr=cst.Name(value=name)):
            owner = held(frame, inner)
            return owner.attributes.get(name) if isinstance(owner, Instance) else None
        case cst.Subscript(value=outer):
            match held(frame, outer):
                case Many(item=item):
                    return item
                case Dict(other=item):
                    return item
    return None


def with_changed(frame: Frame, whole: Tuple | Many | Dict, where: cst.Subscript, value: Value) -> Value:
    """A container one of whose items has changed: which one is not known, so it may be any."""

    def either(item: Value) -> Value:
        return join(item, value, frame.place(where))

    match whole:
        case Tuple(items=items, kind=kind):
            return Tuple(tuple(map(either, items)), kind)
        case Many(item=item):
            return replace(whole, item=either(item), tail=())
        case Dict(items=items, other=other, kind=kind):
            return Dict(
                tuple((key, either(item)) for key, item in items), either(other) if other is not None else None, kind
            )


def tell_stored(frame: Frame, owner: Instance, name: str, item: Value, container: Value, node: cst.CSTNode) -> None:
    kind = container.kind if isinstance(container, Tuple | Many | Dict) else "dict"
    method = frame.function.name if frame.function is not None else ""
    frame.tell(Stored(owner, name, item, frame.site(node), kind, method))


def call_dict(frame: Frame, receiver: Dict, name: str, arguments: Arguments, node: cst.Call) -> Value:
    values = [value for _, value in receiver.items] + ([receiver.other] if receiver.other is not None else [])
    match name, arguments.args:
        case "items", ():
            if receiver.other is None and receiver.items:
                pairs = tuple(Tuple((constant(key), value)) for key, value in receiver.items)
                return Tuple(pairs, "items")
            return Many(Tuple((UNKNOWN, expressions.joined(values, frame.place(node)))), None, "items")
        case "values", ():
            if receiver.other is None and receiver.items:
                return Tuple(tuple(values), "values")
            return Many(expressions.joined(values, frame.place(node)), None, "values")
        case (("get" | "pop" | "setdefault"), (key, *default)):
            found = receiver.get(expressions.key_of(key)) if expressions.key_of(key) is not None else None
            if found is not None:
                return found
            return expressions.joined([*values, *default], frame.place(node)) if default else UNKNOWN
    return UNKNOWN


def constant(key: object) -> Value:
    from shapelint.domain.dims import as_dim

    return Int(as_dim(key)) if isinstance(key, int) and not isinstance(key, bool) else Const(key)


def call_text(receiver: Const, name: str, arguments: Arguments) -> Value:
    if name in {"lower", "upper", "strip"} and not arguments.args:
        return Const(getattr(receiver.value, name)())
    return UNKNOWN
