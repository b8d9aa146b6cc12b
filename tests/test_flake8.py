"""The findings as flake8 shows them, by a real flake8."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from shapelint.flake8 import Plugin

BUG = """\
import torch
from torch import Tensor, nn
from jaxtyping import Float

model = nn.Linear(8, 1)


def loss(x: Float[Tensor, "n 8"], y: Float[Tensor, " n"]) -> Tensor:
    return ((model(x) - y) ** 2).mean()
"""


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def flake8(*arguments: str, stdin: str | None = None) -> tuple[int, list[str]]:
    command = [sys.executable, "-m", "flake8", "--isolated", "--select=SHP", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, input=stdin)
    assert run.stderr == ""
    return run.returncode, run.stdout.splitlines()


def test_flake8_shows_findings() -> None:
    Path("a.py").write_text(BUG)
    status, lines = flake8("a.py")
    assert status == 1
    assert len(lines) == 1
    assert lines[0].startswith("a.py:9:14: SHP101 [outer-broadcast] ")


def test_flake8_from_an_editor() -> None:
    _, lines = flake8("--stdin-display-name", "b.py", "-", stdin=BUG)
    assert [line[:17] for line in lines] == ["b.py:9:14: SHP101"]


@pytest.mark.parametrize("comment", ["noqa", "noqa: SHP101", "shapelint: ignore[SHP101]"])
def test_silenced(comment: str) -> None:
    Path("a.py").write_text(BUG.replace(".mean()", f".mean()  # {comment}"))
    assert flake8("a.py") == (0, [])


def test_configuration_is_read() -> None:
    Path("a.py").write_text(BUG)
    Path("pyproject.toml").write_text('[tool.shapelint]\nignore = ["SHP101"]\n')
    assert flake8("a.py") == (0, [])


def test_registered_under_its_codes() -> None:
    command = [sys.executable, "-m", "flake8", "--version"]
    assert "shapelint:" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("text", ["import torch\nx = 1 +\n", "", "import torch\0", "import torch\nx = '\ud800'\n"])
def test_the_plugin_never_raises(text: str) -> None:
    assert list(Plugin(ast.Module([], []), "a.py", text.splitlines(keepends=True)).run()) == []


def test_a_broken_configuration_does_not_raise() -> None:
    Path("pyproject.toml").write_text("[tool.shapelint]\nselct = 1\n")
    plugin = Plugin(ast.parse(BUG), "a.py", BUG.splitlines(keepends=True))
    assert [(row, column, text[:6]) for row, column, text, _ in plugin.run()] == [(9, 13, "SHP101")]
