"""Floating-point operations of a forward pass, and the bytes that they move: products of matrices and convolutions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from shapelint.budget import transformers
from shapelint.budget.views import shape_of
from shapelint.budget.weights import of_layer, spread
from shapelint.domain.memory import dtype_of, width_of
from shapelint.domain.values import Const, Int, Layer, Tensor, Tuple, Value
from shapelint.events import Event, Operation

UNCOUNTED = frozenset(
    {"rnn", "rnn_cell", "attention", "transformer", "bilinear"}
)  # products are inside of these layers


@dataclass(frozen=True)
class Work:
    """One operation that multiplies: `numbers` are what it reads and writes, by dtype."""

    text: str
    flops: int
    numbers: tuple[tuple[str, int], ...]

    def bytes(self, width: int) -> int:
        """What it moves where floats take `width` bytes each."""
        return sum(count * (width if "float" in dtype else width_of(dtype) or width) for dtype, count in self.numbers)


def work(events: Sequence[Event]) -> Iterator[Work]:
    """Every operation that is counted, in order."""
    for event in events:
        if isinstance(event, Operation) and not isinstance(event.result, Layer):
            flops = _flops(event)
            if flops:
                yield Work(event.site.text, flops, tuple(_numbers(event)))


def uncounted(events: Sequence[Event]) -> set[str]:
    """Operations whose multiplications are not known."""
    return {
        event.name
        for event in events
        if isinstance(event, Operation) and not isinstance(event.result, Layer) and event.name in UNCOUNTED
        if not _flops(event)
    }


def _sizes(value: Value | None) -> tuple[int, ...] | None:
    return shape_of(value) if isinstance(value, Tensor) else None


def _flops(event: Operation) -> int:
    """Two for each multiplication and addition, as is usual; 0 for what multiplies no matrices."""
    given, out = event.arguments, _sizes(event.result)
    x, y = _sizes(given.get("x")), _sizes(given.get("y"))
    match event.name:
        case "linear" if x and out:
            return 2 * prod(out) * x[-1]
        case "matmul" | "bmm" | "mm" | "mv" | "dot" if x and y is not None and out is not None:
            return 2 * prod(out) * x[-1]
        case "addmm" | "baddbmm" if y and out:
            return 2 * prod(out) * y[-1]
        case "conv" if x and out:
            return _convolution(event, x, out)
        case "einsum":
            return _einsum(event)
        case "attention" | "transformer" if event.layer is not None:
            table = of_layer(event.layer) or {}
            shapes = {name: shape for name, (shape, _) in table.items()}
            return transformers.flops(event.layer, shapes, given) or 0
        case "scaled_dot_product_attention" if x and out:
            key, value = _sizes(given.get("key")), _sizes(given.get("value"))
            if key and value:
                return 2 * prod(x[:-1]) * key[-2] * (x[-1] + value[-1])
    return 0


def _convolution(event: Operation, x: tuple[int, ...], out: tuple[int, ...]) -> int:
    """Each output of a convolution, or each input of a transposed one, meets one kernel."""
    weight = _sizes(event.arguments.get("weight"))
    rank = len(x) - 2
    if weight is not None:
        kernel = prod(weight[1:])
    else:
        groups = event.arguments.get("groups")
        count = groups.dim.value if isinstance(groups, Int) and groups.dim.value else 1
        inner = out[1] if _is_transposed(event) else x[1]
        kernel = inner // count * prod(spread(event.arguments["kernel_size"], rank))
    return 2 * prod(x if _is_transposed(event) else out) * kernel


def _is_transposed(event: Operation) -> bool:
    return "ranspose" in event.callee or (event.layer is not None and "Transpose" in event.layer.name)


def _einsum(event: Operation) -> int:
    """Of two operands: every index of the equation runs once."""
    equation, operands = event.arguments.get("equation"), event.arguments.get("operands")
    if not isinstance(equation, Const) or not isinstance(equation.value, str) or not isinstance(operands, Tuple):
        return 0
    sizes: dict[str, int] = {}
    for letters, operand in zip(equation.value.replace(" ", "").partition("->")[0].split(","), operands.items):
        sizes.update(zip(letters, _sizes(operand) or ()))
    return 2 * prod(sizes.values()) if len(operands.items) == 2 and "." not in equation.value else 0


def _numbers(event: Operation) -> Iterator[tuple[str, int]]:
    for value in (*event.operands, event.result):
        shape = _sizes(value)
        if shape is not None and isinstance(value, Tensor):
            yield dtype_of(value) or "float32", prod(shape)
    if event.layer is not None:
        yield from (("float32", prod(shape)) for shape, _ in (of_layer(event.layer) or {}).values())
