"""Recurrent layers and cells, and the packed sequences that go through them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

from shapelint.domain.dims import Dim, anonymous, as_dim
from shapelint.domain.values import FALSE, NONE, TRUE, Axis, Int, Layer, Many, Shape, Tuple, Value, maker_of
from shapelint.events import Kind
from shapelint.ops.layer_axes import ONE_INT, ZERO_INT, expect, expect_rank, made, unknown_axis
from shapelint.ops.op import Op, Part, Result, Unknowable, flag, prepend, size_or_any, tensor
from shapelint.ops.runs import ends, hidden, joined, with_rank

PACKED = "torch.nn.utils.rnn.PackedSequence"


def directions(bidirectional: Value) -> Dim:
    """2 or 1; where nobody says which, as many for all layers that are given one flag."""
    try:
        return as_dim(2 if flag(bidirectional) else 1)
    except Unknowable:
        maker = maker_of(bidirectional)
        return anonymous(("directions", object() if maker is None else id(maker)))


def rnn(
    name: str,
    x: Value,
    input_size: Value,
    hidden_size: Value,
    num_layers: Value = ONE_INT,
    batch_first: Value = FALSE,
    bidirectional: Value = FALSE,
    proj_size: Value = ZERO_INT,
) -> Result:
    """(l, n, in) -> (l, n, d * out), (d * layers, n, out); n first where `batch_first`, or no n.

    An LSTM's state is a pair: (d * layers, n, out) and (d * layers, n, hidden).
    """
    width = size_or_any(hidden_size)
    projected = size_or_any(proj_size)
    out = width if projected == as_dim(0) else projected
    count = directions(bidirectional)
    layers = size_or_any(num_layers) * count
    if isinstance(x, Layer) and x.name == PACKED:
        batch: Axis | Shape = unknown_axis()
        output: Value | Shape = Layer(PACKED, {"width": Int(out * count), "batch_first": FALSE})
    else:
        shape = tensor(x).shape
        expect_rank(shape, (2, 3), name)
        if shape.run is not None and shape.least_rank == 3:  # more than three axes there can not be
            shape = with_rank(shape, 3)
        _, lead, (last,) = ends(shape, 0, 1)
        expect(last, input_size, f"{name} expects {{}} features", "the input's last axis")
        output = joined((), lead, (made(out * count),))
        batch = _batch(lead, batch_first)
    states = _states(batch, layers, out), _states(batch, layers, width)
    return (output, states if name == "LSTM" else states[0])  # type: ignore[return-value]


def _batch(lead: Shape, batch_first: Value) -> Axis | Shape:
    """The batch axis as the state has it; a shape where there may be none."""
    if lead.rank == 1:
        return Shape()
    axis = lead.axis(0) if flag(batch_first) else lead.axis(-1)
    if lead.rank == 2 and axis is not None:
        return axis
    return hidden(lead, "batch")


def _states(batch: Axis | Shape, layers: Dim, width: Dim) -> Shape:
    middle = Shape((batch,)) if isinstance(batch, Axis) else batch
    return joined((Axis(layers),), middle, (made(width),))


def cell(name: str, x: Value, input_size: Value, hidden_size: Value) -> Result:
    """(n, in) -> (n, hidden); an LSTM cell's state is a pair."""
    shape = tensor(x).shape
    expect_rank(shape, (1, 2), name)
    _, lead, (last,) = ends(shape, 0, 1)
    expect(last, input_size, f"{name} expects {{}} features", "the input's last axis")
    state = joined((), lead, (made(size_or_any(hidden_size)),))
    return (state, state) if name == "LSTMCell" else state


def pack(x: Value) -> Layer:
    """A packed sequence; what it holds is asked for when it is unpacked."""
    _, _, (last,) = ends(tensor(x).shape, 0, 1)
    return Layer(PACKED, {"width": Int(last.size), "batch_first": FALSE})


