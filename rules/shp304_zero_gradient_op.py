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

from shapelint.analysis.gradients.dataflow import Cut
from shapelint.analysis.gradients.dead_terms import dead_terms
from shapelint.analysis.gradients.detached_activations import detached_activations
from shapelint.analysis.gradients.jax_tracing import dead_objectives, without_gradient
from shapelint.analysis.gradients.wording import OTHERWISE, quoted, words_for
from shapelint.analysis.training.misdirected_losses import misdirected_terms
from shapelint.analysis.training.starved import starved
from shapelint.events import Event
from shapelint.rule import Clue, Report

INSTEAD = "Use a smooth stand-in (sigmoid, tanh, softmax) or a straight-through estimator"


def check(events: Sequence[Event]) -> Iterator[Report]:
    for dead in (*dead_terms(events), *dead_objectives(events)):
        if dead.cut.is_flat:
            yield Report(
                dead.cut.event,
                f"This term of the loss trains nothing: {missing(dead.cut)}. {INSTEAD}",
                (Clue("part of the loss here", dead.loss.site),),
            )
    for term in misdirected_terms(events):
        if term.cut.is_flat:
            yield Report(
                term.cut.event,
                f"This term of the loss trains nothing that its optimizer holds: {missing(term.cut)}. "
                f"{instead(term.cut.event)}",
                (Clue("part of the loss here", term.loss.site),),
            )
    for end in without_gradient(events):
        if end.is_flat:
            yield Report(
                end.event,
                f"jax.grad gives only zeros here: {missing(end)}, and the loss has no other way. {INSTEAD}",
            )
    for end, place in (*detached_activations(events), *starved(events)):
        if end.is_flat:
            yield Report(
                end.event,
                f"{quoted(place.site)} goes on with this, and {missing(end)}. {instead(end.event)}",
                (Clue("goes on here", place.site),),
            )


def missing(cut: Cut) -> str:
    source = words_for(cut)
    through = f"no gradient goes back through {quoted(cut.event.site)}"
    return through if source == OTHERWISE else f"{through} to {source}"


def instead(event: Event) -> str:
    smooth = {"sample": "rsample() lets it through", "normal": "mean + std * torch.randn_like(std) lets it through"}
    return smooth.get(getattr(event, "name", ""), INSTEAD)
