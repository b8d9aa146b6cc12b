"""Which axis of sequences (length, batch, features) is the batch: by what made them, and by what they meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.evidence import PLACE_KEEPING, axes_of, made_by, within_call
from shapelint.analysis.uses import LAST_AXIS_LAYERS, is_same, made, moved, part_of, uses
from shapelint.domain.dims import ONE, Dim
from shapelint.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Const,
    Int,
    Layer,
    Library,
    Maker,
    Many,
    Method,
    Shape,
    Slice,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    maker_of,
)
from shapelint.events import Call, Event, Item, Joined, Kind, Operation
from shapelint.provenance import ancestors

SEQUENCE_LAYERS = frozenset({"rnn", "attention", "transformer"})
PADDED = frozenset({"pad_sequence", "pad_packed_sequence"})
GRIDS = ("conv", "max_pool", "avg_pool", "adaptive")
ATTENDED = ("memory", "key", "value")
MASKS = ("key_padding_mask", "src_key_padding_mask")
ATTENTION_MASKS = ("attn_mask", "mask", "src_mask", "tgt_mask")
REPEATS = frozenset({"repeat", "expand", "tile"})
POOLED = frozenset({"mean", "sum", "max", "amax", "median", "logsumexp"})
MOST_DEPTH = 24


def is_batch_first(event: Operation) -> bool | None:
    """What a sequence layer was built for; None where that is not known, and for layers of others than torch."""
    if event.layer is not None and not event.layer.name.startswith("torch."):
        return None
    value = event.arguments.get("batch_first", FALSE)
    if event.layer is not None:
        value = event.layer.config.get("batch_first", FALSE)
        for inner in ("encoder_layer", "decoder_layer"):
            match event.layer.config.get(inner):
                case Layer(config=config):
                    value = config.get("batch_first", FALSE)
                case None:
                    pass
                case _:
                    return None
    return True if value == TRUE else False if value == FALSE else None


def batch_axis(value: Value | None, depth: int = 0) -> int | None:
    """The axis (0 or 1) that holds the samples, where what made the value tells; None where it does not."""
    value = within_call(value) if value is not None else None
    maker = maker_of(value) if value is not None else None
    if isinstance(value, Tensor) and (loaded := _loaded(value)) is not None:
        return loaded
    part = part_of(maker)
    event, index = part if part is not None else (maker, 0)
    if depth > MOST_DEPTH or not isinstance(event, Operation):
        return _of_options(event, depth)
    if event.name in SEQUENCE_LAYERS:
        known = is_batch_first(event) if index == 0 else None
        return None if known is None else int(not known)
    if event.name in PADDED:
        if index != 0:
            return None
        first = event.arguments.get("batch_first", FALSE)
        return 0 if first == TRUE else 1 if first == FALSE else None
    if event.name.startswith(GRIDS):
        return 0
    x = event.arguments.get("x")
    if event.name in {"transpose", "permute"}:
        before = batch_axis(x, depth + 1)
        return moved(event, x, before) if before is not None and x is not None else None
    if event.name in LAST_AXIS_LAYERS or (event.name == "flatten" and _starts_later(event)):
        return batch_axis(x, depth + 1)
    if event.name == "getitem":
        return 0 if value is not None and is_last_state(value) else _of_indexed(event, depth)
    if event.name == "unsqueeze":
        return _beside_new_axis(axes_of(event), batch_axis(x, depth + 1))
    if event.name in REPEATS and isinstance(x, Tensor) and isinstance(value, Tensor):
        return batch_axis(x, depth + 1) if x.shape.rank == value.shape.rank is not None else None
    if event.name == "cat":
        return _of_joined(event, depth)
    if event.name == "stack":
        return _of_stacked(event, depth)
    if event.name in POOLED and (axes := axes_of(event)) is not None and min(axes) > 1:
        return batch_axis(x, depth + 1)
    if event.kind in PLACE_KEEPING:
        return _of_elements(event, depth)
    return None


def _loaded(value: Tensor) -> int | None:
    """Where the samples stand that a DataLoader has put together."""
    for place, axis in enumerate(value.shape.head[:2]):
        if axis.maker is Maker.DATASET and axis.size != ONE:
            return place
    return None


def _of_options(event: Event | None, depth: int) -> int | None:
    match event:
        case Joined(options=options) if depth <= MOST_DEPTH:
            found = {batch_axis(option, depth + 1) for option in options}
            return found.pop() if len(found) == 1 else None
    return None


def _starts_later(event: Operation) -> bool:
    match event.arguments.get("start_dim"):
        case Int(dim=dim):
            return dim.value is not None and dim.value > 0
    return False


def _of_indexed(event: Operation, depth: int) -> int | None:
    """`x[:, 1:]` and `x[:, -1]` have the samples where x has them."""
    index = event.arguments.get("index")
    items = index.items if isinstance(index, Tuple) else (index,)
    before = batch_axis(event.arguments.get("x"), depth + 1)
    if before is None or not all(isinstance(item, Slice) for item in items[: before + 1]):
        return None
    return before if all(isinstance(item, Slice | Int) for item in items) else None


def _beside_new_axis(along: tuple[int, ...] | None, before: int | None) -> int | None:
    """A new axis stands before the samples, or behind them."""
    return before + (along[0] <= before) if before is not None and along is not None and along[0] >= 0 else None


def _of_joined(event: Operation, depth: int) -> int | None:
    """A learned token is put before the others: along the length."""
    along = axes_of(event) or (0,)
    if along[0] in {0, 1} and any(is_table(operand) for operand in event.operands):
        return 1 - along[0]
    found = {batch_axis(operand, depth + 1) for operand in event.operands} - {None}
    return found.pop() if len(found) == 1 else None


def _of_stacked(event: Operation, depth: int) -> int | None:
    tensors = event.arguments.get("tensors")
    items = tensors.items if isinstance(tensors, Tuple) else (tensors.item,) if isinstance(tensors, Many) else ()
    found = {batch_axis(item, depth + 1) for item in items}
    return _beside_new_axis(axes_of(event) or (0,), found.pop() if len(found) == 1 else None)


def _of_elements(event: Operation, depth: int) -> int | None:
    """A table of positions is the same for all samples."""
    operands = [value for value in event.values if isinstance(value, Tensor | Unknown | Union)]
    for operand in operands:
        found = batch_axis(operand, depth + 1)
        if found is not None:
            return found
    tables = [v for v in event.operands if is_table(v)] if event.name == "add" and len(operands) == 2 else []
    return place_of_samples(tables[0].shape) if len(tables) == 1 else None


def place_of_samples(table: Shape) -> int | None:
    """(1, length, d) and (length, d) are for samples along axis 0, (length, 1, d) along axis 1."""
    match table.rank, table.sizes:
        case 3, (first, second, _) if (first == ONE) != (second == ONE):
            return 0 if first == ONE else 1
        case 2, (first, _) if first != ONE:
            return 0
    return None


def is_table(value: Value, depth: int = 0) -> bool:
    """Whether a value is learned or computed without any input: a Parameter, positions through an embedding."""
    event = made_by(value)
    if not isinstance(event, Operation) or depth > MOST_DEPTH or event.kind is Kind.RANDOM:
        return False
    if event.name == "parameter":
        return True
    if event.kind is Kind.CREATION:
        return event.name in {"arange", "zeros", "empty"}
    operands = [operand for operand in event.operands if operand.shape.rank != 0]
    return bool(operands) and all(is_table(operand, depth + 1) for operand in operands)


def betrayed(event: Operation) -> str | None:
    """What else a sequence layer is given that contradicts the layout it was built for, in words."""
    first, x = is_batch_first(event), event.arguments.get("x")
    for name in ATTENDED if first is not None else ():
        given = batch_axis(event.arguments.get(name))
        if (leading_sample_axis(event, name) if given is None else given) == int(bool(first)):
            return f"`{name}` has samples along axis {int(bool(first))}"
    if first is None or not isinstance(x, Tensor) or x.shape.rank == 2:
        return None
    sizes = [axis.size if (axis := x.shape.axis(place)) is not None else None for place in (0, 1)]
    samples, length = sizes if first else sizes[::-1]
    if samples == length:
        return None
    for name, size in _claims(event):
        if size is not None and size == length:
            return f"{name} is made for {length} samples"
    for name, size in _lengths(event):
        if size is not None and size == samples:
            return f"{name} is made for a length of {samples}"
    return None


def _claims(event: Operation) -> Iterator[tuple[str, Dim | None]]:
    """What a layer's other arguments take for the number of samples."""
    hx = event.arguments.get("hx")
    for state in hx.items if isinstance(hx, Tuple) else (hx,):
        if isinstance(state, Tensor) and state.shape.rank == 3:
            yield "the initial state", state.shape.head[1].size
    for name in MASKS:
        mask = event.arguments.get(name)
        if isinstance(mask, Tensor) and mask.shape.rank == 2:
            yield f"`{name}`", mask.shape.head[0].size


