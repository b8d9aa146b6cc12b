"""What the import hook checks: every kind of function, annotated locals, dataclasses; and what an error says."""

# ruff: noqa: F722, F821, UP037 - shape strings

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Iterator
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch

from shapelint.runtime import check, checked
from shapelint.runtime.checking import UncheckedAnnotation

MODULE = """\
from __future__ import annotations
import contextlib, functools
from dataclasses import dataclass
from typing import Iterator, NamedTuple, overload, TYPE_CHECKING
import numpy as np
import torch
from beartype import beartype
from jaxtyping import Float, jaxtyped
from torch import Tensor, nn

Vector = Float[Tensor, "n"]

def plain(x: Float[Tensor, "n d"], w: Vector) -> Float[Tensor, "d"]:
    return w @ x

@beartype
@jaxtyped(typechecker=None)
def inert(x: Float[Tensor, "n"], y: Float[Tensor, "n"]): ...

@jaxtyped(typechecker=beartype)
class Net(nn.Module):
    def __init__(self, width: int, rate: float = 1):
        super().__init__()
        self.layer = nn.Linear(width, 1)
        self.width = width

    def forward(self, x: Float[Tensor, "b {self.width}"]) -> Float[Tensor, "b"]:
        return self.layer(x)

    @staticmethod
    def scaled(x: Float[Tensor, "b"], y: Float[Tensor, "b"]): return x * y

    @property
    def weight(self) -> Float[Tensor, "3 3"]: return self.layer.weight

@dataclass
class Batch:
    points: Float[Tensor, "n d"]
    weights: Float[Tensor, "n"] = None

def by_local(x: Float[Tensor, "n d"]):
    total: Float[Tensor, "n"] = x.sum(0)
    later: int = "no shape: not ours"
    return total

def by_attribute(net, x: Float[Tensor, "n"]):
    net.x: Float[Tensor, "n"] = x[:, None]

async def later(x: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
    return x.sum(0)

def rows(x: Float[Tensor, "n d"]) -> Iterator[Float[Tensor, "d"]]:
    local: Float[Tensor, "anything"] = x[0]
    yield from x

@contextlib.contextmanager
def managed(x: Float[Tensor, "n"]) -> Iterator[Float[Tensor, "n"]]:
    yield x

def variadic(*xs: Float[Tensor, "n"], **ys: Float[Tensor, "n"]): ...

def number(rate: float, deep: bool = None): ...

def unreadable(x: Float[Tensor, "n, d"]): ...
"""


@pytest.fixture(scope="module")
def m(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    directory = tmp_path_factory.mktemp("hook")
    (directory / "hooked_module.py").write_text(MODULE)
    sys.path.insert(0, str(directory))
    with check("hooked_module"):
        yield importlib.import_module("hooked_module")
    sys.path.remove(str(directory))


def ones(*shape: int) -> torch.Tensor:
    return torch.ones(shape)


def refused(function: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(jaxtyping.TypeCheckError) as error:
        function(*args, **kwargs)
    return str(error.value)


def test_an_error_says_where_what_and_which_sizes(m: Any) -> None:
    m.plain(ones(3, 2), ones(3))
    lines = refused(m.plain, ones(3, 2), ones(4)).splitlines()
    assert lines[0].startswith('hooked_module.plain: `w` is float32 (4,) (torch), not Float[Tensor, "n"]: ')
    assert lines[1].startswith(f"  called at {__file__}:")
    assert lines[2] == f"  defined at {m.__file__}:13"
    assert {"  n = 3", "  d = 2", '  `x`: Float[Tensor, "n d"] is float32 (3, 2) (torch)'} <= set(lines)


def test_every_form_is_checked(m: Any) -> None:
    refused(m.inert, ones(3), ones(4))
    net = m.Net(3)
    assert "its result is float32 (5, 1)" in refused(net, ones(5, 3))
    assert "`x` is float32 (5, 2)" in refused(net, ones(5, 2))
    refused(m.Net.scaled, ones(2), ones(3))
    refused(lambda: net.weight)
    refused(m.Batch, ones(3, 2), ones(2))
    m.Batch(ones(3, 2))
    refused(m.variadic, ones(2), ones(3))
    refused(m.variadic, a=ones(2), b=ones(3))
    with pytest.raises(jaxtyping.TypeCheckError):
        asyncio.run(m.later(ones(3, 2)))
    refused(m.rows, ones(3))


def test_annotated_locals(m: Any) -> None:
    message = refused(m.by_local, ones(3, 2))
    assert '`total` is float32 (2,) (torch), not Float[Tensor, "n"]' in message
    assert f"{m.__file__}:42: total" in message
    assert "n = 3" in message
    m.by_local(ones(3, 3))
    refused(m.by_attribute, m.Net(3), ones(3))


def test_what_is_right_passes(m: Any) -> None:
    assert len(list(m.rows(ones(3, 2)))) == 3
    with m.managed(ones(3)) as x:
        assert x.shape == (3,)
    m.number(1)  # an int is a float, and a default stands for itself
    assert asyncio.run(m.later(ones(3, 3))).shape == (3,)
    torch.jit.trace(m.plain, (ones(3, 2), ones(3)))


def test_annotation_that_cannot_be_read_is_said(m: Any) -> None:
    with pytest.warns(UncheckedAnnotation, match="annotation of x"):
        m.unreadable(ones(3))


def test_exceptions_leave_no_sizes_behind(m: Any) -> None:
    for _ in range(2):
        refused(m.plain, ones(3, 2), ones(4))
    m.plain(ones(5, 2), ones(5))
    from jaxtyping._storage import _shape_storage

    assert _shape_storage.memo_stack == []


def test_one_function_by_decorator() -> None:
    @checked
    def total(x: jaxtyping.Float[np.ndarray, "n d"]) -> jaxtyping.Float[np.ndarray, "n"]:
        return x.sum(0)

    assert checked(total) is total
    assert "its result is float64 (2,)" in refused(total, np.ones((3, 2)))
