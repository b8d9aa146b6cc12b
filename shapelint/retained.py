"""Graphs that are kept from one step of training to the next: sums and lists of attached values, carried states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.dataflow import Flow, flow_of
from shapelint.events import (
    Call,
    Carried,
    Entered,
    Event,
    Grown,
    Input,
    Item,
    Joined,
    Loop,
    Operation,
    Stored,
    Written,
    sources,
)
from shapelint.gradients import losses
from shapelint.index import events_of, once_per_file, places_of
from shapelint.record import record
from shapelint.registration import is_module
from shapelint.spans import Span, around, spans_of, starts
from shapelint.switched import SWITCHES, handled, is_among, is_without_gradients, source_of
from shapelint.values import Dict, Function, Instance, Library, Many, Method, Tuple, Union, Unknown, Value, maker_of

MOST_REACHED = 20_000
OF_MODULES = frozenset(
    {"parameters", "named_parameters", "eval", "train", "zero_grad", "state_dict", "load_state_dict"}
)


@record(eq=False)
class Kept:
    """What keeps its graph: where, by what name, and how ("grows", "carried", "state", "evaluation")."""

    event: Event
    name: str
    how: str
    source: Event | None = None  # what computed the value


@record(eq=False)
class Reached:
    """What the losses of a file are computed from: the events, and what came to them in lists and dicts."""

    events: frozenset[int]
    pooled: frozenset[int]
    items: frozenset[tuple[int, str]]  # parts of what calls give, by place and name: they come again in each round
    attributes: frozenset[str]  # of objects


def makers(value: Value | None) -> Iterator[Event]:
    """What made a value, or the parts of it."""
    match value:
        case Tuple(items=items) | Union(options=items):
            for item in items:
                yield from makers(item)
        case Many(item=item):
            yield from makers(item)
        case Dict(items=pairs, other=other):
            for _, item in pairs:
                yield from makers(item)
            yield from makers(other)
        case None:
            return
    maker = maker_of(value)
    if isinstance(maker, Item):
        yield maker.of
    elif isinstance(maker, Joined):
        yield maker
        for option in maker.options:
            yield from makers(option) if maker_of(option) is not maker else ()
    elif maker is not None:
        yield maker


@once_per_file
def _reached(events: Sequence[Event]) -> Iterator[Reached]:
    flow = flow_of(events)
    queue = [maker for value, _, is_certain in losses(events) if is_certain for maker in makers(value)]
    seen = {id(event) for event in queue}
    pooled: set[int] = set()
    attributes: set[str] = set()
    items: set[tuple[int, str]] = set()
    for event in queue:
        if isinstance(event, Input) and event.kind == "item":
            items.add((id(event.site.node), event.name))
        if isinstance(event, Input) and event.kind == "attribute":
            attributes.add(event.name)
        for value in (*given(event), *flow.stored(event)):
            found = list(makers(value))
            if isinstance(value, Tuple | Many | Dict):
                pooled.update(map(id, found))
            for maker in (*found, *(sources(event) if isinstance(event, Item) else ())):
                if id(maker) not in seen and len(seen) < MOST_REACHED:
                    seen.add(id(maker))
                    queue.append(maker)
    yield Reached(frozenset(seen), frozenset(pooled), frozenset(items), frozenset(attributes))


def holders(value: Value | None) -> Iterator[Event]:
    """What made a value, or the record that it is taken from: output["loss"]."""
    for maker in makers(value):
        yield maker
        if isinstance(maker, Input) and maker.kind == "item":
            yield from holders(maker.source)


def trusting(events: Sequence[Event], reached: Reached) -> Flow:
    """The data flow in which an unknown callee is attached only if it is a module, or a loss hangs on what it gave."""
    modules = frozenset(
        source_of(call.callee.receiver)
        for call in events_of(events, Call)
        if isinstance(call.callee, Method) and call.callee.name in OF_MODULES
    )
    frozen = handled(events)

    direct = {id(maker) for value, _, is_certain in losses(events) if is_certain for maker in holders(value)}

    def is_doubtful(call: Call | Input) -> bool:
        if isinstance(call, Input):
            made = maker_of(call.source) if call.source is not None else None
            is_part = (id(call.site.node), call.name) in reached.items
            return not is_part and not (isinstance(made, Call) and is_among(source_of(made.callee), modules))
        if id(call) in direct or (id(call) in reached.events and not isinstance(call.callee, Method)):
            return False
        source = source_of(call.callee)
        return not is_among(source, modules) or is_among(source, frozen)

    return Flow(events, doubts=is_doubtful)


@once_per_file
def retained(events: Sequence[Event]) -> Iterator[Kept]:
    """Each place where a graph is kept, once."""
    seen: set[int] = set()
    for kept in _retained(events):
        if id(kept.event.site.node) not in seen:
            seen.add(id(kept.event.site.node))
            yield kept


def _retained(events: Sequence[Event]) -> Iterator[Kept]:
    grown, carried = places_of(events, Grown), places_of(events, Carried)
    backward = starts(events)
    if not (backward or evaluations(events)) or not (grown or carried or places_of(events, Stored)):
        return
    spans, reached = spans_of(events), _reached(events)[0]
    flow = trusting(events, reached)
    for place in grown:
        event = events[place]
        assert isinstance(event, Grown)
        value = attached_part(flow, event.value)
        if value is None or is_without_gradients(event.regions):
            continue
        outer = around(spans, place)
        if is_used(event, reached, events, place) or is_changed(event, events):
            continue
        if backward and any(span.holds(backward) for span in lived_through(event, outer, events)):
            yield Kept(event, event.name, "grows", value)
        elif is_evaluation(events, flow, event, outer, backward):
            yield Kept(event, event.name, "evaluation", value)
    for place in carried if backward else ():
        event = events[place]
        assert isinstance(event, Carried)
        loop = next((span for span in around(spans, place) if isinstance(span.event, Loop)), None)
        if loop is not None and loop.holds(backward):
            maker = carries(flow, event)
            if maker is not None:
                yield Kept(maker, event.name, "carried", maker)
    yield from states(events, flow)
    yield from reported(events, flow, spans, backward)


def attached_part(flow: Flow, value: Value) -> Event | None:
    """What made the attached tensor that a value is or holds."""
    for maker in makers(value):
        if isinstance(maker, Operation | Call | Joined) and flow.of(maker).live:
            return maker
    return None


def is_used(event: Grown, reached: Reached, events: Sequence[Event], place: int) -> bool:
    """Whether what grows is back-propagated itself: a sum over time, a list of log-probabilities."""
    attribute = event.name.rpartition(".")[2]
    if "." in event.name and attribute in reached.attributes:
        return True
    if any(id(maker) in reached.pooled for maker in makers(event.value)):
        return True
    before = events[place - 1] if place else None
    return before is not None and before.site.node is event.site.node and id(before) in reached.events


def is_changed(event: Grown, events: Sequence[Event]) -> bool:
    """Whether a part of a record was replaced before: output["loss"] = output["loss"].detach()."""
    found = {id(maker) for maker in makers(event.value)}
    return any(found & {id(maker) for maker in makers(e.owner)} for e in events_of(events, Written))


def lived_through(event: Grown, outer: list[Span], events: Sequence[Event]) -> Iterator[Span]:
    """The loops that what grows outlives; for an attribute also the method, and the loops of its callers."""
    nodes = {id(site.node) for site in event.loops}
    for span in outer:
        is_loop_around = isinstance(span.event, Loop) and id(span.event.site.node) in nodes
        if is_loop_around or (event.owner is not None and not begins_anew(event, span, events)):
            yield span


def begins_anew(event: Grown, span: Span, events: Sequence[Event]) -> bool:
    """Whether an attribute is set to something else in a span, or emptied anywhere."""
    attribute = event.name.rpartition(".")[2]
    if any(written.attribute == attribute for written in events_of(events, Written)):
        return True
    for place in range(span.start, span.end):
        match events[place]:
            case Stored(owner=owner, attribute=name, container=None, site=site) if name == attribute:
                if event.owner is not None and owner.cls is event.owner.cls and site.node is not event.site.node:
                    return True
    return False


def evaluations(events: Sequence[Event]) -> bool:
    return any(isinstance(c.callee, Method) and c.callee.name == "eval" for c in events_of(events, Call))


def is_evaluation(
    events: Sequence[Event], flow: Flow, event: Grown, outer: list[Span], backward: Sequence[int]
) -> bool:
    """Whether a list is filled in a function that puts its model into evaluation mode and computes no gradients."""
    function = next((span for span in outer if isinstance(span.event, Entered)), None)
    if function is None or not event.loops or function.holds(backward) or not is_alone(function.event):
        return False
    inside = events[function.start : function.end]
    if any(isinstance(e, Operation) and e.name in {"grad", "requires_grad_", "numpy"} for e in inside):
        return False
    calls = [e for e in inside if isinstance(e, Call)]
    if any(isinstance(c.callee, Library) and c.callee.name in SWITCHES for c in events_of(events, Call)):
        return False
    evaluated = {
        source_of(c.callee.receiver) for c in calls if isinstance(c.callee, Method) and c.callee.name == "eval"
    }
    return bool(evaluated & flow.hold(event.value).live) and not is_called_without_gradients(events, function.event)


def is_alone(event: Loop | Entered) -> bool:
    """Whether a function is evaluated on its own, and not for a caller."""
    return isinstance(event, Entered) and not event.at_call


def is_called_without_gradients(events: Sequence[Event], entered: Loop | Entered) -> bool:
    return isinstance(entered, Entered) and any(
        call.callee is entered.function and is_without_gradients(call.regions) for call in events_of(events, Call)
    )


def carries(flow: Flow, event: Carried) -> Event | None:
    """What computes the value of this round from that of the round before, without leaving the graph."""
    before = {id(maker) for maker in makers(event.before)}
    if not before:
        return None
    for maker in makers(event.after):
        if id(maker) not in before and not isinstance(maker, Joined) and hangs_on(flow, maker, before):
            return maker
    return None


def hangs_on(flow: Flow, event: Event, before: set[int]) -> bool:
    """Whether a gradient flows from an event to one of others."""
    queue, seen = [event], {id(event)}
    for current in queue:
        if isinstance(current, Operation | Call | Joined | Item) and not flow.of(current).live:
            continue
        for earlier in operand_makers(current):
            if id(earlier) in before and not isinstance(current, Joined):
                return isinstance(earlier, Input) or bool(flow.of(earlier).live) or not isinstance(earlier, Operation)
            if id(earlier) not in before and id(earlier) not in seen and len(seen) < 300:
                seen.add(id(earlier))
                queue.append(earlier)
    return False


def operand_makers(event: Event) -> Iterator[Event]:
    for value in given(event):
        yield from makers(value)
    if isinstance(event, Item):
        yield event.of


def given(event: Event) -> tuple[Value, ...]:
    """What an event works on; of a call not the callable itself, but the object whose method it is, and the result."""
    if not isinstance(event, Call):
        return event.values
    receiver = (event.callee.receiver,) if isinstance(event.callee, Method) else ()
    result = (event.result,) if isinstance(event.callee, Function) else ()
    return (*event.args, *(value for _, value in event.kwargs), *receiver, *result)


def states(events: Sequence[Event], flow: Flow) -> Iterator[Kept]:
    """Attributes of a module that forward computes from themselves: a recurrent state that no method begins anew."""
    stored: dict[tuple[int, str], list[Stored]] = {}
    for event in events_of(events, Stored):
        if event.container is None and event.method not in {"__init__", "setup"}:
            stored.setdefault((id(event.owner.cls), event.attribute), []).append(event)
    written = {event.attribute for event in events_of(events, Written)}
    for (_, attribute), places in stored.items():
        if attribute in written or not is_module(places[0].owner):
            continue
        feeding = {id(place.site.node): feeds_itself(flow, place) for place in places}
        if all(maker is not None for maker in feeding.values()):
            yield Kept(places[0], f"self.{attribute}", "state", feeding[id(places[0].site.node)])


def reported(events: Sequence[Event], flow: Flow, spans: Sequence[Span], backward: Sequence[int]) -> Iterator[Kept]:
    """Methods that put what they are given into a list of their object, called with attached values in training.

    The object is unknown where they are called: any class of the file with a method of that name may be its own.
    """
    called = {
        call.callee.name
        for place in (places_of(events, Call) if backward else ())
        if isinstance(call := events[place], Call) and isinstance(call.callee, Method)
        if isinstance(call.callee.receiver, Unknown)
        and any(attached_part(flow, value) is not None for value in (*call.args, *dict(call.kwargs).values()))
        and any(isinstance(span.event, Loop) and span.holds(backward) for span in around(spans, place))
    }
    attached = Flow(events, seeds=None) if called else flow
    for place in places_of(events, Grown) if called else ():
        event = events[place]
        assert isinstance(event, Grown)
        entered = next((s.event for s in around(spans, place) if isinstance(s.event, Entered)), None)
        if entered is None or entered.at_call or event.owner is None or entered.function.name not in called:
            continue
        computed = [maker for maker in makers(event.value) if isinstance(maker, Operation)]
        is_attached = attached_part(attached, event.value) is not None and all(attached.of(m).live for m in computed)
        if is_attached and not has_other_stores(events, event.owner, event.name.rpartition(".")[2]):
            clone = next((maker for maker in computed if maker.name == "clone"), None)
            yield Kept(event if clone is None else clone, event.name, "grows")


def has_other_stores(events: Sequence[Event], owner: Instance, attribute: str) -> bool:
    return any(
        e.owner.cls is owner.cls and e.attribute == attribute and e.container is None and e.method != "__init__"
        for e in events_of(events, Stored)
    )


def feeds_itself(flow: Flow, stored: Stored) -> Event | None:
    """What computes the new value of an attribute from the old one, without leaving the graph."""
    for maker in makers(stored.value):
        if not flow.of(maker).live:
            continue
        queue, seen = [maker], {id(maker)}
        for current in queue:
            if isinstance(current, Input):
                if is_attribute(current, stored):
                    return maker
                continue
            if isinstance(current, Operation | Call) and not flow.of(current).live:
                continue
            for earlier in operand_makers(current):
                if id(earlier) not in seen and len(seen) < 300:
                    seen.add(id(earlier))
                    queue.append(earlier)
    return None


def is_attribute(event: Input, stored: Stored) -> bool:
    """Whether a value is read from the attribute that is stored."""
    source = event.source
    is_own = isinstance(source, Instance) and source.cls is stored.owner.cls
    return event.kind == "attribute" and event.name == stored.attribute and is_own
