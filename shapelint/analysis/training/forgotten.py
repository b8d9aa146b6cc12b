"""Layers and Parameters that a loss runs through, and that an optimizer was not given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shapelint.analysis import syntax
from shapelint.analysis.gradients.effects import attached
from shapelint.analysis.gradients.frozen import (
    GIVING,
    handled,
    is_among,
    modules_behind,
    optimized,
    parts_of,
    source_of,
)
from shapelint.analysis.index import events_of, once_per_file
from shapelint.analysis.registration import Step, is_module, is_parameter, learners, made_in_forward, stacks, steps
from shapelint.analysis.training.exhausted_iterators import Lost, used_up
from shapelint.analysis.training.untrained import Trained, built, is_foreign, maker_of_layer, replaced, swapped
from shapelint.domain.regions import is_without_gradients
from shapelint.domain.values import FALSE, Instance, Layer, Method, Value, maker_of
from shapelint.events import Call, Comprehension, Event, Grown, Input, Kind, Operation, Returned, Stored
from shapelint.provenance import ancestors, hands, was_not_followed
from shapelint.provenance import parts as parts_in


def missing(events: Sequence[Event]) -> Iterator[Lost]:
    """Layers after those that an optimizer was given one by one, which it was not given."""
    for trained in built(events):
        named = _named(events, trained) if trained.is_complete else None
        for parts in _parts_of_classes(events).values() if named is not None else ():
            left = parts.keys() - named if named is not None else set()
            if named is not None and len(named) >= 2 and named <= parts.keys() and 0 < len(left) < len(named):
                given = frozenset(part for name in named for part in parts[name])
                if all(_is_forgotten(events, parts[name], given, trained, name) for name in left):
                    yield Lost("missing", trained.event, trained.event.site, f"`{min(left)}`")
                    break


def _named(events: Sequence[Event], trained: Trained) -> set[str] | None:
    """The attributes of one object that an optimizer was given: `model.neck.parameters()`, `self.neck...`."""
    owners: set[object] = set()
    names: set[str] = set()
    for module in trained.modules:
        maker = maker_of(module)
        if isinstance(maker, Input) and maker.kind == "attribute" and maker.source is not None:
            owners.add(source_of(maker.source))
            names.add(maker.name)
            continue
        inside = frozenset(parts_of(module))
        classes = _parts_of_classes(events).items()
        found = [(cls, name) for cls, parts in classes for name, part in parts.items() if part and part <= inside]
        if len(found) != 1:
            return None
        owners.add(found[0][0])
        names.add(found[0][1])
    return names if len(owners) == 1 else None


@once_per_file
def _classes(events: Sequence[Event]) -> Iterator[dict[int, dict[str, frozenset[object]]]]:
    classes: dict[int, dict[str, frozenset[object]]] = {}
    for event in events_of(events, Stored):
        owner, value = event.owner, event.value
        if event.method == "__init__" and event.container is None and is_module(owner) and any(learners(value)):
            layers = frozenset(part for part in parts_of(value) if isinstance(part, Layer))
            if layers:
                classes.setdefault(id(owner), {}).setdefault(event.attribute, layers)
    yield classes


def _parts_of_classes(events: Sequence[Event]) -> dict[int, dict[str, frozenset[object]]]:
    """The layers in each attribute of each object of a module class of a file."""
    return _classes(events)[0]


def _is_forgotten(
    events: Sequence[Event], layers: frozenset[object], given: frozenset[object], trained: Trained, name: str
) -> bool:
    """Whether layers compute with what the given ones computed, and are neither frozen nor trained elsewhere."""
    if layers & handled(events) or layers & optimized(events):
        return False
    is_used = False
    for step in steps(events):
        match step.event:
            case Call(callee=Method(name=asked, receiver=receiver)) if asked in GIVING:
                maker = maker_of(receiver)
                is_here = (step.stack[-1] if step.stack else None) is trained.within
                if is_here and isinstance(maker, Input) and maker.name == name and is_passed_on(events, step.event):
                    return False
            case Operation(layer=Layer() as layer) as event if layer in layers and step.is_in_forward and not is_used:
                behind = (e for e in ancestors(event, 400) if isinstance(e, Operation))
                is_used = any(e.layer in given for e in behind)
    return is_used


def is_passed_on(events: Sequence[Event], given: Event) -> bool:
    """Whether anything gets what a call of parameters() gives: a group may be made and never appended."""
    return any(
        maker_of(part) is given
        for event in events
        if isinstance(event, Operation | Call | Returned | Stored | Grown) and event is not given
        for part in parts_in(event.values)
    )


def left_out(events: Sequence[Event]) -> Iterator[Lost]:
    """Layers that a loss runs through after those that the optimizer was given, in the function that builds both.

    Or in another method of the object whose method builds both.
    """
    optimizers = built(events)
    if not optimizers:
        return
    known = frozenset(map(maker_of_layer, optimized(events) | handled(events))).union(*(t.makers for t in optimizers))
    known |= {event for event, _ in made_in_forward(events)}  # no optimizer can know them: SHP305 says so
    more = frozenset(extended(events))
    for trained in optimizers:
        neighbours = [other for other in optimizers if other.within is trained.within]
        if not all(other.is_complete and other.modules for other in neighbours) or has_twin(trained, neighbours):
            continue
        if trained.event in more:
            continue
        is_over = False
        for step in steps(events)[trained.index + 1 :]:
            is_over = is_over or (trained.within is not None and trained.within not in step.stack)
            if isinstance(step.event, Operation) and step.event.name == "backward":
                found = next(at_loss(events, step, trained, known, is_over), None)
                if found is not None:
                    yield Lost("missing", trained.event, trained.event.site, f"`{found.site.text}`", found.site)
                    break


@once_per_file
def _order(events: Sequence[Event]) -> Iterator[dict[int, int]]:
    yield {id(event): index for index, event in enumerate(events)}


def at_loss(
    events: Sequence[Event], step: Step, trained: Trained, known: frozenset[object], is_over: bool
) -> Iterator[Event]:
    """What an optimizer was not given, of a loss in the function that builds it, or beside it."""
    loss = step.event
    assert isinstance(loss, Operation)
    order = _order(events)[0]
    after = _after(events, loss, trained, known)
    if not is_over:
        yield from after
        yield from _parameters_beside(events, loss, trained, order)
    elif is_method_beside(step, trained):
        own = frozenset(made_by_hand(events, trained))
        yield from (made for made in after if id(made) in own and is_compared(loss, made))
    else:
        return
    yield from _before(events, loss, trained, known)


def _before(
    events: Sequence[Event], loss: Operation, trained: Trained, known: frozenset[object]
) -> Iterator[Operation]:
    """Fresh layers whose output goes into those that the optimizer was given, two or more one by one."""
    if len(trained.modules) < 2:
        return
    own = frozenset(made_by_hand(events, trained))
    for event in attached(loss, 1000):
        if isinstance(event, Operation) and event.layer is not None and maker_of(event.layer) in trained.makers:
            for earlier in attached(event, 400):
                made = maker_of(earlier.layer) if isinstance(earlier, Operation) and earlier.layer is not None else None
                if not isinstance(made, Operation) or id(made) not in own or made in known:
                    continue
                if any(learners(made.result)) and not is_of_held(events, earlier):
                    yield made


def extended(events: Sequence[Event]) -> Iterator[Event | None]:
    """What built the optimizers that are given more parameters later."""
    for call in events_of(events, Call):
        if isinstance(call.callee, Method) and call.callee.name == "add_param_group":
            yield maker_of(call.callee.receiver)


def has_twin(trained: Trained, neighbours: Sequence[Trained]) -> bool:
    """Whether another optimizer was given the very same modules: one is a slip (see `misdirected_losses`)."""
    return any(other is not trained and other.parts == trained.parts for other in neighbours)


def is_method_beside(step: Step, trained: Trained) -> bool:
    """Whether a step is taken in a method of the object whose own method builds the optimizer."""
    owner = trained.within.owner if trained.within is not None else None
    return isinstance(owner, Instance) and any(entered.owner is owner for entered in step.stack)


def is_compared(loss: Operation, made: Event) -> bool:
    """Whether what a layer gives is held against data, not only scored: a discriminator has a trainer of its own."""
    for event in attached(loss, 1000):
        if isinstance(event, Operation) and event.kind is Kind.LOSS and len(event.values) > 1:
            prediction, target = maker_of(event.values[0]), maker_of(event.values[1])
            is_constant = isinstance(target, Operation) and target.kind is Kind.CREATION
            if prediction is not None and target is not None and not is_constant:
                behind = (prediction, *attached(prediction, 400))
                if any(isinstance(e, Operation) and e.layer is not None and maker_of(e.layer) is made for e in behind):
                    return True
    return False


def made_by_hand(events: Sequence[Event], trained: Trained) -> Iterator[int]:
    """The layers that were made while the optimizer's builder ran, and that nobody else was given before."""
    given = {
        id(maker_of_layer(part))
        for call in events_of(events, Call)
        if is_foreign(call.callee) and was_not_followed(call)
        for value in hands(call)
        if trained.within is None or value is not trained.within.owner
        for part in parts_of(value)
    }
    for step in steps(events)[: trained.index]:
        match step.event:
            case Operation(name=name, result=Layer(), layer=None) as event if name != "from_pretrained":
                if trained.within in step.stack and id(event) not in given:
                    yield id(event)


