"""The gradient audit names what never trained, and changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from shapelint.runtime import GradientAudit, GradientError


class Cut(nn.Module):
    """The first layer is cut off, the last is multiplied by zero."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.zero = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
        self.frozen = nn.Linear(4, 4).requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.first(x).detach() + self.frozen(x)
        return self.second(hidden) + 0 * self.zero(hidden)


def test_layers_that_never_trained_are_named() -> None:
    model = Cut()
    with GradientAudit(model) as audit:
        for _ in range(3):
            model(torch.rand(8, 4)).mean().backward()
    assert audit.backwards == len(audit.history) == 3
    assert audit.last["first.weight"] is None
    assert audit.last["zero.weight"] == 0.0
    assert audit.last["second.bias"] == pytest.approx(1.0)
    with pytest.raises(GradientError) as error:
        audit.check()
    named = dict(line.strip().split(": ") for line in str(error.value).splitlines()[1:])
    assert named == {
        "first.weight": "no gradient", "first.bias": "no gradient",
        "zero.weight": "gradient exactly zero", "zero.bias": "gradient exactly zero",
    }  # fmt: skip
    assert "frozen.weight" in audit.report()
    assert "frozen" in audit.report().splitlines()[-1]


def test_norm_is_of_this_backward_not_of_what_accumulated() -> None:
    model = nn.Linear(3, 1)
    audit = GradientAudit(model)
    for _ in range(2):
        model(torch.ones(1, 3)).sum().backward()
    assert [row["weight"] for row in audit.history] == [pytest.approx(3**0.5)] * 2
    assert audit.check() is None


def test_one_of_several_backwards_is_enough() -> None:
    model = nn.ModuleDict({"a": nn.Linear(2, 1), "b": nn.Linear(2, 1)})
    audit = GradientAudit(model)
    model["a"](torch.ones(1, 2)).sum().backward()
    with pytest.raises(GradientError, match=r"b\.weight: no gradient"):
        audit.check()
    model["b"](torch.ones(1, 2)).sum().backward()
    audit.check()


def test_results_are_the_same_with_hooks() -> None:
    def train(audited: bool) -> torch.Tensor:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Embedding(9, 4, sparse=True), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
        audit = GradientAudit(model) if audited else None
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.arange(6)).pow(2).mean().backward()
            optimizer.step()
        assert audit is None or (audit.backwards == 3 and audit.check() is None)
        return torch.cat([p.detach().flatten() for p in model.parameters()])

    assert torch.equal(train(True), train(False))


def test_closed_audit_hears_nothing() -> None:
    model = nn.Linear(2, 1)
    audit = GradientAudit(model)
    audit.close()
    model(torch.ones(1, 2)).sum().backward()
    assert audit.backwards == 0
    with pytest.raises(GradientError, match="no backward reached the model"):
        audit.check()


def test_double_backward_and_hooks_of_compiled_models() -> None:
    model = nn.Linear(2, 1)
    audit = GradientAudit(model)
    loss = model(torch.ones(3, 2)).pow(2).mean()
    (gradient,) = torch.autograd.grad(loss, model.weight, create_graph=True)
    gradient.pow(2).sum().backward()
    assert audit.last["weight"] > 0


def test_optimizer_and_containers() -> None:
    class Listed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(2, 2)]
            self.head = nn.Linear(2, 1)
            self.extra = nn.Linear(1, 1)

    model = Listed()
    audit = GradientAudit(model, torch.optim.SGD(model.head.parameters(), 0.1))
    model.head = nn.Linear(2, 1)
    problems = list(audit.problems())
    assert ("layers[0]", "not registered: held in a plain container") in problems
    assert ("head.weight", "came into the model after the audit began") in problems
    assert ("extra.bias", "not held by the optimizer") in problems


def test_plot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = nn.Linear(2, 1)
    audit = GradientAudit(model)
    model(torch.ones(1, 2)).sum().backward()
    monkeypatch.setattr("shapelint.runtime.extras.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'matplotlib not installed: pip install "shapelint\[plot\]"'):
        audit.report(plot=str(tmp_path / "plot.png"))
    monkeypatch.undo()
    pytest.importorskip("matplotlib")
    audit.report(plot=str(tmp_path / "plot.png"))
    assert (tmp_path / "plot.png").stat().st_size > 1000


def test_needs_torch() -> None:
    from shapelint.runtime import extras

    with pytest.raises(ImportError, match=r'no_such_library not installed: pip install "shapelint\[torch\]"'):
        extras.require("no_such_library", extra="torch")
