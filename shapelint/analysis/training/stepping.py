"""Gradients along each path of a training loop: zeroed, computed (scaled or not), unscaled, clipped, applied.

What is said of a step is said only where it holds on every path that leads there, and after whatever is not
understood the gradients are unknown again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TypeAlias

from shapelint.analysis.control_flow import LASTING, Act, Body, Outline, Test, counted, nodes_in, outline
from shapelint.analysis.gradients.frozen import modules_of
from shapelint.analysis.index import once_per_file
from shapelint.analysis.paths import Overrun, State, States, Walk, Where
from shapelint.analysis.training.actions import (
    Key,
    Roles,
    act_of,
    given,
    is_disabled,
    key,
    optimizers,
    roles_of,
    unproven,
    varies,
)
from shapelint.analysis.training.gradient_states import NOBODY, Grads, Hazard, Path
from shapelint.analysis.training.scaled_gradients import bounds, gets_scale
from shapelint.domain.regions import is_without_gradients
from shapelint.domain.values import maker_of
from shapelint.events import Call, Event, Operation, Site
from shapelint.provenance import ancestors

Look: TypeAlias = tuple[Act, Act, tuple[Site, ...]]  # where gradients are looked at, what scaled them, the calls around


@dataclass(slots=True)
class Tracker:
    """One function, and what it calls, with all its paths."""

    roles: Roles
    acts: Sequence[Act]
    owners: tuple[Key, ...]
    proven: frozenset[Key] = frozenset()  # those that are optimizers whatever else is called on them
    modules: Mapping[Key, frozenset[Key]] = field(default_factory=dict)  # whose parameters they were given
    found: dict[tuple[str, int], Hazard] = field(default_factory=dict)
    began: dict[int, tuple[Site, ...]] = field(default_factory=dict)  # the calls around each backward
    looks: list[Look] = field(default_factory=list)  # at scaled gradients
    stepped: set[tuple[Site, ...]] = field(default_factory=set)  # the calls around each step
    counted: frozenset[int] = frozenset()  # acts that happen once in so many rounds

    def kinds(self, kind: str) -> Iterator[Act]:
        return (act for act in self.acts if act.kind == kind)

    def report(self, kind: str, act: Act, cause: Act | None = None, site: Site | None = None) -> None:
        place = site or act.site
        self.found.setdefault((kind, id(place.node)), Hazard(kind, act, place, cause))

    def varies(self, owner: Key) -> bool:
        """Whether it is another optimizer in each round of a loop."""
        return varies(owner) or owner in self.roles.listed

    def step(self, act: Act, states: States, where: Where) -> States:
        paths = [state for state in states if isinstance(state, Path)]
        handler = HANDLERS.get(act.kind)
        return states if handler is None else frozenset(handler(self, act, paths, where))


def backward(track: Tracker, act: Act, paths: Sequence[Path], where: Where) -> Iterator[State]:
    scaler = act.other
    is_scaled = scaler is not None and not is_disabled(scaler)
    track.began[id(act)] = where.calls
    if scaler is None and act.kind == "backward" and in_half(track, act):
        track.report("unscaled half", act)

    def unscaled_too(_: Key, grads: Grads) -> Grads:
        stale = grads.is_stale or grads.is_applied
        count = min(grads.backwards + 1, 2)
        return replace(
            grads, backwards=count, is_stale=stale, is_applied=False, wiped=None, checked=None, loops=where.loops
        )

    def change(owner: Key, grads: Grads) -> Grads:
        added = unscaled_too(owner, grads)
        is_plain = scaler is None and act.kind == "backward"
        return replace(added, scaled=act if is_scaled else added.scaled, plain=act if is_plain else added.plain)

    for path in paths:
        yield replace(path.changed(change, track.owners), has_moved=False)
        if act.kind == "maybe scaled":
            yield replace(path.changed(unscaled_too, track.owners), has_moved=False)


def in_half(track: Tracker, act: Act) -> bool:
    """Whether a loss comes out of float16 autocast in a function that trains and has no scaler."""
    maker = maker_of(act.subject)
    if not track.roles.half or any(a.other is not None or a.kind in {"update", "unclear"} for a in track.acts):
        return False
    return any(True for _ in track.kinds("step")) and any(
        id(event) in track.roles.half and not is_without_gradients(event.regions)
        for event in ((maker, *ancestors(maker)) if maker is not None else ())
        if isinstance(event, Operation | Call)
    )


def zero(track: Tracker, act: Act, paths: Sequence[Path], where: Where) -> Iterator[State]:
    """Of one optimizer; a model's zero_grad and `p.grad = None` may clear those of all."""
    owner = key(act.subject, where.names)
    certain = {owner} if owner in track.owners else {k for k, modules in track.modules.items() if owner in modules}
    owners = (owner, NOBODY) if owner in track.owners else track.owners

    def is_fresh(own: Key, grads: Grads) -> bool:
        return own in certain and grads.backwards > 0 and not grads.is_applied

    def change(own: Key, grads: Grads) -> Grads:
        wiped = act if is_fresh(own, grads) else None
        is_repeated = bool(where.loops) and grads.loops == where.loops
        return Grads(wiped=wiped, is_unscaled=grads.is_unscaled, dropped=wiped if is_repeated else None)

    steps = [step for step in track.kinds("step") if key(step.subject) in certain]
    if steps and id(act) not in track.counted and all(id(step) in track.counted for step in track.kinds("step")):
        left = [(path.of(own), own) for path in paths for own in certain]
        if any(is_fresh(own, grads) and grads.loops == where.loops for grads, own in left):
            track.report("dropped", steps[0], None, act.site)
    yield from (path.changed(change, owners) for path in paths)


