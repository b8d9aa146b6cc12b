"""A term of a loss is dead only where it is known what it was made from."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst
import pytest

from shapelint.analysis.gradients.dataflow import Flow
from shapelint.analysis.gradients.dead_terms import hangs_on_lists
from shapelint.domain.values import Many, Tensor, Tuple, Value, maker_of
from shapelint.events import Carried, Input, Joined, Kind, Operation, Site
from shapelint.interpreter import interpret

SITE = Site(None, None)
LABEL = Tensor(made_by=Input("labels", SITE))


def made(name: str, **arguments: Value) -> Tensor:
    return Tensor(made_by=Operation(name, f"torch.{name}", Kind.OTHER, arguments, Tensor(), SITE))


@pytest.mark.parametrize(
    ("item", "hangs"),
    [(Tensor(), True), (LABEL, False), (replace(Tensor(), made_by=made("relu", x=LABEL).made_by), False)],
)
def test_items_of_lists_may_come_from_anywhere(item: Tensor, hangs: bool) -> None:
    term = made("mse_loss", x=made("stack", tensors=Many(item)), y=LABEL)
    assert hangs_on_lists(Flow([]), term) is hangs


def test_items_of_a_tuple_come_from_all_paths() -> None:
    """The state of a recurrent layer is what the round before left, although a tuple holds it."""
    source = """
import torch
from torch import nn

def states(n: int):
    lstm = nn.LSTM(16, 32)
    state = (torch.zeros(1, n, 32), torch.zeros(1, n, 32))
    for x in torch.randn(7, n, 16):
        h, state = lstm(x.unsqueeze(0), (state[0] * 0.5, state[1] * 0.5))
    return state
"""
    events = interpret(cst.parse_module(source), "states.py")
    befores = [event.before for event in events if isinstance(event, Carried) and event.name == "state"]
    items = befores[-1].items if isinstance(befores[-1], Tuple) else ()
    assert [type(maker_of(item)) for item in items] == [Joined, Joined]
