"""A column meets a vector: (n, 1) with (n,) broadcasts to (n, n).

Reports arithmetic, comparisons, `where`, `maximum`, `clamp` bounds and `log_prob` in which a column meets a vector of
the same length, or of a length that nobody knows where the difference is squared and averaged over all pairs. Silent
where the author asks for the table: `a[:, None] - b[None, :]`, grids, masks, a value against itself.

Why: nothing raises. Each of the n values meets all n others, the mean of the table is a plausible number, and a
model trained on it learns the mean of its targets.

Bad:
    import torch
    from torch import nn

    def advantage(n=32):
        states, returns = torch.randn(n, 4), torch.randn(n)
        critic = nn.Linear(4, 1)
        return returns - critic(states)  # expect: SHP101

Good:
    import torch
    from torch import nn

    def advantage(n=32):
        states, returns = torch.randn(n, 4), torch.randn(n)
        critic = nn.Linear(4, 1)
        return returns - critic(states).squeeze(-1)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, combinations

from shapelint.analysis.axes.columns import (
    Table,
    averaged_tables,
    batch_table,
    is_averaged,
    is_meant,
    label_table,
    moved_table,
    table_of,
    tally_table,
)
from shapelint.analysis.axes.outer import taken_over
from shapelint.analysis.axes.ranks import ranked_table
from shapelint.analysis.evidence import BROADCASTING, broadcasts, clue, name_of, shortened, tensors_of
from shapelint.analysis.index import operations
from shapelint.domain.memory import cost
from shapelint.domain.values import Tensor
from shapelint.events import Event, Operation
from shapelint.fixes.proposals import is_column_for_certain, sites_of, squeezed, squeezed_words
from shapelint.rule import Clue, Report

AT_CALLS = True


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event, table in chain(tables(events), averaged_tables(events)):
        if not is_meant(event, table) or is_averaged(events, event, table):
            clues = [clue(event, table.column, table.place), clue(event, table.vector)]
            if (reduction := taken_over(events, event)) is not None:
                clues.append(
                    Clue(f"`{shortened(reduction.site.text)}` is then taken over {table.shape}", reduction.site)
                )
            yield Report(
                event,
                message(event, table),
                tuple(clues),
                marks=sites_of(event, (table.column, table.vector)),
                fix=squeezed(event, table),
                fix_message=squeezed_words(event, table),
                fix_is_safe=is_column_for_certain(table),
            )


def tables(events: Sequence[Event]) -> Iterator[tuple[Operation, Table]]:
    for event in operations(events, BROADCASTING):
        if event.problem is None and broadcasts(event):
            for a, b in combinations(tensors_of(event), 2):
                table = table_of(a, b) or batch_table(a, b) or moved_table(a, b) or ranked_table(a, b)
                if table is None and event.name in {"eq", "ne", "sub"}:
                    table = tally_table(events, a, b) if event.name == "sub" else label_table(a, b)
                if table is not None:
                    yield event, table


def message(event: Operation, table: Table) -> str:
    column, vector = name_of(event, table.column, "the column"), name_of(event, table.vector, "the vector")
    size = cost(table.shape, event.result) if isinstance(event.result, Tensor) else ""
    meeting = "every value meets every other"
    if not table.is_anonymous:
        meeting = f"each of the {table.size} values meets all {table.size} others"
    return (
        f"{column} {table.column.shape} and {vector} {table.vector.shape} broadcast to {table.shape}{size}: "
        f"{meeting}; {column} needs squeeze({table.place}) first"
    )
