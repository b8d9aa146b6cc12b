"""Graphs that are kept from one step of training to the next: sums and lists of attached values, carried states."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from shapelint.analysis.gradients.dataflow import Flow
from shapelint.analysis.gradients.effects import LINEAR, cuts
from shapelint.analysis.gradients.frozen import parts_of, source_of
from shapelint.analysis.gradients.lifetimes import lived_through
from shapelint.analysis.gradients.reachability import (
    Reached,
    attached_behind,
    attached_part,
    hangs_on,
    makers,
    operand_makers,
    reached_by_losses,
    trusting,
    used_as_modules,
)
from shapelint.analysis.index import events_of, once_per_file, operations, places, places_of
from shapelint.analysis.registration import is_module
from shapelint.analysis.spans import Span, around, spans_of, starts
from shapelint.domain.record import record
from shapelint.domain.regions import SWITCHES, is_without_gradients
from shapelint.domain.values import (
    TRUE,
    Instance,
    Library,
    Method,
    Unknown,
    Value,
)
from shapelint.events import (
    Branch,
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
    Region,
    Site,
    Stored,
    Written,
)
from shapelint.provenance import ancestors

MOST_BEHIND = 300
EITHER = frozenset({"builtins.max", "builtins.min"})


@record(eq=False)
class Kept:
    """What keeps its graph: where, by what name, and how ("grows", "carried", "state", "evaluation")."""

    event: Event
    name: str
    how: str
    source: Event | None = None  # what computed the value


@once_per_file
def retained(events: Sequence[Event]) -> Iterator[Kept]:
    """Each place where a graph is kept, once; not where the sum of another one goes on: `means.append(total)`."""
    seen: set[int] = set()
    for kept in _retained(events):
        behind = (kept.event, *ancestors(kept.event)) if seen else (kept.event,)
        if seen.isdisjoint(id(event.site.node) for event in behind):
            seen.add(id(kept.event.site.node))
            yield kept


def _retained(events: Sequence[Event]) -> Iterator[Kept]:
    grown, carried = places_of(events, Grown), places_of(events, Carried)
    backward = starts(events)
    if not (backward or evaluations(events)) or not (grown or carried or places_of(events, Stored)):
        return
    if is_switched_by_hand(events):
        return  # torch.set_grad_enabled(False), and on again where a gradient is needed
    spans, flow = spans_of(events), trusting(events, reached_by_losses(events)[0])
    yield from collected(events, flow, spans, backward)
    if carried and backward:
        yield from carried_on(events, flow, spans, backward)
    yield from states(events, flow, spans, backward)
    yield from reported(events, flow, spans, backward)


def collected(events: Sequence[Event], flow: Flow, spans: Sequence[Span], backward: Sequence[int]) -> Iterator[Kept]:
    """Lists and dicts that grow by an attached value in each step, or in each round of an evaluation."""
    reached = reached_by_losses(events)[0]
    for place in places_of(events, Grown):
        event = events[place]
        assert isinstance(event, Grown)
        value = attached_part(flow, event.value)
        if value is None or is_without_gradients(event.regions):
            continue
        if is_used(event, reached, events, place) or is_changed(event, events):
            continue
        outer = around(spans, place)
        if backward and any(span.holds(backward) for span in lived_through(event, outer, events)):
            yield Kept(event, event.name, "grows", value)
        elif is_evaluation(events, flow, event, outer, backward):
            yield Kept(event, event.name, "evaluation", value)


def carried_on(events: Sequence[Event], flow: Flow, spans: Sequence[Span], backward: Sequence[int]) -> Iterator[Kept]:
    """Names that a round of a training loop binds to what hangs on their value before it."""
    reached, modules = reached_by_losses(events)[0], used_as_modules(events)
    summed = {id(event.site.node) for event in summed_up(events)}
    for event, given in handed_on(events, spans, backward):
        maker = carries(flow, event, given)
        if maker is None or (isinstance(event.before, Unknown) and source_of(event.before) in modules):
            continue  # model = model.to(device)
        if id(maker.site.node) not in summed and goes_on(event, maker, reached):
            yield Kept(maker.of if isinstance(maker, Item) else maker, event.name, "carried")


def handed_on(
    events: Sequence[Event], spans: Sequence[Span], backward: Sequence[int]
) -> Iterator[tuple[Carried, set[int]]]:
    """What the rounds of training loops hand on, with what made that in the round before.

    Of several rounds the last one tells: what was there before the first one is the same for all of them.
    """
    found: dict[tuple[int, str], list[Carried]] = {}
    for place in places_of(events, Carried):
        event = events[place]
        assert isinstance(event, Carried)
        loop = next((s for s in around(spans, place) if s.event.site.node is event.site.node), None)
        if loop is not None and loop.holds(backward):
            found.setdefault((id(loop), event.name), []).append(event)
    for rounds in found.values():
        made = [{id(maker) for maker in makers(event.before)} for event in rounds]
        renewed = made[-1] - made[0]
        yield from [(rounds[-1], renewed)] if renewed else zip(rounds, made)


def goes_on(event: Carried, maker: Event, reached: Reached) -> bool:
    """Whether a loss is computed from what a round hands on, or it sums up losses."""
    return any(id(found) in reached.events for found in (*makers(event.before), *addends(maker)))


def addends(event: Event) -> Iterator[Event]:
    """What an event works on, also that of the sums and products among it: `0.9 * total + 0.1 * loss`."""
    queue = list(operand_makers(event))
    for maker in queue:
        yield maker
        if isinstance(maker, Operation) and maker.name in LINEAR and len(queue) < MOST_BEHIND:
            queue.extend(earlier for earlier in operand_makers(maker) if earlier not in queue)


def summed_up(events: Sequence[Event]) -> Iterator[Event]:
    """The sums that are back-propagated as they are: gradients of several batches are accumulated on purpose."""
    for event in operations(events, {"backward"}):
        queue = list(makers(event.values[0])) if event.arguments.get("retain_graph") != TRUE else []
        for maker in queue:
            if isinstance(maker, Joined) or (isinstance(maker, Operation) and maker.name in LINEAR):
                yield maker
                queue.extend(earlier for earlier in operand_makers(maker) if len(queue) < MOST_BEHIND)


def is_used(event: Grown, reached: Reached, events: Sequence[Event], place: int) -> bool:
    """Whether what grows is back-propagated itself: a sum over time, a list of log-probabilities."""
    attribute = event.name.rpartition(".")[2]
    if "." in event.name and attribute in reached.attributes:
        return True
    if event.owner is not None and is_sum(event, events, place):
        return False
    if event.owner is not None and any(id(maker.site.node) in reached.within for maker in makers(event.value)):
        return True
    if any(id(maker) in reached.pooled for maker in makers(event.value)):
        return True
    before = events[place - 1] if place else None
    return before is not None and before.site.node is event.site.node and id(before) in reached.events


def is_sum(event: Grown, events: Sequence[Event], place: int) -> bool:
    """Whether something grows by `+=`: what is added does not come out of it again as a value of its own."""
    before = events[max(place - 2, 0) : place]
    return any(isinstance(e, Operation) and e.name == "add" and e.site.node is event.site.node for e in before)


def is_changed(event: Grown, events: Sequence[Event]) -> bool:
    """Whether a part of a record was replaced before: output["loss"] = output["loss"].detach()."""
    found = {id(maker) for maker in makers(event.value)}
    return any(found & {id(maker) for maker in makers(e.owner)} for e in events_of(events, Written))


def is_switched_by_hand(events: Sequence[Event]) -> bool:
    """Whether statements, and not contexts, switch gradients off and on: where they are on is not known."""
    contexts = {id(region.site.node) for region in events_of(events, Region)}
    return any(is_switch(call.callee) and id(call.site.node) not in contexts for call in events_of(events, Call))


def is_switch(callee: Value) -> bool:
    """torch.set_grad_enabled, also where it is not known that `th` is torch: `from utils import *`."""
    match callee:
        case Library(name=name):
            return name in SWITCHES
        case Method(receiver=Unknown(), name=name):
            return name == "set_grad_enabled"
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
    receivers = [c.callee.receiver for c in calls if isinstance(c.callee, Method) and c.callee.name == "eval"]
    evaluated = {found for receiver in receivers for found in (source_of(receiver), *parts_of(receiver))}
    return bool(evaluated & flow.hold(event.value).live) and not is_called_without_gradients(events, function.event)


def is_alone(event: Loop | Entered) -> bool:
    """Whether a function is evaluated on its own, and not for a caller."""
    return isinstance(event, Entered) and not event.at_call


def is_called_without_gradients(events: Sequence[Event], entered: Loop | Entered) -> bool:
    return isinstance(entered, Entered) and any(
        call.callee is entered.function and is_without_gradients(call.regions) for call in events_of(events, Call)
    )


def carries(flow: Flow, event: Carried, before: set[int]) -> Event | None:
    """What computes the value of this round from that of the round before, without leaving the graph."""
    after = list(makers(event.after))
    if not before or any(isinstance(maker, Operation) and cuts(maker) for maker in after):
        return None  # on one of the paths it is detached: before each backward(), as a rule
    for maker in after:
        is_either = isinstance(maker, Operation) and maker.callee in EITHER  # best = min(best, loss)
        if id(maker) in before or isinstance(maker, Joined) or is_either or not flow.of(maker).live:
            continue
        if hangs_on(flow, maker, before):
            return maker
    return None


def states(events: Sequence[Event], flow: Flow, spans: Sequence[Span], backward: Sequence[int]) -> Iterator[Kept]:
    """Attributes that forward, or a step of training, computes from themselves, and that no method begins anew."""
    stored: dict[tuple[int, str], list[Stored]] = {}
    stepped: set[tuple[int, str]] = set()
    for place in places_of(events, Stored):
        event = events[place]
        if isinstance(event, Stored) and event.container is None and event.method not in {"__init__", "setup"}:
            key = id(event.owner.cls), event.attribute
            stored.setdefault(key, []).append(event)
            if is_module(event.owner) or (backward and is_stepped(around(spans, place), backward)):
                stepped.add(key)
    written = {event.attribute for event in events_of(events, Written)}
    begun = set(begun_once(events)) if stored else set()
    for key, every in stored.items():
        attribute = key[1]
        renewing = [place for place in every if id(place.site.node) not in begun]
        first = {id(maker) for place in every if place not in renewing for maker in makers(place.value)}
        if attribute in written or not renewing or key not in stepped:
            continue
        feeding = {id(place.site.node): feeds_itself(flow, place, first) for place in renewing}
        if all(maker is not None for maker in feeding.values()):
            yield Kept(renewing[0], f"self.{attribute}", "state", feeding[id(renewing[0].site.node)])


def is_stepped(outer: Sequence[Span], backward: Sequence[int]) -> bool:
    """Whether a method trains one step itself, or is called in a loop that trains."""
    method = next((span for span in outer if isinstance(span.event, Entered)), None)
    loops = [span for span in outer if isinstance(span.event, Loop)]
    inside = [span for span in loops if method is not None and span.start > method.start]
    if method is not None and not inside and method.holds(backward):
        return True
    return any(span.holds(backward) for span in loops)


def begun_once(events: Sequence[Event]) -> Iterator[int]:
    """The nodes that fill an attribute that is empty: `if self.state is None: self.state = zeros(...)`."""
    tests: list[Site | None] = []
    for place in places(events, (Branch, Stored)):
        match events[place]:
            case Branch(way=0, site=site):
                tests.append(site)
            case Branch(way=None):
                tests.pop()
            case Branch():
                tests[-1] = None
            case Stored(attribute=attribute, site=site):
                if any(test is not None and test.text == f"self.{attribute} is None" for test in tests):
                    yield id(site.node)


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


def feeds_itself(flow: Flow, stored: Stored, first: Collection[int]) -> Event | None:
    """What computes the new value of an attribute from the old, or the `first`, one without leaving the graph."""
    for maker in makers(stored.value):
        behind = attached_behind(flow, maker) if flow.of(maker).live else ()
        if any(is_attribute(earlier, stored) or id(earlier) in first for earlier in behind):
            return maker
    return None


def is_attribute(event: Event, stored: Stored) -> bool:
    """Whether a value is read from the attribute that is stored."""
    if not isinstance(event, Input):
        return False
    source = event.source
    is_own = isinstance(source, Instance) and source.cls is stored.owner.cls
    return event.kind == "attribute" and event.name == stored.attribute and is_own
