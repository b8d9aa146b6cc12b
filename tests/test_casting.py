"""Dtypes flow through casts of modules, autocast regions and attributes; autocast's lists are torch's."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import libcst
import pytest
import torch
import torch.nn.functional as F

from shapelint.domain.values import Float, Int, Tensor, Value
from shapelint.events import Operation
from shapelint.interpreter import interpret
from shapelint.ops.autocast import Autocast, adapted

PRELUDE = """
import numpy as np
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim, dim)
        self.gain = nn.Parameter(torch.ones(dim))
        self.register_buffer("mean", torch.zeros(dim))
        self.plain = torch.zeros(dim)

    def forward(self, x):
        return self.layer(x)
"""


def dtypes(body: str) -> list[str | None]:
    """The dtypes of what `mark` is called on (as torch.abs), in order."""
    module = libcst.parse_module(PRELUDE + body)
    events = interpret(module, "case.py")
    found = [e for e in events if isinstance(e, Operation) and e.callee.endswith("abs")]
    return [getattr(e.arguments["x"], "dtype", None) for e in found]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y = Net(3).half()(torch.rand(2, 3).half()).abs()", "float16"),
        ("net = Net(3)\nnet.half()\ny = net.gain.abs()", "float16"),
        ("net = Net(3).to(torch.bfloat16)\ny = net.mean.abs()", "bfloat16"),
        ("net = Net(3).half()\ny = net.plain.abs()", "float32"),
        ("net = Net(3).half().float()\ny = net.gain.abs()", "float32"),
        ("net = Net(3).to('cuda')\ny = net.gain.abs()", "float32"),
        ("net = Net(3).to('cuda', torch.float16)\ny = net.layer.weight.abs()", "float16"),
        ("net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())\nnet.half()\ny = net(x).abs()", "float16"),
        ("net = Net(3)\nif flag:\n    net.half()\ny = net.layer.weight.abs()", None),
        ("def f(x):\n    return x.half().abs()", "float16"),
        ("torch.set_default_dtype(torch.float64)\ny = torch.randn(3).abs()", "float64"),
        ("torch.set_default_dtype(torch.float64)\ny = torch.ones(3, dtype=torch.float32).abs()", "float32"),
        ("torch.set_default_dtype(torch.float64)\ny = torch.ones_like(x.half()).abs()", "float16"),
        ("torch.set_default_dtype(torch.float64)\ny = torch.tensor([1, 2]).abs()", "int64"),
        ("y = torch.tensor(1 << 40).abs()", "int64"),
        ("y = torch.tensor(2 ** -1).abs()", "float32"),
        ("def f(n: int):\n    return torch.arange(n & 7).abs()", "int64"),
        ("def f(n: int):\n    return torch.arange(2 ** n).abs()", None),
        ("torch.set_default_dtype(wanted)\ny = torch.zeros(3).abs()", None),
        ("def f(x):\n    return (x.half() * 2).abs()", "float16"),
        ("def f(x):\n    return (x.half() + x.bfloat16()).abs()", None),
        ("def f(x, y):\n    return x.type_as(y.half()).abs()", "float16"),
        ("def f(x, y):\n    y = y.half()\n    return x.to(y.dtype).abs()", "float16"),
        ("def f(x, device: torch.device):\n    return x.half().to(device).abs()", "float16"),
        ("def f(x, other):\n    return x.half().to(other).abs()", None),
        ("def f(x):\n    return x.half().view(torch.int16).abs()", "int16"),
        ("def f(model):\n    model.half()\n    for p in model.parameters():\n        p.abs()", "float16"),
        ("def f(model):\n    for p in model.bfloat16().parameters():\n        p.abs()", "bfloat16"),
        ("def f(model):\n    for n, p in model.half().named_parameters():\n        p.abs()", "float16"),
        ("def f(model):\n    for p in model.parameters():\n        p.abs()", None),
    ],
)
def test_casts(body: str, expected: str | None) -> None:
    found = dtypes(body)
    assert set(found) <= {expected}
    assert found or expected is None


REGION = "def f(layer: nn.Linear, x):\n    with {}:\n        y = {}\n    return y.abs()"


@pytest.mark.parametrize(
    ("region", "expression", "expected"),
    [
        ("torch.autocast('cuda')", "layer(x)", "float16"),
        ("torch.autocast('cpu')", "layer(x)", "bfloat16"),
        ("torch.cuda.amp.autocast()", "x @ x", "float16"),
        ("torch.autocast('cuda', dtype=torch.bfloat16)", "x @ x", "bfloat16"),
        ("torch.amp.autocast(device_type='cuda', dtype=torch.float16)", "(x @ x).softmax(-1)", "float32"),
        ("torch.autocast('cpu', dtype=torch.float16)", "(x @ x).softmax(-1)", "float16"),
        ("torch.autocast('cuda', enabled=False)", "x.float() @ x.float()", "float32"),
        ("torch.autocast('cuda', dtype=unknown)", "x @ x", None),
        ("torch.autocast(unknown, torch.float16)", "(x @ x).softmax(-1)", None),
        ("torch.autocast(unknown, torch.float16)", "x @ x", "float16"),
        ("torch.autocast('cuda')", "x.double() @ x.double()", "float64"),
        ("torch.autocast('cuda')", "(x @ x).softmax(-1, dtype=torch.float64)", "float64"),
    ],
)
def test_regions(region: str, expression: str, expected: str | None) -> None:
    assert set(dtypes(REGION.format(region, expression))) == {expected}


def test_a_region_ends() -> None:
    body = "def f(x):\n    with torch.autocast('cuda'):\n        pass\n    return (x.float() @ x.float()).abs()"
    assert dtypes(body) == ["float32"]


def test_one_function_casts_for_itself() -> None:
    body = "net = Net(3)\ndef f():\n    net.half()\ndef g():\n    return net.gain.abs()"
    assert dtypes(body) == ["float32"]


def test_attributes_that_methods_change_keep_a_narrow_dtype() -> None:
    body = """
