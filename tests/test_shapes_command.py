"""`shapelint shapes`: every binding with its shape, and how much of a path has known shapes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from shapelint.__main__ import main

PROGRAM = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, 10)
        self.scale = torch.ones(width, 1)

    def forward(self, x):
        b, t, c = x.shape
        h = self.fc(x)
        return h.mean(1)


def split(x):
    left, right = x[:, :3], x[:, 3:]
    pair = (left, right)
    return pair


split(torch.zeros(4, 8))
split(torch.zeros(5, 8))
odd = torch.load("odd.pt")
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["shapes", *arguments]) == 0
    return capsys.readouterr().out


def test_every_line_is_kept_and_shapes_stand_in_one_column(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, str(program)).splitlines()
    assert [line.partition("  # ")[0].rstrip() for line in lines] == PROGRAM.splitlines()
    assert len({line.index("  # ") for line in lines if "  # " in line}) == 1


def test_shapes_of_attributes_parameters_and_tuples(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes = [line.partition("  # ")[2] for line in shown(capsys, str(program)).splitlines()]
    assert "self.scale: (width, 1) float32" in notes
    assert "x: (b, t, c)" in notes  # by its use
    assert "h: (b, t, 10)" in notes
    assert any(note.startswith("pair: [(") for note in notes)
    assert "odd: ?" in notes
    assert not any("self.fc" in note for note in notes)


def test_json(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entries = json.loads(shown(capsys, str(program), "--output-format", "json"))
    assert {
        "location": {"row": 9, "column": 9},
        "function": "__init__",
        "name": "self.scale",
        "text": "(width, 1) float32",
        "shape": ["width", 1],
        "dtype": "float32",
    } in entries
    assert [(e["name"], e["shape"]) for e in entries if e["name"] == "odd"] == [("odd", None)]


def test_colour_only_where_it_is_wanted(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "\x1b[" not in shown(capsys, str(program))
    assert "\x1b[" in shown(capsys, str(program), "--color", "always")


def test_coverage_counts_results_and_names_what_loses_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "known.py").write_text("import torch\nx = torch.zeros(3, 4)\ny = x + 1\nz = torch.frobnicate(y)\n")
    (tmp_path / "unknown.py").write_text("import torch\ndef f(x):\n    return torch.relu(x)\n")
    (tmp_path / "plain.py").write_text("print(1)\n")
    document = json.loads(shown(capsys, "--coverage", "--isolated", str(tmp_path), "--output-format", "json"))
    assert document["total"] == {"results": 4, "rank_known": 2, "sizes_known": 2}
    assert [entry["path"] for entry in document["paths"]] == [str(tmp_path)]
    assert document["lost"] == [{"call": "torch.frobnicate", "count": 1}]
    text = shown(capsys, "--coverage", "--isolated", str(tmp_path))
    assert "50.0 %" in text
    assert "torch.frobnicate" in text


def test_a_result_counts_once_at_its_best(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "twice.py"
    path.write_text("import torch\ndef f(x):\n    return torch.relu(x)\nf(torch.zeros(2))\nf(torch.zeros(3))\n")
    document = json.loads(shown(capsys, "--coverage", "--isolated", str(path), "--output-format", "json"))
    assert document["total"] == {"results": 3, "rank_known": 3, "sizes_known": 3}


def test_what_a_call_from_another_file_makes_known_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "helper.py").write_text("import torch\ndef f(x):\n    return torch.relu(x)\n")
    (tmp_path / "main.py").write_text("import torch\nfrom helper import f\nf(torch.zeros(2))\n")
    together = json.loads(shown(capsys, "--coverage", "--isolated", str(tmp_path), "--output-format", "json"))
    assert together["total"] == {"results": 2, "rank_known": 2, "sizes_known": 2}
    helper = str(tmp_path / "helper.py")
    alone = json.loads(shown(capsys, "--coverage", "--isolated", helper, "--output-format", "json"))
    assert alone["total"] == {"results": 1, "rank_known": 0, "sizes_known": 0}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nothing.py"], "nothing.py: error: cannot be read: No such file"),
        (["--coverage", "nothing.py"], "nothing.py: no such file"),
        (["bad.py"], "bad.py:1:"),
        (["--coverage", "bad.py"], "bad.py:1:"),
        (["."], "shows one file"),
        (["bad.py", "bad.py"], "shows one file"),
    ],
)
def test_what_cannot_be_read_is_said(
    arguments: list[str],
    reason: str,
    program: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(program.parent)
    Path("bad.py").write_text("import torch\n(")
    assert main(["shapes", *arguments]) == 2
    assert reason.removesuffix("1:") in capsys.readouterr().err


def test_linting_imports_none_of_it() -> None:
    code = "import sys, shapelint.__main__ as m; m.main(['rules']); print([n for n in sys.modules if 'bindings' in n])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.endswith("[]\n")
