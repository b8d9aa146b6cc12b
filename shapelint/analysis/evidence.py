"""What rules read off events: what a value was computed from, who made an axis, and how to say it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from shapelint.analysis.index import events_of
from shapelint.domain.dims import ONE
from shapelint.domain.values import (
    FALSE,
    UNKNOWN,
    Int,
    Layer,
    Library,
    Maker,
    Method,
    Shape,
    Slice,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    maker_of,
    tensors_in,
)
from shapelint.events import Call, Event, Input, Item, Joined, Kind, Meeting, Operation, Site
from shapelint.ops.distributions import OTHERS, VECTOR
from shapelint.rule import Clue

LONGEST_NAME = 40
MOST_STEPS = 64

# Operations whose result lines up with their operands, axis by axis.
PLACE_KEEPING = frozenset({Kind.ELEMENTWISE, Kind.CAST, Kind.NORMALISATION, Kind.AUTOGRAD})
KEEPING_METHODS = frozenset({"to", "cuda", "cpu", "float", "half", "double", "bfloat16", "type"})


def made_by(value: Value) -> Event | None:
    """The event that made a value, past the tuple that it came in."""
    event = maker_of(value)
    return event.of if isinstance(event, Item) else event


def identity(value: Value) -> object:
    """Equal for two values only if they are one and the same at run time."""
    match maker_of(value):
        case None:
            return id(value) if value is not UNKNOWN else object()
        case Input(kind="attribute", name=name, source=source) if source is not None:
            return "attribute", name, identity(source)
        case Item(of=event, index=index):
            return id(event), index
        case event:
            return id(event)


def tensors_of(event: Operation) -> tuple[Tensor, ...]:
    """The tensors that an operation lines up, also a distribution's parameters: Normal(mean, std).log_prob(x)."""
    for layer in event.arguments.values():
        if type(layer) is Layer:
            own = [argument for name, argument in event.arguments.items() if name not in layer.config]
            return (*_parameters(layer), *tensors_in(own))
    return event.operands


def _parameters(layer: Layer) -> Iterator[Tensor]:
    """The parameters of a distribution, as its values line up with them: without the axis of what is chosen from.

    Vectors have an axis that is no part of the batch, in all that they are given.
    """
    kind = layer.name.rpartition(".")[2]
    for parameter in (
        tensors_in(layer.config.values()) if kind == "Categorical" or kind not in {*VECTOR, *OTHERS} else ()
    ):
        shape = parameter.shape
        if kind != "Categorical":
            yield parameter
        elif shape.axis(-1) is not None:
            side = Shape(shape.head[:-1]) if shape.run is None else Shape(shape.head, shape.run, shape.tail[:-1])
            yield replace(parameter, shape=side)


BROADCASTING: frozenset[str | Kind] = frozenset({Kind.ELEMENTWISE, "masked_select"})


def broadcasts(event: Operation) -> bool:
    """Whether an operation stretches its operands to one shape. torch.equal says False of two shapes instead."""
    return event.name == "masked_select" or (event.kind is Kind.ELEMENTWISE and event.name != "equal")


def feeds(value: Value) -> tuple[Value, ...]:
    """The values that `value` was computed from element by element, so that its axes stand where theirs do.

    Not those that may have been spread over a table: beside them stands a tensor that may have more axes.
    """
    match maker_of(value):
        case Operation(kind=kind) as event if kind in PLACE_KEEPING:
            operands = [v for v in elements_of(event) if isinstance(v, Tensor | Unknown | Union)]
            return tuple(v for v in operands if all(w is v or fits_into(w, v) for w in operands))
        case Joined(options=options):
            return options
        case event if event is not None and isinstance(callee := getattr(event, "callee", None), Method):
            return (callee.receiver,) if callee.name in KEEPING_METHODS else ()
    return ()