def _after(events: Sequence[Event], loss: Operation, trained: Trained, known: frozenset[object]) -> Iterator[Event]:
    order, parts, until = _order(events)[0], trained.makers, trained.index
    for event in attached(loss, 1000):
        if not isinstance(event, Operation) or not isinstance(event.layer, Layer):
            continue
        made = maker_of(event.layer)
        if made is None or made in known or not any(learners(event.layer)) or order.get(id(made), until) >= until:
            continue
        behind = (e for e in attached(event, 400) if isinstance(e, Operation))
        is_after = any(maker_of_layer(e.layer) in parts for e in behind if e.layer is not None)
        if is_after and not is_without_gradients(event.regions) and not is_of_held(events, event):
            yield made


def is_of_held(events: Sequence[Event], event: Event) -> bool:
    """Whether a layer runs inside of a module that is trained or kept from it: not each layer of a list is known."""
    held = {id(each.cls) for each in optimized(events) | handled(events) if isinstance(each, Instance)}
    around = stacks(events)[_order(events)[0][id(event)]]
    return any(isinstance(entered.owner, Instance) and id(entered.owner.cls) in held for entered in around)


def _parameters_beside(
    events: Sequence[Event], loss: Operation, trained: Trained, order: Mapping[int, int]
) -> Iterator[Event]:
    """Parameters of another object that a loss is computed with as well: the centers of a criterion."""
    behind = [event for event in attached(loss, 1000) if isinstance(event, Operation)]
    if not any(maker_of_layer(event.layer) in trained.makers for event in behind if event.layer is not None):
        return
    known = optimized(events) | handled(events) | trained.parts
    stored = {id(maker_of(e.value)) for e in events_of(events, Stored) if is_module(e.owner) and e.owner not in known}
    for event in behind:
        for value in event.values if not is_without_gradients(event.regions) else ():
            made = maker_of(value)
            if made is None or made in known or id(made) not in stored or not is_parameter(value):
                continue
            if order[id(made)] < trained.index:
                yield made


