"""A squeeze may remove the batch axis.

Reports `squeeze()` without an axis on a value whose leading size is not known, and `squeeze(0)` on an axis that its
author named. Silent where every axis is known, as for scalars and parameters.

Why: the last batch of an epoch, or a request with one sample, has size 1. It loses its batch axis as well, and what
follows takes features for samples or raises.

Bad:
    import torch
    from torch import nn

    def pool(images):
        batch, channels, height, width = images.shape
        return nn.AdaptiveAvgPool2d(1)(images).squeeze()  # expect: SHP206

Good:
    import torch
    from torch import nn

    def pool(images):
        batch, channels, height, width = images.shape
        return nn.AdaptiveAvgPool2d(1)(images).flatten(1)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.dims import Dim, Origin
from shapelint.events import Event, Operation
from shapelint.evidence import axes_of, clue, name_of
from shapelint.rule import Report
from shapelint.values import Tensor


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event in events:
        if not isinstance(event, Operation) or event.name != "squeeze":
            continue
        operand = event.arguments.get("x")
        lead = operand.shape.axis(0) if isinstance(operand, Tensor) else None
        if not isinstance(operand, Tensor) or lead is None or operand.shape.least_rank < 2:
            continue
        name, end = name_of(event, operand), "is lost when it is 1, as in the last batch of an epoch"
        if "dim" not in event.arguments and may_be_one(lead.size):
            remedy = remedies(operand)
            yield Report(event, f"{name} is {operand.shape}: its axis 0 {end}; {remedy}", (clue(event, operand),))
        elif axes_of(event) == (0,) and is_named(lead.size):
            message = f"{name} is {operand.shape}: squeeze(0) does nothing, but its axis {lead.size} {end}; drop it"
            yield Report(event, message, (clue(event, operand),))


def may_be_one(size: Dim) -> bool:
    """A size that comes with the data: unknown, and no number of a configuration."""
    origins = {symbol.origin for symbol in size.symbols()}
    return bool(origins) and Origin.SIZE not in origins and size.symbol is not None


def is_named(size: Dim) -> bool:
    return size.symbol is not None and size.symbol.origin is Origin.AXIS


def remedies(operand: Tensor) -> str:
    """Which axes to name instead, where they are known."""
    ones = [index for index, axis in enumerate(operand.shape.axes) if axis.size.value == 1]
    if operand.shape.rank is None or not ones:
        return "name the axis to remove"
    return f"write squeeze({ones[0]})" if len(ones) == 1 else "name the axes to remove, or use flatten(1)"
