"""What the interpreter knows of a value, and nothing more.

Values are frozen and compare by what is known of them; where a value comes from (`made_by`) does not count.
Objects with state (instances, functions, classes) compare by identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeAlias

from shapelint.domain.dims import Dim, Symbol, as_dim, product
from shapelint.domain.record import record
from shapelint.domain.tokens import token

if TYPE_CHECKING:
    from shapelint.events import Event


class Maker(Enum):
    """Who made an axis of size 1: the evidence for bug against intent in a broadcast."""

    LAYER = "layer"  # nn.Linear(h, 1), a convolution with one channel
    KEEPDIM = "keepdim"
    GATHER = "gather"
    ANNOTATION = "annotation"
    SLICE = "slice"  # x[:, :1]
    RESHAPE = "reshape"  # reshape(-1, 1), view(n, 1)
    INSERTED = "inserted"  # x[:, None], unsqueeze, expand_dims: intent
    CREATED = "created"  # zeros(n, 1), randn(n, 1)
    DATASET = "dataset"  # __getitem__ returned (1,), so that a batch is (b, 1); and b, that a DataLoader has made

    __hash__ = object.__hash__


@record()
class Axis:
    """A size, the sizes it runs over in row-major order (empty: it is one piece), and who made a 1."""

    size: Dim
    factors: tuple[Dim, ...] = ()
    maker: Maker | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return str(self.size)

    @property
    def parts(self) -> tuple[Dim, ...]:
        return self.factors or (self.size,)


@record()
class Run:
    """A run of axes of unknown number; equal only to itself. `*batch` of one function is one run."""

    name: str = ""
    scope: object = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "scope", token(self.scope))

    def __str__(self) -> str:
        return f"*{self.name}" if self.name else "..."


@record()
class Shape:
    """Axes in order, with at most one run of unknown axes between `head` and `tail`.

    Without a run every axis stands in `head`. (*, n) is Shape((), run, (n,)).
    """

    head: tuple[Axis, ...] = ()
    run: Run | None = None
    tail: tuple[Axis, ...] = ()

    @property
    def rank(self) -> int | None:
        return len(self.head) if self.run is None else None

    @property
    def least_rank(self) -> int:
        return len(self.head) + len(self.tail)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """All axes of a shape of known rank; those that are known otherwise."""
        return self.head + self.tail

    @property
    def sizes(self) -> tuple[Dim, ...]:
        return tuple(axis.size for axis in self.axes)

    def axis(self, index: int) -> Axis | None:
        """The axis at a Python index, or None where it lies in the run or outside."""
        if self.run is None:
            return self.head[index] if -len(self.head) <= index < len(self.head) else None
        side = self.head if index >= 0 else self.tail
        return side[index] if -len(side) <= index < len(side) else None

    def numel(self) -> Dim | None:
        return product(self.sizes) if self.run is None else None

    def __str__(self) -> str:
        run = [str(self.run)] if self.run is not None else []
        parts = [*map(str, self.head), *run, *map(str, self.tail)]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def shape_of(*sizes: Dim | Symbol | int, maker: Maker | None = None) -> Shape:
    """A shape of known rank. `maker` is who made its axes of size 1."""
    return Shape(tuple(Axis(as_dim(s), maker=maker) for s in sizes))


class GraphState(Enum):
    """How a value hangs on trainable parameters."""

    UNKNOWN = "unknown"
    CONST = "const"  # data, labels, masks: no trainable origin
    GRAPH = "graph"  # attached: gradients flow to `origins`
    CUT = "cut"  # would be attached to `origins`, were it not for the event `cut_by`
    NUMBER = "number"  # a Python or NumPy number taken from a graph
    LEAF = "leaf"  # a parameter or requires_grad tensor itself

    __hash__ = object.__hash__


@record()
class Graph:
    state: GraphState = GraphState.UNKNOWN
    origins: frozenset[object] = frozenset()  # modules, parameters, callees
    cut_by: Event | None = field(default=None, compare=False)


UNTRACKED = Graph()


@record()
class Tensor:
    """An array of torch, numpy or jax. `library` is None where only its use tells that it is one."""

    shape: Shape = Shape((), Run())
    dtype: str | None = None  # "float32"; or a class of them: "float", "int", "inexact" ...
    library: str | None = None  # "torch", "numpy", "jax"
    graph: Graph = UNTRACKED
    made_by: Event | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return str(self.shape)


@record()
class Int:
    """A Python integer (or a size), as a polynomial."""

    dim: Dim
    graph: Graph = UNTRACKED
    made_by: Event | None = field(default=None, compare=False, repr=False)


@record()
class Float:
    """A Python float, known or not.

    `default` is what the default of a parameter gives where nobody says otherwise; it is no fact about the value.
    """

    value: float | None = None
    graph: Graph = UNTRACKED
    made_by: Event | None = field(default=None, compare=False, repr=False)
    default: float | None = field(default=None, compare=False)


@record()
class Const:
    """A Python constant that is neither int nor float: str, bytes, None, True, False, Ellipsis.

    A bool that is not known is Const(None) never: it is Unknown.
    """

    value: str | bytes | bool | complex | Any | None


@record()
class Slice:
    start: Value
    stop: Value
    step: Value


@record()
class Tuple:
    """A tuple or list whose elements are known one by one. `kind`: "tuple", "list", or a named tuple's name."""

    items: tuple[Value, ...]
    kind: str = "tuple"
    fields: tuple[str, ...] = ()  # names of the elements, for named tuples and (values, indices)
    made_by: Event | None = field(default=None, compare=False, repr=False)


