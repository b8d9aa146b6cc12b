"""A term of a loss is dead only where it is known what it was made from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shapelint.dataflow import Flow
from shapelint.events import Input, Kind, Operation, Site
from shapelint.gradients import hangs_on_lists
from shapelint.values import Many, Tensor, Value

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
