"""Hazards in another file that only a call brings about: shown there, or at the call where that file is not linted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from shapelint.config import Config
from shapelint.finding import Finding
from shapelint.linter import lint_source
from shapelint.project.discovery import find_files
from shapelint.project.driver import lint_files

LOSSES = """\
import torch


def rmse(pred, target):
    return ((pred - target) ** 2).mean().sqrt()
"""
TRAIN = """\
import torch
from torch import nn
from losses import rmse

net = nn.Linear(10, 1)
loss = rmse(net(torch.randn(64, 10)), torch.randn(64))
"""
Lint = Callable[..., list[Finding]]


@pytest.fixture
def lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lint:
    monkeypatch.chdir(tmp_path)

    def run(config: Config | None = None, use_cache: bool = False, path: str = ".", **files: str) -> list[Finding]:
        for name, text in files.items():
            Path(f"{name}.py").write_text(text)
        config = config or Config()
        outcomes = lint_files(list(find_files([path], config)), config, ["."], jobs=1, use_cache=use_cache)
        assert not any(outcome.failures for outcome in outcomes)
        return [finding for outcome in outcomes for finding in outcome.findings]

    return run


def places(findings: list[Finding]) -> list[tuple[str, int, str]]:
    return [(Path(f.filename).name, f.start.row, f.code) for f in findings]


def test_it_is_shown_where_it_happens(lint: Lint) -> None:
    (finding,) = lint(losses=LOSSES, train=TRAIN)
    assert places([finding]) == [("losses.py", 5, "SHP101")]
    assert finding.filename == "losses.py", "as the other findings of the file"
    assert finding.message.endswith("(with what the call at train.py:6 gives)")
    assert "`pred` (64, 1) and `target` (64,)" in finding.message
    assert finding.fix is None, "it would not be right for all callers"


def test_it_is_shown_at_the_call_if_the_other_file_is_not_linted(lint: Lint) -> None:
    (finding,) = lint(path="train.py", losses=LOSSES, train=TRAIN)
    assert places([finding]) == [("train.py", 6, "SHP101")]
    assert finding.message.endswith("(in losses.py:5, with what this call gives)")
    assert finding.fix is None, "the edit would be one of another file"


def test_the_other_file_alone_knows_no_caller(lint: Lint) -> None:
    assert lint(path="losses.py", losses=LOSSES, train=TRAIN) == []


def test_through_several_functions_and_files(lint: Lint) -> None:
    between = "import torch\nfrom losses import rmse\n\n\ndef objective(a, b):\n    return rmse(a, b)\n"
    train = TRAIN.replace("from losses import rmse", "from between import objective as rmse")
    files = {"losses": LOSSES, "between": between, "train": train}
    assert places(lint(**files)) == [("losses.py", 5, "SHP101")]
    assert places(lint(path="train.py", **files)) == [("train.py", 6, "SHP101")]


def test_a_trainer_that_is_given_its_model_and_data(lint: Lint) -> None:
    trainer = """\
import torch.nn.functional as F


class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader

    def validate(self):
        return [(self.model(x) - y).abs().mean() for x, y in self.loader]

    def fit(self):
        for x, y in self.loader:
            F.mse_loss(self.model(x), y).backward()
        return self.validate()
"""
    main = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from trainer import Trainer

data = TensorDataset(torch.rand(100, 8), torch.rand(100))
Trainer(nn.Sequential(nn.Linear(8, 1)), DataLoader(data, 10)).fit()
"""
    found = lint(trainer=trainer, main=main)
    assert places(found) == [("trainer.py", 9, "SHP101"), ("trainer.py", 13, "SHP102")]
    assert places(lint(path="main.py")) == [("main.py", 7, "SHP101"), ("main.py", 7, "SHP102")]


def test_a_model_that_is_imported(lint: Lint) -> None:
    model = """\
import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.out = nn.Linear(8, 1)

    def forward(self, x, offset):
        return self.out(x) + offset
"""
    use = "import torch\nfrom model import Scorer\n\nscore = Scorer()(torch.rand(32, 8), torch.rand(32))\n"
    assert places(lint(model=model, use=use)) == [("model.py", 11, "SHP101")]


def test_a_helper_that_names_no_library(lint: Lint) -> None:
    helper = LOSSES.replace("import torch\n", "")
    assert places(lint(losses=helper, train=TRAIN)) == [("losses.py", 4, "SHP101")]


def test_what_the_other_file_has_itself_is_shown_there_only(lint: Lint) -> None:
    losses = LOSSES + "\n\nrmse(torch.rand(5, 1), torch.rand(5))\n"
    assert places(lint(losses=losses, train=TRAIN)) == [("losses.py", 5, "SHP101")]