@record()
class Many:
    """A sequence or iterable of `length` values that are all like `item`; `tail` are layers known to stand last."""

    item: Value
    length: Dim | None = None
    kind: str = "list"
    tail: tuple[Value, ...] = ()
    made_by: Event | None = field(default=None, compare=False, repr=False)


@record()
class Dict:
    """A dict; `items` are its constant keys, `other` is like every value whose key is not constant."""

    items: tuple[tuple[object, Value], ...] = ()
    other: Value | None = None
    kind: str = "dict"  # or "ModuleDict"
    made_by: Event | None = field(default=None, compare=False, repr=False)

    def get(self, key: object) -> Value | None:
        return next((value for k, value in self.items if k == key), self.other)


@record()
class Library:
    """A module, class or function of a library, by canonical dotted name: torch.nn.Linear."""

    name: str


@record(eq=False)
class Layer:
    """An object of a library class that is called later: nn.Linear(64, 1), nn.MSELoss(), nn.LSTM(...)."""

    name: str  # "torch.nn.Linear"
    config: Mapping[str, Value]
    made_by: Event | None = field(default=None, repr=False)


@record()
class Method:
    """A method of a value, not called yet: `x.mean`, `self.encode`."""

    receiver: Value
    name: str
    function: Value | None = None  # the project's function, for instances


@record()
class Partial:
    """functools.partial, or a decorated callable with arguments in hand."""

    callee: Value
    args: tuple[Value, ...] = ()
    kwargs: tuple[tuple[str, Value], ...] = ()


@dataclass(slots=True, eq=False)
class Function:
    """A function of the linted code: its syntax and the scope it closes over (both opaque here)."""

    name: str
    node: Any
    scope: Any
    owner: Class | None = None


@dataclass(slots=True, eq=False)
class Class:
    """A class of the linted code; `attributes` holds methods and class attributes."""

    name: str
    bases: tuple[Value, ...]
    attributes: dict[str, Value]
    node: Any = None
    scope: Any = None
    _ancestry: tuple[Value, ...] = ()  # once it was asked for: the bases stay as they are

    def ancestry(self) -> tuple[Value, ...]:
        """This class, then its bases depth first; library bases appear as they are, cycles are cut."""
        if not self._ancestry:
            found: dict[int, Value] = {}
            stack: list[Value] = [self]
            while stack:
                if id(current := stack.pop(0)) not in found:
                    found[id(current)] = current
                    stack[:0] = current.bases if isinstance(current, Class) else ()
            self._ancestry = tuple(found.values())
        return self._ancestry

    def lookup(self, name: str) -> Value | None:
        for ancestor in self.ancestry():
            if isinstance(ancestor, Class) and name in ancestor.attributes:
                return ancestor.attributes[name]
        return None

    def is_a(self, *names: str) -> bool:
        """Whether a library class of one of these canonical names is among the bases."""
        return any(isinstance(a, Library) and a.name in names for a in self.ancestry())


@dataclass(slots=True, eq=False)
class Instance:
    """An object of a class of the linted code."""

    cls: Class
    attributes: dict[str, Value]
    made_by: Event | None = field(default=None, repr=False)
    buffers: set[str] = field(default_factory=set)  # attributes that are cast with the parameters


@dataclass(slots=True, eq=False)
class Namespace:
    """An imported file of the project: its top-level names."""

    name: str
    names: dict[str, Value]


@record(eq=False)
class Deferred:
    """An import that nobody asked for yet; `load` follows it. It never leaves a scope: see `scopes.named`."""

    load: Callable[[], Value]


@record()
class Hint:
    """A type as annotations name it: what `Float[Tensor, "b n"]` evaluates to. `type` is a hints.TypeHint."""

    type: Any


@record()
class Union:
    """One of at most four values."""

    options: tuple[Value, ...]


@record()
class Unknown:
    """Nothing is known, except: if it is an integer it is `dim`, and which graph it may hang on.

    `dtype` is set for what was cast: the array's, or that of a module's parameters.
    """

    dim: Dim | None = None
    graph: Graph = UNTRACKED
    made_by: Event | None = field(default=None, compare=False, repr=False)
    dtype: str | None = None


Value: TypeAlias = (
    Tensor | Int | Float | Const | Slice | Tuple | Many | Dict | Library | Layer | Method | Partial
    | Function | Class | Instance | Deferred | Namespace | Hint | Union | Unknown
)  # fmt: skip

UNKNOWN = Unknown()
NONE = Const(None)
TRUE = Const(True)
FALSE = Const(False)
EITHER = Union((TRUE, FALSE))  # a bool that is not known


def maker_of(value: Value) -> Event | None:
    """The event that made a value, where it is recorded."""
    return getattr(value, "made_by", None)


def same_value(a: Value, b: Value) -> bool:
    """Whether both are one and the same run-time value, not merely alike."""
    return a is b or (maker_of(a) is not None and maker_of(a) is maker_of(b))


def graph_of(value: Value) -> Graph:
    return getattr(value, "graph", UNTRACKED)


def tensors_in(values: Iterable[Value]) -> Iterator[Tensor]:
    """The tensors among values, also inside tuples and lists, in order."""
    for value in values:  # types are compared one by one: this is the hot path
        if type(value) is Tensor:
            yield value
        elif type(value) is Tuple:
            yield from tensors_in(value.items)
        elif type(value) is Many:
            yield from tensors_in((value.item,))


def number(value: Value | None) -> float | None:
    """A Python number that is known."""
    return value.dim.value if isinstance(value, Int) else value.value if isinstance(value, Float) else None


def options(value: Value) -> tuple[Value, ...]:
    return value.options if isinstance(value, Union) else (value,)
