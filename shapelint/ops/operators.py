"""Python's operators on arrays."""

from __future__ import annotations

from collections.abc import Mapping

from shapelint.domain.values import NONE, UNKNOWN, Shape, Tensor, Value
from shapelint.events import Kind
from shapelint.ops.elementwise import binary
from shapelint.ops.op import DtypeRule, GraphEffect, Op, is_none, tensor

NO_GRAPH, ZERO = GraphEffect.NO_GRAPH, GraphEffect.ZERO_GRADIENT

SYMBOLS: Mapping[str, tuple[str, str, DtypeRule, GraphEffect]] = {
    "+": ("operator.add", "add", "promote", GraphEffect.DIFFERENTIABLE),
    "-": ("operator.sub", "sub", "promote", GraphEffect.DIFFERENTIABLE),
    "*": ("operator.mul", "mul", "promote", GraphEffect.DIFFERENTIABLE),
    "/": ("operator.truediv", "div", "quotient", GraphEffect.DIFFERENTIABLE),
    "//": ("operator.floordiv", "floor_divide", "counted", ZERO),
    "%": ("operator.mod", "remainder", "counted", GraphEffect.DIFFERENTIABLE),
    "**": ("operator.pow", "pow", "counted", GraphEffect.DIFFERENTIABLE),
    "&": ("operator.and_", "bitwise_and", "promote", NO_GRAPH),
    "|": ("operator.or_", "bitwise_or", "promote", NO_GRAPH),
    "^": ("operator.xor", "bitwise_xor", "promote", NO_GRAPH),
    "<<": ("operator.lshift", "lshift", "counted", NO_GRAPH),
    ">>": ("operator.rshift", "rshift", "counted", NO_GRAPH),
    "==": ("operator.eq", "eq", "bool", NO_GRAPH),
    "!=": ("operator.ne", "ne", "bool", NO_GRAPH),
    "<": ("operator.lt", "lt", "bool", NO_GRAPH),
    "<=": ("operator.le", "le", "bool", NO_GRAPH),
    ">": ("operator.gt", "gt", "bool", NO_GRAPH),
    ">=": ("operator.ge", "ge", "bool", NO_GRAPH),
}
PREFIXES: Mapping[str, tuple[str, str, DtypeRule, GraphEffect]] = {
    "-": ("operator.neg", "neg", "same", GraphEffect.DIFFERENTIABLE),
    "+": ("operator.pos", "positive", "same", GraphEffect.DIFFERENTIABLE),
    "~": ("operator.invert", "invert", "same", NO_GRAPH),
}


def operator(x: Value, y: Value = NONE) -> Shape | Value:
    """Python's operators: elementwise where an operand is an array, anything else otherwise."""
    if not any(isinstance(value, Tensor) for value in (x, y)):
        return UNKNOWN
    return tensor(x).shape if is_none(y) else binary(x, y)


OPS: tuple[Op, ...] = (
    *(
        Op(name, operator, (f"{f}(x, y)",), Kind.ELEMENTWISE, dtype, graph)
        for f, name, dtype, graph in SYMBOLS.values()
    ),
    *(Op(name, operator, (f"{f}(x)",), Kind.ELEMENTWISE, dtype, graph) for f, name, dtype, graph in PREFIXES.values()),
)
