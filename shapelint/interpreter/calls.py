"""Calls: which kind of callable it is decides what happens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import libcst as cst

from shapelint.domain.values import (
    UNKNOWN,
    Class,
    Const,
    Dict,
    Float,
    Function,
    GraphState,
    Instance,
    Int,
    Layer,
    Library,
    Many,
    Method,
    Partial,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    graph_of,
)
from shapelint.events import Call
from shapelint.interpreter import attributes, builtins, containers, expressions, operations, sequences
from shapelint.interpreter.flow import counts, growth
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.functions import alternatives, states
from shapelint.interpreter.knowledge import uses
from shapelint.interpreter.libraries import (
    casting,
    jaxloops,
    jaxtransforms,
    objects,
    pretrained,
    settings,
    spaces,
    trainstates,
    transforms,
)
from shapelint.interpreter.operations import Arguments, operate
from shapelint.ops import lookup, questions
from shapelint.provenance import originate

RECEIVERS = {"torch": "torch.Tensor", "numpy": "numpy.ndarray", "jax": "jax.Array"}

# Methods that only arrays have: an unknown receiver counts as one.
_ARRAY_METHODS = """
    abs amax amin argmax argmin argsort astype backward bmm bool byte chunk clamp clamp_min clamp_max contiguous
    cos cumsum detach detach_ dim exp expand expand_as flatten gather index_select item log log_softmax logsumexp
    long masked_fill masked_fill_ masked_select matmul max mean median min mm mul_ add_ sub_ div_ narrow nelement
    new_ones new_tensor new_zeros nonzero norm numel numpy permute prod ravel repeat repeat_interleave
    requires_grad_ reshape scatter scatter_ scatter_add_ sigmoid sin softmax sqrt squeeze std sum swapaxes tanh
    tile tolist topk transpose tril triu unbind unflatten unfold unsqueeze var view view_as argpartition trace
    type_as zero_ square round floor ceil trunc sign histc bincount multinomial
