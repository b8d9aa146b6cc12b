"""Gradients of one loss that are zeroed before the next loss is back-propagated, so that the one step misses them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.control_flow import Act
from shapelint.analysis.gradients.effects import read_gradients
from shapelint.analysis.index import once_per_file, places_of
from shapelint.analysis.training.actions import Roles, act_of, key, roles_of
from shapelint.analysis.training.gradient_states import Hazard
from shapelint.domain.values import Library
from shapelint.events import Branch, Call, Entered, Event, Left, Loop, Operation

BACKWARD = frozenset({"backward", "maybe scaled"})
AROUND = Branch | Loop | Entered | Left


@once_per_file
def overwritten(events: Sequence[Event]) -> Iterator[Hazard]:
    """`a.backward(); optimizer.zero_grad(); b.backward(); optimizer.step()`, one after the other.

    Not with several optimizers, one of which may have had enough of the first loss, nor where gradients are looked at.
    """
    roles = roles_of(events) if len(places_of(events, "backward")) > 1 else None
    if roles is None:
        return
    for first, zeroed, second, stepped in in_a_row(events, roles):
        owner = key(zeroed[1].subject)
        kinds = [act.kind for _, act in (first, zeroed, second, stepped)]
        if not ({kinds[0], kinds[2]} <= BACKWARD and kinds[1] == "zero" and kinds[3] == "step"):
            continue
        between = events[first[0] + 1 : zeroed[0]]
        if any(isinstance(event, Call) and not isinstance(event.callee, Library) for event in between):
            continue  # it may look at the gradients
        is_same = key(stepped[1].subject) == owner and roles.is_optimizer(zeroed[1].subject)
        if is_same and not read_gradients(events):
            yield Hazard("overwritten", stepped[1], zeroed[1].site)


def in_a_row(events: Sequence[Event], roles: Roles) -> Iterator[tuple[tuple[int, Act], ...]]:
    """Four acts on gradients that follow each other without a branch, a loop or a call in between."""
    row: list[tuple[int, Act]] = []
    for index, event in enumerate(events):
        if isinstance(event, AROUND):
            row = []
            continue
        is_asked = isinstance(event, Call) or (isinstance(event, Operation) and event.name == "backward")
        act = act_of(event, roles) if is_asked else None
        if act is not None and act.kind not in {"clip", "unscale", "update"}:
            row = [*row[-3:], (index, act)]
            if len(row) == 4:
                yield tuple(row)
