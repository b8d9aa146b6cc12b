"""What CONTRIBUTING.md shows as a rule and as an op is a rule and an op."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from shapelint.config import Config
from shapelint.domain.values import Shape, Value
from shapelint.events import Kind
from shapelint.linter import lint_text
from shapelint.ops.op import Op, ShapeError, tensor
from shapelint.ops.selecting import torch_trace
from shapelint.rule import rule_of
from shapelint.testing import lift

ROOT = Path(__file__).parent.parent
RULE, OP = re.findall(r"^```python\n(.*?)^```", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)


def test_the_rule_reports_its_bad_and_not_its_good(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("rules.shp299_single_softmax")
    exec(RULE, module.__dict__)
    rule = rule_of(module)
    assert rule is not None
    assert (rule.code, rule.name) == ("SHP299", "single-softmax")
    monkeypatch.setattr("shapelint.config.discover", lambda: (rule,))
    bad, good = rule.example("Bad"), rule.example("Good")
    (found,) = lint_text(bad, "bad.py", Config()).findings
    assert "# expect: SHP299" in bad.splitlines()[found.start.row - 1]
    assert not lint_text(good, "good.py", Config()).findings


def test_the_op_infers_as_the_row_that_there_is() -> None:
    names: dict[str, Any] = {
        "Value": Value,
        "Shape": Shape,
        "Op": Op,
        "Kind": Kind,
        "ShapeError": ShapeError,
        "tensor": tensor,
    }
    exec(OP, names)
    square = lift(torch.zeros(5, 5))
    assert names["trace"](square) == torch_trace(square)
