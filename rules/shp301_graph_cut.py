"""A part of the loss is cut from the graph and trains nothing.

Reports `.detach()`, `.data`, `.numpy()`, `.item()`, `.tolist()`, `float()`, `int()` and `stop_gradient` where a whole
additive term of a loss passes through them while other terms are attached, and `torch.autograd.grad` without
create_graph where one is made of gradients. Targets, weights and advantages beside an attached factor,
straight-through estimators and values for the log are left alone.

Why: the loss still falls, since its other terms train, and its value looks right. Only this gradient is missing.

Bad:
    import torch.nn.functional as F

    def step(model, optimizer, x, y):
        logits, penalty = model(x)
        loss = F.cross_entropy(logits, y) + 0.1 * penalty.mean().item()
        loss.backward()
        optimizer.step()

Good:
    import torch.nn.functional as F

    def step(model, optimizer, x, y):
        logits, penalty = model(x)
        loss = F.cross_entropy(logits, y) + 0.1 * penalty.mean()
        loss.backward()
        optimizer.step()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.gradients.attached_targets import reversed_targets
from shapelint.analysis.gradients.dead_terms import DeadTerm, dead_terms
from shapelint.analysis.gradients.detached_activations import detached_activations, left_in_forward, recorded_by_hooks
from shapelint.analysis.gradients.jax_tracing import concretised, dead_objectives, without_gradient
from shapelint.analysis.gradients.seemingly_trained import passed_by
from shapelint.analysis.gradients.wording import arguments_of, means, quoted, reason, remedy, trained_by, words_for
from shapelint.analysis.training.misdirected_losses import MisdirectedTerm, misdirected_terms
from shapelint.analysis.training.starved import starved
from shapelint.events import Event
from shapelint.rule import Clue, Report

AT_CALLS = True
HOOKED = (
    "The hook records this without its graph, and the loss compares nothing but such records: it trains nothing. "
    "Record the output as it is, and detach only what is the target"
)


def check(events: Sequence[Event]) -> Iterator[Report]:
    for dead in (*dead_terms(events), *dead_objectives(events)):
        if dead.cut.takes_out:
            source = trained_by(dead.cut)
            computed = (Clue("computed here", source.site),) if source is not None else ()
            yield Report(dead.cut.event, message(dead), (*computed, Clue("part of the loss here", dead.loss.site)))
    for cut, place in (*detached_activations(events), *starved(events)):
        if cut.takes_out:
            yield Report(
                cut.event,
                f"{words_for(cut)} gets no gradient past this, nor elsewhere, though it is there to be trained and "
                f"{quoted(place.site)} goes on with the result. Pass it on without {means(cut)}, or freeze it",
                (Clue("goes on here", place.site),),
            )
    for term in misdirected_terms(events):
        if term.cut.takes_out:
            yield Report(term.cut.event, misdirected_message(term), (Clue("part of the loss here", term.loss.site),))
    for cut in left_in_forward(events):
        if not cut.rebuilds:  # SHP302
            words = f"forward leaves the graph here: {words_for(cut)} gets no gradient from what is computed with it"
            yield Report(cut.event, f"{words}. Compute it in torch")
    yield from (Report(event, HOOKED) for event in recorded_by_hooks(events))
    for cut in without_gradient(events):
        if cut.takes_out:
            yield Report(
                cut.event,
                f"jax.grad asks for the gradient of {arguments_of(cut)}, and it is zero: all of it goes through "
                f"{quoted(cut.event.site)}. Stop the gradient of what is to stay constant instead",
            )
    for cut in reversed_targets(events):
        yield Report(
            cut.event,
            f"{quoted(cut.event.site)} stops the gradient of the prediction, and the target beside it stays attached: "
            "the loss moves the target instead. Stop the gradient of the target",
        )
    for cut in passed_by(events):
        yield Report(
            cut.event,
            f"The value that passes {words_for(cut)} straight through is compared with what it was made from: this "
            "moves that, and never the codes. Compute the loss of the codes before this line",
        )
    for event in concretised(events):
        yield Report(
            event,
            f"{quoted(event.site)} asks for numbers while jax traces this function, and there are none yet: it raises. "
            "Stay in jax.numpy here, and convert outside of the traced function",
        )


def misdirected_message(term: MisdirectedTerm) -> str:
    return (
        f"This term of the loss trains nothing that its optimizer holds: {reason(term.cut)}, so "
        f"{words_for(term.cut)} gets no gradient from it"
    )


def message(dead: DeadTerm) -> str:
    return (
        f"This term of the loss trains nothing: {reason(dead.cut)}, so {words_for(dead.cut)} gets no gradient from it. "
        f"{remedy(dead.cut)}"
    )