def unscale(track: Tracker, act: Act, paths: Sequence[Path], where: Where) -> Iterator[State]:
    owner = key(act.subject, where.names)
    again = [path for path in paths if path.of(owner).is_unscaled and lasts(path.tests)]
    if again and not track.varies(owner) and act.other is not None and not is_disabled(act.other):
        track.report("unscaled again", act)
    if owner not in track.owners:  # one of those that are known, but which?
        yield from (path.changed(perhaps_unscaled, track.owners) for path in paths)
        return
    yield from (path.changed(unscaled, (owner, NOBODY)) for path in paths)


def perhaps_unscaled(_: Key, grads: Grads) -> Grads:
    return replace(grads, scaled=None)


def unscaled(_: Key, grads: Grads) -> Grads:
    return replace(grads, scaled=None, is_unscaled=True)


def lasts(tests: frozenset[Test]) -> bool:
    return all(LASTING.fullmatch(text) for text, _ in tests)


def look(track: Tracker, act: Act, paths: Sequence[Path], where: Where) -> Iterator[State]:
    """Gradients are clipped or read."""
    cause = scaling(track, act, paths)
    if cause is not None and not gets_scale(act):
        track.looks.append((act, cause, where.calls))
    if act.kind == "clip" and bounds(act) and paths and steppers(track):
        applied = [path.of(owner) for path in paths for owner in steppers(track)]
        if all(grads.is_applied and grads.backwards for grads in applied):
            track.report("clipped late", act)
    yield from paths


def scaling(track: Tracker, act: Act, paths: Sequence[Path]) -> Act | None:
    """The backward that left the gradients which are looked at multiplied by the scale.

    Where it is known whose gradients these are, one optimizer that was forgotten is enough.
    """
    named: list[tuple[Key, ...]] = [(owner,) for owner in appliers(track, act)]
    for owners in named or [track.owners[1:] or track.owners]:
        everyone = [[path.of(owner) for owner in owners] for path in paths]
        scaled = [found[0].scaled for found in everyone if all(grads.scaled is not None for grads in found)]
        if scaled and not any(grads.is_unscaled for found in everyone for grads in found):
            return scaled[0]
    return None


def appliers(track: Tracker, act: Act) -> tuple[Key, ...]:
    """The optimizers of the very modules whose gradients are clipped, as far as they are known."""
    clipped = frozenset(map(key, modules_of(act.subject)[0])) if act.kind == "clip" and track.modules else frozenset()
    return tuple(owner for owner in track.owners[1:] if clipped & track.modules.get(owner, frozenset()))


def steppers(track: Tracker) -> set[Key]:
    return {key(act.subject) for act in track.kinds("step")} & set(track.owners)


def step(track: Tracker, act: Act, paths: Sequence[Path], where: Where) -> Iterator[State]:
    owner = key(act.subject, where.names)
    track.stepped.add(where.calls)
    if owner not in track.owners:
        yield from (replace(path, has_moved=True) for path in paths)
        return
    grads = [path.of(owner) for path in paths]
    if all(g.wiped is not None for g in grads):
        track.report("wiped", act, None, grads[0].wiped.site)  # type: ignore[union-attr]
    elif all(g.dropped is not None and len(g.loops) > len(where.loops) for g in grads):
        track.report("dropped", act, None, grads[0].dropped.site)  # type: ignore[union-attr]
    if owner in track.proven or not any(path.has_moved for path in paths):  # what comes second may be a scheduler
        accumulates(track, act, grads, owner)
    scaler = None if act.other is None or is_disabled(act.other) else key(act.other, where.names)
    if scaler is not None:
        if all(g.plain is not None for g in grads):
            track.report("not scaled", act, None, grads[0].plain.site)  # type: ignore[union-attr]
        if not track.varies(owner) and all((scaler, owner) in path.awaiting for path in paths):
            track.report("not updated", act)
    elif act.other is None and owner in track.proven:
        bypasses(track, act, grads)

    def change(own: Key, known: Grads) -> Grads:
        if own == owner:
            return Grads(known.backwards, known.is_stale, known.backwards > 0, checked=None if scaler is None else act)
        return known if scaler is not None else replace(known, plain=None)

    for path in paths:
        after = replace(path.changed(change, (*track.owners, owner)), has_moved=True)
        if scaler is not None:
            after = replace(
                after,
                awaiting=path.awaiting | {(scaler, owner)},
                stepped=(act, path.tests, where.loops),
            )
        yield after


