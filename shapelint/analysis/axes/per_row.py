"""Calls that work on one row at a time, in a round of a loop or comprehension: which, and on a row of what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shapelint.analysis import syntax
from shapelint.analysis.axes.squeezed import shows
from shapelint.analysis.evidence import PLACE_KEEPING, elementwise_sources, identity, made_by, written
from shapelint.analysis.index import once_per_file
from shapelint.analysis.iterations import CALLED, Round, variables
from shapelint.domain.dims import ONE, Origin
from shapelint.domain.record import record
from shapelint.domain.values import (
    NONE,
    Function,
    Instance,
    Int,
    Layer,
    Library,
    Method,
    Slice,
    Tensor,
    Tuple,
    Unknown,
    Value,
    maker_of,
)
from shapelint.events import Call, Event, Grown, Input, Item, Kind, Loop, Operation, Site
from shapelint.provenance import ancestors

FEWEST = 32  # a loop over heads, levels or layers is no loop over samples
MATMULS = frozenset({"matmul", "mv", "dot", "mm", "linear"})
INSERTING = frozenset({"unsqueeze", "expand_dims", "reshape", "view"})
DELAYED = frozenset({"joblib.delayed", "joblib.parallel.delayed", "dask.delayed"})
MOST_STEPS = 40
CONVERTING = frozenset({"tensor", "as_tensor", "from_numpy", "asarray", "FloatTensor", "Tensor"})


@record()
class Row:
    """One row: of what, in the author's words, and where it is taken."""

    name: str
    site: Site


def calls_of_models(found: Round) -> Iterator[Operation | Call]:
    """Calls of what has weights, and contractions; the callee is not another one in each round."""
    bound: frozenset[str] | None = None
    for event in found.events:
        match event:
            case Operation(kind=Kind.LAYER, layer=Layer()) | Operation(kind=Kind.CONTRACTION):
                is_model = event.layer is not None or event.name in MATMULS
            case Call(callee=Unknown() | Instance() as callee):
                is_model = isinstance(callee, Instance) or _is_value(callee)
            case Call(callee=Method(name=name)):
                is_model = name in CALLED
            case Call(callee=Function(name=name, owner=owner)):
                is_model = (name == "forward" and owner is not None) or _multiplies(found, event)
            case _:
                continue
        if not is_model or _is_shown(found, event):
            continue
        if bound is None:
            bound = variables(found.loop)
        if _is_operator(event) or not bound & syntax.names(syntax.called(event.site)):
            yield event


def is_new_model(found: Round, call: Operation | Call) -> bool:
    """Whether the round makes what it calls, as when one sample at a time is left out."""
    name = callee_of(call)
    return name in syntax.bound(found.loop.site)


def _is_shown(found: Round, call: Operation | Call) -> bool:
    """Whether each round draws what comes out: that is for few rows."""
    drawn = (e for e in found.events if isinstance(e, Call) and shows(e.callee))
    return any(earlier is call for event in drawn for earlier in ancestors(event, MOST_STEPS))


def _multiplies(found: Round, call: Call) -> bool:
    """Whether a function of the project multiplies the row that it is given by a matrix: `forward(params, x)`."""
    given = {id(event.site.node) for value in call.args if (event := _row_event(value)) is not None}
    vectors = (
        value
        for event in found.all_rounds
        if isinstance(event, Operation) and event.name in MATMULS and event.kind is Kind.CONTRACTION
        for value in event.operands
        if _may_be_row(value)
    )
    rows = (row for value in vectors if (row := _row_event(value)) is not None)  # of this round, or of one before
    return bool(given) and any(id(row.site.node) in given for row in rows)


def _row_event(value: Value) -> Operation | None:
    """The indexing by rounds that a vector, or what may be one, is the outcome of."""
    match maker_of(value):
        case Operation(name="getitem", arguments={"index": index}, result=Tensor() as row) as event:
            return event if _may_be_row(row) and _is_round(index) else None
    return None


def _may_be_row(value: Tensor) -> bool:
    """A vector, what may be one, or a table of one row."""
    return value.shape.rank in {1, None} or (value.shape.rank == 2 and value.shape.head[0].size == ONE)


