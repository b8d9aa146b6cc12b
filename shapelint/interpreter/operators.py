"""Operators: on Python numbers by `arithmetic`, on tensors by the ops of `operator`, on sequences here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import libcst as cst

from shapelint.domain.dims import Dim, Truth, derive
from shapelint.domain.values import (
    EITHER,
    UNKNOWN,
    Const,
    Float,
    Hint,
    Int,
    Library,
    Many,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    graph_of,
    number,
    options,
)
from shapelint.events import Kind, Operation
from shapelint.interpreter import attributes, containers
from shapelint.interpreter.arithmetic import INTEGER, are_numbers, is_taken, on_numbers, on_several
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import WRITTEN_IN_PLACE, Arguments, operate
from shapelint.interpreter.scopes import compare_numbers
from shapelint.ops.dtypes import named
from shapelint.ops.questions import may_be_object
from shapelint.provenance import originate

OPERATORS: dict[str, str] = {
    "Add": "add",
    "Subtract": "sub",
    "Multiply": "mul",
    "Divide": "truediv",
    "FloorDivide": "floordiv",
    "Modulo": "mod",
    "Power": "pow",
    "MatrixMultiply": "matmul",
    "BitAnd": "and_",
    "BitOr": "or_",
    "BitXor": "xor",
    "LeftShift": "lshift",
    "RightShift": "rshift",
    "Equal": "eq",
    "NotEqual": "ne",
    "LessThan": "lt",
    "LessThanEqual": "le",
    "GreaterThan": "gt",
    "GreaterThanEqual": "ge",
    "Minus": "neg",
    "Plus": "pos",
    "BitInvert": "invert",
}  # libcst's operator nodes (with or without "Assign") -> functions of `operator`

# What rules call the operations whose `operator` function has another name.
RULE_NAMES = {"truediv": "div", "floordiv": "floor_divide"}

ORDERINGS: dict[str, Callable[[float, float], bool]] = {
    "Equal": lambda a, b: a == b,
    "NotEqual": lambda a, b: a != b,
    "LessThan": lambda a, b: a < b,
    "LessThanEqual": lambda a, b: a <= b,
    "GreaterThan": lambda a, b: a > b,
    "GreaterThanEqual": lambda a, b: a >= b,
}


def binary(
    frame: Frame,
    node: cst.CSTNode,
    operator: str,
    left: Value,
    right: Value,
    operands: tuple[cst.CSTNode, cst.CSTNode],
) -> Value:
    """`left operator right` for the name of a libcst operator node; `left operator= right` for an AugAssign."""
    match left, right:
        case Tensor(), _:
            return on_tensors(frame, node, operator, left, right, operands)
        case _, Tensor():
            return on_tensors(frame, node, operator, left, right, operands)
        case (Union(), _) | (_, Union()):
            found = on_several(operator, left, right) if are_numbers(left) and are_numbers(right) else None
            return on_tensors(frame, node, operator, left, right, operands) if found is None else found
        case (Hint() | Library(), _) | (_, Hint()) if operator == "BitOr":
            from shapelint.interpreter.knowledge.contracts import union

            return union(left, right)
    plain = on_numbers(operator, left, right)
    if plain is not None:
        return plain if not (is_taken(left) or is_taken(right)) else noted(frame, node, operator, plain, left, right)
    sequence = on_sequences(operator, left, right)
    if sequence is not None:
        return sequence
    if operator == "Add" and isinstance(left, Tuple | Many) and isinstance(right, Tuple | Many):
        return containers.extended(frame, left, right, node)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return on_unknowns(frame, node, operator, left, right, operands)
    return UNKNOWN


def on_tensors(
    frame: Frame,
    node: cst.CSTNode,
    operator: str,
    left: Value,
    right: Value,
    operands: tuple[cst.CSTNode, cst.CSTNode],
) -> Value:
    name = OPERATORS[operator]
    if isinstance(node, cst.AugAssign) and isinstance(left, Tensor) and left.library in WRITTEN_IN_PLACE:
        name = f"i{name.removesuffix('_')}"
    result = operate(frame, f"operator.{name}", Arguments((left, right), {}, operands), node)
    return UNKNOWN if result is None else result


def noted(frame: Frame, node: cst.CSTNode, operator: str, result: Value, left: Value, right: Value) -> Value:
    """Arithmetic with numbers that were taken from tensors is part of the data flow."""
    name = OPERATORS.get(operator, operator)
    values = {"x": left, "y": right}
    canonical = RULE_NAMES.get(name, name)
    site = frame.site(node)
    event = Operation(canonical, f"operator.{name}", Kind.ELEMENTWISE, values, result, site, regions=frame.regions)
    frame.tell(event)
    graph = graph_of(left) if graph_of(left).origins else graph_of(right)
    return originate(replace(result, graph=graph) if isinstance(result, Float) else result, event)


def on_sequences(operator: str, left: Value, right: Value) -> Value | None:
    """Lists and tuples: joined by +, repeated by *."""
    match operator, left, right:
        case "Add", Tuple(), Tuple():
            return Tuple(left.items + right.items, left.kind)
        case ("Multiply", Tuple() as items, Int(dim=dim)) | ("Multiply", Int(dim=dim), Tuple() as items):
            if dim.value is not None and 0 <= dim.value * len(items.items) <= 16:
                return Tuple(items.items * dim.value, items.kind)
            if len(items.items) == 1:
                return Many(items.items[0], dim, items.kind)
            return Many(UNKNOWN, kind=items.kind)
        case "Multiply", Tuple(items=(Const(value=None) as nothing,), kind=kind), Unknown():  # by a number for certain
            return Many(nothing, kind=kind)
        case "Add", Const(value=str() as a), Const(value=str() as b):
            return Const(a + b)
    return None


def on_unknowns(
    frame: Frame,
    node: cst.CSTNode,
    operator: str,
    left: Value,
    right: Value,
    operands: tuple[cst.CSTNode, cst.CSTNode],
) -> Value:
    """An operand is unknown: it may be an int, a tensor or anything else. The data flow is kept."""
    if operator == "MatrixMultiply" or is_cast(left) or is_cast(right):
        left, right = (
            attributes.as_tensor(frame, value, side) if is_cast(value) else value  # type: ignore[arg-type]
            for value, side in zip((left, right), operands)
        )
        return on_tensors(frame, node, operator, left, right, operands)
    a, b = as_integer(left), as_integer(right)
    dim = None
    if a is not None and b is not None:
        if operator in INTEGER and (b.terms or operator not in {"FloorDivide", "Modulo"}):
            dim = INTEGER[operator](a, b)
        elif operator == "Power":
            dim = derive("**", a, b)
    name = OPERATORS[operator]
    sites = {"x": frame.site(operands[0]), "y": frame.site(operands[1])}
    event = Operation(
        RULE_NAMES.get(name, name),
        f"operator.{name}",
        Kind.ELEMENTWISE,
        {"x": left, "y": right},
        Unknown(dim),
        frame.site(node),
        sites,
        regions=frame.regions,
    )
    frame.tell(event)
    graph = graph_of(left) if graph_of(left).origins else graph_of(right)
    return originate(Unknown(dim, graph), event)


def is_cast(value: Value) -> bool:
    """What was cast to a dtype and is calculated with is an array."""
    return isinstance(value, Unknown) and value.dtype is not None


def as_integer(value: Value) -> Dim | None:
    match value:
        case Int(dim=dim) | Unknown(dim=dim):
            return dim
    return None


def unary(frame: Frame, node: cst.UnaryOperation, value: Value) -> Value:
    operator = type(node.operator).__name__
    match operator, value:
        case "Minus", Int(dim=dim):
            return Int(-dim)
        case "Minus", Float(value=known):
            default = -value.default if value.default is not None else None
            return replace(value, value=-known if known is not None else None, default=default)
        case "Plus", Int() | Float():
            return value
        case _, Tensor() | Union():
            arguments = Arguments((value,), {}, (node.expression,))
            result = operate(frame, f"operator.{OPERATORS[operator]}", arguments, node)
            return UNKNOWN if result is None else result
        case _, Unknown(dtype=str()):
            return unary(frame, node, attributes.as_tensor(frame, value, node.expression))
        case "Minus", Unknown(dim=Dim() as dim):
            return on_unknown_operand(frame, node, value, Unknown(-dim))
        case _, Unknown():
            return on_unknown_operand(frame, node, value, UNKNOWN)
    return UNKNOWN


def on_unknown_operand(frame: Frame, node: cst.UnaryOperation, value: Value, result: Value) -> Value:
    name = OPERATORS[type(node.operator).__name__]
    sites = {"x": frame.site(node.expression)}
    event = Operation(name, f"operator.{name}", Kind.ELEMENTWISE, {"x": value}, result, frame.site(node), sites)
    frame.tell(event)
    return originate(result, event)


def compare_values(
    frame: Frame, node: cst.Comparison, target: cst.ComparisonTarget, left: Value, right: Value
) -> Value:
    """`left < right` and the like: True or False where that is certain."""
    operator = type(target.operator).__name__
    match operator:
        case "Is" | "IsNot":
            same = identical(left, right)
            return UNKNOWN if same is None else Const(same is (operator == "Is"))
        case "In" | "NotIn":
            return membership(operator, left, right)
    if is_array(left) or is_array(right):
        return on_tensors(frame, node, operator, left, right, (node.left, target.comparator))
    match left, right:
        case Int(dim=a), Int(dim=b):
            return compared(operator, a, b)
        case Tuple(items=a), Tuple(items=b) if operator in {"Equal", "NotEqual"}:
            equal = equal_items(a, b)
            return UNKNOWN if equal is None else Const(equal is (operator == "Equal"))
        case Const(value=str() | bool() | None as x), Const(value=str() | bool() | None as y):
            if operator in {"Equal", "NotEqual"}:
                return Const((x == y) is (operator == "Equal"))
        case Library(name=a), Library(name=b) if a.startswith("torch.") and operator in {"Equal", "NotEqual"}:
            x, y = named(left), named(right)
            return UNKNOWN if x is None or y is None else Const((x == y) is (operator == "Equal"))
        case Union(), _:
            return UNKNOWN
        case (Unknown(), _) | (_, Unknown()) if not isinstance(left, Const) and not isinstance(right, Const):
            return on_unknowns(frame, node, operator, left, right, (node.left, target.comparator))
    first, second = number(left), number(right)
    if first is not None and second is not None and operator in ORDERINGS:
        return Const(ORDERINGS[operator](first, second))
    return EITHER if isinstance(left, Int | Float) and isinstance(right, Int | Float) else UNKNOWN


def is_array(value: Value) -> bool:
    return all(isinstance(option, Tensor) for option in options(value))


def compared(operator: str, a: Dim, b: Dim) -> Value:
    if a.value is not None and b.value is not None and operator in ORDERINGS:
        return Const(ORDERINGS[operator](a.value, b.value))
    match operator, compare_numbers(a, b):
        case ("Equal", Truth.SAME) | ("NotEqual", Truth.DIFFERENT):
            return Const(True)
        case ("NotEqual", Truth.SAME) | ("Equal", Truth.DIFFERENT):
            return Const(False)
    return EITHER


def equal_items(a: tuple[Value, ...], b: tuple[Value, ...]) -> bool | None:
    if len(a) != len(b):
        return False
    verdicts = [
        compare_numbers(x.dim, y.dim) if isinstance(x, Int) and isinstance(y, Int) else None for x, y in zip(a, b)
    ]
    if Truth.DIFFERENT in verdicts:
        return False
    return True if all(verdict is Truth.SAME for verdict in verdicts) else None


def identical(left: Value, right: Value) -> bool | None:
    match left, right:
        case Const(value=a), Const(value=b) if a is None or b is None or isinstance(a, bool):
            return a is b
        case (Unknown() | Union(), _) | (_, Unknown() | Union()):
            return None
        case (Tensor() as array, Const(value=None)) if may_be_object(array):
            return None
        case (Const(value=None), _) | (_, Const(value=None)):
            return False
        case Library(name=a), Library(name=b):
            return a == b
    return None


def membership(operator: str, left: Value, right: Value) -> Value:
    match left, right:
        case Const(value=str() as key), Tuple(items=items) if all(isinstance(i, Const) for i in items):
            found = any(isinstance(i, Const) and i.value == key for i in items)
            return Const(found is (operator == "In"))
        case Int(dim=dim), Tuple(items=items) if dim.value is not None:  # x.ndim in (3, 4)
            values = [item.dim.value if isinstance(item, Int) else None for item in items]
            if dim.value in values or None not in values:
                return Const((dim.value in values) is (operator == "In"))
    return UNKNOWN
