"""What a call that goes through says of its arguments: how many axes an array has, and which sizes are equal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

import libcst as cst

from shapelint.domain.dims import Truth, axis, compare
from shapelint.domain.record import record
from shapelint.domain.values import (
    NONE,
    TRUE,
    Const,
    Float,
    Int,
    Layer,
    Run,
    Shape,
    Slice,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    maker_of,
)
from shapelint.interpreter import attributes, subscripts
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.knowledge import learning
from shapelint.interpreter.operations import Arguments
from shapelint.interpreter.scopes import learn
from shapelint.ops import equations, lookup

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


@record()
class Use:
    """What a call says of one argument: its rank with names of its axes, or so many axes in front and at the end."""

    argument: int = 0
    rank: int | None = None
    names: tuple[str, ...] = ()
    front: int = 0
    back: int = 0
    sizes: Mapping[int, Value] = field(default_factory=dict)  # of axes by index


def informed(frame: Frame, uses: Iterator[Use], arguments: Arguments, node: cst.CSTNode) -> Arguments:
    """The arguments with what their use says of them, which is from now on known of these arrays everywhere."""
    args = list(arguments.args)
    for use in uses:
        if use.argument >= len(args):
            continue
        nodes, value = arguments.arg_nodes, args[use.argument]
        place = nodes[use.argument] if use.argument < len(nodes) else None  # None: written as a keyword before
        known = array(frame, value, use, place, node)
        if known is None:
            continue
        args[use.argument] = known
        is_nameless = maker_of(value) is None  # it has no identity by which it is known elsewhere
        if is_nameless and isinstance(place, cst.Name) and frame.scope.names.get(place.value) is value:
            attributes.rebind(frame, place, known)
        if not frame.branch_depth and isinstance(known, Tensor):
            have_sizes(frame, known, use.sizes)
    return replace(arguments, args=tuple(args))


def array(frame: Frame, value: Value, use: Use, place: cst.CSTNode | None, node: cst.CSTNode) -> Value | None:
    """An array of which all is known that its use says; None where it is none, or cannot be used like that."""
    match value:
        case Tensor():
            tensor = value
        case Unknown():
            tensor = Tensor(
                Shape((), Run("", value.made_by or object())), value.dtype, None, value.graph, value.made_by
            )
        case Union(options=options):
            each = (array(frame, option, replace(use, names=()), place, node) for option in options)
            found = tuple(known for known in each if known is not None)
            return (found[0] if len(found) == 1 else replace(value, options=found)) if found else None
        case _:
            return None
    text = subscripts.short_name(place) if isinstance(place, cst.BaseExpression) else "?"
    where = frame.place(node)
    if tensor.shape.run is None:
        return tensor
    if use.rank is not None:
        known = learning.with_rank(frame, tensor, use.rank, text, where)
        if known is not None and use.names:
            name_axes(frame, known, use.names, where)
        return known
    if use.back == 1 and is_whole(tensor.shape, use.sizes.get(-1)):
        return learning.with_rank(frame, tensor, len(tensor.shape.head), text, where)
    if len(tensor.shape.head) < use.front and not tensor.shape.tail:
        tensor = learning.with_axis(frame, tensor, use.front - 1, text, where)
    if len(tensor.shape.tail) < use.back and len(tensor.shape.head) <= use.front:
        tensor = learning.with_axis(frame, tensor, -use.back, text, where)
    return tensor


def is_whole(shape: Shape, features: Value | None) -> bool:
    """`Linear(x.shape[1], h)(x)`: who takes an axis counted from the front for the last one knows that it is."""
    last = shape.head[-1].size if shape.head and not shape.tail else None
    return isinstance(features, Int) and features.dim == last and features.dim.value is None


def name_axes(frame: Frame, tensor: Tensor, names: Sequence[str], scope: object) -> None:
    """Axes of unknown size take the names that a pattern gives them."""
    from shapelint.interpreter.flow.assignments import is_nameless

    for name, found in zip(names, tensor.shape.head):
        size = frame.known(Int(found.size))
        if name and isinstance(size, Int) and size.dim.symbol is not None and is_nameless(size.dim.symbol):
            learn(frame.facts, size.dim, axis(name, scope))


def have_sizes(frame: Frame, tensor: Tensor, sizes: Mapping[int, Value]) -> None:
    for index, value in sizes.items():
        found = tensor.shape.axis(index)
        known = value.dim if isinstance(value, Int | Unknown) else None
        if found is not None and known is not None and compare(found.size, known) is Truth.UNDECIDED:
            learn(frame.facts, found.size, known)


# Layers.

CONVOLUTIONS = {f"torch.nn.{kind}{n}d": n for kind in ("Conv", "ConvTranspose", "LazyConv") for n in (1, 2, 3)}
BATCHED = {"torch.nn.BatchNorm2d": 4, "torch.nn.BatchNorm3d": 5, "torch.nn.UpsamplingBilinear2d": 4}
WINDOWS = ("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool", "InstanceNorm", "ReflectionPad")
WINDOWED = {f"torch.nn.{kind}{n}d": n for kind in WINDOWS for n in (1, 2, 3)}
# Who says where the batch stands has one.
SEQUENCES = {
    **dict.fromkeys(("torch.nn.LSTM", "torch.nn.GRU", "torch.nn.RNN", "torch.nn.TransformerEncoderLayer"), 1),
    **dict.fromkeys(("torch.nn.TransformerDecoderLayer", "torch.nn.Transformer"), 2),
    "torch.nn.MultiheadAttention": 3,
}


def of_layer(layer: Layer, arguments: Arguments) -> Iterator[Use]:
    name, config = layer.name, layer.config
    if name == "torch.nn.Linear":
        yield Use(back=1, sizes={-1: config.get("in_features", NONE)})
    elif name in CONVOLUTIONS:
        axes = CONVOLUTIONS[name] + 1
        yield Use(back=axes, sizes={-axes: config.get("in_channels", NONE)})
    elif name in BATCHED:
        yield Use(rank=BATCHED[name])
    elif name in WINDOWED:
        yield Use(back=WINDOWED[name] + 1)
    elif name in {"torch.nn.BatchNorm1d", "torch.nn.GroupNorm", "torch.nn.SyncBatchNorm"}:
        yield Use(front=2)
    elif name == "torch.nn.LayerNorm":
        shape = config.get("normalized_shape", NONE)
        if isinstance(shape, Int | Unknown):
            yield Use(back=1, sizes={-1: shape} if isinstance(shape, Int) else {})
        elif isinstance(shape, Tuple):
            yield Use(back=len(shape.items))
    elif name in SEQUENCES and config.get("batch_first") == TRUE:
        width = next((config[key] for key in ("input_size", "d_model", "embed_dim") if key in config), NONE)
        yield from (Use(index, rank=3, sizes={} if index else {-1: width}) for index in range(SEQUENCES[name]))
    elif name == "torch.nn.Upsample":
        yield from resized(config.get("mode", NONE))
    elif name in {"torch.nn.CrossEntropyLoss", "torch.nn.NLLLoss"}:
        yield from (use for target in arguments.args[1:2] if isinstance(target, Tensor) for use in of_classes(target))


MODES = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}


def resized(mode: Value) -> Iterator[Use]:
    """Interpolation: the mode tells along how many axes."""
    if isinstance(mode, Const) and mode.value in MODES:
        yield Use(rank=MODES[str(mode.value)])


# Functions and methods.

RANKS: Mapping[str, tuple[int | None, ...]] = {
    "bmm": (3, 3),
    "baddbmm": (None, 3, 3),
    "mm": (2, 2),
    "addmm": (None, 2, 2),
    "mv": (2, 1),
    "conv1d": (None, 3),
    "conv2d": (None, 4),
    "conv3d": (None, 5),
}
ENDS: Mapping[str, int] = {
    "conv1d": 2, "conv2d": 3, "conv3d": 4, "max_pool1d": 2, "max_pool2d": 3, "max_pool3d": 4,
    "avg_pool1d": 2, "avg_pool2d": 3, "avg_pool3d": 4, "adaptive_avg_pool1d": 2, "adaptive_avg_pool2d": 3,
    "adaptive_avg_pool3d": 4, "adaptive_max_pool1d": 2, "adaptive_max_pool2d": 3, "pixel_shuffle": 3,
    "pixel_unshuffle": 3, "linear": 1,
}  # fmt: skip
AXES = frozenset({"transpose", "swapaxes", "swapdims", "unsqueeze", "flatten"})
JOINING = frozenset({"cat", "concat", "concatenate", "stack"})
EINOPS = frozenset({"rearrange", "reduce", "repeat"})
CLASSES = frozenset({"cross_entropy", "nll_loss"})
LISTS = frozenset({"array", "asarray"})
TELLING = frozenset({"permute", "einsum", "interpolate", *EINOPS, *RANKS, *ENDS, *AXES, *JOINING, *CLASSES, *LISTS})


def of_call(callee: str, arguments: Arguments) -> Iterator[Use]:
    """What the arguments are, as far as a library's function or method says so."""
    name = callee.rpartition(".")[2]
    match name, arguments.args:
        case "permute", (_, Tuple(items=items)):
            yield Use(rank=len(items))
        case "permute", (_, Int(), *rest):
            yield Use(rank=1 + len(rest))
        case "einsum", (Const(value=str() as equation), *_) if not {".", "{"} & set(equation):
            terms, result = equations.terms_of(equation)
            for index, operand in enumerate(terms):
                letters = tuple(c if c.isalpha() else "" for c in operand)  # jax has digits among the letters
                yield Use(index + 1, rank=len(letters), names=letters if equations.relates(terms, result) else ())
        case (("rearrange" | "reduce" | "repeat"), (_, Const(value=str() as pattern), *_)):
            if callee.startswith("einops.") and "{" not in pattern:
                before = re.sub(r"\([^()]*\)", "()", pattern.partition("->")[0]).split()
                if not any("." in group or group == "…" for group in before):
                    yield Use(rank=len(before), names=tuple(g if g.isidentifier() else "" for g in before))
        case "interpolate", _:
            mode = arguments.args[3] if len(arguments.args) > 3 else arguments.kwargs.get("mode", NONE)
            yield from resized(mode)
        case (("transpose" | "swapaxes" | "swapdims"), (_, Int(dim=a), Int(dim=b))):
            yield from indexed((a.value, b.value))
        case "unsqueeze", (_, Int(dim=a)) if a.value is not None:
            yield from indexed((a.value - 1 if a.value > 0 else a.value + 1 if a.value < -1 else None,))
        case "flatten", (_, Int(dim=a), *_) if not callee.startswith("numpy."):
            yield from indexed((a.value,))
        case (("cross_entropy" | "nll_loss"), (_, Tensor() as target, *_)) if callee.startswith("torch."):
            yield from of_classes(target)
    if name in RANKS:
        yield from (Use(index, rank=rank) for index, rank in enumerate(RANKS[name]) if rank is not None)
    if name in ENDS and callee.startswith("torch."):
        yield Use(back=ENDS[name])


