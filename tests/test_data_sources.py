"""Stories in fixtures/shapes about other libraries, executed where these are installed: no inferred shape is wrong.

The stories say what is inferred (`# inferred: (150, 4)`), which tests/test_hypotheses.py holds. Here every value that
the story binds at its top level is held against that mark: as many axes, and the same sizes where these are numbers.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

SHAPES = Path(__file__).parent.parent / "fixtures" / "shapes"
MARK = re.compile(r"# inferred: \((.*)\)$")
STORIES = {
    "arrays_from_files": (),
    "scikit_learn": ("sklearn",),
    "pandas_tables": ("pandas",),
    "pictures": ("torchvision", "PIL"),
    "opencv": ("cv2",),
    "environments": ("gymnasium",),
    "replay_buffers": ("stable_baselines3",),
    "named_tuples": (),
    "command_lines": (),
    "slice_objects": (),
    "jax_decorators": (),
    "pretrained_models": ("torchvision", "timm", "transformers"),
    "gradients": (),
}


def marked(text: str) -> dict[str, tuple[str, ...]]:
    """By name what a top-level assignment of it is said to be; names that are bound again tell nothing."""
    lines, found, twice = text.splitlines(), {}, set()
    for statement in ast.parse(text).body:
        mark = MARK.search(lines[statement.lineno - 1])
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            if isinstance(target, ast.Name):
                twice |= {target.id} & found.keys()
                if mark is not None:
                    sizes = re.sub(r"\w+\([^()]*\)", "?", mark[1]).split(",")  # min(8, ? - 3)
                    found[target.id] = tuple(size.strip() for size in sizes if size.strip())
    return {name: sizes for name, sizes in found.items() if name not in twice}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("story", STORIES)
def test_what_is_inferred_is_so(story: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in STORIES[story]:
        pytest.importorskip(library)
    text = (SHAPES / f"{story}.py").read_text()
    module = ModuleType(story)
    monkeypatch.setitem(sys.modules, story, module)
    names: dict[str, Any] = vars(module)
    exec(compile(text, story, "exec"), names)
    expected = marked(text)
    assert expected
    wrong = {
        name: f"{np.shape(names[name])}, not {sizes}"
        for name, sizes in expected.items()
        if not agrees(np.shape(names[name]), sizes)
    }
    assert not wrong


def agrees(shape: tuple[int, ...], sizes: tuple[str, ...]) -> bool:
    return len(shape) == len(sizes) and all(not size.isdigit() or int(size) == n for n, size in zip(shape, sizes))


def test_marks_are_compared() -> None:
    assert marked("x = f()  # inferred: (2, ?)\ny = g()\nz = 1  # inferred: (3,)\nz = 2\n") == {"x": ("2", "?")}
    assert agrees((2, 9), ("2", "?"))
    assert not agrees((3, 9), ("2", "?"))
    assert not agrees((2,), ("2", "?"))
