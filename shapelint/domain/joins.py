"""What is known of a value where two paths meet, and once more is known of its sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import reduce

from shapelint.domain.dims import Dim, Symbol, anonymous, substitute
from shapelint.domain.tokens import is_met
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Axis,
    Dict,
    Float,
    Graph,
    Int,
    Layer,
    Many,
    Run,
    Shape,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    graph_of,
    maker_of,
    options,
    same_value,
    tensors_in,
)

MOST_OPTIONS = 4


def join(a: Value, b: Value, scope: object = None) -> Value:
    """What is known of a value that is `a` on one path and `b` on the other.

    `scope` identifies the meeting point: sizes that differ become unknown sizes of it.
    """
    if a is b or (a == b and same_value(a, b)):
        return a
    if maker_of(a) is not None and maker_of(a) is maker_of(b):
        vaguer = _vaguer(a, b)
        if vaguer is not None:
            return vaguer
    match a, b:
        case Tensor(), Tensor() if _alike(a.shape, b.shape):
            return _join_tensors(a, b, scope)
        case Int(), Int() if a.dim == b.dim:
            return replace(a, made_by=None)
        case Float(), Float():
            default = a.default if a.default == b.default else None
            value, graph = a.value if a.value == b.value else None, _join_graphs(a.graph, b.graph)
            return Float(value, graph, b.made_by if _is_same_place(a, b) else None, default)
        case Unknown(), Unknown():
            dtype = a.dtype if a.dtype == b.dtype else None
            return Unknown(a.dim if a.dim == b.dim else None, _join_graphs(a.graph, b.graph), dtype=dtype)
        case Tuple(), Tuple() if len(a.items) == len(b.items) and a.kind == b.kind:
            items = tuple(join(x, y, (scope, i)) for i, (x, y) in enumerate(zip(a.items, b.items)))
            return replace(a, items=items, made_by=a.made_by if a.made_by is b.made_by else None)
        case Many(), Many() if a.kind == b.kind:
            length = a.length if a.length == b.length else None
            return Many(join(a.item, b.item, scope), length, a.kind)
        case Tuple(kind="list" | "deque") | Many(kind="list"), Tuple(kind="list" | "deque") | Many(kind="list"):
            return _join_lists(a, b, scope)
        case Dict(), Dict():
            return _join_dicts(a, b, scope)
    if a == b:
        return a
    return _unite(a, b)


def _is_same_place(a: Float, b: Float) -> bool:
    """Whether one expression gives both, in two rounds of a loop."""
    x, y = getattr(a.made_by, "site", None), getattr(b.made_by, "site", None)
    return x is not None and y is not None and x.node is y.node


def _vaguer(a: Value, b: Value) -> Value | None:
    """Of one value, of which only one path tells that it is an array, or how many axes it has: what both know."""
    match a, b:
        case (Unknown() as vague, Tensor()) | (Tensor(), Unknown() as vague):
            return vague
        case Tensor(), Tensor() if a.shape.run != b.shape.run:
            return a if b.shape.run is None or a.shape.least_rank < b.shape.least_rank else b
    return None


def _alike(a: Shape, b: Shape) -> bool:
    return len(a.head) == len(b.head) and len(a.tail) == len(b.tail) and a.run == b.run


def _join_tensors(a: Tensor, b: Tensor, scope: object) -> Tensor:
    def meet(x: Axis, y: Axis) -> Axis:
        if x.size == y.size:
            return Axis(x.size, x.factors if x.factors == y.factors else (), x.maker if x.maker is y.maker else None)
        return Axis(anonymous((scope, x.size, y.size)))  # axes that are alike on both paths stay alike

    head = tuple(map(meet, a.shape.head, b.shape.head))
    tail = tuple(map(meet, a.shape.tail, b.shape.tail))
    return Tensor(
        Shape(head, a.shape.run, tail),
        a.dtype if a.dtype == b.dtype else None,
        a.library if a.library == b.library else None,
        _join_graphs(a.graph, b.graph),
        a.made_by if a.made_by is b.made_by else None,
    )


def _join_graphs(a: Graph, b: Graph) -> Graph:
    return a if a == b else Graph(origins=a.origins | b.origins)


def _join_lists(a: Tuple | Many, b: Tuple | Many, scope: object) -> Many:
    """Lists of different lengths: any number of what all items have in common."""
    items = [item for part in (a, b) for item in (part.items if isinstance(part, Tuple) else (part.item,))]
    return Many(reduce(lambda x, y: join(x, y, scope), items, items[0] if items else UNKNOWN), None, "list")


def _join_dicts(a: Dict, b: Dict, scope: object) -> Dict:
    keys = [k for k, _ in a.items] + [k for k, _ in b.items if all(k != key for key, _ in a.items)]
    items = []
    for key in keys:
        x, y = a.get(key), b.get(key)
        items.append((key, join(x, y, (scope, str(key))) if x is not None and y is not None else (x or y or UNKNOWN)))
    other = join(a.other, b.other, scope) if a.other and b.other else a.other or b.other
    return Dict(tuple(items), other, b.kind if a.kind == "dict" else a.kind)


def _unite(a: Value, b: Value) -> Value:
    distinct: list[Value] = []
    for option in (*options(a), *options(b)):
        if option not in distinct:
            distinct.append(option)
    if len(distinct) > MOST_OPTIONS:
        distinct = _of_one_name(distinct)
    if len(distinct) <= MOST_OPTIONS and not any(isinstance(option, Unknown) for option in distinct):
        return Union(tuple(distinct))
    graphs = [graph_of(option) for option in distinct if option != NONE]
    return Unknown(graph=reduce(_join_graphs, graphs))


def _of_one_name(values: list[Value]) -> list[Value]:
    """Of the layers of each kind one, which is like all of them."""
    found: dict[object, Value] = {}
    for value in values:
        key = value.name if type(value) is Layer else id(value)
        first = found.get(key)
        if type(first) is Layer and type(value) is Layer:
            a, b = first.config, value.config
            value = Layer(value.name, {n: a[n] if n in a and a[n] == b.get(n) else UNKNOWN for n in {**a, **b}})
        found[key] = value
    return list(found.values())


def widened(value: Value, scope: object, grows: bool = True) -> Value:
    """One of several values of a kind, of which a next round may bring another: any value of that kind.

    `grows`: one of them may have been computed from another, as the next one will be.
    """
    if isinstance(value, Many) and isinstance(value.item, Float):
        return replace(value, item=replace(value.item, value=None))
    if not isinstance(value, Union):
        return value
    kinds = [type(option) for option in value.options]
    if set(kinds) == {Int, Float}:  # R = 0, and in each round R = r + gamma * R
        return Float(None, reduce(_join_graphs, map(graph_of, value.options)))
    if len(set(kinds)) == len(kinds):
        return value
    found: dict[type, Value] = {}
    for option in value.options:
        first = found.setdefault(type(option), option)
        if first is not option:
            found[type(option)] = _generalised(first, option, scope, grows)
    options = tuple(found.values())
    return options[0] if len(options) == 1 else Union(options)


def any_like(value: Value, scope: object) -> Value:
    """A value of the same kind and rank, of any size."""
    match value:
        case Tensor(shape=Shape(head, run, tail)):
            front = tuple(Axis(anonymous((scope, i))) for i in range(len(head)))
            back = tuple(Axis(anonymous((scope, -i))) for i in range(len(tail), 0, -1))
            return replace(value, shape=Shape(front, None if run is None else Run("", scope), back))
        case Int():
            return replace(value, dim=anonymous(scope))
        case Unknown():
            return replace(value, dim=None)
        case Float(value=float()):
            return replace(value, value=None)
        case Tuple(items=items, kind=kind) if kind in {"tuple", "list", "size"}:
            return replace(value, items=tuple(any_like(item, (scope, i)) for i, item in enumerate(items)))
        case Many(item=item):
            return replace(value, item=any_like(item, scope), length=None, tail=())
    return value


def renewed(value: Value, since: int, scope: object) -> Value:
    """`value` of another round: what was unknown since then is now unknown anew."""
    found = {s for tensor in tensors_in((value,)) for size in tensor.shape.sizes for s in leaves(size)}
    return resolve(value, {s: anonymous((scope, s), s.name) for s in found if s.scope is not None and s.scope > since})  # type: ignore[operator]


def renewed_shape(shape: Shape, since: int, scope: object) -> Shape:
    """The shape of a value of another round: its unknown axes are others."""
    known = renewed(Tensor(shape), since, scope)
    assert isinstance(known, Tensor)
    run = known.shape.run
    return replace(known.shape, run=Run("", (scope, run))) if run is not None else known.shape


def leaves(size: Dim) -> Iterator[Symbol]:
    """The symbols of a size, those inside of derived ones too."""
    for symbol in size.symbols():
        if symbol.derivation is None:
            yield symbol
        else:
            for operand in symbol.derivation.operands:
                yield from leaves(operand)


def _generalised(a: Value, b: Value, scope: object, grows: bool) -> Value:
    match a, b:
        case Int(), Int():
            return Int(anonymous(scope))
        case Tensor(), Tensor():
            dtype, library = a.dtype if a.dtype == b.dtype else None, a.library if a.library == b.library else None
            shape = _common_ends(a.shape, b.shape, scope, grows)
            return Tensor(shape, dtype, library, _join_graphs(a.graph, b.graph))
        case Tuple(), Tuple():
            return Many(UNKNOWN, None, a.kind)
    return Unknown(graph=_join_graphs(graph_of(a), graph_of(b)))


def _common_ends(a: Shape, b: Shape, scope: object, grows: bool) -> Shape:
    """Of two rounds' shapes that may differ in rank: the axes that both have, counted from either end.

    What grows has open sizes, also where they are alike so far: (2,) became (2, 2), the next round makes (3, 2) of it.
    """
    head = tuple(_common(x, y, (scope, i), grows) for i, (x, y) in enumerate(zip(a.head, b.head)))
    tail = tuple(_common(x, y, (scope, ~i), grows) for i, (x, y) in enumerate(zip(a.tail[::-1], b.tail[::-1])))
    return Shape(head, Run("", scope), tail[::-1])


def _common(x: Axis, y: Axis, scope: object, grows: bool) -> Axis:
    if grows or x.size != y.size:
        return Axis(anonymous(scope))
    return Axis(x.size, x.factors if x.factors == y.factors else ())


NO_SHAPES: Mapping[Run, Shape] = {}
SIZED = frozenset({Tensor, Unknown, Int, Tuple, Many, Union})  # what `resolve` can know more of


def resolve(value: Value, facts: Mapping[Symbol, Dim], shapes: Mapping[Run, Shape] = NO_SHAPES) -> Value:
    """`value` with its sizes, and the axes of its runs, replaced by what is known of them by now."""
    match value:
        case Tensor(shape=shape):
            known = resolve_shape(filled(shape, shapes), facts)
            return value if known is shape else replace(value, shape=known)
        case Unknown(made_by=made_by) if shapes and is_met(made_by) and (run := Run("", made_by)) in shapes:
            return resolve(Tensor(Shape((), run), value.dtype, None, value.graph, made_by), facts, shapes)
        case Int(dim=dim) | Unknown(dim=Dim() as dim) if facts:
            better = substitute(dim, facts)
            return value if better == dim else replace(value, dim=better)
        case Tuple(items=items):
            known_items = tuple(resolve(item, facts, shapes) for item in items)
            return value if all(x is y for x, y in zip(items, known_items)) else replace(value, items=known_items)
        case Many(item=item):
            known_item = resolve(item, facts, shapes)
            length = substitute(value.length, facts) if value.length is not None and facts else value.length
            return (
                value
                if known_item is item and length == value.length
                else replace(value, item=known_item, length=length)
            )
        case Union(options=each) if shapes:
            known_each = tuple(resolve(option, facts, shapes) for option in each)
            return value if all(x is y for x, y in zip(each, known_each)) else replace(value, options=known_each)
    return value


def filled(shape: Shape, shapes: Mapping[Run, Shape]) -> Shape:
    """`shape` with the axes that its run turned out to have."""
    while shape.run is not None and (found := shapes.get(shape.run)) is not None:
        if found.run is None:
            return Shape((*shape.head, *found.head, *shape.tail))
        shape = Shape((*shape.head, *found.head), found.run, (*found.tail, *shape.tail))
    return shape


def resolve_shape(shape: Shape, facts: Mapping[Symbol, Dim]) -> Shape:
    if not facts or not any(
        s in facts or s.derivation for axis in shape.axes for part in axis.parts for s in part.symbols()
    ):
        return shape

    def known(axis: Axis) -> Axis:
        factors = tuple(substitute(f, facts) for f in axis.factors)
        return Axis(substitute(axis.size, facts), factors, axis.maker)

    return Shape(tuple(map(known, shape.head)), shape.run, tuple(map(known, shape.tail)))
