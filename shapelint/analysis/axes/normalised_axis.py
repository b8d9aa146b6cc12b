"""Along which axis something was normalised or picked, against the axis along which it is used."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from shapelint.analysis.evidence import PLACE_KEEPING, axes_of, elementwise_sources, made_by, within_call
from shapelint.analysis.index import operations
from shapelint.analysis.uses import LAST_AXIS_LAYERS, Use, consumers, is_same, made, uses
from shapelint.domain.dims import ONE, Dim
from shapelint.domain.values import NONE, Const, GraphState, Int, Maker, Tensor, Tuple, Unknown, Value, options
from shapelint.events import Event, Joined, Kind, Operation, Site
from shapelint.ops.distributions import VECTOR
from shapelint.ops.equations import ELLIPSIS, terms_of

SOFTMAXES = frozenset({"softmax", "log_softmax", "softmin"})
PICKS = frozenset({"argmax", "argmin", "max", "min", "gather"})
PRODUCTS = frozenset({"matmul", "bmm", "mm"})
POOLED = frozenset({"sum", "mean"})
TURNS = frozenset({"t", "transpose", "permute", "mT"})
MOST_JOINED = 100
WIDTHS = ("in_features", "input_size", "embed_dim", "normalized_shape", "d_model")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An operation along one axis whose result is used along another by `use`."""

    event: Operation
    axis: int
    use: Operation
    used: str  # what the use does, and along which axis


def rank_of(value: Value | None) -> int | None:
    return value.shape.rank if isinstance(value, Tensor) else None


def one_axis(event: Operation, default: int | None = None) -> int | None:
    """The one axis that an operation works along, from the front where the rank is known."""
    axes = axes_of(event)
    if axes is None and event.arguments.get("dim", NONE) == NONE and default is not None:
        axes = (default,)
    if axes is None or len(axes) != 1:
        return None
    rank = rank_of(event.arguments.get("x"))
    return axes[0] % rank if rank else axes[0]


def differ(a: int, b: int, rank: int | None) -> bool:
    """Whether two axes are different ones for certain."""
    return a % rank != b % rank if rank else a != b and (a < 0) == (b < 0)


def softmaxes(events: Sequence[Event]) -> Iterator[Mismatch]:
    """Softmax along one axis, a choice, an average or a loss along another."""
    for event in operations(events, SOFTMAXES | {"gumbel_softmax"}):
        axis, output, rank = one_axis(event), made(event), rank_of(event.arguments.get("x"))
        if axis is None or output is None or rank == 1 or event.problem is not None:
            continue
        for use in uses(events, output, axis, alone=True):
            found = (
                _picked(use, axis, rank)
                or _in_loss(event, use)
                or _attended(event, use, axis)
                or _averaged(events, event, use)
                or _branched(events, event, use)
                or _in_equation(event, use)
                or _mixed(events, event, use)
                or _distributed(use)
                or _flattened(events, event, use)
                or _parted(events, event, use)
            )
            if found is not None:
                yield Mismatch(event, axis, use.event, found)
                break


def _picked(use: Use, axis: int, rank: int | None) -> str | None:
    """A class is chosen along the last axis of (samples, classes)."""
    if axis != 0 or rank not in {None, 2} or use.event.name not in PICKS or use.axis != 0:
        return None
    picked = one_axis(use.event)
    return f"{use.event.name} chooses along axis {picked}" if picked is not None and picked > 0 else None


def _in_loss(event: Operation, use: Use) -> str | None:
    loss = use.event
    if loss.callee.startswith("optax"):
        return None
    if loss.name == "nll_loss" and is_same(use.operand, loss.arguments.get("x")):
        wrong = use.axis == 0 or (rank_of(use.operand) not in {None, 1, 2} and use.axis != 1 and use.axis >= 0)
        return "nll_loss takes axis 1 for the classes" if wrong else None
    if loss.name == "kl_div" and is_same(use.operand, loss.arguments.get("x")):
        target = made_by(loss.arguments.get("target", NONE))
        if isinstance(target, Operation) and target.name in SOFTMAXES and event.name == "log_softmax":
            other = one_axis(target)
            if other is not None and differ(use.axis, other, rank_of(use.operand)):
                return f"the target of kl_div was normalised along axis {other}"
    return None


