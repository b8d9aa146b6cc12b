"""Arguments that jax differentiates by and the function never looks at: all gradients are zero."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shapelint.analysis.gradients.jax_tracing import differentiating, function_of, objectives
from shapelint.analysis.index import events_of, once_per_file
from shapelint.domain.values import maker_of
from shapelint.events import Call, Entered, Event, Operation


@once_per_file
def unread_arguments(events: Sequence[Event]) -> Iterator[tuple[Call, str]]:
    """The calls of jax.grad, with the argument: what the loss is made of was computed before, outside of the function.

    Asked of the text: what becomes of parameters inside of a library is not always known.
    """
    for found in objectives(events):
        computed = {id(function) for function, loss in found.losses if isinstance(maker_of(loss), Operation | Call)}
        entered = {id(event.function): event for event in events_of(events, Entered) if id(event.function) in computed}
        for call in differentiating(events) if entered else ():
            function = function_of(call.args[0])
            event = entered.get(id(function)) if function is not None else None
            given = found.given[id(function)] if event is not None else ()
            if event is not None and given and not any(is_read(event, argument.name) for argument in given):
                yield call, given[0].name


def is_read(entered: Entered, name: str) -> bool:
    """Whether a name occurs in a function again, after its parameters."""
    return len(re.findall(rf"\b{re.escape(name)}\b", entered.site.text)) > 1
