"""What tells whether a reshape that reads axes in another order mixes anything up."""

from __future__ import annotations

from collections.abc import Sequence

from shapelint.analysis.uses import consumers, evaluation_of, made
from shapelint.domain.dims import ONE
from shapelint.domain.values import Instance, Shape, Tensor, Value
from shapelint.events import Event, Kind, Operation


def is_without(source: Shape, result: Value) -> bool:
    """Whether axes are left out, (n, 10, h, w) read as (n, 10): that works where their size is 1, and moves nothing."""
    wanted = [size for size in reversed(result.shape.sizes) if size != ONE] if isinstance(result, Tensor) else []
    for axis in reversed(source.head if source.run is None else source.tail):
        if wanted and axis.size == wanted[0]:
            wanted.pop(0)
        elif axis.size.value not in {None, 1}:
            return False
    return len(wanted) <= (source.run is not None and not source.head)


def is_only_added(events: Sequence[Event], event: Operation, maker: Event | None) -> bool:
    """Whether a Parameter gets its order here: it is read so, and added to something, or multiplied with it."""
    taken = consumers(events, made(event))
    is_parameter = isinstance(maker, Operation) and maker.name == "parameter"
    return is_parameter and bool(taken) and all(isinstance(u, Operation) and u.kind is Kind.ELEMENTWISE for u in taken)


def is_data(events: Sequence[Event], event: Operation, source: Tensor) -> bool:
    """Random numbers that a method is given stand for the data that it will be given."""
    evaluation = evaluation_of(events, event)
    if evaluation is None or not isinstance(evaluation.entered.owner, Instance):
        return False
    return evaluation.entered.at_call and not evaluation.has_made(source)
