"""Layers, losses, distributions and jax.nn against the libraries, on distinct primes: as numbers and as symbols."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import islice, product
from typing import Any

import jax
import jax.numpy as jnp
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing._internal.common_modules import module_db

from shapelint.domain.dims import Dim, as_dim, axis
from shapelint.domain.values import (
    UNKNOWN,
    Axis,
    Graph,
    GraphState,
    Int,
    Layer,
    Maker,
    Run,
    Shape,
    Tensor,
    Tuple,
    Unknown,
    Value,
    shape_of,
)
from shapelint.ops import call_layer, call_method, infer_call, iterate, layer_attribute
from shapelint.ops.op import ShapeError
from shapelint.testing import Symbols, concrete, dtype_name, lift

PRIMES = (5, 7, 11, 13, 17, 19, 23)


def t(*sizes: int) -> torch.Tensor:
    return torch.rand(sizes)


def idx(*sizes: int, most: int = 5) -> torch.Tensor:
    return torch.randint(0, most, sizes)


def eye(*sizes: int) -> torch.Tensor:
    return torch.eye(sizes[-1]).expand(*sizes, sizes[-1])


def signs(*sizes: int) -> torch.Tensor:
    return torch.ones(sizes)


def j(*sizes: int) -> jax.Array:
    return jnp.full(sizes, 0.5)


ROOTS = {"nn": nn, "F": F, "D": torch.distributions, "torch": torch, "jax": jax}
PREFIXES = {"nn": "torch.nn", "F": "torch.nn.functional", "D": "torch.distributions"}
NAMES = {**ROOTS, "t": t, "idx": idx, "eye": eye, "signs": signs, "j": j, "jnp": jnp}


def node_of(case: str) -> ast.expr:
    return ast.parse(case, mode="eval").body


def run(node: ast.expr, device: str = "cpu") -> Any:
    with warnings.catch_warnings(), torch.device(device):
        warnings.simplefilter("ignore")
        return eval(compile(ast.Expression(node), "case", "eval"), dict(NAMES))


@cache
def real(case: str) -> Any:
    """What the library gives; without computing it where the library can say so."""
    torch.manual_seed(0)
    if case.startswith("jax."):
        return jax.eval_shape(partial(run, node_of(case)))
    try:
        return run(node_of(case), "cpu" if case.startswith("D.") else "meta")
    except (RuntimeError, ValueError, NotImplementedError):
        return run(node_of(case))


def canonical(function: ast.expr) -> str | None:
    """The dotted name of a library's callable, None for other expressions."""
    root, _, rest = ast.unparse(function).partition(".")
    return f"{PREFIXES.get(root, root)}.{rest}" if root in ROOTS and "(" not in rest else None


def infer(node: ast.expr, lifted: Callable[[Any], Value] = lift) -> Value:
    """The inference for constructors, calls of what they built, and methods and attributes of it."""
    match node:
        case ast.Call(function, args, keywords):
            values = [infer(arg, lifted) for arg in args]
            named = {str(keyword.arg): infer(keyword.value, lifted) for keyword in keywords}
            name = canonical(function)
            if name is not None:
                return infer_call(name, values, named)
            if isinstance(function, ast.Attribute):
                receiver = infer(function.value, lifted)
                if isinstance(receiver, Layer):
                    return call_method(receiver, function.attr, values, named)
            elif isinstance(function, ast.Call):
                receiver = infer(function, lifted)
                assert isinstance(receiver, Layer), receiver
                return call_layer(receiver, values, named)
        case ast.Attribute(base, name) if isinstance(base, ast.Call):
            receiver = infer(base, lifted)
            assert isinstance(receiver, Layer), receiver
            return layer_attribute(receiver, name) or UNKNOWN
        case ast.Subscript(ast.Call() as base, ast.Constant(int() as index)):
            whole = infer(base, lifted)
            assert isinstance(whole, Tuple), whole
            return whole.items[index]
    return lifted(run(node))


def agree(real: Any, inferred: Value, sizes: Any, open_sizes: bool = False) -> None:
    if isinstance(real, tuple | list):
        assert isinstance(inferred, Tuple), inferred
        assert len(real) == len(inferred.items)
        for part, item in zip(real, inferred.items):
            agree(part, item, sizes, open_sizes)
        return
    if not hasattr(real, "shape"):
        assert concrete(inferred, sizes) == real, inferred
        return
    assert isinstance(inferred, Tensor), inferred
    shape = concrete(inferred, sizes)
    assert shape is not None, "the rank is not known"
    assert len(shape) == len(real.shape), (shape, tuple(real.shape))
    assert all(size == true or (open_sizes and size is None) for size, true in zip(shape, real.shape)), shape
    assert inferred.dtype in (None, "float", dtype_name(real.dtype)), (inferred.dtype, real.dtype)


def each(template: str, **words: str) -> list[str]:
    lists = [word.split(" ; ") for word in words.values()]
    return [template.format(**dict(zip(words, combination))) for combination in product(*lists)]


