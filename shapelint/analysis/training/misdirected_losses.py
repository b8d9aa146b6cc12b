"""Parts of a loss that reach nothing of what the optimizer that is stepped after it holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.gradients.dataflow import Cut, Flow, flow_of
from shapelint.analysis.gradients.dead_terms import dead_terms, is_made
from shapelint.analysis.gradients.detached_activations import behind
from shapelint.analysis.gradients.effects import attached, cuts, is_flat, rebuilds
from shapelint.analysis.gradients.frozen import handled, is_among, optimized, switched_off
from shapelint.analysis.index import once_per_file, places
from shapelint.analysis.registration import Step, steps
from shapelint.analysis.spans import Span, around, spans_of
from shapelint.analysis.training.actions import is_optimizer_object
from shapelint.analysis.training.exhausted_iterators import Lost
from shapelint.analysis.training.forgotten import lost
from shapelint.analysis.training.untrained import built
from shapelint.domain.record import record
from shapelint.domain.values import Instance, Layer, Many, Method, Value, maker_of
from shapelint.events import Call, Entered, Event, Kind, Loop, Operation, Region
from shapelint.provenance import ancestors

MOST_SEEN = 600


@record(eq=False)
class MisdirectedTerm:
    """A term that trains nothing which the step applies, because of `cut`."""

    cut: Cut
    loss: Event
    optimizer: Event  # where it is built


@once_per_file
def misdirected_terms(events: Sequence[Event]) -> Iterator[MisdirectedTerm]:
    """Terms that are attached, though not to what the optimizer holds: D(G(z).detach()) in the loss of G."""
    known = {id(trained.event): trained for trained in built(events) if trained.is_complete and trained.modules}
    if not known:
        return
    told = {id(dead.cut.event) for dead in dead_terms(events)}
    flow, seen = flow_of(events), {id(dead.cut.event.site.node) for dead in dead_terms(events)}
    spans, order = spans_of(events), {id(event): index for index, event in enumerate(events)}
    for loss, optimizers in applied(events):
        if not all(id(event) in known for event in optimizers):
            continue
        since = beginning(around(spans, order[id(loss)]))
        held = frozenset(part for event in optimizers for part in known[id(event)].parts)
        terms = list(parts_of_loss(flow, loss.values[0]))
        if not any(reaches(flow, term, held) for term in terms):
            continue
        for term in terms:
            is_attached = bool(flow.hold(term).live)  # what hangs on nothing is dead, or made of what nobody knows
            if not is_attached or may_reach(flow, term, held) or is_behind(told, term):
                continue
            cut = first_cut(flow, term, held)
            is_current = cut is not None and order.get(id(cut.place), -1) >= since  # or an attribute of another round
            if cut is not None and is_current and id(cut.event.site.node) not in seen:
                seen.add(id(cut.event.site.node))
                yield MisdirectedTerm(cut, loss, optimizers[0])


def is_behind(told: set[int], term: Value) -> bool:
    """Whether a term is dead for a reason that is reported already, whatever else is cut in it."""
    maker = maker_of(term)
    return bool(told) and maker is not None and any(id(event) in told for event in ancestors(maker, MOST_SEEN))


@once_per_file
def misdirected(events: Sequence[Event]) -> Iterator[Lost]:
    """Optimizers that are stepped for a loss of layers which neither they nor any other of the file were given."""
    known = {id(trained.event): trained for trained in built(events) if trained.is_complete and trained.modules}
    if not known:
        return
    flow, trained, idle = flow_of(events), optimized(events), handled(events)
    told = {id(site.node) for found in lost(events) for site in (found.site, found.cause) if site is not None}
    found: list[tuple[Event, Lost, bool]] = []
    for loss, optimizers in applied(events):
        if len(optimizers) != 1 or id(optimizers[0]) not in known or id(optimizers[0].site.node) in told:
            continue
        live, optimizer = flow.hold(loss.values[0]).live, optimizers[0]
        held = known[id(optimizer)].parts
        if any(isinstance(part, Layer) and maker_of(part) is None for part in held):
            continue  # layers that a loop puts together: one of them stands for several
        layers = [origin for origin in live if isinstance(origin, Layer) and origin not in trained | idle | held]
        if layers and not any(is_made_by(events, layer, held) for layer in layers):
            maker = maker_of(layers[0])
            name = f"`{maker.site.text}`" if maker is not None else "a layer"
            lost_here = Lost("missing", optimizer, optimizer.site, name, loss.site)
            found.append((optimizer, lost_here, len(layers) == len(live)))
    whole = {known[id(optimizer)].parts for optimizer, _, is_whole in found if is_whole}
    for optimizer, lost_here, is_whole in found:  # of twins the one whose loss has nothing of what it holds
        if is_whole or (known[id(optimizer)].parts not in whole and has_twin(optimizer, events)):
            yield lost_here


def has_twin(optimizer: Event, events: Sequence[Event]) -> bool:
    """Whether another optimizer of the same function was given the very same modules: one is a slip of the pen."""
    mine = next(trained for trained in built(events) if trained.event is optimizer)
    others = (trained for trained in built(events) if trained.within is mine.within and trained is not mine)
    return any(other.is_complete and other.parts == mine.parts for other in others)


def beginning(outer: Sequence[Span]) -> int:
    """Where the round of the innermost loop begins, or the evaluation of the outermost function."""
    loop = next((span for span in outer if isinstance(span.event, Loop)), None)
    return loop.start if loop is not None else outer[-1].start if outer else 0


def reaches(flow: Flow, term: Value, held: frozenset[object]) -> bool:
    return any(is_among(origin, held) for origin in flow.hold(term).live)


def may_reach(flow: Flow, term: Value, held: frozenset[object]) -> bool:
    """The same, and all that is not known to be another layer, or another optimizer's, may be one of what is held."""
    others, nodes = optimized(flow.events), {line_of(flow.events, part) for part in held} - {None}
    return is_open(term) or any(
        is_among(origin, held)
        or (origin not in others and line_of(flow.events, origin) in nodes)  # made in a loop: one round is known
        or not (isinstance(origin, Layer) or is_made(origin) or is_among(origin, others))
        for origin in flow.hold(term).live
    )