def _lengths(event: Operation) -> Iterator[tuple[str, Dim | None]]:
    """What a layer's other arguments take for the length."""
    for name in ATTENTION_MASKS:
        match event.arguments.get(name):
            case Tensor(shape=shape) if shape.rank == 2 and shape.head[0] == shape.head[1]:
                yield f"`{name}`", shape.head[0].size
            case mask if mask is not None:
                match maker_of(mask):
                    case Call(callee=Method(name=called) | Library(name=called), args=(*_, Int(dim=size))) if (
                        called.endswith("generate_square_subsequent_mask")
                    ):
                        yield f"`{name}`", size


def leading_sample_axis(event: Operation, name: str = "x") -> int | None:
    """Where the samples of images (n, c, h, w) ended up in (length, batch, c); None where that is not known."""
    x = event.arguments.get(name)
    if not isinstance(x, Tensor) or x.shape.rank != 3:
        return None
    first, second, width = x.shape.head
    for earlier in ancestors(event, most=40):
        if not isinstance(earlier, Operation) or earlier.kind is Kind.LAYER:
            continue
        image = earlier.arguments.get("x")
        if not isinstance(image, Tensor) or image.shape.rank not in {4, 5} or image.shape.head[1].size != width.size:
            continue
        samples = image.shape.head[0].size
        if samples == ONE or samples.symbol is None:
            continue
        inside = [place for place, axis in enumerate((first, second)) if samples in axis.parts]
        if len(inside) == 1:
            return inside[0]
    return None


