"""Arithmetic on Python numbers, as far as they are known. Nothing here needs a place in the source."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from shapelint.domain.dims import Dim, as_dim, derive
from shapelint.domain.joins import join
from shapelint.domain.values import Float, GraphState, Int, Union, Value, number, options
from shapelint.events import Joined, Operation

INTEGER: dict[str, Callable[[Dim, Dim], Dim]] = {
    "Add": lambda a, b: a + b,
    "Subtract": lambda a, b: a - b,
    "Multiply": lambda a, b: a * b,
    "FloorDivide": lambda a, b: a // b,
    "Modulo": lambda a, b: a % b,
}  # of whole numbers, by the name of libcst's operator node

BITS = {"BitAnd": "&", "BitOr": "|", "BitXor": "^", "LeftShift": "<<", "RightShift": ">>"}  # of whole numbers only

FLOATING: dict[str, Callable[[float, float], float]] = {
    "Add": lambda a, b: a + b,
    "Subtract": lambda a, b: a - b,
    "Multiply": lambda a, b: a * b,
    "Divide": lambda a, b: a / b,
    "Power": lambda a, b: float(a**b),
}


def on_numbers(operator: str, left: Value, right: Value) -> Value | None:
    """`left operator right`; None where an operand is no number, or the operator has none."""
    match left, right:
        case Int(dim=a), Int(dim=b):
            if operator in INTEGER:
                return Int(INTEGER[operator](a, b) if operator not in {"FloorDivide", "Modulo"} or b.terms else a)
            if operator in BITS:
                return Int(derive(BITS[operator], a, b))
            if operator == "Power":
                return power(a, b)
    if not all(isinstance(value, Int | Float) for value in (left, right)):
        return None
    if operator not in FLOATING:
        return Float() if operator in INTEGER else None
    result = calculated(operator, number(left), number(right))
    if result is not None:
        return Float(result)
    return Float(default=calculated(operator, default_number(left), default_number(right)))


def power(base: Dim, exponent: Dim) -> Value:
    """A whole number where the exponent is not negative."""
    if exponent.value is None:
        return Union((Int(derive("**", base, exponent)), Float()))
    if exponent.value < 0:
        return Float(calculated("Power", base.value, exponent.value))
    if base.value is None and exponent.value < 4:
        return Int(reduce(lambda product, factor: product * factor, [base] * exponent.value, as_dim(1)))
    return Int(derive("**", base, exponent))


def on_several(operator: str, left: Value, right: Value) -> Value | None:
    """Arithmetic of numbers that are one of several: `R = 0`, and in each round `R = reward + gamma * R`."""
    found = [on_numbers(operator, a, b) for a in options(left) for b in options(right)]
    return reduce(join, (value for value in found if value is not None)) if None not in found else None


def calculated(operator: str, x: float | None, y: float | None) -> float | None:
    try:
        return FLOATING[operator](x, y) if x is not None and y is not None else None
    except (ArithmeticError, ValueError, TypeError):
        return None


def default_number(value: Value) -> float | None:
    """A number, or what a parameter is where nobody says otherwise."""
    match value:
        case Float(value=None, default=default):
            return default
    return number(value)


def are_numbers(value: Value) -> bool:
    """Whether a value is a number, whichever it is, and none that was taken from a tensor."""
    return all(isinstance(option, Int | Float) and not is_taken(option) for option in options(value))


def is_taken(value: Value) -> bool:
    """A Python number that was taken from a tensor, at least on one of the paths that meet in it."""
    if not isinstance(value, Float):
        return False
    return value.graph.state is GraphState.NUMBER or isinstance(value.made_by, Operation | Joined)
