"""What an optimizer does not train: layers and copies that it was not given, or that came after it was built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shapelint.analysis.gradients.dataflow import flow_of
from shapelint.analysis.gradients.frozen import is_among, modules_of, parts_of, source_of
from shapelint.analysis.index import events_of, once_per_file, operations
from shapelint.analysis.registration import Step, is_module, learners, steps
from shapelint.analysis.training.exhausted_iterators import Lost
from shapelint.analysis.uses import consumers
from shapelint.domain.record import record
from shapelint.domain.regions import is_without_gradients
from shapelint.domain.values import Function, Instance, Layer, Library, Method, Tuple, Unknown, Value, maker_of
from shapelint.events import (
    Call,
    Entered,
    Event,
    Item,
    Joined,
    Left,
    Operation,
    Site,
    Stored,
    Written,
)
from shapelint.provenance import ancestors

OTHER_OBJECTS = (Library("copy.deepcopy"), Library("torch.load"))
MOST_MEETINGS = 4


@record(eq=False)
class Trained:
    """An optimizer as it is built: by which event, in which function, from which modules."""

    event: Operation
    index: int
    stack: tuple[Entered, ...]  # the functions around, outermost first
    modules: tuple[Value, ...]
    is_complete: bool  # nothing else may be among its parameters

    @property
    def within(self) -> Entered | None:
        return self.stack[-1] if self.stack else None

    @property
    def parts(self) -> frozenset[object]:
        return frozenset(part for module in self.modules for part in (*parts_of(module), source_of(module)))

    @property
    def makers(self) -> frozenset[Event]:
        return frozenset(filter(None, map(maker_of_layer, self.parts)))


@once_per_file
def built(events: Sequence[Event]) -> Iterator[Trained]:
    if not any(True for _ in operations(events, {"optimizer"})):
        return
    for index, step in enumerate(steps(events)):
        match step.event:
            case Operation(name="optimizer", arguments=arguments) as event:
                modules, is_complete = modules_of(arguments.get("params"))
                yield Trained(event, index, step.stack, tuple(modules), is_complete)


@once_per_file
def zeroing(events: Sequence[Event]) -> Iterator[Call]:
    """Calls of something unknown that is given an optimizer's model or parameters, and gives nothing back."""
    trained = {source_of(module) for optimizer in built(events) for module in optimizer.modules}
    for call in events_of(events, Call):
        if len(call.args) == 1 and not call.kwargs and isinstance(call.result, Unknown) and is_foreign(call.callee):
            given = (*call.args, *modules_of(call.args[0])[0])
            is_trained = any(isinstance(v, Unknown) and source_of(v) in trained for v in given)
            if (is_trained or (not trained and len(given) > 1)) and not consumers(events, Unknown(made_by=call)):
                yield call


def is_foreign(callee: Value) -> bool:
    """What nobody has looked into; what torch has does not zero gradients."""
    is_known = isinstance(callee, Library) and callee.name.startswith(("torch.", "builtins."))
    return isinstance(callee, Unknown | Function | Library) and not is_known


def may_be_zeroed(events: Sequence[Event]) -> bool:
    """Whether gradients may be zeroed where nobody sees it: `zero_grad(model)`, `zero_grads(parameters)`."""
    return bool(zeroing(events))


def choosers(events: Sequence[Event]) -> Iterator[int]:
    """Identities of module classes that build an optimizer themselves, and choose its parameters nobody knows how."""
    for trained in built(events):
        owner = trained.within.owner if trained.within is not None else None
        if isinstance(owner, Instance) and is_module(owner) and not trained.is_complete:
            yield id(owner.cls)