"""
ARRAY_METHODS = frozenset(_ARRAY_METHODS.split())
WHOLE = frozenset(f"torch.{n}" for n in ("long", "int64", "int", "int32", "short", "int16", "int8", "uint8", "bool"))
MODES = frozenset({"eval", "train", "requires_grad_", "load_state_dict"})
# What calls a method that it is given on each part, or later.
VISITING = frozenset({"apply", "register_forward_hook", "register_hook", "builtins.map", "builtins.filter"})
LIKE_RECEIVER = frozenset({"to", "cuda", "cpu", "float", "half", "double", "bfloat16", "eval", "train", "type"})


def call(frame: Frame, node: cst.Call) -> Value:
    callee = evaluate_callee(frame, node.func)
    arguments = evaluated_arguments(frame, node.args)
    if isinstance(callee, Method) and has_become_known(frame, callee.receiver, node.func):
        callee = evaluate_callee(frame, node.func)
    return frame.known(dispatch(frame, callee, arguments, node))


def has_become_known(frame: Frame, receiver: Value, node: cst.BaseExpression) -> bool:
    """`x.view(x.shape[0], -1)`, `x[0].view(x.shape[2], -1)`: only the arguments tell that x is an array."""
    match receiver, node:
        case Unknown(), cst.Attribute(value=cst.Name(value=name) | cst.Subscript(value=cst.Name(value=name))):
            return isinstance(frame.scope.names.get(name), Tensor)
    return False


def evaluate_callee(frame: Frame, node: cst.BaseExpression) -> Value:
    """What is called; an attribute of something unknown is a method of it."""
    if type(node) is not cst.Attribute:
        return expressions.evaluate(frame, node)
    base = expressions.evaluate(frame, node.value)
    if type(base) is Union:
        base = without_numbers(base, node.attr.value)
    if isinstance(base, Unknown):
        return Method(base, node.attr.value)
    return frame.known(attributes.attribute_of(frame, base, node.attr.value, node))


def without_numbers(union: Union, name: str) -> Value:
    """What a method is called on that numbers do not have: `loss.backward()` after a sum that began with 0."""
    if hasattr(float, name) or hasattr(int, name):
        return union
    others = tuple(option for option in union.options if not isinstance(option, Int | Float))
    return union if not others else others[0] if len(others) == 1 else replace(union, options=others)


def evaluated_arguments(frame: Frame, nodes: Iterable[cst.Arg]) -> Arguments:
    args: list[Value] = []
    arg_nodes: list[cst.CSTNode | None] = []
    kwargs: dict[str, Value] = {}
    kwarg_nodes: dict[str, cst.CSTNode] = {}
    complete = True
    starred: list[Value] = []
    for arg in nodes:
        value = expressions.evaluate(frame, arg.value)
        if not arg.star and arg.keyword is None:
            args.append(value)
            arg_nodes.append(arg.value)
            continue
        match arg.star, value:
            case "*", Tuple(items=items):
                args.extend(items)
                arg_nodes.extend([arg.value] * len(items))
            case "**", Dict(items=items, other=None) if all(isinstance(key, str) for key, _ in items):
                kwargs.update((str(key), item) for key, item in items)
            case (("*" | "**"), _):
                complete = False
                starred.append(value)
            case _ if arg.keyword is not None:
                kwargs[arg.keyword.value] = value
                kwarg_nodes[arg.keyword.value] = arg.value
    return Arguments(tuple(args), kwargs, tuple(arg_nodes), kwarg_nodes, complete, tuple(starred))


def dispatch(frame: Frame, callee: Value, arguments: Arguments, node: cst.Call) -> Value:
    """Call a value."""
    match callee:
        case Library():
            return call_library(frame, callee, arguments, node)
        case Method():
            return call_method(frame, callee, arguments, node)
        case Function():
            from shapelint.interpreter.functions.invocation import call_function

            return call_function(frame, callee, arguments, node)
        case Class():
            from shapelint.interpreter.functions.classes import instantiate

            return instantiate(frame, callee, arguments, node)
        case Instance():
            return call_instance(frame, callee, arguments, node)
        case Layer():
            return call_layer(frame, callee, arguments, node)
        case Tuple(kind="Sequential", items=layers):
            return sequences.call(frame, layers, arguments, node)
        case Many(kind="Sequential"):
            return sequences.call_many(frame, callee, arguments, node)
        case Partial():
            return call_partial(frame, callee, arguments, node)
        case Union(options=options):
            return alternatives.call_options(frame, options, arguments, node)
        case Unknown(made_by=Call()):
            return opaque(frame, callee, arguments, node, pretrained.output(frame, callee, arguments))
    return opaque(frame, callee, arguments, node)


def opaque(frame: Frame, callee: Value, arguments: Arguments, node: cst.CSTNode, result: Value = UNKNOWN) -> Value:
    """A call of which only the data flow is known."""
    event = Call(callee, arguments.args, tuple(arguments.kwargs.items()), result, frame.site(node), frame.regions)
    frame.tell(event)
    if frame.foretold:
        frame.recall(event)
    if getattr(callee, "name", "") not in VISITING:
        states.called_back(frame, arguments, node)
    return originate(result, event)


def call_library(frame: Frame, callee: Library, arguments: Arguments, node: cst.Call) -> Value:
    name = callee.name
    if name.rpartition(".")[2] in counts.COUNTING:
        counts.note(frame, name, arguments)
    for special in (builtins.call, transforms.call, jaxtransforms.call, jaxloops.call):
        known = special(frame, name, arguments, node)
        if known is not None:
            return known
    if name.rpartition(".")[2] in uses.TELLING:
        arguments = uses.told(frame, name, arguments, node)
    result = operate(frame, name, arguments, node)
    if result is None:
        return opaque(frame, callee, arguments, node, questions.of_function(name, arguments.args))
    if type(result) is Layer:
        uses.widths_are_numbers(frame, name, arguments)
    if name.endswith("_") and arguments.arg_nodes and isinstance(result, Tensor):
        given = arguments.args[0]
        if name.startswith("torch.nn.init.") and graph_of(given).state is GraphState.LEAF:
            return given  # a Parameter is the same one, whatever it is filled with
        rebind_argument(frame, arguments, result)
    return result


def rebind_argument(frame: Frame, arguments: Arguments, result: Value) -> None:
    node = arguments.arg_nodes[0]
    if node is not None:
        attributes.rebind(frame, node, result)


def call_method(frame: Frame, method: Method, arguments: Arguments, node: cst.Call) -> Value:
    receiver, name = method.receiver, method.name
    if name in growth.APPENDING:
        growth.appended(frame, node, receiver, arguments.args)
    elif name in casting.METHODS:
        known = casting.call(frame, method, arguments, node)
        if known is not None:
            return known
    receiver_node = node.func.value if isinstance(node.func, cst.Attribute) else None
    match receiver:
        case Tensor():
            return call_tensor_method(frame, receiver, name, arguments, node, receiver_node)
        case Unknown():
            return call_unknown_method(frame, receiver, name, arguments, node, receiver_node)
        case Instance() | Class():
            return call_instance_method(frame, method, arguments, node)
        case Layer():
            return call_layer_method(frame, receiver, name, arguments, node)
        case Tuple() | Many() | Dict():
            return containers.call(frame, receiver, name, arguments, node, receiver_node)
        case Const(value=str()):
            return containers.call_text(receiver, name, arguments)
        case Partial(callee=Method(receiver=Tensor() as array, name="at"), args=(index,)):
            return call_update(frame, method, array, index, arguments, node)
    return opaque(frame, method, arguments, node)


def call_tensor_method(
    frame: Frame, receiver: Tensor, name: str, arguments: Arguments, node: cst.Call, receiver_node: cst.CSTNode | None
) -> Value:
    from shapelint.interpreter import subscripts

    if name == "size" and receiver_node is not None and len(arguments.args) == 1 and not arguments.kwargs:
        return subscripts.of_shape(frame, receiver, receiver_node, arguments.args[0])  # type: ignore[arg-type]
    is_numpy = name == "astype" or (name == "repeat" and "axis" in arguments.kwargs)  # torch has no such method
    is_numpy = is_numpy or (name == "dot" and receiver.shape.rank != 1)  # torch's takes vectors only
    if is_numpy and receiver.library is None and "jax" not in frame.run.libraries:
        receiver = replace(receiver, library="numpy")
    answer = None if arguments.args or arguments.kwargs else questions.of_method(receiver, name)
    if answer is not None:
        return answer
    whole = arguments.after(receiver, receiver_node)
    if name in counts.COUNTING:
        counts.note(frame, f"{owners(frame, receiver)[0]}.{name}", whole)
    if name in uses.TELLING:
        whole = uses.told(frame, name, whole, node)
    for owner in owners(frame, receiver):
        result = operate(frame, f"{owner}.{name}", whole, node)
        if result is not None:
            if name.endswith("_") and receiver_node is not None and isinstance(result, Tensor):
                attributes.rebind(frame, written_by(receiver_node), result)
            return result
    if name == "size" and not arguments.args and not arguments.kwargs:
        return attributes.shape_value(receiver)
    return opaque(frame, Method(receiver, name), arguments, node, questions.of_writing(receiver, name))


def written_by(node: cst.CSTNode) -> cst.CSTNode:
    """What a chain of methods that work in place writes into: `x` of `x.scatter_(1, index, 1).unsqueeze_(1)`."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value.endswith("_"):
        node = node.func.value
    return node


