"""Where gradients do not arrive: dead terms of losses, copies of tensors, numbers taken while jax traces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.gradients.dataflow import LOOSE, Cut, Flow, Hold, flow_of
from shapelint.analysis.gradients.effects import (
    LINEAR,
    NUMBERS,
    addends,
    cuts,
    is_differentiated,
    read_gradients,
    rebuilds,
)
from shapelint.analysis.gradients.frozen import handled, is_among, optimized, source_of
from shapelint.analysis.index import events_of, once_per_file, operations, places
from shapelint.analysis.registration import is_module, is_parameter, steps_of
from shapelint.domain.record import record
from shapelint.domain.regions import is_without_gradients
from shapelint.domain.values import (
    NONE,
    TRUE,
    UNKNOWN,
    Dict,
    Function,
    Layer,
    Many,
    Method,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    maker_of,
    options,
)
from shapelint.events import Call, Event, Input, Item, Joined, Kind, Operation, Region, Returned
from shapelint.provenance import ancestors, exact_sources, parts


@once_per_file
def losses(events: Sequence[Event]) -> Iterator[tuple[Value, Event, bool]]:
    """Values that are losses, with the event that says so and whether gradients certainly start there.

    What a script returns to itself from its own data does not count: the function is looked at on its own.
    """
    for step in steps_of(events, "backward", "grad", Call, Returned):
        event = step.event
        match event:
            case Operation(name="backward"):
                yield event.values[0], event, True
            case Call(callee=Method(name="backward" | "manual_backward"), args=(loss, *_)):
                yield loss, event, True
            case Call(callee=Method(name="backward", receiver=loss), args=()):
                yield loss, event, True
            case Operation(name="grad", callee="torch.autograd.grad", arguments={"outputs": loss}):
                yield loss, event, True
            case Returned() if step.stack and step.stack[0].at_call:
                continue
            case Returned(value=Tuple(items=items)):
                yield from ((item, event, False) for item in items)
            case Returned(value=Dict(items=pairs)):
                yield from ((item, event, False) for _, item in pairs)
            case Returned(value=value):
                yield value, event, False


@record()
class DeadTerm:
    """A part of a loss that trains nothing because of `cut`, while `alive` does train something."""

    cut: Cut
    alive: Value
    term: Value
    loss: Event
    lost: frozenset[object]  # all that would train through the term


@once_per_file
def _has_graphs(events: Sequence[Event]) -> Iterator[bool]:
    yield any(type(event) is Operation and event.callee.startswith(("torch.", "jax.")) for event in events)


@once_per_file
def dead_terms(events: Sequence[Event]) -> Iterator[DeadTerm]:
    """The parts of losses that were cut off, each cut once: of what is back-propagated, returned or differentiated."""
    if not _has_graphs(events)[0]:
        return
    flow, seen = flow_of(events), set[int]()
    sums = [found for found in losses(events) if may_be_sum(flow, found[0], is_certain=found[2])]
    seeds = frozenset(predicted(events)) if not all(is_certain for _, _, is_certain in sums) else frozenset()
    of_arguments = Flow(events, seeds=seeds) if seeds else flow
    for loss, event, is_certain in sums:
        found = list(dead_parts(flow, loss, event, is_certain))
        if not is_certain:
            found = [d for d in found if (d.cut.lost - d.cut.run and d.cut.run) or not of_arguments.hold(d.term).live]
        if not found and not is_certain:
            found = [
                dead for dead in dead_parts(of_arguments, loss, event, False) if _of_prediction(of_arguments, dead)
            ]
        for dead in found:
            if id(dead.cut.event.site.node) not in seen:
                seen.add(id(dead.cut.event.site.node))
                yield dead


def may_be_sum(flow: Flow, value: Value, is_certain: bool) -> bool:
    """Whether a value could have several terms (`Flow.terms`), whatever hangs on what: the cheap question."""
    if not is_certain and is_table(value):
        return False
    queue, seen, terms = [value], set[int](), 0
    for current in queue:
        maker = maker_of(current)
        if isinstance(current, Union):
            queue += current.options
        elif maker is not None and id(maker) not in seen:
            seen.add(id(maker))
            parts = addends(maker)
            queue += parts or ()
            terms += parts is None
    return terms > 1 and (is_certain or any(is_scalar(flow, part) for part in queue))


def is_table(value: Value) -> bool:
    """Whether it is no loss: those have one axis at most."""
    return isinstance(value, Tensor) and value.shape.least_rank > 1


def predicted(events: Sequence[Event]) -> Iterator[Event]:
    """The parameters of functions that losses take as predictions, or average over; never what they take as labels."""
    flow = Flow(events, seeds=None)
    found: set[object] = set()
    labels: set[object] = set()
    called = {source_of(call.callee) for call in events_of(events, Call) if isinstance(call.callee, Unknown)}
    for event in operations(events, {Kind.LOSS, Kind.REDUCTION}):
        match event:
            case Operation(kind=Kind.LOSS, values=(prediction, *others)):
                held, beside = flow.hold(prediction), flow.any_of(others).live
                # mse(codes.detach(), latents) pulls at the latents: what is detached is the target.
                predictions = beside if any(not cut.is_flat for cut in held.cuts) else held.live
                found |= predictions
                labels |= beside - predictions
            case Operation(kind=Kind.REDUCTION, values=(averaged, *_)) if event.arguments.get("dim", NONE) == NONE:
                live = flow.hold(averaged).live
                behind = ancestors(event, 200) if called and not live <= found else ()
                is_given = any(isinstance(e, Call) and source_of(e.callee) in called for e in behind)
                found |= live & called if is_given else live  # what a model gave is averaged with its labels
    return (origin for origin in found - labels if isinstance(origin, Input))


def _of_prediction(flow: Flow, dead: DeadTerm) -> bool:
    """Whether what was cut is what an attached loss is computed from: its prediction, or all that it takes."""
    maker = maker_of(dead.alive)
    alive = flow.hold(dead.alive).live
    for event in (maker, *ancestors(maker)) if maker is not None else ():
        if isinstance(event, Operation) and event.kind is Kind.LOSS:
            held = flow.hold(event.values[0])
            return bool((held.live or flow.any_of(event.values[1:]).live) & dead.lost)
    return dead.cut.is_flat and alive <= dead.lost


def dead_parts(flow: Flow, loss: Value, event: Event, is_certain: bool) -> Iterator[DeadTerm]:
    """The additive parts of a loss that were cut off, while others are attached."""
    ways = () if is_certain else ways_to(loss)
    for way in ways:  # what is returned on one path is no part of what is on another
        yield from dead_parts(flow, way, event, is_certain)
    parts = list(flow.terms(loss)) if not ways else []
    if not is_certain and not any(is_scalar(flow, term) for term in parts):
        return  # the cheap question first: most returned values are no losses
    terms = [(term, flow.hold(term)) for term in parts]
    alive = [term for term, hold in terms if hold.live and (is_certain or is_scalar(flow, term))]
    live = frozenset(origin for _, hold in terms for origin in hold.live)
    if not alive:
        return
    for term, hold in terms:
        found = [cut for cut in hold.cuts if matters(flow, cut, live) and (is_certain or not cut.is_derived)]
        if found and (is_certain or is_scalar(flow, term)) and not hangs_on_lists(flow, term):
            cut = min(found, key=lambda cut: (bool(cut.lost <= live), cut.is_flat, not cut.rebuilds))
            before = {id(earlier) for earlier in ancestors(cut.place)} if not of_list(cut) else set()
            is_whole = bool(cut.lost) and not cut.lost & live and all(map(is_made, cut.lost))
            others = [part for part, other in terms if other.live]
            if not any(id(maker_of(part)) in before or (not is_whole and weighs(cut, part)) for part in others):
                yield DeadTerm(cut, alive[0], term, event, frozenset().union(*(cut.lost for cut in found)))


def of_list(cut: Cut) -> bool:
    """Whether a list was copied: one of its items may be attached elsewhere, and the others are not."""
    values = cut.event.values if cut.rebuilds and isinstance(cut.event, Operation) else ()
    return any(isinstance(value, Many | Tuple) for value in values)


def ways_to(loss: Value) -> tuple[Value, ...]:
    """What a returned value is on each path that leads to it; nothing where there is one."""
    match maker_of(loss):
        case Joined(options=ways):
            return tuple(ways)
        case Call(callee=Function(), result=result) if maker_of(result) is not None:
            return ways_to(result)
    return ()


def hangs_on_lists(flow: Flow, term: Value) -> bool:
    """Whether a term is also made from items of a list of which it is not known where they come from."""
    queue = [term]
    seen: set[int] = set()
    for value in queue:
        if isinstance(value, Many) and isinstance(value.item, Tensor | Unknown) and maker_of(value.item) is None:
            return True
        match maker_of(value):
            case Item(of=Call(result=Tuple(items=items)), index=index) if index < len(items):
                queue.append(items[index])
            case Operation() as made if id(made) not in seen and (value is term or flow.of(made) == LOOSE):
                seen.add(id(made))
                queue += made.values
    return False


def weighs(cut: Cut, term: Value) -> bool:
    """Whether the very value that was cut also weighs an attached term: `x @ p - p @ p / 2` with p as it is best."""
    maker = maker_of(term) if cut.takes_out else None
    return maker is not None and any(earlier is cut.event for earlier in ancestors(maker, before=exact_sources))


def is_made(origin: object) -> bool:
    """Whether what would train is a Parameter of its own."""
    return isinstance(origin, Operation) and origin.name == "parameter"


def matters(flow: Flow, cut: Cut, live: frozenset[object]) -> bool:
    """Whether what a cut loses was to train. Modules that only run without gradients may be frozen ones."""
    if not isinstance(cut.event, Region):
        return True
    idle, listed = handled(flow.events), optimized(flow.events)
    lost = {origin for origin in cut.lost if not is_among(origin, idle)}
    return any(
        origin not in cut.run or origin in live or isinstance(origin, Layer) or is_among(origin, listed)
        for origin in lost
    )


def is_scalar(flow: Flow, value: Value) -> bool:
    """A single number by the way it was computed: a loss, a full reduction, or one taken out with item()."""
    maker = maker_of(value.options[0] if isinstance(value, Union) else value)
    if isinstance(maker, Call):
        value = flow.kept.namesake(maker.callee) or UNKNOWN
        maker = maker_of(value)
    if isinstance(value, Tensor) and value.shape.rank == 0 and maker is not None:
        return True
    while isinstance(maker, Operation):
        is_single = isinstance(maker.result, Tensor) and maker.result.shape.rank == 0
        if is_single or maker.kind is Kind.LOSS or maker.name == "item" or maker.callee in NUMBERS:
            return True
        if maker.kind is Kind.REDUCTION:
            return maker.arguments.get("dim", NONE) == NONE
        inner = [maker_of(operand) for value in maker.values for operand in options(value)]
        known = [event for event in inner if event is not None]
        is_mere = maker.name in LINEAR or (maker.kind is Kind.ELEMENTWISE and len(known) == 1)  # max(0.0, norm - 1)
        if not (cuts(maker) or rebuilds(maker) or is_mere):
            return False
        maker = known[0] if known else None
    return False


def rebuilt_losses(events: Sequence[Event]) -> Iterator[Cut]:
    """Rebuilt tensors that are a dead term of a loss, or all of what a module's own method returns as one."""
    found = {id(dead.cut.event.site.node): dead.cut for dead in dead_terms(events) if dead.cut.rebuilds}
    flow = flow_of(events)
    for step in steps_of(events, Returned):
        match step.event:
            case Returned(value=value) if step.stack and is_module(step.stack[-1].owner) and is_scalar(flow, value):
                for cut in flow.hold(value).cuts:
                    if cut.rebuilds and any(isinstance(origin, Layer) for origin in cut.lost):
                        found.setdefault(id(cut.event.site.node), cut)
    yield from found.values()


