"""A target or an advantage is computed from what it is to train, and lets the gradient through.

Reports `r + gamma * q(s2)` as the target of a loss, or in a squared difference, that trains the same `q`; and
`returns - v(s)` as the factor of a log-probability while it is attached to `v`; and two views of which each is
predicted from the other (SimSiam, BYOL). What is detached, computed without gradients, or comes from a network of its
own is left alone. Off by default: residual gradients can be meant.

Why: the loss falls as well when the target moves towards the prediction. The values then agree with each other
instead of with the rewards, and a policy loss moves the baseline away from the returns.

Bad:
    import torch.nn.functional as F

    def step(q, optimizer, s, a, r, s2, gamma=0.99):
        chosen = q(s).gather(1, a[:, None])[:, 0]
        target = r + gamma * q(s2).max(1).values
        loss = F.smooth_l1_loss(chosen, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

Good:
    import torch.nn.functional as F

    def step(q, optimizer, s, a, r, s2, gamma=0.99):
        chosen = q(s).gather(1, a[:, None])[:, 0]
        target = r + gamma * q(s2).max(1).values.detach()
        loss = F.smooth_l1_loss(chosen, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.evidence import name_of
from shapelint.analysis.gradients.attached_targets import Leak, leaks
from shapelint.events import Event
from shapelint.rule import Clue, Report

DEFAULT = False


def check(events: Sequence[Event]) -> Iterator[Report]:
    for leak in leaks(events):
        trace = (Clue("hangs on this", leak.source.site), Clue("used here", leak.use.site))
        yield Report(leak.sum, message(leak), trace)


def message(leak: Leak) -> str:
    part = name_of(leak.sum, leak.part, "a part of it")
    if leak.is_advantage:
        return (
            f"This advantage lets the gradient through: {part} is attached, so the policy's loss also moves the value "
            "away from the returns. Detach the advantage (jax.lax.stop_gradient in jax)"
        )
    return (
        f"This target lets the gradient through: {part} is attached, so the loss also moves the target towards the "
        "prediction. Detach it (jax.lax.stop_gradient in jax), or compute it under no_grad"
    )
