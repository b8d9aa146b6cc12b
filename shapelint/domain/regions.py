"""Contexts by name: which of them switch gradients off."""

from __future__ import annotations

from collections.abc import Sequence

NO_GRAD = frozenset({"no_grad", "inference_mode"})
# Library callables that switch gradients by their argument.
SWITCHES = frozenset({"torch.set_grad_enabled", "torch.autograd.set_grad_enabled"})


def is_without_gradients(regions: Sequence[str]) -> bool:
    """Whether the innermost region that says so switches gradients off."""
    if not regions:  # nearly always
        return False
    innermost = next((r for r in reversed(regions) if r in NO_GRAD or r == "enable_grad"), None)
    return innermost in NO_GRAD
