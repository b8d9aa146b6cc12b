"""Where rounds of loops and evaluations of functions stand among the events, and where gradients are computed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from shapelint.analysis.index import once_per_file, places_of
from shapelint.domain.record import record
from shapelint.domain.values import Method
from shapelint.events import Call, Entered, Event, Left, Loop

BACKWARD = frozenset({"backward", "manual_backward"})


@record(eq=False)
class Span:
    """Where the rounds of a loop, or the evaluation of a function, stand among the events."""

    start: int
    end: int
    event: Loop | Entered

    def holds(self, places: Sequence[int]) -> bool:
        found = bisect_left(places, self.start)
        return found < len(places) and places[found] <= self.end


def starts(events: Sequence[Event]) -> list[int]:
    """Where gradients are computed."""
    calls = (place for place in places_of(events, Call) if is_backward(events[place]))
    return sorted((*places_of(events, "backward"), *calls))


def is_backward(event: Event) -> bool:
    return isinstance(event, Call) and isinstance(event.callee, Method) and event.callee.name in BACKWARD


@once_per_file
def spans_of(events: Sequence[Event]) -> Iterator[Span]:
    """All spans of a file; inner ones come before those around them."""
    stack: list[tuple[int, Loop | Entered]] = []
    for place in sorted((*places_of(events, Loop), *places_of(events, Entered), *places_of(events, Left))):
        event = events[place]
        if isinstance(event, Entered) or (isinstance(event, Loop) and event.round == 0):
            stack.append((place, event))
        elif stack and (isinstance(event, Left) or (isinstance(event, Loop) and event.round is None)):
            begun, opened = stack.pop()
            yield Span(begun, place, opened)


def around(spans: Iterable[Span], place: int) -> list[Span]:
    """The loops and functions around a place, innermost first."""
    return sorted((s for s in spans if s.start < place < s.end), key=lambda span: span.end - span.start)
