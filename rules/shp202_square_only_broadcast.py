"""Two axes that their author named differently are lined up.

Reports operations that are legal only when two named axes happen to have one size: a (t_q, t_q) mask on (t_q, t_k)
scores, (n,) with (d,), H with W. Names come from annotations, einops patterns and `b, t, c = x.shape`; sizes of a
configuration are no axes. Both names must be used for two axes of one tensor, or stand in one signature. And an
operand with fewer axes that shares one with the other operand, where it stands elsewhere: (n,) beside (n, d).

Why: it works on square inputs, which is what tests use, and lines up the wrong things there.

Bad:
    import torch

    def mask(q, k):
        t_q, d = q.shape
        t_k, _ = k.shape
        scores = q @ k.T
        return scores.masked_fill(torch.ones(t_q, t_q).triu(1) > 0, -1e9)  # expect: SHP202

Good:
    import torch

    def mask(q, k):
        t_q, d = q.shape
        t_k, _ = k.shape
        scores = q @ k.T
        return scores.masked_fill(torch.ones(t_q, t_k).triu(1) > 0, -1e9)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from shapelint.analysis.axes.alignment import (
    FACING,
    Facing,
    axis_symbol,
    axis_symbols,
    birthplaces,
    displaced,
    faced,
    used_together,
)
from shapelint.analysis.axes.mirrored import is_mirrored
from shapelint.analysis.evidence import clue, name_of
from shapelint.analysis.index import operations
from shapelint.domain.dims import Dim, Symbol
from shapelint.domain.values import Function
from shapelint.events import Event, Operation
from shapelint.rule import Report

AT_CALLS = True


def check(events: Sequence[Event]) -> Iterator[Report]:
    found: list[tuple[Operation, Facing, Symbol, Symbol]] = []
    for event in operations(events, FACING):
        found.extend(named_apart(event))
        for facing in islice(displaced(event), 1):
            if not is_mirrored(event):
                yield report(event, facing, facing.left.size, facing.right.size)
    if not found:
        return
    together = frozenset(pair for event in events if isinstance(event, Operation) for pair in used_together(event))
    places = birthplaces(events)
    reported: set[Operation] = set()
    for event, facing, left, right in found:
        is_named_apart = frozenset((left, right)) in together or is_elsewhere(left, right, facing, places)
        if is_named_apart and event not in reported:
            reported.add(event)
            yield report(event, facing, left, right)


def named_apart(event: Operation) -> Iterator[tuple[Operation, Facing, Symbol, Symbol]]:
    """The axes that an event lines up and that their author named differently."""
    for facing in faced(event) if not is_mirrored(event) else ():
        left, right = axis_symbol(facing.left.size), axis_symbol(facing.right.size)
        if left is not None and right is not None and left.name != right.name:
            yield event, facing, left, right


def is_elsewhere(left: Symbol, right: Symbol, facing: Facing, places: dict[object, Function | None]) -> bool:
    """Whether one operand has the other's name on an axis of its own, though not on this one.

    A name means the same in the functions of one author, but not in two calls of one function.
    """
    if left.scope != right.scope:
        here, there = places.get(left.scope), places.get(right.scope)
        if here is None or there is None or here is there:
            return False
    first, second = ({s.name for s in axis_symbols(tensor.shape)} for tensor in (facing.first, facing.second))
    return left.name in second or right.name in first


def report(event: Operation, facing: Facing, left: Dim | Symbol, right: Dim | Symbol) -> Report:
    a, b = name_of(event, facing.first, "one operand"), name_of(event, facing.second, "the other")
    message = f"{a} {facing.first.shape} meets {b} {facing.second.shape}: legal only when {left} == {right}"
    return Report(event, message, (clue(event, facing.first), clue(event, facing.second)))
