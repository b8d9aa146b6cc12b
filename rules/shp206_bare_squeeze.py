"""A squeeze may remove the batch axis.

Reports `squeeze()` without an axis on a value whose leading size is not known, and `squeeze(0)` on an axis that its
author named, or on the last state of an RNN before a layer. Silent where every axis is known, as for scalars and
parameters.

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

from shapelint.analysis.axes.batch_axis import is_last_state, is_state
from shapelint.analysis.axes.squeezed import is_meant, is_put_back, is_sample
from shapelint.analysis.evidence import axes_of, clue, made_by, name_of
from shapelint.analysis.index import operations
from shapelint.analysis.uses import consumers, made
from shapelint.domain.dims import ONE, Dim, Origin
from shapelint.domain.values import NONE, Axis, Maker, Tensor
from shapelint.events import Event, Kind, Operation
from shapelint.fixes.proposals import axes_named, axes_to_name
from shapelint.rule import Report

LOST = "is lost when its size is 1, as in the last batch of an epoch"


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event in operations(events, {"squeeze"}):
        operand = event.arguments.get("x")
        if not isinstance(operand, Tensor):
            continue
        name, given = name_of(event, operand), event.arguments.get("dim", NONE)
        if axes_of(event) == (0,) and is_named(operand) and not is_put_back(events, event, only_if_lost=False):
            message = f"{name} is {operand.shape}: its axis 0 {LOST}, and otherwise squeeze(0) does nothing"
            yield Report(event, message, (clue(event, operand),))
        elif axes_of(event) == (0,) and is_last_state(operand) and is_taken(events, event):
            message = f"{name} has one row for each sample: its axis 0 {LOST}, and otherwise squeeze(0) does nothing"
            yield Report(event, message, (clue(event, operand),))
        elif given == NONE and (lead := leading_axis(operand)) and not is_meant(events, event, operand):
            message = f"{name} is {operand.shape}: {lead} {LOST}; {axes_to_name(operand)}"
            trace, fix = (clue(event, operand),), axes_named(event, operand)
            yield Report(event, message, trace, fix=fix, fix_message="Name the axes to remove", stands_alone=True)


def is_taken(events: Sequence[Event], event: Operation) -> bool:
    """Whether a layer goes on with rows of unknown number, which it would have taken as they were."""
    x = event.arguments.get("x")
    return (
        isinstance(x, Tensor)
        and x.shape.rank is None
        and any(isinstance(use, Operation) and use.name == "linear" for use in consumers(events, made(event)))
    )


def leading_axis(operand: Tensor) -> str:
    """What may be lost together with the axes that are meant; empty where nothing is."""
    shape, event = operand.shape, made_by(operand)
    if (isinstance(event, Operation) and event.name == "nonzero") or is_sample(operand):
        return ""  # of a set of indices a single one is an index all the same
    is_stacked = isinstance(event, Operation) and event.name == "stack" and shape.rank is None
    first = int(is_state(operand))  # (layers, b, h): who squeezes it has one layer
    if shape.head and not is_stacked and not first and not any(axis.size == ONE for axis in shape.axes):
        return ""  # what is to go is one of these axes
    of_layer = isinstance(event, Operation) and event.kind is Kind.LAYER and event.name != "interpolate"
    for index, axis in enumerate(shape.head[first:], first):
        if axis.size != ONE or not of_layer:
            if index == first and axis.size == ONE and is_of_data(shape.head[index + 1 :]):
                continue  # (1, n, 5), where n is what a mask leaves
            return f"its axis {index} ({axis.size})" if shape.least_rank > 1 and may_be_one(axis.size) else ""
    ones = [axis for axis in shape.tail if axis.size == ONE]
    if any(axis.maker is Maker.LAYER or (axis is shape.tail[-1] and is_column(event)) for axis in ones):
        return "the batch"  # (..., 1) of a Linear, (..., c, 1, 1) of a pooling, (..., 1, h, w) of a convolution
    if isinstance(event, Operation) and event.kind is Kind.CONTRACTION:  # (n, d) @ x.T
        left, right = event.arguments.get("x"), made_by(event.arguments.get("y", NONE))
        rows = left.shape.axis(0) if isinstance(left, Tensor) and left.shape.rank == 2 else None
        is_table = isinstance(right, Operation) and right.name == "transpose"  # nobody transposes a vector
        return f"the axis of {rows.size}" if rows and is_table and may_be_one(rows.size) else ""
    return ""


def is_of_data(axes: Sequence[Axis]) -> bool:
    """Whether the next axis counts what the data decide."""
    symbol = axes[0].size.symbol if len(axes) > 1 else None
    return symbol is not None and symbol.origin is Origin.DATA


def is_column(event: Event | None) -> bool:
    """Whether one of the outputs of a layer is cut out: `layer(x).split(1, dim=-1)[0]`, `layer(x)[..., :1]`."""
    cuts = isinstance(event, Operation) and event.name in {"split", "chunk", "getitem"}
    made_so = made_by(event.arguments.get("x", NONE)) if isinstance(event, Operation) and cuts else None
    return isinstance(made_so, Operation) and made_so.kind is Kind.LAYER


def may_be_one(size: Dim) -> bool:
    """A size that comes with the data: unknown, and no number of a configuration."""
    return size.symbol is not None and size.symbol.origin is not Origin.SIZE


def is_named(operand: Tensor) -> bool:
    symbol = lead.size.symbol if (lead := operand.shape.axis(0)) is not None else None
    return symbol is not None and symbol.origin is Origin.AXIS