def _attended(event: Operation, use: Use, axis: int) -> str | None:
    """Attention weights are summed over with the values: along the last axis of the scores."""
    product = use.event
    if product.name not in PRODUCTS or not is_same(product.arguments.get("x"), use.operand):
        return None
    width = rank_of(use.operand) or (3 if product.name == "bmm" else 2 if _is_of_rows(event) else None)
    if product.name == "bmm" and width == 3 and use.axis % 3 == 0:
        return "bmm keeps axis 0 apart, and sums over the last one"
    if use.axis != axis or not differ(use.axis, -1 if width is None else width - 1, width):
        return None  # moved on purpose: soft clusters, pooled slots
    is_wrong = _of_scores(event) or _of_edges(event) or _picks_rows(event, product)
    return "the product sums over its last axis" if is_wrong else None


def _is_of_rows(event: Operation) -> bool:
    """Whether products of the rows of two tables are normalised, `q @ k.T`: nobody transposes a vector."""
    for source in elementwise_sources(event.arguments.get("x", NONE)):
        scores = made_by(source)
        if isinstance(scores, Operation) and scores.name in PRODUCTS:
            keys = made_by(scores.arguments.get("y", NONE))
            return rank_of(scores.arguments.get("x")) == 2 and isinstance(keys, Operation) and keys.name in TURNS
    return False


def _of_edges(event: Operation) -> bool:
    """Whether a square table is normalised in which what is no edge was masked: one row for each node."""
    x = event.arguments.get("x", NONE)
    maker = made_by(x)
    if not isinstance(x, Tensor) or not isinstance(maker, Operation) or maker.name not in {"masked_fill", "where"}:
        return False
    sizes = x.shape.sizes[-2:]
    return len(sizes) == 2 and sizes[0] == sizes[1]


def _of_scores(event: Operation) -> bool:
    """Whether products of vectors are normalised: queries times keys, also with what a branch adds."""
    queue = [*options(event.arguments.get("x", NONE))]
    for value in queue:
        scores = made_by(value)
        if isinstance(scores, Joined) and len(queue) < MOST_JOINED:
            queue.extend(scores.options)
        elif isinstance(scores, Operation) and scores.kind in PLACE_KEEPING and scores.operands:
            queue.extend(options(scores.values[0]) if len(queue) < MOST_JOINED else scores.operands[:1])
        elif isinstance(scores, Operation) and (scores.kind is Kind.CONTRACTION or _of_distances(scores)):
            return True
    return False


def _of_distances(event: Operation) -> bool:
    """Whether each vector's difference to each other one is summed up."""
    differences = (made_by(v) for v in elementwise_sources(event.arguments.get("x", NONE)))
    return event.name in {"sum", "norm"} and any(
        isinstance(e, Operation) and e.name == "sub" and e.broadcast is not None and e.broadcast.is_outer
        for e in differences
    )


def _picks_rows(event: Operation, product: Operation) -> bool:
    """Whether what a layer says of each row is to mix the rows of a learned table, as of a codebook."""
    table = product.arguments.get("y")
    is_learned = isinstance(table, Tensor) and table.shape.rank == 2 and table.graph.state is GraphState.LEAF
    return is_learned and is_made_by_features(event.arguments.get("x", NONE), {"linear"})


def _of_samples(event: Operation) -> bool:
    """Whether what a layer made of each sample is normalised over the samples."""
    x = event.arguments.get("x", NONE)
    return one_axis(event) == 0 and rank_of(x) == 2 and is_made_by_features(x, {"linear"})


def _in_equation(event: Operation, use: Use) -> str | None:
    """einsum sums over another letter of the weights, and keeps the one that they were normalised along."""
    equation, operands = (use.event.arguments.get(name) for name in ("equation", "operands"))
    if use.event.name != "einsum" or not isinstance(equation, Const) or not isinstance(operands, Tuple):
        return None
    terms, result = terms_of(str(equation.value))
    for term, operand in zip(terms, operands.items):
        if is_same(operand, use.operand) and ELLIPSIS not in term and -len(term) <= use.axis < len(term):
            in_all = set(result).intersection(*terms)  # heads that stand last are apart, as the samples are
            kept, summed = term[use.axis], next((letter for letter in reversed(term) if letter not in in_all), "")
            if summed == kept and _is_square(operand, use.axis):  # the keys are left, and the queries summed over
                summed = term[-2]
            if kept in result and summed not in result and summed and (_of_scores(event) or _of_samples(event)):
                return f"the equation sums over {summed}"
    return None


def _is_square(weights: Value, axis: int) -> bool:
    """Whether weights have as many rows as columns, the last axis being the one in question."""
    sizes = weights.shape.sizes if isinstance(weights, Tensor) and weights.shape.rank is not None else ()
    return len(sizes) > 1 and axis in {-1, len(sizes) - 1} and sizes[-1] == sizes[-2]