def of_classes(target: Tensor) -> Iterator[Use]:
    """A loss over classes: for one index of a class each, the scores have one axis more."""
    if target.shape.rank is not None and target.dtype == "int64":
        first = target.shape.axis(0)
        yield Use(rank=target.shape.rank + 1, sizes={0: Int(first.size)} if first is not None else {})


def indexed(indices: Sequence[int | None]) -> Iterator[Use]:
    """There are axes at these indices."""
    front = max((index + 1 for index in indices if index is not None and index >= 0), default=0)
    back = max((-index for index in indices if index is not None and index < 0), default=0)
    if front and back:  # the same axis may be counted from both ends
        front, back = (front, 0) if front >= back else (0, back)
    if front or back:
        yield Use(front=front, back=back)


def of_index(index: Value) -> Iterator[Use]:
    """`x[:, :, 0]`, `x[..., 0]`: each index has an axis."""
    indices = index.items if isinstance(index, Tuple) else (index,)
    counts = [0]
    for one in indices:
        match one:
            case Const(value=value) if value is ...:
                counts.append(0)
            case Slice() | Int() | Const(value=str()):
                counts[-1] += 1
            case Tensor(shape=Shape(run=None), dtype=str() as dtype) if dtype != "bool":
                counts[-1] += 1
            case Const(value=None):
                pass
            case _:
                return  # a mask takes several
    if sum(counts) and len(counts) <= 2:
        yield Use(front=counts[0], back=counts[1] if len(counts) == 2 else 0)


