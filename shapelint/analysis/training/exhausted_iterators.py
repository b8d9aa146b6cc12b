"""Iterators over parameters that are gone through twice: the second time nothing is left of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from shapelint.analysis.control_flow import Act, Body, Test, nodes_in, outline
from shapelint.analysis.gradients.frozen import GIVING
from shapelint.analysis.index import events_of, operations
from shapelint.analysis.paths import Overrun, State, States, Walk, Where
from shapelint.analysis.training.actions import CLIPS, key
from shapelint.domain.record import record
from shapelint.domain.values import Dict, Library, Many, Method, Tuple, Unknown, Value, maker_of
from shapelint.events import Call, Event, Input, Operation, Site

LAZY = frozenset({"builtins.filter", "builtins.map", "builtins.iter", "itertools.chain"})


@record(eq=False)
class Lost:
    """Something that is not trained, where that comes from, and what was meant to train it."""

    kind: str  # "used up", "replaced", "copied", "missing"
    event: Event
    site: Site
    name: str = ""
    cause: Site | None = None


@record()
class Spent:
    """The iterators that were gone through on one path."""

    keys: frozenset[object] = frozenset()
    tests: frozenset[Test] = frozenset()

    def with_tests(self, tests: frozenset[Test]) -> Spent:
        return Spent(self.keys, tests)


def iterator_act(event: Event) -> Act | None:
    """An iterator over parameters is made, or gone through."""
    match event:
        case Operation(name="optimizer", arguments={"params": params}):
            found = next(filter(_is_iterator, _leaves(params)), None)
            return None if found is None else Act("used", event, found)
        case Call(callee=Library(name=name), args=args):
            given = next((value for value in args if _is_iterator(value)), None)
            if given is not None and (name in LAZY or name.startswith("builtins.") or name.rpartition(".")[2] in CLIPS):
                return Act("used", event, given)
            return Act("made", event) if name in LAZY else None
        case Call(callee=Method(name=name)) if name in GIVING:
            return Act("made", event)
    return None


def _leaves(value: Value) -> Iterator[Value]:
    match value:
        case Dict(items=pairs):
            yield from (item for name, item in pairs if name == "params")
        case Tuple(items=items):
            for item in items:
                yield from _leaves(item)
        case _:
            yield value


def _is_iterator(value: Value) -> bool:
    """Whether it is an iterator over the parameters of some module."""
    maker = maker_of(value)
    match maker:
        case Call(callee=Method(name=name, function=None)):
            return name in GIVING
        case Call(callee=Library(name=name), args=args) if name in LAZY and isinstance(value, Many | Unknown):
            behind = (*args, *((value.item,) if isinstance(value, Many) else ()))
            return any(_is_of_parameters(v) for v in behind)
    return False


def _is_of_parameters(value: Value, depth: int = 0) -> bool:
    match maker_of(value):
        case Input(kind="iteration" | "item", source=source) if source is not None and depth < 4:
            return _is_of_parameters(source, depth + 1)
        case Call(callee=Library(name=name), args=args) if name in LAZY and depth < 4:
            return any(_is_of_parameters(v, depth + 1) for v in args)
        case Call(callee=Method(name=name)):
            return name in GIVING
    return False


@dataclass(slots=True)
class Uses:
    found: dict[int, Lost] = field(default_factory=dict)

    def step(self, act: Act, states: States, where: Where) -> States:
        paths = [state for state in states if isinstance(state, Spent)]
        if act.kind == "made" or act.subject is None:
            return self._added(paths, frozenset(), frozenset({id(act.event)}))
        used = key(act.subject, where.names)
        if paths and all(used in path.keys for path in paths):
            maker = maker_of(act.subject)
            cause = maker.site if maker is not None else None
            self.found.setdefault(id(act.site.node), Lost("used up", act.event, act.site, act.site.text, cause))
        made = {id(act.event)} if isinstance(act.event, Call) else set()
        return self._added(paths, frozenset({used}), frozenset(made))

    def _added(self, paths: Iterable[Spent], used: frozenset[object], made: frozenset[object]) -> States:
        return frozenset(Spent((path.keys - made) | used, path.tests) for path in paths)


def used_up(events: Sequence[Event]) -> Iterator[Lost]:
    """Uses of an iterator over parameters that an earlier one has left nothing of."""
    candidates: list[Event] = [*operations(events, {"optimizer"}), *events_of(events, Call)]
    if not any(act.kind == "used" and not _is_fresh(act) for act in map(iterator_act, candidates) if act is not None):
        return
    file = outline(events, iterator_act)
    uses = Uses()
    spent: frozenset[object] = frozenset()
    for body in file.bodies:
        if any(act.kind == "used" for act in nodes_in(file, body.nodes)):
            start: State = Spent(spent)
            try:
                ends = Walk(file, uses.step).through(body, frozenset([start]), Where())
            except Overrun:
                continue
            if _is_initialiser(body):  # attributes are used up for every method
                keys = [end.keys for end in ends if isinstance(end, Spent)]
                spent |= keys[0].intersection(*keys) if keys else frozenset()
    yield from uses.found.values()


def _is_fresh(act: Act) -> bool:
    """`SGD(model.parameters())`: each optimizer gets an iterator of its own."""
    maker = maker_of(act.subject)
    sites = act.event.sites if isinstance(act.event, Operation) else {}
    return maker is not None and "params" in sites and sites["params"].node is maker.site.node


def _is_initialiser(body: Body) -> bool:
    return body.entered is not None and body.entered.function.name == "__init__"
