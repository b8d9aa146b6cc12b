"""How long what grows lives: which loops and functions it outlives, and where it is emptied or begun anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.index import places, places_of
from shapelint.analysis.spans import Span, around, spans_of
from shapelint.domain.values import Instance, Many, Tuple
from shapelint.events import Call, Entered, Event, Grown, Loop, Stored, Written


def lived_through(event: Grown, outer: list[Span], events: Sequence[Event]) -> Iterator[Span]:
    """The loops that what grows outlives; for an attribute also the method, and the loops of its callers.

    What is around a function outlives the function: a closure that is stepped with, `optimizer.step(closure)`.
    """
    nodes = {id(site.node) for site in event.loops}
    function = next((span for span in outer if isinstance(span.event, Entered)), None) if event.is_outer else None
    for span in outer:
        is_loop_around = isinstance(span.event, Loop) and id(span.event.site.node) in nodes
        if is_loop_around or span is function or (event.owner is not None and not begins_anew(event, span, events)):
            yield span


def begins_anew(event: Grown, span: Span, events: Sequence[Event]) -> bool:
    """Whether an attribute is set to something else in a span, or emptied; where, matters to a loop alone."""
    attribute = event.name.rpartition(".")[2]
    emptied = [place for place in places(events, (Written, Stored)) if empties(events[place], event.owner, attribute)]
    if emptied and (not isinstance(span.event, Loop) or is_emptied_in(events, span, emptied)):
        return True
    for place in range(span.start, span.end):
        match events[place]:
            case Stored(owner=owner, attribute=name, container=None, site=site) if name == attribute:
                if event.owner is not None and owner.cls is event.owner.cls and site.node is not event.site.node:
                    return True
    return False


def empties(event: Event, owner: Instance | None, attribute: str) -> bool:
    match event:
        case Written(attribute=name):
            return name == attribute
        case Stored():
            return is_new_list(event, owner, attribute)
    return False


def is_emptied_in(events: Sequence[Event], span: Span, emptied: Sequence[int]) -> bool:
    """Whether a loop empties a list, or calls a method that does: the end of an epoch is none of its rounds."""
    if any(span.start < place < span.end for place in emptied):
        return True
    spans = spans_of(events)
    methods = {
        outer.event.function.name
        for place in emptied
        for outer in around(spans, place)
        if isinstance(outer.event, Entered)
    }
    return any(
        span.start < place < span.end and getattr(events[place].callee, "name", "") in methods  # type: ignore[union-attr]
        for place in places_of(events, Call)
    )


def is_new_list(stored: Stored, owner: Instance | None, attribute: str) -> bool:
    """Whether a method other than __init__ begins a list anew: for each episode, or each epoch."""
    is_same = owner is not None and stored.owner.cls is owner.cls and stored.attribute == attribute
    is_list = stored.container is None and isinstance(stored.value, Tuple | Many)
    return is_same and is_list and stored.method != "__init__"