def bypasses(track: Tracker, act: Act, grads: Sequence[Grads]) -> None:
    """optimizer.step() on gradients that a scaler scaled."""
    scaled = [g for g in grads if g.scaled is not None]
    by_scaler = any(a.other is not None for a in track.kinds("step"))
    if scaled and (len(scaled) == len(grads) or not by_scaler):
        track.report("past the scaler", act, scaled[0].scaled)
    elif all(g.is_unscaled and g.backwards for g in grads):
        track.report("unchecked", act)
    elif all(g.is_applied and g.checked is not None for g in grads):
        track.report("applied again", act, grads[0].checked)


def accumulates(track: Tracker, act: Act, grads: Sequence[Grads], owner: Key) -> None:
    """A step with the gradients of earlier rounds among those it applies."""
    if not all(g.backwards == 2 for g in grads) or not any(g.is_stale for g in grads):
        return
    mine, known = track.modules.get(owner), track.modules
    strangers = {k for k, modules in known.items() if mine and modules and not modules & mine}
    zeroed = {key(a.subject) for a in track.kinds("zero")}
    if not zeroed - {owner} - strangers and not any(True for _ in track.kinds("cleared")):
        track.report("left over" if owner in zeroed else "not zeroed", act)


def update(track: Tracker, act: Act, paths: Sequence[Path], where: Where) -> Iterator[State]:
    scaler = key(act.subject, where.names)

    def change(_: Key, grads: Grads) -> Grads:
        return replace(grads, is_unscaled=False)

    for path in paths:
        awaiting = frozenset(pair for pair in path.awaiting if pair[0] != scaler)
        yield replace(path.changed(change, track.owners), awaiting=awaiting)


def schedule(track: Tracker, act: Act, paths: Sequence[Path], where: Where) -> Iterator[State]:
    steps = [path.stepped for path in paths if path.stepped is not None and path.stepped[2] == where.loops]
    if len(steps) == len(paths) and all(path.tests <= stepped[1] for path, stepped in zip(paths, steps)):
        track.report("schedule", act, steps[0][0])
    yield from (replace(path, stepped=None) for path in paths)


def made(track: Tracker, act: Act, paths: Sequence[Path], where: Where) -> Iterator[State]:
    """A new optimizer or scaler knows nothing of what came before."""
    new = id(act.event)
    for path in paths:
        awaiting = frozenset(pair for pair in path.awaiting if new not in pair)
        grads = frozenset((k, g) for k, g in path.grads if k != new)
        yield replace(path, awaiting=awaiting, grads=grads)


def unclear(track: Tracker, act: Act, paths: Sequence[Path], where: Where) -> Iterator[State]:
    yield from (Path(tests=path.tests) for path in paths)


def written(track: Tracker, act: Act, paths: Sequence[Path], where: Where) -> Iterator[State]:
    def change(_: Key, grads: Grads) -> Grads:
        return replace(grads, wiped=None)

    yield from (path.changed(change, track.owners) for path in paths)


Handler = Callable[[Tracker, Act, Sequence[Path], Where], Iterator[State]]
HANDLERS: Mapping[str, Handler] = {
    "backward": backward,
    "managed": backward,
    "maybe scaled": backward,
    "zero": zero,
    "cleared": zero,
    "unscale": unscale,
    "clip": look,
    "read": look,
    "step": step,
    "update": update,
    "schedule": schedule,
    "made": made,
    "unclear": unclear,
    "written": written,
}


@once_per_file
def hazards(events: Sequence[Event]) -> Iterator[Hazard]:
    """All that is done to gradients at the wrong time in a file."""
    roles = roles_of(events)
    if roles is None:
        return
    file = outline(events, lambda event: act_of(event, roles))
    for body in file.bodies:
        yield from _in_body(file, body, roles).values()


def _in_body(file: Outline, body: Body, roles: Roles) -> Mapping[tuple[str, int], Hazard]:
    acts = list(nodes_in(file, body.nodes))
    if not any(act.kind in {"backward", "managed", "maybe scaled", "step"} for act in acts):
        return {}
    proven = frozenset(optimizers(acts, roles))
    stepped = proven or frozenset(unproven(acts))
    track = Tracker(roles, acts, (NOBODY, *stepped), proven, dict(given(acts)))
    track.counted = frozenset(map(id, counted(file, body.nodes)))
    try:
        Walk(file, track.step).through(body, frozenset([Path()]), Where())
    except Overrun:
        return {}
    for act, cause, calls in track.looks:  # told where the steps are taken: `norm(model)`, not what is in it
        depth = max((shared(calls, other) for other in track.stepped), default=len(track.began.get(id(cause), ())))
        track.report("scaled", act, cause, calls[depth] if len(calls) > depth else None)
    return track.found


def shared(calls: Sequence[Site], others: Sequence[Site]) -> int:
    """How many of the outermost calls are the same."""
    return len([*takewhile(lambda pair: pair[0].node is pair[1].node, zip(calls, others))])
