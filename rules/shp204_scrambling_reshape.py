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

from shapelint.analysis.axes.reshaped import is_data, is_only_added, is_without
from shapelint.analysis.evidence import clue, made_by, name_of
from shapelint.analysis.index import events_of, operations
from shapelint.analysis.uses import evaluation_of
from shapelint.domain.dims import Origin
from shapelint.domain.rowmajor import Scramble, scramble
from shapelint.domain.values import Tensor, Union
from shapelint.events import Event, Kind, Operation, Site, Stored
from shapelint.rule import Report

AT_CALLS = True
RESHAPES = frozenset({"reshape", "unflatten", "reshape_as"})
ALIKE = frozenset({
    "zeros", "ones", "full", "empty", "arange", "linspace", "zeros_like", "ones_like", "full_like", "new_zeros",
    "new_ones", "new_full", "eye",
})  # fmt: skip
PASSED = frozenset({Kind.ELEMENTWISE, Kind.CAST, Kind.RESHAPE, Kind.INDEXING})
TILES = frozenset({"repeat", "tile"})
SHIFTS = frozenset({"pad", "cat"})  # (q, k + 1) viewed as (k + 1, q) shifts each row by one


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event in operations(events, RESHAPES):
        given, result = event.arguments.get("x"), event.result
        if not isinstance(result, Tensor) or event.problem is not None:
            continue
        sources = given.options if isinstance(given, Union) else (given,)
        found = [(x, scramble(x.shape, result.shape)) for x in sources if isinstance(x, Tensor)]
        if len(found) < len(sources) or any(why is None or is_meant(events, event, x, why) for x, why in found):
            continue  # on some path it is right
        source, scrambled = min(found, key=lambda pair: pair[0].shape.run is not None)
        assert scrambled is not None
        yield report(events, event, source, scrambled)


def is_meant(events: Sequence[Event], event: Operation, source: Tensor, found: Scramble) -> bool:
    """Whether the order of elements does not matter, or rows are shifted on purpose."""
    symbols = found.moved.size.symbol, found.before.size.symbol
    maker = made_by(source)
    if is_without(source.shape, event.result) or is_only_added(events, event, maker):
        return True
    if isinstance(maker, Operation) and maker.name in TILES and found.are_pairs and found.moved.place > 0:
        return True
    while isinstance(maker, Operation) and maker.kind in PASSED and maker.operands:
        maker = made_by(maker.operands[0])
    if isinstance(maker, Operation) and maker.name in SHIFTS:
        return maker.name == "pad" or any(is_filling(made_by(operand)) for operand in maker.operands)
    # Random numbers have no order, unless their author unpacks their axes and names them.
    is_unnamed = any(symbol is None or symbol.origin is not Origin.AXIS for symbol in symbols)
    return is_unnamed and is_filling(maker) and not is_buffer(events, maker) and not is_data(events, event, source)


def is_buffer(events: Sequence[Event], maker: Event | None) -> bool:
    """Zeros that are kept on self are there to be written into."""
    is_zeros = isinstance(maker, Operation) and maker.name in {"zeros", "empty"}
    return is_zeros and any(made_by(event.value) is maker for event in events_of(events, Stored))


def is_filling(maker: Event | None) -> bool:
    return isinstance(maker, Operation) and (maker.name in ALIKE or maker.kind is Kind.RANDOM)


def report(events: Sequence[Event], event: Operation, source: Tensor, found: Scramble) -> Report:
    # Two views that undo each other's shapes are two mistakes: what lies between them is spoiled.
    name, trace = name_of(event, event.arguments["x"], "the source"), (clue(event, source),)
    if found.is_inside_axis:
        axis = source.shape.axes[found.moved.place]
        order = ", ".join(map(str, axis.factors or (found.before.size, found.moved.size)))
        message = f"{name} {source.shape} is read as {event.result}, but its axis {found.moved.place} runs over "
        message += f"({order}): {found.before.size} comes before {found.moved.size} there"
        return Report(event, message, trace, giver(events, event, source), stands_alone=True)
    sizes = found.before.size, found.moved.size
    before, moved = (str(size) if size.value is None else f"the axis of size {size}" for size in sizes)
    message = (
        f"{name} {source.shape} is read as {event.result} in row-major order, where {before} comes before {moved}: a "
        "reshape moves no axis, so the elements are mixed up; transpose or permute first"
    )
    return Report(event, message, trace, stands_alone=True)


def giver(events: Sequence[Event], event: Operation, source: Tensor) -> Site | None:
    """The call that gave an array in this order to the function that reshapes it; None where it was made there."""
    evaluation = evaluation_of(events, event)
    if evaluation is None or evaluation.call is None or evaluation.has_made(source):
        return None
    return evaluation.call.site
