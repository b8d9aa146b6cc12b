"""Scalers that are stepped in each round of a loop, and updated only in some: where a number of rounds divides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis import syntax
from shapelint.analysis.control_flow import Act, Body, Fork, Node, Outline, Rounds, nodes_in, outline
from shapelint.analysis.training.actions import act_of, is_disabled, key, roles_of
from shapelint.events import Ends, Event


def seldom_updated(events: Sequence[Event]) -> Iterator[Act]:
    """The steps of which the second one meets a scaler that has not been updated since."""
    roles = roles_of(events)
    if roles is None or not roles.scalers:
        return
    file = outline(events, lambda event: act_of(event, roles))
    for body in file.bodies:
        yield from _in_block(file, body.nodes)


def _in_block(file: Outline, nodes: Sequence[Node]) -> Iterator[Act]:
    for node in nodes:
        match node:
            case Rounds(rounds=[first, *_]):
                yield from _in_round(file, first)
            case Body(nodes=inside):
                yield from _in_block(file, inside)
            case Fork(ways=ways):
                for way in ways:
                    yield from _in_block(file, way)


def _in_round(file: Outline, nodes: Sequence[Node]) -> Iterator[Act]:
    """In a round that nothing ends early: a step on every way through it, and an update on some."""
    yield from _in_block(file, nodes)
    forks = [node for node in nodes if isinstance(node, Fork)]
    if any(isinstance(node, Ends) for fork in forks for way in fork.ways for node in way):
        return
    found = [[_updates(file, way) for way in fork.ways] for fork in forks if syntax.takes_modulo(fork.site)]
    seldom = [act for ways in found if not all(ways) or len(ways) == 1 for way in ways for act in way]
    others = [act for act in _updates(file, nodes) if act not in seldom]
    for step in nodes:
        if not isinstance(step, Act) or step.kind != "step" or step.other is None or is_disabled(step.other):
            continue
        scaler = key(step.other)
        if any(key(act.subject) == scaler for act in seldom) and not others:
            yield step


def _updates(file: Outline, nodes: Sequence[Node]) -> list[Act]:
    return [act for act in nodes_in(file, nodes) if act.kind == "update"]
