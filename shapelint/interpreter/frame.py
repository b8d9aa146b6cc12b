"""The state of an analysis: one `Analysis` for a file, one `Frame` for each function that is being evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias

import libcst as cst

from shapelint.domain.dims import Dim, Symbol
from shapelint.domain.joins import SIZED, resolve
from shapelint.domain.tokens import now
from shapelint.domain.values import (
    Class,
    Float,
    Function,
    Instance,
    Library,
    Many,
    Run,
    Shape,
    Tensor,
    Tuple,
    Unknown,
    Value,
)
from shapelint.events import Call, Event, Input, Site
from shapelint.interpreter.scopes import Path, Scope, meet
from shapelint.ops.autocast import Autocast
from shapelint.provenance import meeting

MOST_DEPTH = 7  # calls of project functions inside one another
# What calls may cost: each statement executed for a call costs CALL_COST, each executed for its own sake earns one.
CALL_COST = 8
FIRST_CREDIT = 60 * CALL_COST  # for what the top level calls
LATER_CREDIT = 15 * CALL_COST  # the most that is left of it for what functions call that are looked at on their own
SMALL_CREDIT = 120 * CALL_COST  # the same in a file of a page or two
DECORATOR_CREDIT = 12 * CALL_COST  # for what a decorator of the project makes of a function
ENTRY_CREDIT = 150 * CALL_COST  # for what a program does when it is started: `main(args)` at the top level, once


# Called with the frame, the target of a binding (a name, an attribute or a parameter) and what it is bound to; and
# with the function or lambda and what it returns where its evaluation ends.
Watch: TypeAlias = "Callable[[Frame, cst.CSTNode, Value], None]"


Effects: TypeAlias = "tuple[Value | None, ...]"  # of a call on the attributes that it may change


class Remembered(NamedTuple):
    """An evaluation for a call."""

    result: Value
    makers: tuple[Event | None, ...]  # of its arguments
    changed: frozenset[str]  # parameters whose lists and dicts it fills
    effects: Effects
    taught: tuple[tuple[Shape, Shape], ...]  # of the shapes of its arguments: before and after
    serial: int
    made: dict[int, Value]  # the objects in the result that it made itself


class Project(Protocol):
    """The other files that are linted together with this one."""

    scopes: dict[str, Any]  # of the modules that were executed for an import, by file name
    transparent: set[Any]  # decorators that gave back what they got, in whatever file
    reported: dict[str, tuple[object, frozenset[tuple[str, int]]]]  # the linter's, by file name

    def module_source(self, dotted_name: str, from_file: str, level: int) -> tuple[str, cst.Module] | None:
        """File name and tree of a project's module, or None where it is not one of the project's files."""

    def reaches_tensors(self, filename: str, text: str) -> bool:
        """Whether the file mentions a tensor library, or imports a project's file that does."""


@dataclass(slots=True, eq=False)
class Analysis:
    """The analysis of one file: what it tells the rules, and what it has met."""

    module: cst.Module
    filename: str
    project: Project | None = None
    events: list[Event] = field(default_factory=list)
    pending: list[Function] = field(default_factory=list)  # defined, not yet evaluated on their own
    defined: set[int] = field(default_factory=set)  # syntax nodes of what was ever pending
    memo: dict[object, Remembered] = field(default_factory=dict)
    results: dict[object, Value] = field(default_factory=dict)  # of ops, by their arguments
    instances: dict[Class, Instance] = field(default_factory=dict)
    entering: list[Class] = field(default_factory=list)  # whose fields are being read off their annotations
    dtypes: dict[Value, str | None] = field(default_factory=dict)  # of the parameters of modules that were cast
    hints: dict[int, Any] = field(default_factory=dict)  # types by annotation
    entered: set[int] = field(default_factory=set)  # functions without parameters that the top level calls
    started: bool = False  # the top level has called a function for what it does
    summaries: dict[int, Any] = field(default_factory=dict)  # what functions came to on their own, by their node
    evaluated: dict[int, list[Any]] = field(default_factory=dict)  # signatures in `memo`, by function
    called: dict[int, int] = field(default_factory=dict)  # functions that were evaluated for a call, and when
    told: dict[object, int] = field(default_factory=dict)  # those that a call gave an array of known rank, and when
    transparent: set[cst.CSTNode] = field(default_factory=set)  # decorators that gave back what they got
    begun: dict[int, frozenset[str]] = field(default_factory=dict)  # names that a loop binds anew, by its node
    stack: list[object] = field(default_factory=list)  # syntax nodes of the functions being evaluated
    credit: int = FIRST_CREDIT  # for calls, so that the cost of a file is linear
    libraries: set[str] = field(default_factory=set)  # roots of what the file imports
    changed: set[str] = field(default_factory=set)  # roots of libraries whose classes the file gives methods of its own
    future_annotations: bool = False
    is_import: bool = False  # nobody listens: what happens is told when the file itself is linted
    watch: Watch | None = None  # hears of every binding, where somebody asks for them
    documents: dict[int, Any] = field(default_factory=dict)  # what docstrings state, by function
    supposing: bool = False  # what docstrings and comments state counts, until the code contradicts it
    contradicted: bool = False
    default_dtype: str | None = None  # of torch, once it is set; empty where it is not known
    supposed_in: set[Scope] = field(default_factory=set)  # where something was supposed, at any time
    is_exact: bool = False  # every known round and every call is executed anew, so that costs can be counted
    serial: int = 0

    def next_serial(self) -> int:
        self.serial += 1
        return self.serial


