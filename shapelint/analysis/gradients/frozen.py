"""Where gradients are switched off, and which modules are kept from training or are listed in an optimizer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from shapelint.analysis.index import events_of, once_per_file, operations, places_of
from shapelint.domain.regions import NO_GRAD, is_without_gradients
from shapelint.domain.values import (
    FALSE,
    UNKNOWN,
    Dict,
    Graph,
    GraphState,
    Instance,
    Layer,
    Library,
    Many,
    Method,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    maker_of,
)
from shapelint.events import Call, Event, Input, Item, Joined, Operation, Region, Written
from shapelint.provenance import ancestors

GIVING = frozenset({"parameters", "named_parameters"})
GATHERING = frozenset({"itertools.chain", "builtins.list.extend"})
OF_PARAMETERS = frozenset({"parameters", "named_parameters", "children", "modules", "named_children", "buffers"})
AVERAGING = frozenset({"copy", "lerp", "mul", "add"})
WRITING = AVERAGING | {"requires_grad_", "data", "copy_"}  # what freezes or averages parameters


@once_per_file
def _switched_off(events: Sequence[Event]) -> Iterator[Mapping[int, Region]]:
    found: dict[int, Region] = {}
    places = places_of(events, Region)
    stack: list[tuple[int, Region]] = []
    for place in places:
        region = events[place]
        assert isinstance(region, Region)
        if region.name not in NO_GRAD:
            continue
        if region.entered:
            stack.append((place, region))
        elif stack:
            start, entered = stack.pop()
            for event in events[start:place]:
                if isinstance(event, Operation | Call) and is_without_gradients(event.regions):
                    found.setdefault(id(event), entered)
    yield found


def switched_off(events: Sequence[Event]) -> Mapping[int, Region]:
    """The region without gradients around each operation and call, the innermost one, by the event's id."""
    return _switched_off(events)[0]


def source_of(callee: Value) -> object:
    """Identifies an unknown callable: the same attribute of the same thing is the same one."""
    match callee:
        case Method(receiver=receiver, name=name):
            return source_of(receiver), name
        case Unknown(made_by=Input(kind="attribute", name=name, source=source)) if source is not None:
            return source_of(source), name
        case Tensor(made_by=Operation(name="requires_grad_") as switched):
            return source_of(switched.values[0])
        case Unknown(made_by=maker) | Tensor(made_by=maker) if maker is not None:
            return maker
    return callee


def parts_of(value: Value) -> Iterator[object]:
    """The layers and Parameters in a module, as far as they are known; else the module as it is reached."""
    match value:
        case Layer():
            yield value
        case Tensor(made_by=Operation(name="parameter") as made):
            yield made
        case Tensor(made_by=Operation() as made, graph=Graph(state=GraphState.LEAF)):
            yield made  # torch.zeros(n, requires_grad=True)
        case Instance():
            yield from _inner(value, frozenset())
        case Tuple(items=items) | Union(options=items):
            for item in items:
                yield from parts_of(item)
        case Many(item=item, tail=tail):
            for layer in (item, *tail):
                yield from parts_of(layer)
        case Dict(items=pairs, other=other):
            for entry in (*(v for _, v in pairs), *((other,) if other is not None else ())):
                yield from parts_of(entry)
        case Tensor(made_by=None, graph=Graph(state=GraphState.LEAF, origins=origins)):
            yield from origins  # `layer.weight`
        case Unknown() | Tensor():
            yield source_of(value)


def _inner(value: Instance, seen: frozenset[int]) -> Iterator[object]:
    if id(value) in seen:
        return
    yield value
    for attribute in value.attributes.values():
        if isinstance(attribute, Instance):
            yield from _inner(attribute, seen | {id(value)})
        else:
            yield from parts_of(attribute)


def is_among(origin: object, found: frozenset[object]) -> bool:
    """Whether an origin, or a module that it is an attribute of, is in a set."""
    while origin not in found:
        if not isinstance(origin, tuple):
            return False
        origin = origin[0]
    return True


def modules_behind(event: Event) -> Iterator[Value]:
    """The modules whose parameters() an event works on."""
    for earlier in (event, *ancestors(event, 200)):
        match earlier:
            case Call(callee=Method(receiver=receiver, name=name)) if name in OF_PARAMETERS:
                yield receiver


@once_per_file
def _handled(events: Sequence[Event]) -> Iterator[frozenset[object]]:
    yield frozenset(part for module in _idle(events) for part in parts_of(module))


