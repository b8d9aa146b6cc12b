"""Calls of functions of the linted code: which of them are evaluated, and what is remembered of those that were."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import libcst as cst

from shapelint.domain.record import record
from shapelint.domain.values import (
    UNKNOWN,
    Class,
    Dict,
    Function,
    Instance,
    Layer,
    Many,
    Method,
    Tensor,
    Tuple,
    Unknown,
    Value,
    maker_of,
)
from shapelint.events import Call, Event
from shapelint.interpreter import attributes
from shapelint.interpreter.frame import CALL_COST, ENTRY_CREDIT, MOST_DEPTH, Effects, Frame, Remembered
from shapelint.interpreter.functions import states, summaries
from shapelint.interpreter.functions.bodies import all_parameters, evaluate_body, fill, frame_of, parameters
from shapelint.interpreter.functions.stores import gives_nothing
from shapelint.interpreter.knowledge import hypotheses, learning
from shapelint.interpreter.libraries import objects
from shapelint.interpreter.operations import Arguments
from shapelint.provenance import originate

FEW_BITS = frozenset({"float16", "bfloat16", "uint8"})
MOST_LINES = 2  # of a function that is always followed


@record(eq=False)
class Invocation:
    """A call of a project's function: with what, from where, and what it may change."""

    function: Function
    arguments: Arguments
    node: cst.CSTNode
    places: states.Places  # the attributes that it may change
    before: Effects  # what these hold
    signature: summaries.Signature
    makers: tuple[Event | None, ...]  # of the arguments

    def event(self, frame: Frame, result: Value) -> Call:
        keywords = tuple(self.arguments.kwargs.items())
        return Call(self.function, self.arguments.args, keywords, result, frame.site(self.node), frame.regions)


class Terms(NamedTuple):
    """Why a call is evaluated although its file may have no credit left, or that it is not."""

    is_entry: bool  # `main()` at the top level
    is_news: bool  # the first that gives the function an array of known rank
    is_free: bool  # of a line or two
    is_refused: bool


def call_function(frame: Frame, function: Function, arguments: Arguments, node: cst.CSTNode) -> Value:
    """Evaluate a project's function with the arguments of a call; memoised, bounded, recursion cut."""
    call = invocation(frame, function, arguments, node)
    remembered = None if frame.run.is_exact else frame.run.memo.get(call.signature)
    if remembered is not None and not any(isinstance(part, Instance) for part in remembered.made.values()):
        known = recalled(frame, call, remembered)
        if known is not None:
            return known
        del frame.run.memo[call.signature]  # two unknown values are not of one size
    terms = terms_of(frame, function, arguments)
    return unfollowed(frame, call) if terms.is_refused else followed(frame, call, terms)


def invocation(frame: Frame, function: Function, arguments: Arguments, node: cst.CSTNode) -> Invocation:
    keywords = tuple(sorted(arguments.kwargs.items(), key=lambda keyword: keyword[0]))
    places = states.changeable(arguments, (function.scope.file() or (frame.module,))[0])
    before = states.state(places)
    regions = (frame.regions, frame.autocast, frame.run.supposing)
    signature: summaries.Signature = (id(function), arguments.args, keywords, regions, before)
    makers = tuple(maker_of(value) for value in (*arguments.args, *arguments.kwargs.values()))
    return Invocation(function, arguments, node, places, before, signature, makers)


def recalled(frame: Frame, call: Invocation, remembered: Remembered) -> Value | None:
    """What a call that was evaluated before leaves and gives; None where unknown arguments may be others now."""
    known, made_from, changed, after, taught, _, made = remembered
    forget(frame, call.function, call.arguments, changed)
    states.leave(frame, call.places, call.before, after, call.node)
    learning.adopt(frame, taught)
    is_same = all(a is b for a, b in zip(call.makers, made_from))
    if not is_same and any(isinstance(value, Unknown) for value in call.arguments.values):
        return None
    known = objects.anew(frame, known, made)
    event = call.event(frame, known)
    frame.tell(event)
    return known if is_same and not made else originate(known, event)  # alike, but computed from other values


