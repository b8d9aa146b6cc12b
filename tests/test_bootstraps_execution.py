"""What the stories of SHP308 claim, run in torch and jax: gradients that flow through what is to be constant."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch

STORIES = Path(__file__).parent.parent / "fixtures" / "shp308_missing_stop_gradient"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, STORIES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    return module


def size(gradients: tuple[torch.Tensor | None, ...]) -> float:
    return sum(float(g.abs().sum()) for g in gradients if g is not None)


def test_gradient_through_the_target() -> None:
    story = load("dqn_same_network")
    online, bootstrap = story.QNet(), story.QNet()  # two networks, to see the gradient through the target alone
    states, actions, rewards = torch.rand(6, 4), torch.randint(0, 2, (6,)), torch.rand(6)
    later, done, parameters = torch.rand(6, 4), torch.zeros(6), tuple(bootstrap.parameters())
    target = story.target_of(bootstrap, rewards, later, done)
    fixed = story.fixed_target_of(bootstrap, rewards, later, done)
    assert torch.equal(target, fixed)
    loss, fixed_loss = (story.loss_of(online, states, actions, t) for t in (target, fixed))
    assert size(torch.autograd.grad(loss, parameters)) > 0
    assert not fixed.requires_grad
    assert all(g is None for g in torch.autograd.grad(fixed_loss, parameters, allow_unused=True))


def test_policy_loss_trains_the_value_head() -> None:
    story = load("actor_critic_advantage")
    model, data = story.ActorCritic(), (torch.rand(5, 4), torch.randint(0, 3, (5,)), torch.rand(5))
    head = (model.value.weight,)
    assert size(torch.autograd.grad(story.policy_loss(model, *data), head)) > 0
    assert size(torch.autograd.grad(story.fixed_policy_loss(model, *data), head, allow_unused=True)) == 0


def test_jax_differentiates_the_target() -> None:
    jax = pytest.importorskip("jax")
    story = load("jax_td_loss")
    keys = jax.random.split(jax.random.key(0), 4)
    params = {"w1": jax.random.normal(keys[0], (3, 4)), "w2": jax.random.normal(keys[1], (4,))}
    s, s2, r = jax.random.normal(keys[2], (5, 3)), jax.random.normal(keys[3], (5, 3)), jax.numpy.ones(5)
    target = r + 0.9 * story.values(params, s2)
    constant = jax.grad(lambda p: ((story.values(p, s) - target) ** 2).mean())(params)
    assert jax.numpy.allclose(jax.grad(story.fixed_loss)(params, s, r, s2)["w2"], constant["w2"], atol=1e-5)
    assert not jax.numpy.allclose(jax.grad(story.loss)(params, s, r, s2)["w2"], constant["w2"], atol=1e-2)