def rebuilt_parameters(events: Sequence[Event]) -> Iterator[Operation]:
    """torch.as_tensor((self.a, self.b)) of Parameters, in what a method of their module returns."""
    copies = [
        event
        for event in events
        if isinstance(event, Operation)
        and rebuilds(event)
        and not is_without_gradients(event.regions)
        and any(map(is_parameter, event.operands))
    ]
    if not copies:
        return
    flow = flow_of(events)
    used = {
        id(earlier)
        for event in events
        if isinstance(event, Returned) and flow.hold(event.value).live
        for earlier in ancestors(event)
    }
    yield from {id(copy.site.node): copy for copy in copies if id(copy) in used}.values()


def relabelled(events: Sequence[Event]) -> Iterator[Operation]:
    """`requires_grad` put on a computed value: on what is back-propagated, or inside of forward on a copy."""
    makers = ("requires_grad_", "variable", "tensor")
    every = list(losses(events)) if places(events, makers) else []
    starts = {id(maker_of(loss)) for loss, _, is_certain in every if is_certain}
    whole = set(map(id, ends(flow_of(events), every))) if every else set()
    for step in steps_of(events, *makers):
        match step.event:
            case Operation(name="requires_grad_" | "variable" | "tensor") as event if _is_leaf(event):
                source = maker_of(event.values[0])
                computed = isinstance(source, Operation | Call) and not is_fresh(source)
                starts_there = id(event) in starts and (computed or isinstance(source, Joined))
                in_forward = event.name == "tensor" and step.is_in_forward and computed and not is_cut(source)
                if starts_there or in_forward or id(event) in whole:
                    yield rebuilt_before(event)


