"""A comment at the end of a line states a shape that its value cannot have.

Reports `# (B, T, C)`, `# [b, 3, h]`, `# B x T x C` and `# shape: (n, d)` behind an assignment or a return where the
inferred shape has another number of axes, another number, or a size that the function calls by another name.

Why: the next reader computes with the comment. Broadcasting accepts what it leads to.

Bad:
    from torch import Tensor

    def attend(scores: Tensor, values: Tensor) -> Tensor:
        B, T, C = values.shape
        weights = scores.view(B, T).softmax(dim=1).unsqueeze(1)  # (B, T)  # expect: SHP603
        return weights @ values

Good:
    from torch import Tensor

    def attend(scores: Tensor, values: Tensor) -> Tensor:
        B, T, C = values.shape
        weights = scores.view(B, T).softmax(dim=1).unsqueeze(1)  # (B, 1, T)
        return weights @ values
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.evidence import made_by, shortened
from shapelint.analysis.index import events_of
from shapelint.events import Claimed, Event
from shapelint.rule import Clue, Report


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event in events_of(events, Claimed):
        what = f"`{event.name}`" if event.name else "what is returned"
        maker = made_by(event.value)
        clues = (Clue(f"{event.value.shape}: made by `{shortened(maker.site.text)}`", maker.site),) if maker else ()
        message = f"{what} is {event.value.shape}, not {event.stated} as the comment says: it {event.contradiction}"
        yield Report(event, message, clues)
