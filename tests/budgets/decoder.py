"""A decoder of the GPT-2 kind, for the memory budget: tied embeddings, learned positions, attention written out."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F


@dataclass
class Sizes:
    context: int = 1024
    vocab: int = 50257
    layers: int = 12
    heads: int = 12
    width: int = 768


class SelfAttention(nn.Module):
    def __init__(self, sizes: Sizes):
        super().__init__()
        self.heads = sizes.heads
        self.qkv = nn.Linear(sizes.width, 3 * sizes.width)
        self.out = nn.Linear(sizes.width, sizes.width)
        self.register_buffer("past", torch.tril(torch.ones(sizes.context, sizes.context)).view(1, 1, sizes.context, -1))

    def forward(self, x):
        batch, time, width = x.shape
        q, k, v = self.qkv(x).split(width, dim=2)
        q = q.view(batch, time, self.heads, width // self.heads).transpose(1, 2)
        k = k.view(batch, time, self.heads, width // self.heads).transpose(1, 2)
        v = v.view(batch, time, self.heads, width // self.heads).transpose(1, 2)
        scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.past[:, :, :time, :time] == 0, float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.out(y.transpose(1, 2).contiguous().view(batch, time, width))


class FeedForward(nn.Module):
    def __init__(self, sizes: Sizes):
        super().__init__()
        self.up = nn.Linear(sizes.width, 4 * sizes.width)
        self.act = nn.GELU()
        self.down = nn.Linear(4 * sizes.width, sizes.width)

    def forward(self, x):
        return self.down(self.act(self.up(x)))


class Block(nn.Module):
    def __init__(self, sizes: Sizes):
        super().__init__()
        self.before_attention = nn.LayerNorm(sizes.width)
        self.attention = SelfAttention(sizes)
        self.before_feed = nn.LayerNorm(sizes.width)
        self.feed = FeedForward(sizes)

    def forward(self, x):
        x = x + self.attention(self.before_attention(x))
        return x + self.feed(self.before_feed(x))


class Decoder(nn.Module):
    def __init__(self, sizes: Sizes):
        super().__init__()
        self.body = nn.ModuleDict(
            {
                "tokens": nn.Embedding(sizes.vocab, sizes.width),
                "places": nn.Embedding(sizes.context, sizes.width),
                "blocks": nn.ModuleList([Block(sizes) for _ in range(sizes.layers)]),
                "last": nn.LayerNorm(sizes.width),
            }
        )
        self.head = nn.Linear(sizes.width, sizes.vocab, bias=False)
        self.body.tokens.weight = self.head.weight

    def forward(self, tokens, targets=None):
        _, time = tokens.size()
        places = torch.arange(0, time, dtype=torch.long, device=tokens.device)
        x = self.body.tokens(tokens) + self.body.places(places)
        for block in self.body.blocks:
            x = block(x)
        logits = self.head(self.body.last(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
