"""Activations that go on without a gradient into what learns: past a region without gradients, a step, an array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shapelint.analysis.gradients.dataflow import Cut, Flow, flow_of
from shapelint.analysis.gradients.dead_terms import is_made, losses
from shapelint.analysis.gradients.effects import computed_with, cuts, is_flat, rebuilds
from shapelint.analysis.gradients.frozen import handled, is_among, optimized, parts_of, switched_off
from shapelint.analysis.gradients.reachability import makers, reached_by_losses
from shapelint.analysis.index import events_of, once_per_file, operations
from shapelint.analysis.registration import WEIGHTED_LAYERS, Step, is_module, is_parameter, steps_of
from shapelint.domain.regions import SWITCHES, is_without_gradients
from shapelint.domain.values import (
    FALSE,
    Dict,
    Function,
    Instance,
    Layer,
    Library,
    Method,
    Tuple,
    Unknown,
    Value,
    maker_of,
)
from shapelint.events import Call, Carried, Entered, Event, Grown, Input, Kind, Operation, Region, Returned, Stored
from shapelint.provenance import ancestors, exact_sources, sources

MOST_SEEN = 400
LAYERS = (Kind.LAYER, Kind.ELEMENTWISE)  # a PReLU has a weight
LOSSES = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "cosine_similarity", "kl_div"})
SMOOTH = frozenset({
    "Normal", "LogNormal", "MultivariateNormal", "LowRankMultivariateNormal", "Independent", "Laplace", "Uniform",
    "Gamma", "Beta", "Dirichlet", "RelaxedBernoulli", "RelaxedOneHotCategorical", "StudentT", "Exponential",
})  # fmt: skip
ARRAYS = frozenset({"numpy", "tolist", "tensor", "from_numpy", "new_tensor"})
WHOLE = frozenset({"data", "detach"})
OF_PARAMETERS = frozenset({"item", "float", "data", "detach"})


def left_in_forward(events: Sequence[Event]) -> Iterator[Cut]:
    """Activations of a module's own layers that go through numpy or a copy inside forward, and on into its result.

    Also its Parameters, where they are taken as numbers or without their graph.
    """
    taken = ARRAYS | OF_PARAMETERS
    if next(operations(events, taken), None) is None:
        return
    flow = flow_of(events)
    leaving: dict[int, tuple[Cut, Step]] = {}
    seen: set[int] = set()
    for step in steps_of(events, Returned, *taken):
        match step.event:
            case Operation(name=name) as event if name in OF_PARAMETERS and step.is_in_forward:
                parameters = frozenset(filter(is_made, flow.any_of(event.values).live))
                is_taken = name not in WHOLE or is_parameter(event.values[0])
                if parameters and is_taken and cuts(event) and not is_without_gradients(event.regions):
                    leaving.setdefault(id(event), (Cut(event, parameters), step))
            case Operation(name=name) as event if name in ARRAYS and step.is_in_forward:
                held = flow.any_of(computed_with(event))
                lost = held.live.union(*(cut.lost for cut in held.cuts))
                own = frozenset(origin for origin in lost if isinstance(origin, Layer) or is_made(origin))
                cut = held.cuts[0] if held.cuts else Cut(event, own)
                is_cut = (rebuilds(event) or cuts(event)) and not cut.is_flat  # what was sampled had no gradient
                if own and is_cut and not is_without_gradients(event.regions):
                    leaving.setdefault(id(event), (cut, step))
            case Returned(function=function, value=value) if leaving and function.name == "forward":
                inside = {key: cut for key, (cut, left) in leaving.items() if step.stack[-1] in left.stack}
                for part in value.items if isinstance(value, Tuple) else (value,):
                    for cut in behind_live(flow, part, inside):
                        if not any_layer(cut.lost) and (cut.lost & trained(events) or cut.lost & set(written(events))):
                            continue
                        if id(cut.event.site.node) not in seen:
                            seen.add(id(cut.event.site.node))
                            yield cut


def behind_live(flow: Flow, value: Value, leaving: Mapping[int, Cut]) -> Iterator[Cut]:
    """What left the graph on the way to a value that is attached, though not to what was lost there."""
    is_given = any(getattr(cut.event, "name", "") in WHOLE for cut in leaving.values())
    live = (Flow(flow.events, seeds=None) if is_given else flow).hold(value).live
    for maker in makers(value) if live else ():
        for event in (maker, *ancestors(maker)):
            cut = leaving.get(id(event))
            if cut is not None and (not cut.lost & live or any_layer(cut.lost - trained(flow.events))):
                yield cut


def written(events: Sequence[Event]) -> Iterator[object]:
    """The Parameters that are written into: averages, and what is updated by hand."""
    for event in events:
        if isinstance(event, Operation) and (event.in_place or event.name in {"setitem", "copy_"}) and event.values:
            maker = maker_of(event.values[0])
            yield from filter(is_made, (maker, *ancestors(maker, 20)) if maker is not None else ())


@once_per_file
def _trained(events: Sequence[Event]) -> Iterator[frozenset[object]]:
    flow = flow_of(events)
    values = (*(value for value, _, is_certain in losses(events) if is_certain), *given_back(events))
    yield frozenset(origin for value in values for origin in flow.hold(value).live)


def given_back(events: Sequence[Event]) -> Iterator[Value]:
    """What the functions of a file return that nobody calls, and what a script gets from those that it calls.

    What a function returns to another one is looked at where that one goes on with it.
    """
    kept = frozenset(called_without(events))
    for step in steps_of(events, Returned):
        if isinstance(step.event, Returned) and len(step.stack) == 1 and id(step.stack[0].function.node) not in kept:
            yield step.event.value


def called_without(events: Sequence[Event]) -> Iterator[int]:
    """The functions that a file calls, and each time without gradients: what they return trains nothing here."""
    calls: dict[int, bool] = {}
    for call in events_of(events, Call):
        function = call.callee.function if isinstance(call.callee, Method) else call.callee
        if isinstance(function, Function):
            is_off = is_without_gradients(call.regions)
            calls[id(function.node)] = calls.get(id(function.node), True) and is_off
    yield from (node for node, is_off in calls.items() if is_off)


def trained(events: Sequence[Event]) -> frozenset[object]:
    """All that gets a gradient from anything that the functions of a file return or back-propagate."""
    return _trained(events)[0]


@once_per_file
def detached_activations(events: Sequence[Event]) -> Iterator[tuple[Cut, Event]]:
    """Where something that was to train is cut off from a layer that goes on with it; that layer's call.

    Only what trains nowhere else in the file: layers of the linted modules, and what an optimizer is given.
    """
    flow, seen = flow_of(events), set[int]()
    off, on_request = switched_off(events), asked_for(events)
    for step in steps_of(events, Call, *LAYERS):
        place = step.event
        if not isinstance(place, Operation | Call) or is_without_gradients(place.regions):
            continue
        if not takes_on(flow, place):
            continue
        for cut in ends_before(flow, place, off):
            if id(cut.event.site.node) in seen or id(cut.event.site.node) in on_request:
                continue
            lost = untrained(events, cut, step.stack[-1].owner if step.stack else None)
            lost -= {getattr(place, "layer", None)}  # codes that are looked up by the nearest of them
            if cut.takes_out and not comes_round(events, cut.event, place):
                # on purpose, if what was cut off is not even in an optimizer
                lost = frozenset(origin for origin in lost if is_among(origin, optimized(events)))
            if not lost and is_drawn_to_go_on(events, cut.event):
                lost = cut.lost
            is_weight = any_layer(lost) or (cut.is_flat and any(map(is_made, lost)))
            if lost and (isinstance(cut.event, Region) or (is_weight and goes_on(events, cut, step))):
                seen.add(id(cut.event.site.node))
                yield Cut(cut.event, lost, cut.inside, cut.run), place


def comes_round(events: Sequence[Event], cut: Event, place: Event) -> bool:
    """Whether a state that a layer gets without its graph comes from that layer in the round before.

    Steps are cut off from each other on purpose. But what lies between two of them is never trained.
    """
    given = {maker_of(event.before) for event in events_of(events, Carried) if maker_of(event.after) is place} - {None}
    return bool(given) and any(earlier in given for earlier in ancestors(cut, MOST_SEEN))


def goes_on(events: Sequence[Event], cut: Cut, step: Step) -> bool:
    """Whether what comes after a cut is the rest of the same network: in forward, or on the way to a loss."""
    return step.is_in_forward or (cut.is_flat and id(step.event) in reached_by_losses(events)[0].events)


def asked_for(events: Sequence[Event]) -> frozenset[int]:
    """The contexts that a call asks for by an argument: `with (torch.no_grad() if freeze else nullcontext()):`."""
    regions = [s for s in steps_of(events, Region) if s.stack and isinstance(s.event, Region) and s.event.entered]
    if not regions:
        return frozenset()
    alone = {id(event.function.node) for event in events_of(events, Entered) if not event.at_call}
    own = {id(step.event.site.node) for step in regions if not step.stack[-1].at_call}
    called = {id(step.event.site.node) for step in regions if id(step.stack[-1].function.node) in alone}
    return frozenset(called - own)


def is_drawn_to_go_on(events: Sequence[Event], event: Event) -> bool:
    """Whether a sample of a distribution is for what comes next alone, and no score function needs it."""
    if isinstance(event, Operation) and event.callee == "torch.normal":
        return next(operations(events, {"log_prob"}), None) is None
    if not isinstance(event, Operation) or event.name != "sample" or event.layer is None:
        return False
    is_smooth = event.layer.name.rpartition(".")[2] in SMOOTH
    return is_smooth and not any(
        other.name == "rsample" or other.layer is event.layer for other in operations(events, {"log_prob", "rsample"})
    )


def any_layer(origins: frozenset[object]) -> bool:
    return any(isinstance(origin, Layer) for origin in origins)


def takes_on(flow: Flow, event: Operation | Call) -> bool:
    """A layer with weights, or an unknown callee that is given nothing attached: it goes on with what it gets.

    Not one that is given numbers or an array of NumPy, or whose result nobody takes: it prints, draws or logs.
    """
    if isinstance(event, Operation):
        return event.layer is not None and event.layer.name in WEIGHTED_LAYERS
    if not isinstance(event.callee, Unknown) or len(event.args) != 1 or flow.any_of(event.args).live:
        return False
    (given,) = event.args
    is_network_input = not isinstance(given, Dict) and getattr(given, "library", None) != "numpy"
    return is_network_input and id(event) in taken(flow.events)[0]


@once_per_file
def taken(events: Sequence[Event]) -> Iterator[frozenset[int]]:
    """The calls whose results become operands, are kept or are returned."""
    yield frozenset(id(source) for event in events for source in sources(event) if source is not event)


def ends_before(flow: Flow, place: Operation | Call, off: Mapping[int, Region]) -> Iterator[Cut]:
    """The cuts that an event's operands hang on, also where other operands are attached."""
    queue = list(sources(place))
    seen = {id(event) for event in queue}
    for event in queue:
        if id(event) in off:
            yield from (cut for cut in flow.of(event).cuts if isinstance(cut.event, Region))
        elif (
            isinstance(event, Operation)
            and (is_flat(event) or event.name in WHOLE)
            and (live := flow.any_of(event.values).live)
        ):
            yield Cut(event, live)
        elif len(seen) < MOST_SEEN and not (isinstance(event, Operation) and (cuts(event) or is_layer(event))):
            for earlier in behind(event):
                if id(earlier) not in seen:
                    seen.add(id(earlier))
                    queue.append(earlier)


