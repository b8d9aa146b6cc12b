"""Conditions: what is known on the path on which a test came out true, or false."""

from __future__ import annotations

import libcst as cst

from shapelint.domain.dims import ONE, Origin, Symbol, as_dim
from shapelint.domain.values import (
    NONE,
    Class,
    Const,
    Float,
    Instance,
    Int,
    Library,
    Shape,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    options,
    same_value,
)
from shapelint.events import Input, Kind, Operation
from shapelint.interpreter import attributes, expressions, operators, subscripts
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.knowledge import learning
from shapelint.interpreter.scopes import Path, learn
from shapelint.ops.questions import may_be_object

ARRAY_CLASSES = {"torch.Tensor": "torch", "numpy.ndarray": "numpy", "jax.Array": "jax", "jax.numpy.ndarray": "jax"}


def assume(frame: Frame, test: cst.BaseExpression, truth: bool) -> None:
    """Refine the state to the path on which `test` is `truth`; a path that cannot be is dead."""
    if type(test) is cst.Name:  # first what is most frequent: isinstance is slow on libcst's nodes
        present(frame, test, truth)
        return
    if type(test) is cst.Comparison:
        if len(test.comparisons) == 1:
            target = test.comparisons[0]
            compared(frame, test.left, type(target.operator).__name__, target.comparator, truth)
        return
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=inner):
            assume(frame, inner, not truth)
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            if isinstance(operator, cst.And) is truth:
                assume(frame, left, truth)
                assume(frame, right, truth)
        case cst.Call(func=cst.Name(value="isinstance"), args=(cst.Arg(value=subject), cst.Arg(value=kind))):
            of_class(frame, subject, kind, truth)
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="is_tensor")), args=(cst.Arg(value=subject),)):
            of_class(frame, subject, None, truth)


def compared(frame: Frame, left: cst.BaseExpression, operator: str, right: cst.BaseExpression, truth: bool) -> None:
    if type(right) is cst.Integer and type(left) in NAMED:
        without_default(frame, left, operator, right, truth)
    match operator, right:
        case _ if type(right) is cst.Integer and (operator, right.value, truth) in AT_MOST_ONE:
            is_one(frame, left)
        case ("Is" | "Equal" | "IsNot" | "NotEqual", cst.Name(value="tuple" | "list" | "dict" | "int" | "str")):
            of_type(frame, left, right, truth is (operator in {"Is", "Equal"}))
        case ("Is" | "Equal", cst.Name(value="None")):
            is_none(frame, left, truth)
        case ("IsNot" | "NotEqual", cst.Name(value="None")):
            is_none(frame, left, not truth)
        case ("Equal", _) if truth:
            equal(frame, left, right)
        case ("NotEqual", _) if not truth:
            equal(frame, left, right)
        case ("Equal" | "NotEqual", _):
            different(frame, left, right)
        case _ if rank_of(left) is not None and operator in operators.ORDERINGS:  # while x.ndim < y.ndim
            x, y = quietly(frame, left), quietly(frame, right)
            if isinstance(x, Int) and isinstance(y, Int):
                frame.alive = operators.compared(operator, x.dim, y.dim) != Const(not truth)


NAMED = frozenset({cst.Name, cst.Attribute})


def without_default(frame: Frame, left: cst.BaseExpression, operator: str, right: cst.Integer, truth: bool) -> None:
    """`if width == 6: ... else:` where 6 is the default of a parameter: there it has another value."""
    value = quietly(frame, left)
    symbol = value.dim.symbol if isinstance(value, Int) else None
    ordering = operators.ORDERINGS.get(operator)
    if symbol is None or symbol.default is None or ordering is None:
        return
    if ordering(symbol.default, right.evaluated_value) is not truth:
        learn(frame.facts, as_dim(symbol), as_dim(Symbol(symbol.name, symbol.origin, ("given", symbol))))


# Tests that come out so where a size is 1: an axis has no fewer elements.
AT_MOST_ONE = frozenset(
    {
        *(("GreaterThan", "1", False), ("GreaterThanEqual", "2", False)),
        *(("LessThanEqual", "1", True), ("LessThan", "2", True)),
    }
)


def is_one(frame: Frame, node: cst.BaseExpression) -> None:
    """`if n > 1: ... else:` where n is the size of an axis."""
    value = quietly(frame, node)
    symbol = value.dim.symbol if isinstance(value, Int) else None
    if symbol is not None and symbol.origin in {Origin.AXIS, Origin.ANONYMOUS}:
        learn(frame.facts, as_dim(symbol), ONE)


