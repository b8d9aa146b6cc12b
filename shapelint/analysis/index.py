"""What several rules ask of the same events, found once a file: operations by name, and any generator of facts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import wraps
from itertools import chain
from typing import TypeVar

from shapelint.events import Event, Kind, Operation

Found = TypeVar("Found")
PROBLEM = "a problem"  # no operation has this name
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
    """Where operations stand, by name and by kind; other events by their type."""
    places: dict[object, list[int]] = {}
    for index, event in enumerate(events):
        if type(event) is Operation:
            places.setdefault(event.name, []).append(index)
            places.setdefault(event.kind, []).append(index)
            if event.problem is not None:
                places.setdefault(PROBLEM, []).append(index)
        else:
            places.setdefault(type(event), []).append(index)
    yield places


def places(events: Sequence[Event], wanted: Collection[str | Kind | type[object]]) -> Sequence[int]:
    """Where the operations of these canonical names or kinds stand, and the other events of these types."""
    known = _places(events)[0]
    found = [known[key] for key in wanted if key in known]
    return found[0] if len(found) == 1 else [*dict.fromkeys(sorted(chain.from_iterable(found)))]  # runs are merged


def operations(events: Sequence[Event], wanted: Collection[str | Kind]) -> Iterator[Operation]:
    """The operations of these canonical names or kinds, in execution order; cheap where a file has none."""
    for index in places(events, wanted):
        event = events[index]
        assert isinstance(event, Operation)
        yield event


def places_of(events: Sequence[Event], kind: type[object] | str) -> Sequence[int]:
    """Where the events of a kind that is no operation stand, or the operations of a canonical name."""
    return _places(events)[0].get(kind, ())


def events_of(events: Sequence[Event], kind: type[Some]) -> Iterator[Some]:
    """The events of a kind that is no operation, in execution order; cheap where a file has none."""
    for index in places_of(events, kind):
        event = events[index]
        assert isinstance(event, kind)
        yield event
