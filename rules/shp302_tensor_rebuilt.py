"""A tensor is made anew from attached ones, and their history is lost.

Reports `torch.tensor`, `FloatTensor`, `new_tensor`, `from_numpy`, `Variable`, and `as_tensor` of a list of tensors
where they stand between a term of the loss and what should train; the same over Parameters; and
`requires_grad=True` put on such a copy (or on a loss) to silence "does not require grad".

Why: the numbers are right, so the loss looks healthy. But the copy is a leaf: backward() stops there.

Bad:
    import torch
    import torch.nn.functional as F

    def step(model, optimizer, batches):
        losses = [F.mse_loss(model(x), y) for x, y in batches]
        loss = torch.autograd.Variable(torch.tensor(losses).mean(), requires_grad=True)
        loss.backward()
        optimizer.step()

Good:
    import torch
    import torch.nn.functional as F

    def step(model, optimizer, batches):
        losses = [F.mse_loss(model(x), y) for x, y in batches]
        torch.stack(losses).mean().backward()
        optimizer.step()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.gradients.dead_terms import (
    rebuilt_losses,
    rebuilt_parameters,
    relabelled,
)
from shapelint.analysis.gradients.detached_activations import left_in_forward
from shapelint.analysis.gradients.wording import quoted, trained_by, words_for
from shapelint.analysis.training.starved import starved
from shapelint.events import Event
from shapelint.rule import Clue, Report

AT_CALLS = True


def check(events: Sequence[Event]) -> Iterator[Report]:
    for cut in rebuilt_losses(events):
        source = trained_by(cut)
        yield Report(
            cut.event,
            f"A new tensor without a history: {words_for(cut)} gets no gradient from this part of the loss. "
            "Use torch.stack or torch.cat for several tensors, and a single one as it is",
            (Clue("computed here", source.site),) if source is not None else (),
        )
    for cut in left_in_forward(events):
        if cut.rebuilds:
            yield Report(
                cut.event,
                f"A new tensor without a history, and forward goes on with it: {words_for(cut)} gets no gradient. "
                "Pass the tensor on as it is, with .to(dtype) where the dtype matters",
            )
    for cut, place in starved(events):
        if cut.rebuilds:
            yield Report(
                cut.event,
                f"A new tensor without a history: {words_for(cut)} gets no gradient past it, nor elsewhere, though "
                f"{quoted(place.site)} goes on with the result. Pass the tensor on as it is",
                (Clue("goes on here", place.site),),
            )
    for event in rebuilt_parameters(events):
        yield Report(
            event,
            "A new tensor with the numbers of Parameters: they get no gradient through it. Use torch.stack",
        )
    for event in relabelled(events):
        yield Report(
            event,
            "requires_grad makes a new leaf of a computed value: backward() ends here, and nothing before it trains. "
            "Keep the graph: no detach, item, numpy or comparison on the way",
        )
