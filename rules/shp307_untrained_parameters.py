"""Weights that the optimizer does not know, and gradients that are lost, mixed or clipped too late on their way there.

Reports an optimizer that steps in every round and is never zeroed; `zero_grad()` between `backward()` and `step()`;
clipping after the step; an iterator of parameters that is gone through twice; layers that the optimizer was not
given; layers and copies that came into the model after the optimizer took its parameters; functions that jax
differentiates by what they never use. Gradients that are accumulated for some rounds on purpose, zeroed after the
step, by the model or by hand, are left alone.

Why: nothing fails. Without `zero_grad()` each step applies the sum of all gradients so far; zeroed too early,
nothing is applied at all; clipped too late, nothing is clipped.

Bad:
    import torch.nn.functional as F

    def train(model, optimizer, loader):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()

Good:
    import torch.nn.functional as F

    def train(model, optimizer, loader):
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.gradients.unread_arguments import unread_arguments
from shapelint.analysis.training.forgotten import lost
from shapelint.analysis.training.forgotten_leaves import forgotten_leaves
from shapelint.analysis.training.misdirected_losses import misdirected
from shapelint.analysis.training.never_zeroed import never_zeroed
from shapelint.analysis.training.overwritten import overwritten
from shapelint.analysis.training.replaced_leaves import leaves_lost
from shapelint.analysis.training.stepping import hazards
from shapelint.analysis.training.untrained import may_be_zeroed
from shapelint.events import Event
from shapelint.rule import Clue, Report

MESSAGES = {
    "not zeroed": (
        "The gradients are never zeroed between two steps: backward() adds to them, so each {step} applies the sum of "
        "all gradients so far. Call zero_grad() before backward()"
    ),
    "left over": (
        "Gradients of an earlier step are among those that {step} applies: on one way to it nothing zeroes them. "
        "Call zero_grad() before the first backward() that it applies"
    ),
    "wiped": (
        "{here} deletes the gradients between backward() and {step}: the step applies nothing. "
        "Call it before backward(), or after the step"
    ),
    "overwritten": (
        "{here} deletes the gradients of the loss before, and {step} applies those of the last one alone. "
        "Zero them once, before the first backward()"
    ),
    "dropped": (
        "{here} deletes the gradients of every batch before the next one is added, so {step} applies those of the last "
        "batch alone. Zero them after the step only"
    ),
    "clipped late": (
        "The gradients are clipped after they were applied, so nothing is clipped. Clip between backward() and step()"
    ),
}

LOST = {
    "used up": (
        "Nothing is left of this iterator over parameters: it was gone through before, and `{name}` gets none. "
        "Keep the parameters in a list"
    ),
    "replaced": (
        "The optimizer took the parameters before, so what is put into `{name}` here is never trained. "
        "Build the optimizer after this line"
    ),
    "copied": (
        "The loss is computed by this new model, but the optimizer holds the parameters of the one before: "
        "nothing is trained. Build the optimizer after this line"
    ),
    "thawed": (
        "The optimizer picks the parameters that require gradients, and those that `{name}` lets train later do not "
        "yet: they never train. Give it all parameters, or add_param_group() when they are to train"
    ),
    "twice": (
        "`{name}` is given to the optimizer twice, and nothing is gained by it: where another module was meant in its "
        "place, that one is not trained"
    ),
    "missing": "The loss runs through {name}, whose parameters are not among those given here: it is never trained",
    "leaf": "The loss hangs on {name}, which requires a gradient and is not among what is given here: it never changes",
}


def check(events: Sequence[Event]) -> Iterator[Report]:
    for found in (*lost(events), *leaves_lost(events), *misdirected(events), *forgotten_leaves(events)):
        words = "made here" if found.kind == "leaf" else "taken here"
        clues = (Clue(words, found.cause),) if found.cause is not None else ()
        yield Report(found.event, LOST[found.kind].format(name=found.name), clues, found.site)
    for call, name in unread_arguments(events):
        yield Report(
            call,
            f"All gradients are zero: the function never uses `{name}`, by which it is differentiated, and what its "
            "loss is made of was computed before. Run the model inside of the function",
        )
    for act in never_zeroed(events) if not may_be_zeroed(events) else ():
        yield Report(act.event, MESSAGES["not zeroed"].format(step=f"`{act.site.text}`"), (), act.site)
    for hazard in (*hazards(events), *overwritten(events)):
        if hazard.kind in {"not zeroed", "left over"} and may_be_zeroed(events):
            continue
        if hazard.kind in MESSAGES:
            step = f"`{hazard.act.site.text}`"
            here = f"`{hazard.site.text}`"
            clues = (Clue("the step that needs them", hazard.act.site),) if hazard.kind == "wiped" else ()
            yield Report(hazard.act.event, MESSAGES[hazard.kind].format(step=step, here=here), clues, hazard.site)
