"""Rounds of loops and comprehensions: what works on one row at a time, and whether one needs what another left."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shapelint.dims import ONE, Origin
from shapelint.events import (
    Call,
    Carried,
    Comprehension,
    Ends,
    Entered,
    Event,
    Grown,
    Input,
    Item,
    Kind,
    Left,
    Loop,
    Operation,
    Site,
    Stored,
)
from shapelint.evidence import PLACE_KEEPING, elementwise_sources, identity, made_by
from shapelint.index import places_of
from shapelint.record import record
from shapelint.values import (
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

FEWEST = 32  # a loop over heads, levels or layers is no loop over samples
MATMULS = frozenset({"matmul", "mv", "dot", "mm", "linear"})
INSERTING = frozenset({"unsqueeze", "expand_dims", "reshape", "view"})
ACCUMULATING = frozenset({"add", "sub", "maximum", "minimum", "cat", "concatenate", "setitem"})
TRAINING = frozenset({"backward", "step", "zero_grad", "grad"})
CALLED = frozenset({"forward", "predict", "__call__"})
CONVERTING = frozenset({"tensor", "as_tensor", "from_numpy", "asarray", "FloatTensor", "Tensor"})
JOINING = frozenset({"stack", "cat", "concatenate", "vstack", "hstack", "tensor", "asarray"})
HARMLESS = CALLED | {"eval", "train", "to", "cuda", "cpu", "parameters", "named_parameters", "state_dict", "modules"}


@record(eq=False)
class Round:
    """The last round of a loop that is analysed: what happens in it, without loops and functions inside of it."""

    loop: Loop
    events: tuple[Event, ...]
    everything: tuple[Event, ...]  # also inside of loops and functions
    all_rounds: tuple[Event, ...]  # of the rounds before, too
    is_comprehension: bool = False
    is_joined: bool = False  # a comprehension whose elements become one array


@record()
class Row:
    """One row: of what, in the author's words, and where it is taken."""

    name: str
    site: Site


def last_rounds(events: Sequence[Event]) -> Iterator[Round]:
    """The last round of each loop over unknown items that the analysis went through twice, or once inside of others."""
    begun: list[tuple[Loop, int, int]] = []
    for place in sorted((*places_of(events, Loop), *places_of(events, Comprehension))):
        event = _as_loop(events[place])
        first = place
        if begun and begun[-1][0].site.node is event.site.node:
            loop, start, first = begun.pop()
            if event.round is None:
                inside, whole = tuple(events[start + 1 : place]), tuple(events[first + 1 : place])
                is_element = isinstance(events[place], Comprehension)
                is_joined = is_element and _is_joined(loop, events[place + 1 : place + 2])
                yield Round(loop, tuple(_own(inside)), inside, whole, is_element, is_joined)
        if event.round is not None:
            begun.append((event, place, first))


def _is_joined(loop: Loop, after: Sequence[Event]) -> bool:
    """`torch.stack([model(x) for x in xs])`: all elements have one shape."""
    return any(isinstance(e, Operation) and e.name in JOINING and loop.site.text in e.site.text for e in after)


def _as_loop(event: Event) -> Loop:
    if isinstance(event, Comprehension):
        return Loop(event.site, 0 if event.begins else None, event.target, event.iterable)
    assert isinstance(event, Loop)
    return event


def _opens(event: Event) -> bool:
    return type(event) is Entered or (type(event) in {Loop, Comprehension} and _as_loop(event).round == 0)


def _closes(event: Event) -> bool:
    return type(event) is Left or (type(event) in {Loop, Comprehension} and _as_loop(event).round is None)


def _own(events: Sequence[Event]) -> Iterator[Event]:
    depth = 0
    for event in events:
        if _closes(event):
            depth -= 1
        elif depth == 0 and type(event) not in {Entered, Loop, Comprehension}:
            yield event
        if _opens(event):
            depth += 1


def calls_of_models(found: Round) -> Iterator[Operation | Call]:
    """Calls of what has weights, and contractions; the callee is not another one in each round."""
    variables: set[str] | None = None
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
        if not is_model or not _is_used(found, event):
            continue
        if variables is None:
            variables = _variables(found.loop)
        if _is_operator(event) or not variables & set(re.findall(r"\w+", callee_of(event))):
            yield event


