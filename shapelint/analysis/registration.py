"""What nn.Module registers when it becomes an attribute, and what escapes it."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from shapelint.analysis import syntax
from shapelint.analysis.index import events_of, once_per_file, operations, places, places_of
from shapelint.domain.values import (
    NONE,
    Class,
    Dict,
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
from shapelint.events import Call, Entered, Event, Grown, Input, Kind, Left, Operation, Returned, Stored
from shapelint.provenance import ancestors

# Containers that nn.Module does not look into, and those of torch's that it does.
PLAIN = dict.fromkeys(("list", "tuple", "set"), "nn.ModuleList or nn.ParameterList") | dict.fromkeys(
    ("dict", "SimpleNamespace"), "nn.ModuleDict or nn.ParameterDict"
)
LOOKED_INTO = frozenset({"ModuleList", "ModuleDict", "Sequential", "ParameterList", "ParameterDict"})
WEIGHTED = (
    *("Linear", "Bilinear", "LazyLinear", "Embedding", "EmbeddingBag", "PReLU", "MultiheadAttention", "Transformer"),
    *("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell", "LayerNorm", "GroupNorm", "RMSNorm"),
    *(f"{kind}{n}d" for kind in ("Conv", "ConvTranspose", "BatchNorm") for n in (1, 2, 3)),
    *(f"Transformer{part}" for part in ("Encoder", "Decoder", "EncoderLayer", "DecoderLayer")),
)
WEIGHTED_LAYERS = frozenset(f"torch.nn.{name}" for name in WEIGHTED)
MODULE_BASES = (
    *("torch.nn.Module", "torch.nn.modules.module.Module", "torch.nn.Sequential", "torch.jit.ScriptModule"),
    *("pytorch_lightning.LightningModule", "lightning.LightningModule", "lightning.pytorch.LightningModule"),
    *WEIGHTED_LAYERS,
)


class Step(NamedTuple):
    """An event and the evaluations of functions around it, outermost first."""

    event: Event
    stack: tuple[Entered, ...]

    @property
    def is_in_forward(self) -> bool:
        """Inside the forward of a module, and of nothing that is being constructed there."""
        names = [entered.function.name for entered in self.stack if is_module(entered.owner)]
        return "forward" in names and names[-1] not in {"__init__", "setup"}


@once_per_file
def stacks(events: Sequence[Event]) -> Iterator[tuple[Entered, ...]]:
    """For each event the evaluations around it."""
    stack: tuple[Entered, ...] = ()
    for event in events:
        if type(event) is Entered:
            stack = (*stack, event)
        elif type(event) is Left:
            stack = stack[:-1]
        yield stack


@once_per_file
def steps(events: Sequence[Event]) -> Iterator[Step]:
    return map(Step, events, stacks(events))


def steps_of(events: Sequence[Event], *wanted: str | Kind | type[object]) -> Iterator[Step]:
    """The steps of operations of these canonical names or kinds, and of other events of these types."""
    around = stacks(events)
    for place in places(events, wanted):
        yield Step(events[place], around[place])


def is_module(value: Value | None) -> bool:
    """An object of a class of the linted code that derives from nn.Module."""
    return isinstance(value, Instance) and is_module_class(value.cls)


def is_layer_class(value: Value) -> bool:
    """An object of a class of the linted code that derives from a layer with weights: it has these, too."""
    return isinstance(value, Instance) and value.cls.is_a(*WEIGHTED_LAYERS)


def is_module_class(value: Value) -> bool:
    return isinstance(value, Class) and value.is_a(*MODULE_BASES)


def is_parameter(value: Value) -> bool:
    """An nn.Parameter that learns, fresh from its constructor."""
    maker = maker_of(value)
    return (
        isinstance(value, Tensor)
        and value.graph.state is GraphState.LEAF
        and isinstance(maker, Operation)
        and maker.name == "parameter"
    )


def learners(value: Value | None, seen: frozenset[int] = frozenset()) -> Iterator[Value]:
    """Layers with weights, Parameters, and modules of the linted code, also inside containers."""
    match value:
        case Layer(name=name) if name in WEIGHTED_LAYERS:
            yield value
        case Tensor() if is_parameter(value):
            yield value
        case Instance(attributes=attributes) if is_module(value) and id(value) not in seen:
            inner = seen | {id(value)}
            if any(True for attribute in attributes.values() for _ in learners(attribute, inner)):
                yield value
        case Tuple(items=items) | Union(options=items):
            for item in items:
                yield from learners(item, seen)
        case Many(item=item, tail=tail):
            for layer in (item, *tail):
                yield from learners(layer, seen)
        case Dict(items=pairs, other=other):
            for entry in (*(v for _, v in pairs), other):
                yield from learners(entry, seen)


def hidden(value: Value) -> Iterator[Value]:
    """What learns inside a plain list, tuple or dict; ModuleList, Sequential and ModuleDict hide nothing."""
    match value:
        case Tuple() | Many() | Dict() if value.kind in PLAIN:
            yield from learners(value)
        case Unknown(made_by=Call(callee=Library(name="types.SimpleNamespace"), kwargs=kwargs)):
            yield from (found for _, item in kwargs for found in learners(item))
        case Union(options=options):
            for option in options:
                yield from hidden(option)


def collected(stored: Stored, events: Sequence[Event]) -> Iterator[Value]:
    """What learns in a local list of which no more is known than that it becomes an attribute: `self.layers = layers`.

    Not where a ModuleList is made of the list as well.
    """
    if not isinstance(stored.value, Many) or stored.value.kind != "list":
        return
    name = syntax.assigned(stored.site).text
    if not name.isidentifier():
        return
    within = next(step.stack for step in steps_of(events, Stored) if step.event is stored)[-1:]
    beside = [step.event for step in steps_of(events, Grown, Stored) if step.stack[-1:] == within]
    registered = (e for e in beside if getattr(e.values[0], "kind", None) in LOOKED_INTO)
    if not any(name in syntax.names(syntax.assigned(event.site)) for event in registered):
        yield from (found for e in beside if isinstance(e, Grown) and e.name == name for found in learners(e.value))


def buffered(events: Sequence[Event]) -> Iterator[Stored]:
    """Parameters that a module registers as buffers, though nothing writes into them by hand."""
    for stored in events_of(events, Stored):
        is_learner = stored.container == "buffer" and is_module(stored.owner) and is_parameter(stored.value)
        if is_learner and not is_updated(stored, events):
            yield stored


def is_updated(stored: Stored, events: Sequence[Event]) -> bool:
    """Whether anything writes into an attribute by hand: `self.codes.lerp_(...)`, `self.codes.data[i] = x`."""
    for event in operations(events, set(Kind)):
        maker = maker_of(event.values[0]) if event.values and (event.in_place or event.name == "setitem") else None
        for earlier in (maker, *ancestors(maker, 8)) if maker is not None else ():
            owner = earlier.source if isinstance(earlier, Input) and earlier.name == stored.attribute else None
            is_own = isinstance(owner, Instance) and owner.cls is stored.owner.cls
            if is_own or earlier is maker_of(stored.value):
                return True
    return False


def nested(value: Value) -> bool:
    """Whether a list holds lists: ModuleList takes none of them."""
    items = value.items if isinstance(value, Tuple) else (value.item,) if isinstance(value, Many) else ()
    return any(isinstance(item, Tuple | Many) and item.kind in PLAIN for item in items)


def identity(value: Value) -> int:
    """Which object it is, whatever name it goes by."""
    maker = maker_of(value)
    return id(value if maker is None else maker)


def kept(events: Sequence[Event]) -> frozenset[int]:
    """Identities of what modules register in the file, what their methods hand out, and what only evaluates."""
    return _kept(events)[0]


@once_per_file
def _kept(events: Sequence[Event]) -> Iterator[frozenset[int]]:
    yield frozenset(registered(events) | handed_out(events) | evaluated(events))


def registered(events: Sequence[Event]) -> set[int]:
    """Identities of all that is, anywhere in the file, made an attribute of its own or part of a ModuleList."""
    entering = (events[place] for place in places(events, (Stored, Call)))
    return {identity(found) for event in entering for value in _registering(event) for found in learners(value)}


def settled(events: Sequence[Event], known: Container[int]) -> set[int]:
    """Identities of the events that store what is known, and of those that store there in other evaluations.

    Also where the attribute becomes a ModuleList in the end, or is given up: `del self.layers`. Not those for other
    classes: a subclass may register what its base leaves in a list.
    """
    places: dict[tuple[int, int], list[Stored]] = {}
    last: dict[tuple[int, str], Stored] = {}
    handed: set[tuple[int, str]] = set()  # self.stack = nn.ModuleList(self.layers), whatever else is in them
    for event in events_of(events, Stored):
        places.setdefault((id(event.site.node), id(event.owner.cls)), []).append(event)
        if event.container is None:
            last[id(event.owner.cls), event.attribute] = event
            if getattr(event.value, "kind", None) in LOOKED_INTO:
                found = syntax.attributes_of_self(syntax.assigned(event.site)) - {event.attribute}
                handed.update((id(event.owner.cls), name) for name in found)
    groups = (g for g in places.values() if any(identity(v) in known for event in g for v in learners(event.value)))
    replaced = (g for g in places.values() if _replaces(last.get((id(g[0].owner.cls), g[0].attribute)), g[0]))
    given = (g for g in places.values() if (id(g[0].owner.cls), g[0].attribute) in handed)
    return {id(event) for group in (*groups, *replaced, *given) for event in group}


def _replaces(last: Stored | None, first: Stored) -> bool:
    """self.layers = nn.ModuleList(self.layers), and not the ModuleList of another branch; or del self.layers."""
    if last is None or getattr(last.value, "kind", None) not in LOOKED_INTO:
        return last is not None and last.value == NONE and last.method == first.method
    return last.attribute in syntax.attributes_of_self(syntax.assigned(last.site))


def handed_out(events: Sequence[Event]) -> set[int]:
    """Identities of what methods other than forward return: the author gives it to an optimizer by hand.

    What the methods that __init__ builds its layers with return is not meant.
    """
    return {
        identity(found)
        for step in steps_of(events, Returned)
        if step.stack and is_module(step.stack[-1].owner) and step.stack[-1].function.name != "forward"
        if not any(entered.function.name == "__init__" for entered in step.stack)
        for found in learners(step.event.values[0])
    }


def evaluated(events: Sequence[Event]) -> set[int]:
    """Identities of what is itself put into evaluation mode: a backbone that a list keeps from being trained."""
    calls = (event.callee for event in events_of(events, Call))
    return {
        identity(found)
        for callee in calls
        if isinstance(callee, Method) and callee.name == "eval"
        for found in learners(callee.receiver)
    }


def _registering(event: Event) -> Iterator[Value]:
    match event:
        case Stored(container=None) if not any(hidden(event.value)):
            yield event.value
        case Stored(container=str() as container) if container not in PLAIN and container != "buffer":
            yield event.value
        case Call(callee=Method(name="add_module" | "register_module" | "register_parameter")):
            yield from event.args


def changed_parameter(value: Value) -> Operation | None:
    """`nn.Parameter(x) * 0.1`, `nn.Parameter(x).cuda()`: the constructor, where only operators stand between."""
    maker = maker_of(value)
    while isinstance(maker, Operation) and is_itself(maker):
        maker = maker_of(maker.values[0])
    if isinstance(maker, Operation) and maker.name == "parameter":
        return None
    while isinstance(maker, Operation) and maker.name != "parameter":
        inner = [maker_of(operand) for operand in maker.operands]
        attached = [event for event in inner if isinstance(event, Operation)]
        maker = attached[0] if attached and _hangs(maker) else None
    return maker if isinstance(maker, Operation) else None


def is_itself(event: Operation) -> bool:
    """`x.float()` of a float32 tensor is x."""
    if event.name not in {"float", "double", "half", "bfloat16"} or not isinstance(event.result, Tensor):
        return False
    return isinstance(event.values[0], Tensor) and event.values[0].dtype == event.result.dtype


def _hangs(event: Operation) -> bool:
    return isinstance(event.result, Tensor) and event.result.graph.state is GraphState.GRAPH and event.layer is None


def layer_calls(event: Event) -> Iterator[Operation]:
    """The calls of layers with weights that an event depends on."""
    for earlier in ancestors(event):
        if isinstance(earlier, Operation) and earlier.layer is not None and earlier.layer.name in WEIGHTED_LAYERS:
            yield earlier


MEETING = ("add", "sub", "mul", Kind.JOINING)
REARRANGING = frozenset({Kind.LAYOUT, Kind.RESHAPE, Kind.INDEXING, Kind.CAST})


def rearranged_from(value: Value) -> Event | None:
    """The event that made the numbers which a tensor only shows in another order or dtype."""
    maker = maker_of(value)
    while isinstance(maker, Operation) and maker.kind in REARRANGING and maker.operands:
        maker = maker_of(maker.operands[0])
    return maker


def random_weights(events: Sequence[Event]) -> Iterator[tuple[Stored, Operation]]:
    """self.keys = torch.randn(...) in __init__, and where forward puts it together with activations that learn."""
    drawn: dict[int, Stored] = {}
    born: dict[int, Entered] = {}
    for step in steps_of(events, Stored, Kind.RANDOM, Kind.CONTRACTION, *MEETING):
        match step.event:
            case Operation(kind=Kind.RANDOM, in_place=False) as event if step.stack:
                born[id(event)] = step.stack[-1]
            case Operation(kind=Kind.RANDOM, operands=(first, *_)):
                drawn.pop(id(rearranged_from(first)), None)  # drawn anew each time
            case Stored(value=Tensor() as value, container=None, method="__init__") as stored:
                maker = maker_of(value)
                source = drawn_by(maker)
                if is_module(stored.owner) and source is not None and born.get(id(source)) is step.stack[-1]:
                    drawn[id(maker)] = stored
            case Operation(operands=operands) as use if drawn and len(operands) > 1 and step.is_in_forward:
                for weight in operands:
                    others = (other for other in operands if other is not weight)
                    found = drawn.get(id(rearranged_from(weight)))
                    if found is not None and any(other.graph.state is GraphState.GRAPH for other in others):
                        yield found, use


def drawn_by(maker: Event | None) -> Event | None:
    """What drew the numbers of a tensor, maybe scaled by a number."""
    if isinstance(maker, Operation) and maker.name in {"mul", "div"} and len(maker.operands) == 1:
        maker = maker_of(maker.operands[0])
    return maker if isinstance(maker, Operation) and maker.kind is Kind.RANDOM else None


def made_anew(events: Sequence[Event]) -> Iterator[tuple[Event, str]]:
    """What a forward constructs, and no module keeps."""
    yield from ((made, name) for made, name in made_in_forward(events) if id(made) not in kept(events))


def made_in_forward(events: Sequence[Event]) -> Iterator[tuple[Event, str]]:
    """Layers with weights, and modules that hold some, that a forward constructs; with what they are called."""
    around = stacks(events)
    for place in places(events, (Call, Kind.LAYER, Kind.ELEMENTWISE)):
        match events[place]:
            case Operation(result=Layer(name=name), layer=None) as made if name in WEIGHTED_LAYERS:
                if is_repeated(Step(made, around[place])):
                    yield made, f"nn.{name.rpartition('.')[2]}"
            case Call(callee=Class() as cls) as call if is_repeated(Step(call, around[place])):
                if has_weights(last_made(events, cls, place), call):
                    yield call, cls.name


def is_repeated(step: Step) -> bool:
    """Whether each forward does it: a helper with a decorator may have made it once and keep it."""
    return step.is_in_forward and not any(map(is_wrapped, step.stack))


def is_wrapped(entered: Entered) -> bool:
    """Whether a helper has a decorator: `@cache`, `@singleton("projector")`."""
    return entered.function.name != "forward" and bool(getattr(entered.function.node, "decorators", ()))


def last_made(events: Sequence[Event], cls: Class, before: int) -> Instance | None:
    """The object of a class whose method was entered last."""
    entered = (events[place] for place in reversed(places_of(events, Entered)) if place < before)
    owners = (event.owner for event in entered if isinstance(event, Entered))
    return next((owner for owner in owners if isinstance(owner, Instance) and owner.cls is cls), None)


def has_weights(made: Instance | None, call: Call) -> bool:
    """Whether an object holds weights of its own, beside those that it was given."""
    given = {identity(found) for value in (*call.args, *dict(call.kwargs).values()) for found in learners(value)}
    held = made.attributes.values() if made is not None else ()
    return any(identity(found) not in given for value in held for found in learners(value))
