"""What the interpreter tells the rules, in execution order.

Events and values form a data-flow graph: a value knows the event that made it (`value.made_by`), an event knows
its operands. `provenance.py` walks it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum, auto
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from shapelint.annotations.declarations import Annotation, Decorator
from shapelint.domain.record import record
from shapelint.domain.shapes import Broadcast, line_up
from shapelint.domain.values import Class, Function, Instance, Layer, Tensor, Value, tensors_in


class Kind(Enum):
    """What an operation does, for rules that care about families of operations."""

    ELEMENTWISE = auto()  # broadcasts its tensor operands: arithmetic, comparison, where, exp
    REDUCTION = auto()  # sum, mean, max, argmax, norm ...
    CONTRACTION = auto()  # matmul, einsum, dot, tensordot
    RESHAPE = auto()  # view, reshape, flatten, unflatten: row-major order is kept
    LAYOUT = auto()  # transpose, permute, squeeze, unsqueeze, expand, repeat
    JOINING = auto()  # cat, stack
    INDEXING = auto()
    NORMALISATION = auto()  # softmax, normalize: along an axis, shape kept
    CREATION = auto()
    RANDOM = auto()
    LAYER = auto()  # the call of an nn.Module of the library
    LOSS = auto()
    CAST = auto()  # to, float, astype, numpy, from_numpy: shape kept
    AUTOGRAD = auto()  # detach, backward, requires_grad_, item
    OTHER = auto()

    __hash__ = object.__hash__


class Site(NamedTuple):
    """A piece of the source. `node` and `module` are the syntax tree's and opaque to rules."""

    node: Any
    module: Any
    filename: str = ""

    @property
    def text(self) -> str:
        """The source as the author wrote it, on one line."""
        return " ".join(str(self.module.code_for_node(self.node)).split())

    def item(self, index: int) -> Site:
        """One item of a list or tuple that is written out; the whole, where it is not."""
        items = getattr(self.node, "elements", ())
        is_written_out = index < len(items) and all(type(item).__name__ == "Element" for item in items)
        return self._replace(node=items[index].value) if is_written_out else self


@record(eq=False, slots=False)
class Operation:
    """A call of a library operation, or an operator.

    `name` is the op's canonical name ("mean", "sub", "linear"), `callee` how it was reached ("torch.mean"),
    `arguments` its bound arguments by canonical name, `sites` where they stand in the source. `problem` says
    why it can never work; the result is then unknown.
    """

    name: str
    callee: str
    kind: Kind
    arguments: Mapping[str, Value]
    result: Value  # without provenance; the flowing value has made_by = this event
    site: Site
    sites: Mapping[str, Site] = field(default_factory=dict)
    problem: str | None = None
    layer: Layer | None = None  # for LAYER and LOSS: the object that was called
    regions: tuple[str, ...] = ()  # enclosing contexts, outermost first: "no_grad", "autocast" ...
    explicit: frozenset[str] = frozenset()  # which arguments were written by the author
    in_place: bool = False  # `add_`, `+=`: the result is written into the first operand

    @property
    def values(self) -> tuple[Value, ...]:
        return tuple(self.arguments.values())

    @cached_property
    def operands(self) -> tuple[Tensor, ...]:
        """The tensors among the arguments, also inside lists, in order."""
        return tuple(tensors_in(self.arguments.values()))

    @cached_property
    def broadcast(self) -> Broadcast | None:
        """For an elementwise operation of two tensors: how they line up."""
        if self.kind is not Kind.ELEMENTWISE or len(self.operands) != 2:
            return None
        return line_up(self.operands[0].shape, self.operands[1].shape)


@record(eq=False)
class Input:
    """A value enters: a parameter, an attribute or a global that nothing is known of but its annotation."""

    name: str
    site: Site
    declaration: Site | None = None
    kind: str = "parameter"  # "parameter", "attribute", "item", "iteration", "import", "space"
    source: Value | None = None  # for attributes, items and iterations: of what
    stated: str = ""  # the shape that a docstring or a comment states, where nothing else is known

    @property
    def annotation(self) -> str:
        """The annotation as its author wrote it; empty where there is none."""
        return self.declaration.text if self.declaration is not None else ""

    @property
    def values(self) -> tuple[Value, ...]:
        return () if self.source is None else (self.source,)

    @property
    def place(self) -> object:
        """Tells where in the source it happens."""
        return id(self.site.node), self.kind, self.name


@record(eq=False)
class Call:
    """A call of something that is no library operation: a project's function, an unknown callee, an instance.

    `result` is what came back. For project functions the events of the body come before.
    """

    callee: Value
    args: tuple[Value, ...]
    kwargs: tuple[tuple[str, Value], ...]
    result: Value
    site: Site
    regions: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[Value, ...]:
        return (*self.args, *(value for _, value in self.kwargs), self.callee, self.result)

    @property
    def place(self) -> object:
        """Tells where in the source it happens."""
        return id(self.site.node), "call"


@record(eq=False)
class Joined:
    """Paths meet: the value is one of these."""

    options: tuple[Value, ...]
    site: Site

    @property
    def values(self) -> tuple[Value, ...]:
        return self.options


@record(eq=False)
class Meeting:
    """A value meets a jaxtyping annotation: at a return, a call's argument, or an assignment.

    `contradiction` says why it can never satisfy it; None where it does or may.
    """

    value: Value
    declaration: Site
    place: str  # "return", "argument", "assignment"
    name: str  # of the parameter or variable; the function for a return
    site: Site
    contradiction: str | None = None
    function: str = ""

    @property
    def annotation(self) -> str:
        """The annotation as its author wrote it."""
        return self.declaration.text

    @property
    def values(self) -> tuple[Value, ...]:
        return (self.value,)


