"""SHP501: what the message proposes computes what the author computed, and the bytes are those of the array."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.spatial
import torch

from shapelint.config import Config
from shapelint.linter import lint_text

ONLY = Config(select=("SHP501",))


def message(expression: str) -> str:
    text = f"import numpy as np\nimport torch\n\n\ndef f(x, y):\n    return {expression}\n"
    (finding,) = lint_text(text, "story.py", ONLY).findings
    return finding.message


@pytest.mark.parametrize(
    "expression",
    [
        "(x.unsqueeze(1) - y.unsqueeze(0)).pow(2).sum(-1)",
        "torch.norm(x[:, None, :] - y[None, :, :], dim=-1)",
        "(x[:, None, :] - y[None, :, :]).abs().sum(dim=2)",
        "((x.unsqueeze(-2) - y.unsqueeze(-3)) ** 2).mean(-1)",
        "torch.square(x[:, None] - y[None]).sum(dim=-1)",
        "(y.unsqueeze(0) - x.unsqueeze(1)).pow(2).sum(2)",
        "(x.unsqueeze(0) - y.unsqueeze(1)).pow(2).sum(2)",
        "torch.sum((y[None].unsqueeze(1) - x[None].unsqueeze(2)) ** 2, dim=-1)",
        "torch.sum((y[..., None, :] - y[..., None, :, :]) ** 2, dim=-1)",
        "np.linalg.norm(x[:, None, :] - y[None, :, :], axis=-1)",
        "np.linalg.norm(x[None, :, :] - y[:, None, :], axis=-1)",
        "np.abs(x[:, None, :] - y[None, :, :]).sum(axis=-1)",
        "np.sum(np.square(np.expand_dims(x, 1) - np.expand_dims(y, 0)), axis=-1)",
    ],
)
def test_the_proposal_computes_the_same(expression: str) -> None:
    found = re.search(r"`((?:torch|scipy)\.[^`]*)` gives the same", message(expression))
    assert found is not None
    draw = np.random.default_rng(0)
    x, y = draw.standard_normal((4, 3)), draw.standard_normal((5, 3))
    scope = {"x": x, "y": y, "np": np, "torch": torch, "scipy": scipy}
    if "np." not in expression:
        scope |= {"x": torch.from_numpy(x), "y": torch.from_numpy(y)}
    np.testing.assert_allclose(eval(found[1], scope), eval(expression, scope))


@pytest.mark.parametrize(
    ("expression", "proposal"),
    [
        ("(x[:, :, None, :, None, :] - x[:, None, :, :, None, :]).pow(2).sum(-1)", "once the two axes that meet"),
        ("(x[..., None, :, :] - x[..., None, :, :, :]).pow(2).sum(-1)", "once the two axes that meet"),
        ("((x[:, None, :] - y[None, :, :]) ** 2 / 3.0).sum(-1)", "`torch.cdist(x, y) ** 2` gives the same"),
        ("((x[:, None, :] - y[None, :, :]) ** 2 / 3.0).sum(-1)", "but for the factor"),
        ("np.linalg.norm(x[:, :, None, :] - y[:, None, :, :], axis=-1)", "|x|^2 + |y|^2 - 2 x @ y.T"),
    ],
)
def test_what_is_proposed_where_no_call_gives_the_same(expression: str, proposal: str) -> None:
    assert proposal in message(expression)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_bytes(dtype: str) -> None:
    text = (
        f"import torch\n\nx = torch.randn(1024, 64, dtype=torch.{dtype})\n"
        "table = (x[:, None] - x[None]).pow(2).sum(-1)\n"
    )
    (finding,) = lint_text(text, "story.py", ONLY).findings
    width = torch.tensor(0, dtype=getattr(torch, dtype)).element_size()
    assert f"(1024, 1024, 64) ({dtype}, {64 * width} MiB)" in finding.message
    assert f"(1024, 1024) ({dtype}, {width} MiB)" in finding.message
