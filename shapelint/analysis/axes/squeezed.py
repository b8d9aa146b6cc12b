"""What the uses of a squeezed value say of the axis that a squeeze may remove."""

from __future__ import annotations

from collections.abc import Sequence

from shapelint.analysis.axes.batch_axis import is_last_state
from shapelint.analysis.evidence import PLACE_KEEPING, made_by
from shapelint.analysis.uses import consumers, is_same, made
from shapelint.domain.dims import ONE
from shapelint.domain.values import NONE, Int, Tensor, Tuple
from shapelint.events import Event, Kind, Operation

MOST_STEPS = 8
LEADING = frozenset({"stack", "permute", "transpose", "movedim"})  # axis 0 of what they give may count anything


def is_meant(events: Sequence[Event], event: Operation, operand: Tensor) -> bool:
    """Whether no use asks for the axis, or one says that it is to go."""
    left = (operand.shape.rank or 0) - sum(axis.size == ONE for axis in operand.shape.axes)
    return is_harmless(events, event) or asks_for_fewer(events, event, left)


def is_harmless(events: Sequence[Event], event: Operation) -> bool:
    """Whether no use asks for the axis: one number is taken, or a column is filled."""
    taken = consumers(events, made(event))
    return bool(taken) and all(isinstance(use, Operation) and asks_nothing(events, use, event) for use in taken)


def asks_nothing(events: Sequence[Event], use: Operation, squeezed: Operation) -> bool:
    is_stored = use.name in {"setitem", "at_set"} and is_same(use.arguments.get("value"), made(squeezed))
    is_copy = use.kind is Kind.CAST or use.name in {"clone", "neg"}
    return use.name == "item" or is_stored or (is_copy and is_harmless(events, use))


def asks_for_fewer(events: Sequence[Event], event: Operation, left: int, depth: int = 0) -> bool:
    """Whether the axes are put in an order of fewer than are left: `picture.squeeze().permute(1, 2, 0)`."""
    for use in consumers(events, made(event)):
        if not isinstance(use, Operation) or depth > MOST_STEPS:
            continue
        order = use.arguments.get("dim") if use.name == "permute" else None
        if isinstance(order, Tuple) and len(order.items) < left:
            return True
        if (use.kind in PLACE_KEEPING or keeps_all(use)) and asks_for_fewer(events, use, left, depth + 1):
            return True
    return False


def keeps_all(use: Operation) -> bool:
    """Whether an index takes some of each axis, and none away."""
    index = use.arguments.get("index")
    items = index.items if isinstance(index, Tuple) and index.kind == "tuple" else (index,)
    return use.name == "getitem" and not any(item is None or isinstance(item, Int) or item == NONE for item in items)


def is_sample(operand: Tensor) -> bool:
    """Whether one sample of a batch was picked, so that no axis of what is left counts samples."""
    event = made_by(operand)
    if not isinstance(event, Operation) or event.name != "getitem":
        return False
    source, index = made_by(event.arguments.get("x", NONE)), event.arguments.get("index")
    first = index.items[0] if isinstance(index, Tuple) and index.items else index
    is_led_by_others = isinstance(source, Operation) and (source.name in LEADING or source.kind is Kind.LAYER)
    return isinstance(first, Int) and not is_led_by_others and not is_last_state(operand)