def call_update(
    frame: Frame, method: Method, array: Tensor, index: Value, arguments: Arguments, node: cst.Call
) -> Value:
    """`x.at[index].set(values)` of jax."""
    nodes: tuple[cst.CSTNode | None, ...] = (None, None)
    match node.func:
        case cst.Attribute(value=cst.Subscript(value=cst.Attribute(value=array_node), slice=(where, *_))):
            nodes = (array_node, where)
    jax = "jax" in owners(frame, array)[0]
    whole = arguments.after(index, nodes[1]).after(array, nodes[0])
    result = operate(frame, f"jax.Array.at.{method.name}", whole, node) if jax else None
    return opaque(frame, method, arguments, node) if result is None else result


def owners(frame: Frame, receiver: Tensor) -> list[str]:
    """The array classes whose method it may be, likeliest first."""
    if receiver.library is not None:
        return [RECEIVERS[receiver.library]]
    imported = [name for name in ("torch", "jax", "numpy") if name in frame.run.libraries]
    return [RECEIVERS[name] for name in dict.fromkeys((*imported, "torch", *(() if imported else ("numpy",))))]


def call_unknown_method(
    frame: Frame, receiver: Unknown, name: str, arguments: Arguments, node: cst.Call, receiver_node: cst.CSTNode | None
) -> Value:
    from shapelint.interpreter import subscripts

    if name == "size" and receiver_node is not None and len(arguments.args) <= 1 and frame.run.libraries & {"torch"}:
        tensor = attributes.as_tensor(frame, receiver, receiver_node)
        if not arguments.args:
            return attributes.shape_value(tensor)
        return subscripts.of_shape(frame, tensor, receiver_node, arguments.args[0])  # type: ignore[arg-type]
    counts = name in {"to", "type"} and any(isinstance(v, Library) and v.name in WHOLE for v in arguments.args)
    if name in LIKE_RECEIVER and not counts:
        dtype = casting.asked(name, receiver.dtype, arguments)
        result = Unknown(receiver.dim, receiver.graph, dtype=dtype)
        return opaque(frame, Method(receiver, name), arguments, node, result)
    if isinstance(receiver_node, cst.BaseExpression) and objects.seen_as_namespace(
        frame, name, arguments, receiver_node
    ):
        return opaque(frame, Method(receiver, name), arguments, node)
    is_array = (
        counts or name in ARRAY_METHODS or (receiver.dtype is not None and lookup(f"torch.Tensor.{name}") is not None)
    )
    if is_array and not objects.is_of_other(name, arguments) and receiver_node is not None:
        tensor = attributes.as_tensor(frame, receiver, receiver_node)
        found = call_tensor_method(frame, tensor, name, arguments, node, receiver_node)
        return objects.of_table(frame, receiver, arguments, found, node)
    return opaque(frame, Method(receiver, name), arguments, node)