def rebuilt_before(event: Operation) -> Operation:
    """The copy that `torch.as_tensor(losses).sum().requires_grad_()` begins with, else the event itself."""
    maker = maker_of(event.values[0])
    while isinstance(maker, Operation) and len(maker.operands) == 1 and not rebuilds(maker) and not cuts(maker):
        maker = maker_of(maker.operands[0])
    return maker if event.name == "requires_grad_" and isinstance(maker, Operation) and rebuilds(maker) else event


def collected(events: Sequence[Event]) -> Iterator[str]:
    """The attributes, of whatever it is, that are lists to which attached values are appended."""
    flow = flow_of(events)
    for call in events_of(events, Call):
        match call.callee:
            case Method(name="append" | "extend", receiver=receiver) if isinstance(maker_of(receiver), Input):
                maker = maker_of(receiver)
                held = flow.any_of(call.args)
                if isinstance(maker, Input) and maker.kind == "attribute" and (held.live or is_number(held)):
                    yield maker.name


def ends(flow: Flow, losses: Sequence[tuple[Value, Event, bool]]) -> Iterator[Operation]:
    """The copies of what is trained, `torch.tensor(parts, requires_grad=True)`, that are all a term hangs on."""
    for loss, _, is_certain in losses:
        for term in flow.terms(loss) if is_certain else (loss,):
            live = flow.hold(term).live if is_certain or is_scalar(flow, term) else ()
            for origin in live if len(live) == 1 else ():
                if isinstance(origin, Operation) and is_copy(flow, origin) and not is_asked_for(flow, origin):
                    yield origin