@record(eq=False)
class Claimed:
    """A comment at the end of a line states a shape that what the line binds can never have."""

    value: Tensor
    name: str  # of the variable; empty for what is returned
    stated: str  # "(B, T)"
    contradiction: str  # "has 3 axes, not 2"
    site: Site

    @property
    def values(self) -> tuple[Value, ...]:
        return (self.value,)


@record(eq=False)
class Stored:
    """A value becomes an attribute, or enters a container that is one: self.layers = [...], self.heads[k] = ..."""

    owner: Instance
    attribute: str
    value: Value  # what was stored; for a container's element: the element
    site: Site
    container: str | None = None  # "list", "tuple", "dict" when the value entered a plain container
    method: str = ""  # the method in which it happens: "__init__", "forward"

    @property
    def values(self) -> tuple[Value, ...]:
        return (self.value,)


@record(eq=False)
class Loop:
    """A loop begins a round (0, 1 ...) or is left (None); two rounds stand for all where the items are not known."""

    site: Site
    round: int | None
    target: Site | None = None  # of a for loop: what each round binds, and what it goes through
    iterable: Site | None = None
    values: tuple[Value, ...] = ()


@record(eq=False)
class Comprehension:
    """The element of a comprehension is evaluated, once for all items, or has been."""

    site: Site
    begins: bool
    target: Site | None = None
    iterable: Site | None = None
    values: tuple[Value, ...] = ()


@record(eq=False)
class Branch:
    """Paths part: way 0 begins (the test holds), way 1, and so on; None: those that go on come together."""

    site: Site  # the test; the statement where there is none
    way: int | None
    may_change: bool = False  # a loop around binds what is tested anew in its rounds
    values: tuple[Value, ...] = ()


@record(eq=False)
class Ends:
    """A path ends: "return", "raise", "break" or "continue"; "never": its test cannot hold here."""

    how: str
    site: Site
    values: tuple[Value, ...] = ()


@record(eq=False)
class Written:
    """An attribute of something that is no object of the linted code is set: `p.grad = None`, `net.fc = ...`."""

    owner: Value
    attribute: str
    value: Value
    site: Site

    @property
    def values(self) -> tuple[Value, ...]:
        return (self.owner, self.value)


@record(eq=False)
class Grown:
    """Something grows by a value: `total += x`, `losses.append(x)`, `self.history[k].append(x)`.

    `loops` are the enclosing loops of the same function through whose rounds it lives on, innermost first.
    """

    name: str  # what grows, as written: "losses", "self.history"
    value: Value
    site: Site
    loops: tuple[Site, ...] = ()
    owner: Instance | None = None  # where an attribute of it grows
    regions: tuple[str, ...] = ()
    is_outer: bool = False  # it belongs to what is around the function, and no loop of the file begins it anew

    @property
    def values(self) -> tuple[Value, ...]:
        return (self.value,)


@record(eq=False)
class Carried:
    """A round of a loop ends, and a name that was bound `before` it is bound to something else after it."""

    name: str
    before: Value
    after: Value
    site: Site  # the loop

    @property
    def values(self) -> tuple[Value, ...]:
        return (self.before, self.after)


@record(eq=False)
class Entered:
    """The evaluation of a function begins. `owner` is self for methods, `at_call` whether a caller gave the values."""

    function: Function
    owner: Value | None
    site: Site
    at_call: bool = False
    parameters: Mapping[str, Value] = field(default_factory=dict)  # what they are bound to
    values: tuple[Value, ...] = ()


@record(eq=False)
class Returned:
    """A function returns a value (one event for each return statement reached)."""

    function: Function
    value: Value
    site: Site

    @property
    def values(self) -> tuple[Value, ...]:
        return (self.value,)


@record(eq=False)
class Left:
    """The evaluation of a function ends; `result` joins all its returns."""

    function: Function
    result: Value
    site: Site
    values: tuple[Value, ...] = ()


@record(eq=False)
class Region:
    """A context is entered or left: no_grad, autocast, inference_mode, enable_grad."""

    name: str
    entered: bool
    site: Site
    arguments: Mapping[str, Value] = field(default_factory=dict)
    values: tuple[Value, ...] = ()


@record(eq=False)
class Declared:
    """A function or class definition was met, with its decorators (outermost first) and annotations.

    `kind` is "function", "method", "class" or "dataclass"; `bases` holds canonical names of library bases.
    """

    name: str
    kind: str
    decorators: tuple[Decorator, ...]
    annotations: tuple[Annotation, ...]
    site: Site
    bases: frozenset[str] = frozenset()
    future_annotations: bool = False
    constants: frozenset[str] = frozenset()  # names of the module's constants (HIDDEN = 64)
    has_return: bool = False  # the return value is annotated, with a shape or any other type
    cls: Class | None = None  # for classes: what was defined
    values: tuple[Value, ...] = ()


@record(eq=False)
class Item:
    """One element of a tuple that another event made: the values of `x.max(1)`."""

    of: Event
    index: int
    values: tuple[Value, ...] = ()

    @property
    def site(self) -> Site:
        return self.of.site


Event: TypeAlias = (
    Item | Operation | Input | Call | Joined | Meeting | Stored | Written | Loop | Comprehension | Branch | Ends | Grown
    | Carried | Entered | Returned | Left | Region | Declared | Claimed
)  # fmt: skip
