"""What a call that goes through says of its arguments: a width is a number, and the input of a layer has that width."""

from __future__ import annotations

import re
from dataclasses import replace

import libcst as cst

from shapelint.dims import Truth, compare
from shapelint.interpreter import attributes, conditions
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments
from shapelint.ops import lookup
from shapelint.ops.runs import with_rank
from shapelint.scopes import learn
from shapelint.values import TRUE, Const, Int, Layer, Tensor, Tuple, Unknown

RECURRENT = frozenset({"torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN"})
WIDTHS = frozenset(
    {
        *("in_features", "out_features", "num_embeddings", "embedding_dim", "in_channels", "out_channels"),
        *("num_features", "input_size", "hidden_size", "embed_dim", "num_heads", "d_model", "nhead", "num_channels"),
        "num_groups",
    }
)


def widths_are_numbers(frame: Frame, callee: str, arguments: Arguments) -> None:
    """`nn.Linear(d, h)`: d and h are integers, although nothing says so where they come from."""
    spelling = lookup(callee)
    assert spelling is not None
    given = [*zip(spelling.positional, arguments.arg_nodes, arguments.args)]
    given += [(name, arguments.kwarg_nodes.get(name), value) for name, value in arguments.kwargs.items()]
    for name, node, value in given:
        if name in WIDTHS and isinstance(node, cst.Name) and isinstance(value, Unknown) and value.dim is not None:
            attributes.rebind(frame, node, Int(value.dim, value.graph, value.made_by))


def input_has_width(frame: Frame, layer: Layer, arguments: Arguments) -> None:
    """`linear(x)` outside of loops and branches: the last axis of x has in_features."""
    width, x = layer.config.get("in_features"), arguments.args[0] if arguments.args else None
    if frame.branch_depth or not isinstance(x, Tensor) or not isinstance(width, Int | Unknown) or width.dim is None:
        return
    last = x.shape.axis(-1)
    if last is not None and compare(last.size, width.dim) is Truth.UNDECIDED:
        learn(frame.facts, last.size, width.dim)


def sequences_have_batches(layer: Layer, arguments: Arguments) -> Arguments:
    """`nn.LSTM(..., batch_first=True)(x)`: who says where the batch stands has one, so that x has three axes."""
    x = arguments.args[0] if arguments.args else None
    if layer.name not in RECURRENT or layer.config.get("batch_first") != TRUE or not isinstance(x, Tensor):
        return arguments
    if x.shape.run is None or x.shape.least_rank > 3:
        return arguments
    batched = replace(x, shape=with_rank(x.shape, 3))
    return replace(arguments, args=(batched, *arguments.args[1:]))


def operands_have_ranks(frame: Frame, callee: str, arguments: Arguments) -> None:
    """`x.permute(0, 2, 1)`, `torch.einsum("bnd,bmd->bnm", x, y)`, `rearrange(x, "b t d -> ...")`: so many axes."""
    for node, value, rank in zip(arguments.arg_nodes, arguments.args, ranks(callee, arguments)):
        if rank is None or not isinstance(node, cst.Name):
            continue
        is_open = isinstance(value, Tensor) and value.shape.run is not None and value.shape.least_rank <= rank
        if is_open or isinstance(value, Unknown):
            conditions.has_rank(frame, node, rank)


def ranks(callee: str, arguments: Arguments) -> tuple[int | None, ...]:
    """How many axes each argument has, as far as the call says so."""
    match callee.rpartition(".")[2], arguments.args:
        case "permute", (_, Tuple(items=items)):
            return (len(items),)
        case "permute", (_, Int(), *rest):
            return (1 + len(rest),)
        case "bmm", _:
            return 3, 3
        case "einsum", (Const(value=str() as equation), *_) if "." not in equation:
            operands = equation.partition("->")[0].split(",")
            return (None, *(sum(map(str.isalpha, operand)) for operand in operands))
        case "rearrange" | "reduce" | "repeat", (_, Const(value=str() as pattern), *_) if callee.startswith("einops."):
            before = re.sub(r"\([^()]*\)", "x", pattern.partition("->")[0])
            return (None if "." in before else len(before.split()),)
    return ()


RANKED = frozenset({"permute", "bmm", "einsum", "rearrange", "reduce", "repeat"})