def behind(event: Event) -> Iterator[Event]:
    """What made the values that an event works on. An index only picks: that it has no gradient is meant."""
    if isinstance(event, Operation) and event.kind is Kind.INDEXING and event.name != "setitem":
        maker = maker_of(event.values[0])
        if maker is not None:
            yield maker
    else:
        yield from exact_sources(event)


def is_layer(event: Operation) -> bool:
    return event.layer is not None and event.layer.name in WEIGHTED_LAYERS


def untrained(events: Sequence[Event], cut: Cut, owner: Value | None) -> frozenset[object]:
    """What of the lost origins trains nowhere, though it should: it is listed, or belongs to a module of the file."""
    idle, listed, live = handled(events), optimized(events), trained(events)
    is_tool = isinstance(owner, Instance) and not is_module(owner)  # a transform with filters, set by hand
    return frozenset(
        origin
        for origin in cut.lost
        if origin not in live
        and not is_among(origin, idle)
        and (
            is_among(origin, listed)
            or (isinstance(origin, Layer) and origin.name in WEIGHTED_LAYERS and not is_tool)
            or is_made(origin)
        )
    )


def left_off(events: Sequence[Event]) -> Iterator[Call]:
    """Statements that switch gradients off for good, in a file that trains or a function that goes on training."""
    calls = [
        call for call in events_of(events, Call) if isinstance(call.callee, Library) and call.callee.name in SWITCHES
    ]
    if not calls or any(FALSE not in (*call.args, *dict(call.kwargs).values()) for call in calls):
        return
    contexts = {id(region.site.node) for region in events_of(events, Region)}
    if trains(events):
        yield from {id(c.site.node): c for c in calls if id(c.site.node) not in contexts}.values()


