"""The shapes can never work together.

Reports operations that raise whenever they run: a broadcast of 3 with 4, a matmul whose inner sizes differ, `cat` of
pieces that do not fit, features that are not what a Linear or a convolution expects, a view of another size.

Why: it is found before the job has waited for its machine, and on branches that no test has run.

Bad:
    import torch
    from torch import nn

    def classify(n=16):
        images = torch.randn(n, 8, 7, 7)
        return nn.Linear(400, 10)(images.flatten(1))  # expect: SHP103

Good:
    import torch
    from torch import nn

    def classify(n=16):
        images = torch.randn(n, 8, 7, 7)
        return nn.Linear(8 * 7 * 7, 10)(images.flatten(1))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.axes.columns import mismatched_loss
from shapelint.analysis.evidence import axis_out_of_range, clue, is_written, shortened, tensors_of
from shapelint.analysis.problems import problems
from shapelint.analysis.uses import evaluation_of
from shapelint.events import Event, Operation
from shapelint.finding import Severity
from shapelint.rule import Report

SEVERITY = Severity.ERROR


def check(events: Sequence[Event]) -> Iterator[Report]:
    told: set[object] = set()
    for event in problems(events):
        index = variable_index(events, event)
        if index is not None and index in told:
            continue  # once is enough: it is wrong at each of its uses
        told.add(index)
        if axis_out_of_range(event) is None and mismatched_loss(event) is None and not is_written(event):
            clues = tuple(clue(event, operand) for operand in tensors_of(event)[:3])
            yield Report(event, f"`{shortened(event.site.text)}` can never work: {event.problem}", clues)


def variable_index(events: Sequence[Event], event: Operation) -> object | None:
    """Which variable an array is indexed by, in which evaluation of a function; None for all other operations."""
    site = event.sites.get("index") if event.name == "getitem" else None
    if site is None or not site.text.isidentifier():
        return None
    evaluation = evaluation_of(events, event)
    return site.text, site.filename, id(evaluation.entered) if evaluation is not None else 0