def _is_value(callee: Unknown) -> bool:
    """A parameter, an attribute or what a call gave; an imported function is hardly a model, nor one that waits."""
    maker = maker_of(callee)
    if isinstance(maker, Call) and isinstance(maker.callee, Library) and maker.callee.name in DELAYED:
        return False
    return maker is not None and not (isinstance(maker, Input) and maker.kind == "import")


def is_used(found: Round, call: Event) -> bool:
    """Something is done with what comes out."""
    if found.is_comprehension:
        return True
    values = (value for event in found.events if event is not call for value in event.values)
    given = identity(call.result) if isinstance(call, Call) and isinstance(call.result, Tensor) else None
    is_taken = any(made_by(value) is call or identity(value) == given for value in values)
    return is_taken or syntax.is_appended(call.site, found.loop.site)  # nothing is told of lists of arrays


def callee_of(event: Operation | Call) -> str:
    """What is called, in the author's words; all of it for operators."""
    return event.site.text if _is_operator(event) else event.site.text.partition("(")[0]


def _is_operator(event: Operation | Call) -> bool:
    return isinstance(event, Operation) and event.layer is None


def row_of(found: Round, call: Operation | Call) -> Row | None:
    """The row that a call works on: one of a tensor, or an item that is made or treated as a batch of one."""
    rows = [row for value in _inputs(call) if (row := _row(found, value, call)) is not None]
    if not rows:
        return None
    if isinstance(call, Operation) and call.kind is Kind.CONTRACTION:
        if _is_made_anew(found, call) or (len(rows) == 1 and _varies(found, call)):
            return None
        ranks = {1, OF_UNKNOWN_RANK} if _fills_row(found, call) else {1}
        vectors = [row for row in rows if row[1] in ranks]
        return vectors[0][0] if vectors else (rows[0][0] if len(rows) == 2 else None)
    callee = call.callee if isinstance(call, Call) else None
    if isinstance(call, Call) and _is_of_pairs(call):
        return None
    if isinstance(callee, Unknown) and any(map(_is_choice, call.args if isinstance(call, Call) else ())):
        return None
    ranks = {BATCH_OF_ONE} if isinstance(callee, Method) and callee.function is None else {BATCH_OF_ONE, 1}
    if isinstance(call, Call) and isinstance(callee, Function) and _multiplies(found, call):
        ranks.add(OF_UNKNOWN_RANK)
    return next((row for row, rank in rows if rank in ranks), None)


def _is_choice(value: Value) -> bool:
    """A row of chosen classes: who is given it tells what they mean, word by word."""
    maker = maker_of(value) if isinstance(value, Tensor) and value.dtype == "int64" else None
    before = ancestors(maker, MOST_STEPS) if maker is not None else ()
    return any(isinstance(event, Operation) and event.name == "argmax" for event in before)


@once_per_file
def _has_networks(events: Sequence[Event]) -> Iterator[bool]:
    made = (event.result for event in events if type(event) is Operation)
    yield any(isinstance(value, Tensor | Layer) and is_of_networks(value) for value in made)


def is_of_networks(value: Tensor | Layer) -> bool:
    return (
        value.library in {"torch", "jax"} if isinstance(value, Tensor) else value.name.startswith(("torch.", "flax."))
    )


def is_left_to_caller(events: Sequence[Event], call: Operation | Call) -> bool:
    """Whether a function that the caller chose is given a row, in a file without networks: it says what it takes."""
    is_chosen = isinstance(call, Call) and isinstance(call.callee, Unknown)
    return is_chosen and not any(_has_networks(events))


def _is_of_pairs(call: Operation | Call) -> bool:
    """Whether a function is given two rows that do not go together, `kernel(x[i], x[j])`: it is one of pairs."""
    found: set[Value] = set()
    for value in _inputs(call):
        event = maker_of(value)
        if isinstance(event, Operation) and event.name == "getitem" and _is_round(index := event.arguments["index"]):
            found.add(index.items[0] if isinstance(index, Tuple) else index)
    return len(found) > 1