def of_type(frame: Frame, node: cst.BaseExpression, kind: cst.BaseExpression, truth: bool) -> None:
    """`type(x) == tuple`."""
    match node:
        case cst.Call(func=cst.Name(value="type"), args=(cst.Arg(value=subject),)):
            of_class(frame, subject, kind, truth)


def equal(frame: Frame, left: cst.BaseExpression, right: cst.BaseExpression) -> None:
    """Both sides are equal from here on: sizes, whole shapes, or a rank."""
    rank_owner = rank_of(left)
    x, y = quietly(frame, left), quietly(frame, right)
    if rank_owner is not None and isinstance(y, Int) and y.dim.value is not None:
        has_rank(frame, rank_owner, y.dim.value)
        return
    owner, other = subscripts.shape_owner(left), subscripts.shape_owner(right)
    if owner is not None and isinstance(y, Tuple):
        has_shape(frame, owner, y)
        x = quietly(frame, left)
    elif owner is not None and other is not None and isinstance(x, Tuple):
        has_shape(frame, other, x)
        y = quietly(frame, right)
    elif owner is not None and other is not None:
        learning.are_alike(frame, quietly(frame, owner), quietly(frame, other))
    pairs = list(zip(x.items, y.items)) if isinstance(x, Tuple) and isinstance(y, Tuple) else [(x, y)]
    for a, b in pairs:
        if isinstance(a, Int | Unknown) and isinstance(b, Int | Unknown) and Int in (type(a), type(b)):
            both_known = a.dim is not None and b.dim is not None
            if both_known and not learn(frame.facts, a.dim, b.dim):  # type: ignore[arg-type]
                frame.alive = False


def different(frame: Frame, left: cst.BaseExpression, right: cst.BaseExpression) -> None:
    owner = rank_of(left)
    if owner is None:
        return
    tensor, other = quietly(frame, owner), quietly(frame, right)
    if isinstance(tensor, Tensor) and isinstance(other, Int) and tensor.shape.rank == other.dim.value is not None:
        frame.alive = False


def rank_of(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """`x` where the expression is its rank: x.ndim, x.dim(), len(x.shape), len(x.size())."""
    if type(node) is cst.Attribute:
        return node.value if node.attr.value == "ndim" else None
    if type(node) is not cst.Call:
        return None
    match node:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="dim" | "ndimension")), args=()):
            return owner
        case cst.Call(func=cst.Name(value="len"), args=(cst.Arg(value=inner),)):
            return subscripts.shape_owner(inner)
        case cst.Call(func=cst.Attribute(attr=cst.Name(value="ndim")), args=(cst.Arg(value=owner),)):
            return owner
    return None


def has_rank(frame: Frame, node: cst.BaseExpression, rank: int) -> None:
    tensor = subscripts.tensor_behind(frame, node)
    if tensor is None:
        return
    known = learning.with_rank(frame, tensor, rank, subscripts.short_name(node), frame.place(node))
    if known is None:
        frame.alive = False
    elif known is not tensor:
        attributes.rebind(frame, node, known)


def has_shape(frame: Frame, node: cst.BaseExpression, shape: Tuple) -> None:
    tensor = subscripts.tensor_behind(frame, node)
    if tensor is None or tensor.shape.run is None:
        return
    has_rank(frame, node, len(shape.items))


def is_none(frame: Frame, node: cst.BaseExpression, truth: bool) -> None:
    value = quietly(frame, node)
    if isinstance(value, Unknown):
        if truth:
            refine(frame, node, NONE)
        return
    narrow(frame, node, value, [o for o in options(value) if (o == NONE) is truth or may_be_object(o)])


def narrow(frame: Frame, node: cst.BaseExpression, value: Value, kept: list[Value]) -> None:
    if not kept:
        frame.alive = False
    elif len(kept) < len(options(value)):
        refine(frame, node, kept[0] if len(kept) == 1 else Union(tuple(kept)))


def refine(frame: Frame, node: cst.BaseExpression, value: Value) -> None:
    """What a test says of a name or of an attribute, on this path alone: attributes are told to the path's end."""
    match node:
        case cst.Attribute(value=cst.Name(value=base), attr=cst.Name(value=name)):
            owner = frame.scope.lookup(base)
            if isinstance(owner, Instance) and name in owner.attributes:
                frame.refined.append((owner, name, owner.attributes[name], value))
    attributes.rebind(frame, node, value)