def cases(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


FLAGS = "False ; True"
WINDOWS = "3 ; 2, 2 ; 3, 2, 1 ; 3, padding=1 ; 5, stride=3, padding=2, dilation=2"
SPACE = "23 ; 23, 19 ; 23, 19, 17"


def spatial(template: str, **words: str) -> list[str]:
    """The template for one, two and three spatial axes, with and without a batch."""
    found = []
    for n, sizes in enumerate(SPACE.split(" ; "), 1):
        for batch in ("", "5, "):
            found += each(template, n=str(n), lead=batch, sizes=sizes, k=", ".join("3" * n), **words)
    return found


GENERATED = [
    *spatial("nn.Conv{n}d(7, 11, {w})(t({lead}7, {sizes}))", w=f"{WINDOWS} ; 3, padding='same' ; 3, padding='valid'"),
    *spatial("nn.Conv{n}d(6, 4, 3, groups=2)(t({lead}6, {sizes}))"),
    *spatial("nn.LazyConv{n}d(11, {w})(t({lead}7, {sizes}))", w="3 ; 3, 2, 1"),
    *spatial(
        "nn.ConvTranspose{n}d(7, 11, {w})(t({lead}7, {sizes}))",
        w="3 ; 2, 2 ; 3, 2, 1 ; 3, 2, 1, 1 ; 4, 2, 1 ; 3, stride=3, dilation=2 ; 3, 2, 1, 1, bias=False",
    ),
    *spatial("F.conv{n}d(t({lead}7, {sizes}), t(11, 7, {k}), {w})", w="None, 1 ; None, 2, 1, 2"),
    *spatial("F.conv_transpose{n}d(t({lead}7, {sizes}), t(7, 11, {k}), {w})", w="None ; None, 2, 1, 1"),
    *spatial("nn.MaxPool{n}d({w})(t({lead}7, {sizes}))", w="2 ; 3, 2 ; 3, 2, 1 ; 3, 2, 1, 2 ; 2, 2, ceil_mode=True"),
    *spatial("nn.MaxPool{n}d(2, return_indices=True)(t({lead}7, {sizes}))"),
    *spatial("nn.MaxPool{n}d({w}, ceil_mode=True)(t({lead}7, {sizes}))", w="3 ; 3, 2, 1 ; 5, 3 ; 3, 2, 1, 2"),
    *spatial("nn.AvgPool{n}d({w})(t({lead}7, {sizes}))", w="2 ; 3, 2 ; 3, 2, 1 ; 3, 2, 1, True"),
    *spatial("F.max_pool{n}d(t({lead}7, {sizes}), {w})", w="2 ; 3, 2 ; 3, 2, 1 ; 2, return_indices=True"),
    *spatial("F.avg_pool{n}d(t({lead}7, {sizes}), {w})", w="2 ; 3, 2 ; 3, 2, 1"),
    *spatial("nn.Adaptive{p}Pool{n}d({w})(t({lead}7, {sizes}))", p="Avg ; Max", w="1 ; 3"),
    *spatial("F.adaptive_avg_pool{n}d(t({lead}7, {sizes}), 3)"),
    *spatial("nn.LPPool{n}d(2, {w})(t({lead}7, {sizes}))", w="2 ; 3, 2"),
    *spatial("nn.InstanceNorm{n}d(7, affine={a})(t({lead}7, {sizes}))", a=FLAGS),
    *spatial("nn.{p}Pad{n}d(2)(t({lead}7, {sizes}))", p="Reflection ; Replication ; Zero ; Circular"),
    *spatial("nn.ConstantPad{n}d(2, 0.5)(t({lead}7, {sizes}))"),
    *each("nn.BatchNorm{case})", case="1d(7)(t(5, 7) ; 1d(7)(t(5, 7, 11) ; 2d(7)(t(5, 7, 11, 13) ; "
          "3d(7)(t(5, 7, 2, 3, 2)"),
    *each(
        "nn.{rnn}(7, 11, {layers}, batch_first={first}, bidirectional={two})(t({sizes}))",
        rnn="LSTM ; GRU ; RNN",
        layers="1 ; 3",
        first=FLAGS,
        two=FLAGS,
        sizes="13, 5, 7 ; 13, 7",
    ),
    *each(
        "nn.LSTM(7, 11, {layers}, batch_first={first}, bidirectional={two}, proj_size=5)(t(13, 17, 7))",
        layers="1 ; 2",
        first=FLAGS,
        two=FLAGS,
    ),
    *each("nn.{cell}Cell(7, 11)(t({sizes}))", cell="LSTM ; GRU ; RNN", sizes="5, 7 ; 7"),
    *each(
        "nn.MultiheadAttention(6, 2, batch_first={first}{more})(t({q}, 6), t({k}, 6), t({k}, 6){how})",
        first=FLAGS,
        more=" ; , add_bias_kv=True ; , add_zero_attn=True",
        q="13, 17",
        k="13, 17",
        how=" ; , need_weights=False ; , average_attn_weights=False",
    ),
    *each("nn.MultiheadAttention(6, 2)(t({q}, 5, 6), t(11, 5, 6), t(11, 5, 6))", q="7 ; 13"),
    *each("nn.MultiheadAttention(6, 2, batch_first=True)(t(5, {q}, 6), t(5, 11, 6), t(5, 11, 6))", q="7 ; 13"),
    *each("F.{loss}(t(5, 7), t({target}), reduction={r})", loss="mse_loss ; l1_loss ; smooth_l1_loss ; huber_loss ; "
          "kl_div ; poisson_nll_loss ; hinge_embedding_loss", target="5, 7 ; 7 ; 5, 1",
          r="'none' ; 'mean' ; 'sum'"),
    *each("nn.{loss}Loss(reduction={r})(t(5, 1), t(5))", loss="MSE ; L1 ; SmoothL1 ; Huber ; KLDiv ; "
          "HingeEmbedding ; PoissonNLL", r="'none' ; 'mean' ; 'sum'"),
    *each("F.binary_cross_entropy{logits}(t(5, 7), t(5, 7), reduction={r})", logits=" ; "
          "_with_logits", r="'none' ; 'mean'"),
    *each("nn.SoftMarginLoss(reduction={r})(t(5, 7), t({s}))", s="5, 7 ; 7 ; 5, 1", r="'none' ; 'mean'"),
    *each("nn.BCE{logits}Loss(reduction={r})(t(5, 7), t(5, 7))", logits=" ; WithLogits", r="'none' ; 'mean'"),
    *each(
        "F.{loss}({operands}, reduction={r})",
        loss="cross_entropy ; nll_loss",
        operands="t(7, 5), idx(7) ; t(5), idx() ; t(7, 5, 11), idx(7, 11) ; t(7, 5, 11, 13), idx(7, 11, 13)",
        r="'none' ; 'mean' ; 'sum'",
    ),
    *each("nn.CrossEntropyLoss(reduction={r})(t({s}), t({s}))", s="7, 5 ; 5 ; 7, 5, 11", r="'none' ; 'mean'"),
    *each("nn.NLLLoss(reduction={r})(t(7, 5), idx(7))", r="'none' ; 'mean'"),
    *each("F.{loss}(t(7, 5), {target}, reduction={r})", loss="multilabel_soft_margin_loss", target="t(7, 5)",
          r="'none' ; 'mean'"),
    *each("nn.MultiMarginLoss(reduction={r})(t(7, 5), idx(7))", r="'none' ; 'mean'"),
    *each("nn.MultiLabelMarginLoss(reduction={r})(t(7, 5), idx(7, 5))", r="'none' ; 'mean'"),
    *each("F.margin_ranking_loss(t(7), t(7), signs(7), reduction={r})", r="'none' ; 'mean'"),
    *each("F.cosine_embedding_loss(t(7, 5), t(7, 5), signs(7), reduction={r})", r="'none' ; 'mean'"),
    *each("nn.TripletMarginLoss(reduction={r})(t(7, 5), t(7, 5), t(7, 5))", r="'none' ; 'mean'"),
    *each("nn.GaussianNLLLoss(reduction={r})(t(7, 5), t(7, 5), t(7, 5))", r="'none' ; 'mean'"),
    *each("nn.GaussianNLLLoss(reduction={r})(t(7, 5), t(7, 5), t(7, 1))", r="'none' ; 'mean'"),
    *each("F.ctc_loss(t(13, 7, 5), idx(7, 3) + 1, torch.full((7,), 13), torch.full((7,), 3), reduction={r})",
          r="'none' ; 'mean'"),
    *each("nn.{a}()(t(5, 7, 11))", a="ReLU ; ReLU6 ; LeakyReLU ; ELU ; SELU ; CELU ; GELU ; SiLU ; Mish ; "
          "Softplus ; Tanh ; "
          "Softsign ; LogSigmoid ; Sigmoid ; Hardtanh ; Hardsigmoid ; Hardswish ; Tanhshrink ; Hardshrink ; "
          "Softshrink ; "
          "RReLU ; Dropout ; Dropout1d ; AlphaDropout ; FeatureAlphaDropout ; Identity ; Flatten ; PReLU"),
    *each("nn.{a}(dim={dim})(t(5, 7, 12))", a="Softmax ; LogSoftmax ; Softmin", dim="0 ; 1 ; -1"),
    *each("F.interpolate(t(5, 7, {s}), {how})", s="11 ; 11, 13 ; 11, 13, 17", how="scale_factor=2 ; "
          "scale_factor=0.5 ; "
          "scale_factor=1.7 ; size=19"),
    *each("nn.Upsample({how})(t(5, 7, 11, 13))", how="scale_factor=2 ; scale_factor=(2, 3) ; (17, 19) ; "
          "scale_factor=2.0"),
    *each("nn.{u}2d(scale_factor=2)(t(5, 7, 11, 13))", u="UpsamplingNearest ; UpsamplingBilinear"),
    *each("D.{d}({p}).{m}", d="Normal ; Laplace ; Cauchy ; Gumbel ; LogNormal ; Beta ; "
          "Gamma", p="t(5, 1), t(7) + 0.1 ; "
          "t(5, 7), 1.5 ; 0.5, 1.5 ; t(7), t(5, 7) + 0.1", m="sample() ; rsample((11,)) ; sample((11, 13)) ; mean ; "
          "batch_shape ; event_shape ; variance ; log_prob(t(5, 7)) ; log_prob(t(13, 5, 7))"),
    *each("D.Normal({p}).{m}", p="t(5, 1), t(7) ; t(5, 7), 1.5", m="entropy() ; loc ; scale ; stddev ; cdf(t(7))"),
    *each("D.Normal(t(5, 1), t(5, 1)).log_prob(t(5))", ),
    *each("D.{d}({p}).{m}", d="Bernoulli ; Geometric", p="t(5, 7) ; logits=t(5, 7) ; probs=t(5)", m="sample() ; "
          "sample((11,)) ; entropy() ; batch_shape"),
    *each("D.{d}({p}).{m}", d="Categorical ; OneHotCategorical", p="t(5, 7) ; logits=t(5, 7) ; t(7)",
          m="sample() ; sample((11,)) ; entropy() ; batch_shape ; event_shape ; probs ; logits"),
    *each("D.Categorical({p}).log_prob({v})", p="t(5, 7) ; logits=t(5, 7)", v="idx(5) ; idx(11, 5) ; idx(11, 1)"),
    *each("D.OneHotCategorical(t(5, 7)).log_prob(F.one_hot(idx(5), 7).float())"),
    *each("D.{d}.{m}", d="MultivariateNormal(t(7), eye(7)) ; MultivariateNormal(t(5, 7), eye(7)) ; "
          "MultivariateNormal(t(7), scale_tril=eye(5, 7)) ; MultivariateNormal(loc=t(7), precision_matrix=eye(7)) ; "
          "LowRankMultivariateNormal(t(5, 7), t(5, 7, 2), t(5, 7) + 0.1) ; Dirichlet(t(5, 7) + 0.1) ; "
          "Independent(D.Normal(t(5, 7), t(5, 7)), 1) ; Independent(D.Normal(t(11, 5, 7), t(7)), 2)",
          m="sample() ; rsample((13,)) ; entropy() ; mean ; batch_shape ; event_shape"),
    *each("D.{d}.log_prob(t(13, 5, 7))", d="MultivariateNormal(t(7), eye(7)) ; MultivariateNormal(t(5, 7), eye(7)) ; "
          "Independent(D.Normal(t(5, 7), t(5, 7)), 1) ; Independent(D.Normal(t(5, 7), t(7)), 2)"),
    *each("D.{d}.{m}", d="Uniform(t(5), 2.0) ; Exponential(t(5)) ; HalfNormal(t(5)) ; HalfCauchy(t(5)) ; "
          "Poisson(t(5)) ; "
          "StudentT(t(5) + 3, 0.0, t(7, 1)) ; Chi2(t(5)) ; Binomial(10, t(5)) ; Binomial(idx(7, 1), probs=t(5)) ; "
          "Weibull(t(5), t(5)) ; Pareto(t(5), t(5)) ; VonMises(t(5), t(5)) ; NegativeBinomial(3, t(5))",
          m="sample() ; sample((11,)) ; batch_shape ; event_shape"),
    *each("D.Multinomial(10, t(5, 7)).{m}", m="sample() ; sample((3,)) ; batch_shape ; event_shape ; mean"),
    *each("D.MixtureSameFamily(D.Categorical(t({w})), D.{c}).{m}", w="5, 7", c="Normal(t(5, 7), t(5, 7)) ; "
          "Independent(D.Normal(t(5, 7, 11), t(7, 11)), 1)", m="sample() ; sample((3,)) ; batch_shape ; event_shape"),
    *each("D.kl_divergence(D.Normal(t({p}), t({p})), D.Normal(t({q}), t({q})))", p="5, 7 ; 7", q="5, 7 ; 7 ; 5, 1"),
    *each("jax.nn.{a}(j(5, 7))", a="relu ; gelu ; silu ; sigmoid ; softplus ; softmax ; log_softmax ; elu ; "
          "squareplus ; "
          "standardize ; logsumexp ; leaky_relu ; hard_tanh"),
    *each("jax.nn.{a}(j(5, 7), axis={axis})", a="softmax ; log_softmax ; logsumexp ; standardize", axis="0 ; -1"),
    *each("jax.nn.one_hot(jnp.arange(5), 7{axis})", axis=" ; , axis=0 ; , axis=-1"),
    *each("jax.scipy.special.{f}(j(5, 7))", f="i0e ; ndtr ; entr ; gamma"),
    *each("jax.scipy.stats.norm.{m}(j(5, 1), j(7), {s})", m="logpdf ; pdf ; cdf", s="1.0 ; j(11, 5, 7)"),
]  # fmt: skip
CASES = """
nn.Linear(7, 11)(t(7))
nn.Linear(7, 1)(t(5, 7))
nn.Linear(7, 11, bias=False)(t(5, 13, 7))
nn.Linear(in_features=7, out_features=11)(input=t(5, 7))
nn.LazyLinear(11)(t(5, 7))
nn.Linear(7, 11).weight
nn.Linear(7, 11).bias
nn.Linear(7, 11, bias=False).bias
nn.Linear(7, 11).in_features
nn.Conv2d(7, 11, 3).weight
nn.Conv2d(6, 4, (3, 5), groups=2).weight
nn.ConvTranspose1d(7, 11, 3).weight
nn.Conv2d(7, 11, 3).bias
nn.Conv2d(7, 11, 3).out_channels
nn.Embedding(13, 7).weight
nn.Embedding(13, 7).embedding_dim
nn.LayerNorm(7).weight
nn.LayerNorm((5, 7)).bias
nn.BatchNorm1d(7).running_mean
nn.GroupNorm(1, 7).weight
nn.PReLU(7).weight
nn.LSTM(7, 11, 2).hidden_size
nn.LSTM(7, 11).num_layers
nn.LSTM(7, 11).bidirectional
nn.Bilinear(5, 7, 11)(t(13, 5), t(13, 7))
nn.Bilinear(5, 7, 11).weight
nn.LSTM(7, 11).weight_ih_l0
nn.LSTM(7, 11, 2).weight_ih_l1
nn.LSTM(7, 11, 2, bidirectional=True).weight_ih_l1_reverse
nn.LSTM(7, 11, 2, proj_size=5).weight_ih_l1
nn.LSTM(7, 11, proj_size=5).weight_hh_l0
nn.LSTM(7, 11, bidirectional=True).bias_hh_l0_reverse
nn.GRU(7, 11, 2, bidirectional=True).weight_ih_l1
nn.GRU(7, 11).weight_hh_l0
nn.GRU(7, 11).bias_ih_l0
nn.RNN(7, 11).weight_ih_l0
nn.LSTMCell(7, 11).weight_ih
nn.LSTMCell(7, 11).weight_hh
nn.GRUCell(7, 11).bias_hh
nn.RNNCell(7, 11).weight_ih
F.linear(t(5, 7), t(11, 7))
F.linear(t(5, 7), t(7))
F.linear(t(5, 13, 7), t(11, 7), t(11))
nn.Flatten()(t(5, 7, 11, 13))
nn.Flatten(0)(t(5, 7, 11))
nn.Flatten(1, 2)(t(5, 7, 11, 13))
nn.Unflatten(1, (3, 5))(t(7, 15, 11))
nn.Conv2d(7, 11, (3, 5), (2, 1), padding=(1, 2))(t(5, 7, 13, 17))
nn.Conv1d(7, 11, (3,))(t(5, 7, 13))
nn.Conv2d(7, 11, 3, padding_mode='reflect', padding=1)(t(5, 7, 13, 17))
nn.ConvTranspose2d(7, 11, 3, stride=2)(t(5, 7, 11, 13), output_size=(24, 28))
nn.MaxPool2d((2, 3))(t(5, 7, 11, 13))
nn.MaxPool2d((2, 3), (3, 1), (1, 0))(t(5, 7, 11, 13))
nn.AdaptiveAvgPool2d((3, None))(t(5, 7, 11, 13))
nn.AdaptiveAvgPool2d((1, 1))(t(7, 11, 13))
nn.AdaptiveMaxPool2d(3, return_indices=True)(t(5, 7, 11, 13))
F.adaptive_avg_pool2d(t(5, 7, 11, 13), (3, 2))
nn.MaxPool1d(2, 3, ceil_mode=True)(t(5, 7, 9))
nn.MaxPool1d(2, 3, ceil_mode=True)(t(5, 7, 10))
nn.AvgPool2d(2, 3, 1, ceil_mode=True)(t(5, 7, 8, 12))
F.unfold(t(5, 7, 11, 13), 3)
F.unfold(t(5, 7, 11, 13), (3, 2), padding=1, stride=2)
nn.Unfold(3, dilation=2)(t(5, 7, 11, 13))
F.fold(t(5, 63, 99), (11, 13), 3)
nn.Fold((11, 13), 3, padding=1, stride=2)(t(5, 63, 42))
nn.PixelShuffle(3)(t(5, 63, 11, 13))
nn.PixelUnshuffle(3)(t(5, 7, 33, 39))
F.pixel_shuffle(t(5, 63, 11, 13), 3)
F.pixel_unshuffle(t(5, 7, 22, 26), 2)
nn.ChannelShuffle(2)(t(5, 6, 11, 13))
nn.ZeroPad2d((1, 2, 3, 4))(t(5, 7, 11, 13))
nn.ConstantPad1d((1, 2), 0.5)(t(5, 7, 11))
nn.ReflectionPad2d((1, 2, 3, 4))(t(7, 11, 13))
nn.ZeroPad2d((-1, -2, 0, 0))(t(7, 11, 13))
F.grid_sample(t(5, 7, 11, 13), t(5, 17, 19, 2))
F.grid_sample(t(5, 7, 11, 13, 17), t(5, 17, 19, 23, 3))
F.affine_grid(t(5, 2, 3), (5, 7, 11, 13))
F.affine_grid(t(5, 3, 4), (5, 7, 11, 13, 17))
nn.GroupNorm(1, 7)(t(5, 7, 11))
nn.LayerNorm(11)(t(5, 7, 11))
nn.LayerNorm((7, 11))(t(5, 7, 11))
nn.LayerNorm([7, 11], elementwise_affine=False)(t(5, 7, 11))
nn.RMSNorm(11)(t(5, 7, 11))
F.layer_norm(t(5, 7, 11), (11,))
F.rms_norm(t(5, 7, 11), (11,))
F.group_norm(t(5, 7, 11), 7)
F.batch_norm(t(5, 7, 11), t(7), t(7))
F.instance_norm(t(5, 7, 11))
nn.LocalResponseNorm(2)(t(5, 7, 11))
F.local_response_norm(t(5, 7, 11), 2)
nn.Embedding(5, 11)(idx(7, 13))
nn.Embedding(5, 11)(idx())
nn.Embedding.from_pretrained(t(5, 11))(idx(7, 13))
F.embedding(idx(7, 13), t(5, 11))
nn.EmbeddingBag(5, 11)(idx(7, 13))
nn.EmbeddingBag(5, 11)(idx(13), torch.tensor([0, 3, 5]))
nn.EmbeddingBag(5, 11, include_last_offset=True)(idx(13), torch.tensor([0, 3, 13]))
F.one_hot(idx(7, 11), 5)
F.one_hot(idx(7, 11), num_classes=13)
nn.GLU()(t(5, 14))
nn.GLU(1)(t(5, 14, 7))
nn.Softmax2d()(t(5, 7, 11, 13))
nn.Dropout2d()(t(5, 7, 11, 13))
nn.Threshold(0.1, 20)(t(5, 7))
nn.CosineSimilarity()(t(5, 7), t(5, 7))
nn.CosineSimilarity(dim=-1)(t(5, 1, 7), t(11, 7))
F.cosine_similarity(t(5, 7, 11), t(5, 7, 11), dim=2)
torch.cosine_similarity(t(5, 7), t(7), 0)
nn.PairwiseDistance()(t(5, 7), t(5, 7))
nn.PairwiseDistance(keepdim=True)(t(5, 7), t(7))
F.pairwise_distance(t(5, 7), t(5, 7), keepdim=True)
nn.MaxUnpool2d(2)(t(5, 7, 11, 13), idx(5, 7, 11, 13))
nn.LSTM(7, 11)(t(13, 5, 7), (t(1, 5, 11), t(1, 5, 11)))
nn.GRU(7, 11)(t(13, 5, 7), t(1, 5, 11))[0]
nn.MultiheadAttention(6, 2)(t(7, 6), t(11, 6), t(11, 6))
nn.TransformerEncoderLayer(6, 2)(t(11, 5, 6))
nn.TransformerEncoderLayer(6, 2, batch_first=True)(src=t(11, 5, 6))
nn.TransformerEncoder(nn.TransformerEncoderLayer(6, 2), 2)(t(11, 5, 6))
nn.TransformerDecoderLayer(6, 2)(t(11, 5, 6), t(13, 5, 6))
nn.TransformerDecoder(nn.TransformerDecoderLayer(6, 2), 2)(t(11, 5, 6), t(13, 5, 6))
nn.Transformer(6, 2, 1, 1)(t(11, 5, 6), t(13, 5, 6))
"""
# With symbols in place of numbers a size stays open here: the library rounds in floating point, or in ceil mode.
OPEN_AS_SYMBOLS = ("scale_factor=1.7", "3, 2, 1, 2, ceil_mode=True", "5, 3, ceil_mode=True")
ALL = [*GENERATED, *cases(CASES)]


@pytest.mark.parametrize("case", ALL)
def test_case_as_the_library(case: str) -> None:
    expected, node = real(case), node_of(case)
    agree(expected, infer(node), {})
    symbols = Symbols(*PRIMES)
    agree(
        expected, infer(node, partial(lift, size=symbols)), symbols.sizes, any(part in case for part in OPEN_AS_SYMBOLS)
    )


def beside_a_run(known: int) -> Callable[[Any], Value]:
    """Arguments as they are known where only the last axes are."""

    def weakened(obj: Any) -> Value:
        value = lift(obj)
        if not isinstance(value, Tensor):
            return value
        axes = value.shape.head
        return replace(value, shape=Shape((), Run("", object()), axes[max(len(axes) - known, 0) :]))

    return weakened


def contradicts(real: Any, inferred: Value) -> bool:
    match inferred:
        case Tuple(items=items):
            return len(real) != len(items) or any(map(contradicts, real, items))
        case Tensor(shape=Shape(head, None, _)):
            return len(head) != len(real.shape) or _unlike(real.shape, head)
        case Tensor(shape=Shape(head, _, tail)):
            rest = real.shape[len(real.shape) - len(tail) :]
            return len(head) + len(tail) > len(real.shape) or _unlike(real.shape, head) or _unlike(rest, tail)
    return False


def _unlike(sizes: Any, axes: tuple[Axis, ...]) -> bool:
    return any(axis.size.value not in (None, size) for axis, size in zip(axes, sizes))


@pytest.mark.parametrize("known", [0, 1, 2])
def test_unknown_rank_is_never_contradicted(known: int) -> None:
    """With the leading axes hidden, what is inferred still holds of the real result."""
    inferred = {case: infer(node_of(case), beside_a_run(known)) for case in ALL if "[0]" not in case}
    assert not [case for case, value in inferred.items() if contradicts(real(case), value)]
    assert sum(not isinstance(value, Unknown) for value in inferred.values()) > len(ALL) / 2


MOST_SAMPLES = 16  # of nn.Transformer alone there are hundreds, all of one kind


def sampled() -> list[tuple[str, Any]]:
    return [(info.name, info) for info in module_db if info.name.startswith("nn.")]


@pytest.mark.parametrize(("name", "info"), sampled())
def test_module_as_torch(name: str, info: Any) -> None:
    """torch's own sample inputs: whatever is inferred is right."""
    samples = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=True)
    for sample in islice(samples, MOST_SAMPLES):
        built, called = sample.constructor_input, sample.forward_input
        if called is None:
            continue
        layer = infer_call(f"torch.{name}", *arguments(built))
        if not isinstance(layer, Layer):
            continue
        inferred = call_layer(layer, *arguments(called))
        module = info.module_cls(*built.args, **built.kwargs).train()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = module(*called.args, **called.kwargs)
            except RuntimeError:  # FractionalMaxPool's samples are float64 only: what torch refuses says nothing
                assert "FractionalMaxPool" in name
                continue
        assert not contradicts(result, inferred), (built, called)