def test_several_callers_are_one_finding(lint: Lint) -> None:
    (finding,) = lint(losses=LOSSES, a=TRAIN, b=TRAIN)
    assert places([finding]) == [("losses.py", 5, "SHP101")]
    assert "a.py:6" in finding.message


@pytest.mark.parametrize("comment", ["# noqa: SHP101", "# shapelint: ignore[SHP101]", "# noqa"])
@pytest.mark.parametrize("where", ["losses", "train"])
def test_a_comment_silences_it_at_either_place(lint: Lint, comment: str, where: str) -> None:
    files = {"losses": LOSSES, "train": TRAIN}
    files[where] = files[where].rstrip("\n") + f"  {comment}\n"
    assert lint(**files) == []


def test_an_ignored_file_stays_silent(lint: Lint) -> None:
    assert lint(losses="# shapelint: ignore-file\n" + LOSSES, train=TRAIN) == []


def test_a_rule_that_is_off_there_stays_silent(lint: Lint, tmp_path: Path) -> None:
    config = Config(root=str(tmp_path), per_file_ignores=(("losses.py", ("SHP101",)),))
    assert lint(config, losses=LOSSES, train=TRAIN) == []


def test_what_raises_is_left_to_the_interpreter(lint: Lint) -> None:
    train = TRAIN.replace("torch.randn(64))", "torch.randn(65, 3))")
    assert lint(losses=LOSSES, train=train) == []


def test_the_cache_keeps_it(lint: Lint) -> None:
    first = lint(use_cache=True, losses=LOSSES, train=TRAIN)
    assert lint(use_cache=True) == first != []
    assert lint(use_cache=True, losses=LOSSES.replace("pred - target", "pred - target[:, None]")) == []


def test_a_text_alone_knows_no_other_file() -> None:
    assert lint_source(TRAIN) == []


def test_a_helper_that_cuts_the_graph_in_forward(lint: Lint) -> None:
    utils = """\
import torch


def standardise(x):
    table = x.detach().cpu().numpy()
    return torch.from_numpy((table - table.mean(axis=0)) / table.std(axis=0))
"""
    model = """\
import torch
from torch import nn
from utils import standardise


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(16, 32)
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        return self.head(standardise(torch.relu(self.encoder(x))))
"""
    assert places(lint(utils=utils, model=model)) == [("utils.py", 5, "SHP301")]
    assert places(lint(path="model.py")) == [("model.py", 13, "SHP301")]


def test_a_loss_that_is_rebuilt_by_a_helper(lint: Lint) -> None:
    helper = "import torch\n\n\ndef to_loss(x):\n    return torch.tensor(x.pow(2).mean().item(), requires_grad=True)\n"
    train = """\
import torch
from helper import to_loss

net = torch.nn.Linear(16, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(10, 8, 16):
    optimizer.zero_grad()
    to_loss(net(x)).backward()
    optimizer.step()
"""
    assert places(lint(helper=helper, train=train)) == [("helper.py", 5, "SHP302")]


def test_bfloat16_that_a_helper_takes_to_numpy(lint: Lint) -> None:
    helper = "def to_array(x):\n    return x.detach().cpu().numpy()\n"
    caller = """\
import torch
from helper import to_array


def pooled(x):
    return to_array(x.to(torch.bfloat16).mean(1))


def pooled_right(x):
    return to_array(x.to(torch.bfloat16).mean(1).float())
"""
    assert places(lint(helper=helper, caller=caller)) == [("helper.py", 2, "SHP407")]
    assert places(lint(path="caller.py")) == [("caller.py", 6, "SHP407")]


STEPPING = """\
import torch


def apply(scaler, optimizer, *options):
    scaler.unscale_(optimizer)
"""
SCALED = """\
import torch
import torch.nn.functional as F
from stepping import apply


def step(model, optimizer, x, y, options):
    scaler = torch.amp.GradScaler("cuda")
    with torch.autocast("cuda"):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    apply(scaler, optimizer, 1, *options)
    print(sum(p.grad.norm() for p in model.parameters()))
    scaler.step(optimizer)
    scaler.update()
"""


def test_a_scaler_that_another_file_is_given_may_have_unscaled(lint: Lint) -> None:
    found = lint(stepping=STEPPING, scaled=SCALED)
    assert [f.code for f in found if f.code == "SHP401"] == []
    again = SCALED.replace("apply(scaler, optimizer, 1, *options)", "print(options)")
    assert [f.code for f in lint(scaled=again) if f.code == "SHP401"] == ["SHP401"]
