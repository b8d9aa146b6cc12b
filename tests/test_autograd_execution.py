"""What the stories of SHP301, SHP302 and SHP305 claim, run in torch and jax: which gradients are missing."""

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
    """A story as a module; "shp301_graph_cut/float_auxiliary_loss"."""
    spec = importlib.util.spec_from_file_location(name.replace("/", "_"), FIXTURES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    return module


def gradient(loss: Tensor, *parameters: Tensor) -> float:
    """How large the gradients are together; those that do not arrive are zero. 0.0 also for a loss without a graph."""
    if not loss.requires_grad:
        return 0.0
    found = torch.autograd.grad(loss, parameters, allow_unused=True)
    return sum(float(g.abs().sum()) for g in found if g is not None)


def arrived(parameters: Any) -> float:
    return sum(float(p.grad.abs().sum()) for p in parameters if p.grad is not None)


def after(step: Callable[[], Any], parameters: list[nn.Parameter]) -> list[Tensor]:
    """The gradients that a step which calls backward leaves."""
    for parameter in parameters:
        parameter.grad = None
    step()
    return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in parameters]


class TestGraphCut:
    def test_float_on_the_auxiliary_loss(self) -> None:
        story = load("shp301_graph_cut/float_auxiliary_loss")
        model, x, eps = story.VAE(), torch.rand(5, 16), torch.zeros(5, 4)  # eps 0: only the KL trains the variance
        head = model.logvar_head.weight
        assert gradient(story.elbo(model, x, eps, []), head) == 0
        assert gradient(story.fixed_elbo(model, x, eps, []), head) > 0

    def test_item_on_the_policy_term(self) -> None:
        story = load("shp301_graph_cut/item_on_log_prob")
        model, trajectory = story.TokenPolicy(), torch.tensor([1, 5, 3, 2])
        head = model.policy_head.weight
        assert gradient(story.policy_gradient_loss(model, trajectory, 1.0), head) == 0
        assert gradient(story.fixed_policy_gradient_loss(model, trajectory, 1.0), head) > 0

    def test_detached_attention_term(self) -> None:
        story = load("shp301_graph_cut/detach_attention_transfer_term")
        student, teacher = story.SmallNet(), story.SmallNet()
        images, labels = torch.rand(2, 3, 8, 8), torch.tensor([1, 2])
        optimizer = torch.optim.SGD(student.parameters(), lr=0.0)
        parameters = list(student.parameters())
        plain = after(lambda: F.cross_entropy(student(images)[0], labels).backward(), parameters)
        cut = after(lambda: story.train_step(student, teacher, images, labels, optimizer), parameters)
        fixed = after(lambda: story.fixed_train_step(student, teacher, images, labels, optimizer), parameters)
        assert all(torch.allclose(a, b) for a, b in zip(plain, cut))
        assert not all(torch.allclose(a, b) for a, b in zip(plain, fixed))

    def test_detached_features_of_the_memory_loss(self) -> None:
        story = load("shp301_graph_cut/detach_memory_loss_features")
        encoder, classifier, memory = story.build()
        sketches, labels = torch.rand(6, 20), torch.randint(0, 4, (6,))
        features = encoder(sketches)
        alone = gradient(F.cross_entropy(classifier(features), labels), encoder.weight)
        cut = gradient(story.training_loss(encoder, classifier, memory, sketches, labels), encoder.weight)
        fixed = gradient(story.fixed_training_loss(encoder, classifier, memory, sketches, labels), encoder.weight)
        assert cut == pytest.approx(alone)
        assert fixed != pytest.approx(alone)

    def test_numpy_under_jax_tracing(self) -> None:
        jax = pytest.importorskip("jax")
        story = load("shp301_graph_cut/jax_numpy_on_tracer")
        x, y = jax.numpy.arange(6.0).reshape(3, 2), jax.numpy.ones((4, 2))
        with pytest.raises(jax.errors.TracerArrayConversionError):
            story.grad_fn(x, y)
        assert float(jax.numpy.abs(story.fixed_grad_fn(x, y)).sum()) > 0


