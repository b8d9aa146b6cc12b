"""Functions that jax traces and differentiates: numbers asked for too early, and arguments without a gradient."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shapelint.analysis.gradients.dataflow import Cut, Flow
from shapelint.analysis.gradients.dead_terms import DeadTerm, dead_parts
from shapelint.analysis.gradients.effects import NUMBERS, cuts, is_flat
from shapelint.analysis.index import events_of, once_per_file
from shapelint.analysis.registration import steps
from shapelint.domain.record import record
from shapelint.domain.values import (
    TRUE,
    Function,
    Int,
    Library,
    Method,
    Partial,
    Tensor,
    Tuple,
    Unknown,
    Value,
    maker_of,
    options,
)
from shapelint.events import Call, Entered, Event, Input, Item, Left, Operation
from shapelint.provenance import ancestors

GRADIENTS = frozenset({
    "jax.grad", "jax.value_and_grad", "equinox.filter_grad", "equinox.filter_value_and_grad",
    "flax.nnx.grad", "flax.nnx.value_and_grad",
})  # fmt: skip
# Functions of NumPy that call the method of what they are given.
ASKING_METHODS = frozenset({
    "sum", "mean", "max", "min", "amax", "amin", "prod", "std", "var", "argmax", "argmin", "cumsum", "cumprod",
    "reshape", "transpose", "squeeze", "round", "repeat", "take", "any", "all", "argwhere", "nonzero", "shape", "ndim",
    "size", "flip", "swapaxes", "moveaxis", "split", "array_split", "result_type", "searchsorted", "iscomplexobj",
    "partition", "compress", "diagonal", "choose", "argpartition",
})  # fmt: skip
TRACING = frozenset(
    ["jax.jit", "jax.grad", "jax.value_and_grad", "jax.vmap", "jax.jacobian", "jax.hessian", "jax.jacfwd", "jax.jacrev"]
)


def concretised(events: Sequence[Event]) -> Iterator[Operation]:
    """float(), item() and numpy in a function that jax traces, on what it computed from its arguments."""
    traced = {
        id(argument)
        for event in events_of(events, Call)
        if isinstance(event.callee, Library) and event.callee.name in TRACING
        for argument in event.args[:1]
    }
    if not traced:
        return
    for step in steps(events):
        match step.event:
            case Operation() as event if needs_numbers(event):
                if any(id(entered.function) in traced for entered in step.stack):
                    makers = (maker_of(v) for v in event.values if isinstance(v, Tensor) and v.library == "jax")
                    if any(_is_argument(earlier) for m in makers if m is not None for earlier in (m, *ancestors(m))):
                        yield event


def needs_numbers(event: Operation) -> bool:
    """float(), item(), and what NumPy computes itself; np.sum(x) is x.sum()."""
    if event.callee.startswith("numpy."):
        return event.callee.removeprefix("numpy.") not in ASKING_METHODS
    return event.callee in NUMBERS or event.name in {"item", "tolist"}


def _is_argument(event: Event) -> bool:
    return isinstance(event, Input) and event.kind == "parameter"


def function_of(value: Value) -> Function | None:
    match value:
        case Function():
            return value
        case Method(function=Function() as function):
            return function
        case Partial(callee=callee):
            return function_of(callee)
    return None


def differentiating(events: Sequence[Event]) -> Iterator[Call]:
    """The calls of jax.grad, value_and_grad and the like."""
    for call in events_of(events, Call):
        if isinstance(call.callee, Library) and call.callee.name in GRADIENTS and call.args:
            yield call


def differentiated(events: Sequence[Event]) -> Iterator[tuple[Function, tuple[int, ...], bool]]:
    """The functions that jax differentiates: by which of their arguments, and whether they return more than a loss."""
    for call in differentiating(events):
        function, keywords = function_of(call.args[0]), dict(call.kwargs)
        if function is not None:
            numbers = positions(call.args[1] if len(call.args) > 1 else keywords.get("argnums"))
            shift = 1 if isinstance(call.args[0], Method) else 0
            yield function, tuple(number + shift for number in numbers), keywords.get("has_aux") == TRUE


def positions(argnums: Value | None) -> tuple[int, ...]:
    match argnums:
        case None:
            return (0,)
        case Int(dim=dim) if dim.value is not None:
            return (dim.value,)
        case Tuple(items=items):
            return tuple(number for item in items for number in positions(item))
    return ()


@record(eq=False)
class Objectives:
    """What jax differentiates in a file: by which arguments, what comes out, and how that hangs on them."""

    flow: Flow
    given: Mapping[int, tuple[Input, ...]]  # by the identity of the function
    losses: tuple[tuple[Function, Value], ...]


@once_per_file
def objectives(events: Sequence[Event]) -> Iterator[Objectives]:
    wanted = {id(function): (numbers, has_aux) for function, numbers, has_aux in differentiated(events)}
    if not wanted:
        return
    given: dict[int, tuple[Input, ...]] = {}
    losses: list[tuple[Function, Value]] = []
    for event in events:
        match event:
            case Entered(function=function, at_call=False, parameters=parameters) if id(function) in wanted:
                values = list(parameters.values())
                chosen = [values[n] for n in wanted[id(function)][0] if -len(values) <= n < len(values)]
                given[id(function)] = tuple(m for v in chosen if isinstance(m := maker_of(v), Input))
            case Left(function=function, result=result) if id(function) in given:
                first = result.items[0] if isinstance(result, Tuple) and wanted[id(function)][1] else result
                losses.append((function, first))
    flow = Flow(events, seeds=frozenset(seed for seeds in given.values() for seed in seeds), keyed=True)
    yield Objectives(flow, given, tuple(losses))


def dead_objectives(events: Sequence[Event]) -> Iterator[DeadTerm]:
    """The parts of what jax differentiates that have no gradient, while others have one."""
    for found in objectives(events):
        for function, loss in found.losses:
            maker, seeds = next(makers_of(loss), None), found.given[id(function)]
            for dead in dead_parts(found.flow, loss, maker, is_certain=True) if maker is not None else ():
                if any(root(origin) in seeds for origin in dead.cut.lost):
                    yield dead


def without_gradient(events: Sequence[Event]) -> Iterator[Cut]:
    """The cuts that keep an argument, or a part of it that is asked for by name, from any gradient of the loss."""
    for found in objectives(events):
        yield from keeping(found, dict(asked_for(events)))


def keeping(objectives: Objectives, asked: Mapping[int, frozenset[str]]) -> Iterator[Cut]:
    flow, given = objectives.flow, objectives.given
    for function, loss in objectives.losses:
        live = flow.hold(loss).live
        dead = {seed for seed in given[id(function)] if not any(root(origin) is seed for origin in live)}
        names = asked.get(id(function), frozenset())
        stopped: frozenset[object] = frozenset()  # on purpose, and nearer to the loss
        for event in (event for maker in makers_of(loss) for event in (maker, *ancestors(maker))):
            if isinstance(event, Operation) and event.callee.startswith("numpy."):
                break  # it raises before there is a gradient
            if isinstance(event, Operation) and (cuts(event) or is_flat(event)):
                lost = flow.any_of(event.values).live - live - (stopped if is_flat(event) else frozenset())
                wanted_parts = (o for o in lost if isinstance(o, tuple) and root(o) in given[id(function)])
                if any(root(origin) in dead for origin in lost) or any(
                    is_flat(event) or origin[1] in names for origin in wanted_parts
                ):
                    yield Cut(event, lost)
                    break
                stopped |= lost


def makers_of(loss: Value) -> Iterator[Event]:
    """What made a loss: a loop that may have no round leaves the number before it, or a tensor."""
    return (maker for option in options(loss) if (maker := maker_of(option)) is not None)


def root(origin: object) -> object:
    return origin[0] if isinstance(origin, tuple) else origin


def asked_for(events: Sequence[Event]) -> Iterator[tuple[int, frozenset[str]]]:
    """By function: the names of the parts that are taken from its gradient, `grads["w"]`."""
    values: dict[int, int] = {}
    calls: dict[tuple[int, int], Call] = {}
    for call in events_of(events, Call):
        key = id(call.site.node), id(call.callee)
        if isinstance(call.callee, Function) and calls.setdefault(key, call) is not call:
            values[id(call)] = id(call.callee)  # the call of jax.grad(f), after that of f
    found: dict[int, set[str]] = {}
    for event in events if values else ():
        for value in event.values if isinstance(event, Operation | Call) else ():
            match value:
                case Unknown(made_by=Input(kind="item", name=name, source=Unknown(made_by=maker))):
                    gradient = maker.of if isinstance(maker, Item) else maker
                    if id(gradient) in values:
                        found.setdefault(values[id(gradient)], set()).add(name)
    yield from ((function, frozenset(names)) for function, names in found.items())
