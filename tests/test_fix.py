"""Fixes keep what they do not mean, come out the same a second time, and compute the right value on real tensors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shapelint.__main__ import main
from shapelint.config import Config
from shapelint.finding import Edit, Failure, Finding, Fix, Location, Outcome, Severity
from shapelint.fixes.text import apply, diff, until_stable
from shapelint.linter import lint_text

FIXTURES = Path(__file__).parent.parent / "fixtures"
CODES = frozenset({"SHP101", "SHP102", "SHP201", "SHP206", "SHP305", "SHP306"})

BUG = """\
import torch
from torch import nn


def error(n=8):
    x, y = torch.randn(n, 3), torch.randn(n)
    layer = nn.Linear(3, 1)
    return {expression}
"""
DIFFERENCE = BUG.format(expression="layer(x) - y")
SQUEEZED = BUG.format(expression="layer(x).squeeze(-1) - y")


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def fixed(text: str, unsafe: bool = False, select: tuple[str, ...] | None = None) -> str:
    def lint(source: str) -> Outcome:
        return lint_text(source, "story.py", Config(select=select) if select else Config())

    first = until_stable(text, lint, lint(text), unsafe)
    again = until_stable(first.text, lint, first.outcome, unsafe)
    assert again.text == first.text
    assert not again.count
    return first.text


def run(text: str, call: str) -> Any:
    scope: dict[str, Any] = {}
    exec(text, scope)
    return eval(call, scope)


class TestValues:
    """The fixed code runs and gives the right numbers."""

    @pytest.mark.parametrize(
        ("expression", "after"),
        [
            ("layer(x) - y", "layer(x).squeeze(-1) - y"),
            ("y - (layer(x))", "y - (layer(x)).squeeze(-1)"),
            ("x @ torch.ones(3, 1) - y", "(x @ torch.ones(3, 1)).squeeze(-1) - y"),
            ("-layer(x) + y", "(-layer(x)).squeeze(-1) + y"),
            ("(x[:, :1]) * (y)", "(x[:, :1]).squeeze(-1) * (y)"),
            ("torch.where(y > 3, layer(x), y)", "torch.where(y > 3, layer(x).squeeze(-1), y)"),
            ("layer(x) == y  # why", "layer(x).squeeze(-1) == y  # why"),
        ],
    )
    def test_a_column_against_a_vector(self, expression: str, after: str) -> None:
        text = fixed(BUG.format(expression=expression))
        assert text == BUG.format(expression=after)
        assert run(text, "error()").shape == (8,)

    def test_a_loss(self) -> None:
        text = fixed(BUG.format(expression="nn.functional.mse_loss(layer(x), y), layer, x, y"))
        loss, layer, x, y = run(text, "error()")
        assert loss.item() == pytest.approx(((layer(x).flatten() - y) ** 2).mean().item())

    def test_one_fix_uncovers_the_next(self) -> None:
        text = fixed(BUG.format(expression="nn.functional.l1_loss(layer(x), y + 0.9 * layer(x))"))
        assert text == BUG.format(
            expression="nn.functional.l1_loss(layer(x).squeeze(-1), y + (0.9 * layer(x)).squeeze(-1))"
        )
        assert run(text, "error()").shape == ()

    @pytest.mark.parametrize(
        ("library", "call", "after"),
        [
            ("numpy", "x.sum(axis=1)", "x.sum(axis=1, keepdims=True)"),
            ("numpy", "numpy.sum(x, 1)", "numpy.sum(x, 1, keepdims=True)"),
            ("numpy", "x.sum(\n    axis=1,  # rows\n)", "x.sum(\n    axis=1, keepdims=True,  # rows\n)"),
            ("numpy", "numpy.linalg.norm(x, axis=-1)", "numpy.linalg.norm(x, axis=-1, keepdims=True)"),
            ("torch", "x.sum(dim=1)", "x.sum(dim=1, keepdim=True)"),
            ("torch", "x.sum(1).clamp(min=1)", "x.sum(1, keepdim=True).clamp(min=1)"),
            ("torch", "x.max(dim=(1)).values", "x.max(dim=(1), keepdim=True).values"),
        ],
    )
    def test_an_axis_is_kept(self, library: str, call: str, after: str) -> None:
        make = "numpy.arange(1.0, 10).reshape(3, 3)" if library == "numpy" else "torch.arange(1.0, 10).view(3, 3)"
        text = f"import {library}\n\n\ndef shares():\n    x = {make}\n    return x / {call}\n"
        assert fixed(text) == text.replace(call, after)
        x = run(f"import {library}\nx = {make}", "x")
        row = run(fixed(text), "shares()")[1]
        divisor = eval(call, {library: __import__(library), "x": x})
        assert row.tolist() == pytest.approx((x[1] / divisor[1]).tolist())
        assert row.tolist() != pytest.approx((x / divisor)[1].tolist())

    def test_an_axis_kept_for_others_as_well_is_unsafe(self) -> None:
        text = (
            "import numpy as np\n\n\ndef shares(x):\n    total = x.sum(axis=1)\n    return x / total, np.sort(total)\n"
        )
        assert fixed(text) == text
        assert fixed(text, unsafe=True) == text.replace("axis=1", "axis=1, keepdims=True")

    @pytest.mark.parametrize(
        ("call", "after", "shape"),
        [
            ("torch.randn(b, 5, 1).squeeze()", "torch.randn(b, 5, 1).squeeze(-1)", (1, 5)),
            ("torch.squeeze(torch.randn(b, 5, 1))", "torch.squeeze(torch.randn(b, 5, 1), dim=-1)", (1, 5)),
            ("torch.randn(b, 5, 1, 1).squeeze()", "torch.randn(b, 5, 1, 1).squeeze((-2, -1))", (1, 5)),
            ("np.squeeze(np.ones((b, 1, 5)))", "np.squeeze(np.ones((b, 1, 5)), axis=-2)", (1, 5)),
            ("np.ones((b, 1, 5)).squeeze()", "np.ones((b, 1, 5)).squeeze(-2)", (1, 5)),
        ],
    )
    def test_a_squeeze_names_its_axis(self, call: str, after: str, shape: tuple[int, ...]) -> None:
        text = f"import numpy as np\nimport torch\n\n\ndef pool(x):\n    b, c = x.shape\n    return {call}\n"
        assert fixed(text) == text.replace(call, after)
        assert run(fixed(text), "pool(torch.zeros(1, 1))").shape == shape

    @pytest.mark.parametrize(
        ("call", "after"),
        [
            ("F.softmax(x)", "F.softmax(x, dim=-1)"),
            ("nn.Softmax()(x)", "nn.Softmax(dim=-1)(x)"),
            ("F.log_softmax(x, dtype=torch.float64).exp()", "F.log_softmax(x, dtype=torch.float64, dim=-1).exp()"),
        ],
    )
    def test_a_softmax_names_its_axis(self, call: str, after: str) -> None:
        text = (
            "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n\n\n"
            f"def weigh(n=3):\n    x = torch.randn(n, 5)\n    return {call}\n"
        )
        assert fixed(text) == text.replace(call, after)
        assert run(fixed(text), "weigh()").sum(1).tolist() == pytest.approx([1.0] * 3)

    def test_a_choice_in_each_row(self) -> None:
        text = (
            "import torch\n\n\ndef accuracy(n=4, c=3):\n    scores = torch.eye(c)[[0, 1, 2, 0]] + torch.zeros(n, c)\n"
            "    labels = torch.tensor([0, 1, 2, 1])\n    return (scores.argmax() == labels).float().mean()\n"
        )
        result = fixed(text, unsafe=True)
        assert "scores.argmax(dim=1)" in result
        assert run(result, "accuracy()").item() == 0.75

    def test_a_sequence_layer_takes_the_batch_first(self) -> None:
        text = (
            "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
            "        super().__init__()\n        self.lstm = nn.LSTM(4, 8)\n\n    def forward(self, x):\n"
            "        batch, time, features = x.shape\n        out, _ = self.lstm(x)\n        return out[:, -1]\n"
        )
        result = fixed(text, unsafe=True)
        assert result == text.replace("nn.LSTM(4, 8)", "nn.LSTM(4, 8, batch_first=True)")
        net, x = run(result, "Net()"), run("import torch", "torch.randn(2, 5, 4)")
        assert net(x)[0].tolist() == pytest.approx(net(x[:1])[0].tolist(), abs=1e-6)  # samples do not meet


def edit(start: int, end: int, content: str, row: int = 1) -> Edit:
    return Edit(Location(row, start), Location(row, end), content)


class TestApply:
    def test_edits_of_several_fixes(self) -> None:
        applied = apply("abc def", [Fix("", (edit(5, 8, "D"),)), Fix("", (edit(1, 4, "A"),))])
        assert (applied.text, applied.count) == ("A D", 2)

    @pytest.mark.parametrize(
        "other", [edit(2, 5, "x"), edit(4, 6, "x"), edit(1, 1, "x"), edit(4, 4, "x"), edit(2, 2, "x")]
    )
    def test_touching_edits_wait(self, other: Edit) -> None:
        applied = apply("abcdef", [Fix("", (edit(1, 4, "A"),)), Fix("", (other, edit(7, 7, "!")))])
        assert (applied.text, applied.count) == ("Adef", 1)

    def test_an_edit_of_several_fixes_is_made_once(self) -> None:
        line = edit(1, 1, "import a\n")
        applied = apply("f\ng\n", [Fix("", (line, edit(1, 2, "F"))), Fix("", (line, edit(1, 2, "G", 2)))])
        assert (applied.text, applied.count) == ("import a\nF\nG\n", 2)

    @pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
    def test_rows_are_those_of_the_newlines(self, newline: str) -> None:
        text = newline.join(["a\x0cb\u2028c", "ä\tx", ""])
        assert apply(text, [Fix("", (edit(3, 4, "Y", 2),))]).text == text.replace("x", "Y")

    def test_beyond_the_end(self) -> None:
        assert apply("a", [Fix("", (edit(1, 1, "b", 2),))]).text == "ab"

    def test_a_fix_that_brings_its_finding_back_comes_to_an_end(self) -> None:
        def lint(text: str) -> Outcome:
            grow = Fix("", (edit(1, 1, "x"),))
            place = Location(1, 1)
            return Outcome((Finding("a.py", place, place, "SHP999", "", "", Severity.WARNING, (), grow),))

        assert until_stable("", lint, lint("")).text == "x" * 10

    def test_a_fix_that_breaks_the_file_is_taken_back(self) -> None:
        place = Location(1, 1)
        fix = Fix("", (edit(1, 1, "("),))
        outcome = Outcome((Finding("a.py", place, place, "SHP999", "", "", Severity.WARNING, (), fix),))
        broken = Outcome(failures=(Failure("a.py", "cannot be parsed"),))
        fixed = until_stable("x = 1\n", lambda text: broken, outcome)
        assert (fixed.text, fixed.count, fixed.outcome) == ("x = 1\n", 0, outcome)


def shell(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "shapelint", "--isolated", *arguments], input=stdin, capture_output=True
    )


class TestCommandLine:
    def test_everything_is_fixed(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("a.py").write_text(DIFFERENCE)
        assert main(["--isolated", "--fix", "a.py"]) == 0
        assert Path("a.py").read_text() == SQUEEZED
        assert capsys.readouterr().out == "Fixed 1 problem.\n"
        assert main(["--isolated", "--fix", "a.py"]) == 0
        assert capsys.readouterr().out == ""

    def test_what_remains_is_reported(self, capsys: pytest.CaptureFixture[str]) -> None:
        rest = "\n\ndef broken(n=3):\n    return torch.ones(2, 3) @ torch.ones(2, 3)\n"
        Path("a.py").write_text(DIFFERENCE + rest)
        assert main(["--isolated", "--fix", "--output-format", "concise", "a.py"]) == 1
        shown = capsys.readouterr().out.splitlines()
        assert [line.split()[1] for line in shown[:-1]] == ["SHP103"]
        assert shown[-1] == "Fixed 1 problem."
        assert main(["--isolated", "--fix", "--exit-zero", "a.py"]) == 0

    def test_several_files_and_one_that_cannot_be_read(self, capsys: pytest.CaptureFixture[str]) -> None:
        for name in ("a.py", "b.py"):
            Path(name).write_text(DIFFERENCE)
        Path("c.py").write_text("import torch\ndef (\n")
        Path("d.py").write_text(SQUEEZED)
        before = Path("d.py").stat().st_mtime_ns
        assert main(["--isolated", "--fix", "."]) == 2
        assert capsys.readouterr().err.startswith("c.py:2:")
        assert Path("a.py").read_text() == Path("b.py").read_text() == SQUEEZED
        assert Path("d.py").stat().st_mtime_ns == before

    def test_a_diff_changes_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        Path("a.py").write_text(DIFFERENCE)
        assert main(["--isolated", "--diff", "."]) == 1
        captured = capsys.readouterr()
        assert captured.out == diff(DIFFERENCE, SQUEEZED, "a.py")
        assert captured.err == "Would fix 1 problem.\n"
        assert Path("a.py").read_text() == DIFFERENCE
        subprocess.run(["patch", "-s", "a.py"], input=captured.out, text=True, check=True)
        assert Path("a.py").read_text() == SQUEEZED
        assert main(["--isolated", "--diff", "."]) == 0
        assert capsys.readouterr().out == ""

    def test_unsafe_fixes_only_when_asked(self, capsys: pytest.CaptureFixture[str]) -> None:
        text = "import numpy as np\n\n\ndef f(x):\n    t = x.sum(axis=1)\n    return x / t, np.sort(t)\n"
        Path("a.py").write_text(text)
        assert main(["--isolated", "--fix", "a.py"]) == 1
        assert capsys.readouterr().out.endswith("Can be fixed: 1 with --fix --unsafe-fixes.\n")
        assert Path("a.py").read_text() == text
        assert main(["--isolated", "--fix", "--unsafe-fixes", "a.py"]) == 0
        assert "keepdims=True" in Path("a.py").read_text()

    @pytest.mark.parametrize(
        ("encoding", "head"),
        [("utf-8", ""), ("utf-8-sig", ""), ("latin-1", "# coding: latin-1\n"), ("utf-8", "#!/usr/bin/python\n")],
    )
    @pytest.mark.parametrize("newline", ["\n", "\r\n"])
    def test_encodings_and_newlines_are_kept(self, encoding: str, head: str, newline: str) -> None:
        def data(text: str) -> bytes:
            return (head + "é = 'ü'\n" + text).replace("\n", newline).encode(encoding)

        Path("a.py").write_bytes(data(DIFFERENCE))
        assert main(["--isolated", "--fix", "a.py"]) == 0
        assert Path("a.py").read_bytes() == data(SQUEEZED)

    @pytest.mark.parametrize("text", [DIFFERENCE, DIFFERENCE.rstrip("\n"), DIFFERENCE.replace("\n", "\r\n")])
    def test_standard_input(self, text: str) -> None:
        run = shell("--fix", "--stdin-filename", "a.py", "-", stdin=text.encode())
        assert (run.returncode, run.stdout, run.stderr) == (
            0, text.replace("layer(x) -", "layer(x).squeeze(-1) -").encode(), b"Fixed 1 problem.\n",
        )  # fmt: skip

    def test_standard_input_that_cannot_be_read_is_passed_on(self) -> None:
        run = shell("--fix", "-", stdin=b"import torch\ndef (\n")
        assert (run.returncode, run.stdout) == (2, b"import torch\ndef (\n")
        assert b"cannot be parsed" in run.stderr

    def test_a_diff_of_standard_input(self) -> None:
        run = shell("--diff", "-", stdin=DIFFERENCE.encode())
        assert (run.returncode, run.stdout) == (1, diff(DIFFERENCE, SQUEEZED, "<stdin>").encode())

    def test_a_file_that_cannot_be_written(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Path("a.py").write_text(DIFFERENCE)
        real = open

        def refuse(name: Any, mode: str = "r", **options: Any) -> Any:
            if str(name).endswith("a.py") and "w" in mode:
                raise PermissionError(13, "Permission denied")
            return real(name, mode, **options)

        monkeypatch.setattr("builtins.open", refuse)
        assert main(["--isolated", "--fix", "a.py"]) == 2
        assert capsys.readouterr().err == "a.py: error: cannot be written: Permission denied\n"

    def test_suppressed_findings_are_not_fixed(self) -> None:
        text = DIFFERENCE.replace("- y", "- y  # noqa: SHP101")
        Path("a.py").write_text(text)
        assert main(["--isolated", "--fix", "a.py"]) == 0
        assert Path("a.py").read_text() == text

    def test_what_is_imported_is_fixed_as_well(self) -> None:
        Path("model.py").write_text("import torch\nfrom torch import nn\n\nhead = nn.Linear(3, 1)\n")
        Path("train.py").write_text(
            "import torch\nfrom model import head\n\nloss = head(torch.ones(8, 3)) - torch.ones(8)\n"
        )
        assert main(["--isolated", "--fix", "."]) == 0
        assert "head(torch.ones(8, 3)).squeeze(-1) -" in Path("train.py").read_text()

    def test_the_cache_knows_fixes(self) -> None:
        Path("a.py").write_text(DIFFERENCE)
        assert main(["--isolated", "a.py"]) == 1
        assert main(["--isolated", "--fix", "a.py"]) == 0
        assert Path("a.py").read_text() == SQUEEZED


STORIES = [
    path for code in ("101", "102", "201", "206", "305", "306") for path in sorted(FIXTURES.glob(f"shp{code}_*/*.py"))
]


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_a_fixed_story_is_silent_where_a_fix_was_offered(path: Path) -> None:
    def lint(text: str) -> Outcome:
        return lint_text(text, str(path), Config(select=tuple(CODES)))

    text = path.read_text()
    before = lint(text)
    after = until_stable(text, lint, before, unsafe=True)
    compile(after.text, str(path), "exec")
    assert all(finding.fix is None for finding in after.outcome.findings)
    assert len(after.outcome.findings) <= sum(finding.fix is None for finding in before.findings)


ANNOTATED = 'def f{}(x: Float[Tensor, "n d"]) -> Float[Tensor, "d"]:\n    return x.sum(0)\n'
HEADS = [
    "from jaxtyping import Float\nfrom torch import Tensor\n",
    '"""Doc."""\n\nfrom __future__ import annotations\n\nfrom jaxtyping import Float  # it\nfrom torch import Tensor\n',
    "#!/usr/bin/python\n# A licence.\nfrom jaxtyping import (\n    Float,\n)\nfrom torch import Tensor\n",
    "from jaxtyping import Float, jaxtyped\nfrom torch import Tensor\n",
    "from jaxtyping import Float\r\nfrom torch import Tensor\r\n",
]


@pytest.mark.parametrize("head", HEADS)
def test_imports_are_added_once(head: str) -> None:
    newline = "\r\n" if "\r\n" in head else "\n"
    text = head + "\n\n".join(["", ANNOTATED.format(1), ANNOTATED.format(2)]).replace("\n", newline)
    result = fixed(text, select=("SHP601",))
    assert result.count("import beartype") == 1
    assert result.replace("Float, jaxtyped", "").count("import jaxtyped") == ("jaxtyped" not in head)
    assert result.count("@jaxtyped(typechecker=beartype)") == 2
    assert result.startswith(head)
    assert ("\r\n" in result) == ("\n" not in result.replace("\r\n", "")) or newline == "\n"
    assert run(result, "f1(__import__('torch').ones(2, 3))").shape == (3,)
