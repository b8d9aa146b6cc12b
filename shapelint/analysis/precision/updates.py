"""Numbers that are kept in few bits and change by little: weights, averages, running statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shapelint.analysis.evidence import made_by
from shapelint.analysis.index import events_of, operations
from shapelint.analysis.precision.dtypes import constant, dtype_of, format_of, is_carried, parameters_of
from shapelint.domain.formats import FORMATS, Format
from shapelint.domain.values import (
    Dict,
    Float,
    Function,
    GraphState,
    Instance,
    Int,
    Layer,
    Library,
    Many,
    Method,
    Tensor,
    Tuple,
    Unknown,
    Value,
    maker_of,
)  # fmt: skip
from shapelint.events import Call, Event, Input, Operation, Stored, Written
from shapelint.provenance import parts

LARGEST_STEP = 0.05  # a mixing factor above moves a half-precision number within a few steps
LARGEST_RATE = 0.01  # the same for a learning rate


@dataclass(frozen=True, slots=True)
class Update:
    """A state of a format is changed by `share` of something, where that is known."""

    event: Operation
    state: Value
    format: Format
    share: float | None


def updates(events: Sequence[Event]) -> Iterator[Update]:
    """In-place and rebinding updates of what is kept in half: EMA, running statistics, gradient steps by hand."""
    for event in operations(events, {"lerp", "add", "sub"}):
        format = format_of(event.result)
        if format is None or format.digits > 11:
            continue
        found = _lerp(event) if event.name == "lerp" else _mixed(event)
        step = _stepped(event) if found is None and event.name != "lerp" else None
        if found is not None and (outlives(events, event, found[0]) or is_carried(events, event, found[0])):
            yield Update(event, found[0], format, found[1])
        elif step is not None and (outlives(events, event, step[0]) or is_descent(events, event, *step)):
            yield Update(event, step[0], format, step[1])


def is_descent(events: Sequence[Event], event: Operation, state: Value, share: float | None) -> bool:
    """`w = w - 1e-4 * grad` in a loop; a sum of that form is a residual connection."""
    return event.name == "sub" and share is not None and is_carried(events, event, state)


def _lerp(event: Operation) -> tuple[Value, float | None] | None:
    weight = event.arguments.get("weight")
    share = constant(weight)
    small = share is not None and abs(share) <= LARGEST_STEP
    return (event.values[0], share) if small and dtype_of(event.values[0]) in FORMATS else None


def _mixed(event: Operation) -> tuple[Value, float | None] | None:
    """`state * decay + new * (1 - decay)`, `state.mul_(decay).add_(new, alpha=1 - decay)`."""
    if event.name != "add":
        return None
    left, right = event.arguments.get("x"), event.arguments.get("y")
    for kept, added in ((left, right), (right, left)):
        faded = scaled(kept)
        if faded is None or dtype_of(faded[0]) not in FORMATS:
            continue
        decay, state = faded[1], faded[0]
        if decay is not None and not 1 - LARGEST_STEP <= decay < 1:
            continue
        share = constant(event.arguments.get("alpha")) if "alpha" in event.arguments else None
        grown = scaled(added) if "alpha" not in event.arguments else (added, share)
        if grown is None or (grown[1] is not None and abs(grown[1]) > LARGEST_STEP):
            continue
        if decay is None and grown[1] is None and not (event.in_place and "alpha" in event.arguments):
            continue
        return state, grown[1] if grown[1] is not None else 1 - decay if decay is not None else None
    return None


def _stepped(event: Operation) -> tuple[Value, float | None] | None:
    """`w - lr * grad`, `w.add_(grad, alpha=-lr)`, `mean += 0.01 * (batch - mean)`."""
    state, step = event.arguments.get("x"), event.arguments.get("y")
    if dtype_of(state) not in FORMATS or state is None:
        return None
    if "alpha" in event.arguments:
        share = constant(event.arguments["alpha"])
    else:
        inner = scaled(step)
        if inner is None:
            return None
        share = inner[1]
    if share is None and is_number(state):
        return None  # a total: `self.loss += loss * len(batch)`
    return None if share is not None and abs(share) > LARGEST_RATE else (state, share)


def scaled(value: Value | None) -> tuple[Value, float | None] | None:
    """What is multiplied by a number without axes, and that number where it is known."""
    maker = made_by(value) if value is not None else None
    if isinstance(maker, Operation) and maker.name == "neg":
        return scaled(maker.arguments["x"])
    if not isinstance(maker, Operation) or maker.name != "mul":
        return None
    left, right = maker.arguments.get("x"), maker.arguments.get("y")
    for array, factor in ((left, right), (right, left)):
        if array is None or factor is None or is_number(array):
            continue
        if is_number(factor) or (isinstance(factor, Unknown) and isinstance(array, Tensor)):
            return array, constant(factor)
    return None


def is_number(value: Value) -> bool:
    """A Python number, or an array without axes."""
    return isinstance(value, Float | Int) or (isinstance(value, Tensor) and value.shape.rank == 0)


def outlives(events: Sequence[Event], event: Operation, value: Value) -> bool:
    """Whether a value outlives the call, a parameter or an attribute of this dtype, and the result takes its place."""
    if not event.in_place and not is_written_back(events, event):
        return False
    if isinstance(value, Tensor) and value.graph.state is GraphState.LEAF:
        return True
    maker = maker_of(value)
    for _ in range(8):
        match maker:
            case Input(kind="attribute", source=Instance() as owner, name=name):
                return keeps_dtype(events, owner, name, dtype_of(event.result))
            case Operation() | Call() if is_held(events, maker):
                return True
            case Operation(name="data" | "detach" | "mul" | "getitem", operands=operands) if operands:
                if operands[0].graph.state is GraphState.LEAF:
                    return True
                maker = maker_of(operands[0])
            case _:
                break
    return False


def is_held(events: Sequence[Event], maker: Operation | Call) -> bool:
    """Whether a list or dict that an object keeps holds what an event made: `self.shadow = {n: p.half() ...}`."""
    entering = [s for s in events_of(events, Stored) if s.container or isinstance(s.value, Many | Tuple | Dict)]
    return any(maker_of(part) is maker for part in parts(stored.value for stored in entering))


def is_written_back(events: Sequence[Event], event: Operation) -> bool:
    """`self.mean = ...`, `p.data = ...`, `p.copy_(...)` of what an operation gave."""
    values: list[Value | None] = [stored.value for stored in events_of(events, Stored)]
    values.extend(written.value for written in events_of(events, Written))
    values.extend(write.arguments.get("value") for write in operations(events, {"copy_", "setitem"}))
    return any(value is not None and maker_of(value) is event for value in values)


def keeps_dtype(events: Sequence[Event], owner: Instance, attribute: str, dtype: str | None) -> bool:
    """Whether every value that the methods of a class give to an attribute is of this dtype, as far as is known."""
    for stored in events_of(events, Stored):
        is_same = stored.owner.cls is owner.cls and stored.attribute == attribute
        is_array = isinstance(stored.value, Tensor | Unknown)
        if is_same and is_array and dtype_of(stored.value) not in {dtype, None}:
            return False
    return True


def half_optimizers(events: Sequence[Event]) -> Iterator[tuple[Operation, Format]]:
    """Optimizers over parameters of 16 bits, unless they are handed to what may keep float32 copies."""
    for event in operations(events, {"optimizer"}):
        format = FORMATS.get(parameters_of(event) or "")
        if format is not None and format.digits <= 11 and not is_wrapped(events, event):
            yield event, format


def is_wrapped(events: Sequence[Event], optimizer: Operation) -> bool:
    """deepspeed.initialize(model, optimizer), accelerator.prepare(optimizer): they may keep the weights in float32."""
    for call in events_of(events, Call):
        given = (*call.args, *(value for _, value in call.kwargs))
        if not any(maker_of(value) is optimizer for value in given):
            continue
        match call.callee:
            case Function():
                continue
            case Library(name=name) if "schedul" in name.lower():
                continue
            case Method(receiver=Layer()) | Method(name="append" | "step" | "unscale_"):
                continue
        return True
    return False
