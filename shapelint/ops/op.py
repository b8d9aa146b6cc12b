"""An op: a row that says how it is spelled, and a small pure function that says what it does to shapes.

A shape function takes values by canonical parameter name and returns a Shape, a tuple of Shapes, or any Value.
It raises `ShapeError` where the call can never work, and `Unknowable` where too little is known.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from typing import TypeAlias

from shapelint.domain.dims import Dim, Truth, anonymous, as_dim, compare
from shapelint.domain.record import record
from shapelint.domain.values import (
    Axis,
    Const,
    Dict,
    Float,
    Int,
    Layer,
    Maker,
    Many,
    Run,
    Shape,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    shape_of,
)
from shapelint.events import Kind

Result: TypeAlias = "Shape | Part | Named | tuple[Shape | Part | Value, ...] | Value"


class ShapeError(Exception):
    """The call can never work; the message says why, in the field's words."""


class Unknowable(Exception):
    """Too little is known of the arguments."""


class GraphEffect(Enum):
    """What an op does to the autograd graph (torch; stop_gradient in jax)."""

    DIFFERENTIABLE = "differentiable"
    ZERO_GRADIENT = "zero gradient"  # a graph whose gradient is zero: round, sign, floor
    NO_GRAPH = "no graph"  # argmax, comparison, one_hot: the result has none
    CUT = "cut"  # detach, numpy, item
    REBUILD = "rebuild"  # torch.tensor(t), as_tensor([t, t]), Variable(t)
    LEAF = "leaf"  # nn.Parameter, requires_grad_()
    CONSTANT = "constant"  # zeros_like, randn: depends on no operand's values

    __hash__ = object.__hash__


# A dtype, the name of a rule (see dtypes.result_dtype), or a function of the bound arguments and the library.
DtypeRule: TypeAlias = "str | Callable[[Mapping[str, Value], str | None], str | None]"


@record()
class Part:
    """A result that departs from its op's row: the indices of `max(dim)` are an index without a graph."""

    shape: Shape
    dtype: DtypeRule | None = None
    graph: GraphEffect | None = None


@record()
class Named:
    """A named tuple of results, `values, indices = x.max(dim)`; it is called as the op where `kind` is empty."""

    parts: Mapping[str, Shape | Part | Value]
    kind: str = ""


@record()
class Op:
    """One operation under all its spellings.

    Each spelling is a library's signature with the library's own parameter names: "torch.mean(input, dim, keepdim)".
    SYNONYMS maps them to the parameter names of `shape`, or the spelling does: "axis1: first". Names that `shape`
    does not take are ignored, unless it takes any (`**sizes`). `*size` collects positional arguments into a Tuple, or
    takes a single tuple or list as it is. A method needs a spelling of
    its own only if it differs from the function's with the tensor first: torch.Tensor.mean is found by torch.mean,
    numpy.ndarray.mean by numpy.mean, jax.Array.mean by jax.numpy.mean, and `add_` by `add`.
    """

    name: str
    shape: Callable[..., Result]
    spellings: tuple[str, ...]
    kind: Kind = Kind.OTHER
    dtype: DtypeRule = "promote"
    graph: GraphEffect = GraphEffect.DIFFERENTIABLE
    inputs: str = ""  # for layers and losses: the parameters of the call, the spelling being the constructor's


SYNONYMS: Mapping[str, str] = {
    "input": "x",
    "self": "x",
    "a": "x",
    "x1": "x",
    "array": "x",
    "arr": "x",
    "operand": "x",
    "N": "n",
    "M": "m",
    "ar": "x",
    "logits": "x",
    "elements": "x",
    "data": "x",
    "object": "x",
    "v": "values",
    "stop": "end",
    "loc": "x",
    "low": "x",
    "lam": "x",
    "scale": "y",
    "high": "y",
    "num": "steps",
    "size": "shape",
    "fill_value": "value",
    "axis": "dim",
    "axes": "dim",
    "keepdims": "keepdim",
    "other": "y",
    "b": "y",
    "x2": "y",
    "mat2": "y",
    "vec2": "y",
    "tensor2": "y",
    "tensor": "x",
    "newshape": "shape",
    "a_min": "min",
    "a_max": "max",
}


SIZE = " size"


