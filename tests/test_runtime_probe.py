"""Probing by primes: axis mistakes are found, corrections pass, and a process that dies is a result."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from shapelint.__main__ import main
from shapelint.runtime.probing import Limits, modules_of, probe
from shapelint.runtime.results import Result

PACKAGES = Path(__file__).parent / "packages"


@pytest.fixture(scope="module", autouse=True)
def _on_path() -> object:
    sys.path.insert(0, str(PACKAGES))
    yield
    sys.path.remove(str(PACKAGES))


@pytest.fixture(scope="module")
def axes(_on_path: object) -> dict[str, Result]:
    return {result.name.partition(":")[2]: result for result in probe("annotated.axes")}


WRONG = {
    "rollout", "probabilities", "zscore", "shifted", "orthogonalised", "with_coordinates", "cosines", "causal",
    "padded", "pooled", "predicted", "split", "distance",
}  # fmt: skip


def test_every_mistake_is_found_and_no_correction_is(axes: dict[str, Result]) -> None:
    assert {name for name, result in axes.items() if result.is_bug} == WRONG
    assert all(result.verdict == "passed" for name, result in axes.items() if "fixed" in name)


@pytest.mark.parametrize(
    ("name", "equal"),
    [("rollout", "n == m"), ("cosines", "q == n"), ("causal", "t == s"), ("with_coordinates", "h == w")],
)
def test_an_axis_bug_shows_both_runs(axes: dict[str, Result], name: str, equal: str) -> None:
    result = axes[name]
    assert result.verdict == "axis bug"
    first, *runs = result.detail.splitlines()
    assert first == f"passes only where {equal}"
    assert "Error" in runs[0]
    assert runs[-1].endswith(": passes")
    assert Path(result.filename) == PACKAGES / "annotated" / "axes.py"


def test_verdicts_of_other_kinds(axes: dict[str, Result]) -> None:
    assert axes["distance"].verdict == "broadcast"
    assert axes["split"].verdict in ("contradiction", "axis bug")


def test_the_linter_is_asked_and_its_blind_spots_are_named(axes: dict[str, Result]) -> None:
    assert axes["shifted"].text.endswith("SHP201 the linter reports it as well")
    last = axes["zscore"].text.splitlines()[-1]
    assert last.strip().startswith(f"{axes['zscore'].filename}:{axes['zscore'].line}: SHP202 passes only where")


def test_what_crashes_hangs_or_cannot_be_called_is_a_result() -> None:
    found = {r.name.partition(":")[2]: r for r in probe("annotated.harm", Limits(seconds=4, memory=1000))}
    verdicts = {name: result.verdict for name, result in found.items()}
    assert verdicts == {
        "dies": "crashed", "leaves": "crashed", "sleeps": "crashed", "swallows": "crashed", "chooses": "not probed",
        "refuses": "not probed", "contradicts": "contradiction", "talks": "passed",
    }  # fmt: skip
    assert "SIGABRT" in found["dies"].detail
    assert "takes more than 4 s" in found["sleeps"].detail
    assert "memory" in found["swallows"].detail
    assert "needs `axis: int`; give it with @shapelint.runtime.example(axis=...)" in found["chooses"].detail
    assert "only on Sundays" in found["refuses"].detail


def test_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "annotated.axes:fixed_zscore"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed"
    assert main(["probe", "no_such_module_anywhere"]) == 2
    assert "no module 'no_such_module_anywhere'" in capsys.readouterr().err


def test_modules_of_a_package() -> None:
    assert modules_of("annotated") == ["annotated", "annotated.axes", "annotated.harm"]
