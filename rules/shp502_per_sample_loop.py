"""A model or a matmul is called on one row at a time, although no round of the loop needs another.

Reports the call in a Python loop or comprehension whose input is one row of a tensor: `model(x[i].unsqueeze(0))`,
`linear(row)`, `w @ x[i]`, and of a function that multiplies the row by a matrix. Silent where a round uses what an
earlier one left (recurrent nets, decoding, power iteration), trains, or may end the loop.

Why: each call reads all weights for one matrix-vector product. In one batch they are read once: the same numbers,
ten times and more as fast.

Bad:
    import torch

    def predict(model, features):
        labels = []
        for i in range(features.shape[0]):
            labels.append(model(features[i].unsqueeze(0)).argmax(dim=-1))  # expect: SHP502
        return torch.cat(labels)

Good:
    import torch

    def predict(model, features, batch_size=256):
        labels = []
        for chunk in features.split(batch_size):
            labels.append(model(chunk).argmax(dim=-1))
        return torch.cat(labels)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.axes.per_row import callee_of, calls_of_models, is_left_to_caller, is_new_model, is_used, row_of
from shapelint.analysis.evidence import shortened
from shapelint.analysis.iterations import calls_itself, is_changed, is_fallback, is_independent, last_rounds
from shapelint.events import Event
from shapelint.rule import Clue, Report


def check(events: Sequence[Event]) -> Iterator[Report]:
    for found in last_rounds(events):
        rows = ((call, row_of(found, call)) for call in calls_of_models(found))
        reported = [(call, row) for call, row in rows if row is not None and is_used(found, call)]
        if not reported or not is_independent(found):
            continue
        for call, row in reported:
            if is_changed(found, call) or is_new_model(found, call) or is_left_to_caller(events, call):
                continue
            if calls_itself(events, call) or is_fallback(events, found, callee_of(call)):
                continue
            source = f"`{shortened(row.name)}`"
            message = (
                f"`{shortened(callee_of(call))}` works on one row of {source} at a time, and no round needs another: "
                f"apply it to {source} as a whole, or to batches of it"
            )
            yield Report(call, message, (Clue(f"one row: `{shortened(row.site.text)}`", row.site),))
