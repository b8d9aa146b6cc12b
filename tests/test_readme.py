"""The README's example is real: its code gives the output that it shows."""

from __future__ import annotations

import re
from pathlib import Path

from shapelint.linter import lint_text
from shapelint.report.concise import line

ROOT = Path(__file__).parent.parent
IMPORTS = "import torch.nn.functional as F\nfrom jaxtyping import Float\nfrom torch import Tensor, nn\n\n\n"


def test_the_example_is_real() -> None:
    readme = (ROOT / "README.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    shown = [text.strip() for text in readme.splitlines() if text.startswith("    train.py:")]
    assert shown
    assert [line(finding) for finding in lint_text(IMPORTS + code, "train.py").findings] == shown


def test_one_command_runs_what_ci_runs() -> None:
    readme, ci = (ROOT / "README.md").read_text(), (ROOT / ".ci" / "run").read_text()
    assert "pip install -e '.[test]' && .venv/bin/pytest -n 2" in readme
    assert re.search(r"pip\" install (--quiet )?-e '\.\[test\]'\n.*/pytest\" -n 2", ci)