def read_otherwise(events: Sequence[Event], event: Operation, first: bool) -> Operation | None:
    """What picks the last of the samples, or pools over them, as if they were steps."""
    output = made(event)
    if output is None:
        return None
    for use in uses(events, output, 0 if first else 1):
        if picks_last(use.event, use.operand, use.axis):
            return use.event
        if use.event.name in POOLED and axes_of(use.event) == (use.axis,) and not first:
            return use.event
        if use.event.callee.lower().endswith(("pool1d", ".conv1d")) and use.axis in {2, -1} and not first:
            return use.event
        if takes_by_sample(use.event, use.operand, use.axis):
            return use.event
        if not first and joins_with_features(use.event, use.operand, use.axis):
            return use.event
    return None


def read_as_built(events: Sequence[Event], event: Operation, first: bool) -> bool:
    """Whether a convolution runs over the axis of its output that the layer takes for the length: it is one."""
    output = made(event)
    later = uses(events, output, int(first)) if output is not None else ()
    return any(use.event.callee.lower().endswith(("pool1d", ".conv1d")) and use.axis in {2, -1} for use in later)


def joins_with_features(event: Operation, operand: Value, axis: int) -> bool:
    """`x.flatten(1)`, `x.reshape(n, -1)`: axis 1 is joined with the features, for each of axis 0 apart."""
    if event.kind is not Kind.RESHAPE or axis != 1 or not is_same(event.arguments.get("x"), operand):
        return False
    if event.name == "flatten" and event.arguments.get("start_dim") == Int(ONE) and "end_dim" not in event.explicit:
        return True
    if not isinstance(operand, Tensor) or not isinstance(event.result, Tensor):
        return False
    shape, result = operand.shape, event.result.shape
    if shape.rank is None:  # of (length, features) nothing would be joined
        return len(shape.head) == 1 and result.rank == 2 and result.head[0].size == shape.head[0].size
    joined = result.axis(-1)
    if shape.rank != 3 or joined is None or ONE in shape.sizes[1:]:
        return False
    return joined.size == shape.sizes[1] * shape.sizes[2]