def is_open(term: Value) -> bool:
    """Whether a list enters a term, attached, of which nobody knows what was put into it."""
    maker = maker_of(term)
    before = (maker, *attached(maker, MOST_SEEN)) if maker is not None else ()
    given = (value for event in before if isinstance(event, Operation) for value in event.values)
    return any(isinstance(value, Many) and maker_of(value) is maker_of(value.item) is None for value in given)


def is_made_by(events: Sequence[Event], layer: Layer, held: frozenset[object]) -> bool:
    """Whether a layer was made while an object of the class of a held module was put together: its lists hide some."""
    classes = {id(each.cls) for each in held if isinstance(each, Instance)}
    maker = maker_of(layer)
    around = next((step.stack for step in steps(events) if step.event is maker), ()) if classes else ()
    return any(isinstance(entered.owner, Instance) and id(entered.owner.cls) in classes for entered in around)


def line_of(events: Sequence[Event], origin: object) -> tuple[int, ...] | None:
    """Where a layer is made, which may be once in each round, and the modules that it is made for."""
    maker = maker_of(origin) if isinstance(origin, Layer) else None
    if not isinstance(maker, Operation):
        return None
    owners = (maker_of(entered.owner) for entered in made_in(events)[0].get(id(maker), ()) if entered.owner is not None)
    return id(maker.site.node), *(id(owner.site.node) for owner in owners if owner is not None)


@once_per_file
def made_in(events: Sequence[Event]) -> Iterator[dict[int, tuple[Entered, ...]]]:
    """The evaluations in which the layers of a file are made."""
    makers = (step for step in steps(events) if isinstance(getattr(step.event, "result", None), Layer))
    yield {id(step.event): step.stack for step in makers}


def applied(events: Sequence[Event]) -> Iterator[tuple[Operation, list[Event]]]:
    """What is back-propagated, with what built the optimizers that are stepped after it in the same function."""
    for index in places(events, {"backward"}):
        event = events[index]
        found = list(stepped_after(steps(events), index))
        if isinstance(event, Operation) and found and None not in found:
            yield event, [event for event in found if event is not None]


def stepped_after(every: Sequence[Step], index: int) -> Iterator[Event | None]:
    """Where the optimizers are built that are stepped before the next backward; None for one that is not known."""
    within, has_stepped = every[index].stack, False
    for step in every[index + 1 :]:
        while step.stack[: len(within)] != within:
            if has_stepped or not within[-1].at_call:
                return
            within = within[:-1]  # it is stepped by who calls this
        match step.event:
            case Operation(name="backward") if has_stepped:
                return
            case Call(callee=Method(name="step", receiver=receiver), args=args):
                taken = next((v for v in (receiver, *args) if is_optimizer_object(v)), None)
                if taken is not None or not args:
                    has_stepped = True
                    yield maker_of(taken) if isinstance(taken, Layer) else None


def parts_of_loss(flow: Flow, value: Value) -> Iterator[Value]:
    """The additive parts of a loss, also of those that are averaged together."""
    for term in flow.terms(value):
        maker = maker_of(term)
        if isinstance(maker, Operation) and maker.kind is Kind.REDUCTION and maker.name in {"mean", "sum"}:
            yield from flow.terms(maker.values[0])
        else:
            yield term


def first_cut(flow: Flow, term: Value, held: frozenset[object]) -> Cut | None:
    """The nearest cut behind a term that keeps it from what is held."""
    maker, off = maker_of(term), switched_off(flow.events)
    queue = [maker] if maker is not None else []
    seen = set(map(id, queue))
    for event in queue:
        found = _cut_at(flow, event, off.get(id(event)))
        if found is not None:
            if any(is_among(origin, held) for origin in found.lost):
                return found
            continue
        for earlier in behind(event):
            if id(earlier) not in seen and len(seen) < MOST_SEEN:
                seen.add(id(earlier))
                queue.append(earlier)
    return None


def _cut_at(flow: Flow, event: Event, region: Region | None) -> Cut | None:
    if region is not None:
        return next((cut for cut in flow.of(event).cuts if isinstance(cut.event, Region)), None)
    if isinstance(event, Operation) and (cuts(event) or rebuilds(event) or is_flat(event)):
        lost = flow.any_of((*event.values, event.layer)).live
        return Cut(event, lost) if lost else None
    return None
