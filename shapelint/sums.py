"""Sums that run in few bits: where they stop growing, overflow, or count past the last exact integer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.events import Event, Input, Joined, Operation
from shapelint.evidence import axes_of, made_by
from shapelint.index import operations
from shapelint.narrow import constant, dtype_of, format_of, is_carried, is_possibly, is_python_sum
from shapelint.precision import FLOAT16, Format
from shapelint.squares import count_of, is_bounded, zero_or_one
from shapelint.updates import scaled
from shapelint.values import NONE, GraphState, Int, Tensor, Unknown, Value, maker_of

STALLING = frozenset({"sum", "cumsum", "mean", "var", "std", "norm", "einsum", "average"})
LIBRARIES = {"numpy", None}


def in_numpy(events: Sequence[Event]) -> Iterator[tuple[Operation, str]]:
    """Reductions of float16 arrays that NumPy runs in float16, with what goes wrong."""
    for event in operations(events, STALLING):
        is_average = event.callee == "numpy.average" and dtype_of(event.arguments.get("weights")) == FLOAT16.name
        if not (is_average or dtype_of(event.result) == FLOAT16.name) or not is_possibly(event, "numpy"):
            continue
        operand = event.arguments.get("x")
        if event.name != "einsum" and dtype_of(operand) != FLOAT16.name:
            continue
        effect = _numpy_effect(event)
        if effect is not None and not _is_short(event, operand):
            yield event, effect


def _is_short(event: Operation, operand: Value | None) -> bool:
    count = count_of(operand, axes_of(event)) if operand is not None else None
    return count is not None and count <= 256


def _numpy_effect(event: Operation) -> str | None:
    function = event.callee.rpartition(".")[2]
    match event.name:
        case "cumsum":
            return "the running total stops growing: from 2,048 on, adding 1 changes nothing"
        case "mean":
            adds = function == "nanmean" or (function == "average" and event.arguments.get("weights", NONE) != NONE)
            return (
                f"{function} adds up in float16, unlike mean: it stalls at 2,048 or overflows at 65,504"
                if adds
                else None
            )
        case "var" | "std" | "norm":
            return "squares are added up in float16 and overflow beyond 65,504"
        case "sum" if is_outer(event):
            return "row is added to row in float16: from 2,048 on, adding 1 changes nothing"
        case "einsum" if event.callee.startswith("numpy"):
            return "products are added up one by one in float16"
    return None


def is_outer(event: Operation) -> bool:
    """Whether a sum runs over the first axis of several, so that NumPy adds row by row."""
    axes, operand = axes_of(event), event.arguments.get("x")
    if axes is None or not isinstance(operand, Tensor):
        return False
    rank = operand.shape.rank
    return rank != 1 and any(axis == 0 or (rank is not None and axis == -rank) for axis in axes)


def counts(events: Sequence[Event]) -> Iterator[Operation]:
    """Sums over all elements of a float16 tensor, and counts of masks in it."""
    for event in operations(events, {"sum", "cumsum"}):
        operand = event.arguments.get("x")
        if dtype_of(event.result) != FLOAT16.name or dtype_of(operand) != FLOAT16.name or operand is None:
            continue
        if event.name == "cumsum" and is_possibly(event, "numpy"):
            continue
        axes = axes_of(event)
        is_total = event.name == "sum" and event.arguments.get("dim", NONE) == NONE
        if not is_total and not zero_or_one(operand):
            continue
        number = count_of(operand, axes)
        is_scalar = isinstance(operand, Tensor) and operand.shape.rank == 0
        is_large = not is_scalar and (number is None or number > FLOAT16.exact)
        if is_large and (zero_or_one(operand) or not is_bounded(operand)):
            yield event


def accumulated(events: Sequence[Event]) -> Iterator[tuple[Operation, Format]]:
    """Python's sum() over a narrow tensor, and totals that grow in a narrow dtype from round to round."""
    for event in operations(events, {"add"}):
        format = format_of(event.result)
        if format is None or format.digits > 11:
            continue
        total, more = event.arguments.get("x"), event.arguments.get("y")
        if total is None or more is None:
            continue
        is_sum = is_python_sum(event) and total is more
        if is_sum or (is_total(event, total, more) and scaled(more) is None):
            yield event, format


def is_total(event: Operation, total: Value, more: Value) -> bool:
    """A number that grows in a loop, or an array of zeros made for it in this dtype."""
    if isinstance(total, Tensor) and total.graph.state is GraphState.LEAF:
        return False
    maker = maker_of(total)
    is_attribute = event.in_place and isinstance(maker, Input) and maker.kind == "attribute"
    if not is_attribute and not is_carried(event, total):
        return False
    is_single = (
        isinstance(more, Tensor) and more.shape.rank == 0 and not (isinstance(total, Tensor) and total.shape.rank)
    )
    return is_single or began_as_zeros(total)


def began_as_zeros(value: Value) -> bool:
    """Whether a loop's total was made by zeros(..., dtype=...) before it."""
    stack, seen = [maker_of(value)], set()
    for maker in stack:
        if maker is None or id(maker) in seen or len(stack) > 20:
            continue
        seen.add(id(maker))
        match maker:
            case Operation(name="zeros" | "zeros_like" | "new_zeros"):
                return maker.arguments.get("dtype", NONE) != NONE
            case Joined(options=options):
                stack.extend(maker_of(option) for option in options)
            case Operation(name="add" | "setitem", arguments=arguments):
                stack.append(maker_of(arguments["x"]))
    return False


def positions(events: Sequence[Event]) -> Iterator[tuple[Operation, Format]]:
    """Ranges of integers in a dtype that has not all of them."""
    for event in operations(events, {"arange", "half", "bfloat16", "to", "type_as", "type"}):
        format = format_of(event.result)
        if format is None or format.digits > 11:
            continue
        origin = event if event.name == "arange" else made_by(event.values[0])
        if not isinstance(origin, Operation) or origin.name != "arange" or dtype_of(origin.result) == "float32":
            continue
        last = last_of(origin)
        is_known = last is not None and last > format.exact + 1
        if is_known or (last is None and is_plain(origin) and (format is not FLOAT16 or feeds_angles(events, event))):
            yield event, format


def last_of(event: Operation) -> float | None:
    end = event.arguments.get("end")
    bound = end if end is not None and end != NONE else event.arguments.get("start")
    return constant(bound)


def is_plain(event: Operation) -> bool:
    """arange(n): steps of 2 number pairs of features, of which there are few."""
    step = event.arguments.get("step")
    end = event.arguments.get("end") or event.arguments.get("start")
    return (step is None or constant(step) == 1) and isinstance(end, Int | Unknown)


def feeds_angles(events: Sequence[Event], event: Operation) -> bool:
    """Whether positions are multiplied with frequencies."""
    uses = operations(events, {"outer", "einsum", "cos", "sin", "matmul", "ger"})
    return any(made_by(operand) is event for use in uses for operand in use.operands)
