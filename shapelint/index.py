"""What several rules ask of the same events, found once a file: operations by name, and any generator of facts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import wraps
from heapq import merge
from typing import TypeVar

from shapelint.events import Call, Entered, Event, Left, Operation

Found = TypeVar("Found")
Places = Mapping[object, Sequence[int]]
Some = TypeVar("Some", bound=Event)


def once_per_file(find: Callable[[Sequence[Event]], Iterator[Found]]) -> Callable[[Sequence[Event]], tuple[Found, ...]]:
    """What several rules ask of the same events is found once; the events of the last file are kept."""
    last: list[tuple[Sequence[Event], tuple[Found, ...]]] = []

    @wraps(find)
    def found(events: Sequence[Event]) -> tuple[Found, ...]:
        if not last or last[0][0] is not events:
            last[:] = [(events, tuple(find(events)))]
        return last[0][1]

    return found


@once_per_file
def _places(events: Sequence[Event]) -> Iterator[Places]:
    """Where operations stand, by name; other events by their type."""
    places: dict[object, list[int]] = {}
    for index, event in enumerate(events):
        kind = type(event)
        places.setdefault(event.name if kind is Operation else kind, []).append(index)  # type: ignore[union-attr]
    yield places


def operations(events: Sequence[Event], names: Collection[str]) -> Iterator[Operation]:
    """The operations of these canonical names, in execution order; cheap where a file has none."""
    places = _places(events)[0]
    for index in merge(*(places[name] for name in names if name in places)):
        event = events[index]
        assert isinstance(event, Operation)
        yield event


def places_of(events: Sequence[Event], kind: type[object]) -> Sequence[int]:
    """Where the events of a kind that is no operation stand."""
    return _places(events)[0].get(kind, ())


def events_of(events: Sequence[Event], kind: type[Some]) -> Iterator[Some]:
    """The events of a kind that is no operation, in execution order; cheap where a file has none."""
    for index in places_of(events, kind):
        event = events[index]
        assert isinstance(event, kind)
        yield event


def caller_of(events: Sequence[Event], event: Event) -> Call | None:
    """The call of a project's function in whose evaluation an event happened; None where nobody called it."""
    depth, inside = 0, False
    for index, other in enumerate(events):
        if other is event:
            inside = True
        elif inside and type(other) is Entered:
            depth += 1
        elif inside and type(other) is Left:
            if depth == 0:
                following = events[index + 1] if index + 1 < len(events) else None
                return following if isinstance(following, Call) and following.callee is other.function else None
            depth -= 1
    return None
