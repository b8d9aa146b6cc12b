"""A sequence layer takes samples for time steps, or the other way round.

Reports RNNs, attention and transformers that were built for (length, batch, features), as they are without
`batch_first=True`, and are given or read as (batch, length, features): `out[:, -1]`, `out.mean(1)`, an input that is
declared so, or that comes from images or from another layer with samples first, masks and initial states of the other
layout. And the reverse.

Why: both orders run. The recurrence or the attention then goes over the samples of the batch, and what is taken for
the last step of each sample is the last sample.

Bad:
    from torch import nn

    class Classifier(nn.Module):
        def __init__(self, width, hidden, classes):
            super().__init__()
            self.rnn = nn.LSTM(width, hidden)
            self.head = nn.Linear(hidden, classes)

        def forward(self, x):
            out, _ = self.rnn(x)  # expect: SHP207
            return self.head(out[:, -1])

Good:
    from torch import nn

    class Classifier(nn.Module):
        def __init__(self, width, hidden, classes):
            super().__init__()
            self.rnn = nn.LSTM(width, hidden, batch_first=True)
            self.head = nn.Linear(hidden, classes)

        def forward(self, x):
            out, _ = self.rnn(x)
            return self.head(out[:, -1])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from shapelint.analysis.axes.batch_axis import (
    POOLED,
    SEQUENCE_LAYERS,
    batch_axis,
    betrayed,
    is_batch_first,
    is_turned,
    leading_sample_axis,
    picks_last,
    read_as_built,
    read_otherwise,
    states,
)
from shapelint.analysis.axes.declared_order import declared_batch_axis
from shapelint.analysis.evidence import axes_of, name_of, shortened
from shapelint.analysis.index import operations
from shapelint.analysis.uses import consumers
from shapelint.domain.values import Tensor, Value
from shapelint.events import Event, Operation
from shapelint.fixes.proposals import built_with
from shapelint.rule import Clue, Report


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event in operations(events, SEQUENCE_LAYERS):
        first, x = is_batch_first(event), event.arguments.get("x")
        if first is None or x is None or event.problem is not None or (isinstance(x, Tensor) and x.shape.rank == 2):
            continue
        yield from on_call(events, event, first, x)
        if event.name == "rnn":
            yield from on_state(events, event)


def on_call(events: Sequence[Event], event: Operation, first: bool, x: Value) -> Iterator[Report]:
    given = batch_axis(x)
    if given is None:
        given = leading_sample_axis(event)
    name = name_of(event, x, "the input")
    fix = () if first else built_with(event, "batch_first=True")
    repair = partial(Report, event, fix=fix, fix_message="Build it with batch_first=True", fix_is_safe=False)
    if given is not None and given == int(first) and not read_as_built(events, event, first):
        yield repair(f"{built(event, first)}, but {name} has samples along axis {given}; {remedy(first)}")
    elif (why := betrayed(event)) is not None:
        yield repair(f"{built(event, first)}, but {why}; {remedy(first)}")
    elif isinstance(x, Tensor) and declared_batch_axis(x) == int(first):
        yield repair(f"{built(event, first)}, but {name} is {x.shape} by its names; {remedy(first)}")
    elif (use := read_otherwise(events, event, first)) is not None:
        turned = given is not None or is_turned(x)
        text = shortened(use.site.text)
        message = f"{built(event, first)}, but `{text}` takes axis {int(not first)} of its output for the length"
        clue = Clue(f"read as {'(length, batch, …)' if first else '(batch, length, …)'}", use.site)
        right = f"the length is axis {int(first)}" if turned or first else remedy(first)
        tell = partial(Report, event) if turned else repair  # the layout that it was turned to is the built one
        yield tell(f"{message}; {right}", (clue,), use.site if turned or first else event.site)


def built(event: Operation, first: bool) -> str:
    layer = event.layer.name.rpartition(".")[2] if event.layer is not None else "the layer"
    return f"{layer} is built for {'(batch, length, features)' if first else '(length, batch, features)'}"


def remedy(first: bool) -> str:
    return "move the axis with transpose(0, 1)" if first else "build it with batch_first=True"


def on_state(events: Sequence[Event], event: Operation) -> Iterator[Report]:
    """The state is (layers, batch, hidden) whatever `batch_first` says."""
    for state in states(event):
        for use in consumers(events, state):
            if not isinstance(use, Operation):
                continue
            pooled = use.name in POOLED and axes_of(use) == (1,)
            if pooled or picks_last(use, state, 1):
                text = shortened(use.site.text)
                message = (
                    f"`{text}` takes axis 1 of the state for layers: it is (layers, batch, hidden) in either layout"
                )
                yield Report(use, message, (Clue("the state comes from here", event.site),))