def _idle(events: Sequence[Event]) -> Iterator[Value]:
    for call in events_of(events, Call):
        match call.callee:
            case Method(receiver=receiver, name="requires_grad_") if FALSE in (*call.args, *dict(call.kwargs).values()):
                yield receiver
            case Method(receiver=receiver, name="load_state_dict"):
                yield receiver
            case Method(receiver=Layer() | Tuple() | Many() | Instance() as receiver, name="eval"):
                yield receiver
            case Method(receiver=Unknown() as written, name=name) if name.endswith("_") and name[:-1] in AVERAGING:
                yield from _of_item(maker_of(written))
    for event in operations(events, WRITING):
        if event.name != "requires_grad_" or event.arguments.get("requires_grad") == FALSE:
            maker = maker_of(event.values[0]) if event.values else None
            # Of both in `k.data = m * k.data + (1 - m) * q.data` k alone is averaged.
            is_source = not event.in_place and event.name in {"mul", "add"} and getattr(maker, "name", "") == "data"
            items = [] if is_source else [*_of_item(maker)]
            if items:
                yield from items
            elif event.name == "requires_grad_":
                yield event.values[0]  # a module of which nothing else is known
    for stored in events_of(events, Written):
        if stored.attribute == "data":
            yield from _of_item(maker_of(stored.owner))


def _of_item(maker: Event | None) -> Iterator[Value]:
    """The modules whose parameters are gone through, where one of those, or its data, was made by an event."""
    if isinstance(maker, Input) and maker.kind == "attribute" and maker.name == "data":
        maker = maker_of(maker.source) if maker.source is not None else None
    if isinstance(maker, Input) and maker.kind in {"iteration", "item"}:
        yield from modules_behind(maker)


def handled(events: Sequence[Event]) -> frozenset[object]:
    """What a file freezes, loads, averages or puts into evaluation mode: it need not train."""
    return _handled(events)[0]


@once_per_file
def _optimized(events: Sequence[Event]) -> Iterator[frozenset[object]]:
    modules = (module for place in places_of(events, "optimizer") for module in given_to(events, place))
    yield frozenset(part for module in modules for part in parts_of(module))


def given_to(events: Sequence[Event], place: int) -> Iterator[Value]:
    """The modules whose parameters the optimizer that is made at a place is given, all of them."""
    event = events[place]
    params = event.arguments.get("params") if isinstance(event, Operation) else None
    if params == Many(UNKNOWN, kind="list"):  # list(a.parameters()) + list(b.parameters())
        while place and isinstance(call := events[place - 1], Call):
            if isinstance(call.callee, Method) and call.callee.name in OF_PARAMETERS:
                yield call.callee.receiver
            place -= 1
    for value in listed(params):
        maker = maker_of(value)
        if isinstance(value, Tensor) and value.graph.state is GraphState.LEAF:
            yield value
        elif maker is not None and not any(is_filter(earlier) for earlier in (maker, *ancestors(maker, 50))):
            yield from modules_behind(maker)


def is_filter(event: Event) -> bool:
    return isinstance(event, Call) and event.callee == Library("builtins.filter")


def listed(value: Value | None) -> Iterator[Value]:
    """The parts of what an optimizer is given: lists and groups of parameters."""
    match value:
        case Tuple(items=items):
            for item in items:
                yield from listed(item)
        case Dict(items=pairs):
            for _, item in pairs:
                yield from listed(item)
        case Unknown() | Tensor():
            yield value


def optimized(events: Sequence[Event]) -> frozenset[object]:
    """The modules whose parameters an optimizer of the file is given."""
    return _optimized(events)[0]


def modules_of(value: Value | None, depth: int = 0) -> tuple[list[Value], bool]:
    """The modules whose parameters a value is made of, and whether those are all."""
    found: list[Value] = []
    match value:
        case Tuple(items=items) | Union(options=items):
            parts: Iterable[Value | None] = items
        case Dict(items=pairs):
            parts = [item for name, item in pairs if name == "params"]
        case Many(item=item) if not isinstance(maker_of(value), Call | Joined):
            parts = [item]
        case _:
            maker = maker_of(value) if value is not None else None
            match maker:
                case Call(callee=Method(receiver=receiver, name=name, function=None)) if name in GIVING:
                    return [receiver], True
                case Call(callee=Library(name="builtins.filter" | "builtins.map"), args=(_, given)):
                    parts = [given]
                case Call(callee=Library(name=name), args=args) if name in GATHERING:
                    parts = args
                case Joined(options=ways):
                    parts = ways
                case Call(callee=Library(name="builtins.iter")) if isinstance(value, Many):
                    parts = [value.item]
                case Input(kind="iteration" | "item", source=source) | Item(of=Input(kind="iteration", source=source)):
                    parts = [source]
                case _:
                    return [], False
    is_complete = depth < 8
    for part in parts if is_complete else ():
        inner, known = modules_of(part, depth + 1)
        found += inner
        is_complete = is_complete and known
    return found, is_complete
