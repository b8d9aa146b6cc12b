"""Definitions: functions, classes and type aliases become values; their annotations are told to the rules."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shapelint.annotations.declarations import Annotation, Decorator
from shapelint.domain.dims import Origin
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Class,
    Const,
    Float,
    Function,
    Int,
    Layer,
    Library,
    Method,
    Partial,
    Union,
    Value,
)
from shapelint.events import Call, Declared
from shapelint.interpreter import expressions, subscripts
from shapelint.interpreter.flow.conditions import quietly
from shapelint.interpreter.frame import DECORATOR_CREDIT, Frame
from shapelint.interpreter.functions.classes import define_class
from shapelint.interpreter.knowledge import contracts
from shapelint.interpreter.libraries import jaxtransforms, transforms
from shapelint.interpreter.operations import Arguments

JAXTYPING = "jaxtyping."


def function(frame: Frame, node: cst.FunctionDef) -> None:
    name = node.name.value
    made = Function(name, node, frame.scope)
    value: Value = made
    decorators = [expressions.evaluate(frame, decorator.decorator) for decorator in node.decorators]
    for decorator in reversed(decorators):
        tell_transform(frame, decorator, made, node)
        value = decorated(frame, decorator, value, node)
    frame.scope.names[name] = value
    if id(node) not in frame.run.defined:  # a nested function is defined anew each time its function runs
        frame.run.defined.add(id(node))
        frame.run.pending.append(made)
    if not frame.run.is_import:
        declare(frame, node, "method" if frame.scope.is_class else "function", list(annotations_of(frame, node)))


def tell_transform(frame: Frame, decorator: Value, made: Function, node: cst.FunctionDef) -> None:
    """@jax.jit calls jax.jit on the function, and @partial(jax.jit, ...) does."""
    wrapper = decorator.callee if isinstance(decorator, Partial) else decorator
    if isinstance(wrapper, Library) and wrapper.name.startswith("jax."):
        frame.tell(Call(wrapper, (made,), (), UNKNOWN, frame.site(node)))


def decorated(frame: Frame, decorator: Value, value: Value, node: cst.FunctionDef) -> Value:
    """What a decorator makes of a function; of an unknown one nothing is known."""
    match decorator:
        case Library(name="builtins.property" | "functools.cached_property"):
            return Method(NONE, "property", value)
        case Library(name="builtins.staticmethod" | "builtins.classmethod" as wrapper):
            return Method(NONE, wrapper.removeprefix("builtins."), value)
        case Library(name=wrapper) | Layer(name=wrapper) if wrapper in transforms.TRANSPARENT:
            return value
        case Library(name=wrapper) | Layer(name=wrapper) if wrapper.startswith(JAXTYPING):
            return value
        case Method(name="setter" | "getter" | "deleter"):
            return decorator.receiver if isinstance(decorator.receiver, Method) else value
        case Partial(callee=Library(name=wrapper)) if wrapper in transforms.TRANSPARENT:
            return value
        case Library(name=wrapper) | Partial(callee=Library(name=wrapper), args=()) if (
            wrapper in jaxtransforms.TRANSFORMS
        ):
            return jaxtransforms.decorated(wrapper, decorator, value)
        case Function():
            return wrapped(frame, decorator, value, node)
        case Union(options=ways):  # typecheck = jaxtyped(typechecker=beartype) if DEBUG else identity
            first, *others = (decorated(frame, way, value, node) for way in ways)
            return first if all(other is first for other in others) else UNKNOWN
    return UNKNOWN


def wrapped(frame: Frame, decorator: Function, value: Value, node: cst.FunctionDef) -> Value:
    """What a decorator of the project gives back: the function itself, or one that calls it."""
    from shapelint.interpreter.functions.invocation import call_function

    run = frame.run
    transparent = run.transparent if run.project is None else run.project.transparent
    if decorator.node in transparent:  # a registry with an entry for each of a hundred functions
        return value
    events, credit = run.events, run.credit
    run.events, run.credit = [], DECORATOR_CREDIT
    try:
        made = call_function(frame, decorator, Arguments((value,), {}, (node,)), node)
    finally:
        run.events, run.credit = events, credit
    if made is value:
        transparent.add(decorator.node)
    return made if isinstance(made, Function | Method | Partial) else UNKNOWN


def class_(frame: Frame, node: cst.ClassDef) -> None:
    for decorator in node.decorators:
        expressions.evaluate(frame, decorator.decorator)
    made = define_class(frame, node)
    frame.scope.names[node.name.value] = made
    if not frame.run.is_import:
        declare(frame, node, "class", list(variables(frame, node, "field")), made)


def type_alias(frame: Frame, node: cst.TypeAlias) -> None:
    """`type Vec = Float[Tensor, "n"]`"""
    frame.scope.names[node.name.value] = expressions.evaluate(frame, node.value)


def declare(
    frame: Frame,
    node: cst.FunctionDef | cst.ClassDef,
    kind: str,
    found: list[Annotation],
    cls: Class | None = None,
) -> None:
    """Tell the rules of a definition that carries jaxtyping annotations or its decorators."""
    decorators = tuple(resolved_decorators(frame, node))
    concerns = any(d.name.startswith((JAXTYPING, "beartype.")) for d in decorators)
    if not found and not concerns:
        return
    bases = frozenset(a.name for a in cls.ancestry() if isinstance(a, Library)) if cls is not None else frozenset()
    if any(d.name.endswith("dataclass") for d in decorators):
        kind = "dataclass"
    frame.tell(
        Declared(
            node.name.value,
            kind,
            decorators,
            tuple(found),
            frame.site(node),
            bases,
            frame.run.future_annotations,
            frozenset(constants(frame)),
            isinstance(node, cst.FunctionDef) and node.returns is not None,
            cls,
        )
    )


def resolved_decorators(frame: Frame, node: cst.FunctionDef | cst.ClassDef) -> Iterator[Decorator]:
    for decorator in node.decorators:
        inner = decorator.decorator
        callee: Value = quietly(frame, inner.func if isinstance(inner, cst.Call) else inner)
        keywords: dict[str, Value] | None = None
        if isinstance(callee, Partial):  # check = jaxtyped(typechecker=beartype)
            keywords, callee = dict(callee.kwargs), callee.callee
        name = callee.name if isinstance(callee, Library) else ""
        if isinstance(inner, cst.Call):
            keywords = {a.keyword.value: quietly(frame, a.value) for a in inner.args if a.keyword is not None}
        yield Decorator(name, frame.site(decorator), keywords)


def annotations_of(frame: Frame, node: cst.FunctionDef) -> Iterator[Annotation]:
    params = node.params
    for param in (*params.posonly_params, *params.params, *params.kwonly_params):
        if param.annotation is not None:
            yield from annotations_in(frame, param.name.value, param.annotation.annotation, "parameter")
    if node.returns is not None:
        yield from annotations_in(frame, "return", node.returns.annotation, "return")
    yield from variables(frame, node, "variable")


def variables(frame: Frame, node: cst.FunctionDef | cst.ClassDef, place: str) -> Iterator[Annotation]:
    """What is annotated right in a body: fields of a class, variables of a function."""
    for statement in node.body.body:
        for part in statement.body if type(statement) is cst.SimpleStatementLine else ():
            if type(part) is cst.AnnAssign:
                yield from annotations_in(frame, subscripts.short_name(part.target), part.annotation.annotation, place)


def annotations_in(frame: Frame, name: str, node: cst.CSTNode, place: str) -> Iterator[Annotation]:
    for found, dtype, text in shape_strings(frame, node):
        yield Annotation(name, dtype, text, frame.site(found), place)


def shape_strings(frame: Frame, node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, str, str]]:
    """The subscripts Float[Tensor, "b n"] inside an annotation: where, dtype and shape.

    What is quoted is parsed on its own and has no place in the file but that of its string.
    """
    if type(node) is cst.Name or type(node) is cst.Attribute:
        return
    if isinstance(node, cst.SimpleString):
        parsed = contracts.unquoted(node)
        if parsed is not node:
            yield from ((node, dtype, text) for _, dtype, text in shape_strings(frame, parsed))
        return
    if isinstance(node, cst.Subscript) and len(node.slice) == 2:
        text = node.slice[1].slice
        base = quietly(frame, node.value)
        if isinstance(base, Library) and base.name.startswith(JAXTYPING) and isinstance(text, cst.Index):
            value = quietly(frame, text.value)
            if isinstance(value, Const) and isinstance(value.value, str):
                yield node, base.name.removeprefix(JAXTYPING), value.value
            return
    for part in parts_of_type(node):
        yield from shape_strings(frame, part)


def parts_of_type(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The types that a union, a tuple or another generic type is made of."""
    if isinstance(node, cst.Subscript):
        yield from (e.slice.value for e in node.slice if isinstance(e.slice, cst.Index))
    elif isinstance(node, cst.BinaryOperation):
        yield from (node.left, node.right)
    elif isinstance(node, cst.List | cst.Tuple):
        yield from (element.value for element in node.elements)


def constants(frame: Frame) -> Iterator[str]:
    """Names of numbers at the module's top level; what counts the rounds of a loop there is no constant."""
    scope = frame.scope
    while scope.parent is not None and scope.parent.parent is not None:
        scope = scope.parent
    for name, value in scope.names.items():
        is_open = isinstance(value, Int) and value.dim.symbol is not None and value.dim.symbol.origin is not Origin.SIZE
        if isinstance(value, Int | Float) and not is_open:
            yield name
