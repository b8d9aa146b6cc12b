"""Fields of classes: what annotations and defaults in a class body say of the attributes of its objects."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import libcst as cst

from shapelint.annotations.comments import Claim, of_array
from shapelint.domain.dims import size
from shapelint.domain.values import Class, Const, Function, Instance, Int, Tensor, Tuple, Union, Unknown, Value
from shapelint.events import Input
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.knowledge import contracts, documents, hypotheses
from shapelint.interpreter.scopes import Scope
from shapelint.provenance import originate


@lru_cache(maxsize=512)
def own_fields(node: cst.ClassDef) -> dict[str, cst.Annotation]:
    """The annotated names of a class body."""
    return {
        part.target.value: part.annotation
        for line in node.body.body
        if isinstance(line, cst.SimpleStatementLine)
        for part in line.body
        if isinstance(part, cst.AnnAssign) and isinstance(part.target, cst.Name)
    }


def annotated(cls: Class) -> dict[str, tuple[Class, cst.Annotation]]:
    """The annotated fields of a class and where each is annotated, inherited ones first."""
    found: dict[str, tuple[Class, cst.Annotation]] = {}
    for ancestor in reversed(list(cls.ancestry())):
        if isinstance(ancestor, Class) and ancestor.node is not None:
            found.update((name, (ancestor, annotation)) for name, annotation in own_fields(ancestor.node).items())
    return found


@lru_cache(maxsize=512)
def own_comments(node: cst.ClassDef) -> dict[str, Claim]:
    """What comments state of the arrays that a class body annotates: `mask: np.ndarray  # [num_res, 3]`."""
    found: dict[str, Claim] = {}
    for line in node.body.body:
        if isinstance(line, cst.SimpleStatementLine) and line.trailing_whitespace.comment is not None:
            stated = of_array(line.trailing_whitespace.comment.value)
            match line.body:
                case (cst.AnnAssign(target=cst.Name(value=name)),) if stated is not None and stated.name in {"", name}:
                    found[name] = stated
    return found


def commented(frame: Frame, base: Instance, name: str, value: Value) -> Value:
    """An array of which no shape is known, with the one that the comment beside its field states."""
    if isinstance(value, Tensor) and value.shape.run in frame.shapes:
        return value
    for ancestor in base.cls.ancestry():
        if isinstance(ancestor, Class) and ancestor.node is not None and name in own_fields(ancestor.node):
            stated = own_comments(ancestor.node).get(name)
            if stated is None:
                break
            shape = documents.shape_of(stated.axes, lambda axis: size(axis, ("stated", base)), ("field", base, name))
            hypotheses.note(frame)
            if isinstance(value, Union):
                return Union(tuple(replace(o, shape=shape) if isinstance(o, Tensor) else o for o in value.options))
            return replace(value, shape=shape) if isinstance(value, Tensor) else value
    return value


def field_names(cls: Class) -> list[str]:
    """The fields of a dataclass-like class, inherited ones first: annotated, or given to namedtuple()."""
    match cls.lookup("_fields"):
        case Tuple(items=items) if cls.is_a("typing.NamedTuple"):
            return [str(item.value) for item in items if isinstance(item, Const)]
    return list(annotated(cls))


def field_value(frame: Frame, cls: Class, name: str, node: cst.CSTNode) -> Value:
    """A field that no argument fills: its default, else an unknown of its own."""
    default = cls.lookup(name)
    if default is not None and not isinstance(default, Unknown):
        return default
    return frame.unknown(name, node, "attribute", cls, size(name, (cls.name, id(cls))))


def typical_field(frame: Frame, cls: Class, name: str, scope: object = None) -> Value:
    """A field of an object that nobody made here: what its default and its annotation say.

    `scope` tells objects of a class apart; sizes that are fields themselves are the same for all of them.
    """
    default = cls.lookup(name)
    symbol = size(name, (cls.name, id(cls)), default.dim.value if isinstance(default, Int) else None)
    owner, annotation = annotated(cls)[name]
    module, filename = owner.scope.file() or (frame.module, frame.filename)
    body = Frame(frame.run, Scope({}, owner.scope), module, filename, frame.key, frame.function)
    event = Input(name, body.site(cls.node), body.site(annotation.annotation), "attribute")
    match default:
        case Int():
            return Int(symbol, made_by=event)
        case None | Unknown() | Const():
            declared = contracts.declared(body, contracts.hint_of(body, annotation), scope or (cls.name, id(cls)), name)
            match declared:
                case Unknown():
                    return Unknown(symbol, made_by=event)
                case Int():
                    return Int(symbol, made_by=event)
            return originate(declared, event)
    return default


def given(frame: Frame, instance: Instance, name: str, value: Value) -> Value:
    """A field that an argument fills: an array of which too little is known has the shape of its annotation.

    Those of jax do not: under vmap and in scans such an object holds arrays of fewer axes.
    """
    is_open = isinstance(value, Unknown) or (isinstance(value, Tensor) and value.shape.run is not None)
    if not is_open or name not in annotated(instance.cls):
        return value
    stated = contracts.only_array(typical_field(frame, instance.cls, name, ("field", instance)))
    return value if stated is None or stated.library in {None, "jax"} else contracts.informed(value, stated)


def is_field(cls: Class, name: str) -> bool:
    """Whether a class that has no __init__ of its own gets an attribute from its annotations."""
    return not is_initialised(cls) and name in annotated(cls)


def is_initialised(cls: Class) -> bool:
    return cls.lookup("__init__") is not None or cls.lookup("setup") is not None


def entering(frame: Frame, cls: Class, scope: object) -> Value:
    """An object of a class that a parameter brings in: its fields are asked for when they are needed."""
    from shapelint.interpreter.functions.classes import copied, typical_instance

    if cls.node is None:
        return Unknown()
    if is_initialised(cls) or not annotated(cls):
        return copied(typical_instance(frame, cls))
    if not cls.is_a("typing.NamedTuple") or any(isinstance(value, Function) for value in cls.attributes.values()):
        return Instance(cls, {})
    if cls in frame.run.entering:
        return Unknown()
    frame.run.entering.append(cls)
    names = field_names(cls)
    items = tuple(typical_field(frame, cls, name, scope) for name in names)
    frame.run.entering.pop()
    return Tuple(items, cls.name, tuple(names))