def trains(events: Sequence[Event]) -> bool:
    if next(operations(events, {"backward", "optimizer"}), None) is not None:
        return True
    return any(isinstance(c.callee, Method) and c.callee.name in {"backward", "train"} for c in events_of(events, Call))


def frozen_inputs(events: Sequence[Event]) -> Iterator[Cut]:
    """Regions in the forward of a module whose weights are all frozen, between its argument and a layer of its own.

    Only the argument could get a gradient from it, and does not.
    """
    if not any(region.entered for region in events_of(events, Region)):
        return
    idle = handled(events)
    if not any(isinstance(part, Instance) for part in idle):
        return
    flow, off = Flow(events, seeds=None), switched_off(events)
    for step in steps_of(events, *LAYERS):
        event = step.event
        if not (step.is_in_forward and isinstance(event, Operation) and is_layer(event)) or id(event) in off:
            continue
        owner = step.stack[-1].owner
        if isinstance(owner, Instance) and owner in idle and all(part in idle for part in parts_of(owner)):
            for cut in flow.any_of(event.values).cuts:
                if isinstance(cut.event, Region) and any(isinstance(origin, Input) for origin in cut.lost):
                    yield cut


def recorded_by_hooks(events: Sequence[Event]) -> Iterator[Operation | Input]:
    """Detached outputs that a forward hook records, where a loss compares nothing but such records."""
    hooks = (call for call in events_of(events, Call) if isinstance(call.callee, Method))
    if not any(call.callee.name == "register_forward_hook" for call in hooks if isinstance(call.callee, Method)):
        return
    compared = set(compared_records(events))
    for step in steps_of(events, Grown, Stored):
        event = step.event
        if isinstance(event, Grown) and event.owner is not None:
            name = event.name.rpartition(".")[2]
        elif isinstance(event, Stored) and event.container is None:
            name = event.attribute
        else:
            continue
        maker = maker_of(event.values[0])
        if name in compared and isinstance(maker, Operation | Input) and is_detached_argument(maker):
            yield maker


def is_detached_argument(maker: Operation | Input) -> bool:
    """`output.detach()` or `output.data` of what a function is given."""
    is_data = isinstance(maker, Input) and maker.kind == "attribute" and maker.name == "data"
    if not is_data and not (isinstance(maker, Operation) and cuts(maker)):
        return False
    source = maker.source if isinstance(maker, Input) else maker.values[0]
    given = maker_of(source) if source is not None else None
    return isinstance(given, Input) and given.kind == "parameter"


def compared_records(events: Sequence[Event]) -> Iterator[str]:
    """The attributes that both sides of a loss are read from."""
    for event in operations(events, LOSSES):
        sides = [set(attributes_behind(value)) for value in event.values[:2]]
        yield from sides[0] & sides[1] if len(sides) == 2 else ()


def attributes_behind(value: Value) -> Iterator[str]:
    maker = maker_of(value)
    for event in (maker, *ancestors(maker, 100)) if maker is not None else ():
        if isinstance(event, Input) and event.kind == "attribute":
            yield event.name