def thawed(events: Sequence[Event]) -> Iterator[Lost]:
    """What is frozen while an optimizer picks the parameters that require gradients, and is to train later on."""
    for trained in built(events):
        if not is_picky(events, trained) or is_extended(events, trained):
            continue
        frozen: set[object] = set()
        for index, step in enumerate(steps(events)):
            if trained.within is not None and trained.within not in step.stack:
                continue
            for module, trains in switched(step.event):
                if not is_among(source_of(module), trained.parts) and not trained.parts.issuperset(parts_of(module)):
                    continue
                if index < trained.index:
                    (frozen.discard if trains else frozen.add)(source_of(module))
                elif trains and source_of(module) in frozen:
                    frozen.clear()
                    yield Lost("thawed", trained.event, trained.event.site, step.event.site.text, step.event.site)


def is_picky(events: Sequence[Event], trained: Trained) -> bool:
    """Whether an optimizer is given what requires gradients by then: by a filter, or a list that was picked before."""
    before = (step.event for step in steps(events)[: trained.index] if step.stack[-1:] == trained.stack[-1:])
    picking = (event for event in before if isinstance(event, Comprehension))
    behind = (trained.event, *ancestors(trained.event, 50), *picking)
    return any(syntax.has_attribute(event.site, "requires_grad") for event in behind)


def is_extended(events: Sequence[Event], trained: Trained) -> bool:
    """Whether an optimizer is given more parameters later, or is followed by another one."""
    calls = (call.callee for call in events_of(events, Call))
    return any(isinstance(callee, Method) and callee.name == "add_param_group" for callee in calls) or any(
        other.index > trained.index for other in built(events) if other.within is trained.within
    )


def switched(event: Event) -> Iterator[tuple[Value, bool]]:
    """The modules that an event freezes or thaws: `for p in net.parameters(): p.requires_grad = False`."""
    match event:
        case Call(callee=Method(name="requires_grad_", receiver=receiver), args=args, kwargs=kwargs):
            yield receiver, FALSE not in (*args, *dict(kwargs).values())
        case Operation(name="requires_grad_", values=(parameter, *_), arguments=arguments):
            maker = maker_of(parameter)
            if isinstance(maker, Input) and maker.kind in {"iteration", "item"}:
                for module in modules_behind(maker):
                    yield module, arguments.get("requires_grad") != FALSE


@once_per_file
def lost(events: Sequence[Event]) -> Iterator[Lost]:
    """All that is not trained in a file, although it seems meant to be."""
    yield from used_up(events)
    yield from replaced(events)
    yield from swapped(events)
    yield from missing(events)
    yield from left_out(events)
    yield from thawed(events)
