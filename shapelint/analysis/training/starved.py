"""What gets no gradient from anything, though an optimizer holds it or a forward computes with it: where it is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.gradients.dataflow import Cut, Flow, flow_of
from shapelint.analysis.gradients.dead_terms import dead_terms, is_made, losses
from shapelint.analysis.gradients.detached_activations import (
    ARRAYS,
    WHOLE,
    asked_for,
    behind,
    detached_activations,
    left_in_forward,
    trained,
    written,
)
from shapelint.analysis.gradients.effects import computed_with, cuts, is_flat, rebuilds
from shapelint.analysis.gradients.frozen import handled, is_among, optimized, parts_of, switched_off
from shapelint.analysis.gradients.reachability import makers
from shapelint.analysis.index import events_of, once_per_file
from shapelint.analysis.registration import WEIGHTED_LAYERS, is_layer_class, is_module, steps_of
from shapelint.analysis.training.misdirected_losses import misdirected_terms
from shapelint.domain.record import record
from shapelint.domain.values import Function, Instance, Layer, Method, Tuple, Value, maker_of
from shapelint.events import Call, Entered, Event, Grown, Kind, Operation, Region, Returned, Stored
from shapelint.provenance import ancestors

MOST_SEEN = 400
OWN = frozenset({"weight", "bias"})  # of a class that derives from a layer of torch


@record(eq=False)
class End:
    """Something that a gradient starts from, and what should get one from it."""

    value: Value
    event: Event
    wanted: frozenset[object]
    is_loss: bool


@once_per_file
def starved(events: Sequence[Event]) -> Iterator[tuple[Cut, Event]]:
    """Where what should train is lost for good, and what goes on with the rest of it.

    The layers and Parameters that an optimizer is given, on the way to a loss; those of a module that computes with
    them in its forward, on the way to what it returns beside others that are attached.
    """
    if not any(type(e) is Region or (type(e) is Operation and (cuts(e) or rebuilds(e) or is_flat(e))) for e in events):
        return
    flow, told, seen = flow_of(events), set[int](), set[object]()
    for end in ends(events):
        live = flow.any_of(parts_of_end(end)).live if end.wanted else frozenset()
        wanted = end.wanted - live - unseen(live, end.wanted)  # what is cut in one term is attached in another
        if not live or not wanted:
            continue  # the cheap questions first
        idle = kept(events)[0] | (reaching(events)[0] if end.is_loss else trained(events))
        told |= reported(events)[0]
        wanted -= idle
        for part in parts_of_end(end) if wanted else ():
            for cut, consumer in ends_behind(flow, part):
                lost = frozenset(o for o in cut.lost & wanted if not is_among(o, idle) and o not in seen)
                if lost and is_meant_to_train(flow, end, part, cut, consumer, lost):
                    seen |= lost
                    if id(cut.event.site.node) not in told:
                        told.add(id(cut.event.site.node))
                        yield Cut(cut.event, lost, cut.inside, cut.run & lost), end.event


@once_per_file
def reported(events: Sequence[Event]) -> Iterator[frozenset[int]]:
    """The nodes of the cuts that others tell of, and of what cannot be told apart from them."""
    told = [dead.cut for dead in dead_terms(events)]
    told += (term.cut for term in misdirected_terms(events))
    told += (cut for cut, _ in detached_activations(events))
    told += left_in_forward(events)
    yield frozenset(id(cut.event.site.node) for cut in told)


@once_per_file
def kept(events: Sequence[Event]) -> Iterator[frozenset[object]]:
    """What may get its gradient where this file does not show it: what others handle, and what is remembered."""
    yield handled(events).union(remembered(events))


def remembered(events: Sequence[Event]) -> Iterator[object]:
    """What an attribute or a list holds attached: a loss may be made of it elsewhere. And what is written into."""
    flow = flow_of(events)
    for step in steps_of(events, Stored, Grown):
        event = step.event
        if isinstance(event, Grown) or (isinstance(event, Stored) and event.method != "__init__"):
            yield from flow.hold(event.value).live
    yield from written(events)
    for call in events_of(events, Call):
        match call.callee:
            case Method(receiver=Instance() as owner, name="forward", function=None):
                yield owner  # super().forward(x) of a class that derives from a layer


@once_per_file
def reaching(events: Sequence[Event]) -> Iterator[frozenset[object]]:
    """All that gets a gradient from a loss, or from what is returned by functions that nobody calls here."""
    flow = flow_of(events)
    called = {id(event.function.node) for event in events_of(events, Entered) if event.at_call}
    own = (step for step in steps_of(events, Returned) if len(step.stack) == 1)
    values = (
        *(value for value, event, is_certain in losses(events) if is_certain and event.values),
        *(step.event.values[0] for step in own if id(step.stack[0].function.node) not in called),
    )
    found = frozenset(origin for value in values for origin in flow.hold(value).live)
    yield found | unseen(found, optimized(events))


def unseen(live: frozenset[object], wanted: frozenset[object]) -> frozenset[object]:
    """What may train all the same, in functions that were not executed, and methods of which no more is known."""
    found: set[object] = set()
    for origin in live:
        inner = origin
        while isinstance(inner, tuple) and inner[-1] not in OWN:
            inner = inner[0]
        if isinstance(inner, Function):
            return wanted
        if isinstance(inner, Instance):
            found.update(parts_of(inner))
    return frozenset(found)


def ends(events: Sequence[Event]) -> Iterator[End]:
    listed = frozenset(origin for origin in optimized(events) if isinstance(origin, Layer | Operation))
    for loss, event, is_certain in losses(events) if listed else ():
        if is_certain:
            yield End(loss, event, listed, is_loss=True)
    for step in steps_of(events, Returned):
        match step.event:
            case Returned(value=value) if step.stack and step.stack[-1].function.name == "forward":
                owner = step.stack[-1].owner
                if isinstance(owner, Instance) and is_module(owner):
                    yield End(value, step.event, frozenset(own_weights(owner, frozenset())), is_loss=False)


def own_weights(owner: Instance, seen: frozenset[int]) -> Iterator[object]:
    """The layers and Parameters of a module and of the modules of the file that it holds."""
    if is_layer_class(owner):
        yield from ((owner, name) for name in OWN)
    for value in owner.attributes.values():
        maker = maker_of(value)
        if isinstance(value, Instance) and is_module(value) and id(value) not in seen:
            yield from own_weights(value, seen | {id(owner)})
        elif isinstance(value, Layer) and value.name in WEIGHTED_LAYERS:
            yield value
        elif maker is not None and is_made(maker):
            yield maker


def parts_of_end(end: End) -> tuple[Value, ...]:
    return end.value.items if isinstance(end.value, Tuple) else (end.value,)


def ends_behind(flow: Flow, value: Value) -> Iterator[tuple[Cut, Event | None]]:
    """The cuts that a value hangs on, nearest first, also where others are attached; with what goes on with each."""
    queue: list[tuple[Event, Event | None]] = [(maker, None) for maker in makers(value)]
    seen, off = {id(event) for event, _ in queue}, switched_off(flow.events)
    for event, consumer in queue:
        if id(event) in off:
            yield from ((cut, consumer) for cut in flow.of(event).cuts if isinstance(cut.event, Region))
            continue
        if isinstance(event, Operation) and (cuts(event) or rebuilds(event) or is_flat(event)):
            lost = flow.any_of(computed_with(event)).live
            if lost:
                yield Cut(event, lost), consumer
                continue
        for earlier in behind(event) if len(seen) < MOST_SEEN else ():
            if id(earlier) not in seen:
                seen.add(id(earlier))
                queue.append((earlier, event))


def is_meant_to_train(
    flow: Flow, end: End, part: Value, cut: Cut, consumer: Event | None, lost: frozenset[object]
) -> bool:
    """Whether something else than a slip is hard to see behind a cut."""
    if isinstance(cut.event, Region):
        is_lost = bool(lost & cut.run) or any(map(is_made, lost))  # run in it, or a weight that is computed with
        return is_lost and id(cut.event.site.node) not in asked_for(flow.events)
    kind = consumer.kind if isinstance(consumer, Operation) else None
    if consumer is None or kind is Kind.LOSS or (cut.takes_out and kind is Kind.LAYER and not end.is_loss):
        return False  # a target, or what a layer is to learn from as it is
    if end.is_loss:
        return True
    is_matrix = cut.rebuilds and any(map(is_made, lost))  # torch.tensor([[cos, -sin], [sin, cos]]) of a trained angle
    is_whole = getattr(cut.event, "name", "") in WHOLE or cut.is_flat or is_matrix
    is_index = any(cut.place is earlier for earlier in ancestors_of_indices(consumer))
    is_array = getattr(consumer, "name", "") in ARRAYS  # what is reported beside the result is no array as a rule
    return is_whole and not is_index and (is_array or bool(flow.hold(part).live))


def ancestors_of_indices(consumer: Event) -> Iterator[Event]:
    """What the indices were made from that something is picked by: that they have no gradient is meant."""
    if isinstance(consumer, Operation) and consumer.kind is Kind.INDEXING:
        for value in consumer.values[1:]:
            maker = maker_of(value)
            if maker is not None:
                yield maker
                yield from ancestors(maker, 50)
