"""docs/runtime.md is executed: its code runs, and raises what it shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from jaxtyping import TypeCheckError

from shapelint.linter import lint_text
from shapelint.runtime import BroadcastError, GradientError

PAGE = (Path(__file__).parent.parent / "docs" / "runtime.md").read_text()
STORIES = PAGE[PAGE.index("## Two stories") : PAGE.index("## Annotations that hold")]


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The program of the first story, from a file, as a program is."""
    path = tmp_path_factory.mktemp("stories") / "train.py"
    path.write_text(blocks(STORIES)[0])
    namespace: dict[str, Any] = {"__name__": "train", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    return namespace


def shown(kind: str) -> str:
    """The message that the page shows, up to where it is cut."""
    return re.findall(rf"^    {kind}: (.*)$", PAGE, re.MULTILINE)[0]


def test_the_linter_is_silent_where_the_page_says_so() -> None:
    assert lint_text(blocks(STORIES)[0], "train.py").findings == ()


def test_the_loss_is_caught_by_the_guard_and_by_the_check(names: dict[str, Any]) -> None:
    with pytest.raises(BroadcastError) as error:
        exec(blocks(STORIES)[1], names)
    assert str(error.value).splitlines()[0] == shown("BroadcastError")
    exec(blocks(STORIES)[2], names)
    with pytest.raises(TypeCheckError) as wrong:
        names["annotated_loss"](torch.rand(64, 1), torch.rand(64))
    assert str(wrong.value).replace("train.", "__main__.").startswith(shown("TypeCheckError"))


def test_the_layer_is_caught_by_the_audit(names: dict[str, Any]) -> None:
    with pytest.raises(GradientError) as error:
        exec("import shapelint.runtime\n" + blocks(STORIES)[3], names)
    assert str(error.value).splitlines()[0] == shown("GradientError")
    assert [line.strip() for line in str(error.value).splitlines()[1:]] == [
        "body.weight: no gradient",
        "body.bias: no gradient",
    ]


def test_every_block_is_python() -> None:
    for block in blocks(PAGE):
        compile(block, "runtime.md", "exec")