def is_copy(flow: Flow, leaf: Operation) -> bool:
    """Whether a leaf is made of what is attached, of numbers taken from that, or of a list of either."""
    made = maker_of(leaf.values[0]) if leaf.name == "requires_grad_" else leaf
    if not isinstance(made, Operation) or made.name not in {"tensor", "from_numpy", "variable"}:
        return False
    held, source = flow.any_of(made.values), maker_of(made.values[0])
    name = source.name if isinstance(source, Input) and source.kind == "attribute" else ""
    is_array = bool(held.cuts) and any(isinstance(v, Tensor) and v.library == "numpy" for v in made.values)
    return bool(held.live) or is_number(held) or is_array or (bool(name) and name in collected(flow.events))


def is_number(held: Hold) -> bool:
    """Whether Python numbers are all that is left of what was attached."""
    taken = (cut.event for cut in held.cuts if cut.takes_out and isinstance(cut.event, Operation))
    return any(event.name in {"item", "tolist"} or event.callee in NUMBERS for event in taken)


def is_asked_for(flow: Flow, leaf: Operation) -> bool:
    """Whether a leaf is there for its own gradient: an optimizer has it, or somebody reads it."""
    is_given = leaf in optimized(flow.events) or is_differentiated(flow.events, leaf)
    return is_given or leaf in read_gradients(flow.events)


def is_cut(event: Event | None) -> bool:
    """x.detach() is made a new leaf on purpose."""
    return isinstance(event, Operation) and cuts(event)


def _is_leaf(event: Operation) -> bool:
    return event.name == "requires_grad_" or event.arguments.get("requires_grad") == TRUE


def is_fresh(event: Event) -> bool:
    """Whether a value begins here: zeros, randn, an array of numbers that nothing was taken from."""
    if not isinstance(event, Operation) or event.kind in {Kind.CREATION, Kind.RANDOM}:
        return isinstance(event, Operation)
    return not any(isinstance(maker_of(value), Operation | Call) for value in parts(event.values))
