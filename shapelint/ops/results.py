"""From what a shape function returns to the value that flows on: dtype, library and graph by the op's row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from shapelint.domain.dims import ONE
from shapelint.domain.shapes import line_up, never_equal
from shapelint.domain.values import (
    NONE,
    TRUE,
    UNTRACKED,
    Const,
    Float,
    Graph,
    GraphState,
    Int,
    Library,
    Many,
    Shape,
    Tensor,
    Tuple,
    Unknown,
    Value,
    tensors_in,
)
from shapelint.events import Kind
from shapelint.ops.dtypes import is_inexact, result_dtype
from shapelint.ops.op import GraphEffect, Named, Part, ShapeError, Spelling

ATTACHED = frozenset({GraphState.GRAPH, GraphState.LEAF})
SEVERED = frozenset({GraphState.CUT, GraphState.NUMBER})
CONSTANT = Graph(GraphState.CONST)


def finish(spelling: Spelling, bound: Mapping[str, Value], result: object) -> Value:
    """Shapes become tensors with the dtype, library and graph that the op's row says.

    A Tensor that the shape function returns is completed where it leaves these open; other values are returned
    as they are. An in-place op returns its receiver's shape, or raises ShapeError where the result does not fit it.
    """
    match result:
        case Shape():
            return _into(spelling, bound, _made(spelling, bound, result))
        case Part(shape, dtype, graph):
            return _into(spelling, bound, _made(spelling, bound, shape, dtype, graph))
        case Tensor():
            return _completed(spelling, bound, result)
        case Many(item=Tensor() as item):
            return replace(result, item=_completed(spelling, bound, item))
        case Named(parts, kind):
            items = tuple(finish(spelling, bound, part) for part in parts.values())
            return Tuple(items, kind or spelling.op.name, tuple(parts))
        case tuple():
            return Tuple(tuple(finish(spelling, bound, part) for part in result))
    return result  # type: ignore[return-value]


def _made(
    spelling: Spelling,
    bound: Mapping[str, Value],
    shape: Shape,
    dtype: object = None,
    effect: GraphEffect | None = None,
) -> Tensor:
    library = library_of(spelling, bound)
    known = result_dtype(spelling.op.dtype if dtype is None else dtype, bound, library)  # type: ignore[arg-type]
    return Tensor(shape, known, library, _graph(effect or spelling.op.graph, bound, library, known))


def _completed(spelling: Spelling, bound: Mapping[str, Value], tensor: Tensor) -> Tensor:
    """A tensor with what its op's row says, where the shape function leaves it open."""
    library = tensor.library or library_of(spelling, bound)
    known = tensor.dtype or result_dtype(spelling.op.dtype, bound, library)
    graph = tensor.graph
    if graph == UNTRACKED:
        graph = _graph(spelling.op.graph, bound, library, known)
    return Tensor(tensor.shape, known, library, graph)


def _graph(effect: GraphEffect, bound: Mapping[str, Value], library: str | None, dtype: str | None) -> Graph:
    graph = combine(operand_graphs(bound))
    if bound.get("requires_grad") == TRUE and not graph.origins:
        return Graph(GraphState.LEAF)  # rebuilt from what hangs on a graph it stays the cut that it is
    if effect in {GraphEffect.DIFFERENTIABLE, GraphEffect.ZERO_GRADIENT}:
        if is_inexact(dtype) is False:
            effect = GraphEffect.NO_GRAPH  # whole numbers carry no gradient
        elif library == "numpy":
            effect = GraphEffect.CUT
    return take_effect(effect, graph)


def _into(spelling: Spelling, bound: Mapping[str, Value], result: Tensor) -> Tensor:
    """The result as its destination holds it: the receiver of an in-place op, or numpy's `out`."""
    target = bound.get("x") if spelling.in_place else bound.get("out", NONE)
    if not isinstance(target, Tensor) or (spelling.in_place and target.library == "jax"):
        return result
    if spelling.in_place and spelling.op.kind in {Kind.LAYOUT, Kind.RESHAPE}:
        return result
    if not spelling.in_place and library_of(spelling, bound) != "numpy":
        return result  # torch resizes `out`
    check_fits(result.shape, target.shape)
    return replace(result, shape=target.shape, dtype=target.dtype, library=target.library)


def check_fits(shape: Shape, target: Shape) -> None:
    """ShapeError where a result of `shape` can never be written into `target`."""
    if target.rank is not None and shape.least_rank > target.rank:
        raise ShapeError(f"{shape} does not fit into {target}")
    for pair in line_up(shape, target).pairs:
        spreads = pair.stretches_right and (pair.left is None or never_equal(pair.left.size, ONE))
        if pair.conflicts or spreads:
            raise ShapeError(f"{shape} does not fit into {target}")


