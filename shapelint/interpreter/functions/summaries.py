"""What is known of the result of a call whose body is not executed for it: by its annotation, by what the function
came to when it was evaluated on its own, or for another call whose arguments were alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

import libcst as cst

from shapelint.annotations.unification import UNBOUND, Bindings, meets
from shapelint.domain.dims import Dim, Symbol, anonymous, substitute
from shapelint.domain.joins import leaves
from shapelint.domain.record import record
from shapelint.domain.values import (
    UNKNOWN,
    Axis,
    Const,
    Float,
    Function,
    Instance,
    Int,
    Many,
    Run,
    Shape,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
)
from shapelint.interpreter.frame import Analysis, Frame
from shapelint.interpreter.functions.patterns import Matching, are_alike, is_alike
from shapelint.interpreter.knowledge import contracts
from shapelint.interpreter.operations import Arguments
from shapelint.interpreter.scopes import Scope
from shapelint.ops.runs import joined
from shapelint.provenance import originate

Keywords: TypeAlias = tuple[tuple[str, Value], ...]
# Of a call: the function, its arguments, its keywords by name, the regions around it, and the state of objects.
Signature: TypeAlias = "tuple[int, tuple[Value, ...], Keywords, object, object]"
PLAIN = frozenset({cst.Integer, cst.Float, cst.SimpleString, cst.UnaryOperation, cst.Tuple})


MOST_ALIKE = 4  # evaluations for calls of a function that are kept


@record()
class Summary:
    """What a function came to on its own, and what its parameters were."""

    result: Value
    given: Mapping[str, Value]


def remember(frame: Frame, function: Function, result: Value, given: Mapping[str, Value]) -> None:
    """Keep what a function came to on its own, unless that hangs on what was supposed, or on what a default does."""
    params = function.node.params
    defaults = [p.default for p in (*params.posonly_params, *params.params, *params.kwonly_params) if p.default]
    if frame.scope not in frame.run.supposed_in and all(map(is_plain, defaults)):
        frame.run.summaries[id(function.node)] = Summary(result, given)


def is_plain(default: cst.BaseExpression) -> bool:
    """Whether a default is a constant, of which no more is taken than its kind."""
    return type(default) in PLAIN or (isinstance(default, cst.Name) and default.value in {"None", "True", "False"})


def of_call(frame: Frame, function: Function, arguments: Arguments, node: cst.CSTNode, signature: Signature) -> Value:
    """The result of a call as far as it does not hang on values that are not known."""
    place = frame.place_of_call(node)
    alike = as_before(frame, function, signature, place) if arguments.complete else UNKNOWN
    if all(shape.run is None for shape in shapes(alike)) and alike != UNKNOWN:
        return alike
    summary = frame.run.summaries.get(id(function.node))
    if summary is not None and summary.result != UNKNOWN:
        found = matching(function, summary, arguments) if arguments.complete else Matching()
        known = as_annotated(frame, function, arguments, node, renamed(summary.result, place, found))
        return alike if known == UNKNOWN else known
    return annotated(frame, function, arguments, node) or alike


def as_before(frame: Frame, function: Function, signature: Signature, place: object) -> Value:
    """What came of another call with arguments that differ in their sizes alone; Unknown where there was none."""
    run = frame.run
    for other in run.evaluated.get(id(function), ()):
        if other not in run.memo or other[3:] != signature[3:] or len(other[1]) != len(signature[1]):
            continue
        found, (names, known), (asked, given) = Matching(), _split(other[2]), _split(signature[2])
        if names == asked and are_alike((*other[1], *known), (*signature[1], *given), found):
            return renamed(run.memo[other].result, place, found)
    return UNKNOWN


def note(run: Analysis, function: Function, signature: Signature, result: Value) -> None:
    """Keep an evaluation for a call whose result says something of arrays."""
    if isinstance(result, Tensor | Tuple | Many):
        others = run.evaluated.setdefault(id(function), [])
        if len(others) < MOST_ALIKE:
            others.append(signature)


def _split(keywords: Keywords) -> tuple[tuple[str, ...], tuple[Value, ...]]:
    return tuple(name for name, _ in keywords), tuple(value for _, value in keywords)


def matching(function: Function, summary: Summary, arguments: Arguments) -> Matching:
    """What stands in a call for the parameters of the evaluation on its own, where it is certainly the same."""
    found = Matching()
    params = (*function.node.params.posonly_params, *function.node.params.params)
    for name, value in (*zip((p.name.value for p in params), arguments.args), *arguments.kwargs.items()):
        trial = found.copy()
        if name in summary.given and is_alike(summary.given[name], value, trial):
            found = trial
    found.has_dtypes = True  # what was known of them was known for all calls
    return found


def as_annotated(frame: Frame, function: Function, arguments: Arguments, node: cst.CSTNode, result: Value) -> Value:
    """What came of a call, with what the return annotation adds where nothing is known."""
    if not any(map(is_open, result.items if isinstance(result, Tuple) else (result,))):
        return result
    stated = annotated(frame, function, arguments, node)
    return result if stated is None else informed(result, stated)


def is_open(value: Value) -> bool:
    return isinstance(value, Unknown) or any(shape.run is not None for shape in shapes(value))


def informed(value: Value, stated: Value) -> Value:
    match value, stated:
        case Tuple(items=items), Tuple(items=others) if len(items) == len(others):
            return replace(value, items=tuple(map(informed, items, others)))
        case (Unknown(), Tensor()) | (Tensor() | Union(), _):
            return contracts.informed(value, stated)
        case Unknown(made_by=made_by), Tuple() | Many() | Float():
            return originate(stated, made_by) if made_by is not None else stated
        case Unknown(), Instance() | Union():
            return stated
    return value


def annotated(frame: Frame, function: Function, arguments: Arguments, node: cst.CSTNode) -> Value | None:
    """What the return annotation says, where the names of its axes mean what the arguments have there."""
    made = function.node
    if not isinstance(made, cst.FunctionDef) or made.returns is None or made.asynchronous is not None:
        return None
    module, filename = function.scope.file() or (frame.module, frame.filename)
    place = frame.place_of_call(node)
    inner = Frame(frame.run, Scope({}, function.scope), module, filename, place, function)
    value = contracts.declared(inner, contracts.hint_of(inner, made.returns), (place, "returned"), function.name)
    if isinstance(value, Instance):
        return value
    if not isinstance(value, Tensor | Tuple | Union | Int | Float | Many):
        return None
    bound = bindings(inner, function, arguments) if arguments.complete else UNBOUND
    if module is not frame.run.module and any(shape.axes or shape.run is None for shape in shapes(value)):
        if not frame.run.supposing:  # nobody held it against the body here
            return None
        frame.run.supposed_in.add(function.scope)
    own = {*symbols(value)}
    known = contracts.in_terms_of(bound, value)
    rest = {s: anonymous((place, s), s.name) for s in symbols(known) if s in own}  # it may be any other size by chance
    return resolved(known, rest, {})


def bindings(inner: Frame, function: Function, arguments: Arguments) -> Bindings:
    params = [*function.node.params.posonly_params, *function.node.params.params]
    given = dict(zip((p.name.value for p in params), arguments.args)) | dict(arguments.kwargs)
    found = UNBOUND
    for param in (*params, *function.node.params.kwonly_params):
        value = given.get(param.name.value)
        if value is not None and param.annotation is not None and contracts.mentions_shapes(param.annotation):
            found = meets(contracts.hint_of(inner, param.annotation), value, found).bindings
    return found


def renamed(value: Value, place: object, found: Matching) -> Value:
    """`value` in the sizes of another call; what was unknown in one evaluation is unknown anew in each call."""
    facts = {s: found.sizes[s] if s in found.sizes else anonymous((place, s), s.name) for s in symbols(value)}
    others = {run: Shape((), Run(run.name, (place, run))) for run in runs(value)}
    return resolved(value, facts, {**others, **found.runs}, found.has_dtypes)


def resolved(value: Value, facts: Mapping[Symbol, Dim], axes: Mapping[Run, Shape], has_dtypes: bool = True) -> Value:
    """`value` without provenance and with other sizes; what is no array, number or sequence of them is not known."""

    def again(inner: Value) -> Value:
        return resolved(inner, facts, axes, has_dtypes)

    match value:
        case Tensor(shape=Shape(head, run, tail)):
            head, tail = (tuple(Axis(substitute(axis.size, facts)) for axis in side) for side in (head, tail))
            middle = axes.get(run) if run is not None else None
            shape = Shape(head, run, tail) if middle is None else joined(head, middle, tail)
            return Tensor(shape, value.dtype if has_dtypes else None, value.library)
        case Int(dim=dim):
            return Int(substitute(dim, facts))
        case Float():
            return Float()
        case Tuple(items=items):
            return replace(value, items=tuple(map(again, items)), made_by=None)
        case Many(item=item):
            return Many(again(item), None, value.kind)
        case Union(options=options):
            return Union(tuple(map(again, options))) if all(map(is_known, options)) else UNKNOWN
        case Const():
            return value
    return UNKNOWN


def is_known(value: Value) -> bool:
    return isinstance(value, Tensor | Int | Float | Const | Tuple | Many)


def shapes(value: Value) -> Iterator[Shape]:
    match value:
        case Tensor(shape=shape):
            yield shape
        case Tuple(items=parts) | Union(options=parts):
            for part in parts:
                yield from shapes(part)
        case Many(item=item):
            yield from shapes(item)


def symbols(value: Value) -> Iterator[Symbol]:
    for shape in shapes(value):
        for size in shape.sizes:
            yield from leaves(size)
    for part in value.items if isinstance(value, Tuple) else (value,):
        if isinstance(part, Int):
            yield from leaves(part.dim)


def runs(value: Value) -> Iterator[Run]:
    yield from (shape.run for shape in shapes(value) if shape.run is not None)
