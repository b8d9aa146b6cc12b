"""What docstrings state, and which shapes their words make in a function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

import libcst as cst

from shapelint.annotations import docstrings
from shapelint.annotations.docstrings import NOTHING, Documented
from shapelint.domain.dims import Dim, anonymous, as_dim, axis
from shapelint.domain.values import Axis, Class, Function, Instance, Int, Run, Shape, Tensor, Unknown
from shapelint.interpreter.frame import Frame

OPERATORS: dict[type[ast.operator], Callable[[Dim, Dim], Dim]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Div: lambda a, b: a // b,  # half an axis has a whole size
}
Lookup = Callable[[str], Dim]

# Methods whose class says in its docstring what they are given.
DESCRIBED = frozenset({"forward", "__call__", "update"})


def documented(frame: Frame, function: Function) -> Documented:
    known = frame.run.documents.get(id(function.node))
    if known is None:
        known = frame.run.documents[id(function.node)] = documents_of(function)
    return known


def documents_of(function: Function) -> Documented:
    """What the docstring of a function states, and for some methods that of their class."""
    params = (*function.node.params.posonly_params, *function.node.params.params, *function.node.params.kwonly_params)
    names = frozenset(param.name.value for param in params)
    own = stated_in(function.node, names)
    if function.name not in DESCRIBED or not isinstance(function.owner, Class) or len(params) < 2:
        return own
    around = stated_in(function.owner.node, names | {"Input", "input"})
    parameters = {name: stated for name, stated in around.parameters.items() if name in names}
    given = around.parameters.get("Input") or around.parameters.get("input")
    if given is not None and (len(params) == 2 or params[2].default is not None):
        parameters.setdefault(params[1].name.value, given)
    return Documented({**parameters, **own.parameters}, own.returns or around.returns)


def stated_in(node: cst.FunctionDef | cst.ClassDef | None, names: frozenset[str]) -> Documented:
    text = docstring(node) if node is not None else None
    return docstrings.read(text, names) if text is not None and docstrings.may_state(text) else NOTHING


def docstring(node: cst.FunctionDef | cst.ClassDef) -> str | None:
    """The docstring as it stands in the source, without its quotes."""
    match node.body.body:
        case (cst.SimpleStatementLine(body=(cst.Expr(value=cst.SimpleString(value=text)), *_)), *_):
            return text.lstrip("rRuU").strip("\"'")
    return None


# Sizes.


def shape_of(axes: Sequence[str], lookup: Lookup, place: object) -> Shape:
    """The shape that words for axes make; `lookup` knows what names stand for."""
    at = next((i for i, axis in enumerate(axes) if docstrings.is_run(axis)), None)
    sized = [Axis(size_of(axis, lookup)) for axis in axes]
    if at is None:
        return Shape(tuple(sized))
    return Shape(tuple(sized[:at]), Run("", (place, "stated")), tuple(sized[at + 1 :]))


def size_of(text: str, lookup: Lookup) -> Dim:
    """A number, or a formula of names; what is neither is a name as a whole."""
    tree = expression(text)
    found = evaluated(tree, lookup) if tree is not None else None
    return lookup(text) if found is None else found


def evaluated(node: ast.expr, lookup: Lookup) -> Dim | None:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return as_dim(number) if number > 0 else None
        case ast.Name(id=name) | ast.Attribute(value=ast.Name(id="self"), attr=name):
            return lookup(name)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
            a, b = evaluated(left, lookup), evaluated(right, lookup)
            return None if a is None or b is None else OPERATORS[type(operator)](a, b)
    return None


@lru_cache(maxsize=1024)
def expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None


def known_in(frame: Frame, documented: Collection[str]) -> Lookup:
    """The sizes of a function: its own where it has one of that name, else an unknown one of that name.

    `documented` are the parameters that are arrays, whatever they are called.
    """

    def lookup(name: str) -> Dim:
        found = frame.scope.names.get(name)
        if isinstance(found, Int) or (isinstance(found, Unknown) and found.dim is not None and name not in documented):
            return found.dim  # type: ignore[return-value]
        own = frame.owner.attributes.get(name) if isinstance(frame.owner, Instance) else None
        if isinstance(own, Int | Unknown) and own.dim is not None:
            return own.dim
        return annotated_axis(frame, name) or anonymous((frame.key, "stated"), name.replace("?", ""))

    return lookup


def annotated_axis(frame: Frame, name: str) -> Dim | None:
    """The size of an axis that a parameter's annotation names."""
    known = axis(name, frame.key)
    tensors = (value for value in frame.scope.names.values() if isinstance(value, Tensor))
    is_met = any(part.size == known for tensor in tensors for part in tensor.shape.axes)
    return known if is_met else None