def _averaged(events: Sequence[Event], event: Operation, use: Use) -> str | None:
    """Weights times values, or log-probabilities times targets, summed along another axis than their own."""
    rank, product = rank_of(use.operand), made(use.event)
    if use.event.name != "mul" or not rank or product is None or not isinstance(use.operand, Tensor):
        return None
    axis = use.axis % rank - rank  # from behind: whatever the other factor is, the last axes line up
    last = use.operand.shape.head[-1].size
    pools_steps = axis in {-3, -2} and rank == 3 and last == ONE
    if event.name != "log_softmax" and not pools_steps and not (rank == 2 and last != ONE and _of_samples(event)):
        return None
    for later in uses(events, product, axis, alone=True):
        if later.event.name not in POOLED:
            continue
        summed = _from_behind(later.event)
        if summed is None or summed == later.axis or (pools_steps and summed != -5 - axis):
            return None
        if later.event.name == "mean" and not pools_steps:
            continue
        rest, kept = made(later.event), later.axis + (summed > later.axis)
        if rest is not None and any(_sums(other) for other in uses(events, rest, kept, alone=True)):
            return None
        return f"the product is summed over axis {axes_of(later.event)[0]}"  # type: ignore[index]
    return None


def _branched(events: Sequence[Event], event: Operation, use: Use) -> str | None:
    """Weights of branches, stacked as what they weigh is, and summed over the axis of the branches."""
    stacked, weights, product = made_by(within_call(event.arguments.get("x", NONE))), use.operand, use.event
    rank, branches = rank_of(weights), one_axis(stacked) if isinstance(stacked, Operation) else None
    if not isinstance(stacked, Operation) or stacked.name != "stack" or product.name != "mul" or not rank:
        return None
    if branches is None or not isinstance(weights, Tensor) or not differ(branches, use.axis, rank):
        return None
    others = [v for v in product.operands if v.shape.rank == rank and not is_same(v, weights)]
    if not any(a == ONE != b for v in others for a, b in zip(weights.shape.sizes, v.shape.sizes)):
        return None  # a mixture of what was normalised
    sums = (e for e in consumers(events, made(product)) if isinstance(e, Operation) and e.name == "sum")
    is_summed = any(_from_behind(later) == branches % rank - rank for later in sums)
    return f"the product is summed over axis {branches}, that of the branches" if is_summed else None


def _mixed(events: Sequence[Event], event: Operation, use: Use) -> str | None:
    """Logarithms of weights added to those of a mixture's parts, all of one shape, and summed along another axis."""
    rank, output = rank_of(use.operand), made(use.event)
    if event.name != "log_softmax" or use.event.name != "add" or not rank or use.axis % rank == rank - 1:
        return None
    if any(v.shape.rank != rank or ONE in v.shape.sizes for v in use.event.operands):
        return None  # steps of a chain: from each state to each other one
    sums = (later for later in consumers(events, output) if isinstance(later, Operation) and later.name == "logsumexp")
    return "logsumexp takes the last axis" if any(_from_behind(later) == -1 for later in sums) else None


def _distributed(use: Use) -> str | None:
    """A distribution over the last axis of what it is given."""
    event, rank = use.event, rank_of(use.operand)
    if event.name != "distribution" or not rank or use.axis % rank == rank - 1:
        return None
    name = event.callee.rpartition(".")[2]
    is_given = any(is_same(event.arguments.get(given), use.operand) for given in ("probs", "logits"))
    return f"{name} chooses along the last one" if is_given and name in VECTOR else None


def _flattened(events: Sequence[Event], event: Operation, use: Use) -> str | None:
    """(samples, steps, classes) read as (samples * steps, classes), for a loss."""
    later, rank = use.event, rank_of(use.operand)
    rows = later.result
    if event.name != "log_softmax" or later.kind is not Kind.RESHAPE or not rank or use.axis % rank == rank - 1:
        return None
    if not isinstance(rows, Tensor) or rows.shape.rank != 2 or not isinstance(use.operand, Tensor):
        return None
    output = made(later)
    if output is None or rows.shape.head[1].size != use.operand.shape.head[-1].size:
        return None
    losses = (found for found in consumers(events, output) if isinstance(found, Operation))
    is_meant = any(loss.name == "nll_loss" and is_same(loss.arguments.get("x"), output) for loss in losses)
    return "the last axis becomes that of the classes for nll_loss" if is_meant else None


