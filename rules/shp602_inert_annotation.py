"""jaxtyping accepts it, and it does not mean what it says.

Reports shape strings and decorators that pass silently or check something else: operators and `x` between spaces
("n - 1" is three axes), "(b d)", "1x", "b=", "-1", dotted or dtype names, the name of a constant (a fresh axis of any
size), a misspelled axis name, commas under `from __future__ import annotations`, `@beartype` over a bare
`@jaxtyped` or alone, `typechecker=None`, `@jaxtyped` under `@dataclass` or on an nn.Module class.

Why: an annotation is trusted by its reader. One that binds to anything lets through the bug it was written against.

Bad:
    from beartype import beartype
    from jaxtyping import Float, jaxtyped
    from torch import Tensor

    @beartype
    @jaxtyped
    def mean(x: Float[Tensor, "batch dim"], w: Float[Tensor, "bacth"]) -> Float[Tensor, "dim"]:
        return (x * w[:, None]).mean(0)

Good:
    from beartype import beartype
    from jaxtyping import Float, jaxtyped
    from torch import Tensor

    @jaxtyped(typechecker=beartype)
    def mean(x: Float[Tensor, "batch dim"], w: Float[Tensor, "batch"]) -> Float[Tensor, "dim"]:
        return (x * w[:, None]).mean(0)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.index import events_of
from shapelint.analysis.inert_annotations import inert_decorator, inert_string, misspelled
from shapelint.events import Declared, Event
from shapelint.finding import Severity
from shapelint.rule import Report

SEVERITY = Severity.ERROR


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event in events_of(events, Declared):
        for decorator, problem in inert_decorator(event):
            yield Report(event, problem, site=decorator.site)
        for annotation in event.annotations:
            for problem in (*inert_string(event, annotation), *misspelled(event, annotation)):
                where = "the return value" if annotation.name == "return" else f"`{annotation.name}`"
                yield Report(
                    event, f'"{annotation.text}" on {where} of `{event.name}`: {problem}', site=annotation.site
                )
                break
