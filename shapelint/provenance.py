"""What made a value: the graph of events and values, written and walked.

Rules look back along it with `ancestors`, and forward by keeping what they saw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import is_

from shapelint.domain.values import (
    Dict,
    Float,
    Function,
    Graph,
    GraphState,
    Int,
    Layer,
    Many,
    Method,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    maker_of,
)
from shapelint.events import Call, Event, Input, Item, Joined, Operation, Site


def originate(value: Value, event: Event) -> Value:
    """`value` with `event` as what made it; values that keep no origin are returned as they are."""
    match value:
        case Tensor():  # spelled out: this is the hot path
            return Tensor(value.shape, value.dtype, value.library, value.graph, event)
        case Unknown():
            return Unknown(value.dim, value.graph, event, value.dtype)
        case Many(item=Float() as number):  # tolist(): each of the numbers is taken out of the array
            return replace(value, item=replace(number, made_by=Item(event, 0)), made_by=event)
        case Many(item=Unknown(made_by=None, graph=Graph(state=GraphState.NUMBER)) as number):
            return replace(value, item=originate(number, Item(event, 0)), made_by=event)
        case Many(item=Many(item=Float() | Many()) as row):
            return replace(value, item=originate(row, event), made_by=event)
        case Int() | Float() | Many() | Dict():
            return replace(value, made_by=event)
        case Tuple(items=items):
            parts = tuple(originate(item, Item(event, index)) for index, item in enumerate(items))
            return replace(value, items=parts, made_by=event)
        case Layer() if value.made_by is None:
            return replace(value, made_by=event)
        case Union(options=options):
            return replace(value, options=tuple(originate(option, event) for option in options))
    return value


def meeting(value: Value, options: Sequence[Value], site: Site) -> Value:
    """`value` as what `options` have in common where paths meet, if nothing else made it; lists and tuples by item."""
    match value:
        case Tensor(made_by=None) | Float(made_by=None) | Unknown(made_by=None):
            if any(maker_of(option) is not None for option in options):
                return originate(value, Joined(tuple(options), site))
        case Many(item=Tensor(made_by=None) as item):
            known = meeting(item, [option.item if type(option) is Many else option for option in options], site)
            return value if known is item else replace(value, item=known)
        case Many(item=Unknown(made_by=None) as item):
            found = [option.item for option in options if type(option) is Many]  # those of empty lists are none
            if found and all(maker_of(each) is not None for each in found):
                return replace(value, item=originate(item, Joined(tuple(found), site)))
        case Tuple(items=items):
            if all(type(option) is Tuple and len(option.items) == len(items) for option in options):
                each = zip(*(option.items for option in options if type(option) is Tuple))
                parts = tuple(meeting(item, several, site) for item, several in zip(items, each))
                return value if all(map(is_, parts, items)) else replace(value, items=parts)
    return value


def sources(event: Event) -> Iterator[Event]:
    """The events that made the values this one works on."""
    if isinstance(event, Item):
        yield event.of
    for value in parts(event.values):
        made_by = maker_of(value)
        if made_by is not None:
            yield made_by


def parts(values: Iterable[Value]) -> Iterator[Value]:
    for value in values:
        yield value
        match value:
            case Tuple(items=items):
                yield from parts(items)
            case Many(item=item):
                yield from parts((item,))
            case Method(receiver=receiver):
                yield from parts((receiver,))
            case Union(options=options):
                yield from parts(options)
            case Dict(items=pairs, other=other):
                yield from parts((*(item for _, item in pairs), *((other,) if other is not None else ())))


def ancestors(event: Event, most: int = 2000, before: Callable[[Event], Iterator[Event]] = sources) -> Iterator[Event]:
    """Every event this one depends on, nearest first, each once; at most `most`."""
    seen = {id(event)}
    queue = [event]
    for current in queue:
        for source in before(current):
            if id(source) not in seen:
                seen.add(id(source))
                queue.append(source)
                yield source
        if len(seen) > most:
            return


def exact_sources(event: Event) -> Iterator[Event]:
    """The same as `sources`; of several things that a project's function gave only the one that is taken."""
    match event:
        case Item(of=Call(callee=Function(), result=Tuple(items=items)), index=index) if index < len(items):
            maker = maker_of(items[index])
            if maker is not None:
                yield maker
                return
    yield from sources(event)


def enters(value: Value, depth: int = 0) -> bool:
    """Whether the code at hand was given a value from outside, or what it was made from in the last `depth` events."""
    event = maker_of(value)
    if event is None or isinstance(event, Input):
        return event is not None
    return depth > 0 and any(isinstance(source, Input) for source in ancestors(event, depth))


def hands(event: Operation | Call) -> tuple[Value, ...]:
    """What an operation or a call is given."""
    return event.values if isinstance(event, Operation) else (*event.args, *(value for _, value in event.kwargs))


def was_not_followed(call: Call) -> bool:
    """Whether what came back is known by summaries and annotations alone, if at all."""
    return all(maker_of(part) is None for part in parts((call.result,)))