def forget(frame: Frame, start: int) -> None:
    """A path ends: its attributes are what they were before its tests, unless it gave them other values."""
    while len(frame.refined) > start:
        owner, name, before, supposed = frame.refined.pop()
        if owner.attributes.get(name) is supposed:
            owner.attributes[name] = before


def present(frame: Frame, node: cst.Name, truth: bool) -> None:
    """`if x:` rules out None where it holds."""
    value = quietly(frame, node)
    if truth and isinstance(value, Union):
        narrow(frame, node, value, [option for option in value.options if option != NONE])
    for flag, held, facts in frame.implied.get(node.value, ()):
        if held is truth and same_value(flag, value):
            for symbol, dim in facts.items():
                learn(frame.facts, as_dim(symbol), dim)


def keep(frame: Frame, test: cst.BaseExpression, truth: bool, before: Path) -> None:
    """What a branch found out of sizes holds wherever its flag is asked for again: `if aligned: assert n == m`."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, truth = test.expression, not truth
    new = frame.facts.keys() - before.facts.keys() if frame.alive and isinstance(test, cst.Name) else ()
    flag = before.names.get(test.value) if new and isinstance(test, cst.Name) else None
    if flag is not None and isinstance(test, cst.Name):
        frame.implied.setdefault(test.value, []).append((flag, truth, {symbol: frame.facts[symbol] for symbol in new}))


def of_class(frame: Frame, node: cst.BaseExpression, kind: cst.BaseExpression | None, truth: bool) -> None:
    value = quietly(frame, node)
    classes: list[Value] = [Library("torch.Tensor")] if kind is None else class_options(quietly(frame, kind))
    verdicts = [is_instance(option, classes) for option in options(value)]
    if isinstance(value, Unknown):
        libraries = {ARRAY_CLASSES.get(c.name) for c in classes if isinstance(c, Library)}
        if truth and len(libraries) == 1 and None not in libraries:
            attributes.as_tensor(frame, value, node, libraries.pop())
        return
    kept = [option for option, verdict in zip(options(value), verdicts) if verdict is None or verdict is truth]
    narrow(frame, node, value, kept)


def class_options(value: Value) -> list[Value]:
    return list(value.items) if isinstance(value, Tuple) else [value]


def is_instance(value: Value, classes: list[Value]) -> bool | None:
    """Whether a value is an instance of one of the classes; None where that is not certain."""
    names = {c.name for c in classes if isinstance(c, Library)}
    if not names and not any(isinstance(c, Class) for c in classes):
        return None
    match value:
        case Tensor(Shape((), None), str() as dtype, "numpy") if "builtins.float" in names and is_drawn(value):
            return dtype == "float64" or None  # np.float64 is a float
        case Float() if not isinstance(value.made_by, Input):  # who annotates a float may get an int
            return (
                True if "builtins.float" in names else (False if names <= PLAIN_CLASSES | set(ARRAY_CLASSES) else None)
            )
        case Tensor(library=library):
            wanted = {ARRAY_CLASSES.get(name) for name in names} - {None}
            if not wanted or library is None:
                return None if library is None else (False if names <= PLAIN_CLASSES else None)
            return library in wanted
        case Int():
            return True if "builtins.int" in names else (False if names <= PLAIN_CLASSES | set(ARRAY_CLASSES) else None)
        case Const(value=None):
            return False
        case Const(value=str()):
            return "builtins.str" in names
        case Tuple(kind="tuple" | "list" as kind):
            return f"builtins.{kind}" in names or (None if names - PLAIN_CLASSES - set(ARRAY_CLASSES) else False)
        case Instance(cls=cls):
            ancestry = list(cls.ancestry())
            return True if any(c in ancestry for c in classes) else None
    return None


def is_drawn(number: Tensor) -> bool:
    """Whether a number of NumPy was computed or taken out of an array: np.array(1.0) is an array."""
    return not (isinstance(number.made_by, Operation) and number.made_by.kind is Kind.CREATION)


PLAIN_CLASSES = frozenset(f"builtins.{name}" for name in ("int", "float", "str", "list", "tuple", "dict", "set"))


def quietly(frame: Frame, node: cst.BaseExpression) -> Value:
    """Evaluate again what was evaluated already, without telling the rules twice."""
    events, frame.run.events = frame.run.events, []
    try:
        return expressions.evaluate(frame, node)
    finally:
        frame.run.events = events