@record()
class Spelling:
    """One library signature: parameter names in canonical form, in order."""

    callee: str  # "torch.mean"
    op: Op
    positional: tuple[str, ...]
    keywords: Mapping[str, str]  # every name the library knows -> canonical name
    variadic: str | None = None
    accepts: frozenset[str] = field(default_factory=frozenset)  # what the shape function takes
    accepts_any: bool = False  # it takes every other keyword too: the sizes of einops
    requires: frozenset[str] = field(default_factory=frozenset)  # what it cannot do without
    by_operands: bool = False  # a method or operator: the operands decide which library it is
    layer: Layer | None = None  # the object whose call this is
    in_place: bool = False  # `add_`, `+=`: the result is the receiver and keeps its shape

    def named(self, keyword: str) -> str:
        """The canonical name of a keyword; a size of einops may be called like a parameter: `x=h` beside `tensor`."""
        known = self.keywords.get(keyword)
        return known or (keyword + SIZE if self.accepts_any and keyword in self.accepts else keyword)


def parse_spelling(op: Op, text: str) -> Spelling:
    """Read "torch.mean(input, dim, *, dtype)"; the signature of `op.shape` decides which names arrive."""
    callee, _, inside = text.partition("(")
    signature = inspect.signature(op.shape).parameters
    parameters = {name: p for name, p in signature.items() if p.kind is not p.VAR_KEYWORD}
    accepts = frozenset(parameters)
    requires = frozenset(name for name, parameter in parameters.items() if parameter.default is parameter.empty)
    positional: list[str] = []
    takes_any = len(parameters) < len(signature)
    keywords: dict[str, str] = {}
    if not takes_any:  # `a` and `n` are sizes in einops
        keywords = {name: canonical(name, accepts) for name in SYNONYMS if canonical(name, accepts) in accepts}
    variadic: str | None = None
    keyword_only = False
    for part in (p.strip() for p in inside.rstrip(")").split(",")):
        name, _, given = (word.strip() for word in part.partition("=")[0].partition(":"))
        if not name or name == "/":
            continue
        if name == "*":
            keyword_only = True
            continue
        if name.startswith("*"):
            name = name[1:]
            variadic, keyword_only = given or canonical(name, accepts), True
        elif not keyword_only:
            positional.append(given or canonical(name, accepts))
        keywords[name] = given or canonical(name, accepts)
    return Spelling(callee, op, tuple(positional), keywords, variadic, accepts, takes_any, requires)


def canonical(name: str, accepts: frozenset[str]) -> str:
    return name if name in accepts else SYNONYMS.get(name, name)


