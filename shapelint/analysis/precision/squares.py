"""Squares that are added up, and what is certainly small: for rules on precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.evidence import KEEPING_METHODS, made_by
from shapelint.analysis.index import operations
from shapelint.analysis.precision.dtypes import constant, dtype_of, source_of
from shapelint.domain.dims import ONE, evaluate
from shapelint.domain.formats import FLOAT16
from shapelint.domain.values import Method, Tensor, Unknown, Value, same_value
from shapelint.events import Call, Event, Kind, Operation

# Results that lie between -1 and 1, or a few units around 0.
BOUNDED = frozenset({
    "softmax", "sigmoid", "tanh", "normalize", "layer_norm", "group_norm", "batch_norm", "rms_norm", "instance_norm",
    "sin", "cos", "rand", "randn", "rand_like", "randn_like", "log_softmax", "clamp", "cosine_similarity", "erf",
    "one_hot", "zeros", "ones", "zeros_like", "ones_like", "eye", "hardtanh", "hardsigmoid", "sign", "uniform",
    "normal", "exp",
})  # fmt: skip
COMPARING = frozenset({
    "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isfinite", "isinf", "logical_and", "logical_or", "logical_not",
    "and_", "or_", "invert", "isin", "is_nonzero",
})  # fmt: skip
TRIANGLES = frozenset({"tril", "triu"})


def summed_squares(events: Sequence[Event]) -> Iterator[tuple[Operation, Operation]]:
    """Squares of float16 tensors, and the sum or mean over them."""
    for total in operations(events, {"sum", "mean"}):
        operand = total.arguments.get("x")
        square = made_by(operand) if dtype_of(operand) == FLOAT16.name and operand is not None else None
        if not isinstance(square, Operation) or not is_square(square):
            continue
        base = square.values[0]
        if dtype_of(base) != FLOAT16.name or is_bounded(base):
            continue
        if total.name == "sum" or not (is_error(base) or is_score(base)):
            yield square, total


def is_square(event: Operation) -> bool:
    match event.name:
        case "square":
            return True
        case "pow":
            return constant(event.arguments.get("y")) == 2
        case "mul":
            left, right = event.arguments.get("x"), event.arguments.get("y")
            return left is not None and right is not None and same_value(left, right)
    return False


def is_error(value: Value) -> bool:
    """A difference of two things of one kind: of a prediction and a target, not of a value and its own mean."""
    maker = source_of(value)
    if maker is None or maker.name != "sub":
        return False
    return not any(is_own_mean(operand) for operand in maker.operands)


def is_score(value: Value) -> bool:
    """The one output of a layer: a score that is trained towards 0, as D(fake) ** 2 is."""
    maker, axis = source_of(value), value.shape.axis(-1) if isinstance(value, Tensor) else None
    return maker is not None and maker.kind is Kind.LAYER and axis is not None and axis.size == ONE


def is_own_mean(value: Value) -> bool:
    maker = source_of(value)
    return maker is not None and maker.kind is Kind.REDUCTION


def is_bounded(value: Value, depth: int = 0) -> bool:
    """Whether a tensor certainly holds small numbers only: probabilities, normalised features, masks."""
    maker = source_of(value)
    if maker is None or depth > 6:
        return False
    if maker.name in BOUNDED or maker.name in COMPARING:
        return True
    is_plain = maker.name in {"add", "sub", "mul", "neg", "dropout", "relu", *TRIANGLES}
    numbers = [v for v in maker.values if isinstance(v, Tensor | Unknown)]
    return is_plain and bool(numbers) and all(is_bounded(v, depth + 1) for v in numbers)


def zero_or_one(value: Value | None, depth: int = 0) -> bool:
    """Whether a tensor is a mask: a comparison, `1 - mask`, a triangle of ones, a cast bool."""
    if value is None or depth > 6:
        return False
    if dtype_of(value) == "bool":
        return True
    maker = made_by(value)
    if isinstance(maker, Call) and isinstance(maker.callee, Method):
        cast = maker.callee
        return cast.name == "bool" or (cast.name in KEEPING_METHODS and zero_or_one(cast.receiver, depth + 1))
    if not isinstance(maker, Operation):
        return False
    if maker.name in COMPARING or maker.name in {"ones", "ones_like", "eye", "one_hot"}:
        return True
    if maker.name == "sub":
        return constant(maker.arguments.get("x")) == 1
    if maker.kind in {Kind.CAST, Kind.LAYOUT, Kind.RESHAPE, Kind.INDEXING} or maker.name in {"tensor", *TRIANGLES}:
        first = maker.values[0] if maker.values else None
        return first is not None and zero_or_one(first, depth + 1)
    return False


def filled_with(value: Value | None) -> float | None:
    """The number that stands where a tensor is masked: `mask.masked_fill(pad, -1e9)`, `(1 - mask) * -1e9`."""
    maker = source_of(value)
    if maker is None:
        return None
    match maker.name:
        case "masked_fill" | "full" | "full_like" | "new_full":
            numbers = [constant(maker.arguments.get("value"))]
        case "where":
            numbers = [constant(maker.arguments.get(name)) for name in ("x", "y")]
        case "mul" if any(map(zero_or_one, maker.operands)):
            numbers = [constant(maker.arguments.get(name)) for name in ("x", "y")]
        case _:
            return None
    return max((number for number in numbers if number is not None), key=abs, default=None)


def count_of(tensor: Value, axes: tuple[int, ...] | None) -> int | None:
    """How many numbers a reduction adds up, where that is known, with the defaults of parameters."""
    if not isinstance(tensor, Tensor) or tensor.shape.run is not None:
        return None
    sizes = tensor.shape.sizes
    chosen = range(len(sizes)) if axes is None else [axis for axis in axes if -len(sizes) <= axis < len(sizes)]
    product = 1
    for axis in chosen:
        known = {s: s.default for s in sizes[axis].symbols() if s.default is not None}
        try:
            product *= evaluate(sizes[axis], known)
        except (KeyError, ArithmeticError):
            return None
    return product
