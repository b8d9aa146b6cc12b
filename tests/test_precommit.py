"""The hook as pre-commit runs it: installed from a clone of this repository, in a repository of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

BUG = """\
import torch
from torch import Tensor, nn
from jaxtyping import Float

model = nn.Linear(8, 1)


def loss(x: Float[Tensor, "n 8"], y: Float[Tensor, " n"]) -> Tensor:
    return ((model(x) - y) ** 2).mean()
"""


def run(*command: str, cwd: Path, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    own = {**os.environ, **environment}
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=check, env=own)


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs the repository that pre-commit clones")
def test_the_hook_reports(tmp_path: Path) -> None:
    hook = tmp_path / "shapelint"
    run("git", "clone", "--quiet", str(ROOT), str(hook), cwd=tmp_path)
    user = tmp_path / "user"
    user.mkdir()
    run("git", "init", "--quiet", cwd=user)
    (user / "bug.py").write_text(BUG)
    (user / "old.py").write_text(BUG)
    (user / "pyproject.toml").write_text('[tool.shapelint]\nexclude = ["old.py"]\n')
    run("git", "add", ".", cwd=user)
    pre_commit = (sys.executable, "-m", "pre_commit", "try-repo", str(hook), "shapelint", "--all-files", "--verbose")
    first = run(*pre_commit, cwd=user, check=False, PRE_COMMIT_HOME=str(tmp_path / "home"))
    assert first.returncode == 1, first.stdout + first.stderr
    assert "bug.py:9:14: SHP101 [outer-broadcast]" in first.stdout
    assert "old.py" not in first.stdout
    (user / "bug.py").write_text(BUG.replace("model(x)", "model(x).squeeze(-1)"))
    second = run(*pre_commit, cwd=user, check=False, PRE_COMMIT_HOME=str(tmp_path / "home"))
    assert second.returncode == 0, second.stdout + second.stderr
