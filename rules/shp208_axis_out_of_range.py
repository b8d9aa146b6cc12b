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

from shapelint.events import Event, Operation
from shapelint.evidence import axis_out_of_range, clue, name_of
from shapelint.finding import Severity
from shapelint.rule import Report
from shapelint.values import Tensor

SEVERITY = Severity.ERROR


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event in events:
        if not isinstance(event, Operation) or event.problem is None:
            continue
        axis, operand = axis_out_of_range(event), event.arguments.get("x")
        if axis is not None and isinstance(operand, Tensor):
            axes = "1 axis" if operand.shape.rank == 1 else f"{operand.shape.rank} axes"
            message = f"{event.name} along axis {axis}: {name_of(event, operand)} {operand.shape} has {axes}"
            yield Report(event, message, (clue(event, operand),))