def call_instance_method(frame: Frame, method: Method, arguments: Arguments, node: cst.Call) -> Value:
    from shapelint.interpreter.functions.classes import library_method
    from shapelint.interpreter.functions.invocation import call_function

    if method.name == "super":
        return opaque(frame, method, arguments, node)
    if isinstance(method.function, Function):
        return call_function(frame, method.function, arguments.after(method.receiver, None), node)
    if method.name == "__setattr__":
        return builtins.set_attribute(frame, arguments.after(method.receiver, None), node)
    if method.name in settings.METHODS:
        known = settings.call(frame, method, arguments, node)
    elif method.name in trainstates.METHODS:
        known = trainstates.call(frame, method, arguments, node)
    else:
        known = library_method(frame, method, arguments, node)
    return opaque(frame, method, arguments, node) if known is None else known


def call_instance(frame: Frame, instance: Instance, arguments: Arguments, node: cst.Call) -> Value:
    """A module's forward, or __call__."""
    from shapelint.interpreter.functions.invocation import call_function

    for name in ("__call__", "forward"):
        found = instance.cls.lookup(name)
        if isinstance(found, Function):
            return call_function(frame, found, arguments.after(instance, None), node)
        if isinstance(found, Method) and found.name in {"classmethod", "staticmethod"}:
            return dispatch(frame, attributes.unwrapped(frame, found, instance, node.func), arguments, node)
    return opaque(frame, instance, arguments, node)


def call_layer(frame: Frame, layer: Layer, arguments: Arguments, node: cst.Call) -> Value:
    if layer.name.startswith("torch.nn."):
        arguments = uses.told_by_layer(frame, layer, arguments, node)
    result = operations.call_layer(frame, layer, arguments, node)
    return opaque(frame, layer, arguments, node) if result is None else result


def call_layer_method(frame: Frame, layer: Layer, name: str, arguments: Arguments, node: cst.Call) -> Value:
    if name in LIKE_RECEIVER or name in {"requires_grad_", "apply"}:
        note_mode(frame, layer, name, arguments, node)
        return layer
    if layer.name.endswith("Env"):
        layer = spaces.settled(frame, layer)
    result = operations.call_method(frame, layer, name, arguments, node)
    if not layer.name.startswith("torch."):
        objects.after_method(frame, layer, name, result, "inplace" in arguments.kwargs, node)
    return opaque(frame, Method(layer, name), arguments, node) if result is None else result


def note_mode(frame: Frame, receiver: Value, name: str, arguments: Arguments, node: cst.CSTNode) -> None:
    """Tell the rules of what makes a module train or not: eval(), requires_grad_(False), parameters()."""
    if name in MODES:
        callee, kwargs = Method(receiver, name), tuple(arguments.kwargs.items())
        frame.tell(Call(callee, arguments.args, kwargs, receiver, frame.site(node), frame.regions))


def call_partial(frame: Frame, partial: Partial, arguments: Arguments, node: cst.Call) -> Value:
    merged = Arguments(
        (*partial.args, *arguments.args),
        {**dict(partial.kwargs), **arguments.kwargs},
        (*(None for _ in partial.args), *arguments.arg_nodes),
        arguments.kwarg_nodes,
        arguments.complete,
    )
    return dispatch(frame, partial.callee, merged, node)
