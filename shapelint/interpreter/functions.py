"""Functions of the linted code: their parameters, and evaluating a body, on its own or for a call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

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
    Instance,
    Int,
    Layer,
    Library,
    Many,
    Method,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    maker_of,
)
from shapelint.events import Call, Entered, Input, Left, Region
from shapelint.interpreter import (
    again,
    attributes,
    casting,
    contracts,
    expressions,
    hypotheses,
    learning,
    objects,
    states,
    summaries,
)
from shapelint.interpreter.conditions import quietly
from shapelint.interpreter.frame import CALL_COST, ENTRY_CREDIT, MOST_DEPTH, Frame, Remembered
from shapelint.interpreter.operations import Arguments
from shapelint.interpreter.scopes import Scope
from shapelint.interpreter.stores import gives_nothing
from shapelint.provenance import meeting, originate

FEW_BITS = frozenset({"float16", "bfloat16", "uint8"})
MOST_LINES = 2  # of a function that is always followed


def parameters(node: cst.FunctionDef | cst.Lambda) -> list[cst.Param]:
    """The parameters that positional arguments fill, in order."""
    return [*node.params.posonly_params, *node.params.params]


def all_parameters(node: cst.FunctionDef | cst.Lambda) -> list[cst.Param]:
    variadic = (node.params.star_arg, node.params.star_kwarg)
    return [*parameters(node), *node.params.kwonly_params, *(p for p in variadic if isinstance(p, cst.Param))]


def call_function(frame: Frame, function: Function, arguments: Arguments, node: cst.CSTNode) -> Value:
    """Evaluate a project's function with the arguments of a call; memoised, bounded, recursion cut."""
    from shapelint.interpreter.calls import opaque

    run = frame.run
    keywords = tuple(sorted(arguments.kwargs.items(), key=lambda keyword: keyword[0]))
    places = states.changeable(arguments, (function.scope.file() or (frame.module,))[0])
    before = states.state(places)
    regions = (frame.regions, frame.autocast, run.supposing)
    signature: summaries.Signature = (id(function), arguments.args, keywords, regions, before)
    makers = tuple(maker_of(value) for value in (*arguments.args, *arguments.kwargs.values()))
    remembered = None if run.is_exact else run.memo.get(signature)
    if remembered is not None and not any(isinstance(part, Instance) for part in remembered.made.values()):
        known, made_from, changed, after, taught, _, made = remembered
        forget(frame, function, arguments, changed)
        states.leave(frame, places, before, after, node)
        learning.adopt(frame, taught)
        is_same = all(a is b for a, b in zip(makers, made_from))
        if is_same or not any(isinstance(value, Unknown) for value in arguments.values):
            known = objects.anew(frame, known, made)
            event = Call(
                function, arguments.args, tuple(arguments.kwargs.items()), known, frame.site(node), frame.regions
            )
            frame.tell(event)
            return known if is_same and not made else originate(known, event)  # alike, but computed from other values
        del run.memo[signature]  # two unknown values are not of one size
    most = MOST_DEPTH * (4 if run.is_exact else 1)
    is_top = frame.function is None and not (run.is_import or frame.loops or frame.regions)
    is_entry = is_top and not all_parameters(function.node)
    if is_top and not run.started and (is_entry or gives_nothing(function.node)):
        run.started, run.credit = True, run.credit + ENTRY_CREDIT
    is_news = id(function.node) not in run.told and any(map(has_rank, arguments.values))
    is_free = run.credit <= 0 and is_cheap(frame, function)
    is_poor = run.credit <= 0 and not (is_entry or is_news or is_free or tells_bits(frame, function, arguments))
    blocked = id(function.node) in run.stack or len(run.stack) >= most or is_poor
    if blocked or (id(function.node) in run.called and only_checks(function, arguments)) or not arguments.complete:
        forget(frame, function, arguments, passed(function, arguments).keys())
        states.lose(frame, places, node)
        known = summaries.of_call(frame, function, arguments, node, signature)
        return hypotheses.given_back(frame, function, opaque(frame, function, arguments, node, known), arguments, node)
    run.called.setdefault(id(function.node), run.serial)
    if is_news:
        run.told[id(function.node)] = run.serial
    inner = frame_of(frame, function, (function.name, run.next_serial()))
    inner.regions, inner.autocast = frame.regions, frame.autocast
    inner.depth, inner.is_call = frame.depth + 1, not is_entry
    if is_entry:  # `main()` at the top level is what main does on its own, too
        run.entered.add(id(function))
    if not fill(inner, function, arguments, frame, node):
        return opaque(frame, function, arguments, node)
    begun = len(run.events)
    result = evaluate_body(inner, function, at_call=not is_entry)
    if is_free and type(function.node) is cst.FunctionDef:
        run.credit += CALL_COST * len(function.node.body.body)  # back to what it was
    taught = learning.lesson(inner, arguments)
    result = summaries.as_annotated(frame, function, arguments, node, result)
    result = hypotheses.given_back(frame, function, result, arguments, node)
    event = Call(function, arguments.args, tuple(arguments.kwargs.items()), result, frame.site(node), frame.regions)
    frame.tell(event)
    if maker_of(result) is None:
        result = originate(result, event)
    lists = passed(function, arguments)
    changed = frozenset(name for name, value in lists.items() if inner.scope.names.get(name) is not value)
    forget(frame, function, arguments, changed)
    after = states.state(places)
    states.leave(frame, places, before, after, node)
    learning.adopt(frame, taught)
    made = objects.made_within(result, run.events, begun)
    run.memo[signature] = Remembered(result, makers, changed, after, taught, run.serial, made)
    summaries.note(run, function, signature, result)
    return result


