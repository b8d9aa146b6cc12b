"""Holds inference against reality: a program is run with probes, and interpreted with the same probes.

A probe after every statement writes down what the names are bound to: real values while the program runs, inferred
ones while it is interpreted. For every real call of a function one assignment of sizes to symbols has to exist under
which all that was inferred of it is true, in every evaluation whose entry the call fits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import libcst as cst
from probes import PROBE, Point, Probes

from shapelint.domain.dims import Dim, Symbol, as_dim, substitute
from shapelint.domain.values import (
    Axis,
    Class,
    Const,
    Deferred,
    Dict,
    Float,
    Instance,
    Int,
    Layer,
    Many,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
)
from shapelint.interpreter import interpret
from shapelint.interpreter.frame import Frame
from shapelint.testing import dtype_name, library_of

MOST_CALLS = 6  # of one function that are recorded
MOST_ROUNDS = 4  # of one loop
MOST_ITEMS = 12

Sizes = dict[Symbol, Dim]


class Contradiction(Exception):
    """What was inferred is not what happened."""


# --- reality --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Array:
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Thing:
    """An object: what its attributes are, as far as they are arrays or plain values."""

    classes: tuple[str, ...]  # its own and those it inherits from
    attributes: Mapping[str, Any]


OPAQUE = object()
State = dict[str, Any]


def described(value: Any, depth: int = 3, objects: int = 2) -> Any:
    """A real value without what may change later; an object with those that it holds."""
    if library_of(value) is not None and hasattr(value, "shape") and not isinstance(value, type):
        try:
            return Array(tuple(int(n) for n in value.shape), dtype_name(value.dtype))
        except Exception:
            return OPAQUE
    match value:
        case None | bool() | int() | float() | str():
            return value
        case tuple() | list() if depth and len(value) <= MOST_ITEMS:
            return [described(item, depth - 1, 0) for item in value]
        case dict() if depth and len(value) <= MOST_ITEMS:
            return {key: described(item, depth - 1, 0) for key, item in value.items() if isinstance(key, str | int)}
    if objects and hasattr(value, "__dict__") and not isinstance(value, type | ModuleType):
        held = {**vars(value), **vars(value).get("_parameters", {}), **vars(value).get("_buffers", {})}
        own = {name: item for name, item in held.items() if not name.startswith("__")}
        attributes = {name: described(item, objects - 1, objects - 1) for name, item in own.items()}
        return Thing(classes_of(value), attributes | parts_of(value))
    return OPAQUE


def parts_of(value: Any, depth: int = 2) -> dict[str, Thing]:
    """The modules that a module consists of, without anything that may change later: their classes."""
    inner = vars(value).get("_modules", {}) if depth else {}
    return {name: Thing(classes_of(part), parts_of(part, depth - 1)) for name, part in inner.items()}


def classes_of(value: Any) -> tuple[str, ...]:
    return tuple(cls.__name__ for cls in type(value).__mro__)


@dataclass(eq=False, repr=False)
class Calls:
    """What the probes saw while the program ran: for each function its calls, for each call its states in order."""

    points: list[Point]
    calls: dict[int, list[list[tuple[int, State]]]] = field(default_factory=dict)
    running: dict[int, tuple[Any, list[tuple[int, State]]]] = field(default_factory=dict)
    rounds: dict[tuple[int, int], int] = field(default_factory=dict)

    def probe(self, number: int, names: Mapping[str, Any]) -> None:
        frame, point = sys._getframe(1), self.points[number]
        if point.is_entry:
            seen = self.calls.setdefault(point.function, [])
            states: list[tuple[int, State]] = []
            if len(seen) < MOST_CALLS:
                seen.append(states)
                self.running[id(frame)] = frame.f_code, states
                self.rounds = {key: count for key, count in self.rounds.items() if key[0] != id(frame)}
            else:
                self.running.pop(id(frame), None)
        code, states = self.running.get(id(frame), (None, []))
        if code is not frame.f_code:
            return
        key = id(frame), number
        self.rounds[key] = self.rounds.get(key, 0) + 1
        if self.rounds[key] <= MOST_ROUNDS:
            visible = {name: value for name, value in names.items() if not name.startswith("__")}
            if not point.function:
                visible = {name: value for name, value in visible.items() if not isinstance(value, type | ModuleType)}
            states.append((number, {name: described(value) for name, value in visible.items()}))


# --- inference ------------------------------------------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class Evaluation:
    """One evaluation of a function by the interpreter: what it knew at each probe."""

    frame: Frame
    states: dict[int, list[dict[str, Value]]] = field(default_factory=dict)


def evaluations(module: cst.Module, filename: str, points: list[Point]) -> dict[int, list[Evaluation]]:
    """By function: its evaluations, in order."""
    numbers = {id(node): number for node, number in probes(module)}
    found: dict[int, Evaluation] = {}

    def watch(frame: Frame, node: cst.CSTNode, value: Value) -> None:
        number = numbers.get(id(node))
        if number is not None:
            states = found.setdefault(id(frame), Evaluation(frame)).states.setdefault(number, [])
            states.append(dict(visible(frame)))

    interpret(module, filename, None, watch)
    result: dict[int, list[Evaluation]] = {}
    for evaluation in found.values():
        entry = next(iter(evaluation.states))
        result.setdefault(points[entry].function, []).append(evaluation)
    return result


def probes(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, int]]:
    match node:
        case cst.Assign(
            targets=[cst.AssignTarget(target=cst.Name(value=seen) as name)],
            value=cst.Call(args=[cst.Arg(value=cst.Integer(value=number)), _]),
        ) if seen == PROBE:
            yield name, int(number)
            return
    for child in node.children:
        yield from probes(child)


def visible(frame: Frame) -> Iterator[tuple[str, Value]]:
    """The names of a function and of those around it, with what is known of them now."""
    scope = frame.scope
    chain = []
    while scope is not None and scope.parent is not None:
        if not scope.is_class and (scope.origin is None or frame.function is None):
            chain.append(scope)
        scope = scope.parent
    for outer in reversed(chain):
        for name, value in outer.names.items():
            if not isinstance(value, Deferred) and not name.startswith("__"):
                yield name, still(frame, value)


def still(frame: Frame, value: Value, depth: int = 2) -> Value:
    """A value that later statements do not change."""
    if isinstance(value, Instance) and depth:
        return Instance(value.cls, {name: still(frame, v, depth - 1) for name, v in value.attributes.items()})
    return frame.known(value)


# --- both -----------------------------------------------------------------------------------------------------------


def claims(value: Value, real: Any, name: str) -> Iterator[tuple[Dim, int, str]]:
    """The equations that make an inferred value true. Raises Contradiction where nothing can."""
    match value, real:
        case _ if real is OPAQUE:
            return
        case Tensor(shape=shape), Array(shape=sizes):
            if shape.rank not in {None, len(sizes)} or len(sizes) < shape.least_rank:
                raise Contradiction(f"{name} is {shape} by inference, but {sizes}")
            if not dtype_fits(value.dtype, real.dtype):
                raise Contradiction(f"{name} has dtype {value.dtype} by inference, but {real.dtype}")
            front, back = list(zip(shape.head, sizes)), list(zip(shape.tail[::-1], sizes[::-1]))
            for axis, number in (*front, *back):
                yield from of_axis(axis, number, f"{name} is {shape} by inference, but {sizes}")
        case Unknown(dim=Dim() as dim), int() if not isinstance(real, bool):
            yield dim, real, f"{name} is {dim} by inference, but {real}"
        case Int(dim=dim), bool() | int():
            yield dim, int(real), f"{name} is {dim} by inference, but {real}"
        case Float(value=float() as known), int() | float() if known == known and abs(known) != float("inf"):
            if abs(known - real) > 1e-6 * max(1.0, abs(known)):
                raise Contradiction(f"{name} is {known} by inference, but {real}")
        case Const(value=bool() | str() | None as known), _ if known != real and "{" not in str(known):
            raise Contradiction(f"{name} is {known!r} by inference, but {real!r}")
        case Tuple(items=items, kind="tuple" | "list" | "size"), list():
            if len(items) != len(real):
                raise Contradiction(f"{name} has {len(items)} items by inference, but {len(real)}")
            for index, (item, actual) in enumerate(zip(items, real)):
                yield from claims(item, actual, f"{name}[{index}]")
        case Many(item=item, length=length, kind="tuple" | "list" | "size"), list():
            if length is not None:
                yield length, len(real), f"{name} has {length} items by inference, but {len(real)}"
            for actual in real:
                solve(list(claims(item, actual, f"{name}[...]")), {})  # each by itself: "alike" is not "the same"
        case Dict(items=items), dict():
            for key, item in items:
                if isinstance(key, str | int) and key in real:
                    yield from claims(item, real[key], f"{name}[{key!r}]")
        case Instance(cls=cls), Thing(classes=classes) if cls.name not in (classes if name == "self" else classes[:1]):
            raise Contradiction(f"{name} is of class {cls.name} by inference, but {classes[0]}")
        case Layer(name=known), Thing(classes=classes) if known.rpartition(".")[2] not in classes:
            raise Contradiction(f"{name} is of class {known} by inference, but {classes[0]}")
        case Instance(attributes=attributes), Thing(attributes=actual):
            for key, item in attributes.items():
                if key in actual:
                    yield from claims(item, actual[key], f"{name}.{key}")
        case ((Tensor() | Int() | Float() | Tuple(kind="tuple" | "list" | "size")), _) if not alike(value, real):
            raise Contradiction(f"{name} is {value} by inference, but {real!r}")


def of_axis(axis: Axis, number: int, text: str) -> Iterator[tuple[Dim, int, str]]:
    yield axis.size, number, text


def alike(value: Value, real: Any) -> bool:
    """Whether a value of another kind may be what was inferred: a 0-dim array counts as a number, and the reverse."""
    match value, real:
        case Tensor(), bool() | int() | float():
            return value.shape.rank in {None, 0}
        case ((Int() | Float()), Array(shape=()) | bool() | int() | float()):
            return True
        case Tuple(), list():
            return True
        case Tuple(items=items), Array(shape=(count, *_)):
            return len(items) == count
        case Tensor(), list():
            return False
    return False


def dtype_fits(inferred: str | None, real: str) -> bool:
    return inferred is None or not inferred[-1:].isdigit() or inferred == real


def solve(equations: list[tuple[Dim, int, str]], sizes: Sizes) -> None:
    """Add to `sizes` what the equations say. Raises Contradiction where no assignment fulfils them all."""
    pending, progress = equations, True
    while progress:
        progress, left = False, []
        for dim, number, text in pending:
            known = substitute(dim, sizes)
            if known.value is not None:
                if known.value != number:
                    raise Contradiction(text)
                progress = progress or known != dim
                continue
            symbols = set(known.symbols())
            solved = root(known, number) if len(symbols) == 1 else None
            if solved is None:
                left.append((dim, number, text))
                continue
            if solved != int(solved):
                raise Contradiction(text)
            sizes[symbols.pop()] = as_dim(int(solved))
            progress = True
        pending = left


def root(dim: Dim, number: int) -> float | None:
    """The value of the one symbol of a linear polynomial; None where it is none."""
    rest = [(monomial, c) for monomial, c in dim.terms if monomial]
    constant = sum(c for monomial, c in dim.terms if not monomial)
    if len(rest) != 1 or len(rest[0][0]) != 1 or rest[0][0][0].derivation is not None:
        return None
    return (number - constant) / rest[0][1]


def fits(inferred: Mapping[str, Value], real: State, sizes: Sizes) -> None:
    """Add to `sizes` what one state says. Raises Contradiction."""
    equations = []
    for name, value in inferred.items():
        if name in real and not isinstance(value, Class | Union):
            equations += list(claims(value, real[name], name))
    solve(equations, sizes)
    for name, value in inferred.items():
        if name in real and isinstance(value, Union):
            one_of(value, real[name], name, sizes)


def one_of(value: Union, real: Any, name: str, sizes: Sizes) -> None:
    """Raises Contradiction where none of the options is what happened."""
    reasons = []
    for option in value.options:
        try:
            return solve(list(claims(option, real, name)), dict(sizes))
        except Contradiction as error:
            reasons.append(str(error))
    raise Contradiction("; ".join(reasons))


def contradictions(function: list[Evaluation], call: list[tuple[int, State]], points: list[Point]) -> Iterator[str]:
    """Where the evaluations of a function contradict one real call of it."""
    for evaluation in function:
        sizes: Sizes = {}
        entry, names = call[0]
        try:
            fits(evaluation.states[entry][0], names, sizes)
        except (Contradiction, KeyError):
            continue  # evaluated for other arguments
        yield from in_evaluation(evaluation, sizes, call, points)


def in_evaluation(
    evaluation: Evaluation, base: Sizes, call: list[tuple[int, State]], points: list[Point]
) -> Iterator[str]:
    """Where an evaluation contradicts a real call, up to the first place. `base` are the sizes at the entry."""
    levels: list[tuple[int, Sizes]] = [(0, base)]
    for number, state in call[1:]:
        point = points[number]
        while len(levels) - 1 > len(point.loops) or any(
            loop != inner for (loop, _), inner in zip(levels[1:], point.loops)
        ):
            levels.pop()
        if point.starts_round and len(levels) - 1 == len(point.loops):
            levels.pop()
        while len(levels) - 1 < len(point.loops):
            levels.append((point.loops[len(levels) - 1], dict(levels[-1][1])))
        inferred = evaluation.states.get(number)
        if inferred is None:
            if not evaluation.frame.is_call:
                yield f"after {point.text!r}: never reached by inference"
            return
        reasons = []
        for candidate in inferred:
            sizes = dict(levels[-1][1])
            try:
                fits(candidate, state, sizes)
                levels[-1] = levels[-1][0], sizes
                break
            except Contradiction as error:
                reasons.append(str(error))
        else:
            yield f"after {point.text!r}: {'; '.join(dict.fromkeys(reasons))}"
            return


@dataclass(eq=False, repr=False)
class Program:
    """A program with probes: its module while and after it ran, and what inference says of it."""

    filename: str
    module: ModuleType
    calls: Calls
    evaluations: dict[int, list[Evaluation]]
    points: list[Point]

    def run(self) -> None:
        """Execute the top level. Raises what the program raises."""
        code = compile(self.module.__dict__["__source__"], self.filename, "exec")
        exec(code, self.module.__dict__)

    def contradictions(self) -> list[str]:
        found = [
            text
            for function, calls in self.calls.calls.items()
            for call in calls
            if call
            for text in contradictions(self.evaluations.get(function, []), call, self.points)
        ]
        return list(dict.fromkeys(found))

    def compared(self) -> int:
        """How many states were held against an evaluation of their function."""
        return sum(
            len(call) for number, calls in self.calls.calls.items() for call in calls if self.evaluations.get(number)
        )


def instrumented(text: str, filename: str, name: str = "__main__") -> Program:
    """A program ready to run."""
    transformer = Probes()
    source = cst.parse_module(text).visit(transformer).code
    points = transformer.points
    calls = Calls(points)
    module = ModuleType(name)
    module.__dict__.update({"__probe__": calls.probe, "__source__": source, "__file__": filename})
    return Program(filename, module, calls, evaluations(cst.parse_module(source), filename, points), points)
