"""Single numbers that are to be learned beside a network, and that no optimizer is given: a viscosity, a weight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from shapelint.analysis.gradients.dataflow import flow_of
from shapelint.analysis.gradients.detached_activations import written
from shapelint.analysis.gradients.effects import is_differentiated, read_gradients
from shapelint.analysis.gradients.frozen import optimized
from shapelint.analysis.index import events_of, once_per_file, operations
from shapelint.analysis.registration import is_module
from shapelint.analysis.training.exhausted_iterators import Lost
from shapelint.analysis.training.misdirected_losses import applied
from shapelint.analysis.training.untrained import built
from shapelint.domain.dims import ONE
from shapelint.domain.values import TRUE, Tensor, Value, maker_of
from shapelint.events import Event, Input, Kind, Operation, Stored
from shapelint.provenance import ancestors


@once_per_file
def forgotten_leaves(events: Sequence[Event]) -> Iterator[Lost]:
    """Optimizers that are stepped for a loss of `self.nu = torch.tensor(0.1, requires_grad=True)`, and have it not."""
    known = {id(trained.event) for trained in built(events) if trained.is_complete and trained.modules}
    numbers = coefficients(events) if known else {}
    if not numbers or asks_for(events, frozenset(numbers.values())):
        return
    flow, seen = flow_of(events), set[int]()
    cared_for = {id(origin) for origin in (*optimized(events), *read_gradients(events), *written(events))}
    for loss, optimizers in applied(events):
        if len(optimizers) != 1 or id(optimizers[0]) not in known or id(optimizers[0].site.node) in seen:
            continue
        for origin in flow.hold(loss.values[0]).live:
            if not isinstance(origin, Operation) or id(origin.site.node) not in numbers or id(origin) in cared_for:
                continue
            if not is_differentiated(events, origin):
                seen.add(id(optimizers[0].site.node))
                name = f"`{numbers[id(origin.site.node)]}`"
                yield Lost("leaf", optimizers[0], optimizers[0].site, name, origin.site)
                break


def coefficients(events: Sequence[Event]) -> Mapping[int, str]:
    """Where numbers begin that an object other than a module keeps, and that require a gradient: the attributes.

    What has several elements is a point at which something is differentiated, as a rule.
    """
    return {
        id(stored.value.made_by.site.node): stored.attribute
        for stored in events_of(events, Stored)
        if stored.container is None and not is_module(stored.owner) and is_number(stored.value)
        if isinstance(stored.value, Tensor) and stored.value.made_by is not None
    }


def is_number(value: Value) -> bool:
    maker = maker_of(value)
    is_made = isinstance(maker, Operation) and (maker.kind is Kind.CREATION or maker.name in {"tensor", "parameter"})
    if not is_made or not isinstance(maker, Operation) or not isinstance(value, Tensor) or value.shape.rank is None:
        return False
    is_leaf = maker.name == "parameter" or maker.arguments.get("requires_grad") == TRUE
    return is_leaf and all(size == ONE for size in value.shape.sizes)


def asks_for(events: Sequence[Event], names: frozenset[str]) -> bool:
    """Whether an attribute of one of these names goes into an optimizer, whoever has it."""
    return any(
        isinstance(earlier, Input) and earlier.kind == "attribute" and earlier.name in names
        for event in operations(events, {"optimizer"})
        for earlier in ancestors(event, 200)
    )