def elements_of(event: Operation) -> tuple[Value, ...]:
    """The arguments whose elements a result is made of: of y in `x.type_as(y)` it has the dtype only."""
    return event.values[:1] if event.kind is Kind.CAST else event.values


def fits_into(value: Value, other: Value) -> bool:
    """Whether `value` adds no axes to `other`: it has no more of them, or is a statistic of something."""
    if not isinstance(value, Tensor) or not isinstance(other, Tensor | Unknown):
        return isinstance(value, Unknown)
    axes = other.shape.least_rank if isinstance(other, Tensor) else 0
    return (value.shape.rank is not None and value.shape.rank <= axes) or is_statistic(value)


def least_rank(value: Value) -> int:
    return value.shape.least_rank if isinstance(value, Tensor) else 0


def is_statistic(value: Value, depth: int = 0) -> bool:
    """A reduction, or an elementwise function of reductions."""
    event = made_by(value)
    if not isinstance(event, Operation) or depth > 8:
        return False
    if event.kind is Kind.REDUCTION:
        return True
    operands = [operand for operand in event.operands if operand.shape.rank != 0]
    return event.kind in PLACE_KEEPING and bool(operands) and all(is_statistic(v, depth + 1) for v in operands)


def elementwise_sources(value: Value) -> Iterator[Value]:
    """`value` and all it was computed from element by element, nearest first."""
    queue, seen = [value], {identity(value)}
    for current in queue:
        yield current
        for source in feeds(current):
            if identity(source) not in seen and len(queue) < MOST_STEPS:
                seen.add(identity(source))
                queue.append(source)


def axes_of(event: Operation) -> tuple[int, ...] | None:
    """The axes that an operation works along, as written; None where they are not known or all of them."""
    match event.arguments.get("dim"):
        case Int(dim=dim) if dim.value is not None:
            return (dim.value,)
        case Tuple(items=items):
            found = tuple(i.dim.value for i in items if isinstance(i, Int) and i.dim.value is not None)
            return found if found and len(found) == len(items) else None
        case None if event.name in {"normalize", "cosine_similarity"}:
            return (1,)
    return None


def keeps_axes(event: Operation) -> bool:
    """Whether a reduction leaves 1 in the place of what it reduces, or may."""
    return event.arguments.get("keepdim", FALSE) != FALSE


def axis_out_of_range(event: Operation) -> int | None:
    """An axis that the operand does not have; None where all exist or little is known."""
    operand, axes = indexed(event), axes_of(event)
    if operand is None or operand.shape.rank is None or axes is None:
        return None
    rank = max(operand.shape.rank, 1)
    return next((axis for axis in axes if not -rank <= axis < rank), None)


def indexed(event: Operation) -> Tensor | None:
    """The operand whose axes an operation counts: its array, or the first of those that it joins."""
    match event.arguments:
        case {"x": Tensor() as x}:
            return x
        case {"tensors": Tuple(items=(Tensor() as x, *_))} if event.name == "cat":
            return x
    return None


def is_written(event: Operation) -> bool:
    """Whether the result goes into an array that keeps its shape: `x[i] = y`, `x += y`, `x.copy_(y)`, `out=x`."""
    if event.name in {"setitem", "copy_"} or event.in_place:
        return True
    return isinstance(event.arguments.get("out"), Tensor) and "does not fit into" in (event.problem or "")


def maker_event(value: Tensor, place: int) -> Event | None:
    """The event that put the axis of size 1 at `place` (-1 is the last one), past operations that kept it there."""
    current: Value = value
    for _ in range(MOST_STEPS):
        current = within_call(current)
        event = made_by(current)
        match event:
            case Operation(kind=Kind.LAYER | Kind.CONTRACTION | Kind.CREATION | Kind.RESHAPE | Kind.REDUCTION):
                return event
            case Operation() | Joined():
                before = [v for v in tensors_in(event.values) if is_one(v, place)]
                if not before or before[0] is current:
                    return event
                current = before[0]
            case _:
                return event
    return None