@dataclass(slots=True, eq=False)
class Frame:
    """One evaluation of a function, a class body or a module's top level."""

    run: Analysis
    scope: Scope
    module: cst.Module
    filename: str
    key: object  # identifies this evaluation; symbols made here belong to it
    function: Function | None = None
    owner: Value | None = None  # self
    depth: int = 0
    is_call: bool = False  # evaluated for a caller
    facts: dict[Symbol, Dim] = field(default_factory=dict)
    begun: int = field(default_factory=now)  # scopes that are met later belong to what happens in it
    shapes: dict[Run, Shape] = field(default_factory=dict)  # what runs of unknown axes turned out to be
    foretold: dict[object, Shape] = field(default_factory=dict)  # of values that are going to enter, by place
    alive: bool = True
    regions: tuple[str, ...] = ()
    autocast: Autocast | None = None
    returns: list[Value] = field(default_factory=list)
    exits: list[Path] = field(default_factory=list)  # what was known at each return, in an evaluation for a caller
    return_hint: Any = None
    bindings: Any = None  # axis names of this function's annotations, bound so far
    breaks: list[Path] = field(default_factory=list)
    branch_depth: int = 0
    refined: list[tuple[Instance, str, Value, Value]] = field(default_factory=list)  # attributes: before, on this path
    implied: dict[str, list[tuple[Value, bool, dict[Symbol, Dim]]]] = field(default_factory=dict)  # by flags' names
    globals: set[str] = field(default_factory=set)
    loops: list[cst.CSTNode] = field(default_factory=list)  # around what is executed, outermost first

    def site(self, node: cst.CSTNode) -> Site:
        return tuple.__new__(Site, (node, self.module, self.filename))  # as Site() does, in half the time

    def tell(self, event: Event) -> None:
        if not self.run.is_import:
            self.run.events.append(event)

    def place(self, node: cst.CSTNode) -> tuple[object, int]:
        """Identifies a piece of syntax in this evaluation, for sizes that are not known there."""
        return self.key, id(node)

    def place_of_call(self, node: cst.CSTNode) -> object:
        """The same of one call alone: the call of an nn.Sequential is one of every module in it."""
        return self.place(node), self.run.next_serial()

    def known(self, value: Value) -> Value:
        """`value` with the facts learned on this path."""
        if (self.facts or self.shapes) and type(value) in SIZED:
            return resolve(value, self.facts, self.shapes)
        return value

    def unknown(
        self, name: str, node: cst.CSTNode, kind: str, source: Value | None = None, dim: Dim | None = None
    ) -> Unknown:
        """A value that enters here and of which nothing is known, with an identity of its own."""
        event = Input(name, self.site(node), kind=kind, source=source)
        if self.foretold:
            self.recall(event)
        return Unknown(dim, made_by=event)

    def recall(self, event: Input | Call) -> None:
        """What is known by now of the value that enters with this event."""
        shape = self.foretold.get(event.place)
        if shape is not None:
            self.shapes[Run("", event)] = shape

    def snapshot(self) -> Path:
        return Path(dict(self.scope.names), dict(self.facts), dict(self.shapes), self.alive)

    def restore(self, path: Path) -> None:
        self.scope.names, self.facts, self.shapes = dict(path.names), dict(path.facts), dict(path.shapes)
        self.alive = path.alive

    def meet(self, paths: list[Path], node: cst.CSTNode) -> None:
        met = meet(paths, self.place(node))
        living = [path.names for path in paths if path.alive]
        if len(living) > 1:
            for name, value in met.names.items():
                if type(value) in TRACED and value is not living[0].get(name):
                    options = [names[name] for names in living if name in names]
                    met.names[name] = meeting(value, options, self.site(node))
        self.restore(met)

    @contextmanager
    def region(self, names: tuple[str, ...]) -> Iterator[None]:
        before, self.regions = self.regions, self.regions + names
        try:
            yield
        finally:
            self.regions = before


TRACED = frozenset({Tensor, Float, Unknown, Many, Tuple})  # values that remember what made them, or their items


def root_scope() -> Scope:
    """The scope around a module: the builtins, by canonical name."""
    return Scope(dict(BUILTINS))


BUILTINS: Mapping[str, Value] = {
    name: Library(f"builtins.{name}")
    for name in [
        "abs",
        "all",
        "any",
        "bool",
        "callable",
        "dict",
        "divmod",
        "enumerate",
        "filter",
        "float",
        "frozenset",
        "getattr",
        "hasattr",
        "hash",
        "id",
        "int",
        "isinstance",
        "issubclass",
        "iter",
        "len",
        "list",
        "map",
        "max",
        "min",
        "next",
        "object",
        "print",
        "property",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "setattr",
        "slice",
        "sorted",
        "staticmethod",
        "classmethod",
        "str",
        "sum",
        "super",
        "tuple",
        "type",
        "zip",
        "vars",
        "open",
        "input",
        "bytes",
        "complex",
        "Exception",
        "ValueError",
        "TypeError",
        "RuntimeError",
        "NotImplementedError",
        "KeyError",
        "IndexError",
        "AssertionError",
    ]
}