def takes_by_sample(event: Operation, operand: Value, axis: int) -> bool:
    """`x[torch.arange(n), last]`, one step of each sample, although `axis` says that they stand the other way round."""
    index = event.arguments.get("index")
    if event.name != "getitem" or not is_same(event.arguments.get("x"), operand) or not isinstance(index, Tuple):
        return False
    makers = [made_by(item) for item in index.items]
    ranges = [isinstance(maker, Operation) and maker.name == "arange" for maker in makers]
    is_pair = len(ranges) == 2 and all(isinstance(item, Tensor | Unknown) for item in index.items)
    return is_pair and ranges == [axis == 1, axis == 0]


def picks_last(event: Operation, operand: Value, axis: int) -> bool:
    """`x[:, -1]` for axis 1, `x[-1]` for axis 0."""
    if event.name != "getitem" or not is_same(event.arguments.get("x"), operand):
        return False
    index = event.arguments.get("index")
    items = index.items if isinstance(index, Tuple) else (index,)
    if len(items) <= axis or not all(item == Slice(NONE, NONE, NONE) for item in items[:axis]):
        return False
    match items[axis]:
        case Int(dim=dim) | Slice(start=Int(dim=dim), stop=Const(value=None)):
            return dim.value == -1
    return False


def states(event: Operation) -> Iterator[Value]:
    """The state of an RNN as its users have it; both parts of an LSTM's."""
    match event.result:
        case Tuple(items=(_, Tuple(items=parts))):
            yield from (Unknown(made_by=Item(Item(event, 1), index)) for index in range(len(parts)))
        case Tuple(items=(_, Tensor())):
            yield Unknown(made_by=Item(event, 1))


def is_last_state(value: Value, depth: int = 0) -> bool:
    """Whether a value has one row for each sample: `h[-1]` of an RNN's state, or both directions of it side by side."""
    event = made_by(value)
    if not isinstance(event, Operation) or depth > MOST_DEPTH:
        return False
    if event.name == "cat":
        return axes_of(event) in {(1,), (-1,)} and all(is_last_state(v, depth + 1) for v in event.operands)
    x, index = event.arguments.get("x", NONE), event.arguments.get("index")
    if event.name == "getitem":
        first, *rest = index.items if isinstance(index, Tuple) else (index,)
        return isinstance(first, Int) and all(item == Slice(NONE, NONE, NONE) for item in rest) and is_state(x)
    return (event.kind in PLACE_KEEPING or event.name == "dropout") and is_last_state(x, depth + 1)


def is_state(value: Value) -> bool:
    maker, index = maker_of(value), 0
    while (part := part_of(maker)) is not None:
        maker, index = part
    return isinstance(maker, Operation) and maker.name == "rnn" and index == 1


def is_turned(x: Value) -> bool:
    """Whether the author has just moved the batch axis for this layer."""
    event = made_by(x)
    if not isinstance(event, Operation) or event.name not in {"transpose", "permute"}:
        return False
    order = axes_of(event)
    return event.name == "transpose" or order is None or order != tuple(range(len(order)))
