"""Comprehensions and iteration: what the items of an iterable look like."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shapelint.domain.dims import Dim, anonymous, as_dim
from shapelint.domain.joins import join
from shapelint.domain.values import (
    UNKNOWN,
    Dict,
    Function,
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
)
from shapelint.events import Call, Comprehension
from shapelint.interpreter import expressions, operators
from shapelint.interpreter.flow import iterators
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments, operate
from shapelint.interpreter.scopes import Scope
from shapelint.ops import iterate as iterate_layer
from shapelint.ops.data import LOADER, collated, count, whole
from shapelint.ops.data import sample as sample_of

MOST_UNROLLED = 6


def items(frame: Frame, value: Value) -> tuple[Value, ...] | None:
    """The items one by one, where they are known and few."""
    if isinstance(value, Tuple) and (len(value.items) <= MOST_UNROLLED or frame.run.is_exact):
        return value.items
    return None


def item(frame: Frame, value: Value, node: cst.CSTNode) -> Value:
    """What every item of an iterable is like."""
    match value:
        case Tuple(items=found):
            return expressions.joined(list(found), frame.place(node))
        case Many(item=element):
            return element
        case Tensor() | Union() if operators.is_array(value):
            index = Int(anonymous(frame.place(node), "i"))
            result = operate(frame, "operator.getitem", Arguments((value, index), {}, (node, None)), node)
            return UNKNOWN if result is None else result
        case Layer():
            batch = iterate_layer(value) or loaded(frame, value, node)
            return frame.unknown("item", node, "iteration", value) if batch is None else batch
        case Instance():
            return of_instance(frame, value, node)
        case Union(options=options):
            events, frame.run.events = frame.run.events, []  # what fails for one of them need not happen
            each = [item(frame, option, node) for option in options]
            frame.run.events = events
            return expressions.joined(each, frame.place(node))
        case Dict():
            return UNKNOWN
        case Unknown(graph=graph):
            entered = frame.unknown("item", node, "iteration", value)
            return Unknown(None, graph, entered.made_by)
    return UNKNOWN


def loaded(frame: Frame, loader: Layer, node: cst.CSTNode) -> Value | None:
    """A batch of a DataLoader over what the linted code gives it, or of a dataset that it puts together by itself."""
    if loader.name != LOADER:
        return None
    dataset, collate = whole(loader.config.get("dataset", UNKNOWN)), loader.config.get("collate_fn")
    sample: Value | None = None
    if isinstance(dataset, Instance) and dataset.cls.lookup("__getitem__") is not None:
        sample = of_instance(frame, dataset, node)
    elif isinstance(dataset, Layer):
        sample = sample_of(dataset)
    elif isinstance(dataset, Many | Tuple | Tensor):
        sample = item(frame, dataset, node)
    if sample is None:
        return None
    batch = put_together(frame, collate, Many(sample, anonymous(object())), node) if collate is not None else None
    return collated(loader, sample) if batch is None else batch


def put_together(frame: Frame, collate: Value, samples: Many, node: cst.CSTNode) -> Value | None:
    """What a `collate_fn` of the linted code makes of a list of samples: a function, a method, or an object."""
    from shapelint.interpreter.functions.invocation import call_function, call_method

    match collate:
        case Function():
            return call_function(frame, collate, Arguments((samples,)), node)
        case Partial(callee=Function() as function, args=args, kwargs=kwargs):
            return call_function(frame, function, Arguments((*args, samples), dict(kwargs)), node)
        case Method(receiver=Instance() as owner, name=name):
            return call_method(frame, owner, name, Arguments((samples,)), node)
        case Instance() if collate.cls.lookup("__call__") is not None:
            return call_method(frame, collate, "__call__", Arguments((samples,)), node)
    return None


def of_instance(frame: Frame, value: Instance, node: cst.CSTNode) -> Value:
    """What `for` gets from an object: from its iterator, or by index."""
    from shapelint.interpreter.functions.invocation import call_method

    if value.cls.lookup("__iter__") is not None:
        iterator = call_method(frame, value, "__iter__", Arguments(), node)
        if isinstance(iterator, Instance):  # often the object itself
            return call_method(frame, iterator, "__next__", Arguments(), node)
        return item(frame, iterator, node)
    if value.cls.lookup("__getitem__") is not None:
        return call_method(frame, value, "__getitem__", Arguments((Int(anonymous(frame.place(node), "i")),)), node)
    return UNKNOWN


def length(value: Value) -> Dim | None:
    match value:
        case Tuple(items=found):
            return as_dim(len(found))
        case Many(length=known):
            return known
        case Tensor(shape=shape):
            axis = shape.axis(0)
            return axis.size if axis is not None else None
        case Dict(items=found, other=None):
            return as_dim(len(found))
        case Layer():
            return count(value)
    return None


def sequence(frame: Frame, node: cst.ListComp | cst.GeneratorExp | cst.SetComp) -> Value:
    kind = {cst.ListComp: "list", cst.SetComp: "set"}.get(type(node), "generator")
    values: list[Value] = []
    size: Dim | None = None
    is_exact = False
    start = len(frame.run.events)
    site, clause = frame.site(node), node.for_in
    frame.tell(Comprehension(site, True, frame.site(clause.target), frame.site(clause.iter)))
    with inner_scope(frame):
        for rounds in bindings(frame, clause):
            size, is_exact = rounds
            values.append(element(frame, node))
    frame.tell(Comprehension(site, False))
    if is_exact:
        return Tuple(tuple(values), kind)
    if not values:
        return Many(UNKNOWN, kind=kind)
    result = values[0]
    for other in values[1:]:
        result = join(result, other, frame.place(node))
    if kind == "generator":
        passed = [e for e in frame.run.events[start:] if type(e) is Call and e.callee == Library("builtins.iter")]
        if passed:  # it goes through an iterator, and is one itself
            return iterators.made(frame, "builtins.iter", (), result, node)
    return Many(result, size, kind)


def element(frame: Frame, node: cst.ListComp | cst.GeneratorExp | cst.SetComp) -> Value:
    return expressions.evaluate(frame, node.elt)


def mapping(frame: Frame, node: cst.DictComp) -> Value:
    entries: list[tuple[Value, Value]] = []
    is_exact = False
    with inner_scope(frame):
        for rounds in bindings(frame, node.for_in):
            is_exact = rounds[1]
            key = expressions.evaluate(frame, node.key)
            entries.append((key, expressions.evaluate(frame, node.value)))
    keys = [expressions.key_of(key) for key, _ in entries]
    if is_exact and None not in keys:
        return Dict(tuple(dict(zip(keys, (value for _, value in entries))).items()))
    return Dict((), expressions.joined([value for _, value in entries], frame.place(node)) if entries else None)


class inner_scope:
    """The scope of a comprehension's own names. What its rounds find out is forgotten: there may be none."""

    def __init__(self, frame: Frame) -> None:
        self.frame, self.outer = frame, frame.scope
        self.facts, self.shapes = dict(frame.facts), dict(frame.shapes)

    def __enter__(self) -> None:
        self.frame.scope = Scope({}, self.outer, is_comprehension=True)

    def __exit__(self, *_: object) -> None:
        self.frame.scope, self.frame.facts, self.frame.shapes = self.outer, self.facts, self.shapes


def bindings(frame: Frame, clause: cst.CompFor) -> Iterator[tuple[Dim | None, bool]]:
    """Bind the targets of a comprehension, once for each known item, else once for all.

    Yields the number of items, if known, and whether the items are gone through one by one.
    """
    from shapelint.interpreter.flow import conditions
    from shapelint.interpreter.flow.assignments import assign

    iterable = expressions.evaluate(frame, clause.iter)
    iterators.used(frame, iterable, clause.iter)
    simple = not clause.ifs and clause.inner_for_in is None
    known = items(frame, iterable)
    choices = known if known is not None else (item(frame, iterable, clause.iter),)
    size = length(iterable) if simple or (known is None and clause.inner_for_in is None) else None
    for choice in choices:
        assign(frame, clause.target, choice)
        for test in clause.ifs:
            if expressions.truth_of(expressions.evaluate(frame, test.test)) is not True:
                size = None  # it may leave items out
            conditions.assume(frame, test.test, True)
        frame.alive = True
        if clause.inner_for_in is None:
            yield size, simple and known is not None
        else:
            for _ in bindings(frame, clause.inner_for_in):
                yield None, False
