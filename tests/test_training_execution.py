"""What the stories of SHP307, SHP401 and SHP405 claim, run in torch: what a step applies, and what raises."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

FIXTURES = Path(__file__).parent.parent / "fixtures"


def load(name: str) -> ModuleType:
    """A story as a module; "shp307_untrained_parameters/clip_after_step"."""
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), FIXTURES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    torch.manual_seed(0)
    spec.loader.exec_module(module)
    return module


def regression(rounds: int = 2) -> list[tuple[Tensor, Tensor]]:
    return [(torch.rand(6, 4), torch.rand(6, 2)) for _ in range(rounds)]


def weights(module: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten().clone() for p in module.parameters()])


def moved(module: nn.Module, run: Any) -> float:
    before = weights(module)
    run()
    return float((weights(module) - before).norm())


class TestUntrainedParameters:
    def test_gradients_of_earlier_rounds_are_added(self) -> None:
        story = load("shp307_untrained_parameters/zero_grad_missing")
        batches = [(torch.rand(4, 5, 10), torch.tensor([0, 1, 2, 0])) for _ in range(2)]
        sums = []
        for executor in (story.Executor(), story.FixedExecutor()):
            torch.manual_seed(0)
            model = story.make_model()
            executor.train(model, torch.optim.SGD(model.parameters(), lr=0.0), batches)
            sums.append(model[0].weight.grad.clone())
        model.zero_grad()
        for features, target in batches:
            torch.autograd.backward(nn.functional.cross_entropy(model(features).mean(dim=1), target))
        assert torch.allclose(sums[0], model[0].weight.grad, atol=1e-6)
        assert not torch.allclose(sums[0], sums[1])

    def test_zeroed_before_the_step_nothing_is_applied(self) -> None:
        story = load("shp307_untrained_parameters/zeroed_before_the_step")
        model = nn.Linear(4, 2)
        assert moved(model, lambda: story.train(model, regression())) == 0
        assert moved(model, lambda: story.by_model(model, regression())) == 0
        assert moved(model, lambda: story.fixed_train(model, regression())) > 0

    def test_clipped_after_the_step_nothing_is_clipped(self) -> None:
        story = load("shp307_untrained_parameters/clip_after_step")
        steps = []
        for train in (story.train, story.fixed_train):
            torch.manual_seed(0)
            model = story.GraphDecoder()
            steps.append(moved(model, lambda: train(model, torch.eye(6))))  # noqa: B023 - called at once
        assert steps[1] == pytest.approx(0.1 * 0.01, rel=0.01)
        assert steps[0] > 2 * steps[1]

    def test_an_iterator_is_used_up(self) -> None:
        story = load("shp307_untrained_parameters/filter_iterator_reused_for_clip")
        model, batches = story.LoRALinear(), [(torch.rand(3, 8), torch.rand(3, 8))]
        assert story.train(model, batches) == [0.0]
        assert story.fixed_train(model, batches)[0] > 0

    def test_counting_leaves_nothing_for_the_optimizer(self) -> None:
        story = load("shp307_untrained_parameters/iterators_gone_through_twice")
        with pytest.raises(ValueError, match="empty parameter list"):
            story.counted_first(nn.Linear(2, 2))
        assert story.in_two_groups(nn.Linear(2, 2)).param_groups[1]["params"] == []

    def test_copies_and_new_models_are_not_trained(self) -> None:
        story = load("shp307_untrained_parameters/modules_that_no_optimizer_has")
        batches = [(torch.rand(3, 8), torch.tensor([0, 1, 0]))]
        model = story.Encoder()
        assert torch.equal(weights(story.copied(model, batches)), weights(model))
        agent = story.Agent(4)
        held = {id(p) for group in agent.optimizer.param_groups for p in group["params"]}
        assert {id(p) for p in agent.critic.parameters()}.isdisjoint(held)


class TestScaler:
    def test_clipping_before_unscaling_hardly_moves_the_model(self) -> None:
        story = load("shp401_clip_before_unscale/clip_norm_scaled")
        steps = []
        for name in ("train_step", "fixed_train_step"):
            torch.manual_seed(0)
            model = nn.Linear(4, 1)
            trainer = story.Trainer(model, max_norm=0.01)
            images, targets = torch.rand(64, 4) / 10, torch.rand(64) / 10  # no gradient overflows at this scale
            steps.append(moved(model, lambda: getattr(trainer, name)(images, targets)))  # noqa: B023 - called at once
        assert steps[0] < 1e-4 * steps[1]

    def test_unscaling_in_every_microbatch_raises(self) -> None:
        story = load("shp405_scaler_misuse/unscale_each_microbatch")
        model = nn.Linear(4, 2)
        optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu")
        arguments = (model, regression(4), optimizer, scaler, nn.functional.mse_loss)
        with pytest.raises(RuntimeError, match="already been called"):
            story.train_one_epoch(*arguments)
        story.fixed_train_one_epoch(model, regression(4), optimizer, torch.amp.GradScaler("cpu"), arguments[-1])

    def test_a_step_without_an_update_raises_in_the_next_round(self) -> None:
        story = load("shp405_scaler_misuse/update_missing")
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        batches = [(torch.rand(2, 4), torch.tensor([0, 2])) for _ in range(2)]
        with pytest.raises(RuntimeError, match="already been called"):
            story.train(model, batches, optimizer)
        story.fixed_train(model, batches, optimizer)
