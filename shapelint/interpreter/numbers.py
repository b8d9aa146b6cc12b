"""Python's numbers: the builtins and functions of math that give one, of numbers that are known or not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import reduce

import libcst as cst

from shapelint.domain.dims import as_dim, data_dependent, derive
from shapelint.domain.formats import read_number
from shapelint.domain.values import (
    EITHER,
    UNKNOWN,
    Const,
    Float,
    Graph,
    GraphState,
    Int,
    Many,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    graph_of,
    maker_of,
    options,
)
from shapelint.domain.values import number as number_of
from shapelint.events import Item, Kind, Operation
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments, severed
from shapelint.provenance import originate

Builtin = Callable[[Frame, Arguments, cst.Call], Value]


def whole(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """int(x)"""
    match arguments.args[0]:
        case Int() as known:
            return known
        case Float(value=float() as known) if math.isfinite(known):
            return Int(as_dim(int(known)))
        case Tensor() | Unknown() as value:
            return number(frame, "int", value, node)
    return UNKNOWN


def floating(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    match arguments.args[0]:
        case Int(dim=dim):
            return Float(float(dim.value) if dim.value is not None else None)
        case Float() as known:
            return known
        case Const(value=str() as text):
            return Float(read_number(text))
        case Tensor(made_by=Operation(callee=callee, arguments={"x": Float() as held})) if ".finfo." in callee:
            return held
        case Tensor() | Unknown() as value:
            return number(frame, "float", value, node)
    return Float()


def number(frame: Frame, name: str, value: Tensor | Unknown, node: cst.Call) -> Value:
    """A tensor becomes a Python number: what it hung on is cut off."""
    graph = graph_of(value)
    state = GraphState.NUMBER if graph.origins else graph.state
    result: Value = Float(None, Graph(state, graph.origins))
    if name == "int":
        known = value.dim if isinstance(value, Unknown) else None
        result = Int(known or data_dependent(frame.place(node), "int"), Graph(state, graph.origins))
    sites = {"x": frame.site(node.args[0].value)}
    event = Operation(
        name, f"builtins.{name}", Kind.AUTOGRAD, {"x": value}, result, frame.site(node), sites, regions=frame.regions
    )
    frame.tell(event)
    return severed(frame, originate(result, event), event)


def extreme(function: str) -> Builtin:
    """max and min of sizes; of other numbers it is known that one comes out."""

    def choose(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
        values: tuple[Value, ...] = arguments.args
        match values:
            case (Tuple(items=items),):
                values = items
            case (Many(item=item),):
                result = of_kinds(frame, [item], node)
                return derived([item]) if result == Float() else result
        dims = [value.dim for value in values if isinstance(value, Int | Unknown) and value.dim is not None]
        if len(dims) < 2 or len(dims) < len(values):
            known = [number_of(value) for value in values]
            if values and None not in known:
                return values[known.index(max(known) if function == "max" else min(known))]  # type: ignore[type-var]
            result = of_kinds(frame, values, node) if values else UNKNOWN
            if result == UNKNOWN and len(values) == 2:
                return told(frame, function, values, node)
            return derived(values) if result == Float() else result
        chosen = reduce(lambda a, b: derive(function, a, b), dims)
        return Int(chosen) if all(isinstance(value, Int) for value in values) else Unknown(chosen)

    return choose


def of_kinds(frame: Frame, values: Iterable[Value], node: cst.Call) -> Value:
    """A number of one of these kinds."""
    kinds = {type(option) for value in values for option in options(value)}
    if not kinds <= {Int, Float}:
        return UNKNOWN
    whole = Int(data_dependent(frame.place(node), "n"))
    return Union((whole, Float())) if len(kinds) > 1 else whole if Int in kinds else Float()


def absolute(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    from shapelint.interpreter.operations import operate

    match arguments.args[0]:
        case Int(dim=dim):
            return Int(as_dim(abs(dim.value)) if dim.value is not None else data_dependent(frame.place(node), "abs"))
        case Float(value=known) as number:
            return Float(abs(known)) if known is not None else derived((number,))
        case Tensor():
            result = operate(frame, "torch.abs", arguments, node)
            return UNKNOWN if result is None else result
    return told(frame, "abs", arguments.args, node)


def told(frame: Frame, name: str, values: tuple[Value, ...], node: cst.Call) -> Value:
    """What is computed from what may be a number that was taken from a tensor is part of the data flow."""
    if not any(
        isinstance(value, Unknown | Float | Tensor) and isinstance(value.made_by, Operation | Item) for value in values
    ):
        return UNKNOWN
    given = dict(zip(("x", "y"), values))
    event = Operation(
        name, f"builtins.{name}", Kind.ELEMENTWISE, given, UNKNOWN, frame.site(node), regions=frame.regions
    )
    frame.tell(event)
    return originate(UNKNOWN, event)


def computed(function: Callable[..., float]) -> Builtin:
    """A float, which is known where the arguments are."""

    def compute(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
        known = [number_of(value) for value in arguments.args]
        try:
            return Float(float(function(*known)))
        except (ArithmeticError, ValueError, TypeError):  # an argument is not known, or the function has no value there
            return derived(arguments.args)

    return compute


def derived(values: Iterable[Value]) -> Float:
    """A number that is computed from others: what was cut off to get the first of them is cut off from it as well."""
    for value in values:
        is_computed = isinstance(value, Unknown) and isinstance(value.made_by, Operation | Item)
        if is_computed or (isinstance(value, Float) and value.made_by is not None):
            return Float(None, graph_of(value), maker_of(value))
    return Float()


def rounded(function: Callable[[float], int]) -> Builtin:
    def to_integer(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
        match arguments.args:
            case (Int() as known,):
                return known
            case (Float(value=float() as known),) if math.isfinite(known):
                return Int(as_dim(function(known)))
            case (Float(),):
                return Int(data_dependent(frame.place(node), function.__name__))
            case (Int() | Float(), _):  # round(x, 2)
                return Float()
        return UNKNOWN

    return to_integer


def product(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    from shapelint.domain.dims import product as multiply

    match arguments.args[0]:
        case Tuple(items=items) if items and all(isinstance(i, Int) for i in items):
            return Int(multiply(i.dim for i in items if isinstance(i, Int)))
    return UNKNOWN


def either(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    return EITHER


def counted(frame: Frame, arguments: Arguments, node: cst.Call) -> Value:
    """An int that hangs on what the arguments are."""
    return Int(data_dependent(frame.place(node), "n"))


FLOATS = (
    *("sqrt", "exp", "expm1", "log", "log2", "log10", "log1p", "pow", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("atan2", "sinh", "cosh", "tanh", "hypot", "degrees", "radians", "fabs", "erf", "erfc", "gamma", "lgamma", "fmod"),
)
TABLE: Mapping[str, Builtin] = {
    "builtins.int": whole,
    "builtins.float": floating,
    "builtins.max": extreme("max"),
    "builtins.min": extreme("min"),
    "builtins.abs": absolute,
    "builtins.round": rounded(round),
    "math.ceil": rounded(math.ceil),
    "math.floor": rounded(math.floor),
    "math.trunc": rounded(math.trunc),
    "math.prod": product,
    **{f"math.{name}": computed(getattr(math, name)) for name in FLOATS},
    **{f"math.{name}": either for name in ("isnan", "isinf", "isfinite", "isclose")},
    **{f"math.{name}": counted for name in ("gcd", "lcm", "isqrt", "factorial", "comb")},
}
