"""What an optimizer is given one by one: tensors that are replaced afterwards, and modules that are given twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.gradients.frozen import GATHERING, listed
from shapelint.analysis.index import events_of, once_per_file
from shapelint.analysis.registration import Step, steps, steps_of
from shapelint.analysis.training.actions import key
from shapelint.analysis.training.exhausted_iterators import Lost
from shapelint.analysis.training.untrained import Trained, built
from shapelint.domain.values import Dict, GraphState, Library, Many, Method, Tensor, Tuple, Value, maker_of
from shapelint.events import Call, Event, Kind, Operation, Stored

ALL_OF_IT = (Library("builtins.list"), Library("builtins.tuple"))


@once_per_file
def leaves_lost(events: Sequence[Event]) -> Iterator[Lost]:
    """Tensors and modules that an optimizer was to be given, and was not."""
    if built(events):
        yield from replaced_leaves(events)
        yield from given_twice(events)


def replaced_leaves(events: Sequence[Event]) -> Iterator[Lost]:
    """Attributes that held a tensor which an optimizer was given, and are set to a new one that learns."""
    given = [(trained, leaf) for trained in built(events) for leaf in leaves_of(trained.event)]
    if not given:
        return
    stores = [step for step in steps_of(events, Stored) if is_new_leaf(step.event)]
    known = {id(leaf.site.node) for _, leaf in given}
    order = {id(step.event): index for index, step in enumerate(steps(events))}
    for trained, leaf in given:
        held = {place_of(step.event) for step in stores if maker_of(step.event.values[0]) is leaf}
        for step in stores:
            made = maker_of(step.event.values[0])
            is_new = made is not None and id(made.site.node) not in known
            if is_new and place_of(step.event) in held and comes_later(step, trained, order[id(step.event)], events):
                known.add(id(made.site.node))  # type: ignore[union-attr]
                yield Lost("replaced", step.event, step.event.site, place_of(step.event)[1], trained.event.site)


def leaves_of(optimizer: Operation) -> Iterator[Event]:
    """What made the tensors that an optimizer is given one by one."""
    for value in listed(optimizer.arguments.get("params")):
        maker = maker_of(value)
        if isinstance(value, Tensor) and value.graph.state is GraphState.LEAF and maker is not None:
            yield maker


def is_new_leaf(event: Event) -> bool:
    """Whether an attribute is set to a tensor that begins there and learns; x.requires_grad_() is x."""
    if not isinstance(event, Stored) or event.container is not None or not isinstance(event.value, Tensor):
        return False
    maker = maker_of(event.value)
    is_made = isinstance(maker, Operation) and (maker.name == "parameter" or maker.kind in {Kind.CREATION, Kind.RANDOM})
    return is_made and event.value.graph.state is GraphState.LEAF


def place_of(event: Event) -> tuple[int, str]:
    assert isinstance(event, Stored)
    return id(event.owner.cls), event.attribute


def comes_later(step: Step, trained: Trained, index: int, events: Sequence[Event]) -> bool:
    """Whether an attribute is set after the optimizer was built: in its function, or in one that builds none."""
    if trained.within is None or trained.within in step.stack:
        return index > trained.index
    optimizers = {other.within.function.name for other in built(events) if other.within is not None}
    return optimizers == {"__init__"} and bool(step.stack) and step.stack[0].function.name != "__init__"


def given_twice(events: Sequence[Event]) -> Iterator[Lost]:
    """Optimizers whose list of parameters holds those of one module twice, where another one was meant."""
    whole = {id(c.site.node) for c in events_of(events, Call) if c.callee in ALL_OF_IT}
    for trained in built(events):
        seen: set[object] = set()
        for call in together(trained.event.arguments.get("params"), whole):
            module = key(call.callee.receiver) if isinstance(call.callee, Method) else call
            if module in seen:
                yield Lost("twice", trained.event, trained.event.site, call.site.text)
                break
            seen.add(module)


def together(value: Value | None, whole: set[int]) -> Iterator[Call]:
    """The calls of parameters() that are certainly in one list, each with all that it gives."""
    maker = maker_of(value) if value is not None else None
    match value, maker:
        case Tuple(items=items), _:
            for item in items:
                yield from together(item, whole)
        case Dict(items=pairs), _:
            yield from together(Tuple(tuple(item for name, item in pairs if name == "params")), whole)
        case _, Call(callee=Library(name=name), args=args) if name in GATHERING:
            yield from together(Tuple(args), whole)
        case _, Call(callee=Method(name="parameters", function=None)):
            yield maker
        case Many(item=item), None:
            source = maker_of(item)
            if source is not None and id(source.site.node) in whole:
                yield from together(getattr(source, "source", None), whole)
