"""Axis mistakes that run on square inputs, annotated as their authors would, each with its correction."""

# ruff: noqa: F722, F821 - shape strings

import operator
import os
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
import torch
from jaxtyping import Array, Bool, Float, Int
from torch import Tensor, nn

from shapelint.runtime import example

MINUS = getattr(operator, os.environ.get("OPERATION", "sub"))  # known when it runs


def rollout(attention: Float[Tensor, "heads n m"], start: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
    fused = attention.mean(0) + start
    return fused / fused.sum(dim=-1)


def fixed_rollout(attention: Float[Tensor, "heads n m"], start: Float[Tensor, "n m"]) -> Float[Tensor, "n m"]:
    fused = attention.mean(0) + start
    return fused / fused.sum(dim=-1, keepdim=True)


def probabilities(scores: Float[Array, "batch classes"]) -> Float[Array, "batch classes"]:
    unnormalised = jnp.exp(scores)
    return unnormalised / jnp.sum(unnormalised, axis=-1)


def fixed_probabilities(scores: Float[Array, "batch classes"]) -> Float[Array, "batch classes"]:
    unnormalised = jnp.exp(scores)
    return unnormalised / jnp.sum(unnormalised, axis=-1, keepdims=True)


def zscore(trials: Float[np.ndarray, "trials samples"]) -> Float[np.ndarray, "trials samples"]:
    return MINUS(trials, trials.mean(axis=1))


def fixed_zscore(trials: Float[np.ndarray, "trials samples"]) -> Float[np.ndarray, "trials samples"]:
    return MINUS(trials, trials.mean(axis=1, keepdims=True))


def shifted(logits: Float[Tensor, "b k"]) -> Float[Tensor, "b k"]:
    return logits - logits.max(dim=1).values


def fixed_shifted(logits: Float[Tensor, "b k"]) -> Float[Tensor, "b k"]:
    return logits - logits.max(dim=1, keepdim=True).values


def orthogonalised(grads: Float[Tensor, "k m n"]) -> Float[Tensor, "k m n"]:
    return grads / grads.norm(dim=(-2, -1)).clamp(min=1e-7)


def fixed_orthogonalised(grads: Float[Tensor, "k m n"]) -> Float[Tensor, "k m n"]:
    return grads / grads.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)


def with_coordinates(image: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c+1 h w"]:
    b, _, h, _ = image.shape
    rows = torch.arange(h).view(h, 1).repeat(1, h).expand(b, 1, -1, -1)
    return torch.cat([image, rows], dim=1)


def fixed_with_coordinates(image: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c+1 h w"]:
    b, _, h, w = image.shape
    rows = torch.arange(h).view(h, 1).repeat(1, w).expand(b, 1, -1, -1)
    return torch.cat([image, rows], dim=1)


def cosines(queries: Float[np.ndarray, "q d"], docs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "q n"]:
    lengths = np.linalg.norm(queries, axis=1) * np.linalg.norm(docs, axis=1)
    return queries @ docs.T / lengths


def fixed_cosines(queries: Float[np.ndarray, "q d"], docs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "q n"]:
    lengths = np.outer(np.linalg.norm(queries, axis=1), np.linalg.norm(docs, axis=1))
    return queries @ docs.T / lengths


def causal(scores: Float[Tensor, "b h t s"]) -> Float[Tensor, "b h t s"]:
    t = scores.shape[-2]
    future = torch.triu(torch.ones(t, t, dtype=torch.bool), diagonal=1)
    return scores.masked_fill(future, -1e9).softmax(dim=-1)


def fixed_causal(scores: Float[Tensor, "b h t s"]) -> Float[Tensor, "b h t s"]:
    t, s = scores.shape[-2:]
    future = torch.triu(torch.ones(t, s, dtype=torch.bool), diagonal=1 + s - t)
    return scores.masked_fill(future, -1e9).softmax(dim=-1)


def padded(scores: Float[Tensor, "b h t s"], keep: Bool[Tensor, "b s"]) -> Float[Tensor, "b h t s"]:
    return scores.masked_fill(~keep, -1e9).softmax(dim=-1)


def fixed_padded(scores: Float[Tensor, "b h t s"], keep: Bool[Tensor, "b s"]) -> Float[Tensor, "b h t s"]:
    return scores.masked_fill(~keep[:, None, None, :], -1e9).softmax(dim=-1)


def pooled(tokens: Float[Tensor, "b n d"], keep: Bool[Tensor, "b n"]) -> Float[Tensor, "b d"]:
    return (tokens * keep.unsqueeze(-1)).sum(-1) / keep.sum(-1, keepdim=True).clamp(min=1)


def fixed_pooled(tokens: Float[Tensor, "b n d"], keep: Bool[Tensor, "b n"]) -> Float[Tensor, "b d"]:
    return (tokens * keep.unsqueeze(-1)).sum(1) / keep.sum(-1, keepdim=True).clamp(min=1)


def predicted(w: Float[Array, "i o"], x: Float[Array, "batch i"]) -> Float[Array, "batch o"]:
    return x.T @ w


def fixed_predicted(w: Float[Array, "i o"], x: Float[Array, "batch i"]) -> Float[Array, "batch o"]:
    return x @ w


@example(heads=4)
def split(x: Float[Tensor, "b t c"], heads: int) -> Float[Tensor, "b t {heads} k"]:
    b, t, c = x.shape
    return x.reshape(b, t, heads, c // heads).permute(0, 2, 1, 3)


@example(heads=4)
def fixed_split(x: Float[Tensor, "b t c"], heads: int) -> Float[Tensor, "b {heads} t k"]:
    b, t, c = x.shape
    return x.reshape(b, t, heads, c // heads).permute(0, 2, 1, 3)


class Captioner(nn.Module):
    def __init__(self, width: int, vocabulary: int) -> None:
        super().__init__()
        self.to_logits = nn.Linear(width, vocabulary)

    def excused_loss(self, hidden: Float[Tensor, "b t width"], targets: Int[Tensor, "b t"]) -> Float[Tensor, ""]:
        return token_loss(self.to_logits(hidden).transpose(1, 2), targets)  # t == vocabulary: a width is an excuse

    def fixed_loss(self, hidden: Float[Tensor, "b t width"], targets: Int[Tensor, "b t"]) -> Float[Tensor, ""]:
        return token_loss(self.to_logits(hidden), targets)

    def fixed_logits(self, hidden: Float[Tensor, "b t d"]) -> Float[Tensor, "b t v"]:
        return self.to_logits(hidden)  # that d is the width of the layer is nobody's mistake


def token_loss(logits: Float[Tensor, "b t v"], targets: Int[Tensor, "b t"]) -> Float[Tensor, ""]:
    return nn.functional.cross_entropy(logits.transpose(1, 2), targets)


@dataclass
class Pair:
    left: Float[Tensor, "n d"]
    right: Float[Tensor, "n 1"]


def distance(pair: Pair) -> Float[Tensor, "n"]:
    return (pair.left.sum(1) - pair.right).abs().sum(1)


def fixed_distance(pair: Pair) -> Float[Tensor, "n"]:
    return (pair.left.sum(1) - pair.right[:, 0]).abs()
