"""The control flow of a file: what a caller picks out of its events, arranged by functions, branches and loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from shapelint.analysis import syntax
from shapelint.domain.record import record
from shapelint.domain.values import UNKNOWN, Function, Value
from shapelint.events import Branch, Call, Ends, Entered, Event, Left, Loop, Site

Test: TypeAlias = "tuple[str, bool]"
LASTING = re.compile(r"[\w.]+")  # a name or an attribute, whose truth holds for all rounds of a loop


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


Stack: TypeAlias = list[tuple[object, list[Node]]]  # what is open, outermost first, and where its next node goes


def outline(events: Sequence[Event], act_of: Callable[[Event], Act | None]) -> Outline:
    """What `act_of` picks out of the events, arranged by control flow. What picks nothing is left out."""
    made = Outline([Body()])
    stack: Stack = [(made.bodies[0], made.bodies[0].nodes)]
    last: Body | None = None  # the evaluation that ended just now: the call of it comes next
    for event in events:
        ended, last = last, None
        match event:
            case Entered():
                body = Body(event)
                stack.append((body, body.nodes))
            case Left():
                last = _end_body(made, stack)
            case Call(callee=Function() as function):
                if ended is not None and ended.entered is not None and ended.entered.function is function:
                    ended.call = event
                else:
                    stack[-1][1].append(act_of(event) or Recall(event, function))
            case Branch():
                _branch(stack, event)
            case Loop():
                _loop(stack, event)
            case Ends():
                stack[-1][1].append(event)
            case _:
                act = act_of(event)
                if act is not None:
                    stack[-1][1].append(act)
    acting = _acting(made)
    made.bodies = [body for body in made.bodies if _is_kept(body, acting)]
    return made


def _acting(made: Outline) -> set[int]:
    """The functions in which something happens, or in what they call, by identity."""
    callers: dict[int, list[int]] = {}
    acting: set[int] = set()
    for function, body in made.of_function.items():
        for node in _flat(body.nodes):
            if isinstance(node, Recall):
                callers.setdefault(id(node.function), []).append(function)
            else:
                acting.add(function)
    waiting = list(acting)
    while waiting:
        new = [caller for caller in callers.pop(waiting.pop(), ()) if caller not in acting]
        acting.update(new)
        waiting.extend(new)
    return acting


def _flat(nodes: Sequence[Node]) -> Iterator[Act | Recall]:
    """What happens in a block, and what is called there."""
    for node in nodes:
        match node:
            case Act() | Recall():
                yield node
            case Body(nodes=inside):
                yield from _flat(inside)
            case Fork(ways=blocks) | Rounds(rounds=blocks):
                for block in blocks:
                    yield from _flat(block)


def _is_kept(node: Node, acting: set[int]) -> bool:
    """Whether a node holds more than calls of functions in which nothing happens, after those in it are dropped."""
    match node:
        case Recall(function=function):
            return id(function) in acting
        case Body(nodes=inside):
            inside[:] = [node for node in inside if _is_kept(node, acting)]
            return any(not isinstance(node, Ends) for node in inside)
        case Fork(ways=blocks) | Rounds(rounds=blocks):
            for block in blocks:
                block[:] = [node for node in block if _is_kept(node, acting)]
            return any(blocks)
    return True


def _end_body(made: Outline, stack: Stack) -> Body:
    """Put an evaluation where it belongs: to its caller, or to those that nobody calls."""
    body = stack.pop()[0]
    assert isinstance(body, Body)
    assert body.entered is not None
    known = made.of_function.get(id(body.entered.function))
    if known is None or body.nodes:
        made.of_function[id(body.entered.function)] = body
    if any(not isinstance(node, Ends) for node in body.nodes):
        if len(stack) == 1 and not body.entered.at_call:
            made.bodies.append(body)
        else:
            stack[-1][1].append(body)
    return body


def _branch(stack: Stack, event: Branch) -> None:
    """Another way of a fork begins, the first one, or none: then its ways have met again."""
    if event.way == 0:
        fork = Fork(event.site, event.may_change)
    else:
        found = stack.pop()[0]
        assert isinstance(found, Fork)
        fork = found
    if event.way is None:
        if any(fork.ways):
            stack[-1][1].append(fork)
        return
    fork.ways.append([])
    stack.append((fork, fork.ways[-1]))


def _loop(stack: Stack, event: Loop) -> None:
    """Another round of a loop begins, the first one, or none: then the loop is over."""
    loop = stack[-1][0]
    if event.round is None:
        if isinstance(loop, Rounds) and loop.site.node is event.site.node:  # else it had no round
            stack.pop()
            if any(loop.rounds):
                stack[-1][1].append(loop)
        return
    if event.round == 0:
        loop = Rounds(event.site)
    else:
        stack.pop()
        assert isinstance(loop, Rounds)
    loop.rounds.append([])
    stack.append((loop, loop.rounds[-1]))


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
                    yield from nodes_in(file, way) if syntax.takes_modulo(site) else counted(file, way)
            case Rounds(rounds=rounds):
                for inside in rounds:
                    yield from counted(file, inside)
            case Body(nodes=inside):
                yield from counted(file, inside)