def terms_of(frame: Frame, function: Function, arguments: Arguments) -> Terms:
    """On what terms a call is evaluated; the first one from the top level of a script brings credit."""
    run = frame.run
    is_top = frame.function is None and not (run.is_import or frame.loops or frame.regions)
    is_entry = is_top and not all_parameters(function.node)
    if is_top and not run.started and (is_entry or gives_nothing(function.node)):
        run.started, run.credit = True, run.credit + ENTRY_CREDIT
    is_news = id(function.node) not in run.told and any(map(has_rank, arguments.values))
    is_free = run.credit <= 0 and is_cheap(frame, function)
    is_poor = run.credit <= 0 and not (is_entry or is_news or is_free or tells_bits(frame, function, arguments))
    is_refused = (
        id(function.node) in run.stack
        or len(run.stack) >= MOST_DEPTH * (4 if run.is_exact else 1)
        or is_poor
        or (id(function.node) in run.called and only_checks(function, arguments))
        or not arguments.complete
    )
    return Terms(is_entry, is_news, is_free, is_refused)


def unfollowed(frame: Frame, call: Invocation) -> Value:
    """What is known of a call without evaluating it: what the function came to on its own, or is annotated with."""
    from shapelint.interpreter.calls import opaque

    function, arguments, node = call.function, call.arguments, call.node
    forget(frame, function, arguments, passed(function, arguments).keys())
    states.lose(frame, call.places, node)
    known = summaries.of_call(frame, function, arguments, node, call.signature)
    return hypotheses.given_back(frame, function, opaque(frame, function, arguments, node, known), arguments, node)


def followed(frame: Frame, call: Invocation, terms: Terms) -> Value:
    """Evaluate the body with the arguments, and remember what came of it."""
    from shapelint.interpreter.calls import opaque

    run, function, arguments, node = frame.run, call.function, call.arguments, call.node
    run.called.setdefault(id(function.node), run.serial)
    if terms.is_news:
        run.told[id(function.node)] = run.serial
    inner = frame_of(frame, function, (function.name, run.next_serial()))
    inner.regions, inner.autocast = frame.regions, frame.autocast
    inner.depth, inner.is_call = frame.depth + 1, not terms.is_entry
    if terms.is_entry:  # `main()` at the top level is what main does on its own, too
        run.entered.add(id(function))
    if not fill(inner, function, arguments, frame, node):
        return opaque(frame, function, arguments, node)
    begun = len(run.events)
    result = evaluate_body(inner, function, at_call=not terms.is_entry)
    if terms.is_free and type(function.node) is cst.FunctionDef:
        run.credit += CALL_COST * len(function.node.body.body)  # back to what it was
    return concluded(frame, call, inner, result, begun)


def concluded(frame: Frame, call: Invocation, inner: Frame, result: Value, begun: int) -> Value:
    """What a call gives and leaves behind, after its body has come to `result`; kept for calls like it."""
    run, function, arguments, node = frame.run, call.function, call.arguments, call.node
    taught = learning.lesson(inner, arguments)
    result = summaries.as_annotated(frame, function, arguments, node, result)
    result = hypotheses.given_back(frame, function, result, arguments, node)
    event = call.event(frame, result)
    frame.tell(event)
    if maker_of(result) is None:
        result = originate(result, event)
    lists = passed(function, arguments)
    changed = frozenset(name for name, value in lists.items() if inner.scope.names.get(name) is not value)
    forget(frame, function, arguments, changed)
    after = states.state(call.places)
    states.leave(frame, call.places, call.before, after, node)
    learning.adopt(frame, taught)
    made = objects.made_within(result, run.events, begun)
    run.memo[call.signature] = Remembered(result, call.makers, changed, after, taught, run.serial, made)
    summaries.note(run, function, call.signature, result)
    return result


def call_method(frame: Frame, instance: Instance, name: str, arguments: Arguments, node: cst.CSTNode) -> Value:
    found = instance.cls.lookup(name)
    if not isinstance(found, Function):
        return UNKNOWN
    return call_function(frame, found, arguments.after(instance, None), node)


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
