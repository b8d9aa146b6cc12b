"""A part of the loss goes through a step or a count, whose gradient is zero or missing.

Reports argmax, comparisons, sign, round, floor, one_hot, bincount, histc, `.long()`, `.sample()` where a whole additive
term of a loss passes through them while other terms are attached. Masks and indices beside an attached factor,
straight-through estimators and metrics are left alone.

Why: accuracy, counts and hard masks look like a loss and fall with it, but they do not change for a small change of
the weights. Nothing is learned from this term.

Bad:
    import torch
    import torch.nn.functional as F

    def step(model, optimizer, x, y):
        out = model(x)
        direction = (torch.sign(out) - torch.sign(y)).pow(2).mean()
        loss = F.mse_loss(out, y) + 0.5 * direction
        loss.backward()
        optimizer.step()

Good:
    import torch
    import torch.nn.functional as F

    def step(model, optimizer, x, y):
        out = model(x)
        direction = (torch.tanh(out) - torch.sign(y)).pow(2).mean()
        loss = F.mse_loss(out, y) + 0.5 * direction
        loss.backward()
        optimizer.step()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.gradients.dead_terms import dead_terms, words_for
from shapelint.analysis.gradients.detached_activations import onward
from shapelint.analysis.gradients.jax_tracing import dead_objectives, without_gradient
from shapelint.analysis.training.misdirected_losses import barren_terms
from shapelint.events import Event, Operation
from shapelint.rule import Clue, Report

INSTEAD = "Use a smooth stand-in (sigmoid, tanh, softmax) or a straight-through estimator"


def check(events: Sequence[Event]) -> Iterator[Report]:
    for dead in (*dead_terms(events), *dead_objectives(events)):
        if dead.cut.is_flat:
            cut = dead.cut.event
            yield Report(
                cut,
                f"This term of the loss trains nothing: {name_of(cut)} is flat, so {words_for(dead.cut)} gets no "
                f"gradient from it. {INSTEAD}",
                (Clue("part of the loss here", dead.loss.site),),
            )
    for barren in barren_terms(events):
        if barren.cut.is_flat:
            yield Report(
                barren.cut.event,
                f"This term of the loss trains nothing that its optimizer holds: {name_of(barren.cut.event)} is flat, "
                f"so {words_for(barren.cut)} gets no gradient from it. {instead(barren.cut.event)}",
                (Clue("part of the loss here", barren.loss.site),),
            )
    for end in without_gradient(events):
        if end.is_flat:
            yield Report(
                end.event,
                f"jax.grad gives only zeros here: {name_of(end.event)} is flat, and the loss has no other way. "
                f"{INSTEAD}",
            )
    for end, place in onward(events):
        if end.is_flat:
            yield Report(
                end.event,
                f"{words_for(end)} gets no gradient through {name_of(end.event)}, which is flat, though "
                f"{place.site.text} goes on with the result. {instead(end.event)}",
                (Clue("goes on here", place.site),),
            )


def instead(event: Event) -> str:
    smooth = {"sample": "rsample() lets it through", "normal": "mean + std * torch.randn_like(std) lets it through"}
    return smooth.get(name_of(event), INSTEAD)


def name_of(event: Event) -> str:
    return event.name if isinstance(event, Operation) else "this"
