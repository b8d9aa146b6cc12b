"""What single operations do to the graph: take values out of it, copy them, or give them no gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from shapelint.analysis.evidence import within_call
from shapelint.analysis.index import once_per_file, operations
from shapelint.domain.values import FALSE, NONE, Function, Many, Method, Tensor, Tuple, Value, maker_of
from shapelint.events import Call, Event, Input, Item, Joined, Kind, Operation
from shapelint.ops import lookup
from shapelint.ops.dtypes import parse
from shapelint.ops.op import GraphEffect
from shapelint.provenance import parts, sources

CUTS = frozenset({"detach", "data", "item", "tolist", "numpy", "stop_gradient"})
SIZES = frozenset({"numel", "nelement", "size", "dim", "ndimension"})
WITH_INDICES = frozenset({"max", "min", "sort", "topk", "kthvalue", "mode", "median", "cummax", "cummin"})
# Attributes of a tensor that no gradient flows through.
BESIDE = frozenset({"grad", "dtype", "device", "shape", "ndim", "layout", "requires_grad", "is_cuda", "is_leaf"})
# What scales or hands on each of its terms.
LINEAR = frozenset({"add", "sub", "neg", "mul", "div", "clone", "squeeze", "to", "cuda", "cpu"})
NUMBERS = frozenset({"builtins.float", "builtins.int"})
REBUILDS = frozenset({"tensor", "new_tensor", "from_numpy", "variable"})
# Where gradients are zero or missing, beside those ops that say so themselves.
FLAT = frozenset({
    "argmax", "argmin", "argsort", "sign", "round", "floor", "ceil", "trunc", "one_hot", "bincount", "histc", "long",
    "eq", "ne", "lt", "le", "gt", "ge", "nonzero", "multinomial", "bernoulli", "sample", "floor_divide",
})  # fmt: skip
EFFECTS_WITHOUT = frozenset({GraphEffect.NO_GRAPH, GraphEffect.ZERO_GRADIENT})
COUNTING = frozenset({"int", "uint", "bool"})  # categories of dtypes without gradients


def cuts(event: Operation) -> bool:
    return event.name in CUTS or event.callee in NUMBERS


def is_taken_without_graph(event: Operation) -> bool:
    """torch.autograd.grad without create_graph: numbers, through which nothing trains."""
    return event.name == "grad" and event.arguments.get("create_graph", FALSE) == FALSE


def is_flat(event: Operation) -> bool:
    """Steps and counts: no gradient, or zeros."""
    if event.name in FLAT or effect_of(event) in EFFECTS_WITHOUT:
        return True
    dtype = parse(event.result.dtype) if isinstance(event.result, Tensor) else None
    return dtype is not None and dtype.category in COUNTING


def is_array_of_numpy(event: Operation) -> bool:
    """NumPy knows no gradients: nothing is lost in it that was not lost before."""
    library = event.result.library if isinstance(event.result, Tensor) else None
    return event.callee.startswith("numpy.") or (library == "numpy" and not cuts(event))


@lru_cache(maxsize=4096)
def effect(callee: str) -> GraphEffect:
    spelling = lookup(callee)
    return GraphEffect.DIFFERENTIABLE if spelling is None else spelling.op.graph


def effect_of(event: Operation) -> GraphEffect:
    """What an op does to the graph; a method of an object is known by its name alone."""
    return effect(event.callee) if event.layer is None else GraphEffect.DIFFERENTIABLE


def rebuilds(event: Operation) -> bool:
    """torch.tensor(t), Variable(t); torch.as_tensor only of several tensors; arrays of jax keep their history."""
    if event.callee.startswith("jax."):
        return False
    if event.name == "as_tensor":
        return any(isinstance(value, Tuple | Many) for value in event.values) and event.callee.startswith("torch.")
    return event.name in REBUILDS


def attached(event: Event, most: int) -> Iterator[Event]:
    """The events before one that a gradient may flow to, nearest first: not what comes before detach() or numpy()."""
    seen, queue = {id(event)}, [event]
    for current in queue:
        if isinstance(current, Operation) and current.name != "backward" and (cuts(current) or is_flat(current)):
            continue
        for source in sources(current):
            if id(source) not in seen and len(seen) <= most:
                seen.add(id(source))
                queue.append(source)
                yield source


def computed_with(event: Operation) -> tuple[Value, ...]:
    """What an operation computes with; of `x.new_tensor(values)` not x, which gives its dtype only."""
    return event.values[1:] if event.name == "new_tensor" else event.values


def is_zeros(value: Value) -> bool:
    """Whether a value was made as zeros: `Variable(grad.new(shape).zero_())`, `torch.zeros_like(p)`."""
    match maker_of(value):
        case Call(callee=Method(name=name)):
            return name == "zero_"
        case Operation(name="zeros" | "zeros_like" | "new_zeros"):
            return True
        case Operation(callee=callee, kind=kind, values=(first, *_)):
            return callee.endswith(".zero_") or (kind in {Kind.CAST, Kind.AUTOGRAD} and is_zeros(first))
    return False


@once_per_file
def _differentiated(events: Sequence[Event]) -> Iterator[frozenset[int]]:
    given = parts(event.arguments.get("inputs", NONE) for event in operations(events, {"grad"}))
    yield frozenset(id(maker_of(within_call(value))) for value in given)


def is_differentiated(events: Sequence[Event], event: Operation) -> bool:
    """Whether a copy is made so that autograd.grad gives its gradient: penalties on gradients, Langevin's steps."""
    return id(event) in _differentiated(events)[0]


@once_per_file
def _counted(events: Sequence[Event]) -> Iterator[frozenset[int]]:
    found: set[int] = set()
    for event in operations(events, {"div"}):
        maker = maker_of(event.values[1]) if len(event.values) > 1 else None
        while isinstance(maker, Operation) and maker.name in {"add", "clamp", "maximum", "max"} and maker.values:
            maker = maker_of(maker.values[0])
        if isinstance(maker, Operation) and maker.name == "sum" and maker.values:
            found.add(id(maker_of(maker.values[0])))
    yield frozenset(found)


def is_counted(events: Sequence[Event], value: Value) -> bool:
    """Whether something is divided by the sum of a value: it is a mask, and says which entries there are."""
    return id(maker_of(value)) in _counted(events)[0]


def addends(event: Event) -> tuple[Value, ...] | None:
    """What an event adds up or hands on, and all factors of a product; None where it computes something of its own."""
    match event:
        case Joined(options=options):
            return options
        case Call(callee=Function(), result=result) if maker_of(result) is not None:
            return (result,)
        case Item(of=Call(callee=Function(), result=Tuple(items=items)), index=index) if index < len(items):
            return (items[index],)
        case Operation(name=name) if name in LINEAR:
            return event.values
    return None


@once_per_file
def _read(events: Sequence[Event]) -> Iterator[frozenset[Event | None]]:
    asking = (event for event in events if isinstance(event, Operation | Call))
    given = (value for event in asking for value in parts(event.values))
    makers = (maker_of(value) for value in given)
    read = (m.source for m in makers if isinstance(m, Input) and m.kind == "attribute" and m.name == "grad")
    yield frozenset(maker_of(source) for source in read if source is not None)


def read_gradients(events: Sequence[Event]) -> frozenset[Event | None]:
    """What made the tensors whose `.grad` something is computed from."""
    return _read(events)[0]
