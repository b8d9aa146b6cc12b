"""Small modules for the memory budget: each exercises some operations, and runs."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Perceptron(nn.Module):
    def __init__(self, inputs, hidden, classes):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.Tanh())
        self.out = nn.Linear(hidden, classes, bias=False)

    def forward(self, x):
        return F.log_softmax(self.out(self.net(x)), dim=-1)


class Gated(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gate = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(width))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        y = F.silu(self.gate(x)) * self.value(x)
        return self.norm(x + y * self.scale) / 2.0


class Normed(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, 2 * width)
        self.norm = nn.BatchNorm1d(2 * width)
        self.second = nn.Linear(2 * width, 1)

    def forward(self, x):
        y = torch.sigmoid(self.norm(self.first(x)))
        return self.second(y).squeeze(-1).pow(2).mean()


class Picture(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.first = nn.Conv2d(channels, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 16, kernel_size=(3, 5), stride=2, groups=2)
        self.pool = nn.MaxPool2d(2)
        self.mean = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        x = self.pool(F.relu(self.norm(self.first(x))))
        x = F.gelu(self.second(x))
        return self.head(self.mean(x).flatten(1))


class Upscaler(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.GroupNorm(2, channels)
        self.up = nn.ConvTranspose2d(channels, 6, 4, stride=2, padding=1)
        self.slope = nn.PReLU()
        self.out = nn.Conv2d(6, 3, 1)

    def forward(self, x):
        return torch.tanh(self.out(F.leaky_relu(self.up(self.norm(x)), 0.2)))


class Heads(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class Scores(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)

    def forward(self, x):
        scores = torch.einsum("bqd,bkd->bqk", self.query(x), self.key(x))
        return torch.bmm(scores.softmax(dim=-1), x).sum(dim=1)


class Dropped(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lift = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)
        self.off = nn.Dropout(0.0)

    def forward(self, x):
        return self.off(self.drop(self.lift(x))).exp().max(dim=1).values


class Shared(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.step = nn.Linear(width, width)
        self.again = self.step

    def forward(self, x):
        for _ in range(3):
            x = torch.relu(self.again(self.step(x)))
        return x


class Square(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.lift = nn.Linear(n, n, bias=False)

    def forward(self, x):
        return self.lift(x)


class Recurrent(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.rnn = nn.LSTM(width, 2 * width - 4, batch_first=True)

    def forward(self, x):
        out, _ = self.rnn(x)
        return out[:, -1]


class Stacked(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True)
        self.plain = nn.TransformerEncoderLayer(width, 4, bias=False, batch_first=True)
        self.decoder = nn.TransformerDecoderLayer(width, 4, batch_first=True)

    def forward(self, x):
        return self.decoder(self.plain(self.encoder(x)), x)


class Encoded(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 4, 3 * width, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3, nn.LayerNorm(width), enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(width, 2, width, batch_first=True), 2)

    def forward(self, x, y):
        return self.decoder(y, self.encoder(x))


class Translated(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.transformer = nn.Transformer(width, 4, 2, 1, 2 * width)

    def forward(self, x, y):
        return self.transformer(x, y)


class Attending(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)

    def forward(self, x, y):
        return self.attention(x, y, y)[0]


class Unknown(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.LazyLinear(width)

    def forward(self, x):
        return self.second(self.first(x))
