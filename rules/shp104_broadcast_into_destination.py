"""A result is written into an array that it does not fit.

Reports slice assignments and in-place operations whose value has other sizes, or more axes, than the place it goes
to: `meta[:, j] = column`, `scores += table` where scores has one column, `out[i:j] = layer(x)` where the layer has one
output and `out` one axis.

Why: an array that is written to keeps its shape, so nothing is broadcast for it. The line raises whenever it runs,
often after hours in which the array was filled.

Bad:
    import numpy as np

    def stack(n=50, k=3):
        meta = np.zeros((n, k))
        for j in range(k):
            meta[:, j] = np.random.rand(n, 1)  # expect: SHP104
        return meta

Good:
    import numpy as np

    def stack(n=50, k=3):
        meta = np.zeros((n, k))
        for j in range(k):
            meta[:, j] = np.random.rand(n, 1)[:, 0]
        return meta
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.axes.columns import column_on_row
from shapelint.analysis.evidence import axis_out_of_range, clue, is_written, shortened, tensors_of
from shapelint.analysis.index import operations
from shapelint.analysis.problems import problems
from shapelint.events import Event
from shapelint.finding import Severity
from shapelint.rule import Report

AT_CALLS = True
SEVERITY = Severity.ERROR


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event in problems(events):
        if not is_written(event):
            continue
        if axis_out_of_range(event) is None:
            clues = tuple(clue(event, operand) for operand in tensors_of(event)[:3])
            yield Report(event, f"`{shortened(event.site.text)}` can never work: {event.problem}", clues)
    for event in operations(events, {"setitem"}):
        if (found := column_on_row(event)) is not None:
            message = f"`{shortened(event.site.text)}` writes {found.column.shape} where {found.region} is"
            yield Report(event, f"{message}: it fits only if that is a single row", (clue(event, found.column, -1),))
