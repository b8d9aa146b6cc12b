"""Expressions: a table from syntax node to the function that evaluates it. What is not in it is Unknown."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import libcst as cst

from shapelint.domain.dims import anonymous, as_dim
from shapelint.domain.joins import join
from shapelint.domain.values import (
    FALSE,
    NONE,
    TRUE,
    UNKNOWN,
    Const,
    Dict,
    Float,
    Function,
    Int,
    Many,
    Slice,
    Tuple,
    Unknown,
    Value,
)
from shapelint.events import Branch
from shapelint.interpreter import attributes, calls, operators, subscripts
from shapelint.interpreter.flow import comprehensions, conditions, growth, iterators
from shapelint.interpreter.frame import Frame
from shapelint.provenance import meeting

Evaluator = Callable[[Frame, Any], Value]


def evaluate(frame: Frame, node: cst.CSTNode) -> Value:
    """The value of an expression; Unknown where nothing is known of it."""
    evaluator = EVALUATORS.get(type(node))
    return UNKNOWN if evaluator is None else evaluator(frame, node)


def name(frame: Frame, node: cst.Name) -> Value:
    value = frame.scope.lookup(node.value)
    if value is None:
        return CONSTANTS.get(node.value, UNKNOWN)
    return frame.known(value)


CONSTANTS: Mapping[str, Value] = {"None": NONE, "True": TRUE, "False": FALSE}


def integer(frame: Frame, node: cst.Integer) -> Value:
    return whole_number(node.value)


MOST_DIGITS = 1000


@lru_cache(maxsize=1024)
def whole_number(text: str) -> Int:
    digits = text.replace("_", "")
    if len(digits) > MOST_DIGITS:  # Python may refuse to read or to write it
        return Int(anonymous(digits))
    return Int(as_dim(int(digits, 0)) if digits.strip("0") else as_dim(0))


def floating(frame: Frame, node: cst.Float) -> Value:
    return Float(float(node.value))


def imaginary(frame: Frame, node: cst.Imaginary) -> Value:
    return Const(node.evaluated_value)


def ellipsis(frame: Frame, node: cst.Ellipsis) -> Value:
    return Const(...)


def string(frame: Frame, node: cst.SimpleString | cst.ConcatenatedString) -> Value:
    if isinstance(node, cst.SimpleString):
        return literal(node.value)
    if isinstance(node, cst.ConcatenatedString):
        left, right = string(frame, node.left), string(frame, node.right)  # type: ignore[arg-type]
        return operators.on_sequences("Add", left, right) or UNKNOWN
    return formatted(frame, node)


@lru_cache(maxsize=4096)
def literal(source: str) -> Value:
    """A string or bytes literal; a plain one needs no parser."""
    quote = source[:3] if source[:3] in ('"""', "'''") else source[0]
    if quote[0] in "\"'" and "\\" not in source:
        return Const(source[len(quote) : -len(quote)])
    try:
        return Const(ast.literal_eval(source))
    except (SyntaxError, ValueError):
        return UNKNOWN


def formatted(frame: Frame, node: cst.FormattedString) -> Value:
    """An f-string: known parts as text, unknown ones as their source in braces."""
    parts = []
    for part in node.parts:
        if type(part) is cst.FormattedStringText:
            parts.append(part.value)
        elif type(part) is cst.FormattedStringExpression:
            match evaluate(frame, part.expression):
                case Int(dim=dim) if dim.value is not None:
                    parts.append(str(dim.value))
                case Const(value=str() as text):
                    parts.append(text)
                case _:
                    parts.append(f"{{{subscripts.short_name(part.expression)}}}")
    return Const("".join(parts))


