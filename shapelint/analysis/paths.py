"""The paths through a file: what happens along them, in order, through branches, rounds of loops and calls.

`control_flow.outline` arranges what a caller picks out of the events into functions, branches and loops; a Walk sends
states through them. A loop is gone through twice, so that the second round meets what the first one left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from shapelint.analysis.control_flow import LASTING, Act, Body, Fork, Node, Outline, Recall, Rounds, Test
from shapelint.domain.values import Value
from shapelint.events import Ends, Site

MOST_STATES = 48
MOST_STEPS = 20_000
MOST_CALLS = 6


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
            self.steps += len(exits.end)
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
