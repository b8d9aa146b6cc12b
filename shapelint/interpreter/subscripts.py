"""Subscripts: of tensors by the ops of indexing, of shapes (which names axes), of sequences and annotations."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from shapelint.domain.dims import Origin, anonymous, as_dim
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Axis,
    Class,
    Const,
    Dict,
    Float,
    Hint,
    Instance,
    Int,
    Layer,
    Library,
    Many,
    Method,
    Namespace,
    Partial,
    Run,
    Shape,
    Slice,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
)
from shapelint.events import Input, Operation
from shapelint.interpreter import attributes, expressions
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.knowledge import learning
from shapelint.interpreter.libraries import spaces
from shapelint.interpreter.operations import Arguments, operate
from shapelint.ops import environments, part_of


def subscript(frame: Frame, node: cst.Subscript) -> Value:
    tensor_node = shape_owner(node.value)
    if tensor_node is not None:
        tensor = tensor_behind(frame, tensor_node)
        if tensor is not None:
            return frame.known(of_shape(frame, tensor, tensor_node, index_value(frame, node)))
    base = expressions.evaluate(frame, node.value)
    index = index_value(frame, node)
    return frame.known(item(frame, base, index, node))


def index_value(frame: Frame, node: cst.Subscript) -> Value:
    """What stands between the brackets, as Python hands it over."""
    parts = []
    for element in node.slice:
        inner = element.slice
        parts.append(expressions.evaluate(frame, inner.value if type(inner) is cst.Index else inner))
        if type(inner) is cst.Index and inner.star:
            return UNKNOWN  # x[*index]
    is_tuple = len(node.slice) > 1 or type(node.slice[0].comma) is cst.Comma
    return Tuple(tuple(parts)) if is_tuple else parts[0]


def item(frame: Frame, base: Value, index: Value, node: cst.Subscript) -> Value:
    from shapelint.interpreter.knowledge import uses

    match base:
        case Tensor():
            arguments = Arguments((base, index), {}, (node.value, node.slice[0]))
            if base.shape.run is not None:
                arguments = uses.informed(frame, uses.of_index(index), arguments, node)
            result = operate(frame, "operator.getitem", arguments, node)
            if isinstance(result, Unknown) and base.dtype is not None:  # whatever the index picks
                return replace(result, dtype=base.dtype)
            return UNKNOWN if result is None else result
        case Tuple():
            return of_tuple(frame, base, index, node)
        case Many(item=element):
            if not isinstance(index, Slice):
                return single(base, element, index.dim) if isinstance(index, Int) else element
            is_whole = index in (Slice(NONE, NONE, NONE), Slice(NONE, NONE, Int(as_dim(-1))))
            return Many(element, base.length if is_whole else None, base.kind)
        case Dict():
            return of_dict(frame, base, index, node)
        case Layer():
            found = part_of(base, index)
            return frame.unknown("?", node, "item", base) if found is None else found
        case Method(receiver=Tensor(), name="at"):
            return Partial(base, (index,))  # x.at[index], until its .set or .add is called
        case Library(name=name) if name in BRACKETED:
            return bracketed(frame, name, index, node)
        case Library(name="sys.modules"):
            return own_module(frame, node)
        case Hint() | Library() | Class() | Instance():
            from shapelint.interpreter.knowledge.contracts import subscripted

            return subscripted(base, index)
        case Union(options=options):
            return of_union(frame, tuple(option for option in options if option != NONE), index, node)
        case Unknown():
            if base.dtype is not None or looks_like_array_index(index):
                tensor = attributes.as_tensor(frame, base, node.value)
                return item(frame, tensor, index, node)
            return of_unknown(frame, base, index, node)
    return UNKNOWN


# Functions that are called with brackets: np.c_[np.ones(n), x]. r_ joins vectors end to end.
BRACKETED = {
    f"{library}.{name}": f"{library}.{function}"
    for library in ("numpy", "jax.numpy")
    for name, function in (("c_", "column_stack"), ("r_", "hstack"))
}


def bracketed(frame: Frame, name: str, index: Value, node: cst.Subscript) -> Value:
    parts = index.items if isinstance(index, Tuple) else (index,)
    is_plain = all(isinstance(part, Tensor | Unknown | Int | Float | Many) for part in parts)
    if not is_plain or (name.endswith("r_") and any(rank_of(part) not in {0, 1} for part in parts)):
        return UNKNOWN  # ranges, and strings that name axes
    result = operate(frame, BRACKETED[name], Arguments((Tuple(parts, "list"),), {}, (node,)), node)
    return UNKNOWN if result is None else result


def own_module(frame: Frame, node: cst.Subscript) -> Value:
    """`sys.modules[__name__]`: the names at the top level of this file, as they are when they are asked for."""
    match node.slice:
        case (cst.SubscriptElement(slice=cst.Index(value=cst.Name(value="__name__"))),):
            outermost = frame.scope
            while outermost.origin is None and outermost.parent is not None:
                outermost = outermost.parent
            return Namespace("", outermost.names)
    return UNKNOWN


def rank_of(value: Value) -> int | None:
    match value:
        case Tensor(shape=shape):
            return shape.rank
        case Int() | Float():
            return 0
    return None


def of_union(frame: Frame, options: tuple[Value, ...], index: Value, node: cst.Subscript) -> Value:
    """Of one of several: one operation where all are arrays, else only what the items have in common."""
    if all(isinstance(option, Tensor) for option in options):
        array = Union(options) if len(options) > 1 else options[0]
        result = operate(frame, "operator.getitem", Arguments((array, index), {}, (node.value, node.slice[0])), node)
        return UNKNOWN if result is None else result
    events, frame.run.events = frame.run.events, []  # what fails for one of them need not happen
    found = [item(frame, option, index, node) for option in options]
    frame.run.events = events
    return expressions.joined(found, frame.place(node))


def looks_like_array_index(index: Value) -> bool:
    """`x[:, 0]`, `x[..., None]`: only arrays take several indices with slices, None or an ellipsis among them.

    An array of jax that is not known to be a single number is an index of arrays alone, too.
    """
    match index:
        case Tensor(library="jax"):
            return index.shape.rank != 0
        case Tuple(items=items):
            return any(isinstance(i, Slice) or i in (NONE, Const(...)) for i in items)
        case Const(value=constant):
            return constant is None or constant is ...
    return False


def of_unknown(frame: Frame, base: Unknown, index: Value, node: cst.Subscript) -> Value:
    from shapelint.domain.dims import size

    symbol = base.dim.symbol if base.dim is not None else None
    name = constant_text(index)
    known = symbol is not None and name is not None
    dim = size(f"{symbol.name}[{name}]", symbol.scope) if symbol is not None and known else None
    graph = base.graph
    value = frame.unknown(name or "?", node, "item", base, dim)
    return Unknown(value.dim, graph, value.made_by)


def constant_text(index: Value) -> str | None:
    """A constant index as text: `cfg["width"]` is one size everywhere, `cfg[key]` is not."""
    match index:
        case Const(value=str() as text):
            return repr(text)
        case Int(dim=dim):
            return str(dim)
    return None


def of_tuple(frame: Frame, base: Tuple, index: Value, node: cst.Subscript) -> Value:
    match index:
        case Int(dim=dim) if dim.value is not None:
            if -len(base.items) <= dim.value < len(base.items):
                return base.items[dim.value]
            return UNKNOWN
        case Slice():
            known = constant_slice(index)
            return Many(UNKNOWN, kind=base.kind) if known is None else Tuple(base.items[known], base.kind)
    return expressions.joined(list(base.items), frame.place(node)) if base.items else UNKNOWN


def constant_slice(index: Slice) -> slice | None:
    """The slice, if its bounds are numbers or absent."""
    bounds: list[int | None] = []
    for part in (index.start, index.stop, index.step):
        match part:
            case Const(value=None):
                bounds.append(None)
            case Int(dim=dim) if dim.value is not None:
                bounds.append(dim.value)
            case _:
                return None
    return slice(*bounds)


def single(whole: Many | Dict, item: Value, key: object) -> Value:
    """One of the arrays of a list or dict that entered, or was made of one: another has its axes by chance only."""
    match item, whole.made_by:
        case Tensor(shape=Shape((), Run(scope=scope) as run, ())), Input() | None if scope is not None:
            return replace(item, shape=Shape((), Run(run.name, (run, key))))
    return item


def of_dict(frame: Frame, base: Dict, index: Value, node: cst.Subscript) -> Value:
    key = expressions.key_of(index)
    if key is not None:
        found = base.get(key)
        if found is None:
            return UNKNOWN
        if found is base.other and found is UNKNOWN:
            return frame.unknown(str(key), node, "item", base)
        if found is base.other and isinstance(found, Tensor) and isinstance(found.made_by, Operation):
            is_open = found.shape == Shape((), found.shape.run)
            shape = Shape((), Run("", (base, key))) if is_open else found.shape
            item = frame.unknown(str(key), node, "item", base)  # {k: f(v) for k, v in ...} has many of them
            return replace(found, shape=shape, made_by=item.made_by)
        return single(base, found, key) if found is base.other else found
    values = [value for _, value in base.items] + ([base.other] if base.other is not None else [])
    return expressions.joined(values, frame.place(node))


def shape_owner(node: cst.CSTNode) -> cst.BaseExpression | None:
    """`x` where the expression is `x.shape` or `x.size()`."""
    if type(node) is cst.Attribute:  # isinstance is slow on libcst's nodes, which are abstract base classes
        return node.value if node.attr.value == "shape" else None
    if type(node) is not cst.Call or type(node.func) is not cst.Attribute:
        return None
    match node:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="size")), args=()):
            return owner
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="shape")), args=(cst.Arg(value=owner),)):
            return owner  # np.shape(x)
    return None


def tensor_behind(frame: Frame, node: cst.BaseExpression) -> Tensor | None:
    """The array that an expression is, by virtue of its shape being asked for."""
    match expressions.evaluate(frame, node):
        case Tensor() as tensor:
            return tensor
        case Unknown() as unknown:
            return attributes.as_tensor(frame, unknown, node)
        case Layer(name=environments.SPACE) as space:
            return spaces.element(frame, space)
    return None


def of_shape(frame: Frame, tensor: Tensor, node: cst.BaseExpression, index: Value) -> Value:
    """`x.shape[index]`: an axis of unknown rank that is asked for exists, and gets a size of its own."""
    match index:
        case Int(dim=dim) if dim.value is not None:
            axis = tensor.shape.axis(dim.value)
            if axis is None and tensor.shape.run is not None:
                if may_overlap(tensor.shape, dim.value):
                    return Int(anonymous((tensor.made_by or tensor.shape.run, dim.value), f"shape[{dim.value}]"))
                tensor = with_axis(frame, tensor, node, dim.value)
                axis = tensor.shape.axis(dim.value)
            return Int(axis.size) if axis is not None else UNKNOWN
        case Slice():
            return shape_slice(tensor.shape, index)
    which = index.dim if isinstance(index, Int) else frame.place(node)
    return Int(anonymous((tensor.made_by, which), "shape[?]"))


def shape_slice(shape: Shape, index: Slice) -> Value:
    known = constant_slice(index)
    if known is None:
        return Many(UNKNOWN, kind="size")
    if shape.run is None:
        return sizes(shape.head[known])
    start, stop = known.start, known.stop
    if start is not None and start < 0 and stop is None and known.step is None and -start <= len(shape.tail):
        return sizes(shape.tail[start:])
    if not start and stop is not None and 0 <= stop <= len(shape.head) and known.step is None:
        return sizes(shape.head[:stop])
    return Many(UNKNOWN, kind="size")


def sizes(axes: tuple[Axis, ...]) -> Tuple:
    return Tuple(tuple(Int(axis.size) for axis in axes), "size")


def short_name(node: cst.BaseExpression) -> str:
    """What a tensor is called, for the names of its sizes."""
    match node:
        case cst.Name(value=name):
            return name
        case cst.Attribute(value=cst.Name(value=base), attr=cst.Name(value=name)):
            return f"{base}.{name}"
    return "?"


def may_overlap(shape: Shape, index: int) -> bool:
    """Whether the axis at `index` may be one of those that are known from the other end of the shape."""
    return bool(shape.tail if index >= 0 else shape.head)


def with_axis(frame: Frame, tensor: Tensor, node: cst.BaseExpression, index: int) -> Tensor:
    """The tensor with so many known axes that `index` is among them; the name it has is bound to that."""
    known = learning.with_axis(frame, tensor, index, short_name(node), frame.place(node))
    attributes.rebind(frame, node, known)
    return known


def is_unnamed(value: Value) -> bool:
    """An int that is an unknown size, so that a name for it is welcome."""
    if not isinstance(value, Int):
        return False
    symbol = value.dim.symbol
    return symbol is not None and symbol.origin is Origin.ANONYMOUS and symbol.derivation is None
