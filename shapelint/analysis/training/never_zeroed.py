"""Methods that train one step whenever they are called, with an optimizer of their own object that nobody zeroes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shapelint.analysis.control_flow import Act
from shapelint.analysis.index import events_of
from shapelint.analysis.training.actions import Roles, act_of, is_optimizer_object, roles_of
from shapelint.domain.values import Instance, Layer, Method, Unknown, Value
from shapelint.events import Call, Entered, Event, Input, Left, Loop, Stored
from shapelint.provenance import parts

GIVEN = frozenset({"step", "unscale_"})  # methods of scalers
Owned = tuple[int, str]  # a class, and the attribute that holds an optimizer


def never_zeroed(events: Sequence[Event]) -> Iterator[Act]:
    """The steps of such methods. A module that is zeroed somewhere in the file may be the one that they train."""
    roles = roles_of(events)
    if roles is None:
        return
    held = optimizers(events)
    if not held:
        return
    places = {id(value): owned for owned, value in held.items()}
    zeroed: set[Owned] = set()
    clean: set[int] = set()
    for acts in bodies(events, roles):
        each = [(act, owner_of(act.subject, places)) for act in acts]
        if any(act.kind in {"cleared", "managed"} or (act.kind == "zero" and owned is None) for act, owned in each):
            return
        own = {owned for act, owned in each if act.kind == "zero"} if is_backward(acts) else set()
        own &= {owned for act, owned in each if act.kind == "step"}  # what is zeroed for a step here is for this alone
        clean.update(id(act.event) for act, owned in each if owned in own)
        zeroed.update(owned for act, owned in each if act.kind in {"zero", "unclear"} and owned and owned not in own)
    for call in events_of(events, Call):
        is_step = isinstance(call.callee, Method) and call.callee.name in GIVEN
        for value in () if is_step else parts((*call.args, *(value for _, value in call.kwargs))):
            owned = owner_of(value, places)
            if owned is not None:
                zeroed.add(owned)  # who is given it may do anything with it
    for act in single_steps(events, roles):
        owned = owner_of(act.subject, places)
        if owned in held and owned not in zeroed and id(act.event) not in clean:
            yield act


def is_backward(acts: Sequence[Act]) -> bool:
    return any(act.kind in {"backward", "maybe scaled"} for act in acts)


def bodies(events: Sequence[Event], roles: Roles) -> Iterator[list[Act]]:
    """What is done with gradients in the body of each function, and on the top level."""
    stack: list[list[Act]] = [[]]
    for event in events:
        if type(event) is Entered:
            stack.append([])
        elif type(event) is Left and len(stack) > 1:
            yield stack.pop()
        else:
            act = act_of(event, roles)
            if act is not None:
                stack[-1].append(act)
    yield from stack


def optimizers(events: Sequence[Event]) -> Mapping[Owned, Value]:
    """What an object builds when it is made, and keeps: attributes that hold optimizers and nothing else."""
    found: dict[Owned, Value] = {}
    others: set[Owned] = set()
    for event in events_of(events, Stored):
        owned = id(event.owner.cls), event.attribute
        if is_optimizer_object(event.value) and event.container is None and event.method == "__init__":
            found[owned] = event.value
        else:
            others.add(owned)
    return {owned: value for owned, value in found.items() if owned not in others}


def owner_of(value: Value, places: Mapping[int, Owned]) -> Owned | None:
    match value:
        case Layer():
            return places.get(id(value))
        case Unknown(made_by=Input(kind="attribute", source=Instance(cls=cls), name=name)):
            return id(cls), name
    return None


def single_steps(events: Sequence[Event], roles: Roles) -> Iterator[Act]:
    """Steps outside of loops, behind a backward() of the same method."""
    stack: list[tuple[Entered, list[bool]]] = []  # methods that are being evaluated, and whether they went backward
    loops = 0
    for event in events:
        kind = type(event)
        if kind is Entered:
            stack.append((event, [False]))  # type: ignore[arg-type]
        elif kind is Left and stack:
            stack.pop()
        elif kind is Loop:
            round_ = event.round  # type: ignore[union-attr]
            loops = max(loops - 1, 0) if round_ is None else loops + (round_ == 0)
        elif len(stack) == 1 and not loops and stack[0][0].owner is not None:
            act = act_of(event, roles)
            if act is not None and is_backward([act]):
                stack[0][1][0] = True
            elif act is not None and act.kind == "step" and stack[0][1][0]:
                yield act