def library_of(spelling: Spelling, bound: Mapping[str, Value]) -> str | None:
    """Which library's array an op returns: of its own, or of its operands for methods and operators."""
    own = _own_library(spelling.callee)
    if not spelling.by_operands and own == "torch":
        return own
    written = bound.get("x") if spelling.in_place or spelling.op.name == "setitem" else None
    if isinstance(written, Tensor) and written.library in {"torch", "numpy"}:
        return written.library  # whatever is written into it
    found = {t.library for t in tensors_in(bound.values())}
    if not spelling.by_operands and own not in {"einops", "einx"}:
        if own == "numpy" and "torch" in found and spelling.op.kind not in {Kind.CREATION, Kind.CAST}:
            return None  # numpy hands the call back to the tensor, or converts it
        return own if own in {"torch", "numpy", "jax"} else None
    found -= {None}  # an array that nothing is known of follows its fellow
    for library in ("torch", "jax"):
        if library in found:
            return library if found <= {library, "numpy"} else None
    return "numpy" if found == {"numpy"} and not _any_unknown(bound) else None


@lru_cache(maxsize=4096)
def _own_library(callee: str) -> str:
    return callee.partition(".")[0].replace("scipy", "numpy")


def _any_unknown(bound: Mapping[str, Value]) -> bool:
    """An operand that may well be another library's: numpy gives way to it."""
    return any(isinstance(v, Unknown) or (isinstance(v, Tensor) and v.library is None) for v in bound.values())


def operand_graphs(bound: Mapping[str, Value]) -> list[Graph]:
    """The graphs of what an op works on. Python numbers count only when they were taken from a graph."""
    found: list[Graph] = []
    for name, value in bound.items():
        if type(value) is Tensor:  # the frequent case
            found.append(value.graph)
        elif type(value) not in WITHOUT_GRAPH:
            found.extend(_graphs(value, is_operand=name in {"x", "y", "tensors", "condition"}))
    return found


WITHOUT_GRAPH = frozenset({Const, Library})


def _graphs(value: Value, is_operand: bool) -> Iterable[Graph]:
    match value:
        case Tensor(graph=graph):
            yield graph
        case Int(graph=graph) | Float(graph=graph):
            if graph.state is not GraphState.UNKNOWN:
                yield graph
        case Unknown(graph=graph):
            if is_operand or graph != UNTRACKED:
                yield graph
        case Tuple(items=items):
            for item in items:
                yield from _graphs(item, is_operand)
        case Many(item=item):
            yield from _graphs(item, is_operand)


def combine(graphs: Iterable[Graph]) -> Graph:
    """How the result of a differentiable op hangs on what its operands hang on."""
    graphs = list(graphs)
    if all(graph is UNTRACKED for graph in graphs):  # the frequent case
        return UNTRACKED if graphs else CONSTANT
    attached = [g for g in graphs if g.state in ATTACHED]
    if attached:
        return Graph(GraphState.GRAPH, _origins(attached))
    perhaps = [g for g in graphs if g.state is GraphState.UNKNOWN]
    cut = [g for g in graphs if g.state in SEVERED]
    origins = _origins(graphs)
    if cut and not _origins(perhaps):
        return Graph(GraphState.CUT, origins, cut[0].cut_by)
    return Graph(GraphState.UNKNOWN, origins) if perhaps else CONSTANT


def _origins(graphs: Iterable[Graph]) -> frozenset[object]:
    return frozenset(origin for graph in graphs for origin in graph.origins)


def take_effect(effect: GraphEffect, graph: Graph) -> Graph:
    """The graph of a result, given the one of its operands. `cut_by` is left to who knows the event."""
    match effect:
        case GraphEffect.CONSTANT:
            return CONSTANT
        case GraphEffect.LEAF:
            return Graph(GraphState.LEAF)
        case GraphEffect.NO_GRAPH if graph.state in ATTACHED or (graph.origins and graph.state not in SEVERED):
            return Graph(GraphState.CUT, graph.origins)
        case GraphEffect.CUT | GraphEffect.REBUILD if graph.state not in {GraphState.CONST, *SEVERED}:
            return Graph(GraphState.CUT, graph.origins)
    return graph


def as_number(graph: Graph) -> Graph:
    """The graph state of a Python number taken from a tensor."""
    return graph if graph.state is GraphState.CONST else Graph(GraphState.NUMBER, graph.origins, graph.cut_by)
