"""Targets and advantages that are computed from what they are to train, and stay attached to it.

A residual is read as a sum of signed terms. In `r + gamma * q(s2) - q(s)` a term of data stands beside a scaled one of
a module, and a plain one of the same module has the other sign.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.gradients.dataflow import Cut, Flow, flow_of
from shapelint.analysis.gradients.frozen import is_among, source_of
from shapelint.analysis.gradients.jax_tracing import differentiated
from shapelint.analysis.gradients.reachability import OF_MODULES, attached_behind
from shapelint.analysis.index import events_of, operations
from shapelint.domain.record import record
from shapelint.domain.values import (
    Const,
    Float,
    Function,
    Int,
    Library,
    Many,
    Method,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    maker_of,
    number,
)
from shapelint.events import Call, Entered, Event, Input, Item, Joined, Kind, Operation
from shapelint.provenance import ancestors

REGRESSIONS = frozenset({"mse_loss", "smooth_l1_loss", "huber_loss", "l1_loss", "l2_loss"})
HANDED_ON = frozenset({
    "squeeze", "unsqueeze", "reshape", "view", "flatten", "expand_dims", "to", "float", "cuda", "cpu", "clone",
    "stack", "cat", "getitem", "where", "clamp",
})  # fmt: skip
LOG_PROBABILITIES = frozenset({"log_prob", "log_softmax", "log"})
PROBABILITIES = LOG_PROBABILITIES | {"softmax", "sigmoid", "exp", "grad"}
SIMILARITIES = REGRESSIONS | {"cosine_similarity", "mul"}
MOST_TERMS = 64


@record(eq=False)
class Term:
    """One addend of a residual: its sign, by how many factors it is scaled, and the sums that it stands in."""

    value: Value
    sign: int
    scale: int
    sums: tuple[Operation, ...]


@record(eq=False)
class Leak:
    """A sum that is to be constant and is not; `source` is what it hangs on, `use` where it is used as a constant."""

    sum: Operation
    part: Value  # the operand of it that is attached
    source: Event
    use: Operation
    is_advantage: bool = False


def leaks(events: Sequence[Event]) -> Iterator[Leak]:
    """Targets and advantages that let a gradient through to what they train, each sum once."""
    uses = list(operations(events, REGRESSIONS | {"pow", "square", "mul"}))
    if not any(event.name != "mul" or has_sum(event) for event in uses):
        yield from leaking_twins(events)
        return
    seen: set[int] = set()
    for flow, seeds in flows(events):
        for use in uses:
            for found in (*leaking_target(flow, use, seeds), *leaking_advantage(flow, use)):
                if id(found.sum.site.node) not in seen:
                    seen.add(id(found.sum.site.node))
                    yield found
    yield from leaking_twins(events)


def has_sum(event: Operation) -> bool:
    makers = (maker_of(value) for value in event.values)
    return any(isinstance(maker, Operation) and maker.name in {"add", "sub"} for maker in makers)


def flows(events: Sequence[Event]) -> Iterator[tuple[Flow, frozenset[object] | None]]:
    """The data flow of modules, and that of the arguments by which jax differentiates."""
    modules = frozenset(
        source_of(call.callee.receiver)
        for call in events_of(events, Call)
        if isinstance(call.callee, Method) and call.callee.name in OF_MODULES
    )

    def is_doubtful(call: Call | Input) -> bool:
        """A method of what is no module gives data: env.step(action), memory.sample()."""
        if isinstance(call, Input):
            return False
        return isinstance(call.callee, Method) and not is_among(source_of(call.callee), modules)

    yield Flow(events, doubts=is_doubtful), None
    yield from flows_of_arguments(events)


def flows_of_arguments(events: Sequence[Event]) -> Iterator[tuple[Flow, frozenset[object]]]:
    """The data flow of the arguments by which jax differentiates, with these."""
    wanted = {id(function): numbers for function, numbers, _ in differentiated(events)}
    seeds: set[Event] = set()
    for entered in events_of(events, Entered) if wanted else ():
        values = list(entered.parameters.values())
        for place in wanted.get(id(entered.function), ()):
            maker = maker_of(values[place]) if -len(values) <= place < len(values) else None
            if isinstance(maker, Input):
                seeds.add(maker)
    if seeds:
        yield Flow(events, seeds=frozenset(seeds)), frozenset(seeds)


def leaking_target(flow: Flow, use: Operation, seeds: frozenset[object] | None) -> Iterator[Leak]:
    """`r + gamma * v(s2)` in a loss or a square beside a plain `v(s)` with the other sign, of the same module."""
    attached, data = parted(flow, residual(flow, use))
    of_data = origins(flow, data)
    for later in attached if data else ():
        for reward in data:
            met = [total for total in later.sums if total in reward.sums]
            if not met or reward.sign != later.sign or reward.scale >= later.scale:
                continue
            plain = [term for term in attached if term.sign != later.sign and term.scale == reward.scale]
            shared = (flow.hold(later.value).live & origins(flow, plain)) - of_data
            source = called(flow, later.value, shared if seeds is None else shared & seeds)
            if source is not None:
                yield Leak(met[-1], attached_operand(flow, met[-1]), source, use)
                return


def reversed_targets(events: Sequence[Event]) -> Iterator[Cut]:
    """The cut of a plain `v(s)` beside an attached `r + gamma * v(s2)`, where the other of them is the target."""
    stopping = frozenset({"detach", "stop_gradient"})
    if not any(True for _ in operations(events, stopping)):
        return
    uses = list(operations(events, REGRESSIONS | {"pow", "square"}))
    for flow, _ in ((flow_of(events), None), *flows_of_arguments(events)) if uses else ():
        for use in uses:
            attached, data = parted(flow, residual(flow, use))
            later = next((term for term in attached if bootstraps(term, data)), None)
            if later is None or any(term.sign != later.sign for term in attached):
                continue
            live = flow.hold(later.value).live
            for cut in (cut for term in data if term.sign != later.sign for cut in flow.hold(term.value).cuts):
                is_stopped = isinstance(cut.event, Operation) and cut.event.name in stopping and cut.lost <= live
                if is_stopped and is_output(flow, cut.event.values[0]):
                    yield cut


def is_output(flow: Flow, value: Value) -> bool:
    """Whether a value is what a model gives, at most laid out anew."""
    makers = [maker_of(term.value) for term in terms_of(flow, value)]
    match makers:
        case [Call(callee=callee)]:
            return not isinstance(callee, Library)
        case [Operation(kind=Kind.CONTRACTION | Kind.LAYER)]:
            return True
    return False


def bootstraps(later: Term, data: Sequence[Term]) -> bool:
    """Whether a scaled term is added to data, as a later value is to a reward."""
    return any(
        reward.sign == later.sign and reward.scale < later.scale and set(later.sums) & set(reward.sums)
        for reward in data
    )


def parted(flow: Flow, terms: Sequence[Term]) -> tuple[list[Term], list[Term]]:
    """The terms that a gradient flows through, and those that are data; constants of the source are neither."""
    attached = [term for term in terms if flow.hold(term.value).live]
    return attached, [term for term in terms if is_data(term.value) and not flow.hold(term.value).live]


def origins(flow: Flow, terms: Sequence[Term]) -> frozenset[object]:
    return flow.any_of([term.value for term in terms]).live


def attached_operand(flow: Flow, total: Operation) -> Value:
    return next(value for value in total.values if flow.hold(value).live)


def residual(flow: Flow, use: Operation) -> list[Term]:
    """The terms of what a regression makes small."""
    values = use.values
    if use.name in REGRESSIONS:
        if len(values) < 2 or not all(isinstance(value, Tensor | Unknown | Union) for value in values[:2]):
            return []
        return [*terms_of(flow, values[0], 1), *terms_of(flow, values[1], -1)]
    if use.name == "mul":
        is_square = len(values) == 2 and maker_of(values[0]) is not None and maker_of(values[0]) is maker_of(values[1])
        return terms_of(flow, values[0]) if is_square else []
    exponent = values[1] if use.name == "pow" and len(values) > 1 else None
    is_two = use.name == "square" or number(exponent) == 2
    return terms_of(flow, values[0]) if is_two and values else []


def is_data(value: Value) -> bool:
    """What is no constant of the source: a reward, a return."""
    return isinstance(value, Tensor | Unknown | Union) or (isinstance(value, Int | Float) and number(value) is None)


def leaking_twins(events: Sequence[Event]) -> Iterator[Leak]:
    """`d(predictor(z1), z2) + d(predictor(z2), z1)` of two views, where neither z is detached: they collapse."""
    alike = list(operations(events, SIMILARITIES))
    for given, seeds in flows(events) if len(alike) > 1 else ():
        flow = given if seeds is None else Flow(events, seeds=frozenset(seeds), keyed=True)  # type: ignore[arg-type]
        pairs = [pair for event in alike if (pair := compared(flow, event)) is not None]
        for place, (first, predicted, target) in enumerate(pairs):
            for second, other, twin in pairs[:place]:
                if target is twin or not {target, twin}.isdisjoint({predicted, other}):
                    continue
                same = flow.of(target).live == flow.of(twin).live
                if same and comes_from(flow, predicted, twin) and comes_from(flow, other, target):
                    total = sum_of(events, first, second)
                    if total is not None:
                        yield Leak(total, total.values[0], target, first)
                        return


def compared(flow: Flow, event: Operation) -> tuple[Operation, Event, Event] | None:
    """A similarity with what made its prediction, the side that passes more layers, and its target."""
    if len(event.values) < 2:
        return None
    one, two = (unwrapped(value) if flow.hold(value).live else None for value in event.values[:2])
    if one is None or two is None:
        return None
    if flow.of(one).live > flow.of(two).live:
        return event, one, two
    return (event, two, one) if flow.of(two).live > flow.of(one).live else None


def unwrapped(value: Value) -> Event | None:
    """What computed a value, behind what normalises it or lays it out anew."""
    maker = maker_of(value)
    while isinstance(maker, Operation) and maker.name in HANDED_ON | {"normalize", "div", "l2_normalize"}:
        maker = maker_of(maker.values[0])
    return maker


def comes_from(flow: Flow, prediction: Event, source: Event) -> bool:
    return any(earlier is source for earlier in attached_behind(flow, prediction))


def sum_of(events: Sequence[Event], first: Event, second: Event) -> Operation | None:
    """The first sum that holds both."""
    for event in operations(events, {"add"}):
        behind = {id(earlier) for earlier in ancestors(event, 60)}
        if {id(first), id(second)} <= behind:
            return event
    return None


def leaking_advantage(flow: Flow, use: Operation) -> Iterator[Leak]:
    """`log_prob * (returns - v(s))`, where the second factor lets a gradient through to v."""
    if use.name != "mul" or len(use.values) != 2:
        return
    for weight, other in (use.values, use.values[::-1]):
        attached, data = parted(flow, terms_of(flow, weight))
        if not attached or not data or not is_log_probability(flow, other):
            continue
        for baseline in attached:
            met = [s for s in baseline.sums for d in data if s in d.sums and d.sign != baseline.sign]
            source = called(flow, baseline.value, flow.hold(baseline.value).live) if met else None
            if source is not None and not passes(flow, baseline.value, PROBABILITIES):
                yield Leak(met[-1], attached_operand(flow, met[-1]), source, use, is_advantage=True)
                return


def is_log_probability(flow: Flow, value: Value) -> bool:
    return bool(flow.hold(value).live) and passes(flow, value, LOG_PROBABILITIES)


def passes(flow: Flow, value: Value, names: frozenset[str]) -> bool:
    """Whether the gradient of a value goes through an operation, or a method, of one of these names."""
    maker = maker_of(value)
    for event in attached_behind(flow, maker) if maker is not None else ():
        match event:
            case Operation(name=name) | Call(callee=Method(name=name)) if name in names:
                return True
    return False


def called(flow: Flow, value: Value, wanted: frozenset[object]) -> Event | None:
    """The nearest call through which a value hangs on one of `wanted`; None where it is no module's output."""
    maker = maker_of(value)
    for event in attached_behind(flow, maker) if maker is not None and wanted else ():
        match event:
            case Operation(name="grad"):
                return None
            case Call(callee=Library()):
                continue
            case Call() if flow.of(event).live & wanted:
                return event
            case Operation(layer=layer) if layer is not None and layer in wanted:
                return event
            case Operation(kind=Kind.CONTRACTION) if flow.of(event).live & wanted:
                return event
    return None