def replaced(events: Sequence[Event]) -> Iterator[Lost]:
    """New layers that are put into a module after an optimizer took its parameters, there or by who calls that."""
    optimizers = [trained for trained in built(events) if trained.modules]
    if not optimizers:
        return
    order = {id(event): index for index, event in enumerate(events)}
    all_steps = steps(events)
    for trained in optimizers:
        pending: list[Lost] = []
        parts = trained.parts
        for index, step in enumerate(all_steps[trained.index + 1 :], trained.index + 1):
            if is_elsewhere(step, trained):
                break
            is_around = not step.stack or step.stack[-1] in trained.stack
            match step.event:
                case Call(callee=Method(name="add_param_group")) | Operation(name="optimizer"):
                    pending.clear()
                case Stored(value=value, method="forward") as event if not is_around and event.owner in parts:
                    if is_new(value, trained.index, order, events) and not was_filled(
                        all_steps[: trained.index], event
                    ):
                        pending.append(Lost("replaced", event, event.site, event.attribute, trained.event.site))
                case Stored(value=value, container=None) as event if not is_around and event.owner in parts:
                    place = site_of_helper(all_steps, index, trained)
                    if place is not None and is_new(value, trained.index, order, events):
                        pending.append(Lost("replaced", event, place, event.attribute, trained.event.site))
                case _ if not is_around:
                    continue
                case Stored(owner=owner, attribute=name, value=value, container=None) as event if owner in parts:
                    if is_new(value, trained.index, order, events):
                        pending.append(Lost("replaced", event, event.site, name, trained.event.site))
                case Written(owner=owner, attribute=name, value=value) as event:
                    if is_among(source_of(owner), parts) and is_new(value, trained.index, order, events):
                        pending.append(Lost("replaced", event, event.site, name, trained.event.site))
        yield from pending


def is_elsewhere(step: Step, trained: Trained) -> bool:
    """Whether neither what builds an optimizer nor those who call that are at work any more."""
    if not trained.stack:
        return bool(step.stack) and not step.stack[0].at_call
    return not step.stack or step.stack[0] is not trained.stack[0]


def site_of_helper(all_steps: Sequence[Step], index: int, trained: Trained) -> Site | None:
    """Where who builds the optimizer calls a helper that changes a module; for a method of the same object: there.

    None where neither calls it, and where forward does.
    """
    step, outer = all_steps[index], trained.stack
    if any(entered.function.name in {"forward", "__init__"} for entered in step.stack[len(outer) :]):
        return None
    if len(step.stack) > len(outer) and step.stack[: len(outer)] == outer:
        calls = (later for later in all_steps[index:] if later.stack == outer and isinstance(later.event, Call))
        return next((call.event.site for call in calls), None)
    method = step.stack[len(outer) - 1] if len(step.stack) == len(outer) > 0 else None
    is_own = method is not None and step.stack[:-1] == outer[:-1] and method.owner is outer[-1].owner
    return step.event.site if is_own and method is not None and isinstance(method.owner, Instance) else None


def was_filled(before: Sequence[Step], stored: Stored) -> bool:
    """Whether something that learns was put there before: what a forward makes when it first runs."""
    return any(
        isinstance(step.event, Stored) and step.event.owner is stored.owner and step.event.attribute == stored.attribute
        and any(learners(step.event.value))
        for step in before
    )  # fmt: skip


def is_new(value: Value, since: int, order: Mapping[int, int], events: Sequence[Event] = ()) -> bool:
    """Whether all that learns in a value was made after an event, or by a function that was not executed for this."""
    found = list(learners(value))
    makers = [maker_of(part) for part in found]
    made = maker_of(value)
    call = made.of if isinstance(made, Item) else made
    if not found and events and isinstance(call, Call) and order.get(id(call), -1) > since:
        own = flow_of(events).kept.results.get(id(call.callee))
        if isinstance(made, Item) and isinstance(own, Tuple) and made.index < len(own.items):
            own = own.items[made.index]
        return any(learners(own))
    return bool(found) and all(maker is not None and order.get(id(maker), -1) > since for maker in makers)


