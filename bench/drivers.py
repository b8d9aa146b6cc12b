"""How to run the programs of fixtures/ whose functions need arguments: sizes are square where the mistake needs that.

A driver gets the module and `audit(model, optimizer)`, which it calls before the backward.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch import nn

Driver = Callable[[Any, Callable[..., Any]], Any]
rand, randint = torch.rand, torch.randint
LINEAR = functools.partial(nn.Linear, 6, 6)


def _trained(model: nn.Module, audit: Callable[..., Any], loss: Callable[[], Any]) -> None:
    audit(model)
    loss().backward()


def _attention_transfer(m: Any, audit: Callable[..., Any]) -> None:
    student, teacher = m.SmallNet(), m.SmallNet()
    optimizer = torch.optim.SGD(student.parameters(), 0.1)
    audit(student, optimizer)
    m.train_step(student, teacher, rand(4, 3, 8, 8), randint(0, 10, (4,)), optimizer)


def _memory(m: Any, audit: Callable[..., Any]) -> None:
    encoder, classifier, bank = m.build()
    model = nn.ModuleList([encoder, classifier])
    _trained(model, audit, lambda: m.training_loss(encoder, classifier, bank, rand(8, 20), randint(0, 4, (8,))))


def _vae(m: Any, audit: Callable[..., Any]) -> None:
    model = m.VAE()
    _trained(model, audit, lambda: m.elbo(model, rand(8, 16), rand(8, 4), []))


def _policy(m: Any, audit: Callable[..., Any]) -> None:
    model = m.TokenPolicy()
    _trained(model, audit, lambda: m.policy_gradient_loss(model, randint(0, 16, (6,)), 1.0))


def _burgers(m: Any, audit: Callable[..., Any]) -> None:
    model = m.InverseBurgers()
    _trained(model, audit, lambda: m.pde_loss(model.residual))


def _stepped(*data: Any) -> Driver:
    def drive(m: Any, audit: Callable[..., Any]) -> None:
        model = LINEAR()
        audit(model)
        m.step(model, *data)

    return drive


def _worker(m: Any, audit: Callable[..., Any]) -> None:
    net = m.ActorCritic()
    worker = m.Worker(net)
    worker.collect(rand(6, 4), [1.0] * 6)
    _trained(net, audit, worker.loss)


def _experts(m: Any, audit: Callable[..., Any]) -> None:
    model = m.MoEStack()
    audit(model)
    (model(rand(5, 8)).pow(2).mean() + model.collect_balance_loss()).backward()


def _dice(m: Any, audit: Callable[..., Any]) -> None:
    net = nn.Conv2d(1, 1, 3, padding=1)
    audit(net)
    m.backward_once(m.DiceLoss(), net, rand(2, 1, 6, 6), rand(2, 1, 6, 6).round())


def _language(m: Any, audit: Callable[..., Any]) -> None:
    model = m.TinyVLM()
    _trained(model, audit, lambda: model(rand(2, 3, 24), randint(0, 20, (2, 5)), randint(0, 20, (2, 5))))


def _sampler(m: Any, audit: Callable[..., Any]) -> None:
    model = m.GlobalSampler(nn.Linear(48, 8))
    _trained(model, audit, lambda: model.shared_step(rand(4, 16), randint(0, 32, (4,)), rand(4, 8)))


def _speaker(m: Any, audit: Callable[..., Any]) -> None:
    generator = nn.Linear(8, 256)
    _trained(generator, audit, lambda: m.generator_loss(generator, m.SpeakerEncoder(), rand(4, 8), rand(4, 256)))


def _switched_off(m: Any, audit: Callable[..., Any]) -> None:
    model, batches = m.make_model(), [(rand(4, 6), randint(0, 3, (4,)))]
    audit(model)
    try:
        m.train_epochs(model, batches, batches)
    finally:
        torch.set_grad_enabled(True)


def _vnet(m: Any, audit: Callable[..., Any]) -> None:
    net = nn.Linear(5, 5)
    _trained(net, audit, lambda: m.vnet_loss(net(rand(2, 5, 5)), rand(2, 5, 5).round()))


def _enhancer(m: Any, audit: Callable[..., Any]) -> None:
    model = m.Enhancer()
    _trained(model, audit, lambda: m.total_loss(model, rand(2, 3, 6, 6), rand(2, 3, 6, 6)))


def _direction(m: Any, audit: Callable[..., Any]) -> None:
    model, control = m.PerturbNet(), rand(6, 30)
    _trained(model, audit, lambda: m.loss_fct(model(torch.arange(6), control), rand(6, 30), control)[0])


def _spiking(m: Any, audit: Callable[..., Any]) -> None:
    model = m.SpikingNet()
    _trained(model, audit, lambda: model(rand(8, 5, 20)).pow(2).mean())


def _steps(m: Any, audit: Callable[..., Any]) -> None:
    model = LINEAR()
    audit(model)
    m.with_accuracy(model, rand(8, 6), randint(0, 6, (8,)))
    m.with_signs(model, rand(8, 6), rand(8, 6))


def _module(name: str, *shape: int, build: dict[str, Any] | None = None) -> Driver:
    def drive(m: Any, audit: Callable[..., Any]) -> None:
        model = getattr(m, name)(**(build or {}))
        _trained(model, audit, lambda: model(rand(*shape)).pow(2).mean())

    return drive


def _evolving(m: Any, audit: Callable[..., Any]) -> None:
    model = m.EvolveGCN()
    _trained(model, audit, lambda: model([rand(5, 6) for _ in range(3)], rand(5, 5)).pow(2).mean())


def _mlps(m: Any, audit: Callable[..., Any]) -> None:
    model = m.ResMLPStack()
    audit(model)
    m.train_step(model, rand(5, 8), rand(5, 2), rand(5, 8))


def _text(m: Any, audit: Callable[..., Any]) -> None:
    model = m.TextCNN()
    _trained(model, audit, lambda: model(randint(0, 50, (4, 9))).pow(2).mean())


def _clipped(m: Any, audit: Callable[..., Any]) -> None:
    model = m.GraphDecoder()
    audit(model)
    m.train(model, rand(6, 6).round())


def _without_zero_grad(m: Any, audit: Callable[..., Any]) -> None:
    model = m.make_model()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    audit(model, optimizer)
    m.Executor().train(model, optimizer, [(rand(4, 5, 10), randint(0, 3, (4,)))] * 2)


def _contrastive(m: Any, audit: Callable[..., Any]) -> None:
    m.run()


def _masked_attention(m: Any, audit: Callable[..., Any]) -> None:
    m.SelfAttention(8, 2)(rand(5, 5, 8), torch.ones(5, 5, dtype=torch.bool))


def _reviews(m: Any, audit: Callable[..., Any]) -> None:
    m.ReviewClassifier(20, 8)(randint(0, 20, (5, 1)))


def call(function: str, *arguments: Any) -> Driver:
    return lambda m, audit: getattr(m, function)(*arguments)


KEY = jax.random.key(0)
ARGUMENTS: dict[str, Driver] = {
    "shp101_outer_broadcast/at_update": call("error", jnp.ones((6, 3))),
    "shp101_outer_broadcast/numpy_mse_metric_identical_arrays": call("mean_squared_error", np.ones((6, 1)), np.ones(6)),
    "shp101_outer_broadcast/siamese_contrastive_label_column": _contrastive,
    "shp101_outer_broadcast/squared_over_all_pairs": call("rmse", np.ones((6, 1)), np.ones(6)),
    "shp201_square_only_reduction/attention_rollout_residual": call("attention_rollout", [rand(1, 2, 5, 5)] * 2),
    "shp201_square_only_reduction/manual_softmax_jnp": call(
        "class_probabilities", {"w": jnp.ones((4, 5)), "b": jnp.ones(5)}, jnp.ones((5, 4))
    ),
    "shp201_square_only_reduction/max_values_and_expand": call("shifted", rand(5, 5)),
    "shp201_square_only_reduction/muon_stacked_norm": call("newton_schulz", rand(4, 3, 4)),
    "shp201_square_only_reduction/similarity_distillation_log_prob": call("distillation_loss", rand(6, 4), rand(6, 4)),
    "shp201_square_only_reduction/zscore_trials": call("zscore_trials", np.random.rand(6, 6)),
    "shp202_square_only_broadcast/coordconv_tile_width": lambda m, audit: m.AddCoords()(rand(2, 3, 6, 6)),
    "shp202_square_only_broadcast/cosine_matrix_norms": call("cosine_matrix", np.ones((5, 3)), np.ones((5, 3))),
    "shp202_square_only_broadcast/cross_attention_causal_mask": call(
        "causal_attention", rand(2, 2, 5, 4), rand(2, 2, 5, 4), rand(2, 2, 5, 4)
    ),
    "shp202_square_only_broadcast/key_padding_mask_alignment": _masked_attention,
    "shp203_contradicted_annotation/captioning_loss_logits_order": lambda m, audit: m.Captioner(4, 5).training_loss(
        rand(2, 6, 4), randint(0, 5, (2, 6))
    ),
    "shp203_contradicted_annotation/head_split_declared_layout": call("split_heads", rand(2, 5, 8), 4),
    "shp203_contradicted_annotation/masked_mean_reduces_features_einops": call(
        "masked_mean", rand(4, 5, 4), torch.ones(4, 5, dtype=torch.bool)
    ),
    "shp203_contradicted_annotation/predict_transposed_inputs_jnp": call(
        "loss", jnp.ones((5, 3)), jnp.ones((5, 5)), jnp.ones((5, 3))
    ),
    "shp206_bare_squeeze/hidden_squeeze_zero": _reviews,
    "shp206_bare_squeeze/influence_scores_squeeze_jnp": call("most_influential", jnp.ones((1, 4)), jnp.ones((5, 4))),
    "shp206_bare_squeeze/reid_pool_squeeze": lambda m, audit: m.ReIDNet().eval()(rand(1, 3, 8, 8)),
    "shp301_graph_cut/detach_attention_transfer_term": _attention_transfer,
    "shp301_graph_cut/detach_memory_loss_features": _memory,
    "shp301_graph_cut/float_auxiliary_loss": _vae,
    "shp301_graph_cut/item_on_log_prob": _policy,
    "shp302_tensor_rebuilt/as_tensor_of_tuple": _burgers,
    "shp302_tensor_rebuilt/requires_grad_switched_on": _stepped(rand(8, 6), randint(0, 6, (8,))),
    "shp302_tensor_rebuilt/tensor_of_log_probs_a2c": _worker,
    "shp302_tensor_rebuilt/tensor_of_loss_list": _experts,
    "shp302_tensor_rebuilt/tensor_threshold_requires_grad": _dice,
    "shp302_tensor_rebuilt/variable_around_loss": _stepped([(rand(8, 6), rand(8, 6))] * 2),
    "shp303_no_grad_training/decorated_feature_getter": _language,
    "shp303_no_grad_training/no_grad_decode_before_clip": _sampler,
    "shp303_no_grad_training/no_grad_spectrogram_consistency": _speaker,
    "shp303_no_grad_training/set_grad_enabled_left_off": _switched_off,
    "shp304_zero_gradient_op/hard_mask_dice_term": _vnet,
    "shp304_zero_gradient_op/histogram_counts_loss": _enhancer,
    "shp304_zero_gradient_op/sign_direction_loss": _direction,
    "shp304_zero_gradient_op/spike_by_masked_assignment": _spiking,
    "shp304_zero_gradient_op/steps_as_loss_terms": _steps,
    "shp305_unregistered_parameters/conv_built_in_forward": _module("SoftPool", 4, 6, 10),
    "shp305_unregistered_parameters/dict_of_parameters": _module("RelationNet", 5, 6),
    "shp305_unregistered_parameters/evolved_weight_rewrapped": _evolving,
    "shp305_unregistered_parameters/memory_slots_plain_tensor": _module("NormalityMemory", 5, 8),
    "shp305_unregistered_parameters/plain_list_of_mlps": _mlps,
    "shp305_unregistered_parameters/scaled_parameter": _module("Projection", 5, 4),
    "shp305_unregistered_parameters/tuple_of_conv_heads": _text,
    "shp307_untrained_parameters/clip_after_step": _clipped,
    "shp307_untrained_parameters/zero_grad_missing": _without_zero_grad,
}
