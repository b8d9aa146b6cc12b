"""Control flow of jax over functions: scan, fori_loop, while_loop, cond, switch, map, and maps over trees.

What a loop carries has the shapes of what it began with, in every round, or jax refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import libcst as cst

from shapelint.domain.dims import anonymous
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
    Library,
    Method,
    Partial,
    Shape,
    Tensor,
    Tuple,
    Unknown,
    Value,
    maker_of,
    same_value,
)
from shapelint.events import Call, Item
from shapelint.interpreter import calls
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.libraries.jaxtransforms import batched, item_of, leading
from shapelint.interpreter.operations import Arguments

MOST_LEAVES = 16
KEYWORDS = {"init_val": "init", "body_fun": "body", "cond_fun": "cond", "upper_bound": "upper"}
Loop = Callable[[Frame, dict[str, Value], cst.Call], Value]


def call(frame: Frame, name: str, arguments: Arguments, node: cst.Call) -> Value | None:
    row = TABLE.get(name)
    if row is None:
        return None
    names, loop = row
    given = dict(zip(names, arguments.args)) | {KEYWORDS.get(key, key): v for key, v in arguments.kwargs.items()}
    rest = arguments.args[len(names) :]
    known = loop(frame, {**given, "rest": Tuple(rest)}, node) if arguments.complete else UNKNOWN
    return calls.opaque(frame, Library(name), arguments, node, known)


def applied(frame: Frame, function: Value | None, args: tuple[Value, ...], node: cst.Call) -> Value:
    """What a function of the linted code gives in one round."""
    is_followed = isinstance(function, Function | Method | Partial)
    return calls.dispatch(frame, function, Arguments(args), node) if function and is_followed else UNKNOWN


def traced(value: Value) -> Value:
    """A value as the body of a loop sees it: arrays, and numbers as scalar arrays, of which none is known."""
    match value:
        case Tensor(shape=shape, dtype=dtype):
            return Tensor(shape, dtype, "jax", made_by=value.made_by)
        case Int() | Float() | Const(value=bool()):
            return Tensor(Shape(), None, "jax")
        case Tuple(items=items):
            return replace(value, items=tuple(map(traced, items)), made_by=None)
        case Dict(items=items, other=None):
            return Dict(tuple((key, traced(item)) for key, item in items))
        case Instance(cls=cls, attributes=attributes):
            return Instance(cls, {name: traced(item) for name, item in attributes.items()})
        case Const(value=None):
            return NONE
    return UNKNOWN


def better(a: Value, b: Value) -> Value:
    """Two descriptions of values that have one structure and one shape: what is known by either."""
    match a, b:
        case Tensor(), Tensor():
            return b if a.shape.run is not None and b.shape.run is None else a
        case Tuple(items=xs), Tuple(items=ys) if len(xs) == len(ys):
            return replace(a, items=tuple(map(better, xs, ys)))
        case Unknown(), _:
            return traced(b)
    return a


def scan(frame: Frame, given: dict[str, Value], node: cst.Call) -> Value:
    """`carry, ys = scan(f, init, xs)`: f(carry, x) gives the next carry and one y, and the ys are stacked."""
    xs, carry = given.get("xs", NONE), traced(given.get("init", UNKNOWN))
    value = applied(frame, given.get("f"), (carry, item_of(xs) if xs != NONE else NONE), node)
    items = value.items if isinstance(value, Tuple) and len(value.items) == 2 else (UNKNOWN, UNKNOWN)
    after = better(carry, items[0])
    length = given.get("length")
    axes = [*leading(xs), Axis(length.dim if isinstance(length, Int) else anonymous(frame.place(node), "steps"))]
    ys = NONE if items[1] == NONE else batched(as_carried(items[1], items[0], after), axes[0])
    return Tuple((after, ys))


def as_carried(y: Value, carry: Value, known: Value) -> Value:
    """`return h, h`: what a round gives beside what it carries on is that itself, or a part of it."""
    if isinstance(y, Tuple):
        return replace(y, items=tuple(as_carried(item, carry, known) for item in y.items))
    if not isinstance(y, Tensor):
        return y
    if isinstance(carry, Tuple) and isinstance(known, Tuple) and len(carry.items) == len(known.items):
        pairs = zip(carry.items, known.items)
        return next((after for item, after in pairs if same_value(returned(y), returned(item))), y)
    return known if same_value(returned(y), returned(carry)) else y


def returned(value: Value) -> Value:
    """What a function gave as an element of a tuple, as it was there."""
    match maker_of(value):
        case Item(of=Call(result=Tuple(items=items)), index=index) if index < len(items):
            return returned(items[index])
    return value


def fori_loop(frame: Frame, given: dict[str, Value], node: cst.Call) -> Value:
    carry = traced(given.get("init", UNKNOWN))
    return better(carry, applied(frame, given.get("body"), (Tensor(Shape(), "int", "jax"), carry), node))


def while_loop(frame: Frame, given: dict[str, Value], node: cst.Call) -> Value:
    carry = traced(given.get("init", UNKNOWN))
    applied(frame, given.get("cond"), (carry,), node)
    return better(carry, applied(frame, given.get("body"), (carry,), node))


def cond(frame: Frame, given: dict[str, Value], node: cst.Call) -> Value:
    operands = given["rest"].items if isinstance(given["rest"], Tuple) else ()
    if "operand" in given:
        operands = (given["operand"],)
    found = [traced(applied(frame, given.get(name), operands, node)) for name in ("true_fun", "false_fun")]
    return better(*found)


def switch(frame: Frame, given: dict[str, Value], node: cst.Call) -> Value:
    branches, rest = given.get("branches"), given["rest"]
    if not isinstance(branches, Tuple) or not branches.items or not isinstance(rest, Tuple):
        return UNKNOWN
    found = [traced(applied(frame, branch, rest.items, node)) for branch in branches.items]
    result = found[0]
    for other in found[1:]:
        result = better(result, other)
    return result


def mapped(frame: Frame, given: dict[str, Value], node: cst.Call) -> Value:
    xs = given.get("xs", UNKNOWN)
    value = applied(frame, given.get("f"), (item_of(xs),), node)
    axes = leading(xs)
    return batched(value, axes[0]) if axes else UNKNOWN


def associative_scan(frame: Frame, given: dict[str, Value], node: cst.Call) -> Value:
    """The function is given any number of neighbours at once; what comes of all of them has the shapes of `elems`."""
    elems = traced(given.get("elems", UNKNOWN))
    if "axis" not in given:
        some = batched(item_of(elems), Axis(anonymous(frame.place(node), "some")))
        applied(frame, given.get("fn"), (some, some), node)
    return elems


def leaves_of(frame: Frame, given: dict[str, Value], node: cst.Call) -> Value:
    """`tree.leaves(tree)`: None is no leaf."""
    found = [leaf for leaf in tree_leaves(given.get("tree", UNKNOWN)) if leaf != NONE]
    is_known = "is_leaf" not in given and all(isinstance(leaf, Tensor | Int | Float) for leaf in found)
    return Tuple(tuple(found), "list") if is_known else UNKNOWN


def tree_map(frame: Frame, given: dict[str, Value], node: cst.Call) -> Value:
    """`tree.map(f, tree, *others)`: f of each leaf, in the structure of the first tree."""
    tree, rest, function = given.get("tree", UNKNOWN), given["rest"], given.get("f")
    others = rest.items if isinstance(rest, Tuple) else ()
    is_followed = isinstance(function, Function | Method | Partial | Library)
    if "is_leaf" in given or not is_followed or len(list(tree_leaves(tree))) > MOST_LEAVES:
        return UNKNOWN
    if function is None or (isinstance(function, Library) and function.name.startswith("builtins.")):
        return UNKNOWN
    return mapped_tree(frame, function, (tree, *others), node)


def mapped_tree(frame: Frame, function: Value, trees: tuple[Value, ...], node: cst.Call) -> Value:
    first = trees[0]
    match first:
        case Tuple(items=items):
            parts = [part_of(trees, index) for index in range(len(items))]
            return replace(first, items=tuple(mapped_tree(frame, function, p, node) for p in parts), made_by=None)
        case Dict(items=items, other=None):
            pairs = [(key, tuple(value_at(tree, key) for tree in trees)) for key, _ in items]
            return Dict(tuple((key, mapped_tree(frame, function, values, node)) for key, values in pairs))
        case Tensor() | Int() | Float():
            return calls.dispatch(frame, function, Arguments(trees), node)
        case Const(value=None):
            return NONE
    return UNKNOWN


def part_of(trees: tuple[Value, ...], index: int) -> tuple[Value, ...]:
    return tuple(t.items[index] if isinstance(t, Tuple) and index < len(t.items) else UNKNOWN for t in trees)


def value_at(tree: Value, key: object) -> Value:
    return (tree.get(key) if isinstance(tree, Dict) else None) or UNKNOWN


def tree_leaves(tree: Value) -> Iterator[Value]:
    match tree:
        case Tuple(items=items):
            for item in items:
                yield from tree_leaves(item)
        case Dict(items=pairs):
            for _, item in pairs:
                yield from tree_leaves(item)
        case _:
            yield tree


TABLE: Mapping[str, tuple[tuple[str, ...], Loop]] = {
    "jax.lax.scan": (("f", "init", "xs", "length"), scan),
    "jax.lax.fori_loop": (("lower", "upper", "body", "init"), fori_loop),
    "jax.lax.while_loop": (("cond", "body", "init"), while_loop),
    "jax.lax.cond": (("pred", "true_fun", "false_fun"), cond),
    "jax.lax.switch": (("index", "branches"), switch),
    "jax.lax.map": (("f", "xs"), mapped),
    "jax.lax.associative_scan": (("fn", "elems", "reverse", "axis"), associative_scan),
    **dict.fromkeys(("jax.tree.leaves", "jax.tree_util.tree_leaves"), (("tree", "is_leaf"), leaves_of)),
    **dict.fromkeys(("jax.tree.map", "jax.tree_map", "jax.tree_util.tree_map"), (("f", "tree"), tree_map)),
}
