"""Imports go one way: a room knows only the rooms before it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# Each room may import itself and what stands on an earlier line. `shapelint` itself is the version and a lazy door.
ORDER = (
    {"finding", "domain"},
    {"source", "annotations"},
    {"events", "positions"},
    {"provenance"},
    {"ops"},
    {"interpreter"},
    {"rule"},
    {"analysis"},
    {"analysis.axes", "analysis.precision", "analysis.gradients"},
    {"analysis.training"},
    {"fixes"},
    {"config", "suppressions"},
    {"cross_file"},
    {"linter"},
    {"project"},
    {"report", "budget"},
    {"inspection"},
    {"runtime"},
    {"cli"},
    {"__main__", "flake8", "testing", "__init__"},
)
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
ANALYSIS = {room for room in LEVEL if room.startswith("analysis")}
FOR_RULES = {"finding", "domain", "events", "provenance", "rule", "fixes"} | ANALYSIS


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
        yield from ((room_of(m), node.lineno) for m in modules if m.startswith("shapelint."))


def room_of(module: str) -> str:
    """The first two names below the package where they are a room, else the first."""
    first, *others = module.split(".")[1:]
    inner = ".".join((first, *others[:1]))
    return inner if inner in LEVEL else first


def module_at(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


PACKAGE = sorted((ROOT / "shapelint").rglob("*.py"))
RULES = sorted((ROOT / "rules").glob("*.py"))


@pytest.mark.parametrize("path", PACKAGE, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_package_imports_one_way(path: Path) -> None:
    own = room_of(module_at(path))
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
    assert list(rooms_imported(ROOT / "shapelint" / "project" / "driver.py"))