def bind(spelling: Spelling, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> dict[str, Value]:
    """Arguments by canonical name, in the order of the signature. Unknown keywords are kept under their own name.

    Raises Unknowable when there are more positional arguments than the signature has.
    """
    bound: dict[str, Value] = dict(zip(spelling.positional, args))
    rest = args[len(spelling.positional) :]
    if rest or (spelling.variadic and spelling.variadic not in kwargs and len(args) >= len(spelling.positional)):
        if spelling.variadic is None:
            raise Unknowable(f"{spelling.callee} takes fewer positional arguments")
        # what is unknown may be the whole tuple
        match rest:
            case (Union(options=options),):
                bound[spelling.variadic] = Union(tuple(collected((option,)) for option in options))
            case _:
                bound[spelling.variadic] = collected(rest)
    for name, value in kwargs.items():
        bound[spelling.named(name)] = value
    return bound


def collected(rest: tuple[Value, ...]) -> Value:
    """What `*size` holds: all arguments, or the one that is a sequence itself; an unknown one may be."""
    return rest[0] if len(rest) == 1 and isinstance(rest[0], Tuple | Many | Unknown) else Tuple(rest)


# What shape functions ask of their arguments. Each raises Unknowable where the value is not known.


def tensor(value: Value) -> Tensor:
    """The value as a tensor; numbers and (nested) lists of numbers count as the arrays they become."""
    match value:
        case Tensor():
            return value
        case Tuple(items=items):
            return Tensor(stacked(items))
        case Many(item=item, length=length, kind="list" | "tuple" | "range"):
            inner = tensor(item)
            return replace(inner, shape=prepend(Axis(length or anonymous(object())), inner.shape), made_by=None)
        case Int() | Float() | Const(value=bool() | complex() | str() | bytes()):  # also np.where(y == "cat", 1, 0)
            return Tensor(Shape(), graph=getattr(value, "graph", Tensor().graph))
        case Unknown():
            return Tensor(Shape((), Run("", value.made_by or object())), value.dtype, graph=value.graph)
        case Union(options=options):
            return one_of([tensor(option) for option in options])
    raise Unknowable(f"{type(value).__name__} is no tensor")


def one_of(arrays: Sequence[Tensor]) -> Tensor:
    """An array that is one of several: of their rank if it is one, with the sizes that are the same in all of them."""
    shapes = [array.shape for array in arrays]
    if len({shape.rank for shape in shapes}) > 1 or shapes[0].run is not None:
        return Tensor(unknown_shape())
    columns = zip(*(shape.sizes for shape in shapes))
    return Tensor(shape_of(*(column[0] if len(set(column)) == 1 else anonymous(object()) for column in columns)))


def stacked(items: tuple[Value, ...]) -> Shape:
    """The array that a list of these becomes: (len, *shape of one). Unknowable where the items are not alike."""
    refuse_dicts(items)
    shapes = [tensor(item).shape for item in items]
    known = next((shape for shape in shapes if shape.run is None), shapes[0] if shapes else Shape())
    if any(shape.run is None and _unlike(shape, known) for shape in shapes):
        raise Unknowable("items of different shapes")
    return prepend(Axis(as_dim(len(items))), known)


def refuse_dicts(items: tuple[Value, ...]) -> None:
    """ShapeError for `torch.tensor(env.reset())` where that is an observation and a dict."""
    if any(isinstance(item, Dict) for item in items):
        raise ShapeError("there is a dict among what is to become one array")


def _unlike(a: Shape, b: Shape) -> bool:
    return a.rank != b.rank or any(compare(x, y) is Truth.DIFFERENT for x, y in zip(a.sizes, b.sizes))


def prepend(axis: Axis, shape: Shape) -> Shape:
    return Shape((axis, *shape.head), shape.run, shape.tail)


def unknown_shape() -> Shape:
    """Any rank, any sizes; not even equal to another unknown shape."""
    return Shape((), Run("", object()))


def sizes(value: Value, maker: Maker | None = None) -> Shape:
    """A shape argument: an int or a tuple of ints. What is not known of it is not known of the shape."""
    match value:
        case Tensor(shape=Shape(rank=0)):  # np.zeros(np.prod(counts)), and below np.zeros(np.array(sizes))
            return shape_of(anonymous(object()), maker=maker)
        case (Tensor() as array) | Tuple(items=(Tensor() as array,)) if array.shape.rank != 0:
            count = count_in(array)
            return unknown_shape() if count is None else shape_of(*(anonymous(object()) for _ in range(count)))
        case Tuple(items=items):
            return shape_of(*map(size_or_any, items), maker=maker)
        case Int(dim=dim):
            return shape_of(dim, maker=maker)
    return unknown_shape()


def count_in(sizes: Tensor) -> int | None:
    """How many sizes an array lists; None where that is not known."""
    axis = sizes.shape.head[0] if sizes.shape.rank == 1 else None
    return axis.size.value if axis is not None else None


def size_or_any(value: Value) -> Dim:
    """An integer as a size; a fresh one where it is not known."""
    try:
        return dimension(value)
    except Unknowable:
        return anonymous(object())


def integer(value: Value) -> int:
    """A Python int that is known as a number."""
    match value:
        case Int(dim=dim) if dim.value is not None:
            return dim.value
        case Const(value=bool() as flag):
            return int(flag)
    raise Unknowable("not a known integer")


def dimension(value: Value) -> Dim:
    """An integer as a size, symbolic or not."""
    match value:
        case Int(dim=dim):
            return dim
        case Unknown(dim=Dim() as dim):
            return dim
        case Const(value=bool() as flag):
            return as_dim(int(flag))
    raise Unknowable("not an integer")


def flag(value: Value) -> bool:
    """A bool that is known."""
    match value:
        case Const(value=bool() as known):
            return known
        case Const(value=None):
            return False
        case Int(dim=dim) if dim.value is not None:
            return bool(dim.value)
    raise Unknowable("not a known bool")


def integers(value: Value) -> tuple[int, ...]:
    """One or several known ints: an axis or a tuple of axes."""
    return tuple(map(integer, value.items)) if isinstance(value, Tuple) else (integer(value),)


def dimensions(value: Value) -> tuple[Dim, ...]:
    """One or several sizes: a shape argument."""
    return tuple(map(dimension, value.items)) if isinstance(value, Tuple) else (dimension(value),)


def is_none(value: Value) -> bool:
    return isinstance(value, Const) and value.value is None


def axis_index(index: int, shape: Shape) -> int:
    """`index` counted from the front; ShapeError where this rank has no such axis, Unknowable without rank."""
    rank = shape.rank
    if rank is None:
        raise Unknowable("rank not known")
    if not -max(rank, 1) <= index < max(rank, 1):
        raise AxisError(index, shape)
    return index + rank if index < 0 else index


class AxisError(ShapeError):
    """`dim` that this rank does not have."""

    def __init__(self, index: int, shape: Shape) -> None:
        super().__init__(f"axis {index} of {shape}, which has {shape.rank} axes")
        self.index = index