def has_rank(value: Value) -> bool:
    return isinstance(value, Tensor) and value.shape.run is None


def tells_bits(frame: Frame, function: Function, arguments: Arguments) -> bool:
    """Whether this is the first call of a function that gives it an array of few bits."""
    key, told = ("bits", id(function.node)), frame.run.told
    if key in told or not any(isinstance(v, Tensor | Unknown) and v.dtype in FEW_BITS for v in arguments.values):
        return False
    told[key] = frame.run.serial
    return True


def is_cheap(frame: Frame, function: Function) -> bool:
    """A line or two without loops or branches, called by what is not such a function itself: not worth a credit."""
    is_called_by_one = frame.is_call and frame.function is not None and is_short(frame.function.node)
    return not is_called_by_one and is_short(function.node)


@lru_cache(maxsize=1024)
def is_short(node: cst.FunctionDef | cst.Lambda) -> bool:
    lines = node.body.body if isinstance(node, cst.FunctionDef) else ()
    return len(lines) <= MOST_LINES and all(type(line) is cst.SimpleStatementLine for line in lines)


def only_checks(function: Function, arguments: Arguments) -> bool:
    """Whether nothing can come of a call but an error: no value, and nothing that it is given can be changed."""
    values = (*arguments.args, *arguments.kwargs.values())
    return (
        function.owner is None
        and not any(isinstance(value, Instance | Layer | Class | Function | Method | Dict) for value in values)
        and gives_nothing(function.node)
    )


def passed(function: Function, arguments: Arguments) -> dict[str, Value]:
    """The lists and dicts among the arguments, by parameter: the function may fill them."""
    names = [param.name.value for param in parameters(function.node)]
    given = dict(zip(names, arguments.args)) | dict(arguments.kwargs)
    return {name: value for name, value in given.items() if isinstance(value, Dict) or is_list(value)}


def is_list(value: Value) -> bool:
    return isinstance(value, Tuple | Many) and value.kind == "list"


def forget(frame: Frame, function: Function, arguments: Arguments, changed: Iterable[str]) -> None:
    """What a function changed in place is not known after the call."""
    if not changed:
        return
    names = [param.name.value for param in parameters(function.node)]
    nodes = dict(zip(names, arguments.arg_nodes)) | dict(arguments.kwarg_nodes)
    for name in changed:
        node = nodes.get(name)
        if node is not None:
            old = passed(function, arguments)[name]
            attributes.rebind(frame, node, Dict((), UNKNOWN) if isinstance(old, Dict) else Many(UNKNOWN))


def call_method(frame: Frame, instance: Instance, name: str, arguments: Arguments, node: cst.CSTNode) -> Value:
    found = instance.cls.lookup(name)
    if not isinstance(found, Function):
        return UNKNOWN
    return call_function(frame, found, arguments.after(instance, None), node)


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
    from shapelint.interpreter.transforms import REGIONS

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
