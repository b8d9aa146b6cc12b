"""Annotations: what they say of a value that enters, and whether values meet them."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from shapelint.annotations import hints
from shapelint.annotations.entering import value_of
from shapelint.annotations.unification import UNBOUND, Bindings, Verdict, meets
from shapelint.domain.dims import size
from shapelint.domain.joins import leaves, resolve
from shapelint.domain.values import Function, Int, Shape, Tensor, Tuple, Union, Unknown, Value, tensors_in
from shapelint.events import Meeting
from shapelint.interpreter import subscripts
from shapelint.interpreter.flow import conditions
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.knowledge import hypotheses
from shapelint.interpreter.operations import Arguments
from shapelint.provenance import originate


def union(left: Value, right: Value) -> Value:
    return hints.union_hint(left, right)


def subscripted(base: Value, index: Value) -> Value:
    return hints.subscript_hint(base, index)


def hint_of(frame: Frame, annotation: cst.Annotation) -> hints.TypeHint:
    """The type that an annotation names; quoted ones are read as code."""
    known = frame.run.hints.get(id(annotation))
    if known is None:
        known = hints.as_hint(conditions.quietly(frame, unquoted(annotation.annotation)))
        if frame.function is not None:  # at the top level later definitions may still be missing
            frame.run.hints[id(annotation)] = known
    return known


def unquoted(node: cst.BaseExpression) -> cst.BaseExpression:
    if type(node) is not cst.SimpleString:
        return node
    try:
        return cst.parse_expression(str(node.evaluated_value))
    except (cst.ParserSyntaxError, ValueError):
        return node


def declared(frame: Frame, hint: hints.TypeHint, scope: object, name: str) -> Value:
    """What a type says of a value. An instance of a project's class went through __init__ with unknown arguments."""
    from shapelint.interpreter.functions.fields import entering

    plain = (hints.ArrayHint, hints.InstanceHint)  # an alias may be made of itself

    def forward(text: str) -> Value:
        """A type that is quoted inside of another one: Optional["Node"]."""
        found = hints.as_hint(frame.scope.lookup(text) or Unknown())
        return declared(frame, found, scope, name) if isinstance(found, plain) else Unknown()

    return value_of(hint, scope, name, lambda cls: entering(frame, cls, (scope, name)), forward)


def entry_value(frame: Frame, annotation: cst.Annotation, name: str, default: int | None) -> Value:
    """The value of an annotated parameter on entry."""
    value = declared(frame, hint_of(frame, annotation), frame.key, name)
    if isinstance(value, Int) and default is not None:
        return replace(value, dim=size(name, frame.key, default))
    return value


def meet_arguments(inner: Frame, function: Function, arguments: Arguments, caller: Frame, node: cst.CSTNode) -> None:
    """Hold the arguments of a call against the parameters' annotations; names of axes are bound to sizes."""
    bindings = inserted(inner, function)
    params = [*function.node.params.posonly_params, *function.node.params.params, *function.node.params.kwonly_params]
    nodes = dict(zip((p.name.value for p in params), arguments.arg_nodes)) | dict(arguments.kwarg_nodes)
    for param in params:
        name = param.name.value
        if param.annotation is None or not mentions_shapes(param.annotation):
            continue
        value = inner.scope.names[name]
        hint = hint_of(inner, param.annotation)
        if not hints.holds_arrays(hint):
            continue
        match = meets(hint, value, bindings)
        bindings = match.bindings
        place = nodes.get(name)
        if place is not None and name in nodes:
            reason = match.reason if match.verdict is Verdict.CONTRADICTED else None
            declaration = inner.site(param.annotation.annotation)
            meeting = Meeting(value, declaration, "argument", name, caller.site(node), reason, function.name)
            caller.tell(meeting)
            if reason is not None:  # what comes of it is the same mistake
                value = originate(value, meeting)
        inner.scope.names[name] = informed(value, declared(inner, hint, inner.key, name))
    inner.bindings = bindings


def inserted(inner: Frame, function: Function) -> Bindings:
    """What `{heads}` stands for in the annotations: the parameters that are sizes, on entry."""
    params = (*function.node.params.posonly_params, *function.node.params.params, *function.node.params.kwonly_params)
    values = ((param.name.value, inner.scope.names.get(param.name.value)) for param in params)
    return Bindings({f"{{{n}}}": v.dim for n, v in values if isinstance(v, Int | Unknown) and v.dim is not None})


def mentions_shapes(annotation: cst.Annotation) -> bool:
    """Plain names such as `int` say nothing that a call does not say better."""
    return not isinstance(annotation.annotation, cst.Name) or annotation.annotation.value[:1].isupper()


