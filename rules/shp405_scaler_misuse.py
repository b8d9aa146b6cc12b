"""float16 training whose loss is not scaled, or whose GradScaler is not asked at every step.

Reports float16 autocast without a scaler, a backward outside of `scaler.scale(...)` before `scaler.step(optimizer)`,
`optimizer.step()` on scaled gradients or after `scaler.step(optimizer)`, `scaler.step` without `scaler.update()`,
`unscale_` in every micro-batch, and a schedule that moves on when the scaler skipped the step. bfloat16 needs no scaler
and is left alone.

Why: gradients below 0.00000006 are zero in float16. The scaler lifts them above that, and takes the factor out again:
left out at one end only, the weights move 65,536 times too far, or not at all.

Bad:
    import torch
    import torch.nn.functional as F

    def step(model, optimizer, x, y):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()

Good:
    import torch
    import torch.nn.functional as F

    def step(model, optimizer, scaler, x, y):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.training.skipped_updates import seldom_updated
from shapelint.analysis.training.stepping import hazards
from shapelint.events import Event
from shapelint.rule import Clue, Report

MESSAGES = {
    "unscaled half": (
        "This loss comes out of float16 autocast and is not scaled: gradients below 6e-8 become zero. Use "
        "scaler.scale(loss).backward() with a GradScaler, or bfloat16"
    ),
    "not scaled": (
        "These gradients are not scaled, but `{act}` divides them by the scale: they come out about 65,536 times too "
        "small. Use scaler.scale(loss).backward()"
    ),
    "not updated": (
        "The scaler is never updated after this step: the next one raises, and the scale never adapts. "
        "Call scaler.update() once after the steps of a round"
    ),
    "past the scaler": (
        "This step applies gradients that are still multiplied by the loss scale, and does not check them for "
        "infinity. Use scaler.step(...)"
    ),
    "unchecked": (
        "This step goes past the scaler: gradients that overflowed are applied, not skipped. Use scaler.step(...)"
    ),
    "applied again": (
        "`{cause}` has applied these gradients already: this applies them once more, also when they overflowed and the "
        "scaler skipped them. Leave it out"
    ),
    "unscaled again": (
        "unscale_ is called again before scaler.update(): the second call raises. Unscale once, right before the "
        "clipping and the step that follow the last backward()"
    ),
    "schedule": (
        "The schedule moves on although the scaler skips the step when gradients overflow. Step it only where "
        "scaler.get_scale() did not fall"
    ),
}

SELDOM = (
    "The scaler is updated only in some rounds, but steps in each: the next step raises. Call scaler.update() after "
    "every step"
)


def check(events: Sequence[Event]) -> Iterator[Report]:
    for hazard in hazards(events):
        if hazard.kind in MESSAGES:
            clues = (Clue("scaled or stepped here", hazard.cause.site),) if hazard.cause is not None else ()
            cause = hazard.cause.site.text if hazard.cause is not None else ""
            message = MESSAGES[hazard.kind].format(act=hazard.act.site.text, cause=cause)
            yield Report(hazard.act.event, message, clues, hazard.site)
    for step in seldom_updated(events):
        yield Report(step.event, SELDOM)
