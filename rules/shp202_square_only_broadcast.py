"""Two axes that their author named differently are lined up.

Reports operations that are legal only when two named axes happen to have one size: a (t_q, t_q) mask on (t_q, t_k)
scores, (n,) with (d,), H with W. Names come from annotations, einops patterns and `b, t, c = x.shape`; sizes of a
configuration are no axes. Both names must be used for two axes of one tensor, or stand in one signature.

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

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from shapelint.dims import Dim, Origin, Symbol
from shapelint.events import Event, Input, Operation
from shapelint.evidence import clue, made_by, name_of
from shapelint.lineups import Facing, faced
from shapelint.rule import Report
from shapelint.values import Shape


def check(events: Sequence[Event]) -> Iterator[Report]:
    operations = [event for event in events if isinstance(event, Operation)]
    together = frozenset(pair for event in operations for pair in used_together(event))
    for event in operations:
        for facing in faced(event):
            left, right = axis_symbol(facing.left.size), axis_symbol(facing.right.size)
            if left is None or right is None or left.name == right.name:
                continue
            if frozenset((left, right)) in together or is_elsewhere(left, right, facing):
                yield report(event, facing, left, right)
                break


def axis_symbol(size: Dim) -> Symbol | None:
    """The named axis that a size is, or that cuts it off: x[:t] has t rows, or fewer."""
    symbol = size.symbol
    if symbol is not None and symbol.derivation is not None and symbol.derivation.function in {"min", "slice"}:
        named = {axis_symbol(operand) for operand in symbol.derivation.operands} - {None}
        return named.pop() if len(named) == 1 else None
    return symbol if symbol is not None and symbol.origin is Origin.AXIS and symbol.derivation is None else None


def used_together(event: Operation) -> Iterator[frozenset[Symbol]]:
    """Pairs of names that stand for two axes of one tensor, or in the annotations of one signature."""
    for operand in event.operands:
        yield from pairs(axis_symbol(axis.size) for axis in operand.shape.axes)
    declared = [v.shape for v in event.operands if isinstance(e := made_by(v), Input) and e.annotation]
    yield from pairs(axis_symbol(axis.size) for shape in declared for axis in shape.axes)


def pairs(symbols: Iterable[Symbol | None]) -> Iterator[frozenset[Symbol]]:
    known = [symbol for symbol in symbols if symbol is not None]
    yield from (frozenset((a, b)) for a, b in combinations(known, 2) if a.scope == b.scope and a.name != b.name)


def is_elsewhere(left: Symbol, right: Symbol, facing: Facing) -> bool:
    """Whether one operand has the other's name on an axis of its own, though not on this one."""
    return left.name in names(facing.second.shape) or right.name in names(facing.first.shape)


def names(shape: Shape) -> set[str]:
    return {symbol.name for axis in shape.axes if (symbol := axis_symbol(axis.size)) is not None}


def report(event: Operation, facing: Facing, left: Symbol, right: Symbol) -> Report:
    a, b = name_of(event, facing.first, "one operand"), name_of(event, facing.second, "the other")
    message = f"{a} {facing.first.shape} meets {b} {facing.second.shape}: legal only when {left} == {right}"
    return Report(event, message, (clue(event, facing.first), clue(event, facing.second)))
