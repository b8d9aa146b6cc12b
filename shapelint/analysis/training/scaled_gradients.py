"""Gradients that may be multiplied by the scale of a GradScaler: what is computed from them, what bounds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shapelint.analysis.control_flow import Act
from shapelint.domain.values import Dict, Float, Int, Many, Method, Tuple, Value, maker_of
from shapelint.events import Call, Input, Item, Operation
from shapelint.provenance import ancestors

# The same numbers in another arrangement, or made of them one by one.
KEEPING = frozenset({
    "data", "detach", "clone", "to", "float", "cpu", "cuda", "view", "reshape", "flatten", "ravel", "getitem", "cat",
    "stack", "abs", "pow", "square", "sqrt", "neg", "sub", "double",
})  # fmt: skip
READS = frozenset({
    "norm", "vector_norm", "sum", "mean", "max", "min", "amax", "amin", "std", "var", "item", "tolist", "numpy",
    "histc", "median",
})  # fmt: skip
LARGEST_BOUND = 1e6  # a clip beyond it only measures


def flat(values: Iterable[Value]) -> Iterator[Value]:
    """The items of tuples, lists and dicts, however deep."""
    for value in values:
        match value:
            case Tuple(items=items):
                yield from flat(items)
            case Many(item=item):
                yield from flat((item,))
            case Dict(items=pairs):
                yield from flat(item for _, item in pairs)
            case _:
                yield value


def gradient_behind(value: Value, depth: int = 0) -> Input | None:
    """The `p.grad` that a value is, or is computed from in a way that keeps the scale of its numbers."""
    maker = maker_of(value)
    if depth > 8:
        return None
    match maker:
        case Input(kind="attribute", name="grad"):
            return maker
        case Input(kind="attribute" | "item" | "iteration", source=source) if source is not None:
            return gradient_behind(source, depth + 1)
        case Item(of=Operation(values=values, name=name)) if name in KEEPING | READS:
            return next(filter(None, (gradient_behind(v, depth + 1) for v in flat(values))), None)
        case Operation(values=values, name=name) if name in KEEPING | READS or (name == "add" and not maker.in_place):
            return next(filter(None, (gradient_behind(v, depth + 1) for v in flat(values))), None)
        case Operation(name="mul" | "div", values=values):
            found = [gradient_behind(v, depth + 1) for v in values]
            is_plain = all(f is not None or isinstance(v, Int | Float) for f, v in zip(found, values))
            return next(filter(None, found), None) if is_plain else None
        case Call(callee=Method(receiver=receiver, name=name)) if name in KEEPING:
            return gradient_behind(receiver, depth + 1)
    return None


def bounds(act: Act) -> bool:
    """Whether a clip has a bound that gradients may exceed."""
    event = act.event
    bound = event.args[1] if isinstance(event, Call) and len(event.args) > 1 else None
    match bound:
        case Float(value=float() as known):
            return known < LARGEST_BOUND
        case Int(dim=dim) if dim.value is not None:
            return dim.value < LARGEST_BOUND
    return True


def gets_scale(act: Act) -> bool:
    """Whether the scale is taken into account by hand."""
    before = (event for event in ancestors(act.event, 200) if isinstance(event, Call))
    return any(isinstance(event.callee, Method) and event.callee.name == "get_scale" for event in before)
