"""The paths through a file: what happens along them, in order, through branches, rounds of loops and calls.

`outline` arranges what a caller picks out of the events into functions, branches and loops; `walk` sends states
through them. A loop is gone through twice, so that the second round meets what the first one left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeAlias

from shapelint.domain.record import record
from shapelint.domain.values import UNKNOWN, Function, Value
from shapelint.events import Branch, Call, Ends, Entered, Event, Left, Loop, Site

MOST_STATES = 48
MOST_STEPS = 20_000
MOST_CALLS = 6

Test: TypeAlias = "tuple[str, bool]"


@record(eq=False)
class Act:
    """Something that happens, as the caller names it; `subject` is what it happens to."""

    kind: str
    event: Event
    subject: Value = UNKNOWN
    other: Value | None = None

    @property
    def site(self) -> Site:
        return self.event.site


@dataclass(slots=True, eq=False)
class Body:
    """One evaluation of a function, or the top level of the file."""

    entered: Entered | None = None
    nodes: list[Node] = field(default_factory=list)
    call: Call | None = None  # which calls it; None where it is evaluated on its own


@dataclass(eq=False)
class Fork:
    """Paths part at a test (at none in try and match): the nodes along each way."""

    site: Site
    may_change: bool
    ways: list[list[Node]] = field(default_factory=list)

    @cached_property
    def test(self) -> Test:
        """What is tested, and whether it holds along the first way."""
        text, holds = supposed(self.site.text)
        return (f"({text})" if text and self.may_change else text), holds  # LASTING matches it no more


@dataclass(slots=True, eq=False)
class Rounds:
    """A loop, with what was evaluated in each round."""

    site: Site
    rounds: list[list[Node]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Recall:
    """A call of a function of the file whose body was evaluated for another call, or on its own."""

    call: Call
    function: Function


Node: TypeAlias = Act | Body | Fork | Rounds | Recall | Ends


@dataclass(slots=True)
class Outline:
    """A file: its evaluations that nobody calls, and the last evaluation of each function, by its identity."""

    bodies: list[Body] = field(default_factory=list)
    of_function: dict[int, Body] = field(default_factory=dict)


def outline(events: Sequence[Event], act_of: Callable[[Event], Act | None]) -> Outline:
    """What `act_of` picks out of the events, arranged by control flow. What picks nothing is left out."""
    made = Outline([Body()])
    stack: list[tuple[object, list[Node]]] = [(made.bodies[0], made.bodies[0].nodes)]
    last: Body | None = None  # the evaluation that ended just now: the call of it comes next
    for event in events:
        nodes = stack[-1][1]
        ended, last = last, None
        match event:
            case Entered():
                body = Body(event)
                stack.append((body, body.nodes))
            case Left():
                found = stack.pop()[0]
                assert isinstance(found, Body)
                last = found
                _keep(made, found, stack)
            case Call(callee=Function() as function):
                if ended is not None and ended.entered is not None and ended.entered.function is function:
                    ended.call = event
                else:
                    nodes.append(act_of(event) or Recall(event, function))
            case Branch(way=None):
                fork = stack.pop()[0]
                assert isinstance(fork, Fork)
                if any(fork.ways):
                    stack[-1][1].append(fork)
            case Branch(way=0):
                fork = Fork(event.site, event.may_change, [[]])
                stack.append((fork, fork.ways[0]))
            case Branch():
                fork = stack.pop()[0]
                assert isinstance(fork, Fork)
                fork.ways.append([])
                stack.append((fork, fork.ways[-1]))
            case Loop(round=None):
                loop = stack[-1][0]
                if isinstance(loop, Rounds) and loop.site.node is event.site.node:  # else it had no round
                    stack.pop()
                    if any(loop.rounds):
                        stack[-1][1].append(loop)
            case Loop(round=0):
                loop = Rounds(event.site, [[]])
                stack.append((loop, loop.rounds[0]))
            case Loop():
                loop = stack.pop()[0]
                assert isinstance(loop, Rounds)
                loop.rounds.append([])
                stack.append((loop, loop.rounds[-1]))
            case Ends():
                nodes.append(event)
            case _:
                act = act_of(event)
                if act is not None:
                    nodes.append(act)
    return made


def _keep(made: Outline, body: Body, stack: list[tuple[object, list[Node]]]) -> None:
    """Put an evaluation where it belongs: to its caller, or to those that nobody calls."""
    assert body.entered is not None
    known = made.of_function.get(id(body.entered.function))
    if known is None or body.nodes:
        made.of_function[id(body.entered.function)] = body
    if not any(not isinstance(node, Ends) for node in body.nodes):
        return
    if len(stack) == 1 and not body.entered.at_call:
        made.bodies.append(body)
    else:
        stack[-1][1].append(body)


class State(Protocol):
    """What is known along one path. States are compared, and immutable."""

    @property
    def tests(self) -> frozenset[Test]: ...

    def with_tests(self, tests: frozenset[Test]) -> State: ...


@dataclass(slots=True)
class Where:
    """Where a walk stands: the calls and the loops around, outermost first, and what parameters stand for."""

    calls: tuple[Site, ...] = ()
    loops: tuple[int, ...] = ()
    names: Mapping[int, Value] = field(default_factory=dict)  # by identity of what made the parameter


States: TypeAlias = "frozenset[State]"
Step: TypeAlias = "Callable[[Act, States, Where], States]"
EMPTY: States = frozenset()


class Overrun(Exception):
    """More paths than can be gone through."""


@dataclass(slots=True)
class Exits:
    """With which states a block is left: by its end, and otherwise."""

    end: States = EMPTY
    returns: States = EMPTY
    breaks: States = EMPTY
    continues: States = EMPTY


@dataclass(slots=True)
class Walk:
    """States on their way through the outline of a file."""

    file: Outline
    step: Step
    steps: int = 0

    def through(self, body: Body, states: States, where: Where, depth: int = 0) -> States:
        """The states with which a function is left. Raises Overrun."""
        exits = self.along(body.nodes, states, where, depth)
        return exits.end | exits.returns

    def along(self, nodes: Sequence[Node], states: States, where: Where, depth: int) -> Exits:
        exits = Exits(states)
        for node in nodes:
            if not exits.end:
                break
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise Overrun
            match node:
                case Act():
                    exits.end = self.step(node, exits.end, where)
                case Body():
                    site = (node.call.site,) if node.call is not None else ()
                    inside = Where((*where.calls, *site), where.loops, where.names)
                    exits.end = self.through(node, exits.end, inside, depth)
                case Recall():
                    exits.end = self.recall(node, exits.end, where, depth)
                case Fork():
                    self.part(node, exits, where, depth)
                case Rounds():
                    self.repeat(node, exits, where, depth)
                case Ends(how="return"):
                    exits.returns, exits.end = exits.returns | exits.end, EMPTY
                case Ends(how="break"):
                    exits.breaks, exits.end = exits.breaks | exits.end, EMPTY
                case Ends(how="continue"):
                    exits.continues, exits.end = exits.continues | exits.end, EMPTY
                case Ends():
                    exits.end = EMPTY
            exits.end = few(exits.end)
        return exits

    def part(self, fork: Fork, exits: Exits, where: Where, depth: int) -> None:
        text, holds = fork.test
        ends: list[States] = []
        for way, nodes in enumerate(fork.ways):
            entering = exits.end if not text else suppose(exits.end, (text, holds is (way == 0)))
            found = self.along(nodes, entering, where, depth)
            ends.append(found.end)
            exits.returns |= found.returns
            exits.breaks |= found.breaks
            exits.continues |= found.continues
        exits.end = merged(frozenset().union(*ends), text)

    def repeat(self, loop: Rounds, exits: Exits, where: Where, depth: int) -> None:
        states, left = exits.end, EMPTY
        inside = Where(where.calls, (*where.loops, id(loop.site.node)), where.names)
        for number in range(max(2, len(loop.rounds))):
            nodes = loop.rounds[min(number, len(loop.rounds) - 1)]
            found = self.along(nodes, renewed(states), inside, depth)
            states = found.end | found.continues
            left |= found.breaks
            exits.returns |= found.returns
        exits.end = states | left

    def recall(self, node: Recall, states: States, where: Where, depth: int) -> States:
        body = self.file.of_function.get(id(node.function))
        if body is None or body.entered is None or not body.nodes or depth >= MOST_CALLS:
            return states
        names = dict(where.names)
        given = dict(zip(body.entered.parameters, node.call.args)) | dict(node.call.kwargs)
        for name, value in body.entered.parameters.items():
            maker = getattr(value, "made_by", None)
            if name in given and maker is not None:
                names[id(maker)] = given[name]
        inside = Where((*where.calls, node.call.site), where.loops, names)
        return self.through(body, states, inside, depth + 1)


LASTING = re.compile(r"[\w.]+")  # a name or an attribute, whose truth holds for all rounds of a loop


def supposed(test: str) -> tuple[str, bool]:
    """A test without its negations, and whether it holds where the whole does: `x is not None` is that of `x`."""
    if test.startswith(("try:", "match ")):
        return "", True
    text, holds = test.strip(), True
    while text.startswith("not ") or (text.startswith("(") and text.endswith(")") and text.count("(") == 1):
        holds, text = (not holds, text[4:].strip()) if text.startswith("not ") else (holds, text[1:-1].strip())
    for ending, is_kept in ((" is not None", True), (" is None", False), (" is True", True), (" is False", False)):
        if text.endswith(ending) and LASTING.fullmatch(text.removesuffix(ending)):
            return text.removesuffix(ending), holds is is_kept
    if " != " in text and text.count(" ") == 2:
        return text.replace(" != ", " == "), not holds
    return text, holds


def suppose(states: States, test: Test) -> States:
    """Those states that allow a test to come out so."""
    text, holds = test
    allowed = (state for state in states if (text, not holds) not in state.tests)
    return frozenset(state.with_tests(state.tests | {test}) for state in allowed)


def merged(states: States, text: str) -> States:
    """States without a test that came out both ways and changed nothing."""
    bare = {state: state.with_tests(state.tests - {(text, True), (text, False)}) for state in states}
    both = [state for state in states if {(text, True), (text, False)} & state.tests]
    ways: dict[State, set[bool]] = {}
    for state in both:
        ways.setdefault(bare[state], set()).add((text, True) in state.tests)
    return frozenset(bare[state] if len(ways.get(bare[state], ())) == 2 else state for state in states)


def renewed(states: States) -> States:
    """States at the beginning of a round: tests of what changes from round to round are open again."""
    return frozenset(
        state if not state.tests else state.with_tests(frozenset(t for t in state.tests if LASTING.fullmatch(t[0])))
        for state in states
    )


def few(states: States) -> States:
    """States without their tests where they are too many. Raises Overrun where that does not help."""
    if len(states) <= MOST_STATES:
        return states
    fewer = frozenset(state.with_tests(frozenset()) for state in states)
    if len(fewer) > MOST_STATES:
        raise Overrun
    return fewer


def nodes_in(file: Outline, nodes: Sequence[Node]) -> Iterator[Act]:
    """All acts of a block, also in what it calls: each called function once, however often it is called."""
    seen: set[int] = set()
    waiting = [iter(nodes)]
    while waiting:
        node = next(waiting[-1], None)
        match node:
            case None:
                waiting.pop()
            case Act():
                yield node
            case Body(nodes=inside):
                waiting.append(iter(inside))
            case Fork(ways=blocks) | Rounds(rounds=blocks):
                waiting.extend(iter(block) for block in reversed(blocks))
            case Recall(function=function) if id(function) not in seen:
                seen.add(id(function))
                body = file.of_function.get(id(function))
                if body is not None:
                    waiting.append(iter(body.nodes))


def counted(file: Outline, nodes: Sequence[Node]) -> Iterator[Act]:
    """What is done where a number of rounds divides, `if (i + 1) % accumulate == 0`, in a function and its blocks."""
    for node in nodes:
        match node:
            case Fork(site=site, ways=ways):
                for way in ways:
                    yield from nodes_in(file, way) if "%" in site.text else counted(file, way)
            case Rounds(rounds=rounds):
                for inside in rounds:
                    yield from counted(file, inside)
            case Body(nodes=inside):
                yield from counted(file, inside)