def unpack(sequence: Value, batch_first: Value = FALSE) -> Result:
    """-> (l, n, width) and the lengths (n,)"""
    if not isinstance(sequence, Layer) or sequence.name != PACKED:
        raise Unknowable("no packed sequence")
    length, batch = unknown_axis(), unknown_axis()
    width = Axis(size_or_any(sequence.config["width"]))
    lead = (batch, length) if flag(batch_first) else (length, batch)
    return Part(Shape((*lead, width))).shape, Part(Shape((batch,)), "int64")


def pad_sequence(sequences: Value, batch_first: Value = FALSE) -> Shape:
    """[(l, …), …] -> (longest, n, …), n first where `batch_first`."""
    match sequences:
        case Tuple(items=items) if items:
            count, first = Axis(as_dim(len(items))), items[0]
        case Many(item=first, length=Dim() as length):
            count = Axis(length)
        case _:
            count, first = unknown_axis(), getattr(sequences, "item", NONE)
    _, rest, _ = ends(tensor(first).shape, 1, 0)
    lead = (count, unknown_axis()) if flag(batch_first) else (unknown_axis(), count)
    return prepend(lead[0], prepend(lead[1], rest))


GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
WEIGHT = re.compile(r"(weight|bias)_(ih|hh)(?:_l(\d+)(_reverse)?)?")


def weight(kind: str, config: Mapping[str, Value], name: str) -> Shape | None:
    """`lstm.weight_ih_l0`, `gru.bias_hh_l1_reverse`, `cell.weight_hh`; None where the layer has no such weight."""
    found, family = WEIGHT.fullmatch(name), kind.removesuffix("Cell")
    if found is None or family not in GATES or (found[3] is None) != kind.endswith("Cell"):
        return None
    if found[4] and not flag(config.get("bidirectional", FALSE)):
        return None
    hidden, projected = size_or_any(config["hidden_size"]), size_or_any(config.get("proj_size", ZERO_INT))
    rows = made(hidden * GATES[family])
    if found[1] == "bias":
        return Shape((rows,)) if flag(config.get("bias", TRUE)) else None
    out = hidden if projected == as_dim(0) else projected
    if found[2] == "hh":
        return Shape((rows, made(out)))
    is_first = not found[3] or int(found[3]) == 0
    inputs = size_or_any(config["input_size"]) if is_first else out * directions(config.get("bidirectional", FALSE))
    return Shape((rows, made(inputs)))


RNN_ARGUMENTS = "input_size, hidden_size, num_layers, {}bias, batch_first, dropout, bidirectional, {}device, dtype"
SPELLINGS = {
    "LSTM": RNN_ARGUMENTS.format("", "proj_size, "),
    "GRU": RNN_ARGUMENTS.format("", ""),
    "RNN": RNN_ARGUMENTS.format("nonlinearity, ", ""),
}
CELLS = dict.fromkeys(("LSTMCell", "GRUCell"), "input_size, hidden_size, bias, device, dtype") | {
    "RNNCell": "input_size, hidden_size, bias, nonlinearity, device, dtype"
}
UTILS = "torch.nn.utils.rnn"

OPS: tuple[Op, ...] = (
    *(
        Op("rnn", partial(rnn, name), (f"torch.nn.{name}({arguments})",), Kind.LAYER, "same", inputs="input, hx")
        for name, arguments in SPELLINGS.items()
    ),
    *(
        Op("rnn_cell", partial(cell, name), (f"torch.nn.{name}({arguments})",), Kind.LAYER, "same", inputs="input, hx")
        for name, arguments in CELLS.items()
    ),
    Op("pack_padded_sequence", pack, (f"{UTILS}.pack_padded_sequence(input, lengths, batch_first, enforce_sorted)",)),
    Op("pad_packed_sequence", unpack, (f"{UTILS}.pad_packed_sequence(sequence, batch_first, padding_value)",)),
    Op("pad_sequence", pad_sequence, (f"{UTILS}.pad_sequence(sequences, batch_first, padding_value, padding_side)",)),
)
