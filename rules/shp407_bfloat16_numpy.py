"""A bfloat16 tensor is handed to NumPy, which has no such dtype.

Reports `.numpy()`, `np.asarray`, `np.array`, `np.stack` and `np.concatenate` on tensors that are bfloat16 by a cast, by
their module, or because autocast made them so.

Why: it raises "Got unsupported ScalarType BFloat16". Under autocast nobody wrote bfloat16 on that tensor, so it comes
as a surprise, often only at the end of the first epoch, when the results are to be stored.

Bad:
    import torch

    def embed(x):
        return x.to(torch.bfloat16).cpu().numpy()  # expect: SHP407

Good:
    import torch

    def embed(x):
        return x.to(torch.bfloat16).float().cpu().numpy()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.evidence import name_of
from shapelint.analysis.index import events_of, operations
from shapelint.analysis.precision.dtypes import applied, arrays, dtype_of
from shapelint.domain.formats import BFLOAT16
from shapelint.domain.values import Library, Tensor, Tuple
from shapelint.events import Call, Event, Operation
from shapelint.finding import Severity
from shapelint.rule import Replacement, Report

AT_CALLS = True
SEVERITY = Severity.ERROR
CONVERTING = ("numpy", "tensor", "stack", "cat", "from_dlpack")


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event in operations(events, CONVERTING):
        array = next((a for a in arrays(event) if dtype_of(a) == BFLOAT16.name), None)
        if array is None or not goes_to_numpy(event) or getattr(array, "library", None) == "jax":
            continue
        yield Report(
            event,
            f"{name_of(event, array, 'This tensor')} is bfloat16, which NumPy does not have: this raises. "
            "Call .float() first",
            fix=upcast(event),
            fix_message="convert to float32 first",
        )

    for call in events_of(events, Call):
        if isinstance(call.callee, Library) and call.callee.name.startswith("numpy.save"):
            given = (*call.args, *(value for _, value in call.kwargs))
            if any(dtype_of(a) == BFLOAT16.name and getattr(a, "library", None) != "jax" for a in given):
                yield Report(
                    call, "This tensor is bfloat16, which NumPy does not have: this raises. Call .float() first"
                )


def goes_to_numpy(event: Operation) -> bool:
    return event.callee.startswith("numpy.") or event.callee == "torch.Tensor.numpy"


def upcast(event: Operation) -> tuple[Replacement, ...]:
    value, site = event.arguments.get("x"), event.sites.get("x")
    if site is None or isinstance(value, Tuple) or not isinstance(value, Tensor):
        return ()
    return (Replacement(site, applied(site, "float()")),)
