"""What several rules ask of the same events, found once a file: operations by name, and any generator of facts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import TypeVar

from shapelint.events import Branch, Call, Entered, Event, Kind, Left, Loop, Operation

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
    return found[0] if len(found) == 1 else sorted(set().union(*found))


def operations(events: Sequence[Event], wanted: Collection[str | Kind]) -> Iterator[Operation]:
    """The operations of these canonical names or kinds, in execution order; cheap where a file has none."""
    for index in places(events, wanted):
        event = events[index]
        assert isinstance(event, Operation)
        yield event


def problems(events: Sequence[Event]) -> Iterator[Operation]:
    """The operations that can never work, in whatever round of a loop they come."""
    early = {id(event) for event in _early(events)} if places(events, {PROBLEM}) else ()
    return (event for event in operations(events, {PROBLEM}) if id(event) not in early)


@dataclass(slots=True)
class _Rounds:
    """A loop while it runs: the problems of its first round that stand under a test which may fail there."""

    node: object
    is_first: bool = True
    has_more: bool = False
    depth: int = 0  # of functions that are executed inside of it
    tests: list[bool] = field(default_factory=list)  # around what happens now: whether a later round may change them
    doubtful: list[tuple[Operation, Call | None, bool]] = field(default_factory=list)  # call, and if it is to come
    seen: list[Operation | Call] = field(default_factory=list)  # of later rounds

    def next(self, is_last: bool) -> None:
        self.is_first, self.has_more = False, self.has_more or not is_last
        self.tests.clear()

    def fork(self, way: int | None, may_change: bool) -> None:
        if way == 0:
            self.tests.append(may_change)
        elif way is None and self.tests:
            self.tests.pop()

    def note(self, event: Operation | Call) -> None:
        if not self.is_first:
            self.seen.append(event)
        elif isinstance(event, Operation) and any(self.tests):
            self.doubtful.append((event, None, self.depth > 0))
        elif isinstance(event, Call) and not self.depth:
            self.doubtful = [(found, event if awaits else call, False) for found, call, awaits in self.doubtful]

    def early(self) -> Iterator[Operation]:
        for found, call, _ in self.doubtful if self.has_more else ():
            if not any(is_again(other, found) or (call is not None and is_again(other, call)) for other in self.seen):
                yield found


def is_again(event: Operation | Call, earlier: Operation | Call) -> bool:
    """Whether the same happens in a later round: the same operation fails, the same values are given to a call."""
    if event.site.node is not earlier.site.node or isinstance(event, Operation):
        return event.site.node is earlier.site.node and isinstance(earlier, Operation)
    return isinstance(earlier, Call) and event.args == earlier.args and event.kwargs == earlier.kwargs


@once_per_file
def _early(events: Sequence[Event]) -> Iterator[Operation]:
    """Problems of a loop's first round alone, under a test that comes true later: `if step == last: show(track)`."""
    loops: list[_Rounds] = []
    for event in events:
        match event:
            case Loop(round=0):
                loops.append(_Rounds(event.site.node))
            case Loop(round=number) if loops and loops[-1].node is event.site.node:
                loops[-1].next(number is None)
                if number is None:
                    yield from loops.pop().early()
            case Branch(way=way, may_change=may_change) if loops:
                loops[-1].fork(way, may_change)
            case Entered() | Left():
                for loop in loops:
                    loop.depth += 1 if isinstance(event, Entered) else -1
            case Operation(problem=str()) | Call():
                for loop in loops:
                    loop.note(event)


def places_of(events: Sequence[Event], kind: type[object] | str) -> Sequence[int]:
    """Where the events of a kind that is no operation stand, or the operations of a canonical name."""
    return _places(events)[0].get(kind, ())


def events_of(events: Sequence[Event], kind: type[Some]) -> Iterator[Some]:
    """The events of a kind that is no operation, in execution order; cheap where a file has none."""
    for index in places_of(events, kind):
        event = events[index]
        assert isinstance(event, kind)
        yield event