def terms_of(flow: Flow, value: Value, sign: int = 1) -> list[Term]:
    """The addends of a value, through functions, paths that meet, and what only lays it out anew."""
    found: list[Term] = []
    _split(flow, Term(value, sign, 0, ()), found, set())
    return found


def _split(flow: Flow, term: Term, found: list[Term], seen: set[tuple[int, int, int]]) -> None:
    maker = maker_of(term.value)
    parts = None
    if isinstance(term.value, Union | Tuple | Many) or (maker is not None and flow.hold(term.value).live):
        key = id(maker or term.value), term.sign, term.scale
        if key in seen or len(seen) > MOST_TERMS:
            return
        seen.add(key)
        parts = list(_parts(flow, term, maker))
    if not parts:
        found.append(term)
    for part in parts or ():
        _split(flow, part, found, seen)


def _parts(flow: Flow, term: Term, maker: Event | None) -> Iterator[Term]:
    def same(values: Sequence[Value]) -> Iterator[Term]:
        return (Term(value, term.sign, term.scale, term.sums) for value in values)

    match term.value:
        case Union(options=values) | Tuple(items=values):
            yield from same(values)
            return
        case Many(item=item) if item is not term.value:
            yield from same((item,))
            return
    match maker:
        case Joined(options=values):
            yield from same(values)
        case Item(of=Call(callee=Function(), result=Tuple(items=items)), index=index) if index < len(items):
            yield from same((items[index],))
        case Call(callee=Function(), result=result) if maker_of(result) is not None:
            yield from same((result,))
        case Operation(name="add" | "sub" as name, values=(first, second, *_)) as event:
            sums = (*term.sums, event)
            yield Term(first, term.sign, term.scale, sums)
            yield Term(second, -term.sign if name == "sub" else term.sign, term.scale, sums)
        case Operation(name="neg", values=(inner, *_)):
            yield Term(inner, -term.sign, term.scale, term.sums)
        case Operation(name="mul", values=factors):
            live = [factor for factor in factors if flow.hold(factor).live]
            if len(live) == 1:
                yield Term(live[0], term.sign, term.scale + 1, term.sums)
        case Operation(name="div", values=(above, *_)) if flow.hold(above).live:
            yield Term(above, term.sign, term.scale, term.sums)
        case Operation(name=name, values=values) if name in HANDED_ON:
            kept = values[1:] if name == "where" else values[:1]
            yield from same([value for value in kept if not isinstance(value, Const)])
