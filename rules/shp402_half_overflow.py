"""A number beyond 65,504 meets a float16 tensor, which cannot hold it.

Reports `masked_fill`, `fill_`, `full`, `clamp` and `pad`, which raise in torch, and `where`, sums and differences,
products with masks, `torch.tensor(..., dtype=torch.float16)` and assignments to elements, which silently give inf;
also squares that are added up, because the square of anything above 255.9 is inf. The tensor may be half by `.half()`,
by its module, by an annotation, or by autocast. float('-inf') is on purpose, and bfloat16 reaches as far as float32.

Why: -1e9 as "minus infinity" is right in float32. In float16 it raises as soon as a mask is applied, or becomes -inf
and turns a row that is masked as a whole into NaN; a square that overflows makes a norm inf and a whole row 0.

Bad:
    import torch

    def attend(q, k, pad):
        scores = q.half() @ k.half().transpose(-2, -1)
        return scores.masked_fill(pad, -1e9).softmax(-1)  # expect: SHP402

Good:
    import torch

    def attend(q, k, pad):
        scores = q.half() @ k.half().transpose(-2, -1)
        return scores.masked_fill(pad, torch.finfo(scores.dtype).min).softmax(-1)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from shapelint.analysis.evidence import name_of, written
from shapelint.analysis.index import operations
from shapelint.analysis.precision.dtypes import arrays, constant, dtype_of, is_possibly, spelled, text_of
from shapelint.analysis.precision.squares import filled_with, summed_squares, zero_or_one
from shapelint.domain.formats import FLOAT16
from shapelint.domain.values import Float, Int, Value
from shapelint.events import Event, Operation
from shapelint.finding import Severity
from shapelint.rule import Replacement, Report

AT_CALLS = True
HALF = FLOAT16.name
CONVERTED = {
    "masked_fill": ("value",), "fill_": ("value",), "fill": ("value",), "full": ("value",), "full_like": ("value",),
    "new_full": ("value",), "clamp": ("min", "max"), "pad": ("value",), "index_fill": ("source", "value"),
}  # fmt: skip
SILENT = {
    "where": ("x", "y"), "setitem": ("value",), "set": ("values",), "add": ("x", "y"), "sub": ("x", "y"),
    "maximum": ("x", "y"), "minimum": ("x", "y"), "tensor": ("x",), "as_tensor": ("x",), "new_tensor": ("data",),
    "half": ("x",), "to": ("x",), "mul": ("x", "y"), "type": ("x",), "type_as": ("x",), "astype": ("x",),
}  # fmt: skip
CASTS = frozenset({"half", "to", "type", "type_as", "astype"})
CERTAIN = FLOAT16.largest / FLOAT16.normal * 0.9  # 9.7e8 times any normal number overflows, but for the very smallest


def check(events: Sequence[Event]) -> Iterator[Report]:
    for event in operations(events, CONVERTED.keys() | SILENT.keys()):
        result = event.arguments["x"] if event.name == "setitem" else event.result
        if dtype_of(result) == HALF:
            for name in CONVERTED.get(event.name, ()) or SILENT[event.name]:
                value = event.arguments.get(name)
                number = constant(value) if event.name not in CASTS else constant(value) or filled_with(value)
                if number is not None and math.isinf(FLOAT16.stored(number)) and not math.isinf(number):
                    yield from overflow(event, name, number)
    for square, total in summed_squares(events):
        name = name_of(square, square.values[0], "The tensor")
        yield Report(
            total,
            f"{name} is float16: the square of anything above 255.9 is more than {FLOAT16.largest:,.0f} and becomes "
            "inf. Convert to float32 before squaring, and back afterwards",
        )


def overflow(event: Operation, name: str, number: float) -> Iterator[Report]:
    array = next(
        (value for value in arrays(event) if dtype_of(value) == HALF and value is not event.arguments[name]), None
    )
    text = text_of(event, name, number)
    if constant(event.arguments[name]) is None:
        text = f"{spelled(number)} in {name_of(event, event.arguments[name])}"
    raises = event.name in CONVERTED and is_possibly(event, "torch")
    if event.name == "clamp" and not raises:
        return  # numpy and jax clip to infinity: nothing is lost
    if array is None and event.name in {"where", "add", "sub", "mul", "maximum", "minimum"}:
        return
    if event.name in {"mul"} and not (abs(number) >= CERTAIN or zero_or_one(array)):
        return
    subject = f"{name_of(event, array)} is float16, which" if array is not None else "float16"
    effect = f"{event.name} raises here" if raises else f"{text} silently becomes {'-' * (number < 0)}inf"
    yield Report(
        event,
        f"{subject} holds at most {FLOAT16.largest:,.0f}: {effect}. "
        f"Use {finfo(event, array, number)}, or a float32 tensor",
        severity=Severity.ERROR if raises else Severity.WARNING,
        fix=own_limit(event, name, array, number),
        fix_message="take the limit of the tensor's own dtype",
        fix_is_safe=raises,
    )


def finfo(event: Operation, array: Value | None, number: float) -> str:
    """The limit of the tensor's own dtype, in the author's words where the tensor has a name."""
    text = written(event, array) if array is not None else ""
    owner = text if text.replace(".", "").isidentifier() else "x"
    library = "torch" if is_possibly(event, "torch") else "np"
    return f"{library}.finfo({owner}.dtype).{'min' if number < 0 else 'max'}"


def own_limit(event: Operation, name: str, array: Value | None, number: float) -> tuple[Replacement, ...]:
    """`torch.finfo(scores.dtype).min` in the place of the number, where the tensor has a name."""
    limit, site = finfo(event, array, number), event.sites.get(name)
    is_number = isinstance(event.arguments[name], Float | Int)
    is_named = array is not None and f"({written(event, array)}.dtype)" in limit and limit.startswith("torch")
    return (Replacement(site, limit),) if site is not None and is_number and is_named else ()
