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

from shapelint.analysis.axes.columns import has_one
from shapelint.analysis.axes.outer import is_shared
from shapelint.analysis.axes.squeezed import is_of_one_row
from shapelint.analysis.evidence import (
    BROADCASTING,
    axes_of,
    contradicted,
    elementwise_sources,
    identity,
    is_misplaced,
    keeps_axes,
    least_ranks,
    may_have_rank_of,
    name_of,
    reduced_operands,
    reductions_behind,
    shortened,
    works_by_label,
)
from shapelint.analysis.index import operations
from shapelint.domain.values import Tensor, Unknown, Value
from shapelint.events import Event, Kind, Operation
from shapelint.fixes.proposals import kept
from shapelint.provenance import ancestors
from shapelint.rule import Clue, Report

AT_CALLS = True


def check(events: Sequence[Event]) -> Iterator[Report]:
    if not any(may_misplace(event) for event in operations(events, {Kind.REDUCTION})):
        return
    pairs = [pair for event in operations(events, BROADCASTING) for pair in reduced_operands(event)]
    if pairs:
        ranks, by_label, told = least_ranks(events), works_by_label(events), contradicted(events)
        reported: set[int] = set()
        for event, reduced, reductions in pairs:
            operands = [value for value in event.values if isinstance(value, Tensor | Unknown)]
            for reduction in (r for r in reductions if id(r.site.node) not in told):
                source = next((v for v in operands if v is not reduced and is_source(v, reduction, ranks)), None)
                if source is None or (by_label and library(reduction) is None) or is_of_one_row(events, event):
                    continue
                # softmax by hand drops two axes: each is a mistake of its own.
                is_another = any(id(earlier) in reported for earlier in ancestors(reduction))
                reported.add(id(reduction))
                yield report(event, reduction, reduced, source, is_shared(events, event, reduced), is_another)
                break


def may_misplace(reduction: Operation) -> bool:
    return not keeps_axes(reduction) and axes_of(reduction) not in (None, (0,))


def is_source(value: Value, reduction: Operation, ranks: dict[object, int]) -> bool:
    """Whether `value` and what was reduced are elementwise functions of one tensor, and the reduction moved an axis."""
    reduced = reduction.arguments["x"]
    if reductions_behind(value):
        return False
    both = {identity(v): v for v in elementwise_sources(value)}
    powers = (event for event in ancestors(reduction, 20) if isinstance(event, Operation) and event.name == "pow")
    exponents = {identity(event.arguments["y"]) for event in powers if "y" in event.arguments}
    sources = (v for v in elementwise_sources(reduced) if identity(v) not in exponents)
    shared = [v for v in sources if identity(v) in both and may_have_rank_of(v, reduced)]
    if not shared:
        return False
    if isinstance(value, Tensor) and has_one(value):
        return False  # a column: the two make a table of each other, on any square or none (SHP101)
    chain = (*elementwise_sources(reduced), *both.values())
    return is_misplaced(reduction, max((ranks.get(identity(v), 0) for v in chain), default=0))


def library(reduction: Operation) -> str | None:
    reduced = reduction.arguments["x"]
    return reduced.library if isinstance(reduced, Tensor) else None


def report(
    event: Operation, reduction: Operation, reduced: Value, source: Value, shared: bool, is_another: bool
) -> Report:
    row, table = name_of(event, reduced, "the reduction"), name_of(event, source, "its source")
    known = f" {source.shape}" if isinstance(source, Tensor) and source.shape.rank is not None else ""
    keep = "keepdim=True" if library(reduction) == "torch" else "keepdims=True"
    # The mistake is the reduction: what it spoils is reported once for each reduction, where the two meet.
    return Report(
        reduction,
        f"{row} lines up with the last axis of {table}{known}, not with the axis it was reduced over: legal only on a "
        f"square, and wrong there; keep the axis with {keep}",
        (Clue(f"`{shortened(reduction.site.text)}` drops its axis", reduction.site),),
        event.site,
        fix=kept(reduction, keep),
        fix_message=f"Keep the axis: {keep}",
        fix_is_safe=not shared,
        stands_alone=is_another,
    )
