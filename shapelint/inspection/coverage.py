"""How much is inferred: which results of tensor operations have a known shape, and which calls lose it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from os.path import abspath, isdir
from typing import Any

from shapelint import positions, source
from shapelint.config import Config
from shapelint.domain.values import Layer, Library, Method, Tensor, Tuple, Union, Unknown, Value, tensors_in
from shapelint.events import Call, Event, Kind, Operation, Site
from shapelint.finding import Failure, Location
from shapelint.inspection.bindings import knowledge

ARRAYS = ("torch.", "numpy.", "jax.", "einops.", "optax.", "flax.")
MOST_TREES = 400  # trees whose results wait for their places
RANK, SIZES = 2, 3  # levels of `knowledge`
# What these give is no tensor, or the same object again.
NO_TENSORS = frozenset({Kind.AUTOGRAD})


@dataclass(slots=True)
class Tally:
    """Counts of one path: results of tensor operations, each place in the source once, at its best."""

    path: str = ""
    results: int = 0
    rank_known: int = 0
    sizes_known: int = 0
    lost: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        self.results += other.results
        self.rank_known += other.rank_known
        self.sizes_known += other.sizes_known
        self.lost.update(other.lost)


@dataclass(frozen=True)
class _Result:
    """What one event came to: how much is known of its tensors, and who is to blame for what is not."""

    level: int
    loser: str | None


@source.paused_gc()
def measure(paths: Sequence[str], config: Config) -> tuple[list[Tally], list[Failure]]:
    """One tally for each path, and the files that could not be read. Raises NoSuchPath."""
    from shapelint.interpreter import interpret
    from shapelint.project.discovery import find_files
    from shapelint.project.modules import Project

    project = Project([path for path in paths if isdir(path)])
    tallies, failures = [], []
    for path in paths:
        filenames = find_files([path], config)
        results = _Results(frozenset(map(abspath, filenames)))
        for filename in filenames:
            try:
                text = project.text(filename)
                if project.reaches_tensors(filename, text):
                    results.add(interpret(project.tree(filename, text), filename, project))
                    source.collect_when_full()
            except source.Unreadable as error:
                failures.append(Failure(filename, error.message, error.location))
            except OSError as error:
                failures.append(Failure(filename, f"cannot be read: {error.strerror or error}"))
            except RecursionError:
                failures.append(Failure(filename, "too deeply nested to be analysed"))
        tallies.append(results.tally(path))
    return tallies, failures


@dataclass(slots=True)
class _Results:
    """What is known at each place of some files, whichever file's evaluation found it out."""

    filenames: frozenset[str]
    settled: dict[tuple[str, Location, Location], _Result] = field(default_factory=dict)
    open: dict[int, tuple[Site, dict[int, tuple[Any, _Result]]]] = field(default_factory=dict)  # by tree, by node

    def add(self, events: Iterable[Event]) -> None:
        for event in events:
            if not isinstance(event, Operation | Call):
                continue
            found = of_operation(event) if isinstance(event, Operation) else of_call(event)
            if found is not None:
                site = event.site
                _, of_tree = self.open.setdefault(id(site.module), (site, {}))
                _, known = of_tree.get(id(site.node), (None, None))
                of_tree[id(site.node)] = site.node, found if known is None else better(known, found)
        if len(self.open) > MOST_TREES:
            self.settle()

    def settle(self) -> None:
        """Tells the nodes of trees by their places: a tree that was let go is made anew when it is needed again."""
        for site, of_tree in self.open.values():
            filename = abspath(site.filename)
            if filename in self.filenames:
                places = positions.places(site.module, [node for node, _ in of_tree.values()])
                for node, found in of_tree.values():
                    place = filename, *places[id(node)]
                    self.settled[place] = better(self.settled.get(place, found), found)
        self.open.clear()

    def tally(self, path: str) -> Tally:
        self.settle()
        levels = [result.level for result in self.settled.values()]
        lost = Counter(result.loser for result in self.settled.values() if result.loser is not None)
        return Tally(path, len(levels), sum(n >= RANK for n in levels), sum(n >= SIZES for n in levels), lost)


def better(known: _Result, found: _Result) -> _Result:
    """The one that knows more; of equals, the one that says who is to blame."""
    return max(known, found, key=lambda result: (result.level, result.loser is not None))


def of_operation(event: Operation) -> _Result | None:
    """The result of a modelled operation; None where it is no tensor."""
    if event.problem is not None:
        return None  # it cannot work, so that it has no result
    if isinstance(event.result, Unknown):
        if event.kind in NO_TENSORS or not event.operands:
            return None
        level = 0
    else:
        found = list(tensors_of(event.result))
        if not found:
            return None
        level = min(map(knowledge, found))
    before = [knowledge(operand) for operand in event.operands]
    has_unknown = any(isinstance(value, Unknown | Union) for value in event.values)
    lost = level < RANK and not has_unknown and all(n >= RANK for n in before)
    return _Result(level, event.callee if lost else None)


def tensors_of(value: Value) -> Iterator[Tensor]:
    yield from tensors_in((value,))
    if isinstance(value, Union):
        yield from tensors_in(value.options)


def of_call(event: Call) -> _Result | None:
    """A library's callable that is not modelled, given a tensor; None for every other call."""
    name = library_name(event.callee)
    if name is None or not isinstance(event.result, Unknown):
        return None
    given = [*event.args, *(value for _, value in event.kwargs)]
    if isinstance(event.callee, Method):
        given.append(event.callee.receiver)
    return _Result(0, name) if any(tensors_in(given)) else None


def library_name(callee: Value) -> str | None:
    match callee:
        case Library(name=name) | Layer(name=name) if name.startswith(ARRAYS):
            return name
        case Method(receiver=Tensor(library=library), name=name):
            return f"{library or 'array'}.{name}()"
        case Method(receiver=Layer(name=owner), name=name):
            return f"{owner}.{name}()"
        case Method(receiver=Tuple(kind="Sequential" | "ModuleList" as kind), name=name):
            return f"{kind}.{name}()"
    return None
