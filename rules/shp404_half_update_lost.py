"""Numbers kept in float16 or bfloat16 are updated by less than their spacing, so that the update is lost.

Reports optimizers over `.half()` or bfloat16 parameters without float32 master weights, and moving averages, running
statistics and gradient steps by hand on tensors of these dtypes. Silent where the optimizer goes to deepspeed,
accelerate or apex, which may keep float32 copies, and for large steps.

Why: just above 1 float16 numbers are 9.8e-4 apart and bfloat16 numbers 7.8e-3; what changes a number by less than half
of that changes nothing. 1,000 steps of 1e-4 leave a weight of 1.0 at 1.0, and norm layers end training as they began.

Bad:
    import torch

    @torch.no_grad()
    def soft_update(online, target, tau=0.001):
        for p, t in zip(online.parameters(), target.half().parameters()):
            t.data.lerp_(p.data.half(), tau)  # expect: SHP404

Good:
    import torch

    @torch.no_grad()
    def soft_update(online, target, tau=0.001):
        for p, t in zip(online.parameters(), target.float().parameters()):
            t.data.lerp_(p.data.float(), tau)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.evidence import name_of
from shapelint.analysis.precision.dtypes import constant, dead_eps, spelled
from shapelint.analysis.precision.updates import LARGEST_RATE, half_optimizers, updates
from shapelint.domain.formats import Format
from shapelint.events import Event
from shapelint.rule import Report


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event, format in half_optimizers(events):
        rate = constant(event.arguments.get("lr"))
        if dead_eps(event) is not None or (rate is not None and rate > LARGEST_RATE):
            continue
        yield Report(
            event,
            f"The parameters are {format.name} and have no float32 master copy: {lost(format)}"
            f"{f', and steps here are about {spelled(rate)}' if rate is not None else ''}. Keep the parameters in "
            "float32 and compute in half with torch.autocast",
        )
    for update in updates(events):
        share = f"{spelled(abs(update.share))} of a difference" if update.share is not None else "a small part of one"
        yield Report(
            update.event,
            f"{name_of(update.event, update.state, 'This state')} is kept in {update.format.name} and is moved by "
            f"{share} at a time: {lost(update.format)}. Keep it in float32",
        )


def lost(format: Format) -> str:
    return (
        f"next to 1 a change of less than {spelled(format.spacing / 2)} (below 1 {spelled(format.spacing / 4)}) is lost"
    )
