"""A value has a shape that its annotation rules out.

Reports returns, arguments and annotated assignments whose inferred shape can never satisfy the jaxtyping annotation:
another rank, another constant, or axes in another order than the names that are already bound.

Why: the annotation is what callers read. Without a run-time checker nothing holds it against the value, and a table
that happens to be square lets it pass even there.

Bad:
    from jaxtyping import Float
    from torch import Tensor

    def centre(x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        return x.mean(dim=1)  # expect: SHP203

Good:
    from jaxtyping import Float
    from torch import Tensor

    def centre(x: Float[Tensor, "b t d"]) -> Float[Tensor, "b d"]:
        return x.mean(dim=1)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shapelint.analysis.evidence import identity, made_by, shortened
from shapelint.analysis.index import events_of
from shapelint.analysis.inert_annotations import inert_string
from shapelint.domain.values import Tensor, Tuple
from shapelint.events import Declared, Event, Input, Meeting
from shapelint.finding import Severity
from shapelint.provenance import ancestors
from shapelint.rule import Clue, Report

SEVERITY = Severity.ERROR


STRING = re.compile(r"""["']([^"']*)["']""")


def misread_strings(events: Sequence[Event]) -> Iterator[str]:
    """The shape strings of a file that jaxtyping takes for something else than they say."""
    for declared in events_of(events, Declared):
        for annotation in declared.annotations:
            if any(inert_string(declared, annotation)):
                yield annotation.text


def stated(event: Meeting) -> Iterator[str]:
    """The annotation that a value meets, and those of what the value is made of."""
    yield event.annotation
    maker = made_by(event.value)
    for earlier in ancestors(maker, most=40) if maker is not None else ():
        if isinstance(earlier, Input):
            yield earlier.annotation


def check(events: Sequence[Event]) -> Iterator[Report]:
    told: set[tuple[str, object]] = set()  # of a variable's annotation, that its value contradicts it
    misread: frozenset[str] | None = None
    for event in events_of(events, Meeting):
        if event.contradiction is None:
            continue
        misread = frozenset(misread_strings(events)) if misread is None else misread
        if misread and any(not misread.isdisjoint(STRING.findall(text)) for text in stated(event)):
            continue  # it does not say what its author means: SHP602
        same = event.annotation, identity(event.value)
        if same in told:
            continue
        if event.place == "assignment":
            told.add(same)
        match event.place:
            case "return":
                what = f"`{event.function}` returns"
            case "argument":
                what = f"argument `{event.name}` of `{event.function}` is given"
            case _:
                what = f"`{event.name}` is given"
        shape = f" {event.value.shape}" if isinstance(event.value, Tensor) else ""
        kind = " a tuple" if isinstance(event.value, Tuple) and event.value.kind == "tuple" else ""
        maker = made_by(event.value)
        clues = (Clue(f"made{shape or ' here'} by `{shortened(maker.site.text)}`", maker.site),) if maker else ()
        message = f"{what}{shape or kind}, declared {event.annotation}: {event.contradiction}"
        yield Report(event, message, clues, event.site)
