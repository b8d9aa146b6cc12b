"""Gradients are clipped or read while they are still multiplied by the scale of a GradScaler.

Reports clipping, norms, statistics and noise between `scaler.scale(loss).backward()` and `scaler.unscale_(optimizer)`
or `scaler.step(optimizer)`, also in a function that is called there. What a factor does not change (masks, signs,
averages over workers, checks for infinity) is left alone, and so is code that divides by the scale itself.

Why: the scale is 65,536 at first and changes all the time. A bound of 1.0 becomes one of 0.000015, so the model
hardly moves; a logged norm shows the scale and not the gradient.

Bad:
    import torch
    import torch.nn.functional as F

    def step(model, optimizer, scaler, x, y):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

Good:
    import torch
    import torch.nn.functional as F

    def step(model, optimizer, scaler, x, y):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.training.stepping import hazards
from shapelint.events import Event
from shapelint.rule import Clue, Report

DONE = {
    "clip": "clipped while they are still multiplied by the loss scale, so the bound is about 65,536 times too small",
    "read": "used while they are still multiplied by the loss scale (65,536 at first)",
}


def check(events: Sequence[Event]) -> Iterator[Report]:
    for hazard in hazards(events):
        if hazard.kind == "scaled":
            clues = (Clue("scaled here", hazard.cause.site),) if hazard.cause is not None else ()
            message = f"Gradients are {DONE[hazard.act.kind]}. Call scaler.unscale_(optimizer) before"
            yield Report(hazard.act.event, message, clues, hazard.site)
