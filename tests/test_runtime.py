"""The run-time check finds what cannot be known before the program runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from shapelint import lint_source

PACKAGES = Path(__file__).parent / "packages"
GOOD = '{"points": [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], "weights": [1.0, 1.0, 1.0]}'
COLUMN = '{"points": [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], "weights": [[1.0], [1.0], [1.0]]}'


def run(code: str) -> subprocess.CompletedProcess[str]:
    script = f"import sys; sys.path.insert(0, {str(PACKAGES)!r}); good, column = {GOOD!r}, {COLUMN!r}\n{code}"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)


CHECKED = "import shapelint.runtime; shapelint.runtime.check('blind'); import blind\n"


def test_static_side_is_blind_to_it() -> None:
    caller = "import blind\n\npoints, weights = blind.load(open('c.json').read())\nprint(blind.step(points, weights))\n"
    for source in (caller, (PACKAGES / "blind" / "model.py").read_text()):
        assert lint_source(source, "model.py") == []


def test_unchecked_package_runs_and_is_wrong() -> None:
    done = run("import blind; print(float(blind.step(*blind.load(good))), float(blind.step(*blind.load(column))))")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 2


def test_checked_package_accepts_what_is_right() -> None:
    done = run(CHECKED + "print(float(blind.step(*blind.load(good))))")
    assert done.returncode == 0, done.stderr


def test_checked_package_raises_at_the_call() -> None:
    done = run(CHECKED + "blind.step(*blind.load(column))")
    assert done.returncode == 1
    assert "TypeCheckError" in done.stderr
    assert "weights" in done.stderr


def test_dataclass_fields_are_checked_as_well() -> None:
    done = run(CHECKED + "from blind.model import Batch; Batch(*blind.load(good)); Batch(*blind.load(column))")
    assert done.returncode == 1
    assert "TypeCheckError" in done.stderr


def test_nothing_is_imported_until_asked_for() -> None:
    done = run(
        "import shapelint.runtime; print(sorted({'jaxtyping', 'beartype', 'torch', 'numpy', 'jax'} & set(sys.modules)))"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_end_of_the_block_ends_the_check() -> None:
    done = run(
        "import shapelint.runtime\nwith shapelint.runtime.check('blind'):\n    pass\n"
        "import blind; blind.step(*blind.load(column)); print('unchecked')"
    )
    assert done.stdout.strip() == "unchecked", done.stderr


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("import shapelint.runtime; shapelint.runtime.check()", "ValueError: name the packages"),
        ("import blind, shapelint.runtime; shapelint.runtime.check('blind')", "ValueError: blind is already imported"),
        (
            "from shapelint.runtime import check, extras as e; e.find_spec = lambda name: None; check('blind')",
            'ImportError: jaxtyping and beartype not installed: pip install "shapelint[runtime]"',
        ),
    ],
)
def test_mistakes_are_named(code: str, error: str) -> None:
    assert error in run(code).stderr
