"""Hypotheses: shapes that docstrings and comments state, for values of which nothing else is known.

They hold for one evaluation of a function, and only as long as its code does not contradict them: then it is
evaluated again without. Sizes with different names are not known to be different, as their author may be careless.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

import libcst as cst

from shapelint.annotations import docstrings
from shapelint.annotations.comments import Claim, claims
from shapelint.annotations.docstrings import Documented, Stated
from shapelint.annotations.hints import AnyHint
from shapelint.domain.dims import Dim, size
from shapelint.domain.values import NONE, Function, Instance, Shape, Tensor, Tuple, Union, Unknown, Value
from shapelint.events import Call, Claimed, Event, Input, Meeting, Operation
from shapelint.interpreter.frame import Analysis, Frame
from shapelint.interpreter.knowledge.documents import documented, known_in, shape_of
from shapelint.interpreter.knowledge.questions import is_none, questions
from shapelint.interpreter.operations import Arguments
from shapelint.interpreter.scopes import Scope

# Trying out, and taking back.


def attempt(run: Analysis, function: Function, evaluate: Callable[[], None]) -> None:
    """Evaluate a function under the hypotheses about it, and again without them where it contradicts them."""
    owner = run.instances.get(function.owner) if function.owner is not None else None
    attributes = dict(owner.attributes) if owner is not None else {}
    events, pending, credit, dtypes = len(run.events), len(run.pending), run.credit, dict(run.dtypes)
    watch, heard, told = run.watch, list[Heard](), dict(run.told)
    if watch is not None:
        run.watch = lambda frame, node, value: heard.append((frame, node, value, as_it_is(frame.scope)))
    run.contradicted = False
    with supposing(run, True):
        evaluate()
    run.watch = watch
    if not run.supposed_in or not (run.contradicted or any(map(contradicts, run.events[events:]))):
        if watch is not None:
            for frame, node, value, scope in heard:
                frame.scope, current = scope, frame.scope
                watch(frame, node, value)
                frame.scope = current
        return
    del run.events[events:]
    run.defined -= {id(later.node) for later in run.pending[pending:]}
    del run.pending[pending:]
    run.credit, run.dtypes, run.told = credit, dtypes, told
    if owner is not None:
        owner.attributes = attributes
    evaluate()
    if is_inside(run, function):  # the names of the function around it may still hold what was supposed
        run.events[events:] = [event for event in run.events[events:] if not contradicts(event)]


Heard: TypeAlias = tuple[Frame, cst.CSTNode, Value, Scope]


def as_it_is(scope: Scope) -> Scope:
    """The names as they are bound now, for who hears of them later."""
    names = {
        name: Instance(value.cls, dict(value.attributes)) if isinstance(value, Instance) else value
        for name, value in scope.names.items()
    }
    return Scope(names, scope.parent, scope.is_class, scope.origin)


@contextmanager
def supposing(run: Analysis, flag: bool) -> Iterator[None]:
    before, run.supposing = run.supposing, flag
    try:
        yield
    finally:
        run.supposing = before


def contradicts(event: Event) -> bool:
    match event:
        case Operation(problem=problem):
            return problem is not None
        case Meeting(contradiction=contradiction):
            return contradiction is not None
    return type(event) is Claimed


def is_inside(run: Analysis, function: Function) -> bool:
    scope = function.scope
    while scope is not None and scope not in run.supposed_in:
        scope = scope.parent
    return scope is not None


# Parameters.


def suppose(frame: Frame, function: Function) -> None:
    """Give the parameters of which no shape is known the one that a docstring or a comment beside them states."""
    if not isinstance(function.node, cst.FunctionDef) or function.name in {"__init__", "setup"}:
        return
    params = (*function.node.params.posonly_params, *function.node.params.params, *function.node.params.kwonly_params)
    names = frame.scope.names
    open_ = [p for p in params if is_open(names[p.name.value]) and names[p.name.value] is not frame.owner]
    if not open_:
        return
    stated = documented(frame, function).parameters
    found = [(p, s) for p in open_ if (s := commented(p) or stated.get(p.name.value)) and may_be_array(frame, p, s)]
    if not found:
        return
    tested, compared = questions(function.node)
    for param, said in found:
        name = param.name.value
        if name not in tested:
            is_optional = said.is_optional or name in compared or is_none(param.default)
            names[name] = informed(frame, names[name], said, name, stated.keys(), is_optional)


def is_open(value: Value) -> bool:
    match value:
        case Tensor(shape=shape):
            return shape.run is not None and not shape.axes
        case Union(options=options):
            return any(isinstance(option, Tensor) and is_open(option) for option in options)
    return isinstance(value, Unknown)


def is_field_open(value: Value) -> bool:
    """Whether a field is an array of which no shape is known."""
    return not isinstance(value, Unknown) and is_open(value)


def may_be_array(frame: Frame, param: cst.Param, stated: Stated) -> bool:
    from shapelint.interpreter.knowledge import contracts

    if not isinstance(frame.scope.names[param.name.value], Unknown):
        return True
    if not stated.is_array or not (param.default is None or is_none(param.default)):
        return False
    return param.annotation is None or isinstance(contracts.hint_of(frame, param.annotation), AnyHint)


def informed(
    frame: Frame, value: Value, stated: Stated, name: str, documented: Collection[str], is_optional: bool = False
) -> Value:
    """The value with the shape that is stated."""
    match value:
        case Union(options=options):
            known = tuple(informed(frame, o, stated, name, documented) if is_open(o) else o for o in options)
            return replace(value, options=known)
        case Tensor() | Unknown():
            maker = value.made_by
            if isinstance(maker, Input):
                maker = replace(maker, stated=stated.text)
            note(frame)
            shape = shape_of(stated.axes, known_in(frame, documented), (frame.key, name))
            if isinstance(value, Tensor):
                return replace(value, shape=shape, made_by=maker)
            tensor = Tensor(shape, value.dtype, None, value.graph, maker)
            return Union((tensor, NONE)) if is_optional else tensor
    return value


def note(frame: Frame) -> None:
    frame.run.supposed_in.add(frame.scope)


def commented(param: cst.Param) -> Stated | None:
    """`x,  # (B, T, C)` in a signature."""
    spaces = param.comma.whitespace_after if isinstance(param.comma, cst.Comma) else param.whitespace_after_param
    if type(spaces) is not cst.ParenthesizedWhitespace or spaces.first_line.comment is None:
        return None
    stated = [c for c in claims(spaces.first_line.comment.value) if c.name in {"", param.name.value}]
    return Stated(stated[0].text, stated[0].axes, stated[0].is_sure) if len(stated) == 1 else None


# What calls give, and what lines bind.


def bind(frame: Frame, statement: cst.BaseSmallStatement, stated: Claim) -> None:
    """`x = self.embed(tokens)  # (B, T, C)`: the comment says what is not known of the value otherwise."""
    match statement:
        case cst.Assign(targets=(cst.AssignTarget(target=cst.Name(value=name)),)) if stated.name in {"", name}:
            value = frame.scope.names.get(name)
            if value is None or not speaks_of(value, stated):
                return
            if is_open(value):
                said = Stated(stated.text, stated.axes)
                frame.scope.names[name] = informed(frame, value, said, str(frame.place(statement)), ())
            elif isinstance(value, Tensor) and value.shape.run is not None:
                frame.scope.names[name] = completed(frame, value, stated, str(frame.place(statement)))


def completed(frame: Frame, value: Tensor, stated: Claim, name: str) -> Tensor:
    """The array with the axes that are stated between those that are known: (..., 1) and (B, T, 1)."""
    shape = shape_of(stated.axes, known_in(frame, ()), (frame.key, name))
    head, tail = len(value.shape.head), len(value.shape.tail)
    if shape.run is not None or len(shape.head) <= head + tail:
        return value
    rest = shape.head[head : len(shape.head) - tail]
    said = (*shape.head[:head], *shape.head[len(shape.head) - tail :])
    if any(a.size != b.size for a, b in zip(value.shape.axes, said)):
        return value
    note(frame)
    return replace(value, shape=Shape((*value.shape.head, *rest, *value.shape.tail)))


def speaks_of(value: Value, stated: Claim) -> bool:
    """Whether a comment that looks like a shape is one: what comes from elsewhere may be a tuple (C, H, W)."""
    match value:
        case Tensor() | Union():
            return stated.is_sure
        case Unknown(made_by=Call() | Input(kind="item")):
            return stated.is_sure
    return False


def given_back(frame: Frame, function: Function, value: Value, arguments: Arguments, node: cst.CSTNode) -> Value:
    """The result of a call of which no shape is known: what the function's docstring says that it returns."""
    if not frame.run.supposing or not is_open(value) or not isinstance(function.node, cst.FunctionDef):
        return value
    stated = documented(frame, function)
    if not any(stated.returns) or not isinstance(value, Tensor | Unknown):
        return value
    place = frame.place_of_call(node)
    sizes = dict(given_sizes(stated, function.node, arguments))

    def lookup(name: str) -> Dim:
        return sizes.get(name) or size(name.replace("?", ""), (place, "stated"))

    note(frame)
    if len(stated.returns) == 1:
        assert stated.returns[0] is not None
        return shaped(value, shape_of(stated.returns[0].axes, lookup, place))
    if isinstance(value, Tensor):
        return value
    items: list[Value] = [Unknown(graph=value.graph) for _ in stated.returns]
    for index, one in enumerate(stated.returns):
        if one is not None:
            items[index] = shaped(items[index], shape_of(one.axes, lookup, (place, index)))
    return Tuple(tuple(items), made_by=value.made_by)


def given_sizes(stated: Documented, node: cst.FunctionDef, arguments: Arguments) -> Iterator[tuple[str, Dim]]:
    """The sizes that the documented names have in a call, read off its arguments."""
    names = [param.name.value for param in (*node.params.posonly_params, *node.params.params)]
    for name, value in (*zip(names, arguments.args), *arguments.kwargs.items()):
        axes = stated.parameters[name].axes if name in stated.parameters else ()
        if isinstance(value, Tensor) and value.shape.rank == len(axes) and not any(map(docstrings.is_run, axes)):
            yield from zip(axes, value.shape.sizes)


def shaped(value: Value, shape: Shape) -> Value:
    match value:
        case Tensor():
            return replace(value, shape=shape)
        case Unknown():
            return Tensor(shape, value.dtype, None, value.graph, value.made_by)
    return value
