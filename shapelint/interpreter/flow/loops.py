"""Loops: every round where the items are known; else one from the state before, one from what all have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import libcst as cst

from shapelint.domain.joins import any_like, renewed, widened
from shapelint.domain.tokens import now
from shapelint.domain.values import (
    NONE,
    Const,
    Float,
    Instance,
    Int,
    Run,
    Shape,
    Tensor,
    Tuple,
    Union,
    Value,
    maker_of,
    options,
)
from shapelint.events import Loop
from shapelint.interpreter import statements
from shapelint.interpreter.expressions import evaluate, truth_of
from shapelint.interpreter.flow import again, comprehensions, conditions, growth, iterators, lengths
from shapelint.interpreter.flow.assignments import assign
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.functions.states import is_part
from shapelint.interpreter.scopes import Path
from shapelint.ops.op import unknown_shape
from shapelint.provenance import ancestors

MOST_PASSES = 2
MOST_BEHIND = 100
HELD = (Tensor, Int, Float, Const, Tuple)  # a list that is known item by item
Held: TypeAlias = list[tuple[Instance, dict[str, Value]]]


def loops_over(frame: Frame, node: cst.For) -> None:
    begun = now()
    iterable = evaluate(frame, node.iter)
    iterators.used(frame, iterable, node.iter)
    known = comprehensions.items(frame, iterable)
    outer, frame.breaks = frame.breaks, []
    frame.loops.append(node)
    if known is not None:
        key = frame.key
        for number, item in enumerate(known):
            frame.key = (key, id(node), number) if number else key
            begins_round(frame, node, number)
            assign(frame, node.target, item)
            statements.execute_block(frame, node.body)
            frame.meet([frame.snapshot(), *frame.breaks], node) if frame.breaks else None
            if not frame.alive:
                break
        frame.key = key
    else:
        before = dict(frame.scope.names)
        count = comprehensions.length(iterable)
        is_certain = count is not None and (count.value or 0) > 0  # range(1, 1001) has a first round
        repeat(frame, node, lambda: assign(frame, node.target, next_item(frame, node, iterable, begun)), is_certain)
        lengths.filled(frame, node, before, count)
    leaves(frame, node, outer)
    if node.orelse is not None and frame.alive:
        statements.execute_block(frame, node.orelse.body)


def next_item(frame: Frame, node: cst.For, iterable: Value, begun: int) -> Value:
    """The item of a round; what a generator left open is open in each round."""
    item = comprehensions.item(frame, iterable, node.iter)
    return renewed(item, begun, frame.place(node))


def loops_while(frame: Frame, node: cst.While) -> None:
    endless = truth_of(evaluate(frame, node.test)) is True
    outer, frame.breaks = frame.breaks, []
    frame.loops.append(node)
    before = dict(frame.scope.names)
    repeat(frame, node, lambda: conditions.assume(frame, node.test, True), at_least_once=endless)
    lengths.filled(frame, node, before, None)
    leaves(frame, node, outer)


def begins_round(frame: Frame, node: cst.For | cst.While, number: int) -> None:
    header = (frame.site(node.target), frame.site(node.iter)) if isinstance(node, cst.For) else ()
    frame.tell(Loop(frame.site(node), number, *header))


def leaves(frame: Frame, node: cst.For | cst.While, outer: list[Path]) -> None:
    frame.breaks = outer
    frame.loops.pop()
    frame.tell(Loop(frame.site(node), None))


def repeat(frame: Frame, node: cst.For | cst.While, begin: Callable[[], None], at_least_once: bool = False) -> None:
    """The body of a loop, once from the state before, and again from what all rounds have in common."""
    before, key, foretold = frame.snapshot(), frame.key, frame.foretold
    since = now()
    known: dict[Run, Shape] = {}  # what the first round found out about what was there before
    ways: list[Path] = []
    frame.branch_depth += 1
    passes = MOST_PASSES if frame.branch_depth <= 2 else 1
    for number in range(passes):
        entry, held = frame.snapshot(), attributes_held(frame)
        if number:
            frame.key = (key, id(node), number)  # what is unknown now is not what was unknown in the first round
            left_over(frame, before, (frame.place(node), "left"))
            frame.shapes |= known
        begins_round(frame, node, number)
        events, returns = len(frame.run.events), len(frame.returns)
        begin()
        if frame.alive:
            statements.execute_block(frame, node.body)
            growth.carried(frame, node, entry)
        is_last = number > 0 or len(frame.returns) > returns
        told, known = ({}, {}) if is_last else again.next_round(frame, entry, since, events, node)
        frame.foretold = foretold | told
        ways = [frame.snapshot(), *frame.breaks]
        frame.breaks.clear()
        frame.meet([*ways, entry], node)
        widen(frame, entry, (frame.place(node), number))
        if passes == 1:
            forget_placeholders(frame, entry)
        if not frame.alive or (
            not told and settled(entry, frame.snapshot()) and holds_same(held, attributes_held(frame))
        ):
            break
    if at_least_once:  # the last of the rounds that were looked at stands for any of them
        frame.meet(ways, node)
        widen(frame, entry, (frame.place(node), passes))
    frame.branch_depth -= 1
    frame.key, frame.foretold = key, foretold
    if not frame.alive:
        frame.restore(Path(before.names, before.facts, before.shapes, False))


def widen(frame: Frame, entry: Path, scope: object) -> None:
    """What a round changed the next one may change again: no number of rounds says all."""
    for name, value in frame.scope.names.items():
        if value is not entry.names.get(name):
            frame.scope.names[name] = widened(value, (scope, name), type(value) is Union and grows(value))


def grows(value: Value) -> bool:
    """Whether one of several values may have been computed from another of them."""
    makers = {maker_of(option) for option in options(value)}
    return None in makers or any(
        earlier in makers for maker in makers if maker is not None for earlier in ancestors(maker, MOST_BEHIND)
    )


def forget_placeholders(frame: Frame, entry: Path) -> None:
    """An empty array that the first round has replaced grows in the next one, which is not looked at."""
    for name, value in frame.scope.names.items():
        before = entry.names.get(name)
        if value is before or not isinstance(before, Tensor) or not isinstance(value, Tensor):
            continue
        if any(axis.size.value == 0 for axis in before.shape.axes):
            frame.scope.names[name] = replace(value, shape=unknown_shape())


def left_over(frame: Frame, before: Path, scope: object) -> None:
    """What the first round bound is at the beginning of a later one what any round before it made of it."""
    for name, value in frame.scope.names.items():
        if name not in before.names:
            frame.scope.names[name] = any_like(value, (scope, name))


def settled(before: Path, after: Path) -> bool:
    """Whether another round could bring nothing new: every name that was bound still means the same."""
    return all(after.names.get(name) == value for name, value in before.names.items())


def attributes_held(frame: Frame) -> Held:
    """The arrays, numbers and lists that are attributes of the objects at hand: calls may change them in a round."""
    owners = [value for value in frame.scope.names.values() if isinstance(value, Instance)]
    return [(owner, {n: v for n, v in owner.attributes.items() if isinstance(v, HELD)}) for owner in owners]


def holds_same(before: Held, after: Held) -> bool:
    """Whether a round left all of it as it was; of layers one stands for all that the rounds add to a list."""
    return len(before) == len(after) and all(
        without_parts(owner, old) == without_parts(owner, new) for (owner, old), (_, new) in zip(before, after)
    )


def without_parts(owner: Instance, held: dict[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in held.items() if not is_part(owner.attributes.get(name, NONE))}
