"""How the parts of a loss hang on what trains: along the events, backwards from where gradients start.

A value is *attached* where a gradient flows from it to something trainable, and *cut* where one would, were it not
for the event that took it from the graph. What is called and unknown counts as trainable; rules ask for more evidence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from shapelint.analysis.gradients.effects import (
    BESIDE,
    SIZES,
    WITH_INDICES,
    addends,
    computed_with,
    cuts,
    effect_of,
    is_array_of_numpy,
    is_counted,
    is_differentiated,
    is_flat,
    is_taken_without_graph,
    rebuilds,
)
from shapelint.analysis.gradients.frozen import source_of, switched_off
from shapelint.analysis.gradients.kept_values import Kept, kept_values
from shapelint.analysis.index import once_per_file
from shapelint.analysis.registration import WEIGHTED_LAYERS
from shapelint.domain.record import record
from shapelint.domain.regions import is_without_gradients
from shapelint.domain.values import (
    NONE,
    TRUE,
    UNKNOWN,
    Const,
    Dict,
    Float,
    Function,
    GraphState,
    Instance,
    Int,
    Layer,
    Library,
    Many,
    Method,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    graph_of,
    maker_of,
)
from shapelint.events import Call, Event, Input, Item, Joined, Kind, Operation, Region
from shapelint.ops.op import GraphEffect
from shapelint.provenance import enters, hands, parts, was_not_followed

ATTACHED = frozenset({GraphState.GRAPH, GraphState.LEAF})  # computed, or the weight of a layer itself
LEAVES = frozenset({"parameter", "requires_grad_"})
COUNTS = re.compile(r"\b(U?[Ii]nt\d*|[Bb]ool|LongTensor|BoolTensor)\b")  # annotations of what has no gradient
WEIGHING = frozenset({"detach", "data", "grad"})  # what makes a weight of a value on purpose
STARTS = frozenset({Kind.CREATION, Kind.RANDOM})
MOST_DEPTH = 400


@record()
class Cut:
    """Where a value left the graph: the event, and what would have trained through it.

    Of a region without gradients: `inside` is what was computed there, `run` what of the lost was called in it.
    """

    event: Operation | Input | Region
    lost: frozenset[object]
    inside: Event | None = None
    run: frozenset[object] = frozenset()
    index: int = 0  # of what the event gives: x.max(1).indices have no gradient

    @property
    def place(self) -> Event:
        """What was computed where the graph ends."""
        return self.event if self.inside is None else self.inside

    @property
    def rebuilds(self) -> bool:
        return isinstance(self.event, Operation) and rebuilds(self.event) and not cuts(self.event)

    @property
    def takes_out(self) -> bool:
        """detach(), .data, item(): the value goes on without its graph."""
        return isinstance(self.event, Input) or self.is_derived or (type(self.event) is Operation and cuts(self.event))

    @property
    def is_derived(self) -> bool:
        """Gradients that torch.autograd.grad gave without a graph of their own."""
        return isinstance(self.event, Operation) and self.event.name == "grad"

    @property
    def is_flat(self) -> bool:
        return self.index > 0 or (isinstance(self.event, Operation) and is_flat(self.event))


@record()
class Hold:
    """What a value is attached to; and where it was cut, if it is attached to nothing."""

    live: frozenset[object] = frozenset()
    cuts: tuple[Cut, ...] = ()

    def __or__(self, other: Hold) -> Hold:
        if other is LOOSE or self is LOOSE:
            return self if other is LOOSE else other
        live = self.live | other.live
        return Hold(live, () if live else tuple(dict.fromkeys(self.cuts + other.cuts)))


LOOSE = Hold()


@dataclass(slots=True)
class Flow:
    """The data flow of one file; what is found of an event is kept."""

    events: Sequence[Event]
    seeds: frozenset[Event] | None = frozenset()  # parameters of functions that count as attached; None: all
    keyed: bool = False  # whether the parts of such a parameter count apart: params["w"]
    doubts: Callable[[Call | Input], bool] | None = None  # what unknown callables give that may not be attached
    known: dict[tuple[int, int], Hold] = field(default_factory=dict)
    depth: int = 0
    behind: dict[int, tuple[Event, Sequence[Event] | None]] = field(default_factory=dict)  # see `reachability.behind`

    @property
    def kept(self) -> Kept:
        return kept_values(self.events)[0]

    def hold(self, value: Value | None) -> Hold:
        """How a value hangs on what trains."""
        match value:
            case Float(made_by=Input()) | Int(made_by=Input()):
                return LOOSE
            case Tensor() | Unknown() | Float() | Int():
                maker = maker_of(value)
                if maker is not None:
                    return self.of(maker)
                graph = graph_of(value)
                return Hold(graph.origins) if graph.origins and graph.state in ATTACHED else LOOSE
            case Tuple(items=items) | Union(options=items):
                return self.any_of(items)
            case Many(item=item):
                return self.hold(item)
            case Dict(items=pairs, other=other):
                own = self.of(value.made_by) if isinstance(value.made_by, Input) else LOOSE
                return own | self.any_of((*(item for _, item in pairs), other))
            case Layer(name=name, config=config) if name.startswith("torch.distributions."):
                return self.any_of(tuple(config.values()))
        return LOOSE

    def hold_element(self, value: Value | None, index: int) -> Hold:
        """The same of one element, where the elements are known apart: of records that were appended to a list."""
        maker = maker_of(value) if value is not None else None
        if isinstance(maker, Input) and maker.kind == "iteration" and maker.source is not None:
            stored = self.stored(maker_of(maker.source))
            if stored and all(isinstance(record, Tuple) and index < len(record.items) for record in stored):
                return self.any_of([record.items[index] for record in stored if isinstance(record, Tuple)])
        return self.hold(value)

    def stored(self, event: Event | None) -> Sequence[Value]:
        """What the methods of a class put into an attribute, or into the list that it is."""
        match event:
            case Input(kind="attribute", source=Instance() as owner, name=name):
                key = id(owner.cls), name
                values = [*self.kept.stores.get(key, ()), *self.kept.grown.get(key, ())]
                return [value for value in values if value != NONE and value != Tuple((), "list")]
        return ()

    def any_of(self, values: Sequence[Value | None]) -> Hold:
        found = LOOSE
        for value in values:
            held = self.hold(value)
            if held is not LOOSE:
                found |= held
        return found

    def of(self, event: Event) -> Hold:
        """How what an event made hangs on what trains; a loop's value does not hang on itself."""
        key = (id(event), event.index) if isinstance(event, Item) else (id(event), -1)
        if key not in self.known:
            if self.depth > MOST_DEPTH:
                return LOOSE
            self.known[key] = LOOSE
            self.depth += 1
            self.known[key] = self._of(event)
            self.depth -= 1
        return self.known[key]

    def _of(self, event: Event) -> Hold:
        match event:  # the most frequent first
            case Operation():
                hold = self.of_operation(event)
                return hold if event in hold.live else self.outside(event, hold)  # a leaf is one, wherever it is made
            case Call():
                return self.outside(event, self.of_call(event))
            case Item(of=Call(callee=Function()) as call, index=index) if self.doubts and was_not_followed(call):
                return self.alone(call, index)
            case Item(of=Call(result=Tuple(items=items)) as call, index=index) if index < len(items):
                is_bare = isinstance(items[index], Tensor | Unknown) and maker_of(items[index]) is None
                return self.of(call) if is_bare else self.hold(items[index])
            case Item(of=Operation(name=name) as chosen, index=1) if name in WITH_INDICES:
                held = self.of(chosen)
                return Hold(cuts=(Cut(chosen, held.live, index=1),)) if held.live else held
            case Item(of=maker):
                return self.of(maker)
            case Input(kind="attribute", source=Instance()):
                return self.any_of(self.stored(event))
            case Input(kind="parameter") if self.is_seed(event):
                return Hold(frozenset({event}))
            case Input(kind="item", name=name, source=Unknown(made_by=Input() as whole)) if self.keyed:
                held = self.of(whole)
                return Hold(frozenset({(whole, name)})) if held.live == {whole} else held
            case Input(kind="item", source=Unknown(made_by=Call())) if self.doubts is not None and self.doubts(event):
                return LOOSE
            case Input(kind="item", name=name, source=Unknown(made_by=Call(callee=Unknown()))) if (
                cut := flow_of(self.events).hold(self.kept.given_as(name))
            ).cuts:
                return cut  # `outputs["weight"]` of the only model of the file that gives one
            case Input(kind="item", name=name, source=source) if name.isdigit():
                return self.hold_element(source, int(name))
            case Input(kind="item" | "iteration", source=source):
                return self.hold(source)
            case Input(kind="attribute", name=name) if name in BESIDE:
                return LOOSE
            case Input(kind="attribute", name="data", source=Unknown() as source) if self.hold(source).live:
                return Hold(cuts=(Cut(event, self.hold(source).live),))
            case Input(kind="attribute", name=name, source=Unknown() as source) if (
                source_of(source) in self.kept.called
                and (own := flow_of(self.events).any_of(self.kept.stored_as(name))) != LOOSE
            ):
                return own  # `model.maps` of what is called: the only class of the file that has such an attribute
            case Input(kind="attribute", source=Tensor() | Unknown() as source):
                return Hold() if maker_of(source) is None else self.hold(source)
            case Joined(options=options):
                return self.any_of(options)
        return LOOSE

    def is_seed(self, event: Input) -> bool:
        if self.seeds is None:
            return COUNTS.search(event.annotation) is None
        return event in self.seeds

    def outside(self, event: Operation | Call, hold: Hold) -> Hold:
        """How what was computed in a region without gradients looks from outside of it: it is cut there."""
        if not is_without_gradients(event.regions):
            return hold
        region = switched_off(self.events).get(id(event))
        operands = [self.hold(value) for value in (hands(event) if region is not None else ())]
        earlier = [cut for operand in (hold, *operands) for cut in operand.cuts if cut.event is region]
        if region is None or not (hold.live or earlier):
            return LOOSE
        given = frozenset().union(*(operand.live for operand in operands))
        lost = hold.live.union(given, *(cut.lost for cut in earlier))
        run = (hold.live - given).union(*(cut.run for cut in earlier))
        return Hold(cuts=(Cut(region, lost, event, run),))

    def of_operation(self, event: Operation) -> Hold:
        if event.name in LEAVES:
            return LOOSE if event.arguments.get("requires_grad") == Const(False) else Hold(frozenset({event}))
        if event.kind in STARTS and event.arguments.get("requires_grad") == TRUE:
            return Hold(frozenset({event}))
        if event.name == "grad" and event.arguments.get("create_graph") != Const(True):
            given = self.hold(event.arguments.get("outputs")).live if is_taken_without_graph(event) else frozenset()
            lost = frozenset(o for o in given if getattr(o, "name", "") != "requires_grad_")  # but what it is asked for
            return Hold(cuts=(Cut(event, lost),)) if lost else LOOSE
        if event.name in SIZES or (effect_of(event) is GraphEffect.CONSTANT and not rebuilds(event)):
            return LOOSE
        operands = self.any_of(computed_with(event)) | self.hold(event.layer)
        if is_array_of_numpy(event):
            return Hold(cuts=operands.cuts)
        if cuts(event) or (rebuilds(event) and not is_differentiated(self.events, event)) or is_flat(event):
            return Hold(cuts=(Cut(event, operands.live),)) if operands.live else operands
        if event.layer is not None and event.layer.name in WEIGHTED_LAYERS:
            return Hold(operands.live | {event.layer})
        if operands.cuts and event.name in {"mul", "div"} and self.is_weighted(event, operands):
            return LOOSE
        return operands

    def is_weighted(self, event: Operation, operands: Hold) -> bool:
        """Whether a factor that was detached may be the weight of one that the caller gave, attached or not."""
        deliberate = all(cut.is_flat or getattr(cut.event, "name", "") in WEIGHING for cut in operands.cuts)
        is_mask = event.name == "mul" and all(cut.is_flat for cut in operands.cuts)
        depth = 50 if is_mask else 0  # it weighs what was computed from them, too
        given = [value for value in event.values if enters(value, depth) and self.hold(value) == LOOSE]
        is_weight = (isinstance(value, Tensor | Unknown) and not is_counted(self.events, value) for value in given)
        return deliberate and any(is_weight)

    def of_call(self, event: Call) -> Hold:
        """A project's function gives what it computed; of others only what they were called with is known."""
        given = self.any_of(hands(event))
        match event.callee:
            case Method(name=name) if name in SIZES:
                return LOOSE
            case Method(name="parameters" | "named_parameters", receiver=receiver) if self.doubts is None:
                return Hold(frozenset({source_of(receiver)}))
            case Function() if (cut := self.cut_within(event)) is not None and event.result != UNKNOWN:
                return Hold(cuts=(Cut(cut, given.live),)) if given.live else LOOSE
            case Function() if self.gives_constants(event):
                return LOOSE
            case Function() if was_not_followed(event) and not self.is_mere(event):
                return self.alone(event) if self.doubts is not None else Hold(given.live | {event.callee})
            case Function():
                result = self.hold(event.result)
                return Hold(cuts=result.cuts) if result.cuts else result | given
            case Library(name="scipy.optimize.linear_sum_assignment"):
                return LOOSE  # it gives indices
            case Library():
                return given if self.doubts is None else LOOSE
            case Method(receiver=Tensor() as receiver):
                return self.hold(receiver) | given
            case Method() if (
                not given.live and (own := flow_of(self.events).hold(self.kept.namesake(event.callee))).cuts
            ):
                return own  # its weights are taken out of the graph in it: `net.penalty()` of numbers
            case Method(receiver=receiver) if self.hold(receiver) != LOOSE:
                return self.hold(receiver) | given
            case Layer():
                return Hold(given.live | {event.callee})
        namesake = self.kept.namesake(event.callee)
        if namesake is not None and flow_of(self.events).hold(namesake) == LOOSE:
            return given  # it computes with nothing that trains but its arguments
        if self.doubts is not None and self.doubts(event):
            return LOOSE
        if any(isinstance(value, Tensor | Unknown | Tuple) for value in event.args):
            return Hold(given.live | {source_of(event.callee)})
        return given

    def alone(self, call: Call, index: int | None = None) -> Hold:
        """How what a function gives on its own, or one of several things, hangs on what trains."""
        own = self.kept.results.get(id(call.callee))
        if isinstance(own, Tuple):
            own = own.items[index] if index is not None and index < len(own.items) else None
        return Hold(self.hold(own).live)

    def is_mere(self, call: Call) -> bool:
        """Whether a function that was not executed for this call computes with nothing that trains itself."""
        own = self.kept.results.get(id(call.callee)) if call.result != UNKNOWN else None
        return own is not None and flow_of(self.events).hold(own) == LOOSE

    def gives_constants(self, call: Call) -> bool:
        """Whether a function that was not executed for this call gives what no gradient reaches: an accuracy."""
        own = self.kept.results.get(id(call.callee)) if call.result != UNKNOWN and was_not_followed(call) else None
        return isinstance(own, Tensor) and own.shape.rank == 0 and not _seeded(self.events)[0].hold(own).live

    def cut_within(self, call: Call) -> Operation | None:
        """Where a function that was not executed for this call takes what it gives from the graph."""
        own = self.kept.results.get(id(call.callee))
        if own is None or not was_not_followed(call):
            return None
        makers = (maker_of(part) for part in parts((own,)))
        return next((maker for maker in makers if isinstance(maker, Operation) and cuts(maker)), None)

    def terms(self, value: Value) -> list[Value]:
        """The additive parts of a loss, without what only scales them or joins paths."""
        found: list[Value] = []
        self._split(value, found, set())
        return found

    def _split(self, value: Value, found: list[Value], seen: set[int]) -> None:
        maker = maker_of(value)
        if isinstance(value, Union):
            for option in value.options:
                self._split(option, found, seen)
            return
        if maker is None or id(maker) in seen:
            return
        seen.add(id(maker))
        parts = self.parts(maker)
        if parts is None:
            found.append(value)
        else:
            for part in parts:
                self._split(part, found, seen)

    def parts(self, event: Event) -> tuple[Value, ...] | None:
        """What an event adds up or hands on; None where it computes something of its own."""
        if isinstance(event, Operation) and event.name in {"mul", "div"} and not is_without_gradients(event.regions):
            factors = [value for value in event.values if self.hold(value) != LOOSE]
            return (factors[0],) if len(factors) == 1 else None
        return addends(event)


@once_per_file
def _flows(events: Sequence[Event]) -> Iterator[Flow]:
    yield Flow(events)


@once_per_file
def _seeded(events: Sequence[Event]) -> Iterator[Flow]:
    """The same where all that functions are given is attached."""
    yield Flow(events, seeds=None)


def flow_of(events: Sequence[Event]) -> Flow:
    """The data flow of a file, shared by all who ask for it."""
    return _flows(events)[0]
