"""Ops that make, cut or use the autograd graph."""

from __future__ import annotations

from shapelint.domain.dims import data_dependent
from shapelint.domain.values import (
    FALSE,
    NONE,
    TRUE,
    Float,
    Graph,
    GraphState,
    Int,
    Many,
    Tensor,
    Tuple,
    Unknown,
    Value,
)
from shapelint.events import Kind
from shapelint.ops.casts import kept
from shapelint.ops.dtypes import parse
from shapelint.ops.op import DtypeRule, GraphEffect, Op, Part, Result, Unknowable, flag, tensor
from shapelint.ops.results import CONSTANT, as_number, combine


def item(x: Value) -> Value:
    """A Python number; what it was taken from stays known."""
    known = tensor(x)
    return number(known)


def number(x: Tensor) -> Value:
    graph = as_number(combine([x.graph]))
    dtype = parse(x.dtype)
    match dtype.category if dtype is not None else None:
        case "float":
            return Float(graph=graph)
        case "int" if x.made_by is not None:
            return Int(data_dependent(("item", x.made_by), "item"), graph)
    return Unknown(graph=graph)


def tolist(x: Value) -> Value:
    """Nested lists of Python numbers, as deep as the tensor has axes."""
    known = tensor(x)
    if known.shape.rank is None:
        return Unknown(graph=as_number(combine([known.graph])))
    result = number(known)
    for size in reversed(known.shape.sizes):
        result = Many(result, size)
    return result


def nothing(x: Value) -> Value:
    """backward, retain_grad: None."""
    return NONE


def requires_grad(x: Value, requires_grad: Value = TRUE) -> Value:
    """A leaf from here on, unless it hangs on a graph; data again when switched off."""
    known = tensor(x)
    if not flag(requires_grad):
        graph = CONSTANT
    elif known.graph.state is GraphState.GRAPH:
        graph = known.graph
    else:
        graph = Graph(GraphState.LEAF, known.graph.origins if known.graph.state is GraphState.LEAF else frozenset())
    return Tensor(known.shape, known.dtype, known.library, graph)


def parameter(x: Value, requires_grad: Value = TRUE) -> Result:
    """nn.Parameter: a leaf of the same shape."""
    shape = tensor(x).shape
    frozen = requires_grad == FALSE
    return Part(shape, None, GraphEffect.CONSTANT if frozen else GraphEffect.LEAF)


def grad(outputs: Value, inputs: Value, create_graph: Value = FALSE) -> Result:
    """torch.autograd.grad: one gradient for each input, in a tuple."""
    effect = GraphEffect.CONSTANT if create_graph == FALSE else GraphEffect.DIFFERENTIABLE
    match inputs:
        case Tensor(shape=shape):
            return (Part(shape, inputs.dtype, effect),)
        case Tuple(items=items) if all(isinstance(i, Tensor) for i in items):
            return tuple(Part(i.shape, i.dtype, effect) for i in items if isinstance(i, Tensor))
    raise Unknowable("inputs not known one by one")


def row(
    name: str,
    function: object,
    *spellings: str,
    dtype: DtypeRule = "same",
    graph: GraphEffect = GraphEffect.DIFFERENTIABLE,
) -> Op:
    return Op(name, function, spellings, Kind.AUTOGRAD, dtype, graph)  # type: ignore[arg-type]


OPS: tuple[Op, ...] = (
    row("detach", kept, "torch.detach(input)", graph=GraphEffect.CUT),
    row("item", item, *(f"{array}.item(x)" for array in ("torch.Tensor", "numpy.ndarray", "jax.Array"))),
    row("tolist", tolist, *(f"{array}.tolist(x)" for array in ("torch.Tensor", "numpy.ndarray", "jax.Array"))),
    row("backward", nothing, "torch.Tensor.backward(x, gradient, retain_graph, create_graph, inputs)"),
    row("retain_grad", nothing, "torch.Tensor.retain_grad(x)"),
    row("requires_grad_", requires_grad, "torch.Tensor.requires_grad_(x, requires_grad)"),
    *(row("parameter", parameter, f"torch.nn.{n}(data, requires_grad)") for n in ("Parameter", "parameter.Parameter")),
    row("variable", kept, "torch.autograd.Variable(data, requires_grad, volatile)", graph=GraphEffect.REBUILD),
    row("grad", grad, "torch.autograd.grad(outputs, inputs, grad_outputs, retain_graph, create_graph)"),
)
