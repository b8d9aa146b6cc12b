"""Library operations: arguments are bound, the op infers the result, an event tells the rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from itertools import islice, product

import libcst as cst

from shapelint.domain.joins import SIZED, join, resolve
from shapelint.domain.record import record
from shapelint.domain.regions import is_without_gradients
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Const,
    Float,
    Graph,
    GraphState,
    Int,
    Layer,
    Library,
    Many,
    Run,
    Shape,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    graph_of,
    options,
)
from shapelint.events import Kind, Operation, Site
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.libraries import casting
from shapelint.ops import Bound, apply, bind_call, bind_method, lookup
from shapelint.ops.dtypes import result_dtype
from shapelint.ops.op import ShapeError, Spelling, Unknowable, bind
from shapelint.provenance import originate

MOST_COMBINATIONS = 16

# Ops of these kinds give one tensor, whatever it looks like.
TENSOR_KINDS = frozenset({
    Kind.ELEMENTWISE, Kind.RESHAPE, Kind.CONTRACTION, Kind.CAST, Kind.NORMALISATION, Kind.JOINING, Kind.LOSS,
})  # fmt: skip
OTHERS = frozenset({"meshgrid"})  # several tensors
WRITTEN_IN_PLACE = frozenset({"torch", "numpy"})  # `x += y` keeps the shape of x; jax makes a new array
SEVERED = frozenset({GraphState.CUT, GraphState.NUMBER})


@record()
class Arguments:
    """The arguments of a call: values, and where they stand in the source."""

    args: tuple[Value, ...] = ()
    kwargs: Mapping[str, Value] = field(default_factory=dict)
    arg_nodes: tuple[cst.CSTNode | None, ...] = ()
    kwarg_nodes: Mapping[str, cst.CSTNode] = field(default_factory=dict)
    complete: bool = True  # False when *args or **kwargs of unknown content are among them
    starred: tuple[Value, ...] = ()  # that unknown content

    @property
    def values(self) -> tuple[Value, ...]:
        return (*self.args, *self.kwargs.values())

    def after(self, value: Value, node: cst.CSTNode | None) -> Arguments:
        """The same with a first argument before the others: the receiver of a method."""
        nodes = (node, *self.arg_nodes)
        return Arguments((value, *self.args), self.kwargs, nodes, self.kwarg_nodes, self.complete)


def operate(frame: Frame, callee: str, arguments: Arguments, node: cst.CSTNode) -> Value | None:
    """The result of a library callable by canonical name; None where it is not modelled."""
    spelling = lookup(callee)
    if spelling is None:
        return None
    arguments = of_many(spelling, arguments)
    try:
        bound = bind(spelling, arguments.args, arguments.kwargs)
    except Unknowable:
        bound = None
    if bound is None or not arguments.complete:
        return frame.unknown(callee, node, "call")
    return perform(frame, spelling, bound, arguments, node)


def of_many(spelling: Spelling, arguments: Arguments) -> Arguments:
    """`torch.block_diag(*torch.unbind(x))`: all that the signature collects is one sequence, however long."""
    if arguments.complete or spelling.variadic is None or len(arguments.args) != len(spelling.positional):
        return arguments
    match arguments.starred:
        case (Many() as items,):
            args, nodes = (*arguments.args, items), (*arguments.arg_nodes, None)
            return replace(arguments, args=args, arg_nodes=nodes, complete=True)
    return arguments


def call_layer(frame: Frame, layer: Layer, arguments: Arguments, node: cst.CSTNode) -> Value | None:
    """What an object of a library class gives when it is called; None where that is not modelled."""
    known = with_facts(frame, layer)
    return on_object(frame, layer, lambda: bind_call(known, arguments.args, arguments.kwargs), arguments, node)


def with_facts(frame: Frame, layer: Layer) -> Layer:
    """A layer whose sizes are no longer those of defaults where this path has others."""
    facts = {symbol: dim for symbol, dim in frame.facts.items() if symbol.default is not None}
    if not facts:
        return layer
    config = {name: resolve(value, facts) if type(value) in SIZED else value for name, value in layer.config.items()}
    return replace(layer, config=config)


def call_method(frame: Frame, layer: Layer, name: str, arguments: Arguments, node: cst.CSTNode) -> Value | None:
    """A method of an object of a library class: Normal(mu, std).log_prob(x); None where it is not modelled."""
    return on_object(frame, layer, lambda: bind_method(layer, name, arguments.args, arguments.kwargs), arguments, node)


def on_object(
    frame: Frame, layer: Layer, binding: Callable[[], Bound | None], arguments: Arguments, node: cst.CSTNode
) -> Value | None:
    try:
        found = binding() if arguments.complete else None
    except Unknowable:
        found = None
    return perform(frame, *found, arguments, node, layer) if found is not None else None


def perform(
    frame: Frame,
    spelling: Spelling,
    bound: dict[str, Value],
    arguments: Arguments,
    node: cst.CSTNode,
    layer: Layer | None = None,
) -> Value:
    """Infer the result of an op on bound arguments and tell the rules."""
    result, problem, bound = infer(frame, spelling, bound, node)
    if layer is not None or frame.autocast is not None:
        result = casting.given(frame, spelling.op.name, bound, layer, result)
    if frame.run.default_dtype is not None and spelling.op.kind in {Kind.CREATION, Kind.RANDOM}:
        result = casting.by_default(frame.run.default_dtype, bound, result)
    event = Operation(
        spelling.op.name,
        spelling.callee,
        spelling.op.kind,
        bound,
        result,
        frame.site(node),
        sites_of(frame, spelling, arguments),
        problem,
        layer,
        frame.regions,
        frozenset(explicit(spelling, arguments)),
        spelling.in_place,
    )
    frame.tell(event)
    return severed(frame, originate(result, event), event)


def infer(
    frame: Frame, spelling: Spelling, bound: dict[str, Value], node: cst.CSTNode
) -> tuple[Value, str | None, dict[str, Value]]:
    """Result, problem, and the arguments narrowed to those options of unions under which the call works."""
    if not any(isinstance(value, Union) for value in bound.values()):
        try:
            return applied(frame, spelling, bound), None, bound
        except ShapeError as error:
            return UNKNOWN, None if is_loose(bound.get("x")) else str(error), bound
        except Unknowable:
            return vague(frame, spelling, bound, node), None, bound
    choices = [narrowed(spelling, name, value) for name, value in bound.items()]
    working: list[tuple[Value, dict[str, Value]]] = []
    problems: list[str] = []
    tried = 0
    for combination in islice(product(*choices), MOST_COMBINATIONS):
        option = dict(zip(bound, combination))
        tried += 1
        try:
            working.append((apply(spelling, option), option))
        except ShapeError as error:
            problems.append(str(error))
        except Unknowable:
            working.append((vague(frame, spelling, option, node), option))
    if not working:
        return UNKNOWN, problems[-1] if problems else None, bound
    if len(working) == 1 and tried == 1:
        return working[0][0], None, working[0][1]
    result = working[0][0]
    for other, _ in working[1:]:
        result = join(result, other, frame.place(node))
    return result, None, bound


def is_loose(value: Value | None) -> bool:
    """A number by its annotation alone: many write `float` where an array of floats comes as well."""
    if not isinstance(value, Float) or value.value is not None:
        return False
    return not isinstance(value.made_by, Operation) or not isinstance(value.made_by.result, Float)


# Results of these depend on nothing but shapes, dtypes and graphs, which values compare by.
REPEATABLE = frozenset({Kind.ELEMENTWISE, Kind.CAST, Kind.NORMALISATION, Kind.CONTRACTION})


def applied(frame: Frame, spelling: Spelling, bound: Mapping[str, Value]) -> Value:
    """The result of an op; what was inferred from alike arguments is not inferred again."""
    if spelling.op.kind not in REPEATABLE or any(type(value) not in COMPARABLE for value in bound.values()):
        return apply(spelling, apart(spelling, bound))
    key = (spelling.callee, spelling.by_operands, spelling.in_place, tuple(bound.items()))
    known = frame.run.results.get(key)
    if known is None:
        known = frame.run.results[key] = apply(spelling, bound)
    return known


def apart(spelling: Spelling, bound: Mapping[str, Value]) -> Mapping[str, Value]:
    """The arguments where an unknown one may be a list, so that what the op makes of it is not the same array."""
    if spelling.op.kind is not Kind.CREATION and not spelling.callee.startswith(("numpy.", "jax.numpy.")):
        return bound
    return {name: without_identity(value) for name, value in bound.items()}


def without_identity(value: Value) -> Value:
    match value:
        case Unknown(made_by=made_by) if made_by is not None:
            return replace(value, made_by=None)
        case Tuple(items=items) if any(type(item) in {Unknown, Tuple} for item in items):
            return replace(value, items=tuple(map(without_identity, items)))
    return value


COMPARABLE = frozenset({Tensor, Int, Float, Const, Library})


def narrowed(spelling: Spelling, name: str, value: Value) -> tuple[Value, ...]:
    """The options of an argument; None is no operand of arithmetic, and no array that is worked on."""
    if spelling.op.kind is Kind.ELEMENTWISE or (name == "x" and spelling.op.kind is not Kind.CREATION):
        return tuple(option for option in options(value) if option != NONE) or (value,)
    return options(value)


def vague(frame: Frame, spelling: Spelling, bound: Mapping[str, Value], node: cst.CSTNode) -> Value:
    """The result where the shape function could not say: for many kinds of ops a tensor all the same."""
    if spelling.op.name == "getitem":
        return part_of_torch(bound.get("x"), frame.place(node))
    if spelling.op.kind not in TENSOR_KINDS or spelling.op.name in OTHERS:
        return UNKNOWN
    library = spelling.callee.partition(".")[0]
    known = library if library in {"torch", "numpy", "jax"} else None
    for value in bound.values():
        if isinstance(value, Tensor) and value.library is not None:
            known = value.library
            break
    graph = next((graph_of(v) for v in bound.values() if graph_of(v).origins), Graph())
    shape, receiver = Shape((), Run("", frame.place(node))), bound.get("x")
    is_written = spelling.in_place and spelling.op.kind is Kind.ELEMENTWISE
    if is_written and isinstance(receiver, Tensor) and receiver.library in WRITTEN_IN_PLACE:
        shape = receiver.shape  # whatever the other operand is, it has to fit
    return Tensor(shape, dtype_of(spelling, bound, known), known, graph)


def part_of_torch(array: Value | None, scope: object) -> Value:
    """`x[i]`, whatever i is: of a tensor of torch a tensor, where NumPy may have fields and numbers."""
    if not isinstance(array, Tensor) or array.library != "torch":
        return UNKNOWN
    return Tensor(Shape((), Run("", scope)), array.dtype, "torch", array.graph)


def dtype_of(spelling: Spelling, bound: Mapping[str, Value], library: str | None) -> str | None:
    """The dtype does not hang on shapes that are not known."""
    if spelling.in_place:
        return getattr(bound.get("x"), "dtype", None)
    return result_dtype(spelling.op.dtype, bound, library) if "x" in bound or "tensors" in bound else None


def severed(frame: Frame, value: Value, event: Operation) -> Value:
    """Note the event that cut a value from its graph, also by an enclosing no_grad."""
    match value:
        case Tuple(items=items):
            return replace(value, items=tuple(severed(frame, item, event) for item in items))
        case Tensor(graph=graph) | Int(graph=graph) | Float(graph=graph) | Unknown(graph=graph):
            if graph.state in SEVERED and graph.cut_by is None:
                return replace(value, graph=replace(graph, cut_by=event))
            if graph.state is GraphState.GRAPH and frame.regions and is_without_gradients(frame.regions):
                return replace(value, graph=Graph(GraphState.CUT, graph.origins, event))
    return value


def sites_of(frame: Frame, spelling: Spelling, arguments: Arguments) -> dict[str, Site]:
    sites: dict[str, Site] = {}
    for index, node in enumerate(arguments.arg_nodes):
        name = spelling.positional[index] if index < len(spelling.positional) else spelling.variadic
        if node is not None and name is not None:
            sites.setdefault(name, frame.site(node))
    for keyword, node in arguments.kwarg_nodes.items():
        sites[spelling.named(keyword)] = frame.site(node)
    return sites


def explicit(spelling: Spelling, arguments: Arguments) -> set[str]:
    names = set(spelling.positional[: len(arguments.args)])
    if len(arguments.args) > len(spelling.positional) and spelling.variadic:
        names.add(spelling.variadic)
    return names | {spelling.named(keyword) for keyword in arguments.kwargs}
