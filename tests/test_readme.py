"""The README's examples are real: their code gives the output that is shown."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from shapelint.linter import lint_text
from shapelint.report.text import render

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
DEMO, TRAIN = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def shown(command: str) -> str:
    """What the README shows below a command, up to the next one or the end of the block."""
    (block,) = re.findall(rf"^    \$ {re.escape(command)}\n((?:    (?!\$ ).*\n|\n(?=    ))+)", README, re.MULTILINE)
    return re.sub(r"^    ", "", block, flags=re.MULTILINE).strip()


def frames(text: str, filename: str) -> str:
    findings = lint_text(text, filename).findings
    text_shown = render(findings, lambda _: text.splitlines())
    return "\n".join(row.rstrip() for row in text_shown.splitlines()).strip()


def test_the_demo_prints_what_is_shown() -> None:
    printed = StringIO()
    with redirect_stdout(printed):
        exec(DEMO, {})
    assert printed.getvalue().strip() == shown("python demo.py")


def test_the_demo_is_reported_as_shown() -> None:
    assert frames(DEMO, "demo.py") == shown("shapelint demo.py")


def test_the_second_example_is_reported_as_shown() -> None:
    assert frames(TRAIN, "train.py") == shown("shapelint train.py")


def test_one_command_runs_what_ci_runs() -> None:
    ci = (ROOT / ".ci" / "run").read_text()
    assert "pip install -e '.[test]' && .venv/bin/pytest -n 2" in README
    assert re.search(r"pip\" install (--quiet )?-e '\.\[test\]'\n.*/pytest\" -n 2", ci)
