"""Calls that are not executed give what their function came to on its own: in sizes of their own, each of them."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from oracle import instrumented

from shapelint.domain.values import Tensor
from shapelint.events import Call
from shapelint.interpreter import interpret

SEQUENCES = Path(__file__).parent.parent / "fixtures" / "shp103_incompatible_shapes" / "modules_in_sequence_ok.py"


def test_modules_in_one_sequential_have_sizes_of_their_own() -> None:
    events = interpret(cst.parse_module(SEQUENCES.read_text()), str(SEQUENCES))
    given = [e.result for e in events if isinstance(e, Call) and e.site.text == "self.mixed(x)"]
    channels = [value.shape.tail[-3].size for value in given if isinstance(value, Tensor)]
    assert len(channels) == len(given) == 3, "one for each module of the linted code"
    assert all(size.value is None for size in channels), "these calls were not executed"
    assert len(set(channels)) == 3


ALIKE = """
import torch
from jaxtyping import Float
from torch import Tensor

def product(x, y, power=1):
    z = x @ y
    z = z + 1
    z = z ** power
    if power == 3:
        z = z[None]
    return z.mT

def mask(lengths: Float[Tensor, "b ..."], most: int):
    steps = torch.arange(most)
    steps = steps + 0
    return lengths[..., None] > steps

def calls(a: Float[Tensor, "n n"], b: Float[Tensor, "n m"], c: Float[Tensor, "p p"], d: Float[Tensor, "p q"]):
    first = product(a, b)
    alike = product(c, d)
    other = product(d.T, c)
    third = product(c, d, power=3)
    one = mask(d, 5)
    two = mask(d[..., None], 7)
    three = mask(d[0], 7)
    return first, alike, other, third, one, two, three

calls(torch.ones(3, 3), torch.ones(3, 2), torch.ones(4, 4), torch.ones(4, 5))
"""


@pytest.fixture
def poor(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first statement of a call uses up what a file has for calls."""
    monkeypatch.setattr("shapelint.interpreter.statements.CALL_COST", 10**9)


def results(source: str) -> dict[str, str]:
    module = cst.parse_module(source.replace("\ncalls(", "\n# calls("))
    found: dict[str, str] = {}
    for event in interpret(module, "file.py"):
        if isinstance(event, Call):
            known = event.result.shape if isinstance(event.result, Tensor) else "(...)"
            found.setdefault(event.site.text, str(known))
    return found


@pytest.mark.usefixtures("poor")
def test_a_call_gives_what_another_gave_whose_arguments_differ_in_their_sizes_alone() -> None:
    shapes = results(ALIKE)
    assert shapes["product(a, b)"] == "(m, n)", "executed"
    assert shapes["product(c, d)"] == "(q, p)"
    assert shapes["product(d.T, c)"] == "(...)", "its first argument is not square"
    assert shapes["product(c, d, power=3)"] == "(...)", "another number"


@pytest.mark.usefixtures("poor")
def test_what_a_function_came_to_on_its_own_holds_for_the_axes_of_a_call() -> None:
    shapes = results(ALIKE)
    assert shapes["mask(d, 5)"] == "(p, q, 5)"
    assert shapes["mask(d[..., None], 7)"] == "(p, q, 1, 7)"
    assert shapes["mask(d[0], 7)"] == "(q, 7)"


@pytest.mark.usefixtures("poor")
def test_that_is_what_happens() -> None:
    program = instrumented(ALIKE, "file.py")
    program.run()
    assert program.compared()
    assert not program.contradictions()
