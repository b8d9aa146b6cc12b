"""A loss compares shapes that do not match: (n, 1) with (n,).

Reports the elementwise losses of torch and optax (mse, l1, smooth_l1, huber, binary cross entropy ...) whose input and
target broadcast against each other, or one of which is the single output (n, 1) of a layer or reduction beside several
numbers (n, k) of each sample. Silent where both sides were given their axes on purpose, as in a quantile Huber loss.

Why: the loss averages over all n * n pairs of a prediction and a target. It is finite, it falls, and its minimum is
to predict the mean target everywhere.

Bad:
    import torch
    from torch import nn

    def fit(n=32):
        x, y = torch.randn(n, 3), torch.randn(n)
        model, criterion = nn.Linear(3, 1), nn.MSELoss()
        return criterion(model(x), y)  # expect: SHP102

Good:
    import torch
    from torch import nn

    def fit(n=32):
        x, y = torch.randn(n, 3), torch.randn(n)
        model, criterion = nn.Linear(3, 1), nn.MSELoss()
        return criterion(model(x).squeeze(-1), y)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.axes.columns import Table, mismatched_loss, spread_loss
from shapelint.analysis.evidence import clue, name_of
from shapelint.analysis.index import operations
from shapelint.domain.memory import cost
from shapelint.events import Event, Kind, Operation
from shapelint.finding import Severity
from shapelint.fixes.proposals import fits_without_axis, is_column_for_certain, sites_of, squeezed, squeezed_words
from shapelint.rule import Report

AT_CALLS = True


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event in operations(events, {Kind.LOSS}):
        table = mismatched_loss(event, events)
        if table is None:
            if (spread := spread_loss(event)) is not None:
                yield spread_report(event, spread)
            continue
        column, vector = name_of(event, table.column, "one side"), name_of(event, table.vector, "the other")
        outcome = f"is taken over {table.shape}{cost(table.shape, table.column)}, each prediction against every target"
        if event.problem is not None:
            outcome = "raises"
        remedy = f"{column} needs squeeze({table.place}) first" if fits_without_axis(table) else "give both one shape"
        yield Report(
            event,
            f"{column} is {table.column.shape} and {vector} {table.vector.shape}: the loss {outcome}; {remedy}",
            (clue(event, table.column, table.place), clue(event, table.vector)),
            severity=Severity.ERROR if event.problem is not None else None,
            marks=sites_of(event, (table.column, table.vector)),
            fix=squeezed(event, table),
            fix_message=squeezed_words(event, table),
            fix_is_safe=is_column_for_certain(table),
        )


def spread_report(event: Event, table: Table) -> Report:
    assert isinstance(event, Operation)
    column, others = name_of(event, table.column, "one side"), name_of(event, table.vector, "the other")
    return Report(
        event,
        f"{column} is {table.column.shape} and {others} {table.vector.shape}: the loss compares one number of each "
        f"sample with {table.size}; reduce the axis that is too many, or give both as many",
        (clue(event, table.column, table.place), clue(event, table.vector)),
    )