class Average:
    def __init__(self, x):
        self.value = x.astype(np.float16)
        self.wide = x.astype(np.float32)

    def update(self, x):
        self.value = np.abs(self.value)
        self.wide = np.abs(self.wide)
"""
    assert dtypes(body) == ["float16", None]


SQUARE = torch.rand(4, 4) + 0.5
LABELS = torch.tensor([0, 1, 2, 3])
CPU: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "matmul": lambda x: x @ x,
    "bmm": lambda x: torch.bmm(x[None], x[None]),
    "addmm": lambda x: torch.addmm(x, x, x),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "linear": lambda x: F.linear(x, x),
    "conv": lambda x: F.conv1d(x[None], x[None]),
    "tensordot": lambda x: torch.tensordot(x, x, 1),
    "mv": lambda x: torch.mv(x, x[0]),
    "outer": lambda x: torch.outer(x[0], x[0]),
    "softmax": lambda x: x.softmax(-1),
    "log": torch.log,
    "sum": torch.sum,
    "pow": lambda x: x**2,
    "norm": lambda x: x.norm(),
    "normalize": F.normalize,
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "prod": torch.prod,
    "cdist": lambda x: torch.cdist(x, x),
    "mse_loss": lambda x: F.mse_loss(x, x),
    "l1_loss": lambda x: F.l1_loss(x, x),
    "cross_entropy": lambda x: F.cross_entropy(x, LABELS),
    "binary_cross_entropy_with_logits": lambda x: F.binary_cross_entropy_with_logits(x, x),
}


@pytest.mark.parametrize("name", CPU)
@pytest.mark.parametrize("start", [torch.float32, torch.bfloat16])
def test_autocast_on_the_cpu(name: str, start: torch.dtype) -> None:
    x = SQUARE.to(start)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        measured = str(CPU[name](x).dtype).removeprefix("torch.")
    before = Tensor(dtype=str(start).removeprefix("torch."), library="torch")
    after = adapted(Autocast("cpu", "bfloat16"), name, (before,), before)
    assert isinstance(after, Tensor)
    assert after.dtype == measured


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("field", ["min", "max", "eps", "tiny"])
def test_finfo(name: str, field: str) -> None:
    module = libcst.parse_module(f"import torch\nvalue = torch.finfo(torch.{name}).{field}\ntorch.abs(value)\n")
    events = interpret(module, "case.py")
    (mark,) = [e for e in events if isinstance(e, Operation) and e.name == "abs"]
    assert mark.arguments["x"] == Float(getattr(torch.finfo(getattr(torch, name)), field))


@pytest.mark.parametrize("library", ["torch", "numpy", "jax.numpy"])
@pytest.mark.parametrize("name", ["uint8", "int16", "int32"])
@pytest.mark.parametrize("field", ["min", "max"])
def test_iinfo(library: str, name: str, field: str) -> None:
    real = importlib.import_module(library)
    text = f"import torch\nimport {library} as lib\ntorch.abs(lib.iinfo(lib.{name}).{field})\n"
    (mark,) = [e for e in interpret(libcst.parse_module(text), "case.py") if isinstance(e, Operation)][-1:]
    value = mark.arguments["x"]
    assert isinstance(value, Int)
    assert value.dim.value == getattr(real.iinfo(getattr(real, name)), field)


@pytest.mark.parametrize("library", ["numpy", "jax.numpy"])
@pytest.mark.parametrize("name", ["float16", "float32"])
@pytest.mark.parametrize("field", ["min", "max", "eps", "tiny"])
def test_finfo_of_arrays(library: str, name: str, field: str) -> None:
    real = importlib.import_module(library)
    text = f"import torch\nimport {library} as lib\ntorch.abs(lib.finfo(lib.{name}).{field})\n"
    (mark,) = [e for e in interpret(libcst.parse_module(text), "case.py") if isinstance(e, Operation)][-1:]
    value, number = mark.arguments["x"], getattr(real.finfo(getattr(real, name)), field)
    assert isinstance(value, Tensor)
    assert (value.dtype, value.shape.rank) == (str(number.dtype), number.ndim)


def test_finfo_of_a_dtype_that_is_not_known() -> None:
    module = libcst.parse_module("import torch\ndef f(x):\n    return torch.abs(torch.finfo(x.dtype).min)\n")
    (mark,) = [e for e in interpret(module, "case.py") if isinstance(e, Operation) and e.name == "abs"]
    assert mark.arguments["x"] == Float()


def test_defaults_of_floats() -> None:
    body = "import torch\ndef f(x, eps=1e-6, n: float = 2.0):\n    return torch.clamp(x, -eps, 1 - eps), x * n\n"
    clamp, mul = (e for e in interpret(libcst.parse_module(body), "case.py") if isinstance(e, Operation))
    bounds: list[Value] = [clamp.arguments["min"], clamp.arguments["max"], mul.arguments["y"]]
    assert [(b.value, b.default) for b in bounds if isinstance(b, Float)] == [
        (None, -1e-6),
        (None, 1 - 1e-6),
        (None, 2.0),
    ]
