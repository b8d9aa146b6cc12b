"""What the forward pass keeps for the backward pass, operation by operation, as torch's own formulas need it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod

from shapelint.analysis.evidence import axes_of, identity
from shapelint.budget import views
from shapelint.budget.views import Storage, View, fresh, shape_of
from shapelint.domain.memory import dtype_of
from shapelint.domain.values import FALSE, Float, GraphState, Int, Layer, Tensor, Tuple, Value
from shapelint.events import Event, Input, Kind, Operation

# What the derivative of each operation is computed from.
OF_RESULT = frozenset({
    "relu", "exp", "expm1", "sigmoid", "tanh", "softmax", "log_softmax", "sqrt", "rsqrt", "reciprocal", "tan",
})  # fmt: skip
OF_INPUT = frozenset({
    "gelu", "silu", "log", "log1p", "sin", "cos", "abs", "leaky_relu", "elu", "softplus", "pow", "square", "erf",
    "mish", "clamp", "relu6", "hardtanh", "hardswish", "hardsigmoid", "logsigmoid", "selu", "celu", "softsign",
})  # fmt: skip
OF_NOTHING = frozenset({
    "add", "sub", "neg", "sum", "mean", "cat", "stack", "repeat", "roll", "flip", "eq", "ne", "lt", "le", "gt", "ge",
    "detach", "item", "tril", "triu", "clone", "contiguous",
})  # fmt: skip
ALIASING = frozenset({"reshape", "flatten", "unflatten", "reshape_as", "contiguous"})


@dataclass
class Memory:
    """The storages of one forward pass: those that exist, those that are kept, and the operations it cannot judge."""

    known: dict[object, View] = field(default_factory=dict)
    kept: dict[int, Storage] = field(default_factory=dict)
    made: list[Storage] = field(default_factory=list)
    unjudged: set[str] = field(default_factory=set)

    def keep(self, *kept: View) -> None:
        self.kept.update((id(view.storage), view.storage) for view in kept if view.storage.kind != "parameter")

    def view(self, value: Value) -> View | None:
        """Where a tensor lies; what the pass has not made comes in from outside."""
        if not isinstance(value, Tensor):
            return None
        key = identity(value)
        if key not in self.known:
            shape = shape_of(value)
            if shape is None:
                return None
            is_own = value.graph.state is GraphState.LEAF or value.made_by is not None
            kind = "parameter" if is_own and not _is_input(value) else "input"
            self.known[key] = fresh(Storage(shape, dtype_of(value) or "float32", kind))
        return self.known[key]


def _is_input(value: Tensor) -> bool:
    return isinstance(value.made_by, Input) and value.made_by.kind == "parameter"


def run(events: Sequence[Event]) -> Memory:
    """Follow a forward pass in training mode."""
    memory = Memory()
    for event in events:
        if isinstance(event, Operation) and not isinstance(event.result, Layer):
            _step(memory, event)
    return memory


def _step(memory: Memory, event: Operation) -> None:
    x = memory.view(event.arguments.get("x", FALSE))
    aliases = _aliases(event, x) if x is not None else None
    if aliases is not None:
        _name(memory, event, aliases)
        return
    results = [_made(memory, event, value) for value in _results(event)]
    _name(memory, event, results)
    if x is not None and event.name in ALIASING:
        return  # a copy
    if any(_has_gradient(value) for value in _results(event)) and not _is_off(event):
        known = list(_kept(memory, event, x, results[0] if results else None))
        memory.keep(*known)


def _results(event: Operation) -> list[Value]:
    return list(event.result.items) if isinstance(event.result, Tuple) else [event.result]


def _name(memory: Memory, event: Operation, results: Sequence[View | None]) -> None:
    keys = [(id(event), i) for i in range(len(results))] if isinstance(event.result, Tuple) else [id(event)]
    memory.known.update((key, view) for key, view in zip(keys, results) if view is not None)


def _made(memory: Memory, event: Operation, value: Value) -> View | None:
    shape = shape_of(value) if isinstance(value, Tensor) else None
    if shape is None or not isinstance(value, Tensor):
        return None
    storage = Storage(shape, dtype_of(value) or "float32", "activation", event.site.text)
    memory.made.append(storage)
    if event.name == "scaled_dot_product_attention" and len(shape) == 4:  # laid out as (batch, time, heads, width)
        _, h, t, d = shape
        return View(storage, shape, (t * h * d, d, h * d, 1))
    like = memory.view(event.arguments.get("x", FALSE)) if event.kind is Kind.ELEMENTWISE else None
    return View(storage, shape, like.strides) if like is not None and _is_dense(like, shape) else fresh(storage)


def _is_dense(view: View, shape: tuple[int, ...]) -> bool:
    """An elementwise result lies as its input does, where that is a permutation of a block without gaps."""
    pairs = sorted((pair for pair in zip(view.strides, view.shape) if pair[1] != 1), reverse=True)
    strides, sizes = [stride for stride, _ in pairs], [size for _, size in pairs]
    return view.shape == shape and strides == list(views.dense_strides(sizes))


def _has_gradient(value: Value) -> bool:
    return isinstance(value, Tensor) and value.graph.state in {GraphState.GRAPH, GraphState.LEAF}


def _is_off(event: Operation) -> bool:
    return "no_grad" in event.regions or "inference_mode" in event.regions


def _number(value: Value | None, default: int) -> int:
    return value.dim.value if isinstance(value, Int) and value.dim.value is not None else default


def _aliases(event: Operation, x: View) -> list[View] | None:
    """The results of an operation that only looks at its input in another way; None where it makes new tensors."""
    shapes = [shape_of(value) for value in _results(event) if isinstance(value, Tensor)]
    if not shapes or None in shapes:
        return None
    shape, rank = shapes[0] or (), len(x.shape)
    match event.name:
        case "reshape" | "flatten" | "unflatten" | "reshape_as":
            view = views.reshaped(x, shape)
            return None if view is None else [view]
        case "contiguous":
            return [x] if x.is_contiguous else None
        case "identity" | "detach":
            return [x]
        case "dropout" if _probability(event) == 0:
            return [x]
        case "transpose" | "movedim" | "permute":
            return [views.permuted(x, order)] if (order := _order(event, rank)) is not None else None
        case "unsqueeze" | "squeeze":
            return [views.reshaped(x, shape) or x]
        case "expand" | "expand_as":
            return [views.expanded(x, shape)]
        case "split" | "chunk":
            return [View(x.storage, part or (), x.strides) for part in shapes]
        case "unbind" | "select":
            dim = _number(event.arguments.get("dim"), 0)
            return [views.without_axis(x, dim) for _ in shapes]
        case "narrow":
            return [View(x.storage, shape, x.strides)]
        case "getitem":
            view = views.indexed(x, event.arguments["index"])
            return None if view is None else [view]
        case "to" | "float" | "type_as" | "cuda" | "cpu" if x.storage.dtype == dtype_of(_tensor(event.result)):
            return [x]
    return None


def _tensor(value: Value) -> Tensor:
    return value if isinstance(value, Tensor) else Tensor()


def _probability(event: Operation) -> float | None:
    for name in ("p", "option"):
        match event.arguments.get(name):
            case Float(value=number):
                return number
            case Int(dim=dim):
                return dim.value
    return None


def _order(event: Operation, rank: int) -> list[int] | None:
    """The old places of the axes, in their new order."""
    order = list(range(rank))
    if event.name == "permute":
        axes = axes_of(event)
        return None if axes is None else [axis % rank for axis in axes]
    if event.name == "movedim":
        return None
    default = (-2, -1) if event.callee.endswith(("mT", "mH")) or rank == 2 else None
    if "first" not in event.arguments and default is None:
        return order[::-1] if event.callee.endswith(".T") else None
    first = _number(event.arguments.get("first"), -2) % rank
    second = _number(event.arguments.get("second"), -1) % rank
    order[first], order[second] = order[second], order[first]
    return order


def _kept(memory: Memory, event: Operation, x: View | None, result: View | None) -> Iterator[View]:
    """What torch saves of an operation on the way to a loss."""
    name, given = event.name, event.arguments
    y, out = memory.view(given.get("y", FALSE)), result or x
    if name in OF_NOTHING or out is None or (x is None and name != "einsum"):
        return
    x = x or out
    match name:
        case _ if name in OF_RESULT:
            yield out
        case _ if name in OF_INPUT:
            yield x
        case "linear" | "conv" | "embedding" | "nll_loss":
            yield x
        case "mul" | "div":
            if y is not None and _has_gradient(given["x"]):
                yield y
            if y is not None and _has_gradient(given["y"]):
                yield x
        case "matmul" | "bmm" | "mm" | "mv" | "dot":
            if y is not None:
                yield from _matrices(event, x, y)
        case "einsum":
            operands = given.get("operands")
            found = operands.items if isinstance(operands, Tuple) else ()
            yield from (v for operand in found if (v := memory.view(operand)) is not None)
        case "layer_norm" | "rms_norm" | "batch_norm" | "group_norm":
            yield from _norm(event, x)
        case "dropout":
            yield _side(x.shape, x.storage.dtype)  # the mask, in the dtype of the input
        case "masked_fill" | "where":
            yield from (v for key in ("mask", "condition") if (v := memory.view(given.get(key, FALSE))) is not None)
        case "cross_entropy":
            yield _side(x.shape, x.storage.dtype)
            yield from (
                v for v in [memory.view(given.get("target", FALSE)), _side((), x.storage.dtype)] if v is not None
            )
        case "mse_loss" | "l1_loss" | "smooth_l1_loss" | "huber_loss" | "binary_cross_entropy_with_logits":
            yield from (v for v in (x, memory.view(given.get("target", FALSE))) if v is not None)
        case "pool":
            yield from _pool(event, x, out)
        case "scaled_dot_product_attention":
            parts = [memory.view(given.get(key, FALSE)) for key in ("x", "key", "value")]
            yield from (part for part in parts if part is not None)
            yield out
            yield _side(x.shape[:-1], "float32", True)
        case "max" | "min" | "getitem" | "norm" | "std" | "var":
            yield from _reduced(memory, event, x, out)
        case _ if event.kind is not Kind.CREATION and event.kind is not Kind.RANDOM:
            memory.unjudged.add(name)


def _side(shape: Sequence[int], dtype: str, is_statistic: bool = False) -> View:
    """A tensor that only the backward pass sees."""
    return fresh(Storage(tuple(shape), dtype, "activation", "for the backward pass", is_statistic))


def _matrices(event: Operation, x: View, y: View) -> Iterator[View]:
    """Both factors, as the batched product takes them: stacks of matrices, copied where they do not lie so."""
    out = shape_of(_tensor(event.result)) or ()
    for view, other in ((x, "y"), (y, "x")):
        if not _has_gradient(event.arguments[other]):
            continue
        if len(view.shape) <= 2 or len(x.shape) <= 2 or len(y.shape) <= 2 or len(out) <= 3:
            yield view
            continue
        stacked = views.expanded(view, (*out[:-2], *view.shape[-2:]))
        flat = views.reshaped(stacked, (prod(out[:-2]), *view.shape[-2:]))
        yield flat if flat is not None else _side(stacked.shape, view.storage.dtype)


def _norm(event: Operation, x: View) -> Iterator[View]:
    yield x
    match event.name:
        case "layer_norm":
            over = event.arguments.get("normalized_shape")
            count = len(over.items) if isinstance(over, Tuple) else 1
            yield from (_side(x.shape[:-count], "float32", True) for _ in range(2))
        case "rms_norm":
            yield from (_side(x.shape[:-1], "float32", True), _side(x.shape, x.storage.dtype))
        case "batch_norm":
            yield from (_side(x.shape[1:2], "float32", True) for _ in range(2))
        case _:
            groups = _number(event.arguments.get("num_groups"), 1)
            yield from (_side((x.shape[0], groups), "float32", True) for _ in range(2))


def _pool(event: Operation, x: View, out: View) -> Iterator[View]:
    if "Max" in event.callee or "max" in event.callee:
        yield from (x, _side(out.shape, "int64"))
    elif "daptive" in event.callee and all(size == 1 for size in out.shape[2:]):
        return  # a mean
    else:
        yield x


def _reduced(memory: Memory, event: Operation, x: View, out: View) -> Iterator[View]:
    match event.name:
        case "max" | "min":
            if isinstance(event.result, Tuple):
                yield from (v for v in [memory.known.get((id(event), 1))] if v is not None)
            else:
                yield from (x, out)
        case "getitem":
            index = event.arguments["index"]
            items = index.items if isinstance(index, Tuple) else (index,)
            yield from (v for item in items if (v := memory.view(item)) is not None)
        case _:
            yield from (x, out)
