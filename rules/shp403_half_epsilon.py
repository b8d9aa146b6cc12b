"""An epsilon that is too small for the dtype: it rounds to 0, or 1 minus it rounds to 1.

Reports numbers below 2.98e-8 that are added to float16 tensors, bound them from below (`clamp`, `maximum`), or are
the eps of `normalize`, `cosine_similarity` and of an Adam over float16 parameters; and `clamp(max=1 - eps)` where
1 - eps is 1 in float16 or bfloat16. Where the number is the default of a helper, the call that hands it a half tensor
is reported.

Why: the guard is in the source and does nothing. log(x + 1e-8) is -inf, x / (norm + 1e-8) is NaN for a row of zeros,
and Adam divides 0 by 0 for every weight whose gradient is 0.

Bad:
    import torch

    def entropy(logits):
        p = logits.half().softmax(dim=-1)
        return -(p * torch.log(p + 1e-8)).sum(dim=-1)  # expect: SHP403

Good:
    import torch

    def entropy(logits):
        p = logits.float().softmax(dim=-1)
        return -(p * torch.log(p + 1e-8)).sum(dim=-1)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.evidence import name_of
from shapelint.analysis.index import operations
from shapelint.analysis.precision.dtypes import (
    arrays,
    call_of,
    constant,
    dead_eps,
    dtype_of,
    format_of,
    spelled,
    text_of,
)
from shapelint.analysis.precision.updates import half_optimizers
from shapelint.domain.formats import FLOAT16, Format
from shapelint.domain.values import Tensor
from shapelint.events import Event, Operation
from shapelint.rule import Clue, Report

AT_CALLS = True


# Where an epsilon stands, by operation; with a number: its default.
PLACES: dict[str, dict[str, float | None]] = {
    "add": {"x": None, "y": None},
    "maximum": {"x": None, "y": None},
    "max": {"x": None, "dim": None},  # torch.max of two tensors
    "clamp": {"min": None},
    "where": {"x": None, "y": None},
    "normalize": {"eps": 1e-12},
    "cosine_similarity": {"eps": 1e-8},
}


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event, _ in half_optimizers(events):
        eps = dead_eps(event)
        if eps is not None:
            yield Report(
                event,
                f"{zero(spelled(eps))}, and these parameters are float16: 0 / 0 wherever a gradient "
                "is 0. Keep float32 parameters and compute in half with torch.autocast",
            )
    for event in operations(events, PLACES.keys()):
        format = format_of(event.result)
        if format is FLOAT16:
            yield from vanishing(events, event)
        if format is not None and event.name == "clamp":
            yield from clamped_to_one(events, event, format)


def vanishing(events: Sequence[Event], event: Operation) -> Iterator[Report]:
    for name, default in PLACES[event.name].items():
        value = event.arguments.get(name)
        number = constant(value) if value is not None else default
        if name == "dim" and not isinstance(value, Tensor):
            continue
        if number is None or number == 0 or FLOAT16.stored(number) != 0:
            continue
        array = next((a for a in arrays(event) if a is not value and dtype_of(a) == FLOAT16.name), None)
        if array is None:
            continue
        call = call_of(events, event, value)
        where = f" in `{call.callee.name}`" if call is not None and hasattr(call.callee, "name") else ""
        text = f"The default eps of {event.name}, {spelled(number)}," if value is None else text_of(event, name, number)
        yield Report(
            event,
            f"{zero(text)}: it does nothing for {name_of(event, array, 'this tensor')}, which is float16"
            f"{where}. Use 1e-4, or compute this in float32",
            (Clue("the epsilon is used here", event.site),) if call is not None else (),
            site=call.site if call is not None else None,
        )
        return


def zero(text: str) -> str:
    return f"{text} is 0 in float16, whose smallest positive number is {spelled(FLOAT16.smallest)}"


def clamped_to_one(events: Sequence[Event], event: Operation, format: Format) -> Iterator[Report]:
    """clamp(max=1 - 1e-6): the bound is 1."""
    value = event.arguments.get("max")
    number = constant(value)
    if number is None or number == 1 or format.stored(number) != 1:
        return
    call = call_of(events, event, value)
    yield Report(
        event,
        f"{text_of(event, 'max', number)} is 1 in {format.name}: below 1 its numbers are {spelled(format.spacing / 2)} "
        f"apart, so 1 itself passes. Use 1 - {spelled(2 * format.spacing)}, or compute this in float32",
        site=call.site if call is not None else None,
    )
