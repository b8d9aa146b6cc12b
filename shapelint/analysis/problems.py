"""Operations that can never work, without those that only the first round of a loop would do wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shapelint.analysis.index import PROBLEM, once_per_file, operations, places
from shapelint.events import Branch, Call, Entered, Event, Left, Loop, Operation


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
