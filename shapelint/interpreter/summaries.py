"""What is known of the result of a call whose body is not executed for it: by its annotation, or by what the function
came to when it was evaluated on its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from shapelint.dims import Dim, Symbol, anonymous, substitute
from shapelint.interpreter import contracts
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments
from shapelint.joins import leaves
from shapelint.provenance import originate
from shapelint.scopes import Scope
from shapelint.unification import UNBOUND, Bindings, meets
from shapelint.values import (
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

PLAIN = frozenset({cst.Integer, cst.Float, cst.SimpleString, cst.UnaryOperation, cst.Tuple})


def remember(frame: Frame, function: Function, result: Value) -> None:
    """Keep what a function came to on its own, unless that hangs on what was supposed, or on what a default does."""
    params = function.node.params
    defaults = [p.default for p in (*params.posonly_params, *params.params, *params.kwonly_params) if p.default]
    if frame.scope not in frame.run.supposed_in and all(map(is_plain, defaults)):
        frame.run.summaries[id(function.node)] = result


def is_plain(default: cst.BaseExpression) -> bool:
    """Whether a default is a constant, of which no more is taken than its kind."""
    return type(default) in PLAIN or (isinstance(default, cst.Name) and default.value in {"None", "True", "False"})


def of_call(frame: Frame, function: Function, arguments: Arguments, node: cst.CSTNode) -> Value:
    """The result of a call as far as it does not hang on values that are not known."""
    known = frame.run.summaries.get(id(function.node), UNKNOWN)
    if known != UNKNOWN:
        return renamed(known, frame.place_of_call(node))
    return annotated(frame, function, arguments, node) or UNKNOWN


def as_annotated(frame: Frame, function: Function, arguments: Arguments, node: cst.CSTNode, result: Value) -> Value:
    """What came of a call that was executed, with what the return annotation adds where nothing is known."""
    if not any(isinstance(part, Unknown) for part in (result.items if isinstance(result, Tuple) else (result,))):
        return result
    stated = annotated(frame, function, arguments, node)
    return result if stated is None else informed(result, stated)


def informed(value: Value, stated: Value) -> Value:
    match value, stated:
        case Tuple(items=items), Tuple(items=others) if len(items) == len(others):
            return replace(value, items=tuple(map(informed, items, others)))
        case Unknown(), Tensor():
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


def renamed(value: Value, place: object) -> Value:
    """`value` in sizes and runs of its own: what was unknown in one evaluation is unknown anew in each call."""
    facts = {s: anonymous((place, s), s.name) for s in symbols(value)}
    return resolved(value, facts, {run: Run(run.name, (place, run)) for run in runs(value)})


def resolved(value: Value, facts: dict[Symbol, Dim], names: dict[Run, Run]) -> Value:
    """`value` without provenance and with other sizes; what is no array, number or sequence of them is not known."""

    def again(inner: Value) -> Value:
        return resolved(inner, facts, names)

    match value:
        case Tensor(shape=Shape(head, run, tail)):
            head, tail = (tuple(Axis(substitute(axis.size, facts)) for axis in axes) for axes in (head, tail))
            return Tensor(
                Shape(head, names.get(run, run) if run is not None else None, tail), value.dtype, value.library
            )
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
