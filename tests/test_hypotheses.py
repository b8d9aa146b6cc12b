"""What docstrings and comments state becomes known where nothing else is, and only where the code agrees.

`# inferred: (B, T)` stands at the binding of a name in fixtures/shapes.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shapelint.config import Config
from shapelint.domain.values import Tensor
from shapelint.inspection.bindings import bindings_of
from shapelint.linter import lint_file
from shapelint.project.modules import Project

SHAPES = sorted((Path(__file__).parent.parent / "fixtures" / "shapes").glob("*.py"))
MARK = re.compile(r"# inferred: (.*)")


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.stem)
def test_inferred(path: Path) -> None:
    text, found, places = bindings_of(str(path))
    marks = {row: mark[1] for row, line in enumerate(text.splitlines(), 1) if (mark := MARK.search(line))}
    shapes: dict[int, str] = {}
    for binding in found:
        value = binding.values[-1]
        shapes[places[id(binding.node)][0].row] = str(value.shape) if isinstance(value, Tensor) else "?"
    assert marks
    assert {row: shapes.get(row) for row in marks} == marks


@pytest.mark.parametrize("path", SHAPES, ids=lambda path: path.stem)
def test_nothing_is_reported(path: Path) -> None:
    assert not lint_file(str(path), Config(), Project()).findings
