"""What is inferred of the shapes of whole programs is what happens when they run.

The stories of fixtures/ are driven by calling what takes no arguments, the models by their main(). Every third story is
run; `SHAPELINT_ORACLE=fixtures pytest tests/test_oracle.py` runs all, and so every program below any other directory.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import random
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from oracle import MOST_CALLS, Program, instrumented

ROOT = Path(__file__).parent.parent
MODELS = sorted((ROOT / "tests" / "models").glob("*.py"))
STORIES = sorted((ROOT / "fixtures").glob("shp*/*.py"))[::3]
MORE = sorted(Path(os.environ["SHAPELINT_ORACLE"]).rglob("*.py")) if "SHAPELINT_ORACLE" in os.environ else []


def run(path: Path) -> Program:
    """The program after its top level ran, and every function that takes no arguments; some stories raise."""
    program = instrumented(path.read_text(), str(path))
    for seed in (random.seed, np.random.seed, torch.manual_seed):
        seed(0)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        with contextlib.suppress(Exception) if path not in MODELS else contextlib.nullcontext():
            program.run()
        for name, function in list(vars(program.module).items()):
            if inspect.isfunction(function) and takes_nothing(function) and name != "main":
                with contextlib.suppress(Exception):
                    function()
    return program


def takes_nothing(function: object) -> bool:
    if getattr(function, "__module__", None) != "__main__":
        return False
    parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    return all(p.default is not p.empty or p.kind in {p.VAR_POSITIONAL, p.VAR_KEYWORD} for p in parameters)


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_models(path: Path) -> None:
    program = run(path)
    found = program.contradictions()
    assert program.compared() > 30
    assert found == []


@pytest.mark.parametrize("path", [*STORIES, *MORE], ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_stories(path: Path) -> None:
    found = run(path).contradictions()
    assert found == []


def program(text: str) -> Program:
    made = instrumented(text, "program.py")
    made.run()
    return made


def test_shapes_are_held_against_what_happens() -> None:
    """The oracle itself: a wrong inference does not pass."""
    made = program("import torch\n\ndef f(n):\n    x = torch.zeros(n, 2)\n    return x.T\n\ny = f(3)\n")
    assert made.contradictions() == []
    (call,) = made.calls.calls[1]
    number, state = call[-1]
    call[-1] = number, {**state, "x": type(state["x"])((3, 3), "float32")}
    assert any("x is (n, 2) by inference, but (3, 3)" in text for text in made.contradictions())
    call[-1] = number, {**state, "x": type(state["x"])((4, 2), "float32")}
    assert made.contradictions() != []  # n is 3 in this call


def test_what_is_never_reached_is_noticed() -> None:
    made = program("def f(x):\n    if x:\n        y = 1\n    return x\n\nf(1)\n")
    assert made.contradictions() == []
    for evaluation in made.evaluations[1]:
        for number, point in enumerate(made.points):
            if point.text == "y = 1":
                del evaluation.states[number]
    assert any("never reached" in text for text in made.contradictions())


def test_every_call_is_recorded_up_to_a_number() -> None:
    made = program("def f(x):\n    y = x + 1\n    return y\n\nfor i in range(9):\n    f(i)\n")
    assert len(made.calls.calls[1]) == MOST_CALLS