def _inputs(call: Operation | Call) -> tuple[Value, ...]:
    if isinstance(call, Call):
        return call.args
    return tuple(call.arguments[name] for name in ("x", "y") if name in call.arguments)


def _fills_row(found: Round, call: Operation) -> bool:
    """Whether the product becomes one row of a table, `out[i] = x[i] @ w`, or one number of a vector."""
    for event in found.events:
        match event:
            case Operation(name="setitem", arguments={"x": Tensor(shape=shape), "index": index, "value": value}):
                if shape.rank in {1, 2} and _is_round(index) and call in _elementwise(value):
                    return True
    return False


def _elementwise(value: Value) -> list[Event]:
    """What made a value, and what it was computed from element by element; it has one row of axes at most."""
    steps: list[Event] = []
    queue = [value]
    while queue and len(steps) < MOST_STEPS:
        event = made_by(queue.pop())
        if event is not None:
            steps.append(event)
        if isinstance(event, Operation) and event.kind in PLACE_KEEPING:
            queue.extend(event.values)
    return steps


def _varies(found: Round, call: Operation) -> bool:
    """Whether both operands are named by what a round binds: `A(t) @ x[t]`."""
    sites = [call.sites[name] for name in ("x", "y") if name in call.sites]
    return all(variables(found.loop) & syntax.names(site) for site in sites)


def _is_made_anew(found: Round, call: Operation) -> bool:
    """Whether each round finds out an operand for itself: `x[i] @ weights[kind]`, `x[i] @ w` after `w = ...`."""
    bound = syntax.bound(found.loop.site)
    for name in {"x", "y"} & call.sites.keys():
        is_row = _row(found, call.arguments[name], call) is not None
        site = syntax.index(call.sites[name]) if is_row else call.sites[name]
        if site is not None and bound & syntax.names(site):
            return True
    return False


BATCH_OF_ONE = -1
OF_UNKNOWN_RANK = -2


def _row(found: Round, value: Value, call: Event) -> tuple[Row, int] | None:
    """The row behind a value, and its rank, BATCH_OF_ONE or OF_UNKNOWN_RANK."""
    current, is_batch, is_made = value, False, False
    for _ in range(8):
        event = maker_of(current)
        if isinstance(event, Operation) and event.name in CONVERTING and event.values:
            current, is_made = event.values[0], is_made or _is_single(found, call)
            continue
        match event:
            case Operation(name="getitem", arguments={"x": Tensor() as table, "index": index}) if _is_round(index):
                if _is_small(table) or table.dtype == "object" or not syntax.stands_in(event.site, found.loop.site):
                    return None  # or it was taken before, and is the same one in each round
                name = written(event, table) or "the tensor"
                row = Row(_iterated(found.loop) if "(" in name else name, event.site)
                is_one = is_batch or isinstance(index, Slice)
                rank = event.result.shape.rank if isinstance(event.result, Tensor) else None
                return row, BATCH_OF_ONE if is_one else OF_UNKNOWN_RANK if rank is None else rank
            case Operation(name="getitem", arguments={"x": inner, "index": index}) if _inserts(index):
                current, is_batch = inner, True
            case Operation(name="cat", operands=parts) if not is_batch:  # the row beside what is the same in each round
                joined = (_row(found, part, call) for part in parts)
                return next((row for row in joined if row is not None and row[1] == 1), None)
            case Operation(name="t" | "transpose" | "T" | "mT", arguments={"x": inner}) if isinstance(call, Operation):
                current = inner
            case Operation(arguments={"x": inner}) if event.name in INSERTING or event.kind in PLACE_KEEPING:
                current, is_batch = inner, is_batch or (event.name in INSERTING and _begins_with_one(event.result))
            case (Input(kind="iteration") as own) | Item(of=Input(kind="iteration") as own) if own.source is not None:
                is_row = (is_batch and _is_kept(found, call)) or _is_picked(found, call) or is_made
                site = found.loop.iterable or found.loop.site
                return (Row(_iterated(found.loop), site), BATCH_OF_ONE) if is_row else None
            case Call(site=site) | Item(of=Call(site=site)) if is_batch and site == found.loop.iterable:  # __getitem__
                return (Row(_iterated(found.loop), site), BATCH_OF_ONE) if _is_kept(found, call) else None
            case Input(kind="item", site=site) if is_made or (is_batch and _is_kept(found, call)):
                indexed = re.search(r"([\w.]+)\[(\w+)\](?:\[0\])?$", site.text)  # images[i], and x, y = dataset[i]
                if indexed is None or indexed[2] not in variables(found.loop):
                    return None
                return Row(indexed[1], site), BATCH_OF_ONE
            case _:
                return None
    return None