def elements(frame: Frame, nodes: Any) -> tuple[tuple[Value, ...], bool]:
    """The values of a display's elements, and whether each is one item: a starred one may stand for any number."""
    items: list[Value] = []
    is_complete = True
    for element in nodes:
        value = evaluate(frame, element.value)
        if type(element) is not cst.StarredElement:
            items.append(value)
        elif isinstance(value, Tuple):
            items.extend(value.items)
        else:
            items.append(value)
            is_complete = False
    return tuple(items), is_complete


def sequence(frame: Frame, node: cst.Tuple | cst.List) -> Value:
    kind = "tuple" if isinstance(node, cst.Tuple) else "list"
    items, is_complete = elements(frame, node.elements)
    if not is_complete:
        parts = [item.item if type(item) is Many else UNKNOWN for item in items]  # [*a, *b]: items of either
        is_known = all(type(element) is cst.StarredElement for element in node.elements) and UNKNOWN not in parts
        known = joined(parts, frame.place(node)) if is_known else UNKNOWN
        return iterators.together(frame, items, Many(known, kind=kind), node)
    return Tuple(items, kind)


def set_display(frame: Frame, node: cst.Set) -> Value:
    items, is_complete = elements(frame, node.elements)
    known = joined(list(items), frame.place(node)) if items and is_complete else UNKNOWN
    return Many(known, kind="set")


def joined(items: list[Value], place: object) -> Value:
    """What all items have in common."""
    result = items[0] if items else UNKNOWN
    for item in items[1:]:
        result = join(result, item, place)
    return result


def dict_display(frame: Frame, node: cst.Dict) -> Value:
    known: list[tuple[object, Value]] = []
    other: Value | None = None
    for element in node.elements:
        if not isinstance(element, cst.DictElement):
            evaluate(frame, element.value)
            other = UNKNOWN
            continue
        key, value = evaluate(frame, element.key), evaluate(frame, element.value)
        constant = key_of(key)
        if constant is None:
            other = value if other is None else join(other, value, frame.place(element))
        else:
            known.append((constant, value))
    return Dict(tuple(known), other)


def key_of(key: Value) -> object | None:
    """A dict key that is a constant, or None."""
    match key:
        case Const(value=str() | bytes() | bool() as constant):
            return constant
        case Int(dim=dim):
            return dim.value
    return None


def conditional(frame: Frame, node: cst.IfExp) -> Value:
    test = evaluate(frame, node.test)
    match test:
        case Const(value=bool() as known):
            return evaluate(frame, node.body if known else node.orelse)
    before, start = frame.snapshot(), len(frame.run.events)
    frame.branch_depth += 1
    conditions.assume(frame, node.test, True)
    first_alive = frame.alive
    first = evaluate(frame, node.body) if first_alive else UNKNOWN
    middle = len(frame.run.events)
    frame.restore(before)
    conditions.assume(frame, node.test, False)
    second_alive = frame.alive
    second = evaluate(frame, node.orelse) if second_alive else UNKNOWN
    frame.restore(before)
    frame.branch_depth -= 1
    part(frame, node.test, start, middle)
    if first_alive and second_alive:
        return meeting(join(first, second, frame.place(node)), (first, second), frame.site(node))
    return first if first_alive else second


def part(frame: Frame, test: cst.BaseExpression, start: int, middle: int) -> None:
    """Tell the rules that what happened since `start` and since `middle` never happens both."""
    events = frame.run.events
    if start < middle < len(events):
        site, may_change = frame.site(test), growth.may_change(frame, test)
        events.append(Branch(site, None))
        events.insert(middle, Branch(site, 1, may_change))
        events.insert(start, Branch(site, 0, may_change))


def boolean(frame: Frame, node: cst.BooleanOperation) -> Value:
    left = evaluate(frame, node.left)
    is_and = isinstance(node.operator, cst.And)
    match truth_of(left):
        case bool() as known:
            return evaluate(frame, node.right) if known is is_and else left
    before = frame.snapshot()
    frame.branch_depth += 1
    conditions.assume(frame, node.left, is_and)
    right = evaluate(frame, node.right)
    frame.restore(before)
    frame.branch_depth -= 1
    if truth_of(right) is not None and truth_of(right) is not is_and:
        return right if isinstance(right, Const) else UNKNOWN
    return join(left, right, frame.place(node)) if not isinstance(right, Const) else Unknown()


