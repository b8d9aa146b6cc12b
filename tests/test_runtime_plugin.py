"""The pytest plugin: each option, what a suite must not notice, and what is imported when all is off."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = Path(__file__).parent / "packages"
TESTS = """
import numpy as np, torch, training
def test_loss(): training.squared(torch.ones(5, 1), torch.ones(5))
def test_array(): training.squared(np.ones((5, 1)), np.ones(5))
def test_right(): training.squared(np.ones((5, 1)), np.ones((5, 1)))
def test_annotation(): training.total(np.ones((3, 2)))
def test_gradients(gradient_audit):
    net = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 1), "b": torch.nn.Linear(2, 1)})
    gradient_audit(net)
    net["a"](torch.ones(1, 2)).sum().backward()
"""
TRAINING = """
import numpy as np
from jaxtyping import Float
def squared(prediction, target): return ((prediction - target) ** 2).mean()
def total(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]: return x.sum(0)
"""


def run(directory: Path, *options: str) -> str:
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(directory), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "shapelint.runtime.plugin", "-p", "no:cacheprovider"]
    command += ["--import-mode=importlib", "-c", "/dev/null", f"--rootdir={directory}", "-rA", "--tb=short", *options]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, env=environment, timeout=300).stdout


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "test_training.py").write_text(TESTS)
    (tmp_path / "training.py").write_text(TRAINING)
    return tmp_path


def test_off(suite: Path) -> None:
    output = run(suite)
    assert "1 failed, 4 passed" in output
    assert "b.weight: no gradient" in output


def test_check_guard_and_probe(suite: Path) -> None:
    output = run(suite, "--shapelint-check=training", "--shapelint-guard", "--shapelint-probe=training")
    assert "5 failed, 1 passed" in output
    for failed in ("test_loss", "test_array", "test_annotation", "test_gradients"):
        assert f"FAILED test_training.py::{failed}" in output
    assert "`prediction` (5, 1) and `target` (5,) broadcast against each other" in output
    assert "shapelint: caught by the guard" in output
    assert f"{suite}/training.py:4: SHP101 `prediction` (5, 1) and `target` (5,) at run time; annotate" in output
    assert "training:total: axis bug" in output


def test_guard_that_warns(suite: Path) -> None:
    output = run(suite, "--shapelint-guard-warn", "-k", "loss or array or right")
    assert "3 passed" in output
    assert "BroadcastWarning: `prediction` (5, 1) and `target` (5,) broadcast against each other" in output


def test_mistakes_in_options(suite: Path) -> None:
    (suite / "conftest.py").write_text("import training")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "shapelint.runtime.plugin", "--shapelint-check=json", str(suite)],
        capture_output=True, text=True, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, timeout=100,
    )  # fmt: skip
    assert done.returncode == 4
    assert "--shapelint-check: json is already imported" in done.stderr


def test_a_suite_of_compiled_functions_workers_transforms_and_threads() -> None:
    pytest.importorskip("xdist")
    output = run(
        PACKAGES,
        "-p",
        "xdist",
        "-n",
        "1",
        "--shapelint-check=suite.library",
        "--shapelint-guard",
        "suite/test_suite.py",
    )
    assert "6 passed" in output, output[-3000:]


def test_nothing_heavy_is_imported_when_off() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import shapelint.runtime.plugin; "
        "print(sorted(m for m in set(sys.modules) - before if not m.startswith('shapelint')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_environment_variable(suite: Path) -> None:
    (suite / "shapelint.pth").write_text((Path(__file__).parent.parent / "shapelint.pth").read_text())
    program = (
        f"import site; site.addsitedir({str(suite)!r}); import numpy, training; training.total(numpy.ones((3, 2)))"
    )

    def start(**environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", program], cwd=suite, capture_output=True, text=True, env=environment, timeout=100
        )

    assert start().returncode == 0
    assert "TypeCheckError: training.total: its result is float64 (2,)" in start(SHAPELINT_CHECK="training").stderr
    refused = start(SHAPELINT_CHECK="site")
    assert refused.returncode == 1
    assert refused.stderr.startswith("shapelint: SHAPELINT_CHECK: site is already imported")