def _is_round(index: Value) -> bool:
    """`i`, `i, :` and `i:i+1` where i counts rounds."""
    match index:
        case Int(dim=dim):
            return dim.symbol is not None and dim.symbol.origin in {Origin.DATA, Origin.ANONYMOUS}
        case Tuple(items=(first, *rest)):
            whole = Slice(NONE, NONE, NONE)
            return _is_round(first) and all(item == whole for item in rest)
        case Slice(start=Int() as start, stop=Int(dim=stop)):
            return _is_round(start) and stop - start.dim == ONE
    return False


def _inserts(index: Value) -> bool:
    first = index.items[0] if isinstance(index, Tuple) and index.items else index
    return first == NONE


def _begins_with_one(value: Value) -> bool:
    axis = value.shape.axis(0) if isinstance(value, Tensor) else None
    return axis is not None and axis.size == ONE


def _is_small(table: Tensor) -> bool:
    axis = table.shape.axis(0)
    count = axis.size.value if axis is not None else None
    return count is not None and count < FEWEST


def _is_kept(found: Round, call: Event) -> bool:
    return _is_gathered(found, call) or _is_single(found, call)


def _is_gathered(found: Round, call: Event) -> bool:
    """What the call gives is kept for each round, so that all rounds give the same shape."""
    made = {id(call)}
    if found.is_joined or syntax.is_appended(call.site, found.loop.site):
        return True
    for event in found.events:
        if any(id(maker) in made for value in event.values if (maker := made_by(value)) is not None):
            if _keeps_samples(event):
                made.add(id(event))
            if type(event) is Grown or (isinstance(event, Operation) and event.name == "setitem"):
                return True
    return False


def _keeps_samples(event: Event) -> bool:
    """Whether what comes of an array still has its axes, or those of a sample: no metrics of it."""
    if isinstance(event, Operation):
        return event.kind is not Kind.REDUCTION or event.arguments.get("dim", NONE) != NONE
    return isinstance(event, Call) and isinstance(event.result, Tensor)


def _is_single(found: Round, call: Event) -> bool:
    """What the call gives becomes one Python number, element by element or as a class: so it was given one sample."""
    for event in found.events:
        if isinstance(event, Operation) and event.name in {"item", "float", "int"} and event.values:
            steps = [made_by(source) for source in elementwise_sources(event.values[0])]
            chosen = [step.values[0] for step in steps if isinstance(step, Operation) and step.name == "argmax"]
            steps += [made_by(source) for value in chosen for source in elementwise_sources(value)]
            if any(step is not None and step.site.node is call.site.node for step in steps):
                return True
    return False


def _is_picked(found: Round, call: Event) -> bool:
    """`model(x)[y]` for x, y in zip(...): the first axis of what comes out are classes, not samples."""
    for event in found.events:
        if isinstance(event, Operation) and event.name == "getitem":
            index, of = event.arguments.get("index"), event.arguments.get("x")
            item = maker_of(index) if index is not None else None
            if not isinstance(item, Input) or item.kind != "iteration" or of is None:
                continue
            makers = (made_by(source) for source in elementwise_sources(of))
            if any(maker is not None and maker.site.node is call.site.node for maker in makers):
                return True
    return False


def _iterated(loop: Loop) -> str:
    """The author's words for what a loop goes through, past enumerate(...) and its like."""
    text = loop.iterable.text if loop.iterable is not None else ""
    found = re.match(r"(?:enumerate\(|zip\(|(?:\w+\.)?tqdm\()*([\w.\[\]]+)", text)
    return found[1] if found is not None else "the items"
