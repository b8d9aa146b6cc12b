"""The import statements at the top of a file, and edits that add what is missing there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from shapelint.finding import Edit, Location

if TYPE_CHECKING:
    import libcst


def leading(module: libcst.Module) -> list[Any]:
    """The statements that a file begins with: its docstring and its imports; without them its first statement."""
    found = []
    for statement in module.body:
        if not list(_names(statement)) and not _is_docstring(module, statement):
            break
        found.append(statement)
    return found or list(module.body[:1])


def added(
    module: libcst.Module, wanted: Iterable[str], places: Mapping[int, tuple[Location, Location]]
) -> Iterator[Edit]:
    """One insertion for all statements that are missing, below the imports that stand there."""
    present = set(_present(module))
    missing = [statement for statement in wanted if statement not in present]
    statements = leading(module)
    if not missing or not statements:
        return
    text = "".join(statement + module.default_newline for statement in missing)
    start, end = places[id(statements[-1])]
    follows = bool(list(_names(statements[-1]))) or _is_docstring(module, statements[-1])
    place = Location(end.row + 1 if follows else start.row, 1)
    yield Edit(place, place, text)


def _is_docstring(module: libcst.Module, statement: Any) -> bool:
    return statement is module.body[0] and module.get_docstring() is not None


def _present(module: libcst.Module) -> Iterator[str]:
    for statement in module.body:
        yield from _names(statement)


def _names(statement: Any) -> Iterator[str]:
    """The imports of a statement, one statement for each name: `from a import b`, `import a`.

    Nothing for a star, which may import anything.
    """
    if type(statement).__name__ != "SimpleStatementLine":
        return
    from libcst.helpers import get_full_name_for_node

    for part in statement.body:
        kind = type(part).__name__
        if kind not in {"Import", "ImportFrom"}:
            continue
        origin = ""
        if kind == "ImportFrom":
            module = get_full_name_for_node(part.module) if part.module is not None else ""
            origin = f"from {'.' * len(part.relative)}{module} "
        for alias in part.names if type(part.names).__name__ != "ImportStar" else ():
            name = get_full_name_for_node(alias.name)
            as_name = f" as {get_full_name_for_node(alias.asname.name)}" if alias.asname is not None else ""
            yield f"{origin}import {name}{as_name}"