def _variables(loop: Loop) -> set[str]:
    """The names that each round of a for loop binds anew."""
    return set(re.findall(r"\w+", loop.target.text)) if loop.target is not None else set()


def _multiplies(found: Round, call: Call) -> bool:
    """Whether a function of the project multiplies the row that it is given by a matrix: `forward(params, x)`."""
    given = {id(event) for value in call.args if (event := _row_event(value)) is not None}
    vectors = (
        value
        for event in found.all_rounds
        if isinstance(event, Operation) and event.name in MATMULS and event.kind is Kind.CONTRACTION
        for value in event.operands
        if value.shape.rank in {1, None}
    )
    return bool(given) and any(id(_row_event(value)) in given for value in vectors)


def _row_event(value: Value) -> Event | None:
    """The indexing by rounds that a vector, or what may be one, is the outcome of."""
    match maker_of(value):
        case Operation(name="getitem", arguments={"index": index}, result=Tensor() as row) as event:
            return event if row.shape.rank in {1, None} and _is_round(index) else None
    return None


def _is_value(callee: Unknown) -> bool:
    """A parameter, an attribute or what a call gave; an imported function is hardly a model."""
    maker = maker_of(callee)
    return maker is not None and not (isinstance(maker, Input) and maker.kind == "import")


def _is_used(found: Round, call: Event) -> bool:
    """Something is done with what comes out."""
    if found.is_comprehension:
        return True
    values = (value for event in found.events if event is not call for value in event.values)
    given = identity(call.result) if isinstance(call, Call) and isinstance(call.result, Tensor) else None
    return any(made_by(value) is call or identity(value) == given for value in values)


def callee_of(event: Operation | Call) -> str:
    """What is called, in the author's words; all of it for operators."""
    return event.site.text if _is_operator(event) else event.site.text.partition("(")[0]


def _is_operator(event: Operation | Call) -> bool:
    return isinstance(event, Operation) and event.layer is None


def row_of(found: Round, call: Operation | Call) -> Row | None:
    """The row that a call works on: one of a tensor, or an item that is made or treated as a batch of one."""
    rows = [row for value in _inputs(call) if (row := _row(found, value, call)) is not None]
    if isinstance(call, Operation) and call.kind is Kind.CONTRACTION:
        if _is_looked_up(found, call) or (len(rows) == 1 and _varies(found, call)):
            return None
        vectors = [row for row in rows if row[1] == 1]
        return vectors[0][0] if vectors else (rows[0][0] if len(rows) == 2 else None)
    callee = call.callee if isinstance(call, Call) else None
    ranks = {BATCH_OF_ONE} if isinstance(callee, Method) and callee.function is None else {BATCH_OF_ONE, 1}
    if isinstance(callee, Function):  # which multiplies the row
        ranks.add(OF_UNKNOWN_RANK)
    return next((row for row, rank in rows if rank in ranks), None)


def _inputs(call: Operation | Call) -> tuple[Value, ...]:
    if isinstance(call, Call):
        return call.args
    return tuple(call.arguments[name] for name in ("x", "y") if name in call.arguments)


def _varies(found: Round, call: Operation) -> bool:
    """Whether both operands are named by what a round binds: `A(t) @ x[t]`."""
    words = [set(re.findall(r"\w+", call.sites[name].text)) for name in ("x", "y") if name in call.sites]
    return all(_variables(found.loop) & named for named in words)


