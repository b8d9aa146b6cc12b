"""What is known of gradients along one path of a training loop, and what may be wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from shapelint.analysis.control_flow import Act, Test
from shapelint.analysis.training.actions import Key
from shapelint.domain.record import record
from shapelint.events import Site

NOBODY: Key = None  # gradients that no optimizer is known for


@record()
class Grads:
    """The gradients that one optimizer will apply, since they were last zeroed."""

    backwards: int = 0  # 0, 1, or 2 for more
    is_stale: bool = False  # those of an earlier step are among them
    is_applied: bool = False  # nothing was added since the last step
    wiped: Act | None = None  # what zeroed them before they were applied
    scaled: Act | None = None  # the backward that left them multiplied by the scale
    plain: Act | None = None  # a backward that did not scale the loss
    is_unscaled: bool = False  # unscale_ was called since the scaler's last update
    checked: Act | None = None  # the step of a scaler that applied them
    dropped: Act | None = None  # what zeroed those of the round before, which were never applied
    loops: tuple[int, ...] = ()  # the loops around the last backward


UNKNOWN_GRADS = Grads()


@record()
class Path:
    """What is known along one path: gradients by optimizer, and steps of scalers that are not updated yet."""

    grads: frozenset[tuple[Key, Grads]] = frozenset()
    awaiting: frozenset[tuple[Key, Key]] = frozenset()
    stepped: tuple[Act, frozenset[Test], tuple[int, ...]] | None = None  # the last step of a scaler, and where
    has_moved: bool = False  # something was stepped since the last backward
    tests: frozenset[Test] = frozenset()

    def with_tests(self, tests: frozenset[Test]) -> Path:
        return Path(self.grads, self.awaiting, self.stepped, self.has_moved, tests)

    def of(self, owner: Key) -> Grads:
        return next((grads for k, grads in self.grads if k == owner), UNKNOWN_GRADS)

    def changed(self, change: Callable[[Key, Grads], Grads], owners: Iterable[Key]) -> Path:
        known = dict(self.grads)
        for owner in owners:
            known[owner] = change(owner, known.get(owner, UNKNOWN_GRADS))
        return replace(self, grads=frozenset(known.items()))


@record(eq=False)
class Hazard:
    """Something that is done to gradients at the wrong time; `cause` is what came before."""

    kind: str
    act: Act
    site: Site
    cause: Act | None = None