def swapped(events: Sequence[Event]) -> Iterator[Lost]:
    """A loss that is computed by a later copy of the model, or another object of its class, than the optimizer has."""
    optimizers = [trained for trained in built(events) if trained.modules and trained.is_complete]
    order = {id(event): index for index, event in enumerate(events)} if optimizers else {}
    for trained in optimizers:
        nodes = {id(maker.site.node) for maker in trained.makers if isinstance(maker, Operation)}
        parts = trained.parts
        for index, step in enumerate(steps(events)[trained.index + 1 :], trained.index + 1):
            if trained.within is not None and trained.within not in step.stack:
                break
            if isinstance(step.event, Operation) and step.event.name == "backward":
                called = called_by(step.event)
                new = [maker for maker in called if order.get(id(maker), -1) > trained.index]
                is_twin = any(_is_copy(maker, parts) or id(maker.site.node) in nodes for maker in new)
                if is_twin and len(new) == len(called) and not _rebuilt(events, trained, index):
                    place = _outer(events, order[id(new[0])], trained)
                    yield Lost("copied", new[0], place, "", trained.event.site)
                    break
                other = next(others_on_a_path(called, parts), None)
                is_later = other is not None and order.get(id(other), -1) > trained.index
                if other is not None and is_later and not _rebuilt(events, trained, index):
                    yield Lost("copied", other, other.site, "", trained.event.site)
                    break


def others_on_a_path(called: Sequence[Event], parts: frozenset[object]) -> Iterator[Call]:
    """What the optimizer's model is replaced by on one of the ways to a loss: a copy of the best one, a loaded one."""
    for maker in called if len(called) == 1 else ():
        ways = list(alternatives(maker)) if maker not in parts else []
        if any(source_of(way) in parts for way in ways):
            for way in ways:
                made = maker_of(way)
                if isinstance(made, Call) and made.callee in OTHER_OBJECTS:
                    yield made


def alternatives(maker: Event, depth: int = 0) -> Iterator[Value]:
    """The values that meet in an event, those of earlier meetings too."""
    for option in maker.options if isinstance(maker, Joined) and depth < MOST_MEETINGS else ():
        yield option
        inner = maker_of(option)
        if inner is not None and inner is not maker:
            yield from alternatives(inner, depth + 1)


def _is_copy(maker: Event, parts: frozenset[object]) -> bool:
    return isinstance(maker, Call) and maker.callee == Library("copy.deepcopy") and source_of(maker.args[0]) in parts


def _outer(events: Sequence[Event], index: int, trained: Trained) -> Site:
    """Where the function that builds the optimizer makes what one of its calls makes inside."""
    for step in steps(events)[index:]:
        if (step.stack[-1] if step.stack else None) is trained.within and not isinstance(step.event, Entered | Left):
            return step.event.site
    return events[index].site


def _rebuilt(events: Sequence[Event], trained: Trained, until: int) -> bool:
    """Whether another optimizer is built in the same function before `until`, or the one is given more."""
    others = (other for other in built(events) if other.within is trained.within)
    return any(trained.index < other.index < until for other in others) or any(
        isinstance(event, Call) and isinstance(event.callee, Method) and event.callee.name == "add_param_group"
        for event in events[trained.index : until]
    )


def called_by(loss: Operation) -> list[Event]:
    """What made the modules that a loss is computed by."""
    found: dict[int, Event] = {}
    for event in ancestors(loss, 1000):
        maker: Event | None = None
        match event:
            case Call(callee=Function(), result=result) if maker_of(result) is None:
                return []  # nobody has looked into it: it may call any of them
            case Operation(regions=regions) | Call(regions=regions) if is_without_gradients(regions):
                continue
            case Operation(layer=Layer() as layer) if any(learners(layer)):
                maker = maker_of(layer)
            case Call(callee=Unknown() as module):
                maker = maker_of(module)
        if maker is not None:
            found[id(maker)] = maker
    return list(found.values())


def maker_of_layer(part: object) -> Event | None:
    return maker_of(part) if isinstance(part, Layer) else None
