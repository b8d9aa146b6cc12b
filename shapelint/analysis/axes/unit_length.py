"""Vectors that are given length 1: along which axis, and along which one they are used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.axes.normalised_axis import PRODUCTS, TURNS, Mismatch, is_made_by_features, one_axis, rank_of
from shapelint.analysis.evidence import PLACE_KEEPING, axes_of, keeps_axes, made_by
from shapelint.analysis.index import operations
from shapelint.analysis.uses import is_same, made, moved, uses
from shapelint.domain.dims import ONE
from shapelint.domain.values import NONE, Const, Float, Int, Value
from shapelint.events import Event, Operation

MOST_STEPS = 4


def normals(events: Sequence[Event]) -> Iterator[Mismatch]:
    """Vectors normalised along one axis and multiplied along another: with themselves, or with vectors of length 1."""
    for event in operations(events, {"normalize", "div"}):
        rank, output = rank_of(event.arguments.get("x")), made(event)
        axis = _unit_axis(output)
        if axis is None or rank not in {2, 3} or output is None:
            continue
        for use in uses(events, output, axis, alone=True):
            product, (x, y) = use.event, (use.event.arguments.get(name, NONE) for name in ("x", "y"))
            is_first = is_same(x, use.operand)
            if product.name not in PRODUCTS or not (is_first or is_same(y, use.operand)):
                continue
            rank = rank_of(use.operand) or rank
            maker, other = made_by(y), rank_of(y if is_first else x) or 0
            summed, meets = (rank - 1, other - 2) if is_first else (rank - 2, other - 1)
            is_own = isinstance(maker, Operation) and maker.name in TURNS and is_same(maker.arguments.get("x"), x)
            if use.axis % rank != summed and ((is_first and is_own) or _unit_axis(y if is_first else x) == meets):
                where = f"axis {summed}" if use.axis == axis else "another one"
                yield Mismatch(own_length(event) or event, axis, product, f"the product sums over {where}")
            break


def _unit_axis(value: Value | None) -> int | None:
    """The axis along which vectors were given length 1, from the front."""
    event = made_by(value) if value is not None else None
    x = event.arguments.get("x") if isinstance(event, Operation) else None
    if not isinstance(event, Operation) or x is None or rank_of(x) is None:
        return None
    if event.name == "normalize":
        return one_axis(event, default=1) if is_euclidean(event) else None
    if event.name == "div":
        length = own_length(event)
        return one_axis(length) if length is not None and is_euclidean(length) else None
    before = _unit_axis(x) if event.name in TURNS else None
    return moved(event, x, before) if before is not None else None


def is_euclidean(event: Operation) -> bool:
    """Whether squares are summed up: the default of each of the functions."""
    powers = {event.arguments[name] for name in ("p", "ord") if name in event.arguments}
    return powers <= {Float(2.0), Int(ONE + 1), NONE, Const("fro")}


def own_length(division: Operation) -> Operation | None:
    """`x.norm(dim=1, keepdim=True)` in a division of x by it, also where a small number is added or it is clamped."""
    x, current = division.arguments.get("x"), division.arguments.get("y", NONE)
    for _ in range(MOST_STEPS if division.name == "div" else 0):
        event = made_by(current)
        if not isinstance(event, Operation):
            break
        if event.name == "norm":
            return event if keeps_axes(event) and is_same(event.arguments.get("x"), x) else None
        operands = [operand for operand in event.operands if operand.shape.rank != 0]
        if event.kind not in PLACE_KEEPING or len(operands) != 1:
            break
        current = operands[0]
    return None


def divided_by_length(events: Sequence[Event]) -> Iterator[tuple[Operation, int]]:
    """Norms along another axis than the features, which a layer has put last, by which these are divided."""
    for event in operations(events, {"div"}):
        length = own_length(event)
        if length is not None and one_axis(length) is not None:
            yield from ((length, axis) for axis in features_last(length))


def features_last(event: Operation) -> Iterator[int]:
    """The axis that cosine_similarity, normalize or a norm works along where a layer has put the features last."""
    operands = event.operands
    rank = max((operand.shape.least_rank for operand in operands), default=0)
    axis = (axes_of(event) or (1,))[0] if event.arguments.get("dim", NONE) == NONE or axes_of(event) else None
    least = 2 if event.name == "cosine_similarity" else 3  # samples are normalised on purpose
    if rank < least or axis is None or axis % rank == rank - 1:
        return
    if any(is_made_by_features(operand) for operand in operands):
        yield axis % rank
