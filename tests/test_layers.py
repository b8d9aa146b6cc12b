"""Imports go one way: a room knows only the rooms before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Each room may import itself and what stands on an earlier line. `shapelint` itself is the version and a lazy door.
ORDER = (
    {"finding", "tokens", "spelling", "precision", "record", "regions"},
    {"dims"},
    {"values"},
    {"memory"},
    {"shapes", "joins", "rowmajor"},
    {"declarations"},
    {"events"},
    {"provenance"},
    {"annotations", "comments"},
    {"hints", "docstrings"},
    {"entering", "unification"},
    {"ops"},
    {"scopes"},
    {"interpreter"},
    {"rule", "index"},
    {"evidence", "inert", "registration"},
    {"lineups", "outer", "rounds", "uses", "switched", "spans", "paths"},
    {"rows"},
    {"batches", "directions"},
    {"squeezed"},
    {"samples"},
    {"narrow"},
    {"squares"},
    {"updates", "wrapping"},
    {"sums"},
    {"proposals"},
    {"effects"},
    {"dataflow"},
    {"gradients"},
    {"reached", "traced"},
    {"onward", "retained", "bootstraps"},
    {"scaled"},
    {"training"},
    {"stepping", "exhausted", "unzeroed", "seldom"},
    {"optimized"},
    {"leaves"},
    {"barren"},
    {"lookalikes"},
    {"config", "source", "suppressions"},
    {"imports", "elsewhere"},
    {"linter", "files", "project"},
    {"cache", "bindings"},
    {"coverage"},
    {"fixes"},
    {"driver"},
    {"fixing"},
    {"report", "budget"},
    {"runtime"},
    {"__main__", "flake8", "testing", "__init__"},
)
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
SHARED_BY_RULES = {
    "index", "evidence", "lineups", "outer", "proposals", "memory", "inert", "dataflow", "effects", "gradients",
    "registration", "rowmajor",
    "uses", "batches", "directions", "samples", "squeezed",
    "switched", "onward", "retained", "reached", "spans", "traced",
    "precision", "narrow", "squares", "updates", "wrapping", "sums",
    "paths", "rounds", "rows", "training", "stepping", "exhausted", "unzeroed", "seldom", "optimized", "leaves",
    "bootstraps", "barren", "lookalikes",
}  # fmt: skip
FOR_RULES = {"record", "finding", "dims", "values", "shapes", "events", "provenance", "rule"} | SHARED_BY_RULES


def rooms_imported(path: Path) -> Iterator[tuple[str, int]]:
    """The rooms of the package that a file imports, anywhere in it, and the line; type checking does not count."""
    tree = ast.parse(path.read_text())
    typing_only = {
        node for branch in ast.walk(tree) if isinstance(branch, ast.If) and "TYPE_CHECKING" in ast.unparse(branch.test)
        for statement in branch.body for node in ast.walk(statement)
    }  # fmt: skip
    for node in ast.walk(tree):
        match node:
            case _ if node in typing_only:
                continue
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module="shapelint", names=names):
                modules = [f"shapelint.{alias.name}" for alias in names if alias.name != "__version__"]
            case ast.ImportFrom(module=str(module)):
                modules = [module]
            case ast.ImportFrom():
                modules = ["shapelint.relative import"]
            case _:
                continue
        yield from ((m.split(".")[1], node.lineno) for m in modules if m.startswith("shapelint."))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT / "shapelint").parts[0].removesuffix(".py")


PACKAGE = sorted((ROOT / "shapelint").rglob("*.py"))
RULES = sorted((ROOT / "rules").glob("*.py"))


@pytest.mark.parametrize("path", PACKAGE, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_package_imports_one_way(path: Path) -> None:
    own = room_of(path)
    assert own in LEVEL, f"{own} is a new room: give it a place in ORDER and in docs/architecture.md"
    for room, line in rooms_imported(path):
        assert room == own or LEVEL[room] < LEVEL[own], f"{path}:{line} imports {room}"


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_rules_import_only_what_is_theirs(path: Path) -> None:
    for room, line in rooms_imported(path):
        assert room in FOR_RULES, f"{path}:{line} imports {room}"


def test_nothing_imports_the_rules() -> None:
    assert "rules" not in {room for path in PACKAGE for room, _ in rooms_imported(path)}


def test_the_order_is_complete() -> None:
    assert len(LEVEL) == sum(map(len, ORDER))
    assert list(rooms_imported(ROOT / "shapelint" / "driver.py"))
