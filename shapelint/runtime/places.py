"""Where the user's program stands: the frame, the line, and the expression that is being executed."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import FrameType

from shapelint.runtime.extras import words

LIBRARIES = words(
    "beartype chex contextlib einops equinox flax functools importlib jax jaxlib jaxtyping numpy optax torch"
)


def user_frames() -> Iterator[FrameType]:
    """The frames of the user's own code, innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users(frame):
            yield frame
        frame = frame.f_back


def is_users(frame: FrameType) -> bool:
    module = frame.f_globals.get("__name__") or ""
    return module.partition(".")[0] not in LIBRARIES and not module.startswith("shapelint.runtime")


def place(frame: FrameType) -> tuple[str, int]:
    return frame.f_code.co_filename, frame.f_lineno


def source_line(filename: str, line: int) -> str:
    return linecache.getline(filename, line).strip()


@lru_cache(maxsize=64)
def _tree(filename: str, _size: int) -> ast.Module | None:
    try:
        return ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError, RecursionError):
        return None


def tree_of(filename: str) -> ast.Module | None:
    """The syntax tree of a file as it was imported, None where there is no source."""
    return _tree(filename, sum(map(len, linecache.getlines(filename))))


def executing(frame: FrameType) -> ast.expr | ast.stmt | None:
    """The expression, or augmented assignment, that the frame is executing."""
    tree = tree_of(frame.f_code.co_filename)
    positions = list(frame.f_code.co_positions())
    index = frame.f_lasti // 2
    if tree is None or index >= len(positions):
        return None
    wanted = positions[index]
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.Compare | ast.Call | ast.AugAssign) and wanted == (
            node.lineno, node.end_lineno, node.col_offset, node.end_col_offset,
        ):  # fmt: skip
            return node
    return None


def scopes_at(tree: ast.Module, frame: FrameType) -> list[ast.AST]:
    """The functions that enclose the line that the frame executes, innermost first, and the module."""
    line = frame.f_lineno
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return [*sorted(around, key=lambda node: -node.lineno), tree]
