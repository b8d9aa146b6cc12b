"""What becomes of a value next, and where its axes stand then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from shapelint.analysis.evidence import PLACE_KEEPING, axes_of, elements_of, within_call
from shapelint.analysis.index import once_per_file
from shapelint.domain.values import Int, Many, Tensor, Tuple, Union, Unknown, Value, maker_of
from shapelint.events import Call, Entered, Event, Input, Item, Joined, Kind, Left, Operation

MOST_USES = 64
MOST_ITEMS = 64

# Layers that leave all axes but the last where they are.
LAST_AXIS_LAYERS = frozenset({"linear", "layer_norm", "rms_norm", "embedding", "rnn", "attention", "transformer"})

Key = tuple[int, int]  # the event that made a value, and which of several results it is (0: the only one)


def key_of(value: Value) -> Key | None:
    """Equal for all mentions of what one event made; None where that is not known."""
    value = within_call(value.options[0] if isinstance(value, Union) and _is_one(value) else value)
    maker: Event | None = maker_of(value)
    if type(maker) is Operation:
        return id(maker), 0
    place = 0
    while (part := part_of(maker)) is not None:
        maker, index = part
        place = place * MOST_ITEMS + index + 1
    return (id(maker), place) if maker is not None else None


def _is_one(value: Union) -> bool:
    """Whether one operation gave the value, whose shape is one of several."""
    first = maker_of(value.options[0])
    return isinstance(first, Operation) and all(maker_of(option) is first for option in value.options)


def part_of(maker: Event | None) -> tuple[Event | None, int] | None:
    """For one of several results: what made them all, and which one it is."""
    match maker:
        case Item(of=event, index=index):
            return event, index
        case Input(kind="item", name=name, source=source) if source is not None and name.isdigit():
            return maker_of(source), int(name)
    return None


def is_same(value: Value | None, other: Value | None) -> bool:
    """Whether both are what one event made."""
    return value is not None and other is not None and (key := key_of(value)) is not None and key == key_of(other)


@once_per_file
def _consumers(events: Sequence[Event]) -> Iterator[Mapping[Key, Sequence[Event]]]:
    found: dict[Key, list[Event]] = {}
    for event in events:
        if type(event) is Operation or type(event) is Joined or type(event) is Call:
            given = event.args if type(event) is Call else event.values
            for key in {key for value in _parts(given) if (key := key_of(value)) is not None}:
                found.setdefault(key, []).append(event)
    yield found


def _parts(values: Sequence[Value]) -> Iterator[Value]:
    for value in values:
        match value:
            case Tuple(items=items):
                yield from _parts(items)
            case Many(item=item):
                yield from _parts((item,))
            case Union(options=options):
                yield value
                yield from _parts(options)
            case _:
                yield value


def consumers(events: Sequence[Event], value: Value | None) -> Sequence[Event]:
    """The operations, calls and joins that a value enters as it is, in execution order."""
    key = key_of(value) if value is not None else None
    return _consumers(events)[0].get(key, ()) if key is not None else ()


@dataclass(frozen=True, slots=True)
class Use:
    """An operation that a value enters, after steps that kept its axes, and where the axis in question stands then."""

    event: Operation
    operand: Value
    axis: int


def uses(events: Sequence[Event], value: Value, axis: int, alone: bool = False) -> Iterator[Use]:
    """What is done with a value, past what only changes its elements or moves the axis; `axis` as a Python index.

    Nothing is followed where the place of the axis is lost; with `alone` only what no other array has a part in.
    """
    queue, seen = [(value, axis)], {key_of(value)}
    for current, place in queue:
        for event in consumers(events, current):
            for result, kept in _onward(event, current, place, alone):
                if len(seen) < MOST_USES and key_of(result) not in seen:
                    seen.add(key_of(result))
                    queue.append((result, kept))
            if isinstance(event, Operation):
                yield Use(event, current, place)


def _onward(event: Event, operand: Value, axis: int, alone: bool) -> Iterator[tuple[Value, int]]:
    """The values in which the axis is still found, and where."""
    match event:
        case Joined():
            yield Unknown(made_by=event), axis
        case Operation(kind=Kind.CAST) if not any(is_same(operand, value) for value in elements_of(event)):
            return  # of y in x.type_as(y) the result has the dtype only
        case Operation(kind=kind) if kind in PLACE_KEEPING:
            result = made(event)
            kept = None if alone and _has_company(event, operand) else _beside(event, operand, axis)
            if kept is not None and result is not None:
                yield result, kept
        case Operation(name="transpose" | "permute" | "movedim" | "t"):
            place = moved(event, operand, axis)
            if place is not None and (result := made(event)) is not None:
                yield result, place
        case Operation(name="unsqueeze"):
            place = _beside_new(event, operand, axis)
            if place is not None and (result := made(event)) is not None:
                yield result, place
        case Operation(name=name, kind=Kind.LAYER) if name in LAST_AXIS_LAYERS and axis != -1:
            result = made(event)
            rank = operand.shape.rank if isinstance(operand, Tensor) else None
            if result is not None and is_same(operand, event.arguments.get("x")) and axis != (rank or 0) - 1:
                yield result, axis


def _has_company(event: Operation, operand: Value) -> bool:
    """Whether another array takes part; a number does not count."""
    others = (value for value in event.values if not is_same(value, operand))
    return any(isinstance(v, Tensor | Union) and not (isinstance(v, Tensor) and v.shape.rank == 0) for v in others)


def made(event: Operation) -> Value | None:
    """The value that an operation made, or the first of several, as its users have it."""
    match event.result:
        case Tensor(shape=shape, dtype=dtype, library=library):
            return Tensor(shape, dtype, library, made_by=event)
        case Tuple(items=(Tensor(shape=shape, dtype=dtype, library=library), *_)):
            return Tensor(shape, dtype, library, made_by=Item(event, 0))
        case Unknown() | Union():
            return Unknown(made_by=event)
    return None


def _beside(event: Operation, operand: Value, axis: int) -> int | None:
    """Where the axis stands in an elementwise result: other operands must not add axes in front of it."""
    if axis < 0:
        return axis
    for other in event.operands:
        if is_same(other, operand) or other.shape.rank == 0 or _is_of_one_rank(other, operand):
            continue
        ranks = other.shape.rank, operand.shape.rank if isinstance(operand, Tensor) else None
        if ranks[0] is None or (ranks[1] is not None and ranks[0] > ranks[1]):
            return None
    return axis


def _is_of_one_rank(other: Tensor, operand: Value) -> bool:
    """Whether both have the same unknown axes in the same place: weights that a layer has made of what they weigh."""
    if not isinstance(operand, Tensor) or other.shape.run is None or other.shape.run != operand.shape.run:
        return False
    a, b = other.shape, operand.shape
    return (len(a.head), len(a.tail)) == (len(b.head), len(b.tail))


def moved(event: Operation, operand: Value, axis: int) -> int | None:
    """Where a transpose or permute puts an axis; None where that is not known."""
    rank = operand.shape.rank if isinstance(operand, Tensor) else None
    match event.name:
        case "transpose" if "first" in event.arguments:
            pair = [_number(event.arguments.get(name), rank) for name in ("first", "second")]
            if None in pair or (rank is None and any((p or 0) * axis < 0 for p in pair)):
                return None
            place = axis % rank if rank else axis
            return pair[1] if place == pair[0] else pair[0] if place == pair[1] else place
        case "permute":
            order = axes_of(event)
            if not order:
                return None
            places = [index % len(order) for index in order]
            return places.index(axis % len(order)) if axis % len(order) in places else None
        case "t" | "transpose" if rank is not None:
            return rank - 1 - axis % rank
    return None


def _beside_new(event: Operation, operand: Value, axis: int) -> int | None:
    """Where an axis stands beside one that unsqueeze adds; None where they are counted from different ends."""
    new, rank = axes_of(event), operand.shape.rank if isinstance(operand, Tensor) else None
    if new is None or len(new) != 1:
        return None
    index = new[0] % (rank + 1) if rank is not None else new[0]
    place = axis % rank if rank else axis
    if (index < 0) != (place < 0):
        return None
    return place + (index <= place) if place >= 0 else place - (index >= place)


def _number(value: Value | None, rank: int | None) -> int | None:
    match value:
        case Int(dim=dim) if dim.value is not None:
            return dim.value % rank if rank else dim.value
    return None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of a project's function in which an event happened."""

    entered: Entered
    before: Sequence[Event]  # what happened in it before the event
    call: Call | None  # who called it; None where nobody did

    def has_made(self, value: Value) -> bool:
        """Whether a value was made there, rather than given to it."""
        maker = maker_of(value)
        maker = maker.of if isinstance(maker, Item) else maker
        return any(event is maker for event in self.before)


def evaluation_of(events: Sequence[Event], event: Event) -> Evaluation | None:
    """The innermost evaluation of a function that an event belongs to; None at the top level of a file."""
    at = next((index for index, other in enumerate(events) if other is event), None)
    depth = 0
    for start in range(at - 1, -1, -1) if at is not None else ():
        earlier = events[start]
        if type(earlier) is Left:
            depth += 1
        elif type(earlier) is Entered:
            if depth == 0:
                return Evaluation(earlier, events[start + 1 : at], _call_of(events, at or 0))
            depth -= 1
    return None


def _call_of(events: Sequence[Event], at: int) -> Call | None:
    """The call of a project's function in whose evaluation the event at a place happened."""
    depth = 0
    for index in range(at + 1, len(events)):
        other = events[index]
        if type(other) is Entered:
            depth += 1
        elif type(other) is Left:
            if depth == 0:
                following = events[index + 1] if index + 1 < len(events) else None
                return following if isinstance(following, Call) and following.callee is other.function else None
            depth -= 1
    return None
