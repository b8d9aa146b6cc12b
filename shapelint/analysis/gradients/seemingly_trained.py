"""What looks as if it trained: codes behind a straight-through step, heads beside frozen modules, bare leaves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.gradients.attached_targets import REGRESSIONS, residual
from shapelint.analysis.gradients.dataflow import Cut, Flow
from shapelint.analysis.gradients.detached_activations import LAYERS, is_layer, trained
from shapelint.analysis.gradients.frozen import handled, optimized, switched_off
from shapelint.analysis.gradients.reachability import makers
from shapelint.analysis.index import events_of, operations, places
from shapelint.analysis.registration import (
    Step,
    handed_out,
    identity,
    is_module,
    is_parameter,
    kept,
    learners,
    steps_of,
)
from shapelint.domain.values import TRUE, Dict, Instance, Layer, Method, Tensor, Tuple, Value, maker_of
from shapelint.events import Call, Event, Input, Kind, Operation, Region, Stored, Written
from shapelint.provenance import ancestors

EMPTY = (Tuple((), "list"), Dict())
STOPPING = frozenset({"detach", "stop_gradient"})
MOST_BEHIND = 200


def passed_by(events: Sequence[Event]) -> Iterator[Cut]:
    """The detach in `q = z + (q - z).detach()` where a loss compares that with `z.detach()`: it moves z, never q."""
    if not any(True for _ in operations(events, STOPPING)):
        return
    flow = Flow(events, seeds=None)
    for use in operations(events, REGRESSIONS | {"pow", "square"}):
        terms = residual(flow, use)
        plain = {id(maker_of(term.value)) for term in terms if term.sign > 0 and flow.hold(term.value).live}
        stopped = [stop for term in terms if (stop := stop_of(term.value)) is not None]
        compared = {id(maker_of(stop.values[0])) for stop in stopped} & plain - {id(None)}
        for stop in stopped if compared else ():
            inner = maker_of(stop.values[0])
            if isinstance(inner, Operation) and inner.name == "sub" and id(maker_of(inner.values[1])) in compared:
                lost = flow.hold(inner.values[0]).live
                if lost:
                    yield Cut(stop, lost)


def stop_of(value: object) -> Operation | None:
    maker = maker_of(value)  # type: ignore[arg-type]
    return maker if isinstance(maker, Operation) and maker.name in STOPPING else None


def beside_frozen(events: Sequence[Event]) -> Iterator[Cut]:
    """Regions of a forward that run a frozen module, and after it a layer that nobody froze and nothing else trains."""
    if not any(region.entered for region in events_of(events, Region)):
        return
    idle, off = handled(events), switched_off(events)
    inside = {id(step.event) for step in steps_of(events, Region) if step.is_in_forward}
    for step in steps_of(events, *LAYERS) if idle and inside else ():
        event = step.event
        if not (isinstance(event, Operation) and id(event) in off and is_layer(event) and step.is_in_forward):
            continue
        layer, region = event.layer, off[id(event)]
        if id(region) not in inside or layer in idle or layer in trained(events):
            continue
        behind = (e for e in ancestors(event, MOST_BEHIND) if off.get(id(e)) is region and isinstance(e, Operation))
        if any(isinstance(earlier.layer, Layer) and earlier.layer in idle for earlier in behind):
            yield Cut(region, frozenset({layer}), event, frozenset({layer}))


def compared_without(events: Sequence[Event]) -> Iterator[Cut]:
    """Regions in which both sides of a loss were computed by a frozen module from what its forward was given.

    Freezing says that a gradient is to flow through it to the input.
    """
    if not any(region.entered for region in events_of(events, Region)) or not handled(events):
        return
    flow, idle = Flow(events, seeds=None), handled(events)
    for step in steps_of(events, Kind.LOSS):
        event = step.event
        if not isinstance(event, Operation) or event.regions or not step.is_in_forward or len(event.values) < 2:
            continue
        sides = [flow.hold(value) for value in event.values[:2]]
        found = [[cut for cut in side.cuts if is_through_frozen(cut, idle)] for side in sides if not side.live]
        if len(found) == 2 and all(found) and len(entering(found[0][0]) | entering(found[1][0])) > 1:
            yield found[0][0]


def entering(cut: Cut) -> frozenset[object]:
    return frozenset(origin for origin in cut.lost if isinstance(origin, Input) and origin.kind == "parameter")


def is_through_frozen(cut: Cut, idle: frozenset[object]) -> bool:
    layers = [origin for origin in cut.lost if isinstance(origin, Layer)]
    return isinstance(cut.event, Region) and bool(entering(cut) and layers) and all(part in idle for part in layers)


def entered_late(events: Sequence[Event]) -> Iterator[tuple[Event, str, str]]:
    """Layers that a method puts into a list or dict which __init__ left empty: where, and into which of what kind."""
    begun: dict[tuple[int, str], list[object]] = {}
    for stored in events_of(events, Stored):
        if stored.container is None and is_module(stored.owner):
            begun.setdefault((id(stored.owner.cls), stored.attribute), []).append(stored.value)
    empty = {key for key, values in begun.items() if all(value in EMPTY for value in values)}
    for place in places(events, (Written, Call)) if empty else ():
        event = events[place]
        match event:
            case Written(owner=owner, value=value):
                values: tuple[Value, ...] = (value,)
            case Call(callee=Method(receiver=owner, name="append" | "insert" | "extend" | "setdefault"), args=values):
                pass
            case _:
                continue
        held, found = maker_of(owner), [part for value in values for part in learners(value)]
        if isinstance(held, Input) and held.kind == "attribute" and isinstance(held.source, Instance) and found:
            key = id(held.source.cls), held.name
            if key in empty and not any(identity(part) in kept(events) for part in found):
                yield event, held.name, getattr(begun[key][0], "kind", "list")


def bare_leaves(events: Sequence[Event]) -> Iterator[Stored]:
    """self.scale = torch.ones(1, requires_grad=True) of a module whose forward computes with it."""
    drawn: dict[int, Stored] = {}
    held: dict[tuple[int, str], set[int]] = {}
    for stored in events_of(events, Stored):
        held.setdefault((id(stored.owner.cls), stored.attribute), set()).add(id(stored.site.node))
        if (
            stored.container is None
            and stored.method == "__init__"
            and is_bare(stored.value)
            and is_module(stored.owner)
        ):
            drawn[identity(stored.value)] = stored
    if not drawn or is_cared_for(events, drawn):
        return
    known = handed_out(events) | {id(origin) for origin in optimized(events)}
    used = {id(maker) for step in steps_of(events, *Kind) for maker in in_forward(step)}
    for key, stored in drawn.items():
        if key in used and key not in known and len(held[id(stored.owner.cls), stored.attribute]) == 1:
            yield stored


def in_forward(step: Step) -> Iterator[Event]:
    if step.is_in_forward and isinstance(step.event, Operation):
        for value in step.event.values:
            yield from makers(value)


def is_bare(value: object) -> bool:
    maker = maker_of(value)  # type: ignore[arg-type]
    is_new = isinstance(maker, Operation) and (maker.kind in {Kind.CREATION, Kind.RANDOM} or maker.name == "tensor")
    is_leaf = is_new and isinstance(maker, Operation) and maker.arguments.get("requires_grad") == TRUE
    return is_leaf and isinstance(value, Tensor) and not is_parameter(value)


def is_cared_for(events: Sequence[Event], drawn: dict[int, Stored]) -> bool:
    """Whether anybody asks for gradients by hand, or names one of these attributes to an optimizer."""
    names = {stored.attribute for stored in drawn.values()}
    for event in events:
        match event:
            case Operation(name="grad" | "zero_" | "sub_"):
                return True
            case Operation(in_place=True, values=(first, *_)) if identity(first) in drawn:
                return True
            case Operation(name="optimizer"):
                given = (event, *ancestors(event, MOST_BEHIND))
                if any(isinstance(e, Input) and e.name in names for e in given):
                    return True
                if any(id(e) in drawn for e in given):
                    return True
            case Call(callee=Method(name="register_parameter" | "register_buffer")):
                return True
    return False