def _parted(events: Sequence[Event], event: Operation, use: Use) -> str | None:
    """Scores (samples * queries, keys) that are normalised over all rows, and have their axes again for a product."""
    scores, later = event.arguments.get("x"), use.event
    if use.axis != 0 or rank_of(scores) != 2 or later.kind is not Kind.RESHAPE or not isinstance(scores, Tensor):
        return None
    weights, last = later.result, scores.shape.head[1].size
    is_merged = len(scores.shape.head[0].parts) > 1 or len(set(scores.shape.head[0].size.symbols())) > 1
    if not isinstance(weights, Tensor) or (weights.shape.rank or 0) < 3 or weights.shape.head[-1].size != last:
        return None
    given = made(later)
    products = (found for found in consumers(events, given) if isinstance(found, Operation) and found.name in PRODUCTS)
    is_summed = any(is_same(product.arguments.get("x"), given) for product in products)
    return "the product sums over its last axis" if is_merged and is_summed else None


def _from_behind(event: Operation) -> int | None:
    """The one axis of a reduction, as a negative index."""
    axis, rank = one_axis(event), rank_of(event.arguments.get("x"))
    return axis - rank if axis is not None and rank else axis if axis is not None and axis < 0 else None


def _sums(use: Use) -> bool:
    """Whether a sum takes the axis in question too."""
    axes = axes_of(use.event)
    return use.event.name == "sum" and (axes is None or use.axis in axes or _from_behind(use.event) == use.axis)


def is_made_by_features(value: Value, layers: Collection[str] = LAST_AXIS_LAYERS) -> bool:
    for source in elementwise_sources(value):
        event = made_by(source)
        if isinstance(event, Operation) and event.name in layers and event.kind is Kind.LAYER:
            return True
    return False


def of_one(events: Sequence[Event]) -> Iterator[tuple[Operation, Tensor, int]]:
    """Softmax along an axis of size 1 that a layer has made: every weight is 1."""
    for event in operations(events, SOFTMAXES):
        x, axis = event.arguments.get("x"), one_axis(event)
        if not isinstance(x, Tensor) or axis is None or event.problem is not None:
            continue
        found = x.shape.axis(axis)
        if found is not None and found.size == ONE and found.maker is Maker.LAYER:
            yield event, x, axis


def norms(events: Sequence[Event]) -> Iterator[tuple[Operation, str]]:
    """BatchNorm1d on features that stand last, LayerNorm on channels that stand second; with why."""
    for event in operations(events, {"batch_norm", "layer_norm"}):
        x, layer = event.arguments.get("x"), event.layer
        if not isinstance(x, Tensor) or layer is None or event.problem is not None or x.shape.least_rank < 3:
            continue
        count = _size(layer.config.get("num_features", layer.config.get("normalized_shape", NONE)))
        second, last = x.shape.axis(1), x.shape.axis(-1)
        if count is None or second is None or last is None:
            continue
        if event.name == "layer_norm":
            if count in {second.size, _as_made(x, 1)} and count != last.size:
                yield event, f"LayerNorm({count}) works along the last axis, {last}; its channels are axis 1"
        elif x.shape.rank == 3 and second.size != count and (last.size == count or _goes_on(events, event, count)):
            yield event, f"BatchNorm1d({count}) takes axis 1, {second}, for the features; they are the last axis"


def _as_made(x: Tensor, place: int) -> Dim | None:
    """The size of an axis as its maker gave it, before it was found to be another one."""
    made_so = getattr(made_by(x), "result", None)
    axis = made_so.shape.axis(place) if isinstance(made_so, Tensor) else None
    return axis.size if axis is not None else None


def _goes_on(events: Sequence[Event], event: Operation, count: Dim) -> bool:
    """Whether a layer for `count` features is given the result as it is."""
    output = made(event)
    for use in uses(events, output, 1) if output is not None else ():
        layer = use.event.layer
        if layer is None or use.axis != 1 or use.event.name not in LAST_AXIS_LAYERS:
            continue
        if any(_size(layer.config.get(width, NONE)) == count for width in WIDTHS):
            return True
    return False


def _size(value: Value) -> Dim | None:
    match value:
        case Int(dim=dim) | Unknown(dim=dim):
            return dim
        case Tuple(items=(Int(dim=dim),)):
            return dim
    return None


def place(events: Sequence[Event], event: Operation) -> Site:
    """The call; the constructor where several layers are called as one, as in nn.Sequential."""
    maker = built_at(event)
    if maker is None:
        return event.site
    others = (other for other in events if isinstance(other, Operation) and other.site.node is event.site.node)
    shared = any((other := built_at(later)) is None or other.node is not maker.node for later in others)
    return maker if shared else event.site


def built_at(event: Operation) -> Site | None:
    """Where the layer is constructed that is called; several objects of a class have one place."""
    return event.layer.made_by.site if event.layer is not None and event.layer.made_by is not None else None
