"""Attributes: of tensors, layers, instances, library modules, and of what is unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache

import libcst as cst

from shapelint.domain.dims import size
from shapelint.domain.joins import join, widened
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Class,
    Dict,
    Float,
    Function,
    Graph,
    GraphState,
    Instance,
    Int,
    Layer,
    Library,
    Many,
    Method,
    Namespace,
    Run,
    Shape,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
)
from shapelint.events import Call, Kind, Operation
from shapelint.interpreter import expressions
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.functions import fields
from shapelint.interpreter.knowledge import hypotheses
from shapelint.interpreter.libraries import casting
from shapelint.interpreter.operations import severed
from shapelint.interpreter.scopes import named
from shapelint.ops import layer_attribute, limits, lookup
from shapelint.ops.attributes import tensor_attribute
from shapelint.ops.environments import SPACE
from shapelint.provenance import originate

CONSTANTS: Mapping[str, Value] = {
    **{f"{module}.newaxis": NONE for module in ("numpy", "jax.numpy", "quaxed.numpy")},
    **{
        f"{module}.{name}": Float(value)
        for module in ("math", "numpy", "torch", "jax.numpy", "quaxed.numpy")
        for name, value in {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": None}.items()
    },
    "math.tau": Float(math.tau),
}

# Attributes that are operations: rules see them as events.
OPERATIONS: Mapping[str, tuple[str, Kind]] = {
    "T": ("transpose", Kind.LAYOUT),
    "mT": ("transpose", Kind.LAYOUT),
    "H": ("transpose", Kind.LAYOUT),
    "data": ("data", Kind.AUTOGRAD),
    "real": ("real", Kind.ELEMENTWISE),
    "imag": ("imag", Kind.ELEMENTWISE),
    "flat": ("flatten", Kind.RESHAPE),
}

# What only arrays have: an unknown value with it counts as one.
INHERITED = frozenset({"weight", "bias"})  # what classes that derive from a layer have of it
# Methods that somebody gets hold of without calling them here: `log(rows.append)`; who has them fills the list.
FILLING = frozenset({"append", "appendleft", "extend", "insert", "pop", "remove", "clear", "update", "setdefault"})
ARRAY_ATTRIBUTES = frozenset({"shape", "ndim", "T", "mT"})


def attribute(frame: Frame, node: cst.Attribute) -> Value:
    base = expressions.evaluate(frame, node.value)
    name = node.attr.value
    if isinstance(base, Unknown) and name in ARRAY_ATTRIBUTES:
        base = as_tensor(frame, base, node.value)
    if name in FILLING and isinstance(base, Tuple | Many | Dict):
        rebind(frame, node.value, Dict((), UNKNOWN) if isinstance(base, Dict) else Many(UNKNOWN, None, base.kind))
    return frame.known(attribute_of(frame, base, name, node))


def attribute_of(frame: Frame, base: Value, name: str, node: cst.Attribute) -> Value:
    match base:
        case Library(name=module):
            return of_library(module, name)
        case Tensor():
            return of_tensor(frame, base, name, node)
        case Namespace(names=names):
            found = named(names, name)
            return UNKNOWN if found is None else found
        case Instance():
            return of_instance(frame, base, name, node)
        case Class():
            found = base.lookup(name)
            if found is None and name == "create" and base.is_a("flax.training.train_state.TrainState"):
                return Method(base, name)
            return unwrapped(frame, found, base, node) if found is not None else UNKNOWN
        case Method(name="super", receiver=receiver, function=Class() as owner):
            return of_super(receiver, owner, name)
        case Layer():
            known = of_space(frame, base, name) if base.name == SPACE else layer_attribute(base, name)
            if isinstance(known, Tensor) and base.name in limits.NAMES:
                return of_limits(frame, base, name, known, node)
            return Method(base, name) if known is None else casting.weight(frame, base, known)
        case Dict(kind="ModuleDict" | "Bunch", items=items) if any(key == name for key, _ in items):
            return base.get(name) or UNKNOWN
        case Tuple(fields=fields) if name in fields:
            return base.items[fields.index(name)]
        case Union(options=options):
            return of_union(frame, options, name, node)
        case Unknown():
            return of_unknown(frame, base, name, node)
    return Method(base, name)


@lru_cache(maxsize=4096)
def of_library(module: str, name: str) -> Value:
    full = f"{module}.{name}"
    return CONSTANTS.get(full, Library(full))


def of_tensor(frame: Frame, base: Tensor, name: str, node: cst.Attribute) -> Value:
    if name == "grad":  # it is None as long as none has arrived; who uses it as an array knows its shape
        unknown = frame.unknown(name, node, "attribute", base)
        if base.library in {"torch", None}:
            frame.shapes[Run("", unknown.made_by)] = base.shape
        return unknown
    value = tensor_attribute(base, name)
    if value is None:
        return Method(base, name)
    if name == "dtype" and value == UNKNOWN:
        return frame.unknown(name, node, "attribute", base)
    if name not in OPERATIONS or not isinstance(value, Tensor):
        return value
    op, kind = OPERATIONS[name]
    event = Operation(
        op,
        f"torch.Tensor.{name}",
        kind,
        {"x": base},
        value,
        frame.site(node),
        {"x": frame.site(node.value)},
        regions=frame.regions,
    )
    frame.tell(event)
    return severed(frame, originate(value, event), event)


def of_space(frame: Frame, base: Layer, name: str) -> Value | None:
    from shapelint.interpreter.libraries import spaces

    return spaces.attribute(frame, base, name)


def of_limits(frame: Frame, base: Layer, name: str, value: Tensor, node: cst.Attribute) -> Value:
    """np.finfo(np.float32).min: a scalar array that holds a number which rules know."""
    held = {"x": Float(limits.number(base, name))}
    event = Operation("tensor", f"{base.name}.{name}", Kind.CREATION, held, value, frame.site(node))
    frame.tell(event)
    return originate(value, event)


def of_instance(frame: Frame, base: Instance, name: str, node: cst.Attribute) -> Value:
    if name in base.attributes:
        value = base.attributes[name]
        if frame.run.supposing and hypotheses.is_field_open(value):
            value = fields.commented(frame, base, name, value)
        return casting.attribute(frame, base, name, value) if frame.run.dtypes else value
    if fields.is_field(base.cls, name):
        base.attributes[name] = fields.typical_field(frame, base.cls, name, ("field", base))
        return of_instance(frame, base, name, node)
    found = base.cls.lookup(name)
    if found is not None:
        return unwrapped(frame, found, base, node)
    libraries = [ancestor.name for ancestor in base.cls.ancestry() if isinstance(ancestor, Library)]
    if libraries:
        return inherited_weight(base, name, libraries) or Method(base, name)
    scope = (base.cls.name, id(base.cls))
    return frame.unknown(name, node, "attribute", base, size(name, scope))


def inherited_weight(base: Instance, name: str, libraries: list[str]) -> Tensor | None:
    """`self.weight` in a class that derives from a layer of torch, if it is one."""
    if name not in INHERITED or not any(library.startswith("torch.nn.") and lookup(library) for library in libraries):
        return None
    return Tensor(library="torch", graph=Graph(GraphState.LEAF, frozenset({(base, name)})))


def unwrapped(frame: Frame, found: Value, base: Value, node: cst.CSTNode) -> Value:
    """A class attribute as it looks from outside: properties are called, functions become methods."""
    match found:
        case Function(name=name):
            return Method(base, name, found) if isinstance(base, Instance) else found
        case Method(name="property", function=Function() as function):
            from shapelint.interpreter.functions.invocation import call_function
            from shapelint.interpreter.operations import Arguments

            return call_function(frame, function, Arguments((base,)), node) if isinstance(base, Instance) else UNKNOWN
        case Method(name="staticmethod", function=Function() as function):
            return function
        case Method(name="classmethod", function=Function() as function):
            return Method(base.cls if isinstance(base, Instance) else base, function.name, function)
    return found


def of_super(receiver: Value, owner: Class, name: str) -> Value:
    for ancestor in list(owner.ancestry())[1:]:
        if isinstance(ancestor, Class) and name in ancestor.attributes:
            found = ancestor.attributes[name]
            return Method(receiver, name, found) if isinstance(found, Function) else UNKNOWN
    return Method(receiver, name)


def of_union(frame: Frame, options: tuple[Value, ...], name: str, node: cst.Attribute) -> Value:
    found = [attribute_of(frame, option, name, node) for option in options if option != NONE]
    result = found[0] if found else UNKNOWN
    for other in found[1:]:
        result = join(result, other, frame.place(node))
    return result


def of_unknown(frame: Frame, base: Unknown, name: str, node: cst.Attribute) -> Value:
    """An attribute of something unknown: the same one each time, so that `cfg.d_model` is one size everywhere."""
    if name == "dtype" and base.dtype is not None:
        return Library(f"torch.{base.dtype}")  # it was cast by a method of torch
    symbol = base.dim.symbol if base.dim is not None else None
    dim = size(f"{symbol.name}.{name}", symbol.scope) if symbol is not None else None
    return frame.unknown(name, node, "attribute", base, dim)


def as_tensor(frame: Frame, value: Unknown, node: cst.CSTNode, library: str | None = None) -> Tensor:
    """What was unknown turns out to be an array by its use; the name it has is bound to that."""
    run = Run("", value.made_by if value.made_by is not None else frame.place(node))
    if isinstance(value.made_by, Call) and value.dtype is not None:
        library = "torch"  # .half() and its like are methods of torch
    tensor = Tensor(Shape((), run), value.dtype, library, value.graph, value.made_by)
    rebind(frame, node, tensor)
    return tensor


def keep(frame: Frame, owner: Instance, name: str, value: Value, node: cst.CSTNode) -> None:
    """An attribute of an object is set; on one of several paths: it may be what it was before."""
    old = owner.attributes.get(name)
    if old is None and type(owner.cls.lookup(name)) is Method:
        return  # a property gives what it gives
    if frame.branch_depth and old is not None:
        value = widened(join(old, value, (frame.place(node), name)), (frame.place(node), "again"))
    owner.attributes[name] = value


def rebind(frame: Frame, node: cst.CSTNode, value: Value) -> None:
    """More is known of the value behind a name (or an attribute of self): what it is bound to is refined."""
    match node:
        case cst.Name(value=name):
            names = frame.scope.names
            if name in names and not is_other(names[name], value):
                names[name] = value
            elif frame.scope.is_comprehension and isinstance(value, Tuple | Many | Dict):
                filled_around(frame, name)
        case cst.Attribute(value=cst.Name(value=base), attr=cst.Name(value=attribute_name)):
            owner = frame.scope.lookup(base)
            attributes = owner.attributes if isinstance(owner, Instance) else {}
            if attribute_name in attributes and not is_other(attributes[attribute_name], value):
                attributes[attribute_name] = value


def filled_around(frame: Frame, name: str) -> None:
    """`[rows.append(x) for x in xs]`: what a list around a comprehension holds afterwards is not known."""
    scope = frame.scope
    while scope.is_comprehension and name not in scope.names and scope.parent is not None:
        scope = scope.parent
    match scope.names.get(name):
        case Tuple(kind="list") | Many(kind="list"):
            scope.names[name] = Many(UNKNOWN, None, "list")
        case Dict():
            scope.names[name] = Dict((), UNKNOWN)


def is_other(before: Value, value: Value) -> bool:
    """What is known of a space's elements is not known of the space."""
    return type(before) is Layer and type(value) is Tensor


def shape_value(tensor: Tensor) -> Value:
    """`x.shape` as a tuple of ints; of unknown length where the rank is not known."""
    if tensor.shape.run is None:
        return Tuple(tuple(Int(axis.size) for axis in tensor.shape.head), "size")
    return Many(UNKNOWN, kind="size")
