"""Classes of the linted code: their definition, their instances, and methods they inherit from libraries."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from shapelint.domain.dims import size
from shapelint.domain.formats import NARROW
from shapelint.domain.values import (
    NONE,
    Class,
    Const,
    Dict,
    Function,
    GraphState,
    Instance,
    Library,
    Many,
    Method,
    Tensor,
    Tuple,
    Value,
    graph_of,
)
from shapelint.events import Call, Event, Stored
from shapelint.interpreter import expressions
from shapelint.interpreter.attributes import keep
from shapelint.interpreter.flow import rebinding
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.functions.fields import annotated, field_names, field_value, given, typical_field
from shapelint.interpreter.functions.states import changed_later, empty_filled, is_part, keeps_shape
from shapelint.interpreter.knowledge import hypotheses
from shapelint.interpreter.operations import Arguments
from shapelint.interpreter.scopes import Scope
from shapelint.ops.op import unknown_shape

DATACLASSES = frozenset(
    {"dataclasses.dataclass", "typing.NamedTuple", "flax.struct.dataclass", "equinox.Module", "flax.linen.Module"}
)


def define_class(frame: Frame, node: cst.ClassDef) -> Class:
    """The class object: its body is executed in a scope of its own."""
    from shapelint.interpreter.statements import execute_block

    bases = tuple(expressions.evaluate(frame, base.value) for base in node.bases)
    scope = Scope({}, frame.scope, is_class=True)
    cls = Class(node.name.value, bases, scope.names, node, frame.scope)
    body = Frame(frame.run, scope, frame.module, frame.filename, (frame.key, node.name.value), owner=None)
    body.depth = frame.depth
    body.regions = frame.regions
    start = len(frame.run.pending)
    execute_block(body, node.body)
    for function in frame.run.pending[start:]:
        if function.owner is None and function.scope is scope:
            function.owner = cls
    for value in scope.names.values():
        inner = value.function if isinstance(value, Method) else value
        if isinstance(inner, Function) and inner.owner is None:
            inner.owner = cls
    return cls


def instantiate(frame: Frame, cls: Class, arguments: Arguments, node: cst.CSTNode) -> Value:
    """`Net(64, 1)`: __init__ is evaluated with the arguments."""
    from shapelint.interpreter.functions.invocation import call_function

    instance = Instance(cls, {})
    instance.made_by = Call(cls, arguments.args, tuple(arguments.kwargs.items()), NONE, frame.site(node), frame.regions)
    initialiser = cls.lookup("__init__")
    if isinstance(initialiser, Function):
        call_function(frame, initialiser, arguments.after(instance, None), node)
    else:
        names = field_names(cls)
        values = dict(zip(names, arguments.args)) | dict(arguments.kwargs)
        for name in names:
            found = values.get(name)
            known = field_value(frame, cls, name, node) if found is None else given(frame, instance, name, found)
            instance.attributes[name] = known
        if cls.is_a("typing.NamedTuple"):
            return Tuple(tuple(instance.attributes.values()), cls.name, tuple(names))
        if isinstance(cls.lookup("setup"), Function):
            call_function(frame, cls.lookup("setup"), Arguments((instance,)), node)  # type: ignore[arg-type]
    frame.tell(instance.made_by)
    return instance


def typical_instance(frame: Frame, cls: Class) -> Instance:
    """`self` for methods that are evaluated on their own: __init__ ran with unknown arguments."""
    from shapelint.interpreter.functions.bodies import evaluate_alone

    run = frame.run
    if cls in run.instances:
        return run.instances[cls]
    instance = Instance(cls, {})
    run.instances[cls] = instance
    initialiser = cls.lookup("__init__") or cls.lookup("setup")
    fields = annotated(cls)
    for name in fields:
        instance.attributes.setdefault(name, typical_field(frame, cls, name))
    if isinstance(initialiser, Function) and id(initialiser.node) not in run.stack:
        with hypotheses.supposing(run, False):  # all methods find what it stores
            evaluate_alone(frame, initialiser, instance)
    kept = dict(instance.attributes)
    for name in changed_later(cls):
        before = kept.get(name)
        if before is not None and not is_part(before):
            scope = (cls.name, id(cls))
            unknown = frame.unknown(name, cls.node, "attribute", instance, size(name, scope))
            declared = typical_field(frame, cls, name) if name in fields else unknown
            instance.attributes[name] = declared if isinstance(declared, Tensor | Instance) else unknown
            if isinstance(before, Tensor) and keeps_shape(cls, name, before):
                instance.attributes[name] = Tensor(
                    before.shape, before.dtype, before.library, before.graph, unknown.made_by
                )
            else:
                instance.attributes[name] = narrow(before, unknown.made_by) or instance.attributes[name]
    instance.attributes |= dict(rebinding.alike(frame, instance, kept))
    empty_filled(instance, frame.module)
    return instance


def narrow(value: Value, maker: Event | None) -> Value | None:
    """An array of few bits that methods change, or a dict or list of such: the dtype was chosen and stays."""
    match value:
        case Tensor(dtype=dtype) if dtype in NARROW:
            return Tensor(unknown_shape(), dtype, value.library, value.graph, maker)
        case Dict(items=(), other=Tensor() as item):
            kept = narrow(item, maker)
            return None if kept is None else Dict((), kept)
        case Many(item=Tensor() as item) | Tuple(items=(Tensor() as item,), kind="list"):
            kept = narrow(item, maker)
            return None if kept is None else Many(kept, None, "list")
    return None


def copied(instance: Instance) -> Instance:
    """The same object for an evaluation of its own: what it changes is not seen by others."""
    return Instance(instance.cls, dict(instance.attributes), instance.made_by, set(instance.buffers))


def library_method(frame: Frame, method: Method, arguments: Arguments, node: cst.Call) -> Value | None:
    """What instances inherit from nn.Module and its like; None where nothing is known."""
    from shapelint.interpreter import calls

    receiver = method.receiver
    if not isinstance(receiver, Instance):
        return None
    match method.name, arguments.args:
        case "apply", (_, *_) if is_flax(receiver.cls) and not arguments.kwargs.keys() & {"mutable", "method"}:
            return applied(frame, receiver, arguments, node)
        case (("to" | "cuda" | "cpu" | "eval" | "train" | "requires_grad_"), _):
            calls.note_mode(frame, receiver, method.name, arguments, node)
            return receiver
        case (("float" | "half" | "bfloat16" | "double" | "type"), _):
            return receiver
        case (
            ("register_buffer" | "register_parameter" | "add_module" | "register_module"),
            (
                Const(value=str() as name),
                value,
                *_,
            ),
        ):
            keep(frame, receiver, name, value, node)
            inside = frame.function.name if frame.function is not None else ""
            if method.name == "register_buffer":
                receiver.buffers.add(name)
                if graph_of(value).state is GraphState.LEAF:
                    frame.tell(Stored(receiver, name, value, frame.site(node), "buffer", inside))
            else:
                frame.tell(Stored(receiver, name, value, frame.site(node), None, inside))
            return NONE
        case (("parameters" | "named_parameters" | "state_dict"), _):
            return None
        case (("__init__" | "save_hyperparameters"), _):
            return NONE
    return None


def is_flax(cls: Class) -> bool:
    return cls.is_a("flax.linen.Module")


def applied(frame: Frame, module: Instance, arguments: Arguments, node: cst.Call) -> Value | None:
    """`module.apply(params, x)` of flax is `module(x)`."""
    from shapelint.interpreter.functions.invocation import call_function

    call = module.cls.lookup("__call__")
    if not isinstance(call, Function):
        return None
    kwargs = {name: value for name, value in arguments.kwargs.items() if name != "rngs"}
    own = replace(arguments, args=arguments.args[1:], arg_nodes=arguments.arg_nodes[1:], kwargs=kwargs)
    return call_function(frame, call, own.after(module, None), node)


def is_module(value: Value) -> bool:
    """Whether a value is a neural-network module whose parameters train."""
    match value:
        case Instance(cls=cls):
            return any(isinstance(a, Library) and a.name.endswith("Module") for a in cls.ancestry())
    return False
