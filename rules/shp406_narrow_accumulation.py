"""A sum, count or difference runs in a dtype that is too narrow for it.

Reports NumPy's float16 sum over the first axis, cumsum, nanmean, var, std and linalg.norm; sums over all of a float16
tensor; Python's sum() and running totals in float16 or bfloat16; positions beyond the last exact integer (256 in
bfloat16, 2,048 in float16); and -, *, ** and @ of uint8 arrays and squares of 16-bit sound, which wrap around. Safe,
and silent: torch's mean and norm, np.mean, sums of uint8, `dtype=` of 32 bits or more, `* 2.0`, `/ 255`.

Why: the result is a plausible number. A float16 total stops growing at 2,048, a bfloat16 one at 256 times what is
added, a count over 65,504 is inf, and the difference of two uint8 images is 246 where it should be -10.

Bad:
    import torch

    def token_loss(nll, mask):
        mask = mask.half()
        return (nll * mask).float().sum() / mask.sum()  # expect: SHP406

Good:
    import torch

    def token_loss(nll, mask):
        return (nll * mask).float().sum() / mask.float().sum()
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.evidence import name_of
from shapelint.analysis.precision.dtypes import arrays, dtype_of
from shapelint.analysis.precision.sums import accumulated, counters, counts, in_numpy, positions
from shapelint.analysis.precision.wraparound import HOLDS, wraps
from shapelint.domain.formats import FLOAT16
from shapelint.events import Event
from shapelint.rule import Report

AT_CALLS = True


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event, effect in in_numpy(events):
        name = name_of(event, next(arrays(event)), "The array")
        remedy = "Convert to float32 first" if event.name in {"norm", "einsum"} else "Pass dtype=np.float32"
        yield Report(event, f"{name} is float16, and NumPy keeps to it: {effect}. {remedy}")
    for event in counts(events):
        library = "np" if event.callee.startswith("numpy") else "torch"
        yield Report(
            event,
            f"{name_of(event, event.values[0], 'The tensor')} is float16, and so is its sum: above {FLOAT16.exact:,} "
            f"not every integer exists, and beyond {FLOAT16.largest:,.0f} it is inf. Pass dtype={library}.float32",
        )
    for event, format in accumulated(events):
        yield Report(
            event,
            f"This total is kept in {format.name}: once it is {format.exact:,} times what is added, it stops growing. "
            "Keep it in float32, or add Python numbers (.item())",
        )
    for event in counters(events):
        yield Report(
            event,
            "This total is kept in int32, which ends at 2,147,483,647 and wraps to negative numbers. Count in int64",
        )
    for event, format in positions(events):
        yield Report(
            event,
            f"{format.name} has not every integer above {format.exact:,}: neighbouring positions become one number. "
            "Count in float32 or int64 and cast what is computed from it",
        )
    for event, example in wraps(events):
        yield Report(
            event,
            f"{name_of(event, event.values[0], 'This')} is {dtype_of(event.result)}, which holds "
            f"{HOLDS[dtype_of(event.result) or 'uint8']} and wraps around: {example}. "
            "Convert to a floating dtype before, not after",
        )