class TestTensorRebuilt:
    def test_as_tensor_of_parameters(self) -> None:
        story = load("shp302_tensor_rebuilt/as_tensor_of_tuple")
        model = story.InverseBurgers()
        assert gradient(story.pde_loss(model.residual), model.nu, model.conv) == 0
        assert gradient(story.pde_loss(model.fixed_residual), model.nu, model.conv) > 0

    def test_tensor_of_log_probabilities(self) -> None:
        story = load("shp302_tensor_rebuilt/tensor_of_log_probs_a2c")
        worker = story.Worker(story.ActorCritic())
        worker.collect(list(torch.rand(5, 4)), [1.0, 0.0, 1.0, 2.0, 0.5])
        actor = list(worker.net.actor.parameters())
        assert gradient(worker.loss(), *actor) == 0
        assert gradient(worker.fixed_loss(), *actor) > 0

    def test_tensor_of_losses(self) -> None:
        story = load("shp302_tensor_rebuilt/tensor_of_loss_list")
        model = story.MoEStack()
        model(torch.rand(5, 8))
        gates = [gate.proj.weight for gate in model.gates]
        assert gradient(model.collect_balance_loss(), *gates) == 0
        assert gradient(model.fixed_collect_balance_loss(), *gates) > 0

    def test_threshold_with_requires_grad(self) -> None:
        story = load("shp302_tensor_rebuilt/tensor_threshold_requires_grad")
        net, images = nn.Linear(4, 3), torch.rand(2, 4)
        masks = torch.randint(0, 2, (2, 3)).float()
        story.backward_once(story.DiceLoss(), net, images, masks)
        assert arrived(net.parameters()) == 0
        story.backward_once(story.FixedDiceLoss(), net, images, masks)
        assert arrived(net.parameters()) > 0

    @pytest.mark.parametrize("name", ["variable_around_loss", "requires_grad_switched_on"])
    def test_requires_grad_on_a_cut_loss(self, name: str) -> None:
        story = load(f"shp302_tensor_rebuilt/{name}")
        model, x = nn.Linear(3, 2), torch.rand(4, 3)
        arguments = ([(x, torch.rand(4, 2))],) if name == "variable_around_loss" else (x, torch.tensor([0, 1, 1, 0]))
        story.step(model, *arguments)
        assert arrived(model.parameters()) == 0
        story.fixed_step(model, *arguments)
        assert arrived(model.parameters()) > 0


def count(module: nn.Module) -> int:
    return len(list(module.parameters()))


class TestUnregisteredParameters:
    @pytest.mark.parametrize(
        ("name", "bad", "fixed", "expected"),
        [
            ("plain_list_of_mlps", "ResMLPStack", "FixedResMLPStack", (2, 42)),
            ("tuple_of_conv_heads", "TextCNN", "FixedTextCNN", (3, 9)),
            ("dict_of_parameters", "RelationNet", "FixedRelationNet", (2, 11)),
            ("memory_slots_plain_tensor", "NormalityMemory", "FixedNormalityMemory", (2, 4)),
            ("scaled_parameter", "Projection", "FixedProjection", (1, 2)),
            ("conv_built_in_forward", "SoftPool", "FixedSoftPool", (2, 4)),
        ],
    )
    def test_what_the_optimizer_sees(self, name: str, bad: str, fixed: str, expected: tuple[int, int]) -> None:
        story = load(f"shp305_unregistered_parameters/{name}")
        assert (count(getattr(story, bad)()), count(getattr(story, fixed)())) == expected

    def test_weight_wrapped_again(self) -> None:
        story = load("shp305_unregistered_parameters/evolved_weight_rewrapped")
        snapshots, adjacency = torch.rand(3, 5, 6), torch.eye(5)
        bad, fixed = story.EvolveGCN(), story.FixedEvolveGCN()
        assert gradient(bad(snapshots, adjacency).sum(), *bad.recurrent.parameters()) == 0
        assert gradient(fixed(snapshots, adjacency).sum(), *fixed.recurrent.parameters()) > 0