def joined(frame: Frame, callee: str, arguments: Arguments, node: cst.CSTNode) -> Arguments:
    """`torch.cat([x, y])`: all have as many axes as one of them; stacked ones have one shape."""
    match arguments.args:
        case (Tuple(items=items) as sequence, *rest) if len(items) > 1:
            pass
        case _:
            return arguments
    ranks = {item.shape.rank for item in items if isinstance(item, Tensor)} - {None}
    least = 1 if callee.endswith("stack") else 2  # torch joins an empty (0,) to anything
    if len(ranks) != 1 or (rank := max(r for r in ranks if r is not None)) < least:
        return arguments
    may_be_lists = callee.startswith(("numpy.", "jax."))
    known: list[Value] = []
    for item in items:
        found = None if isinstance(item, Unknown) and may_be_lists else array(frame, item, Use(rank=rank), None, node)
        known.append(item if found is None else found)
    return replace(arguments, args=(replace(sequence, items=tuple(known)), *rest))


def of_lists(frame: Frame, sequence: Value, node: cst.CSTNode, rank: int | None) -> Value:
    """`np.array([[c, -s], [s, 0]])`: what stands beside numbers in a list is a number; `rank` is that of the whole."""
    match sequence:
        case Tuple(items=items):
            below = None if rank is None else rank - 1
            return replace(sequence, items=tuple(of_lists(frame, item, node, below) for item in items))
        case Tensor(shape=Shape(run=Run())) if rank is not None and rank >= 0:
            return array(frame, sequence, Use(rank=rank), None, node) or sequence
    return sequence


