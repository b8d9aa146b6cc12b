"""The first call that says how many axes an argument has is followed however many calls there were before."""

from __future__ import annotations

import libcst as cst
import pytest

from shapelint.analysis.gradients.detached_activations import asked_for
from shapelint.domain.values import Tensor
from shapelint.events import Operation
from shapelint.interpreter import interpret

CALLED = """
import torch

def halved(x):
    if x is None:
        raise ValueError
    y = x.float()
    return y / 2

def first(x):
    return halved(x)

def second(x: torch.Tensor):
    n, d = x.shape
    return halved(x)

def third(x: torch.Tensor):
    b, n, d = x.shape
    return halved(x)
"""


@pytest.fixture(autouse=True)
def poor(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first statement of a call uses up what a file has for calls."""
    monkeypatch.setattr("shapelint.interpreter.statements.CALL_COST", 10**9)


def ranks(source: str, text: str) -> list[int | None]:
    events = interpret(cst.parse_module(source), "file.py")
    results = [e.result for e in events if isinstance(e, Operation) and e.site.text == text]
    return [value.shape.rank for value in results if isinstance(value, Tensor)]


def test_a_call_that_tells_a_rank_is_followed_once() -> None:
    assert ranks(CALLED, "y / 2") == [None, None, 2], "on its own, for the first call, and for the first that tells"


SHORT = CALLED.replace("    if x is None:\n        raise ValueError\n", "")


def test_functions_of_a_few_lines_are_always_followed() -> None:
    assert ranks(SHORT, "y / 2") == [None, None, 2, 3]


ITEMS = """
import torch

def forward(params: dict[str, torch.Tensor], arrays: list[torch.Tensor]):
    b, c = params["center"].shape
    n, t, d = arrays[0].shape
    return params["center"] + 1, params["angle"] + 2, arrays[0] + 3, arrays[1] + 4
"""


def test_arrays_of_one_list_or_dict_have_axes_of_their_own() -> None:
    found = [ranks(ITEMS, text) for text in ('params["center"] + 1', 'params["angle"] + 2')]
    found += [ranks(ITEMS, text) for text in ("arrays[0] + 3", "arrays[1] + 4")]
    assert found == [[2], [None], [3], [None]]


FREEZING = """
import torch
from torch import nn
from contextlib import nullcontext

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.Linear(3, 4)

    def forward(self, x):
        return self.norm(x)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(4, 1)

    def forward(self, x, freeze=False):
        context = torch.no_grad {otherwise}
        with context():
            h = self.encoder(x)
        return self.head(h)

model = Model()
loss = model(torch.randn(2, 3), freeze=True).mean()
loss.backward()
"""


@pytest.mark.parametrize(("otherwise", "count"), [(" if freeze else nullcontext", 1), ("", 0)], ids=["asked", "always"])
def test_a_context_that_a_call_asks_for_by_an_argument_is_told_apart(otherwise: str, count: int) -> None:
    events = interpret(cst.parse_module(FREEZING.replace(" {otherwise}", otherwise)), "file.py")
    assert len(asked_for(events)) == count
