"""What the uses of a squeezed value say of the axis that a squeeze may remove."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shapelint.analysis.axes.batch_axis import is_last_state
from shapelint.analysis.evidence import PLACE_KEEPING, axes_of, made_by
from shapelint.analysis.index import events_of, once_per_file, places
from shapelint.analysis.uses import consumers, is_same, made, uses
from shapelint.domain.dims import ONE
from shapelint.domain.values import NONE, Instance, Int, Library, Method, Slice, Tensor, Tuple, Value, maker_of
from shapelint.events import Branch, Call, Event, Input, Kind, Operation, Stored, Written
from shapelint.provenance import ancestors

MOST_STEPS = 8
MOST_BETWEEN = 32  # events from where an axis is taken away to where it is put back
SHOWING: Mapping[str, frozenset[str]] = {
    "matplotlib": frozenset({"imshow", "imsave", "plot"}),
    "PIL": frozenset({"fromarray"}),
    "cv2": frozenset({"imshow", "imwrite"}),
    "imageio": frozenset({"imwrite", "imsave"}),
    "skimage": frozenset({"imshow", "imsave"}),
    "scipy": frozenset({"write"}),
    "soundfile": frozenset({"write"}),
    "torchaudio": frozenset({"save"}),
}
LEADING = frozenset({"stack", "permute", "transpose", "movedim"})  # axis 0 of what they give may count anything


def is_meant(events: Sequence[Event], event: Operation, operand: Tensor) -> bool:
    """Whether no use asks for the axis, or one says that it is to go."""
    if is_crop(operand) or is_of_parameters(events, operand) or is_put_back(events, event, only_if_lost=True):
        return True
    left = (operand.shape.rank or 0) - sum(axis.size == ONE for axis in operand.shape.axes)
    return is_harmless(events, event) or asks_for_fewer(events, event, left)


def is_put_back(events: Sequence[Event], event: Operation, only_if_lost: bool) -> bool:
    """Whether axis 0 is added again to what comes of a squeeze; with `only_if_lost`, along one of two paths.

    `m = x.squeeze()`, then `if m.dim() == 1: m = m.unsqueeze(0)`
    """
    start = next((place for place in places(events, {"squeeze"}) if events[place] is event), len(events))
    for place in places(events, {"unsqueeze"}):
        later = events[place]
        if place < start or not isinstance(later, Operation) or axes_of(later) != (0,):
            continue
        if not any(earlier is event for earlier in ancestors(later, MOST_BETWEEN)):
            continue
        ways = [event.way for event in events[start:place] if isinstance(event, Branch)]
        if not only_if_lost or ways.count(0) > ways.count(None):
            return True
    return False


def is_of_one_row(events: Sequence[Event], event: Operation) -> bool:
    """Whether axis 0 of the outcome is taken away next: it has one row, which lines up with all columns."""
    output = made(event)
    later = uses(events, output, 1) if output is not None else ()
    return any(use.event.name == "squeeze" and axes_of(use.event) == (0,) for use in later)


def is_harmless(events: Sequence[Event], event: Operation) -> bool:
    """Whether no use asks for the axis: one number is taken, or a column is filled."""
    taken = consumers(events, made(event))
    return bool(taken) and all(isinstance(use, Operation) and asks_nothing(events, use, event) for use in taken)


def asks_nothing(events: Sequence[Event], use: Operation, squeezed: Operation) -> bool:
    is_stored = use.name in {"setitem", "at_set"} and is_same(use.arguments.get("value"), made(squeezed))
    is_copy = use.kind in {Kind.CAST, Kind.ELEMENTWISE} or use.name == "clone"
    return use.name == "item" or is_stored or (is_copy and is_harmless(events, use))


def asks_for_fewer(events: Sequence[Event], event: Operation, left: int, depth: int = 0) -> bool:
    """Whether one sample is shown or written, or fewer axes than are left are put in an order.

    `picture.squeeze().permute(1, 2, 0)`, `write(path, rate, audio.squeeze().numpy())`
    """
    for use in consumers(events, made(event)):
        if isinstance(use, Call) and shows(use.callee):
            return True
        if not isinstance(use, Operation) or depth > MOST_STEPS:
            continue
        order = use.arguments.get("dim") if use.name == "permute" else None
        if isinstance(order, Tuple) and len(order.items) < left:
            return True
        goes_on = use.kind in PLACE_KEEPING or use.name in {"t", "transpose"} or keeps_all(use)
        if goes_on and asks_for_fewer(events, use, left, depth + 1):
            return True
    return False


def shows(callee: Value) -> bool:
    """Whether a function of a library shows one picture or sound, or writes it into a file."""
    package, _, rest = callee.name.partition(".") if isinstance(callee, Library) else ("", "", "")
    return package in SHOWING and rest.rpartition(".")[2] in SHOWING[package]


def is_crop(operand: Tensor) -> bool:
    """Whether the first two axes lost the same border: `picture[b : h - b, b : w - b]` has none for the samples."""
    event = made_by(operand)
    index = event.arguments.get("index") if isinstance(event, Operation) and event.name == "getitem" else None
    match index:
        case Tuple(items=(Slice(start=first), Slice(start=second), *_)):
            return first != NONE and first == second
    return False


def is_of_parameters(events: Sequence[Event], operand: Tensor) -> bool:
    """Whether all that it was computed from are Parameters, whose sizes are those of a model."""
    maker = made_by(operand)
    if maker is None:
        return False
    before = (maker, *ancestors(maker, MOST_STEPS))
    roots = [event for event in before if isinstance(event, Input)]
    if not roots and any(is_inherited(events, event) for event in before):
        return True
    first = next((event for event in roots if event.kind == "attribute"), None)
    if first is None or any(event is not first and not is_behind(event, first) for event in roots):
        return False
    return first.annotation.rpartition(".")[2] == "Parameter" or first.name in written_as_data(events)


def is_inherited(events: Sequence[Event], event: Event) -> bool:
    """Whether a method of an attribute is called that an object has from a base class which is not known here.

    No method of the file sets it, as they do with what comes in batches.
    """
    match event:
        case Call(callee=Method(receiver=Method(receiver=Instance() as owner, name=name, function=None))):
            stored = (e for e in events_of(events, Stored) if e.attribute == name)
            return name not in owner.attributes and not any(e.owner.cls is owner.cls for e in stored)
    return False


def is_behind(event: Event, first: Input) -> bool:
    """Whether an event is what the object came from whose attribute was taken."""
    maker = maker_of(first.source) if first.source is not None else None
    return maker is not None and (event is maker or any(earlier is event for earlier in ancestors(maker, MOST_STEPS)))


@once_per_file
def _written(events: Sequence[Event]) -> Iterator[str]:
    for event in events:
        values = (event.owner,) if isinstance(event, Written) and event.attribute == "data" else ()
        for maker in map(made_by, event.values if isinstance(event, Operation | Call) else ()):
            if isinstance(maker, Input) and maker.name == "data" and maker.source is not None:
                values = (*values, maker.source)
        yield from (maker.name for maker in map(made_by, values) if isinstance(maker, Input))


def written_as_data(events: Sequence[Event]) -> frozenset[str]:
    """The attributes of which `.data` is taken or replaced: only Parameters are handled so."""
    return frozenset(_written(events))


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
