"""A module of a file, built and called with given sizes on abstract values: every layer and every round once."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from shapelint import source
from shapelint.domain.dims import as_dim
from shapelint.domain.tokens import forget_scopes
from shapelint.domain.values import Class, Function, Graph, GraphState, Instance, Int, Tensor, Unknown, Value, shape_of
from shapelint.events import Event, Input, Operation
from shapelint.interpreter import calls
from shapelint.interpreter.flow.conditions import quietly
from shapelint.interpreter.frame import Analysis, Frame, root_scope
from shapelint.interpreter.functions.bodies import parameters
from shapelint.interpreter.functions.classes import DATACLASSES, instantiate, is_module
from shapelint.interpreter.knowledge import contracts
from shapelint.interpreter.operations import Arguments
from shapelint.interpreter.scopes import Scope
from shapelint.interpreter.statements import execute_all
from shapelint.project.modules import Project

ENOUGH = 10**9


class Unclear(Exception):
    """The budget cannot be drawn up: what is missing."""


@dataclass(frozen=True)
class Given:
    """What the caller knows: sizes by name, inputs by the parameter of forward, batch and sequence length."""

    sizes: Mapping[str, int]
    inputs: Mapping[str, Tensor]
    batch: int = 1
    sequence: int | None = None


@dataclass(frozen=True)
class Evaluated:
    """A module that was built (`construction`) and called once (`forward`)."""

    name: str
    module: Instance
    inputs: Mapping[str, Value]
    construction: Sequence[Event]
    forward: Sequence[Event]


def evaluate(filename: str, class_name: str | None, given: Given) -> Evaluated:
    """Build a module and call it. Raises Unclear, or source.Unreadable."""
    with open(filename, "rb") as file:
        tree = source.parse(source.decode(file.read()))
    forget_scopes()
    run = Analysis(tree, filename, Project((os.path.dirname(os.path.abspath(filename)),)), credit=ENOUGH, is_exact=True)
    scope = Scope({}, root_scope())
    scope.origin = (tree, filename)
    top = Frame(run, scope, tree, filename, filename)
    execute_all(top, tree.body)
    cls = _class(top, class_name)
    run.events.clear()
    module = instantiate(top, cls, Arguments(kwargs=_constructor_arguments(top, cls, given)), cls.node)
    if not isinstance(module, Instance):
        raise Unclear(f"{cls.name} is no module")
    construction = tuple(run.events)
    inputs = _inputs(top, module, given)
    run.events.clear()
    _call(top, module, inputs)
    return Evaluated(cls.name, module, inputs, construction, tuple(run.events))


def _class(top: Frame, name: str | None) -> Class:
    found = {n: v for n, v in top.scope.names.items() if isinstance(v, Class) and is_module(Instance(v, {}))}
    if name is None:
        if not found:
            raise Unclear("no nn.Module is defined here")
        return list(found.values())[-1]
    if name not in found:
        raise Unclear(f"no nn.Module {name} is defined here; there are: {', '.join(found) or 'none'}")
    return found[name]


def _constructor_arguments(top: Frame, cls: Class, given: Given) -> dict[str, Value]:
    """The sizes by parameter; a configuration object gets them as its fields."""
    initialiser = cls.lookup("__init__")
    if not isinstance(initialiser, Function):
        return {}
    found: dict[str, Value] = {}
    for param in (*parameters(initialiser.node)[1:], *initialiser.node.params.kwonly_params):
        name = param.name.value
        if name in given.sizes:
            found[name] = Int(as_dim(given.sizes[name]))
        elif param.default is None:
            found[name] = _configuration(top, param, given)
    return found


def _configuration(top: Frame, param: cst.Param, given: Given) -> Value:
    """An object of the annotated class, of the file's only dataclass, or one that has the given sizes and no others."""
    sizes: dict[str, Value] = {name: Int(as_dim(size)) for name, size in given.sizes.items()}
    annotated = quietly(top, contracts.unquoted(param.annotation.annotation)) if param.annotation is not None else None
    classes = [annotated] if isinstance(annotated, Class) else [*top.scope.names.values()]
    configurations = [c for c in classes if isinstance(c, Class) and (c is annotated or _is_dataclass(top, c))]
    if len(configurations) == 1:
        cls = configurations[0]
        from shapelint.interpreter.functions.fields import field_names

        known = {name: value for name, value in sizes.items() if name in field_names(cls)}
        return instantiate(top, cls, Arguments(kwargs=known), cls.node)
    if annotated is not None and not isinstance(annotated, Unknown):
        raise Unclear(f"the constructor needs {param.name.value}: give --size {param.name.value}=...")
    if not sizes:
        raise Unclear(f"the constructor needs {param.name.value}: give --size NAME=... for it or for its fields")
    return Instance(Class(param.name.value, (), {}), sizes)


def _is_dataclass(top: Frame, cls: Class) -> bool:
    decorators = cls.node.decorators if cls.node is not None else ()
    names = (getattr(quietly(top, _callee(d.decorator)), "name", "") for d in decorators)
    return any(name in DATACLASSES for name in names) or cls.is_a(*DATACLASSES)


def _callee(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.func if isinstance(node, cst.Call) else node


def _inputs(top: Frame, module: Instance, given: Given) -> dict[str, Value]:
    """What forward is called with: as given, or as its first use of each parameter asks for."""
    forward = module.cls.lookup("forward")
    if not isinstance(forward, Function):
        raise Unclear(f"{module.cls.name} has no forward")
    params = [*parameters(forward.node)[1:], *forward.node.params.kwonly_params]
    unknown = set(given.inputs) - {param.name.value for param in params}
    if unknown:
        raise Unclear(f"forward has no parameter {', '.join(sorted(unknown))}")
    wanted = [p for p in params if p.name.value in given.inputs or p.default is None]
    trial: dict[str, Value] = {
        p.name.value: Unknown(made_by=Input(p.name.value, top.site(p), kind="parameter")) for p in wanted
    }
    trial.update(given.inputs)
    if all(name in given.inputs for name in trial):
        return trial
    top.run.events.clear()
    _call(top, module, trial)
    return {name: v if name in given.inputs else _guessed(top, name, v, given) for name, v in trial.items()}


def _call(top: Frame, module: Instance, inputs: Mapping[str, Value]) -> Value:
    forward = module.cls.lookup("forward")
    assert isinstance(forward, Function)
    with top.region(()):
        return calls.call_instance(top, module, Arguments(kwargs=dict(inputs)), forward.node)


def _guessed(top: Frame, name: str, value: Value, given: Given) -> Value:
    """A batch in the shape that forward's own operations ask for; Unclear where they do not say."""
    uses = [
        (event, operand)
        for event in top.run.events
        if isinstance(event, Operation)
        for operand in event.values
        if getattr(operand, "made_by", None) is getattr(value, "made_by", None)
    ]
    lead = [given.batch] if given.sequence is None else [given.batch, given.sequence]
    for event, operand in uses:
        width = event.arguments.get("in_features")
        if event.name == "embedding" and operand is event.arguments.get("x"):
            if given.sequence is None:
                raise Unclear(f"{name} holds indices: give --seq N for sequences, or --input {name}=SIZE,...:int64")
            return tensor(lead, "int64")
        if event.name == "linear" and isinstance(width, Int) and width.dim.value is not None:
            return tensor([*lead, width.dim.value], "float32")
    raise Unclear(f"the shape of {name} is not clear: give --input {name}=SIZE,SIZE,...")


def tensor(sizes: Sequence[int], dtype: str) -> Tensor:
    return Tensor(shape_of(*sizes), dtype, "torch", Graph(GraphState.CONST))
