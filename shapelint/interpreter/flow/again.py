"""Once more from the start: what later statements say of a value holds for the earlier ones as well.

`y = relu(x); b, t, c = x.shape` says how many axes x had when it entered. What is found out at the top level of a body,
before any way out, is so whenever the function comes to its end. The statements so far are then executed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from shapelint.domain.joins import filled, renewed_shape, resolve_shape
from shapelint.domain.tokens import Token, is_met
from shapelint.domain.values import Function, Instance, Layer, Run, Shape, Value, maker_of
from shapelint.events import Call, Event, Input, Operation
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.knowledge.learning import open_shapes
from shapelint.interpreter.scopes import Path, meet
from shapelint.ops.autocast import Autocast
from shapelint.ops.environments import elements
from shapelint.provenance import parts

MOST = 4  # times that a body is begun


@dataclass(slots=True)
class Start:
    """The state in which a body is begun."""

    frame: Frame
    names: dict[str, Value]
    regions: tuple[str, ...]
    autocast: Autocast | None
    events: int
    pending: int
    serial: int
    credit: int
    instances: int
    dtypes: dict[Value, str | None]
    attributes: list[tuple[Instance, dict[str, Value], set[str]]]
    times: int = 1

    @property
    def ranked(self) -> set[Run]:
        """The runs whose number of axes is known."""
        shapes = self.frame.shapes
        return {run for run in shapes if filled(Shape((), run), shapes).run is None}

    def teaches(self, runs: set[Run]) -> bool:
        """Whether an operation so far was given something that had entered with one of these runs of axes."""
        met = runs.intersection(open_runs(self.frame.run.events[self.events :]))
        if not met:
            return False
        held = [value for owner, attributes, _ in self.attributes for value in attributes.values()]
        entered = {shape.run for shape in open_shapes((*self.names.values(), *held))}
        return not met.isdisjoint(parts_of(entered | {*self.later()}, self.frame.shapes))

    def later(self) -> Iterator[Run]:
        """The runs of what entered since then and had not been foretold."""
        foretold = self.frame.foretold
        return (run for place, run in entries(self.frame.run.events[self.events :]) if place not in foretold)

    def again(self) -> None:
        """Back to the start, with what is known by now."""
        frame, run = self.frame, self.frame.run
        self.times += 1
        frame.foretold |= foretold(run.events[self.events :], frame.shapes)
        del run.events[self.events :]
        for function in run.pending[self.pending :]:
            run.defined.discard(id(function.node))
        del run.pending[self.pending :]
        run.memo = {key: known for key, known in run.memo.items() if known.serial <= self.serial}
        run.called = {key: serial for key, serial in run.called.items() if serial <= self.serial}
        run.told = {key: serial for key, serial in run.told.items() if serial <= self.serial}
        while len(run.instances) > self.instances:
            run.instances.popitem()
        for owner, attributes, buffers in self.attributes:
            owner.attributes, owner.buffers = dict(attributes), set(buffers)
        run.credit, run.dtypes = self.credit, dict(self.dtypes)
        frame.scope.names = {name: frame.known(value) for name, value in self.names.items()}
        frame.regions, frame.autocast = self.regions, self.autocast
        frame.bindings = frame.return_hint = None
        frame.refined.clear()


def start(frame: Frame) -> Start:
    run = frame.run
    given = [value for value in frame.scope.names.values() if isinstance(value, Instance)]
    held = [value for owner in given for value in owner.attributes.values() if isinstance(value, Instance)]
    return Start(
        frame,
        dict(frame.scope.names),
        frame.regions,
        frame.autocast,
        len(run.events),
        len(run.pending),
        run.next_serial(),
        run.credit,
        len(run.instances),
        dict(run.dtypes),
        [(owner, dict(owner.attributes), set(owner.buffers)) for owner in dict.fromkeys([*given, *held])],
    )


def parts_of(runs: Iterable[Run | None], shapes: Mapping[Run, Shape]) -> Iterator[Run]:
    """These runs, and what was left of each where some of its axes turned out: the rest of (n, ...)."""
    for run in runs:
        while run is not None:
            yield run
            run = shapes[run].run if run in shapes else None


def execute(begun: Start, statements: Iterable[cst.CSTNode]) -> bool:
    """Execute a body; False where it is to be begun again."""
    from shapelint.interpreter.statements import execute as execute_one

    frame = begun.frame
    known = begun.ranked
    for statement in statements:
        if not frame.alive:
            break
        execute_one(frame, statement)
        if frame.shapes and (new := begun.ranked - known):
            is_certain = frame.alive and not frame.returns and not frame.globals
            if is_certain and begun.times < MOST and begun.teaches(new):
                begun.again()
                return False
            known |= new
    return True


def open_runs(events: Iterable[Event]) -> Iterator[Run]:
    """The runs of axes of what operations and calls are given; a function's own events say what it makes of them."""
    for event in events:
        if isinstance(event, Operation):
            values = event.values
        elif isinstance(event, Call) and not isinstance(event.callee, Function | Instance):
            values = (*event.args, event.callee)
        else:
            continue
        yield from (shape.run for shape in open_shapes(values) if shape.run is not None)


def foretold(events: Iterable[Event], shapes: Mapping[Run, Shape]) -> dict[object, Shape]:
    """By the place where a value entered: its axes, where it is known by now what they are."""
    found: dict[object, Run] = {}
    several: set[object] = set()
    for place, run in entries(events):
        if run in shapes and found.setdefault(place, run) != run:
            several.add(place)
    return {place: Shape((), run) for place, run in found.items() if place not in several}


def next_round(
    frame: Frame, entry: Path, begun: int, events: int, node: cst.CSTNode
) -> tuple[dict[object, Shape], dict[Run, Shape]]:
    """What a round of a loop found out on all its ways, which the next one knows beforehand: about what enters in it,
    by place, and about what was there before the loop."""
    ways = [*([frame.snapshot()] if frame.alive else []), *frame.breaks]
    if not any(way.shapes.keys() - entry.shapes.keys() for way in ways):
        return {}, {}
    known = meet(ways, None)
    new = {run: shape for run, shape in known.shapes.items() if run not in entry.shapes}
    if new.keys().isdisjoint(open_runs(frame.run.events[events:])):
        return {}, {}
    found = foretold(frame.run.events[events:], new)
    whole = {place: resolve_shape(filled(shape, known.shapes), known.facts) for place, shape in found.items()}
    entering = {place: renewed_shape(shape, begun, (frame.place(node), place)) for place, shape in whole.items()}
    return entering, {run: shape for run, shape in new.items() if is_older(run, begun)}


def is_older(run: Run, begun: int) -> bool:
    return isinstance(run.scope, Token) and run.scope < begun


def entries(events: Iterable[Event]) -> Iterator[tuple[object, Run]]:
    """Where values entered that operations were given, and their runs of axes."""
    for event in events:
        if isinstance(event, Operation | Call):
            for value in parts(event.values):
                for entered in elements(value) if type(value) is Layer else (value,):
                    made_by = maker_of(entered)
                    if isinstance(made_by, Input | Call) and is_met(made_by):
                        yield made_by.place, Run("", made_by)
