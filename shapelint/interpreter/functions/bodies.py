"""Functions of the linted code: their parameters, and evaluating a body in a frame of its own."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shapelint.domain.dims import size
from shapelint.domain.joins import join
from shapelint.domain.regions import SWITCHES
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Class,
    Const,
    Dict,
    Float,
    Function,
    Int,
    Layer,
    Library,
    Many,
    Tuple,
    Union,
    Unknown,
    Value,
)
from shapelint.events import Entered, Input, Left, Region
from shapelint.interpreter import expressions
from shapelint.interpreter.flow import again
from shapelint.interpreter.flow.conditions import quietly
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.functions import summaries
from shapelint.interpreter.knowledge import contracts, hypotheses
from shapelint.interpreter.libraries import casting
from shapelint.interpreter.operations import Arguments
from shapelint.interpreter.scopes import Scope
from shapelint.provenance import meeting, originate


def parameters(node: cst.FunctionDef | cst.Lambda) -> list[cst.Param]:
    """The parameters that positional arguments fill, in order."""
    return [*node.params.posonly_params, *node.params.params]


def all_parameters(node: cst.FunctionDef | cst.Lambda) -> list[cst.Param]:
    variadic = (node.params.star_arg, node.params.star_kwarg)
    return [*parameters(node), *node.params.kwonly_params, *(p for p in variadic if isinstance(p, cst.Param))]


def frame_of(frame: Frame, function: Function, key: object) -> Frame:
    """A frame for a body: its names live in a scope of their own inside the function's."""
    module, filename = function.scope.file() or (frame.module, frame.filename)
    return Frame(frame.run, Scope({}, function.scope), module, filename, key, function)


def fill(inner: Frame, function: Function, arguments: Arguments, caller: Frame, node: cst.CSTNode) -> bool:
    """Bind the arguments of a call; False where they do not fit the signature."""
    params = parameters(function.node)
    star, names = function.node.params.star_arg, inner.scope.names
    for param, value in zip(params, arguments.args):
        names[param.name.value] = value
    rest = arguments.args[len(params) :]
    if isinstance(star, cst.Param):
        names[star.name.value] = Tuple(rest)
    elif rest:
        return False
    known = {p.name.value for p in (*params, *function.node.params.kwonly_params)}
    extra = {name: value for name, value in arguments.kwargs.items() if name not in known}
    names.update((name, value) for name, value in arguments.kwargs.items() if name in known)
    if function.node.params.star_kwarg is not None:
        names[function.node.params.star_kwarg.name.value] = Dict(tuple(extra.items()))
    elif extra:
        return False
    for param in (*params, *function.node.params.kwonly_params):
        if param.name.value not in names:
            names[param.name.value] = default_of(inner, param)
    if params and function.owner is not None:
        inner.owner = names.get(params[0].name.value)
    if isinstance(function.node, cst.FunctionDef):
        contracts.meet_arguments(inner, function, arguments, caller, node)
    return True


def default_of(frame: Frame, param: cst.Param) -> Value:
    if param.default is None:
        return frame.unknown(param.name.value, param, "parameter", None, size(param.name.value, frame.key))
    value = expressions.evaluate(frame, param.default)
    if isinstance(value, Float) and value.made_by is None:
        return originate(value, Input(param.name.value, frame.site(param), kind="default"))
    return value


def evaluate_alone(frame: Frame, function: Function, owner: Value | None, *given: Value) -> Value:
    """Evaluate a function that nobody calls here: its parameters are what their annotations say.

    `given` are the values of the first parameters after self, where a framework is known to pass them.
    """
    key = (function.owner.name if function.owner is not None else "", function.name, frame.run.next_serial())
    inner = frame_of(frame, function, key)
    inner.owner = owner
    bind_alone(inner, function, owner)
    names = [param.name.value for param in parameters(function.node)[owner is not None :]]
    inner.scope.names.update(zip(names, given))
    if inner.run.supposing:
        hypotheses.suppose(inner, function)
    entry = dict(inner.scope.names)
    result = evaluate_body(inner, function)
    summaries.remember(inner, function, result, {name: inner.known(value) for name, value in entry.items()})
    return result


