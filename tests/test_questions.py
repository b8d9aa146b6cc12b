"""Questions about arrays, and Python's numbers, held against the real libraries and interpreters."""

from __future__ import annotations

import jax.numpy as jnp
import libcst as cst
import numpy as np
import pytest
import torch
from oracle import instrumented

from shapelint.domain.values import EITHER, NONE, Int, Run, Shape, Tensor, shape_of
from shapelint.inspection.bindings import bindings
from shapelint.ops import questions
from shapelint.testing import concrete, lift

ARRAYS = (
    *(torch.zeros(3, 5, dtype=d) for d in (torch.float16, torch.bfloat16, torch.int64, torch.bool, torch.complex64)),
    *(torch.zeros(()), torch.zeros(1), torch.zeros(2, 3, 5)),
)


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{tuple(a.shape)}")
@pytest.mark.parametrize("name", questions.METHODS)
def test_a_method_answers_as_torch_does(array: torch.Tensor, name: str) -> None:
    if name == "is_coalesced":
        pytest.skip("of sparse tensors alone")
    real, inferred = getattr(array, name)(), questions.of_method(lift(array), name)
    assert inferred == EITHER or type(concrete(inferred)) is type(real) or isinstance(inferred, Int)
    if name in {"dim", "ndimension", "numel", "nelement", "is_floating_point", "is_complex"}:
        assert concrete(inferred) == real


@pytest.mark.parametrize(
    ("name", "function"),
    [("numpy.ndim", np.ndim), ("jax.numpy.ndim", jnp.ndim), ("torch.is_tensor", torch.is_tensor)],
)
@pytest.mark.parametrize("value", [torch.zeros(3, 5), np.zeros((2, 3)), jnp.zeros(4), 3, 2.5], ids=str)
def test_a_function_answers_as_the_library_does(name: str, function: object, value: object) -> None:
    if isinstance(value, torch.Tensor) and name == "jax.numpy.ndim":
        pytest.skip("jax takes no tensors")
    assert concrete(questions.of_function(name, (lift(value),))) == function(value)


def test_what_hangs_on_a_rank_that_is_not_known() -> None:
    x = Tensor(Shape((), Run("", "x")))
    rank = questions.of_method(x, "dim")
    assert rank == questions.of_method(x, "ndimension") != questions.of_method(Tensor(Shape((), Run())), "dim")
    assert questions.of_method(x, "is_floating_point") == EITHER
    assert questions.of_method(Tensor(Shape(), None, "numpy"), "dim") is None
    assert questions.of_function("numpy.testing.assert_allclose", (x, x)) == NONE


NUMBERS = """
import math
import torch

def f(n, x, scale=0.5):
    a = x / x.numel()
    b = x * -(math.log(10000.0) / (n // 2))
    c = x * max(1.0, 2) + x * max(n, 0.5) + x * min(scale, n)
    d = x / int(x.sum() + 3) + abs(n) + round(scale, 1)
    e = x ** max(3, n)
    g = x * torch.equal(a, b)
    h = torch.zeros(max(n, 3), round(2.5), math.floor(scale * 8))
    k = math.sqrt(16) + math.exp(0)
    return h.view(-1) * math.prod((2, 3))

first = f(4, torch.ones(2, 3))
second = f(6, torch.ones(5))
"""


def test_numbers_are_what_python_makes_of_them() -> None:
    made = instrumented(NUMBERS, "numbers.py")
    made.run()
    assert made.contradictions() == []
    assert made.compared() > 20


def test_a_number_leaves_the_shape_as_it_is() -> None:
    found = {b.name: b.values for b in bindings(cst.parse_module(NUMBERS), "numbers.py")}
    for name in "abcdeg":
        assert {value.shape.sizes for value in found[name]} >= {shape_of(2, 3).sizes, shape_of(5).sizes}
    assert {value.shape.rank for value in found["h"]} == {3}