def arguments(inputs: Any) -> tuple[list[Value], dict[str, Value]]:
    return [lift(arg) for arg in inputs.args], {name: lift(value) for name, value in inputs.kwargs.items()}


WRONG = """
nn.Linear(7, 11)(t(5, 13))
nn.Linear(7, 11)(t(7, 5))
nn.Bilinear(5, 7, 11)(t(13, 7), t(13, 7))
nn.Conv2d(7, 11, 3)(t(5, 13, 17, 19))
nn.Conv2d(7, 11, 3)(t(13, 17))
nn.Conv2d(7, 11, 3)(t(5, 7, 2, 2))
nn.Conv1d(7, 11, 3)(t(5, 3, 7, 13))
nn.ConvTranspose2d(7, 11, 3)(t(5, 13, 17, 19))
F.conv2d(t(5, 7, 11, 13), t(11, 5, 3, 3))
nn.MaxPool2d(7)(t(5, 5, 5))
nn.MaxPool2d(2)(t(5, 7))
nn.BatchNorm2d(7)(t(5, 11, 13, 17))
nn.BatchNorm2d(7)(t(5, 7, 13))
nn.BatchNorm1d(7)(t(5, 11, 7))
nn.BatchNorm1d(7)(t(7))
nn.GroupNorm(1, 7)(t(5, 11, 7))
nn.LayerNorm(7)(t(5, 11))
nn.LayerNorm((7, 11))(t(5, 11, 7))
nn.RMSNorm(7)(t(5, 11))
nn.LSTM(7, 11)(t(5, 13, 17))
nn.LSTM(7, 11)(t(5, 13, 17, 7))
nn.GRUCell(7, 11)(t(5, 11))
nn.MultiheadAttention(6, 2)(t(7, 5, 8), t(7, 5, 8), t(7, 5, 8))
nn.TransformerEncoderLayer(6, 2)(t(11, 5, 7))
nn.PixelShuffle(3)(t(5, 7, 11, 13))
nn.Fold((11, 13), 3)(t(5, 63, 98))
nn.PReLU(7)(t(5, 11))
nn.MSELoss()(t(5, 7), t(5, 11))
nn.BCELoss()(t(5, 1), t(5))
F.binary_cross_entropy_with_logits(t(5, 7), t(7))
nn.CrossEntropyLoss()(t(7, 5), idx(11))
nn.CrossEntropyLoss()(t(7, 5), idx(7, 1))
nn.CrossEntropyLoss()(t(7, 5, 11), idx(7, 5))
nn.CrossEntropyLoss()(t(7, 5), t(7, 11))
nn.NLLLoss()(t(7, 5), idx(5))
nn.SoftMarginLoss()(t(5, 1), t(5))
nn.CosineSimilarity()(t(5, 7), t(5, 11))
D.Normal(t(5), t(7)).sample()
D.Normal(t(5), t(5)).log_prob(t(7))
D.MultivariateNormal(t(7), eye(7)).log_prob(t(5, 11))
D.Independent(D.Normal(t(5, 7), t(5, 7)), 3).sample()
"""


