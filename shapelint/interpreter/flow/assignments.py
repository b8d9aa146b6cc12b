"""Assignment targets, and names that an author gives to axes: `b, t, c = x.shape`, `n = x.shape[0]`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from shapelint.domain.dims import Dim, Origin, Symbol, as_dim, axis
from shapelint.domain.joins import join
from shapelint.domain.tokens import token
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Axis,
    Const,
    Dict,
    Float,
    Function,
    Instance,
    Int,
    Layer,
    Library,
    Many,
    Partial,
    Shape,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    options,
)
from shapelint.events import Stored, Written
from shapelint.interpreter import attributes, containers, expressions, operators, subscripts
from shapelint.interpreter.flow import comprehensions, growth
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.libraries import objects
from shapelint.interpreter.operations import Arguments, operate
from shapelint.interpreter.scopes import learn
from shapelint.provenance import originate


def assign(frame: Frame, target: cst.CSTNode, value: Value, node: cst.CSTNode | None = None) -> None:
    """Bind a target. `node` is the statement, for events."""
    if type(target) is cst.Name:
        scope, name = frame.scope, target.value
        while name in frame.globals and scope.parent is not None and name not in scope.names:
            scope = scope.parent
        scope.names[name] = value
        if frame.run.watch is not None:
            frame.run.watch(frame, target, value)
        return
    match target:
        case cst.Attribute():
            set_attribute(frame, target, value, node or target)
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            unpack(frame, elements, value, node or target)
        case cst.StarredElement(value=inner):
            assign(frame, inner, value, node)
        case cst.Subscript():
            set_item(frame, target, value, node or target)


def unpack(frame: Frame, elements: Sequence[cst.BaseElement], value: Value, node: cst.CSTNode) -> None:
    targets = list(elements)
    star = next((i for i, e in enumerate(targets) if isinstance(e, cst.StarredElement)), None)
    if isinstance(value, Union) and star is None:
        value = of_length(value, len(targets))
    match value:
        case Tuple(items=items) if star is None and len(items) == len(targets):
            pass
        case Tuple(items=items) if star is not None and len(items) >= len(targets) - 1:
            after = len(items) - (len(targets) - star - 1)
            items = (*items[:star], Tuple(items[star:after], "list"), *items[after:])
        case _:
            frame.run.contradicted |= isinstance(value, Tuple)
            count = len(targets) if star is None else None
            items = tuple(part(frame, value, index, node, count) for index in range(len(targets)))
            if star is not None:
                items = (*items[:star], Many(UNKNOWN), *items[star + 1 :])
    for element, item in zip(targets, items):
        assign(frame, element.value, item, node)


def of_length(value: Union, count: int) -> Value:
    """`state, info = env.reset()`: of several values the one that has so many items; all where none or several do.

    An array of unknown size counts as one of any other size.
    """
    fitting = [option for option in value.options if may_have_length(option, count)]
    if len(fitting) > 1:
        fitting = [option for option in fitting if not isinstance(option, Tensor)]
    return fitting[0] if len(fitting) == 1 else value


def may_have_length(value: Value, count: int) -> bool:
    length = comprehensions.length(value)
    return value != NONE and (length is None or length.value in {None, count})


def part(frame: Frame, value: Value, index: int, node: cst.CSTNode, count: int | None) -> Value:
    """One of `count` elements (None: or more) of something that is unpacked without its elements being known."""
    match value:
        case Union(options=options) if not operators.is_array(value):
            parts = [part(frame, option, index, node, count) for option in options]
            result = parts[0]
            for other in parts[1:]:
                result = join(result, other, (frame.place(node), index))
            return result
        case Tuple(items=items):
            fits = index < len(items) if count is None else count == len(items)
            return items[index] if fits else UNKNOWN
        case Unknown(graph=graph):
            found = frame.unknown(str(index), node, "item", value)
            return Unknown(None, graph, found.made_by)
        case Many(item=Unknown(graph=graph, made_by=made, dtype=dtype) as item) if made is not None:
            return Unknown(None, graph, frame.unknown(str(index), node, "item", item).made_by, dtype)  # none is another
        case Many(item=item):
            return subscripts.single(value, item, as_dim(index))
    return comprehensions.item(frame, value, node)


def set_attribute(frame: Frame, target: cst.Attribute, value: Value, node: cst.CSTNode) -> None:
    owner = expressions.evaluate(frame, target.value)
    name = target.attr.value
    if name == "requires_grad" and isinstance(owner, Unknown) and "torch" in frame.run.libraries:
        owner = attributes.as_tensor(frame, owner, target.value, "torch")
    if name == "requires_grad" and isinstance(owner, Tensor) and owner.library in {None, "torch"}:
        changed = operate(frame, "torch.Tensor.requires_grad_", Arguments((owner, value), {}, (target.value,)), node)
        if isinstance(changed, Tensor):
            attributes.rebind(frame, target.value, changed)
        return
    if isinstance(owner, Library) and isinstance(value, Function | Partial):
        frame.run.changed.add(owner.name.partition(".")[0])
    if not isinstance(owner, Instance):
        frame.tell(Written(owner, name, value, frame.site(node)))
        return
    attributes.keep(frame, owner, name, value, target)
    method = frame.function.name if frame.function is not None else ""
    frame.tell(Stored(owner, name, value, frame.site(node), None, method))
    if frame.run.watch is not None:
        frame.run.watch(frame, target, value)


def delete_attribute(frame: Frame, target: cst.Attribute, node: cst.CSTNode) -> None:
    """`del self.layers`: nothing is left of what it was."""
    owner, name = expressions.evaluate(frame, target.value), target.attr.value
    if isinstance(owner, Instance):
        attributes.keep(frame, owner, name, UNKNOWN, target)
        method = frame.function.name if frame.function is not None else ""
        frame.tell(Stored(owner, name, NONE, frame.site(node), None, method))


def set_item(frame: Frame, target: cst.Subscript, value: Value, node: cst.CSTNode) -> None:
    container = expressions.evaluate(frame, target.value)
    index = subscripts.index_value(frame, target)
    if isinstance(container, Unknown) and container.dtype is not None:
        container = attributes.as_tensor(frame, container, target.value)
    if isinstance(container, Dict | Unknown) and frame.loops:
        growth.summed(frame, target, value, node)
    match container:
        case Tensor() | Union() if all(isinstance(option, Tensor) for option in options(container)):
            set_elements(frame, target, container, index, value, node)
        case Dict():
            changed = with_entry(frame, container, expressions.key_of(index), value, node)
            containers.change(frame, target.value, changed, value, node)
        case Layer():
            objects.resized(frame, container, target.value)
        case Unknown() if isinstance(index, Const):
            frame.tell(Written(container, repr(index.value), value, frame.site(node)))
        case Unknown() if isinstance(value, Layer):
            frame.tell(Written(container, frame.site(target).text, value, frame.site(node)))
        case Many(item=item, kind="list"):
            growth.replaced(frame, target.value, item, value)
            either = containers.either(frame, item, value, node)
            containers.change(frame, target.value, replace(container, item=either, tail=()), value, node)
        case Tuple(kind=kind):
            if kind in {"Sequential", "ModuleList"}:
                frame.tell(Written(container, frame.site(target).text, value, frame.site(node)))
            containers.change(frame, target.value, with_item(container, index, value), value, node)


def with_entry(frame: Frame, whole: Dict, key: object, value: Value, node: cst.CSTNode) -> Dict:
    """A dict in which a key has another value; on one of several paths it may have, and so may all where none is known.

    Layers and objects are what they were: what is told apart there is not what they hold.
    """

    def perhaps(old: Value, place: object) -> Value:
        return join(old, value, (frame.place(node), place)) if type(old) in NUMBERS else old

    if key is not None and not frame.branch_depth:
        return replace(whole, items=(*((k, v) for k, v in whole.items if k != key), (key, value)))
    items = tuple((k, perhaps(v, k) if key in {None, k} else v) for k, v in whole.items)
    if key is None or all(key != k for k, _ in items):
        other = value if whole.other is None else join(whole.other, value, frame.place(node))
        whole = replace(whole, other=other)
    return replace(whole, items=items)


NUMBERS = frozenset({Tensor, Int, Float, Union, Tuple, Many})


def set_elements(
    frame: Frame, target: cst.Subscript, array: Tensor | Union, index: Value, value: Value, node: cst.CSTNode
) -> None:
    """`x[index] = value` for an array: it keeps its shape, whatever the index picks."""
    arguments = Arguments((array, index, value), {}, (target.value, target.slice[0], getattr(node, "value", None)))
    result = operate(frame, "operator.setitem", arguments, node)
    if isinstance(result, Unknown) and result.made_by is not None:
        result = originate(array, result.made_by)
    if isinstance(result, Tensor | Union):
        attributes.rebind(frame, target.value, result)


def with_item(items: Tuple, index: Value, value: Value) -> Value:
    """A list with another item at an index; of unknown items where the index is not known."""
    match index:
        case Int(dim=Dim(value=int(place))) if -len(items.items) <= place < len(items.items):
            changed = list(items.items)
            changed[place] = value
            return Tuple(tuple(changed), items.kind)
    return Many(UNKNOWN, None, items.kind)


def names_axes(frame: Frame, target: cst.BaseAssignTargetExpression, source: cst.BaseExpression) -> bool:
    """`b, t, c = x.shape`: the names become the axes of x. False where the statement is none of that kind."""
    owner = subscripts.shape_owner(source)
    if owner is None or not isinstance(target, cst.Tuple | cst.List):
        return False
    tensor = subscripts.tensor_behind(frame, owner)
    if tensor is None:
        return False
    targets = [element.value for element in target.elements]
    star = next((i for i, e in enumerate(target.elements) if isinstance(e, cst.StarredElement)), None)
    shape = unpacked(frame, tensor, owner, len(targets), star)
    if shape is None:
        return False
    count = len(targets) if star is None else star
    for index in range(count):
        bind_axis(frame, targets[index], shape.head[index])
    if star is not None:
        behind = len(targets) - star - 1
        side = shape.tail if shape.run is not None else shape.head
        rest = Many(UNKNOWN, kind="size")
        if shape.run is None:
            sizes = shape.head[star : len(shape.head) - behind]
            assign(frame, targets[star], Tuple(tuple(Int(a.size) for a in sizes), "list"))
        else:
            assign(frame, targets[star], rest)
        for index in range(1, behind + 1):
            bind_axis(frame, targets[-index], side[-index])
    return True


def unpacked(frame: Frame, tensor: Tensor, node: cst.BaseExpression, count: int, star: int | None) -> Shape | None:
    """The shape once it is known to have as many axes as there are targets; None where it cannot."""
    from shapelint.interpreter.flow.conditions import has_rank

    shape = tensor.shape
    if star is None:
        if shape.run is None:
            return shape if len(shape.head) == count else None
        has_rank(frame, node, count)
        known = subscripts.tensor_behind(frame, node)
        if known is not None and known.shape.run is None and len(known.shape.head) == count:
            return known.shape
        return rank_only(frame, tensor, node, count)
    if shape.run is None:
        return shape if len(shape.head) >= count - 1 else None
    for index in ([star - 1] if star else []) + ([star + 1 - count] if star + 1 < count else []):
        tensor = subscripts.with_axis(frame, tensor, node, index)
    return tensor.shape


def rank_only(frame: Frame, tensor: Tensor, node: cst.BaseExpression, count: int) -> Shape:
    """The axes of a tensor that has no name to refine."""
    from shapelint.domain.dims import anonymous

    origin = tensor.made_by if tensor.made_by is not None else frame.place(node)
    return Shape(tuple(Axis(anonymous((origin, i))) for i in range(count)))


def bind_axis(frame: Frame, target: cst.BaseExpression, found: Axis) -> None:
    """A name for an axis: an unknown size takes it, a known one keeps what it is."""
    from shapelint.domain.dims import substitute

    size = substitute(found.size, frame.facts)
    symbol = size.symbol
    name = name_given(target)
    is_open = symbol is not None and (is_nameless(symbol) or is_of_pattern(frame, symbol))
    if name not in {None, "_"} and symbol is not None and is_open:
        size = axis(str(name), frame.key)
        learn(frame.facts, as_dim(symbol), size)
    assign(frame, target, Int(size))


def name_given(target: cst.CSTNode) -> str | None:
    """What `n` and `self.n` call a size."""
    if type(target) is cst.Name:
        return target.value
    is_own = type(target) is cst.Attribute and type(target.value) is cst.Name
    return target.attr.value if is_own else None  # type: ignore[attr-defined]


def is_nameless(symbol: Symbol) -> bool:
    return symbol.origin is Origin.ANONYMOUS and symbol.derivation is None


def is_of_pattern(frame: Frame, symbol: Symbol) -> bool:
    """Whether it is a letter of a pattern in this function, which means nothing outside of the pattern."""
    scope = symbol.scope
    return symbol.origin is Origin.AXIS and scope != token(frame.key) and isinstance(scope, int) and scope > frame.begun


def named_size(frame: Frame, target: cst.CSTNode, source: cst.BaseExpression, value: Value) -> Value:
    """`n = x.shape[0]`, `n = len(x)`: an unknown size takes the name that it is given."""
    name = name_given(target)
    if name is None or not subscripts.is_unnamed(value) or not asks_for_size(source):
        return value
    assert isinstance(value, Int)
    symbol = value.dim.symbol
    assert isinstance(symbol, Symbol)
    size = axis(name, frame.key)
    learn(frame.facts, value.dim, size)
    return Int(size)


def asks_for_size(node: cst.BaseExpression) -> bool:
    match node:
        case cst.Subscript(value=inner):
            return subscripts.shape_owner(inner) is not None
        case cst.Call(func=cst.Name(value="len")):
            return True
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="size"))):
            return True
    return False
