"""What programs do that a plugin could disturb: compiled functions, workers, transforms, threads."""

# ruff: noqa: F722, F821 - shape strings

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jaxtyping import Array, Float
from torch import Tensor, nn


@torch.compile(backend="eager", fullgraph=True)
def compiled(x: Float[Tensor, "n d"], y: Float[Tensor, "n 1"]) -> Float[Tensor, "n d"]:
    scaled: Float[Tensor, "n d"] = x * y
    return scaled - scaled.mean(dim=1, keepdim=True)


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
        return self.layer(x).squeeze(-1)


class Rows(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Float[Tensor, "3"]:
        row: Float[Tensor, 3] = torch.full((3,), float(index))
        return row


def squared(x: Float[Tensor, "d"], w: Float[Tensor, "d"]) -> Float[Tensor, ""]:
    return ((x - w) ** 2).sum()


def jax_loss(w: Float[Array, "d"], x: Float[Array, "n d"]) -> Float[Array, ""]:
    return ((x @ w) ** 2).mean()


step = jax.jit(jax.value_and_grad(jax_loss))
batched = jax.vmap(lambda w: jax_loss(w, jnp.ones((4, 3))))


def centred(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    return x - x.mean(0)