def within_call(value: Value) -> Value:
    """What a function returned, as it was made inside: a call that is like an earlier one has no body of its own."""
    match maker_of(value):
        case Item(of=Call(result=Tuple(items=items)), index=index) if index < len(items):
            return items[index]
        case Call(result=Tensor() as result):
            return result
    return value


def is_one(value: Tensor, place: int) -> bool:
    axis = value.shape.axis(place)
    return axis is not None and axis.size == ONE


def written(event: Operation, operand: Value) -> str:
    """The author's own words for an operand: the argument, or the item of a list, that it came in by; else empty."""
    for name, value in event.arguments.items():
        if name in event.sites:
            if value is operand:
                return event.sites[name].text
            for index, item in enumerate(value.items if isinstance(value, Tuple) else ()):
                if item is operand:
                    return event.sites[name].item(index).text
    return ""


def name_of(event: Operation, operand: Value, fallback: str = "the operand") -> str:
    """The author's words for an operand in backquotes, if they are short."""
    text = written(event, operand)
    return f"`{text}`" if 0 < len(text) <= LONGEST_NAME else fallback


MADE = {
    Maker.LAYER: "the layer has one output",
    Maker.KEEPDIM: "the reduction keeps the axis",
    Maker.GATHER: "the index has one column",
    Maker.ANNOTATION: "the annotation says 1",
    Maker.SLICE: "the slice takes one column",
    Maker.RESHAPE: "the reshape makes a column",
    Maker.INSERTED: "an axis is inserted",
    Maker.CREATED: "an array is created with an axis of 1",
    Maker.DATASET: "each item of the dataset is (1,)",
}


def clue(event: Operation, operand: Tensor, place: int | None = None) -> Clue:
    """What an operand is and what made it so; with `place`, what made the axis of size 1 there."""
    maker = made_by(operand) if place is None else maker_event(operand, place)
    text = f"{name_of(event, operand)} is {operand.shape}"
    match maker:
        case Operation(layer=Layer(made_by=Operation(site=site))) if place is not None and is_one(operand, place):
            return Clue(f"{text}: made by `{shortened(site.text)}`", site)
        case Operation(site=site) if site is not event.site:
            axis = operand.shape.axis(place) if place is not None else None
            why = f", where {MADE[axis.maker]}" if axis is not None and axis.maker is not None else ""
            made = f"`{shortened(site.text)}`"
            return Clue(text + why if made == name_of(event, operand) else f"{text}: made by {made}{why}", site)
        case Input(stated=stated, site=site) if stated:
            return Clue(f"{text}: the docstring or the comment beside it says {stated}", site)
        case Input(declaration=Site() as declaration, site=site) | Meeting(declaration=declaration, site=site):
            return Clue(f"{text}: annotated {shortened(declaration.text)}", site)
    return Clue(text, maker.site if maker is not None else None)


