"""Weights that the module does not know of: no optimizer, no .to() and no checkpoint sees them.

Reports layers, modules and Parameters in a plain list, tuple or dict on `self`; a Parameter that is registered as a
buffer, or stored only after an operator, `.to()` or `.cuda()` made another tensor of it; layers and Parameters made in
`forward`, new at every call; a Parameter made of a computed tensor, which cuts off what computed it; random tensors
that forward uses like weights, and tensors with requires_grad that are no Parameters.

Why: the model trains and its loss falls, but these weights stay as they were initialised.

Bad:
    import torch.nn as nn

    class Stack(nn.Module):
        def __init__(self, dim, depth):
            super().__init__()
            self.layers = [nn.Linear(dim, dim) for _ in range(depth)]

Good:
    import torch.nn as nn

    class Stack(nn.Module):
        def __init__(self, dim, depth):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(dim, dim) for _ in range(depth)])
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.gradients.seemingly_trained import bare_leaves, entered_late
from shapelint.analysis.registration import (
    PLAIN,
    buffered,
    changed_parameter,
    collected,
    hidden,
    identity,
    is_module,
    kept,
    layer_calls,
    learners,
    made_anew,
    nested,
    random_weights,
    settled,
    steps_of,
)
from shapelint.analysis.training.untrained import choosers
from shapelint.domain.values import GraphState, Tensor, Unknown, maker_of
from shapelint.events import Event, Operation, Stored
from shapelint.fixes.proposals import registering
from shapelint.rule import Clue, Report

IN_PLAIN = (
    "The {} in `{}` are never trained: nn.Module does not look into a plain {}, so parameters() misses them. Use {}"
)
BUFFER = "`self.{}` is registered as a buffer: parameters() misses it, so it is never trained. Use register_parameter"
LEAF = "`self.{}` has requires_grad, but is no Parameter: no optimizer, .to() or state_dict() sees it. Use nn.Parameter"
ANEW = "{} is made in forward: new random weights at every call, none of them is trained. Make it in __init__"
DRAWN = "`self.{}` is random and no Parameter: never trained, moved or saved. Use nn.Parameter or register_buffer"


def check(events: Sequence[Event]) -> Iterator[Report]:
    lost: list[tuple[Stored, Report]] = []
    for step in steps_of(events, Stored, "parameter"):
        match step.event:
            # What a caller hands in may be kept out on purpose: a teacher in a list.
            case Stored() as stored if is_module(stored.owner) and step.stack and step.stack[0].owner is stored.owner:
                lost += ((stored, report) for report in _stored(stored, events))
            case Operation(name="parameter", operands=(Tensor() as source, *_)) as made if step.is_in_forward:
                yield from _rewrapped(made, source, events)
    if lost:
        elsewhere, by_hand = settled(events, kept(events)), set(choosers(events))
        yield from (r for s, r in lost if id(s) not in elsewhere and id(s.owner.cls) not in by_hand)
    for event, name, container in entered_late(events):
        yield Report(event, IN_PLAIN.format("layers", f"self.{name}", container, PLAIN[container]))
    yield from (Report(stored, LEAF.format(stored.attribute)) for stored in bare_leaves(events))
    yield from (Report(stored, BUFFER.format(stored.attribute)) for stored in buffered(events))
    yield from (Report(place, ANEW.format(f"`{name}`")) for place, name in made_anew(events))
    for stored, use in random_weights(events):
        yield Report(stored, DRAWN.format(stored.attribute), (Clue("used here", use.site),))


def _stored(stored: Stored, events: Sequence[Event]) -> Iterator[Report]:
    target = f"self.{stored.attribute}"
    found = list(hidden(stored.value) if stored.container is None else learners(stored.value))
    found = found or list(collected(stored, events))
    plain = "SimpleNamespace" if isinstance(stored.value, Unknown) else "list"
    container = stored.container or getattr(stored.value, "kind", plain)
    if container in PLAIN and found and not any(identity(value) in kept(events) for value in found):
        what = "Parameters" if all(isinstance(value, Tensor) for value in found) else "layers"
        yield Report(
            stored,
            IN_PLAIN.format(what, target, container, PLAIN[container]),
            fix=registering(stored.site, found[0]) if stored.container is None and not nested(stored.value) else (),
            fix_message="Register what the list holds",
        )
    elif stored.container is None and isinstance(stored.value, Tensor):
        made = changed_parameter(stored.value)
        if made is not None and maker_of(stored.value) is not made and id(made) not in kept(events):
            yield Report(
                stored,
                f"`{target}` is not a Parameter but a tensor computed from one, and the Parameter itself is lost: it "
                "is never trained. Apply the operation to the data inside of nn.Parameter(...)",
                (Clue("the Parameter is made here", made.site),),
            )


def _rewrapped(made: Operation, source: Tensor, events: Sequence[Event]) -> Iterator[Report]:
    layer = next(layer_calls(made), None) if source.graph.state is GraphState.GRAPH else None
    if layer is not None:
        yield Report(
            made,
            f"nn.Parameter makes a new weight without a history: `{layer.site.text}` and all before it get no gradient "
            "through it. Pass the tensor on as it is",
            (Clue("computed here", layer.site),),
        )
    elif id(made) not in kept(events) and made.result.graph.state is GraphState.LEAF:  # type: ignore[union-attr]
        yield Report(made, ANEW.format("This Parameter"))
