"""Fixes of what never trains and of what keeps its graph, run with torch."""

from __future__ import annotations

from typing import Any

import torch

from shapelint.config import Config
from shapelint.finding import Outcome
from shapelint.fixes.text import until_stable
from shapelint.linter import lint_text

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, depth=3):
        super().__init__()
        self.layers = [nn.Linear(4, 4) for _ in range(depth)]
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
"""
TRAINING = """\
import torch
from torch import nn


def train(batches, net=nn.Linear(4, 1)):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    total = 0.0
    for x in batches:
        optimizer.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        total += loss
    return total
"""


def fixed(text: str, code: str) -> str:
    def lint(source: str) -> Outcome:
        return lint_text(source, "train.py", Config(select=(code,)))

    before = lint(text)
    assert [finding.code for finding in before.findings] == [code]
    after = until_stable(text, lint, before, unsafe=False)
    assert not after.outcome.findings
    return after.text


def run(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(text, "train.py", "exec"), names)
    return names


def test_a_list_of_layers_becomes_a_module_list() -> None:
    text = fixed(NET, "SHP305")
    assert "self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(depth)])" in text
    net = run(text)["Net"]()
    net(torch.ones(2, 4)).sum().backward()
    assert len(list(run(NET)["Net"]().parameters())) == 2
    assert len([p for p in net.parameters() if p.grad is not None]) == 8


def test_a_kept_loss_is_detached() -> None:
    text = fixed(TRAINING, "SHP306")
    assert "total += loss.detach()" in text
    batches = [torch.ones(2, 4)] * 3
    torch.manual_seed(0)
    before = run(TRAINING)["train"](batches)
    torch.manual_seed(0)
    after = run(text)["train"](batches)
    assert before.requires_grad
    assert not after.requires_grad
    assert torch.equal(before.detach(), after)