def bind_alone(inner: Frame, function: Function, owner: Value | None) -> None:
    params = function.node.params
    positional = parameters(function.node)
    for index, param in enumerate((*positional, *params.kwonly_params)):
        name = param.name.value
        if index == 0 and owner is not None and positional:
            inner.scope.names[name] = owner
        else:
            inner.scope.names[name] = entry_value(inner, param)
    if isinstance(params.star_arg, cst.Param):
        inner.scope.names[params.star_arg.name.value] = Many(UNKNOWN, kind="tuple")
    if params.star_kwarg is not None:
        inner.scope.names[params.star_kwarg.name.value] = Dict((), UNKNOWN)


def entry_value(frame: Frame, param: cst.Param) -> Value:
    """What is known of a parameter without a call: its annotation, else the type of its default."""
    name = param.name.value
    event = Input(name, frame.site(param), frame.site(param.annotation.annotation) if param.annotation else None)
    value: Value = UNKNOWN
    if param.annotation is not None:
        value = contracts.entry_value(frame, param.annotation, name, default_number(frame, param))
        if not isinstance(value, Unknown | Float):
            return originate(value, event)
    default = expressions.evaluate(frame, param.default) if param.default is not None else UNKNOWN
    symbol = size(name, frame.key, default_number(frame, param))
    match default:
        case Int() if not isinstance(value, Float):
            return Int(symbol, made_by=event)
        case Float():
            return Float(made_by=event, default=default.value)
        case Function() | Class() | Library() | Layer():
            return default
    return originate(value, event) if isinstance(value, Float) else Unknown(symbol, made_by=event)


def default_number(frame: Frame, param: cst.Param) -> int | None:
    if param.default is None:
        return None
    match expressions.evaluate(frame, param.default):
        case Int(dim=dim):
            return dim.value
    return None


def evaluate_body(inner: Frame, function: Function, at_call: bool = False) -> Value:
    """Run a body in its frame; the value is what all its returns have in common.

    On its own, it is begun again where later statements say more of what enters.
    """
    begun = again.start(inner)
    while (result := attempt(inner, function, begun, at_call)) is None:
        pass
    return result


def attempt(inner: Frame, function: Function, begun: again.Start, at_call: bool) -> Value | None:
    """Run a body; None where it is to be run again."""
    site = inner.site(function.node)
    inner.tell(Entered(function, inner.owner, site, at_call, dict(inner.scope.names)))
    inner.run.stack.append(id(function.node))
    watch = inner.run.watch
    if watch is not None:
        for param in all_parameters(function.node):
            watch(inner, param, inner.scope.names[param.name.value])
    try:
        if type(function.node) is cst.Lambda:
            result = expressions.evaluate(inner, function.node.body)
        else:
            contracts.declare_return(inner, function)
            regions = tuple(decorated_regions(inner, function))
            inner.regions += tuple(region.name for region in regions)
            for region in regions:
                inner.tell(region)
            if not again.execute(begun, function.node.body.body):
                return None
            for region in regions:
                inner.tell(Region(region.name, False, region.site))
            result = returned(inner, function)
    finally:
        inner.run.stack.pop()
    inner.tell(Left(function, result, site))
    if watch is not None:
        watch(inner, function.node, result)
    return result


def decorated_regions(frame: Frame, function: Function) -> Iterator[Region]:
    """@torch.no_grad() and its like hold for the whole body."""
    from shapelint.interpreter.libraries.transforms import REGIONS

    for decorator in function.node.decorators:
        node = decorator.decorator
        value = expressions.evaluate(frame, node.func if isinstance(node, cst.Call) else node)
        if isinstance(value, Library) and value.name in SWITCHES:
            value = quietly(frame, node)
        if isinstance(value, Library) and value.name in REGIONS:
            context = quietly(frame, node) if value.name in casting.AUTOCASTS else value
            arguments = context.config if isinstance(context, Layer) else {}
            frame.autocast = casting.autocast_of(context, frame.autocast)
            yield Region(REGIONS[value.name], True, frame.site(node), arguments)


def returned(inner: Frame, function: Function) -> Value:
    values = list(inner.returns)
    if inner.alive:
        values.append(NONE)
    if not values:
        inner.run.contradicted = True
        return UNKNOWN
    result = values[0]
    for other in values[1:]:
        if isinstance(other, Const) and other.value is None and isinstance(result, Many) and result.kind == "generator":
            continue
        result = join(result, other, (inner.key, "return"))
    if isinstance(result, Union) and len(result.options) > 3:
        return UNKNOWN
    return meeting(result, values, inner.site(function.node)) if len(values) > 1 else result
