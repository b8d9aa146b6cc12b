"""Sums that run in few bits: where they stop growing, overflow, or count past the last exact integer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.evidence import axes_of, made_by
from shapelint.analysis.index import events_of, operations
from shapelint.analysis.precision.dtypes import (
    arrays,
    constant,
    dtype_of,
    format_of,
    given_to,
    is_carried,
    is_kept,
    is_possibly,
    is_python_sum,
)
from shapelint.analysis.precision.squares import COMPARING, count_of, is_bounded, is_square, zero_or_one
from shapelint.analysis.precision.updates import is_number, scaled
from shapelint.domain.formats import FLOAT16, Format
from shapelint.domain.values import NONE, GraphState, Instance, Int, Tensor, Unknown, Value, maker_of, same_value
from shapelint.events import Event, Grown, Input, Kind, Operation
from shapelint.provenance import ancestors

STALLING = frozenset({"sum", "cumsum", "mean", "var", "std", "norm", "einsum", "average"})


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
        if effect is not None and not _is_short(event, operand) and not is_of_squares(event):
            yield event, effect


def is_of_squares(event: Operation) -> bool:
    inner = made_by(event.values[0])
    return event.name in {"sum", "mean"} and isinstance(inner, Operation) and is_square(inner)


def adds_up_sums(events: Sequence[Event], event: Operation) -> bool:
    """Whether sums of squares are added up in their turn: `stack([(g**2).sum() for g in grads]).sum()`."""
    inner = made_by(event.values[0])
    if not isinstance(inner, Operation) or inner.kind is not Kind.JOINING:
        return False
    text = next((site.text for site in inner.sites.values()), "")
    parts = [*arrays(inner), *(grown.value for grown in events_of(events, Grown) if grown.name == text)]
    makers = [made_by(part) for part in parts]
    return any(isinstance(maker, Operation) and is_of_squares(maker) for maker in makers)


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
        if (
            is_of_squares(event)
            or adds_up_sums(events, event)
            or (event.name == "cumsum" and is_possibly(event, "numpy"))
        ):
            continue  # others speak of these
        axes = axes_of(event)
        is_total = event.name == "sum" and event.arguments.get("dim", NONE) == NONE
        if not is_total and not zero_or_one(operand):
            continue
        number = count_of(operand, axes)
        is_scalar = isinstance(operand, Tensor) and operand.shape.rank == 0
        is_large = not is_scalar and (number is None or number > FLOAT16.exact)
        if number is None and event.callee.startswith("numpy") and not zero_or_one(operand):
            continue  # NumPy adds in pairs, so that only what is large goes wrong
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
        is_one_of = is_tally(events, event, total) and not is_window(event, total)
        if is_sum or ((is_one_of or is_total(events, event, total, more)) and not is_small(total, more)):
            yield event, format


def is_small(total: Value, more: Value) -> bool:
    """Whether what is added is scaled down, as far as is known: `total += loss * len(batch)` is not."""
    share = scaled(more)
    return share is not None and not (share[1] is None and is_number(total))


def is_total(events: Sequence[Event], event: Operation, total: Value, more: Value) -> bool:
    """A number that grows in a loop or from call to call, or an array of zeros made for it in this dtype."""
    if isinstance(total, Tensor) and total.graph.state is GraphState.LEAF:
        return False
    if is_kept(events, event, total):
        return True
    if not is_carried(events, event, total):
        return False
    ranks = [value.shape.rank if isinstance(value, Tensor) else None for value in (total, more)]
    return ranks[0] == 0 or (ranks[1] == 0 and not ranks[0]) or began_empty(total)


def is_tally(events: Sequence[Event], event: Operation, total: Value) -> bool:
    """`counts[c] += 1` from round to round or from call to call, with zeros that were made for it in this dtype."""
    taken = made_by(total)
    table = taken.arguments.get("x") if isinstance(taken, Operation) and taken.name == "getitem" else None
    if not isinstance(table, Tensor):
        return False
    writes = (w for w in operations(events, {"setitem"}) if maker_of(w.arguments["value"]) is event)
    match maker_of(table):
        case Input(kind="attribute", source=Instance() as owner, name=name):
            return any(writes) and any(began_empty(value) for value in given_to(events, owner, name))
    return began_empty(table) and any(is_carried(events, write, table) for write in writes)


def is_window(event: Operation, total: Value) -> bool:
    """Whether what is added came from the same place of another array: windows overlap, but few of them do."""
    taken = made_by(total)
    index = taken.arguments.get("index") if isinstance(taken, Operation) and taken.name == "getitem" else None
    others = (e for e in ancestors(event, 60) if e is not taken and isinstance(e, Operation) and e.name == "getitem")
    return index is not None and any(same_value(index, other.arguments.get("index", NONE)) for other in others)


def began_empty(value: Value) -> bool:
    """Whether a loop's total was made for it in this dtype: zeros(..., dtype=...), tensor(0.0, dtype=...)."""
    maker = maker_of(value)
    if not isinstance(maker, Operation) or maker.arguments.get("dtype", NONE) == NONE:
        return False
    return maker.name in {"zeros", "zeros_like", "new_zeros"} or constant(value) == 0


def counters(events: Sequence[Event]) -> Iterator[Operation]:
    """Totals of sizes and sums in int32 that outlive the call or the loop; steps and hits are few."""
    for event in operations(events, {"add"}):
        total, more = event.arguments.get("x"), event.arguments.get("y")
        if total is None or more is None or dtype_of(total) != "int32" or dtype_of(event.result) not in {"int32", None}:
            continue
        maker = made_by(more)
        adds_up = isinstance(maker, Operation) and maker.name in {"sum", "numel"} and not is_hits(maker)
        if adds_up and (is_kept(events, event, total) or is_carried(events, event, total)):
            yield event


def is_hits(event: Operation) -> bool:
    """The number of right answers: at most one for each sample."""
    maker = made_by(event.values[0]) if event.values else None
    return isinstance(maker, Operation) and maker.name in COMPARING


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