def truth_of(value: Value) -> bool | None:
    """Whether a value counts as true, where that is certain."""
    match value:
        case Const(value=None | bool() | str() as constant):
            return bool(constant)
        case Int(dim=dim):
            return dim.value != 0 if dim.value is not None else None
        case Tuple(items=items):
            return bool(items)
    return None


def comparison(frame: Frame, node: cst.Comparison) -> Value:
    left = evaluate(frame, node.left)
    result: Value = UNKNOWN
    for target in node.comparisons:
        right = evaluate(frame, target.comparator)
        result = operators.compare_values(frame, node, target, left, right)
        left = right
    return result if len(node.comparisons) == 1 else UNKNOWN


def unary(frame: Frame, node: cst.UnaryOperation) -> Value:
    value = evaluate(frame, node.expression)
    if isinstance(node.operator, cst.Not):
        truth = truth_of(value)
        return UNKNOWN if truth is None else Const(not truth)
    return operators.unary(frame, node, value)


def binary(frame: Frame, node: cst.BinaryOperation) -> Value:
    left, right = evaluate(frame, node.left), evaluate(frame, node.right)
    return operators.binary(frame, node, type(node.operator).__name__, left, right, (node.left, node.right))


def lambda_function(frame: Frame, node: cst.Lambda) -> Value:
    return Function("<lambda>", node, frame.scope)


def named(frame: Frame, node: cst.NamedExpr) -> Value:
    from shapelint.interpreter.flow.assignments import assign

    value = evaluate(frame, node.value)
    assign(frame, node.target, value)
    return value


def awaited(frame: Frame, node: cst.Await) -> Value:
    evaluate(frame, node.expression)
    return UNKNOWN


def yielded(frame: Frame, node: cst.Yield) -> Value:
    if node.value is not None:
        inner = node.value.item if isinstance(node.value, cst.From) else node.value
        value = evaluate(frame, inner)
        if not isinstance(node.value, cst.From):
            frame.returns.append(Many(value, kind="generator"))
    return UNKNOWN


def starred(frame: Frame, node: cst.StarredElement) -> Value:
    evaluate(frame, node.value)
    return UNKNOWN


def slice_bounds(frame: Frame, node: cst.Slice) -> Value:
    bounds = (evaluate(frame, part) if part is not None else NONE for part in (node.lower, node.upper, node.step))
    return Slice(*bounds)


EVALUATORS: dict[type[cst.CSTNode], Evaluator] = {
    cst.Name: name,
    cst.Attribute: attributes.attribute,
    cst.Call: calls.call,
    cst.Subscript: subscripts.subscript,
    cst.Integer: integer,
    cst.Float: floating,
    cst.Imaginary: imaginary,
    cst.Ellipsis: ellipsis,
    cst.SimpleString: string,
    cst.ConcatenatedString: string,
    cst.FormattedString: formatted,
    cst.Tuple: sequence,
    cst.List: sequence,
    cst.Set: set_display,
    cst.Dict: dict_display,
    cst.IfExp: conditional,
    cst.BooleanOperation: boolean,
    cst.Comparison: comparison,
    cst.UnaryOperation: unary,
    cst.BinaryOperation: binary,
    cst.Lambda: lambda_function,
    cst.NamedExpr: named,
    cst.Await: awaited,
    cst.Yield: yielded,
    cst.StarredElement: starred,
    cst.Slice: slice_bounds,
    cst.ListComp: comprehensions.sequence,
    cst.GeneratorExp: comprehensions.sequence,
    cst.SetComp: comprehensions.sequence,
    cst.DictComp: comprehensions.mapping,
}