@pytest.mark.parametrize("case", cases(WRONG))
def test_wrong_call_raises(case: str) -> None:
    with pytest.raises((RuntimeError, ValueError, AssertionError)):
        run(node_of(case))
    with pytest.raises(ShapeError):
        infer(node_of(case))


# What no library can be asked: words, unknown sizes, graphs, makers; and the layers of flax, equinox and haiku.

N, H = axis("n"), axis("h")


def tensor(*sizes: Dim | int, graph: Graph = Graph()) -> Tensor:  # noqa: B008
    return Tensor(shape_of(*sizes), "float32", "torch", graph)


def build(name: str, *args: Any, **kwargs: Any) -> Any:
    return infer_call(name, [known(a) for a in args], {k: known(v) for k, v in kwargs.items()})


def known(obj: Any) -> Any:
    return Int(obj) if isinstance(obj, Dim) else obj if isinstance(obj, Tensor | Layer) else lift(obj)


def called(layer: Any, *args: Any, **kwargs: Any) -> Any:
    return call_layer(layer, [known(a) for a in args], {k: known(v) for k, v in kwargs.items()})


def test_conflict_shows_the_arithmetic() -> None:
    flat = Axis(as_dim(8 * 7 * 7), (as_dim(8), as_dim(7), as_dim(7)))
    with pytest.raises(ShapeError, match=r"Linear expects 400 features, the input's last axis is 8\*7\*7 = 392"):
        called(build("torch.nn.Linear", 400, 10), Tensor(Shape((Axis(N), flat))))
    with pytest.raises(ShapeError, match="Conv2d expects 3 channels, the input's channel axis is 7"):
        called(build("torch.nn.Conv2d", 3, 10, 3), tensor(N, 7, H, H))


