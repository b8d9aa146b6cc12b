"""What a file's losses are computed from, and along which values a gradient certainly flows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from shapelint.analysis.gradients.dataflow import Flow, flow_of
from shapelint.analysis.gradients.dead_terms import losses
from shapelint.analysis.gradients.effects import cuts, is_flat, rebuilds
from shapelint.analysis.gradients.frozen import handled, is_among, source_of
from shapelint.analysis.index import events_of, once_per_file
from shapelint.domain.record import record
from shapelint.domain.regions import is_without_gradients
from shapelint.domain.values import (
    Dict,
    Function,
    Many,
    Method,
    Tuple,
    Union,
    Value,
    maker_of,
)
from shapelint.events import Call, Event, Input, Item, Joined, Operation

MOST_REACHED = 20_000
MOST_BEHIND = 300
OF_MODULES = frozenset(
    {"parameters", "named_parameters", "eval", "train", "zero_grad", "state_dict", "load_state_dict"}
)


@record(eq=False)
class Reached:
    """What the losses of a file are computed from: the events, and what came to them in lists and dicts."""

    events: frozenset[int]
    pooled: frozenset[int]
    within: frozenset[int]  # the places of the events, but for the losses themselves
    parts: tuple[Input, ...]  # items of what calls give
    attributes: frozenset[str]  # of objects


def makers(value: Value | None) -> Iterator[Event]:
    """What made a value, or the parts of it, each once."""
    seen: set[int] = set()
    queue = [value]
    while queue:
        value = queue.pop()
        inner: Iterable[Value | None] = ()
        match value:
            case Tuple(items=items) | Union(options=items):
                inner = items
            case Many(item=item):
                inner = (item,)
            case Dict(items=pairs, other=other):
                inner = (*(item for _, item in pairs), other)
            case None:
                continue
        maker = maker_of(value)
        if maker is not None and id(maker) not in seen:
            seen.add(id(maker))
            yield maker
            if isinstance(maker, Joined):
                inner = (*inner, *(option for option in maker.options if maker_of(option) is not maker))
        queue.extend(reversed(tuple(inner)))


@once_per_file
def reached_by_losses(events: Sequence[Event]) -> Iterator[Reached]:
    flow = flow_of(events)
    queue = [maker for value, _, is_certain in losses(events) if is_certain for maker in makers(value)]
    seen = {id(event) for event in queue}
    pooled: set[int] = set()
    attributes: set[str] = set()
    items: list[Input] = []
    for event in queue:
        if isinstance(event, Input) and event.kind == "item":
            items.append(event)
        if isinstance(event, Input) and event.kind == "attribute":
            attributes.add(event.name)
        result = (event.result,) if isinstance(event, Call) and isinstance(event.callee, Function) else ()
        before = [event.of] if isinstance(event, Item) else []
        for value in (*given(event), *result, *flow.stored(event)):
            found = list(makers(value))
            if isinstance(value, Tuple | Many | Dict):
                pooled.update(map(id, found))
            before += found
        for maker in before:
            if id(maker) not in seen and len(seen) < MOST_REACHED:
                seen.add(id(maker))
                queue.append(maker)
    ends = {id(maker.site.node) for value, _, is_certain in losses(events) if is_certain for maker in makers(value)}
    within = frozenset(id(event.site.node) for event in queue) - ends
    yield Reached(frozenset(seen), frozenset(pooled), within, tuple(items), frozenset(attributes))


def holders(value: Value | None) -> Iterator[Event]:
    """What made a value, or the record that it is taken from: output["loss"]."""
    for maker in makers(value):
        yield maker
        if isinstance(maker, Input) and maker.kind == "item":
            yield from holders(maker.source)


def used_as_modules(events: Sequence[Event]) -> frozenset[object]:
    """The sources of what must be a module, for it is asked for its parameters, or put into training mode."""
    return frozenset(
        source_of(call.callee.receiver)
        for call in events_of(events, Call)
        if isinstance(call.callee, Method) and call.callee.name in OF_MODULES
    )


def trusting(events: Sequence[Event], reached: Reached) -> Flow:
    """The data flow in which an unknown callee is attached only if it is a module, or a loss hangs on what it gave."""
    modules = used_as_modules(events)
    frozen, taken = handled(events), taken_for_losses(events)[0]
    parts = {(id(part.site.node), part.name) for part in reached.parts}  # by place: they come again in each round
    direct = {id(maker) for value, _, is_certain in losses(events) if is_certain for maker in holders(value)}

    def is_module_call(call: Call) -> bool:
        return is_among(source_of(call.callee), modules)

    def is_doubtful(call: Call | Input) -> bool:
        if isinstance(call, Input):
            made = maker_of(call.source) if call.source is not None else None
            is_given = isinstance(made, Call) and isinstance(maker_of(made.callee), Input)
            is_taken = not taken.isdisjoint({(id(made), call.name), (id(made), "")})
            is_part = is_given and (is_taken or (id(call.site.node), call.name) in parts)
            return (
                isinstance(made, Call)
                and id(call) not in direct
                and (is_doubtful(made) or not (is_part or is_module_call(made)))
            )
        if isinstance(call.callee, Function):
            return id(call) not in direct  # it was not evaluated
        if id(call) in direct or (id(call) in reached.events and not isinstance(call.callee, Method)):
            return False
        return not is_module_call(call) or is_among(source_of(call.callee), frozen)

    return Flow(events, doubts=is_doubtful)


def attached_part(flow: Flow, value: Value) -> Event | None:
    """What made the attached tensor that a value is or holds."""
    for maker in makers(value):
        is_tensor = is_part_of_loss(flow.events, maker) if type(maker) is Input else True
        if is_tensor and flow.of(maker).live:
            return maker
    return None


def is_part_of_loss(events: Sequence[Event], part: Input) -> bool:
    """Whether what is taken from an unknown dict is what a loss is computed from: by this name, or by adding up all."""
    source = part.source
    maker = maker_of(source) if source is not None else None
    if part.kind == "item" and isinstance(maker, Call):
        known = taken_for_losses(events)[0]
        return (id(maker), part.name) in known or (id(maker), "") in known
    if part.kind in {"item", "iteration"} and isinstance(maker, Input):
        return part.name != "0" and is_part_of_loss(events, maker)  # the first of a pair is the name
    if part.kind == "iteration" and isinstance(maker, Call) and isinstance(maker.callee, Method):
        whole = maker_of(maker.callee.receiver) if maker.callee.name in {"items", "values"} else None
        return whole is not None and (id(whole), "") in taken_for_losses(events)[0]
    return False


@once_per_file
def taken_for_losses(events: Sequence[Event]) -> Iterator[frozenset[tuple[int, str]]]:
    """What calls gave, and the name of the part of it that a loss is computed from; no name where all are."""
    reached = reached_by_losses(events)[0]
    yield frozenset(
        (id(maker_of(event.source)), event.name) for event in reached.parts if event.source is not None
    ) | frozenset(
        (id(maker_of(call.callee.receiver)), "")
        for call in events_of(events, Call)
        if isinstance(call.callee, Method) and call.callee.name == "values" and id(call) in reached.events
    )


def hangs_on(flow: Flow, event: Event, before: set[int]) -> bool:
    """Whether a gradient flows from an event to one of others, which is not merely handed on."""
    return any(
        not isinstance(current, Joined) and any(id(earlier) in before for earlier in behind(flow, current) or ())
        for current in attached_behind(flow, event, before)
    )


def attached_behind(flow: Flow, event: Event, end: Collection[int] = ()) -> Iterator[Event]:
    """An event and those before it that a gradient flows to, nearest first, as far as some that are not passed."""
    queue, seen = [event], {id(event)}
    for current in queue:
        makers_of_it = behind(flow, current)
        if makers_of_it is None:
            continue
        yield current
        for earlier in makers_of_it:
            if id(earlier) not in end and id(earlier) not in seen and len(seen) < MOST_BEHIND:
                seen.add(id(earlier))
                queue.append(earlier)


def behind(flow: Flow, event: Event) -> Sequence[Event] | None:
    """What an event was computed from; None where no gradient flows through it. Many walks ask for the same events."""
    if id(event) not in flow.behind:
        flow.behind[id(event)] = event, None if breaks_off(flow, event) else tuple(operand_makers(event))
    return flow.behind[id(event)][1]


def breaks_off(flow: Flow, event: Event) -> bool:
    """Whether no gradient flows through an event."""
    match event:
        case Operation():
            return cuts(event) or rebuilds(event) or is_flat(event) or is_without_gradients(event.regions)
        case Call() | Item():
            return not flow.of(event).live
    return False


def operand_makers(event: Event) -> Iterator[Event]:
    for value in given(event):
        yield from makers(value)
    if isinstance(event, Item):
        yield event.of


def given(event: Event) -> tuple[Value, ...]:
    """What an event works on; of a call not the callable itself, but the object whose method it is."""
    if not isinstance(event, Call):
        return event.values
    receiver = (event.callee.receiver,) if isinstance(event.callee, Method) else ()
    return (*event.args, *(value for _, value in event.kwargs), *receiver)