def ranks_of(sequence: Value) -> Iterator[int]:
    """How many axes an array of a list has, by each of its parts that tells."""
    match sequence:
        case Tuple(items=items):
            yield from (rank + 1 for item in items for rank in ranks_of(item))
        case Int() | Float():
            yield 0
        case Tensor(shape=Shape(head=head, run=None)):
            yield len(head)


def listed(frame: Frame, arguments: Arguments, node: cst.CSTNode) -> Arguments:
    match arguments.args:
        case (Tuple(kind="list" | "tuple") as sequence, *rest) if len(ranks := {*ranks_of(sequence)}) == 1:
            return replace(arguments, args=(of_lists(frame, sequence, node, *ranks), *rest))
    return arguments


def told(frame: Frame, callee: str, arguments: Arguments, node: cst.CSTNode) -> Arguments:
    """The arguments of a library's function or method with what the call says of them."""
    name = callee.rpartition(".")[2]
    if name in JOINING:
        return joined(frame, callee, arguments, node)
    if name in LISTS:
        return listed(frame, arguments, node) if callee.startswith(("numpy.", "jax.")) else arguments
    if not any(may_be_open(value) for value in arguments.args):
        return arguments
    return informed(frame, of_call(callee, arguments), arguments, node)


def may_be_open(value: Value) -> bool:
    return value.shape.run is not None if isinstance(value, Tensor) else isinstance(value, Unknown)


def told_by_layer(frame: Frame, layer: Layer, arguments: Arguments, node: cst.CSTNode) -> Arguments:
    """The arguments of a layer with what the call says of them."""
    if not isinstance(arguments.args[0] if arguments.args else None, Tensor | Unknown):
        return arguments
    return informed(frame, of_layer(layer, arguments), arguments, node)
