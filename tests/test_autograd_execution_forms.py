"""What the further forms of SHP303, SHP304 and SHP306 claim, run in torch and jax: missing gradients, kept graphs."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

FIXTURES = Path(__file__).parent.parent / "fixtures"


def load(name: str) -> ModuleType:
    """A story as a module; "shp303_no_grad_training/ways_to_switch_off"."""
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), FIXTURES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    return module


def arrived(module: nn.Module) -> float:
    return sum(float(p.grad.abs().sum()) for p in module.parameters() if p.grad is not None)


def gradients(module: nn.Module, step: Callable[[], Any]) -> list[Tensor]:
    """The gradients that a step which calls backward leaves."""
    module.zero_grad(set_to_none=True)
    step()
    return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in module.parameters()]


def alike(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(torch.allclose(a, b) for a, b in zip(one, other))


class TestNoGradTraining:
    @pytest.mark.parametrize(
        ("name", "bad", "fixed", "part", "shape"),
        [
            ("ways_to_switch_off", "InferenceTower", "FixedInferenceTower", "tower", (5, 6)),
            ("ways_to_switch_off", "SwitchedEmbedding", "FixedSwitchedEmbedding", "embed", None),
            ("ways_to_switch_off", "Pipeline", "FixedPipeline", "encoder", (5, 6)),
            ("ways_to_switch_off", "Codec", "FixedCodec", "project", None),
            ("decorated_feature_getter", "TinyVLM", "FixedTinyVLM", "vision", (2, 3, 24)),
        ],
    )
    def test_a_part_that_never_trains(
        self, name: str, bad: str, fixed: str, part: str, shape: tuple[int, ...] | None
    ) -> None:
        story = load(f"shp303_no_grad_training/{name}")
        ids = torch.tensor([[1, 2, 3], [0, 1, 4]])
        given = (torch.randn(*shape),) if shape is not None else (ids,)
        given = (*given, ids) if bad == "TinyVLM" else given
        for cls, trains in ((bad, False), (fixed, True)):
            model = getattr(story, cls)()
            model(*given).pow(2).sum().backward()
            assert (arrived(getattr(model, part)) > 0) is trains

    def test_a_gate_without_gradients(self) -> None:
        story = load("shp303_no_grad_training/ways_to_switch_off")
        for cls, trains in ((story.Gated, False), (story.FixedGated, True)):
            model = cls()
            model(torch.randn(5, 6)).pow(2).sum().backward()
            assert (model.gate.grad is not None) is trains

    def test_listed_in_the_optimizer(self) -> None:
        story = load("shp303_no_grad_training/ways_to_switch_off")
        batches = [(torch.randn(5, 6), torch.tensor([0, 1, 2, 0, 1]))]
        for step, trains in ((story.two_modules, False), (story.fixed_two_modules, True)):
            encoder, head = nn.Linear(6, 8), nn.Linear(8, 3)
            step(encoder, head, batches)
            assert (arrived(encoder) > 0) is trains

    def test_a_decorated_penalty(self) -> None:
        story = load("shp303_no_grad_training/ways_to_switch_off")
        model, x, y = nn.Linear(6, 2), torch.randn(5, 6), torch.randn(5, 2)
        alone = gradients(model, lambda: F.mse_loss(model(x), y).backward())
        assert alike(alone, gradients(model, lambda: story.decorated_penalty(model, x, y)))
        assert not alike(alone, gradients(model, lambda: story.fixed_decorated_penalty(model, x, y)))

    def test_a_style_term(self) -> None:
        story = load("shp303_no_grad_training/ways_to_switch_off")
        model, images = story.StyleTerm(), torch.rand(3, 2, 3, 5, 5)
        alone = gradients(model, lambda: F.l1_loss(model.generator(images[0]), images[1]).backward())
        assert alike(alone, gradients(model, lambda: model.loss(*images).backward()))
        assert not alike(alone, gradients(model, lambda: model.fixed_loss(*images).backward()))

    def test_no_gradient_through_a_frozen_module(self) -> None:
        story = load("shp303_no_grad_training/no_grad_spectrogram_consistency")
        for cls, passes in ((story.SpeakerEncoder, False), (story.FixedSpeakerEncoder, True)):
            wave = torch.randn(2, 256, requires_grad=True)
            assert cls()(wave).requires_grad is passes

    def test_left_switched_off(self) -> None:
        story = load("shp303_no_grad_training/left_switched_off")
        kept = load("shp303_no_grad_training/switched_back_ok")
        model, x = nn.Linear(6, 3), torch.randn(5, 6)
        try:
            kept.evaluate(model, [(x, torch.randn(5, 3))])
            assert torch.is_grad_enabled()
            story.evaluate(model, [(x, torch.tensor([0, 1, 2, 0, 1]))])
            assert not torch.is_grad_enabled()
        finally:
            torch.set_grad_enabled(True)


class TestZeroGradientOp:
    def test_terms_that_train_nothing(self) -> None:
        story = load("shp304_zero_gradient_op/more_steps")
        x, y = torch.randn(5, 6), torch.randint(0, 3, (5,))
        model = nn.Linear(6, 3)
        alone = gradients(model, lambda: F.cross_entropy(model(x), y).backward())
        assert alike(alone, gradients(model, lambda: story.accuracy_term(model, x, y)))
        wanted = torch.randn(5, 3)
        alone = gradients(model, lambda: F.l1_loss(model(x), wanted).backward())
        assert alike(alone, gradients(model, lambda: story.integer_term(model, x, wanted)))
        alone = gradients(model, lambda: F.mse_loss(model(x), wanted).backward())
        assert alike(alone, gradients(model, lambda: story.cast_term(model, x, wanted)))
        single, ranked = nn.Linear(6, 1), torch.randn(5)
        alone = gradients(single, lambda: F.mse_loss(single(x).squeeze(1), ranked).backward())
        assert alike(alone, gradients(single, lambda: story.rank_term(single, x, ranked)))

    def test_counts_and_hard_masks(self) -> None:
        story = load("shp304_zero_gradient_op/more_steps")
        model, head, x, y = nn.Linear(6, 8), nn.Linear(8, 3), torch.randn(5, 6), torch.randint(0, 3, (5,))
        alone = gradients(model, lambda: F.cross_entropy(head(torch.relu(model(x))), y).backward())
        assert alike(alone, gradients(model, lambda: story.active_units(model, head, x, y)))
        net, images, target = nn.Conv2d(3, 3, 1), torch.rand(2, 3, 4, 4), torch.randint(0, 3, (2, 4, 4))
        alone = gradients(net, lambda: F.cross_entropy(net(images), target).backward())
        assert alike(alone, gradients(net, lambda: story.segmentation_step(net, images, target)))

    @pytest.mark.parametrize(
        ("bad", "fixed", "part"),
        [
            ("HardGate", "SoftGate", "decide"),
            ("BinaryCode", "StraightCode", "encoder"),
            ("Speaker", "SoftSpeaker", "speak"),
            ("Sampled", None, "scores"),
        ],
    )
    def test_what_lies_before_a_step(self, bad: str, fixed: str | None, part: str) -> None:
        story = load("shp304_zero_gradient_op/more_steps")
        for cls in filter(None, (bad, fixed)):
            model = getattr(story, cls)()
            model(torch.randn(7, 6)).pow(2).sum().backward()
            assert (arrived(getattr(model, part)) > 0) is (cls == fixed)

    def test_steps_in_jax(self) -> None:
        jax = pytest.importorskip("jax")
        story = load("shp304_zero_gradient_op/jax_steps")
        x = jax.numpy.arange(12.0).reshape(4, 3) / 7 - 0.8
        params, y = {"w": jax.numpy.ones(3), "b": jax.numpy.zeros(())}, jax.numpy.array([0.0, 1.0, 1.0, 0.0])
        square, classes = jax.numpy.eye(3) + 0.1, jax.nn.one_hot(jax.numpy.array([0, 1, 2, 1]), 3)

        def size(grads: Any) -> float:
            return sum(float(abs(leaf).sum()) for leaf in jax.tree_util.tree_leaves(grads))

        assert size(jax.grad(story.counted)(params, x, y)) == 0 < size(jax.grad(story.fixed_counted)(params, x, y))
        assert size(story.quantised_grad(square, x)[0]) == 0 < size(story.fixed_quantised_grad(square, x)[0])
        assert size(story.labelled(x, square, classes)[1]) == 0 < size(story.fixed_labelled(x, square, classes)[1])


def batches(count: int = 3) -> list[tuple[Tensor, Tensor]]:
    return [(torch.randn(5, 6), torch.randn(5, 2)) for _ in range(count)]


class TestRetainedGraph:
    @pytest.mark.parametrize("name", ["plain_sum", "sums_by_name", "last_outputs", "metered", "history_of_lists"])
    def test_what_is_kept_has_its_graph(self, name: str) -> None:
        story = load("shp306_retained_graph/ways_to_keep")
        model = nn.Linear(6, 2)
        arguments = (model, torch.optim.SGD(model.parameters(), lr=0.1), batches())
        kept = getattr(story, name)(*arguments, *((2,) if name == "history_of_lists" else ()))
        kept = {"sums_by_name": lambda: kept["loss"], "last_outputs": lambda: kept[0]}.get(name, lambda: kept)()
        kept = kept["fit"][0] if name == "history_of_lists" else kept
        assert kept.grad_fn is not None

    def test_a_list_of_losses(self) -> None:
        story = load("shp306_retained_graph/ways_to_keep")
        model = nn.Linear(6, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        assert all(loss.grad_fn is not None for loss in story.loss_list(model, optimizer, batches()))
        assert all(isinstance(loss, float) for loss in story.fixed_loss_list(model, optimizer, batches()))
        fitter = story.Fitter(model)
        fitter.fit(batches())
        assert fitter.seen_loss.grad_fn is not None
        assert all(loss.grad_fn is None for loss in fitter.curve)
        assert story.validation_loss(model, batches()).grad_fn is not None

    def test_a_carried_state_fails_in_the_second_step(self) -> None:
        story = load("shp306_retained_graph/ways_to_keep")
        cell, head = nn.GRUCell(6, 8), nn.Linear(8, 2)
        sequence, targets = torch.randn(3, 4, 6), torch.randn(3, 4, 2)
        story.fixed_step_by_step(cell, head, sequence, targets)
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            story.step_by_step(cell, head, sequence, targets)

    def test_a_running_feature_fails_in_the_second_call(self) -> None:
        story = load("shp306_retained_graph/ways_to_keep")
        for cls in (story.FixedRunningFeature, story.RunningFeature):
            model = cls()
            model(torch.randn(5, 6)).pow(2).sum().backward()
            if cls is story.FixedRunningFeature:
                model(torch.randn(5, 6)).pow(2).sum().backward()
            else:
                with pytest.raises(RuntimeError, match="backward through the graph a second time"):
                    model(torch.randn(5, 6)).pow(2).sum().backward()

    def test_retaining_back_propagates_old_losses(self) -> None:
        story = load("shp306_retained_graph/ways_to_keep")
        model, (first, second) = nn.Linear(6, 2), batches(2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        alone = gradients(model, lambda: F.mse_loss(model(second[0]), second[1]).backward())
        story.sum_and_retain(model, optimizer, [first, second])
        assert not alike(alone, [p.grad for p in model.parameters() if p.grad is not None])


def test_records_of_a_hook_train_nothing() -> None:
    story = load("shp301_graph_cut/detach_in_feature_hook")
    for probe, passes in ((story.FeatureProbe(), False), (story.FixedFeatureProbe(), True)):
        fake = torch.rand(2, 3, 8, 8, requires_grad=True)
        loss = story.PerceptualLoss(story.make_backbone(), probe)(fake, torch.rand(2, 3, 8, 8))
        assert loss.requires_grad is passes
