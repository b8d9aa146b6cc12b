"""A row statistic without keepdim meets its own rows: x - x.mean(1).

Reports a reduction over an axis other than the first, without keepdim, that is combined with what it was computed
from: also through a variable, elementwise functions (`logits - log(exp(logits).sum(1))`), `.clamp`, `.values`. Silent
where the axis is put back with `[:, None]`, `unsqueeze`, `reshape`, or both sides were reduced.

Why: the result lines up with the last axis instead of the rows. That raises unless the table is square, and on a
square one (attention maps, similarities, confusion matrices) every row gets the statistics of other rows.

Bad:
    import numpy as np

    def shares(counts):
        return counts / counts.sum(axis=1)  # expect: SHP201

Good:
    import numpy as np

    def shares(counts):
        return counts / counts.sum(axis=1, keepdims=True)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.events import Event, Operation
from shapelint.evidence import (
    broadcasts,
    elementwise_sources,
    identity,
    is_misplaced,
    least_ranks,
    name_of,
    reductions_behind,
    shortened,
    works_by_label,
)
from shapelint.rule import Clue, Report
from shapelint.values import Tensor, Unknown, Value


def check(events: Sequence[Event]) -> Iterator[Report]:
    ranks, by_label = least_ranks(events), works_by_label(events)
    for event in events:
        if not isinstance(event, Operation) or event.problem is not None or not broadcasts(event):
            continue
        operands = [value for value in event.values if isinstance(value, Tensor | Unknown)]
        for reduced in operands:
            for reduction in reductions_behind(reduced):
                source = next((v for v in operands if v is not reduced and is_source(v, reduction, ranks)), None)
                if source is not None and not (by_label and library(reduction) is None):
                    yield report(event, reduction, reduced, source)
                    break


def is_source(value: Value, reduction: Operation, ranks: dict[object, int]) -> bool:
    """Whether `value` and what was reduced are elementwise functions of one tensor, and the reduction moved an axis."""
    reduced = reduction.arguments["x"]
    if reductions_behind(value):
        return False
    both = {identity(v): v for v in elementwise_sources(value)}
    shared = [v for v in elementwise_sources(reduced) if identity(v) in both and may_have_rank_of(v, reduced)]
    if not shared:
        return False
    chain = (*elementwise_sources(reduced), *both.values())
    return is_misplaced(reduction, max((ranks.get(identity(v), 0) for v in chain), default=0))


def may_have_rank_of(source: Value, reduced: Value) -> bool:
    """False for a bias (d,) beside what was reduced (n, d)."""
    ranks = [v.shape.rank for v in (source, reduced) if isinstance(v, Tensor)]
    return len(ranks) < 2 or None in ranks or ranks[0] == ranks[1]


def library(reduction: Operation) -> str | None:
    reduced = reduction.arguments["x"]
    return reduced.library if isinstance(reduced, Tensor) else None


def report(event: Operation, reduction: Operation, reduced: Value, source: Value) -> Report:
    row, table = name_of(event, reduced, "the reduction"), name_of(event, source, "its source")
    known = f" {source.shape}" if isinstance(source, Tensor) and source.shape.rank is not None else ""
    keep = "keepdim=True" if reduction.callee.startswith("torch") else "keepdims=True"
    text = shortened(reduction.site.text)
    # The mistake is the reduction: what it spoils is reported once for each reduction, where the two meet.
    return Report(
        reduction,
        f"{row} lines up with the last axis of {table}{known}, not with the axis it was reduced over: legal only on a "
        f"square, and wrong there; keep the axis with {keep}",
        (Clue(f"`{text}` drops its axis", reduction.site),),
        event.site,
    )
