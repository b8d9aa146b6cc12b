"""Comments as shapes: what states one, and what only looks like it."""

from __future__ import annotations

import pytest

from shapelint.annotations.comments import claims

STATED = {
    "# (B, T, C)": ("B", "T", "C"),
    "# [batch, 3, h*w]": ("batch", "3", "h*w"),
    "# B x T x C": ("B", "T", "C"),
    "# NxCxHxW": ("N", "C", "H", "W"),
    "# shape: (n, d)": ("n", "d"),
    "# shape (n,)": ("n",),
    "# torch.Size([2, 3])": ("2", "3"),
    "# (B, T) -> (B, 1, T)": ("B", "1", "T"),
    "# (B, nh, T, hs) x (B, nh, hs, T) -> (B, nh, T, T)": ("B", "nh", "T", "T"),
    "# (..., d)": ("...", "d"),
    "# (N, C, k) with k = 2": ("N", "C", "k"),
    "# (B, T)  # noqa": ("B", "T"),
}
SILENT = [
    "# f(x, y) = mean over T, see (Vaswani, 2017)",
    "# (Kingma, 2014)",
    "# [0, 1]",
    "# (-1, 1)",
    "# (optional)",
    "# [1]",
    "# (B, T) or (B, T, C)",
    "# (B, T, C), (B, T)",
    "# 3 x 3",
    "# [N, L, (H, D)]",
    "# batch size, length, width (n_embd)",
    "# type: ignore[arg-type, misc]",
]


@pytest.mark.parametrize("comment", STATED)
def test_a_shape(comment: str) -> None:
    assert [claim.axes for claim in claims(comment)] == [STATED[comment]]


@pytest.mark.parametrize("comment", SILENT)
def test_no_shape(comment: str) -> None:
    assert claims(comment) == ()


def test_names_say_of_what() -> None:
    stated = claims("# y: (B, T, H), state: (1, B, H)")
    assert [(claim.name, claim.axes) for claim in stated] == [("y", ("B", "T", "H")), ("state", ("1", "B", "H"))]
    assert [claim.name for claim in claims("# scores: (B, N)")] == ["scores"]
    assert [claim.name for claim in claims("# shape: (B, N)")] == [""]