def shortened(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def reductions_behind(value: Value, depth: int = 0) -> tuple[Operation, ...]:
    """The keepdim-less reductions that `value` is made of, element by element; none where a full tensor is mixed in.

    `x.sum(1).clamp(min=1)`, `x.max(1).values`, `std + eps`, `mean.expand_as(x)`.
    """
    maker, event = maker_of(value), made_by(value)
    if not isinstance(event, Operation) or depth > 8:
        return ()
    if event.kind is Kind.REDUCTION:
        is_index = event.name.startswith("arg") or (
            isinstance(maker, Item) and maker.index == 1 and event.name in PAIRS
        )
        return () if is_index or keeps_axes(event) or axes_of(event) is None else (event,)
    is_mended = event.name == "setitem" and is_mask(event.arguments.get("index"))  # totals[totals == 0] = 1
    if event.kind not in PLACE_KEEPING and event.name not in {"expand_as", "expand"} and not is_mended:
        return ()
    only_first = event.name == "expand_as" or event.kind is Kind.CAST or is_mended
    operands = event.operands[:1] if only_first else event.operands
    found: list[Operation] = []
    for operand in operands:
        if operand.shape.rank != 0:
            behind = reductions_behind(operand, depth + 1)
            if not behind:
                return ()
            found.extend(behind)
    return tuple(found)


def is_mask(index: Value | None) -> bool:
    return isinstance(index, Tensor) and index.dtype == "bool"


PAIRS = frozenset({"max", "min", "median", "mode", "kthvalue"})  # values and indices


def is_misplaced(event: Operation, least_rank: int) -> bool:
    """Whether a reduction without keepdim moves an axis away from where its source has it.

    `least_rank` is how many axes the source has at least. An axis of size 1 does no harm anywhere.
    """
    axes, source = axes_of(event), event.arguments.get("x")
    if axes is None:
        return False
    rank = source.shape.rank if isinstance(source, Tensor) else None
    if rank is not None:
        axes = tuple(axis + rank if axis < 0 else axis for axis in axes)
    if all(axis >= 0 for axis in axes):
        before = set(range(max(axes))) - set(axes)
    elif all(axis < 0 for axis in axes):
        before = set(range(-least_rank, max(axes))) - set(axes)
    else:
        return False
    return any(not isinstance(source, Tensor) or not is_one(source, index) for index in before)


def least_ranks(events: Iterable[Event]) -> dict[object, int]:
    """How many axes each value has at least, by what is known of it anywhere: later uses count as well."""
    ranks: dict[object, int] = {}
    for event in events:
        if not isinstance(event, Operation):
            continue
        for operand in (value for value in event.values if isinstance(value, Tensor | Unknown)):
            least = least_rank(operand)
            if event.kind is Kind.REDUCTION and keeps_axes(event) and axes_of(event) is not None:
                least = max(least, 2)  # nobody keeps the axis of a vector
            if event.name == "getitem" and operand is event.arguments.get("x"):
                least = max(least, indexed_axes(event.arguments.get("index")))
            ranks[identity(operand)] = max(least, ranks.get(identity(operand), 0))
    return ranks


def indexed_axes(index: Value | None) -> int:
    """How many axes `x[:, 0]` asks for."""
    items = index.items if isinstance(index, Tuple) else (index,)
    return sum(isinstance(item, Int | Slice | Tensor) for item in items)


def works_by_label(events: Iterable[Event]) -> bool:
    """Whether pandas, xarray or scipy's sparse matrices are about: their reductions align otherwise."""
    for event in events:
        match event:
            case Call(callee=Library(name=name)) if name.startswith(BY_LABEL):
                return True
            case Input(annotation=annotation) if any(word in annotation for word in LABELLED):
                return True
    return False


BY_LABEL = ("pandas.", "xarray.", "polars.", "scipy.sparse", "numpy.matrix", "numpy.asmatrix")
LABELLED = ("DataFrame", "Series", "DataArray", "csr_", "csc_", "spmatrix", "sparray", "np.matrix")


def contradicted(events: Sequence[Event]) -> set[int]:
    """The reductions, by their place in the source, that make what contradicts an annotation: SHP203 tells of these."""
    met = (event.value for event in events_of(events, Meeting) if event.contradiction is not None)
    return {id(reduction.site.node) for value in met for reduction in reductions_behind(value)}


def may_have_rank_of(source: Value, reduced: Value) -> bool:
    """False for a bias (d,) beside what was reduced (n, d)."""
    ranks = [v.shape.rank for v in (source, reduced) if isinstance(v, Tensor)]
    return len(ranks) < 2 or None in ranks or ranks[0] == ranks[1]


def reduced_operands(event: Operation) -> Iterator[tuple[Operation, Value, tuple[Operation, ...]]]:
    """The operands of an event that are made of reductions, with these."""
    if event.problem is None and broadcasts(event):
        for value in event.values:
            if isinstance(value, Tensor | Unknown) and (reductions := reductions_behind(value)):
                yield event, value, reductions