def _is_looked_up(found: Round, call: Operation) -> bool:
    """Whether an operand is picked by a number that the round finds out: `x[i] @ weights[kind]`."""
    picked = [re.search(r"\[(\w+)\]$", call.sites[name].text) for name in ("x", "y") if name in call.sites]
    return any(m and re.search(rf"\b{m[1]} ?= ?[^=]", found.loop.site.text) for m in picked)


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
                if _is_small(table):
                    return None
                name = event.name_of(table, "the tensor")
                row = Row(_iterated(found.loop) if "(" in name else name, event.site)
                is_one = is_batch or isinstance(index, Slice)
                rank = event.result.shape.rank if isinstance(event.result, Tensor) else None
                return row, BATCH_OF_ONE if is_one else OF_UNKNOWN_RANK if rank is None else rank
            case Operation(name="getitem", arguments={"x": inner, "index": index}) if _inserts(index):
                current, is_batch = inner, True
            case Operation(name="cat", operands=parts) if not is_batch:  # the row beside what is the same in each round
                joined = (_row(found, part, call) for part in parts)
                return next((row for row in joined if row is not None and row[1] == 1), None)
            case Operation(arguments={"x": inner}) if event.name in INSERTING or event.kind in PLACE_KEEPING:
                current, is_batch = inner, is_batch or (event.name in INSERTING and _begins_with_one(event.result))
            case (Input(kind="iteration") as own) | Item(of=Input(kind="iteration") as own) if own.source is not None:
                is_row = (is_batch and _is_kept(found, call)) or _is_picked(found, call) or is_made
                site = found.loop.iterable or found.loop.site
                return (Row(_iterated(found.loop), site), BATCH_OF_ONE) if is_row else None
            case Call(site=site) | Item(of=Call(site=site)) if is_batch and site == found.loop.iterable:  # __getitem__
                return (Row(_iterated(found.loop), site), BATCH_OF_ONE) if _is_kept(found, call) else None
            case Input(kind="item", site=site) if is_batch and _is_kept(found, call):
                indexed = re.search(r"([\w.]+)\[(\w+)\](?:\[0\])?$", site.text)  # images[i], and x, y = dataset[i]
                if indexed is None or indexed[2] not in _variables(found.loop):
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
    if found.is_joined:
        return True
    for event in found.events:
        if any(id(maker) in made for value in event.values if (maker := made_by(value)) is not None):
            made.add(id(event))
            if type(event) is Grown or (isinstance(event, Operation) and event.name == "setitem"):
                return True
    return False


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
    found = re.match(r"(?:enumerate\(|zip\(|tqdm\()*([\w.\[\]]+)", text)
    return found[1] if found is not None else "the items"


def is_independent(found: Round) -> bool:
    """Whether no round uses what an earlier one left, trains, or ends the loop."""
    before = [event.before for event in found.everything if type(event) is Carried]
    carried = {identity(part) for value in before for part in (value.items if isinstance(value, Tuple) else (value,))}
    carried |= {identity(value) for value in before}
    for event in found.everything:
        match event:
            case Stored(method=method) if method != "__init__":
                return False
            case Operation(name=name) | Call(callee=Method(name=name)) if name in TRAINING:
                return False
            case Call(callee=Library(name=name)) if name.rpartition(".")[2] in TRAINING:
                return False
            case Operation(name=name) if name in ACCUMULATING:
                continue
            case Operation() | Call() if any(_is_of(value, carried) for value in event.values):
                return False
    return not any(type(event) is Ends and event.how in {"break", "return"} for event in found.events)


def is_changed(found: Round, call: Operation | Call) -> bool:
    """Whether the round does something else to what is called, or hands it to somebody: it may learn."""
    match call:
        case Call(callee=Method(receiver=model)) | Call(callee=(Unknown() | Instance()) as model):
            models = {identity(model)}
        case Operation(kind=Kind.CONTRACTION):
            models = {identity(value) for value in call.operands}
        case _:
            models = set()
    for event in (event for event in found.events if event is not call):
        match event:
            case Call(callee=Method(receiver=receiver, name=name)) if identity(receiver) in models:
                if name not in HARMLESS:
                    return True
            case Call(callee=Unknown() | Function() | Method(), args=args):
                if any(identity(value) in models for value in args):
                    return True
    return False


def _is_of(value: Value, carried: set[object]) -> bool:
    """Whether a value is one of these, a part of one, or has one among its parts."""
    if identity(value) in carried:
        return True
    if isinstance(value, Tuple):
        return any(_is_of(item, carried) for item in value.items)
    maker = maker_of(value)
    return isinstance(maker, Input) and maker.source is not None and _is_of(maker.source, carried)
