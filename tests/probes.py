"""Probes for the oracle: `__seen__ = __probe__(number, locals())` after every statement of a program."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import libcst as cst

LEAVING = (cst.Return, cst.Raise, cst.Break, cst.Continue)
PROBE = "__seen__"


@dataclass(frozen=True)
class Point:
    """A probe: in which function (0: the top level), inside which of its loops, after which line of the source."""

    function: int
    loops: tuple[int, ...]
    is_entry: bool
    starts_round: bool
    text: str


@dataclass(eq=False, repr=False)
class Probes(cst.CSTTransformer):
    """Puts `__seen__ = __probe__(number, locals())` at the beginning of blocks and after statements."""

    points: list[Point] = field(default_factory=list)
    functions: list[int] = field(default_factory=lambda: [0])
    loops: list[list[int]] = field(default_factory=lambda: [[]])
    classes: list[bool] = field(default_factory=lambda: [False])
    met: int = 0

    def __post_init__(self) -> None:
        super().__init__()

    def probe(self, text: str, is_entry: bool = False, starts_round: bool = False) -> cst.SimpleStatementLine:
        number = len(self.points)
        self.points.append(Point(self.functions[-1], tuple(self.loops[-1]), is_entry, starts_round, text))
        return cst.parse_statement(f"{PROBE} = __probe__({number}, locals())")  # type: ignore[return-value]

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.met += 1
        self.functions.append(self.met)
        self.loops.append([])
        self.classes.append(False)

    def leave_FunctionDef(self, original: cst.FunctionDef, updated: cst.FunctionDef) -> cst.FunctionDef:
        entry = self.probe(f"def {original.name.value}", is_entry=True)
        self.functions.pop()
        self.loops.pop()
        self.classes.pop()
        return updated.with_changes(body=begun(updated.body, entry))

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self.classes.append(True)

    def leave_ClassDef(self, original: cst.ClassDef, updated: cst.ClassDef) -> cst.ClassDef:
        self.classes.pop()
        return updated

    def visit_For(self, node: cst.For) -> None:
        self.met += 1
        self.loops[-1].append(self.met)

    visit_While = visit_For

    def leave_For(self, original: Any, updated: Any) -> Any:
        start = self.probe(header(original), starts_round=True)
        self.loops[-1].pop()
        return self.followed(original, updated.with_changes(body=begun(updated.body, start)))

    leave_While = leave_For

    def leave_If(self, original: cst.If, updated: cst.If) -> Any:
        return updated

    def leave_With(self, original: cst.With, updated: cst.With) -> Any:
        start = self.probe(header(original))
        return self.followed(original, updated.with_changes(body=begun(updated.body, start)))

    def leave_Try(self, original: cst.Try, updated: cst.Try) -> Any:
        return self.followed(original, updated)

    def leave_SimpleStatementLine(self, original: cst.SimpleStatementLine, updated: cst.SimpleStatementLine) -> Any:
        is_future = any(
            isinstance(s, cst.ImportFrom) and header(s).startswith("from __future__") for s in original.body
        )
        return updated if is_future or isinstance(original.body[-1], LEAVING) else self.followed(original, updated)

    def followed(self, original: cst.CSTNode, updated: Any) -> Any:
        if self.classes[-1]:
            return updated
        return cst.FlattenSentinel([updated, self.probe(header(original))])

    def leave_Module(self, original: cst.Module, updated: cst.Module) -> cst.Module:
        start = [s for s in updated.body if isinstance(s, cst.SimpleStatementLine) and is_preamble(s)]
        rest = updated.body[len(start) :]
        return updated.with_changes(body=[*start, self.probe("module", is_entry=True), *rest])


def begun(block: cst.BaseSuite, probe: cst.SimpleStatementLine) -> cst.BaseSuite:
    body = block.body if isinstance(block, cst.IndentedBlock) else [cst.SimpleStatementLine(block.body)]  # type: ignore
    return cst.IndentedBlock([probe, *body])


def header(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node).strip().splitlines()[0]


def is_preamble(statement: cst.SimpleStatementLine) -> bool:
    """A docstring or a future import, which have to stand first."""
    first = statement.body[0]
    return header(first).startswith("from __future__") or (
        isinstance(first, cst.Expr) and isinstance(first.value, cst.SimpleString)
    )