def test_sizes_may_be_undecided() -> None:
    width, height = axis("d"), axis("k")
    assert called(build("torch.nn.Linear", width, 5), tensor(N, height)).shape == shape_of(N, 5)
    same = called(build("torch.nn.Conv2d", 3, 8, 3, padding=1), tensor(N, 3, H, H + 1))
    assert same.shape == shape_of(N, 8, H, H + 1)
    halved = called(build("torch.nn.MaxPool2d", 2), tensor(N, 3, H, H * 2))
    assert halved.shape == shape_of(N, 3, H // as_dim(2), H)
    doubled = called(build("torch.nn.ConvTranspose2d", 3, 8, 4, 2, 1), tensor(N, 3, H, H))
    assert doubled.shape == shape_of(N, 8, H * 2, H * 2)


@pytest.mark.parametrize(
    ("name", "args", "spelled"),
    [
        ("Linear", (64, 1), "(..., 1)"),
        ("Embedding", (64, 8), "(..., 8)"),
        ("LSTM", (64, 8), "(..., 8)"),
        ("LayerNorm", (64,), "(...)"),
        ("ReLU", (), "(...)"),
    ],
)
def test_input_of_unknown_rank(name: str, args: tuple[int, ...], spelled: str) -> None:
    result = called(build(f"torch.nn.{name}", *args), UNKNOWN_INPUT)
    assert str(result.items[0] if isinstance(result, Tuple) else result).replace("...,)", "...)") == spelled


UNKNOWN_INPUT = Tensor()


def test_unknown_sizes_are_one_size_for_one_layer() -> None:
    layer = infer_call("torch.nn.Linear", [Int(as_dim(64)), UNKNOWN])
    first, second = call_layer(layer, [tensor(N, 64)]), call_layer(layer, [tensor(N, 64)])
    other = call_layer(infer_call("torch.nn.Linear", [Int(as_dim(64)), UNKNOWN]), [tensor(N, 64)])
    assert first == second
    assert first != other


def test_size_one_is_made_by_the_layer() -> None:
    for layer, x in (
        (build("torch.nn.Linear", 64, 1), tensor(N, 64)),
        (build("torch.nn.LSTM", 64, 1, batch_first=True), tensor(N, 7, 64)),
    ):
        result = called(layer, x)
        output = result.items[0] if isinstance(result, Tuple) else result
        assert output.shape.axis(-1).maker is Maker.LAYER
    channel = called(build("torch.nn.Conv2d", 3, 1, 3), tensor(N, 3, 7, 7)).shape.axis(1)
    assert channel.maker is Maker.LAYER


CONST = Graph(GraphState.CONST)


@pytest.mark.parametrize(
    ("name", "args", "x", "learns"),
    [
        ("Linear", (5, 7), (N, 5), True),
        ("Conv1d", (5, 7, 3), (N, 5, 11), True),
        ("BatchNorm1d", (5,), (N, 5), True),
        ("BatchNorm1d", (5, 1e-5, 0.1, False), (N, 5), False),
        ("LayerNorm", (5,), (N, 5), True),
        ("InstanceNorm1d", (5,), (N, 5, 7), False),
        ("ReLU", (), (N, 5), False),
        ("MaxPool1d", (2,), (N, 5, 8), False),
        ("Dropout", (), (N, 5), False),
    ],
)
def test_trainable_layer_is_an_origin(name: str, args: Any, x: Any, learns: bool) -> None:
    layer = build(f"torch.nn.{name}", *args)
    from_data = called(layer, tensor(*x, graph=CONST)).graph
    assert from_data == (Graph(GraphState.GRAPH, frozenset({layer})) if learns else CONST)
    before = Graph(GraphState.GRAPH, frozenset({"encoder"}))
    origins = called(layer, tensor(*x, graph=before)).graph.origins
    assert origins == ({"encoder", layer} if learns else {"encoder"})
    cut = called(layer, tensor(*x, graph=Graph(GraphState.CUT, frozenset({"encoder"})))).graph
    assert cut.origins == (frozenset({layer}) if learns else frozenset({"encoder"}))


def test_weight_is_a_leaf_of_its_layer() -> None:
    layer = build("torch.nn.Linear", 5, 7)
    weight = layer_attribute(layer, "weight")
    assert isinstance(weight, Tensor)
    assert weight.graph == Graph(GraphState.LEAF, frozenset({layer}))
    assert layer_attribute(layer, "nothing") is None


def test_samples_have_no_graph_and_rsamples_do() -> None:
    attached = Graph(GraphState.GRAPH, frozenset({"net"}))
    normal = build("torch.distributions.Normal", tensor(N, graph=attached), 1.0)
    assert call_method(normal, "sample", []).graph.state is GraphState.CUT
    assert call_method(normal, "rsample", []).graph == attached
    assert call_method(normal, "log_prob", [tensor(N, graph=CONST)]).graph == attached


def test_packed_sequences_keep_their_width() -> None:
    packed = build("torch.nn.utils.rnn.pack_padded_sequence", tensor(5, 7, 11), UNKNOWN_INPUT, True)
    out, state = called(build("torch.nn.LSTM", 11, 13, 2, bidirectional=True), packed).items
    assert concrete(state) == ((4, None, 13), (4, None, 13))
    padded = infer_call("torch.nn.utils.rnn.pad_packed_sequence", [out], {"batch_first": lift(True)})
    assert isinstance(padded, Tuple)
    assert concrete(padded.items[0]) == (None, None, 26)


def test_loader_yields_batches_of_a_size_that_may_vary() -> None:
    dataset = build("torch.utils.data.TensorDataset", tensor(100, 5), tensor(100))
    loader = build("torch.utils.data.DataLoader", dataset, batch_size=32)
    item = iterate(loader)
    assert isinstance(item, Tuple)
    x, y = item.items
    assert isinstance(x, Tensor)
    assert isinstance(y, Tensor)
    assert x.shape.head[0] == y.shape.head[0]
    assert x.shape.head[0].size.value is None
    assert x.shape.head[1].size.value == 5
    assert iterate(build("torch.utils.data.DataLoader", dataset, collate_fn=lift(len))) is None
    assert isinstance(iterate(dataset), Tuple)
    assert iterate(build("torch.optim.Adam", UNKNOWN_INPUT, lr=0.1)) is None


JAX_LAYERS: list[tuple[str, tuple[Any, ...], dict[str, Any], tuple[Any, ...], tuple[Any, ...]]] = [
    ("flax.linen.Dense", (7,), {}, (N, 5), (N, 7)),
    ("flax.linen.Dense", (), {"features": 7}, (N, 11, 5), (N, 11, 7)),
    ("flax.linen.DenseGeneral", ((2, 3),), {}, (N, 5), (N, 2, 3)),
    ("flax.linen.Conv", (7, (3, 3)), {}, (N, H, 13, 3), (N, H, 13, 7)),
    ("flax.linen.Conv", (7, (3, 3), 2), {}, (N, 14, 13, 3), (N, 7, 7, 7)),
    ("flax.linen.Conv", (), {"features": 7, "kernel_size": (3,), "padding": "VALID"}, (N, 13, 3), (N, 11, 7)),
    ("flax.linen.Embed", (11, 7), {}, (N, 5), (N, 5, 7)),
    ("flax.linen.LayerNorm", (), {}, (N, 5), (N, 5)),
    ("flax.linen.linear.Dense", (7,), {}, (N, 5), (N, 7)),
    ("flax.linen.Dropout", (0.1,), {}, (N, 5), (N, 5)),
    ("flax.nnx.Linear", (5, 7), {}, (N, 5), (N, 7)),
    ("flax.nnx.Conv", (3, 7, (3, 3)), {}, (N, H, 13, 3), (N, H, 13, 7)),
    ("flax.nnx.BatchNorm", (5,), {}, (N, 5), (N, 5)),
    ("equinox.nn.Linear", (5, 7), {}, (5,), (7,)),
    ("equinox.nn.MLP", (5, 7, 64, 2), {}, (5,), (7,)),
    ("equinox.nn.MLP", (5, "scalar", 64, 2), {}, (5,), ()),
    ("equinox.nn.Conv2d", (3, 7, 3), {}, (3, 11, 13), (7, 9, 11)),
    ("haiku.Linear", (7,), {}, (N, 5), (N, 7)),
    ("haiku.Conv2D", (7, 3), {}, (N, H, 13, 3), (N, H, 13, 7)),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "x", "expected"), JAX_LAYERS)
def test_jax_layer(name: str, args: Any, kwargs: Any, x: Any, expected: Any) -> None:
    assert called(build(name, *args, **kwargs), tensor(*x)).shape == shape_of(*expected)


@pytest.mark.parametrize(
    ("name", "sizes", "target", "expected"),
    [
        ("optax.l2_loss", (N, 1), (N,), (N, N)),
        ("optax.losses.squared_error", (N,), (N,), (N,)),
        ("optax.huber_loss", (N, 5), (N, 5), (N, 5)),
        ("optax.sigmoid_binary_cross_entropy", (N, 5), (N, 5), (N, 5)),
        ("optax.softmax_cross_entropy", (N, 5), (N, 5), (N,)),
        ("optax.softmax_cross_entropy_with_integer_labels", (N, 5), (N,), (N,)),
        ("optax.losses._classification.softmax_cross_entropy", (N, 7, 5), (N, 7, 5), (N, 7)),
    ],
)
def test_optax_does_not_reduce(name: str, sizes: Any, target: Any, expected: Any) -> None:
    assert build(name, tensor(*sizes), tensor(*target)).shape == shape_of(*expected)