def informed(value: Value, declared: Value) -> Value:
    """A value with what its annotation adds where nothing is known: its rank, dtype and library."""
    match value, declared:
        case Tensor(), Tensor():
            shape = completed(value.shape, declared.shape)
            return replace(
                value, shape=shape, dtype=value.dtype or declared.dtype, library=value.library or declared.library
            )
        case Unknown(made_by=made_by, graph=graph), Tensor():
            return replace(declared, made_by=made_by, graph=graph)
        case Tuple(items=items, kind=kind), Tuple(items=others) if len(items) == len(others) and kind == declared.kind:
            return replace(value, items=tuple(map(informed, items, others)))
        case Union(options=options), _ if (stated := only_array(declared)) is not None:
            found = tuple(informed(option, stated) if isinstance(option, Tensor) else option for option in options)
            return replace(value, options=found)
    return value


def completed(shape: Shape, declared: Shape) -> Shape:
    """A shape of open rank with the axes that an annotation states between those that are known."""
    start, stop = len(shape.head), len(declared.head) - len(shape.tail)
    if shape.run is None or declared.run is not None or start > stop:
        return shape
    return Shape((*shape.head, *declared.head[start:stop], *shape.tail))


def only_array(value: Value) -> Tensor | None:
    """The array of a type that may be something else, too: `Float[Tensor, "n"] | None`."""
    arrays = [option for option in (value.options if isinstance(value, Union) else (value,)) if type(option) is Tensor]
    return arrays[0] if len(arrays) == 1 else None


def declare_return(inner: Frame, function: Function) -> None:
    """Names that only occur in the return annotation bind freely; those of parameters mean the parameters' axes."""
    annotation = function.node.returns
    inner.return_hint = hint_of(inner, annotation) if annotation is not None else None
    if inner.return_hint is not None and inner.bindings is None:
        bindings = inserted(inner, function)
        params = function.node.params
        for param in (*params.posonly_params, *params.params, *params.kwonly_params):
            if param.annotation is not None and mentions_shapes(param.annotation):
                value, hint = inner.scope.names.get(param.name.value), hint_of(inner, param.annotation)
                if value is not None and hints.holds_arrays(hint):
                    bindings = meets(hint, value, bindings).bindings
        inner.bindings = bindings


def meet_return(frame: Frame, value: Value, node: cst.Return) -> Value:
    if frame.return_hint is None or frame.function is None or not hints.holds_arrays(frame.return_hint):
        return value
    match = meets(frame.return_hint, value, frame.bindings or UNBOUND)
    declaration = frame.site(frame.function.node.returns.annotation)
    reason = match.reason if match.verdict is Verdict.CONTRADICTED else None
    name = frame.function.name
    frame.tell(Meeting(value, declaration, "return", name, frame.site(node), reason, name))
    if reason is not None or not may_trust(frame):
        return value
    stated = declared(frame, frame.return_hint, (frame.key, "return"), name)
    return informed(value, in_terms_of(match.bindings, stated))


def may_trust(frame: Frame) -> bool:
    """Whether annotations of this file count: those of other files do until the code here contradicts them."""
    if frame.module is frame.run.module:
        return True
    if frame.run.supposing:
        hypotheses.note(frame)
    return frame.run.supposing


def in_terms_of(bindings: Bindings, stated: Value) -> Value:
    """A value whose axes are named as those of arguments are: they have the arguments' sizes."""
    sizes = (size for tensor in tensors_in((stated,)) for size in tensor.shape.sizes)
    facts = {s: bindings.sizes[s.name] for size in sizes for s in leaves(size) if s.name in bindings.sizes}
    return resolve(stated, facts) if facts else stated


def meet_assignment(frame: Frame, node: cst.AnnAssign, value: Value | None) -> Value | None:
    """`h: Float[Tensor, "b d"] = f(x)`: the value meets the annotation; without a value nothing is bound."""
    if value is None:
        return None
    hint = hint_of(frame, node.annotation)
    if not hints.holds_arrays(hint):
        return value
    match = meets(hint, value, frame.bindings or UNBOUND)
    if match.verdict is not Verdict.CONTRADICTED:
        frame.bindings = match.bindings
    reason = match.reason if match.verdict is Verdict.CONTRADICTED else None
    name = subscripts.short_name(node.target)
    function = frame.function.name if frame.function is not None else ""
    declaration = frame.site(node.annotation.annotation)
    frame.tell(Meeting(value, declaration, "assignment", name, frame.site(node), reason, function))
    return informed(value, declared(frame, hint, frame.key, name))
