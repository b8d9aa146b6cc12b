"""An operation is asked for an axis that its operand does not have.

Reports `dim` and `axis` arguments beyond the rank: `softmax(dim=1)` on (n,), `sum(axis=2)` on (n, d), `transpose(1, 2)`
on a matrix.

Why: it raises whenever it runs. The axis was written for another rank, so a batch axis was lost or added before.

Bad:
    import torch
    from jaxtyping import Float
    from torch import Tensor

    def probabilities(scores: Float[Tensor, "b classes"]):
        return scores.mean(dim=1).softmax(dim=1)  # expect: SHP208

Good:
    import torch
    from jaxtyping import Float
    from torch import Tensor

    def probabilities(scores: Float[Tensor, "b t classes"]):
        return scores.mean(dim=1).softmax(dim=1)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.evidence import axis_out_of_range, clue, indexed, made_by, name_of
from shapelint.analysis.index import operations
from shapelint.analysis.problems import problems
from shapelint.analysis.uses import is_same, made, uses
from shapelint.domain.dims import ONE
from shapelint.domain.values import NONE, Int, Tensor, Unknown
from shapelint.events import Event, Operation
from shapelint.finding import Severity
from shapelint.rule import Report

SEVERITY = Severity.ERROR
SECOND = Int(ONE)


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event in problems(events):
        axis, operand = axis_out_of_range(event), indexed(event)
        if axis is not None and operand is not None:
            axes = "one axis" if operand.shape.rank == 1 else f"{operand.shape.rank} axes"
            message = f"{event.name} is asked for axis {axis}: {name_of(event, operand)} {operand.shape} has {axes}"
            yield Report(event, message, (clue(event, operand),))
    for event in operations(events, {"normalize"}):
        if event.problem is None and event.arguments.get("dim", SECOND) == SECOND and is_row(events, event):
            name = name_of(event, event.arguments["x"], "the row")
            message = (
                f"normalize along axis 1, its default: {name} is one row of a table and has one axis; write dim=-1"
            )
            yield Report(event, message)


def is_row(events: Sequence[Event], event: Operation) -> bool:
    """Whether x is `table[i]` and is multiplied, as a vector, with rows like those of the table."""
    picked, output = made_by(event.arguments.get("x", NONE)), made(event)
    table = picked.arguments.get("x") if isinstance(picked, Operation) and picked.name == "getitem" else None
    if not isinstance(table, Tensor) or table.shape.rank != 2 or output is None:
        return False
    if not isinstance(picked, Operation) or not isinstance(picked.arguments.get("index"), Unknown | Int):
        return False
    for use in uses(events, output, -1):
        rows = use.event.arguments.get("x")
        if (
            use.event.name == "matmul"
            and isinstance(rows, Tensor)
            and is_same(use.event.arguments.get("y"), use.operand)
        ):
            return rows.shape.rank == 2 and rows.shape.sizes[-1] == table.shape.sizes[-1] != table.shape.sizes[0]
    return False
