"""A view or reshape stands where axes had to be moved.

Reports `view` and `reshape` that give an axis of the source another place: `(b, t, h*d)` viewed as `(b, h, t, d)`,
`(b, h, t, d)` as `(b, t, h*d)`, `(b, h, w, c)` as `(b, c, h, w)`, an RNN's state `(layers, b, h)` as `(b, layers*h)`.
Silent where neighbours are merged in order or one axis is split in order.

Why: a reshape never moves elements, it only counts them anew in row-major order. The shape is right, and each row
holds parts of other rows: heads of other time steps, pixels of other channels, states of other samples.

Bad:
    import torch

    def split_heads(x, heads):
        b, t, c = x.shape
        return x.view(b, heads, t, c // heads)  # expect: SHP204

Good:
    import torch

    def split_heads(x, heads):
        b, t, c = x.shape
        return x.view(b, t, heads, c // heads).transpose(1, 2)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.events import Event, Kind, Operation
from shapelint.evidence import clue, made_by, name_of
from shapelint.index import operations
from shapelint.rowmajor import Scramble, scramble
from shapelint.rule import Report
from shapelint.uses import caller_of
from shapelint.values import Tensor

AT_CALLS = True
RESHAPES = frozenset({"reshape", "unflatten", "reshape_as"})
ALIKE = frozenset({
    "zeros", "ones", "full", "empty", "arange", "linspace", "zeros_like", "ones_like", "full_like", "new_zeros",
    "new_ones", "new_full", "eye",
})  # fmt: skip
PASSED = frozenset({Kind.ELEMENTWISE, Kind.CAST, Kind.RESHAPE, Kind.INDEXING})
SHIFTS = frozenset({"pad", "cat"})  # (q, k + 1) viewed as (k + 1, q) shifts each row by one


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event in operations(events, RESHAPES):
        source, result = event.arguments.get("x"), event.result
        if not isinstance(source, Tensor) or not isinstance(result, Tensor) or event.problem is not None:
            continue
        found = scramble(source.shape, result.shape)
        if found is not None and not is_meant(source):
            yield report(events, event, found)


def is_meant(source: Tensor) -> bool:
    """Whether the order of elements does not matter, or rows are shifted on purpose."""
    maker = made_by(source)
    while isinstance(maker, Operation) and maker.kind in PASSED and maker.operands:
        maker = made_by(maker.operands[0])
    if isinstance(maker, Operation) and maker.name in SHIFTS:
        return maker.name == "pad" or any(is_filling(made_by(operand)) for operand in maker.operands)
    return is_filling(maker)


def is_filling(maker: Event | None) -> bool:
    return isinstance(maker, Operation) and (maker.name in ALIKE or maker.kind is Kind.RANDOM)


def report(events: Sequence[Event], event: Operation, found: Scramble) -> Report:
    # Two views that undo each other's shapes are two mistakes: what lies between them is spoiled.
    source = event.arguments["x"]
    assert isinstance(source, Tensor)
    name, trace = name_of(event, source, "the source"), (clue(event, source),)
    if found.is_inside_axis:
        axis = source.shape.axes[found.moved.place]
        order = ", ".join(map(str, axis.parts))
        message = f"{name} {source.shape} is read as {event.result}, but its axis {found.moved.place} runs over "
        message += f"({order}): {found.before.size} comes before {found.moved.size} there"
        call = caller_of(events, event)
        return Report(event, message, trace, call.site if call is not None else None, stands_alone=True)
    message = (
        f"{name} {source.shape} is read as {event.result} in its own order, where {found.before.size} comes before "
        f"{found.moved.size}: elements of different {found.before.size} and {found.moved.size} are mixed; move the "
        "axis with transpose or permute first"
    )
    return Report(event, message, trace, stands_alone=True)
