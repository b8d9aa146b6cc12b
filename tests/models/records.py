"""Parameters kept in named tuples and dataclasses, also nested and quoted; attributes that methods set and change."""

import math
from dataclasses import dataclass, field
from typing import NamedTuple, Optional

import torch
from jaxtyping import Float
from torch import Tensor


class Initial(NamedTuple):
    probs: Float[Tensor, "k"]


class Chain(NamedTuple):
    initial: Initial
    transitions: Float[Tensor, "k k"]
    bias: Optional[Tensor] = None


@dataclass
class Node:
    x: Float[Tensor, "n d"]
    following: Optional["Node"] = None
    width: int = 3
    rows: list[Float[Tensor, "m"]] = field(default_factory=list)

    def total(self) -> Tensor:
        summed = self.x.sum(0)
        return summed


def forward(chain: Chain, steps: int) -> Tensor:
    state = chain.initial.probs
    for _ in range(steps):
        state = state @ chain.transitions
    initial, _, bias = chain
    both = torch.stack([initial.probs, state])
    if bias is not None:
        both = both + bias
    return both


def differences(node: Node, other: Node) -> Tensor:
    mine, theirs = node.total(), other.total()
    deepest = node.following.x if node.following is not None else node.x
    rows = torch.stack(other.rows) if other.rows else torch.zeros(1, other.width)
    scaled = deepest / deepest.numel() * math.log(2.0)
    return scaled.sum() + rows.mean() + (mine.max() - theirs.max())


def main() -> None:
    chain = Chain(Initial(torch.full((4,), 0.25)), torch.eye(4))
    forward(chain, 3)
    forward(chain._replace(bias=torch.zeros(4)), 2)
    node = Node(torch.randn(5, 3))
    other = Node(torch.randn(2, 3), node, 6, [torch.zeros(7), torch.ones(7)])
    differences(node, other)
    differences(other, node)


if __name__ == "__main__":
    main()
