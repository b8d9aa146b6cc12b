"""scipy's functions of arrays against scipy, on distinct primes."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from shapelint.domain.values import Tensor
from shapelint.ops import infer_call, scientific
from shapelint.ops.jaxnn import DISTRIBUTIONS, METHODS
from shapelint.testing import lift

pytest.importorskip("scipy")


def calls() -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    x, column, row = np.random.default_rng(0).uniform(0.2, 0.8, (5, 7)), np.full((5, 1), 0.5), np.full(7, 0.5)
    for name in scientific.FUNCTIONS:
        yield f"scipy.special.{name}", (x,), {}
    for name in scientific.PAIRS:
        yield f"scipy.special.{name}", (column, row), {}
    for name in scientific.MORPHOLOGY:
        yield f"scipy.ndimage.{name}", (x > 0.5,), {}
        yield f"scipy.ndimage.{name}", (x.astype(np.uint8), np.ones((3, 3))), {}
    for name in ("softmax", "log_softmax", "logsumexp"):
        yield f"scipy.special.{name}", (x,), {"axis": 0}
        yield f"scipy.special.{name}", (x, 1), {}
        yield f"scipy.special.{name}", (x,), {}
    yield "scipy.special.logsumexp", (x,), {"axis": 1, "keepdims": True}
    yield "scipy.special.softmax", (x.astype(np.float32),), {"axis": 1}
    yield "scipy.spatial.distance.cdist", (x, np.ones((11, 7))), {"metric": "cosine"}
    for name in scientific.LIKELIHOODS:
        shapes = (2.0,) * len(DISTRIBUTIONS[name].split(", ")[:-2])
        for method in METHODS:
            yield f"scipy.stats.{name}.{method}", (x, *shapes), {"loc": column, "scale": 2.0}


@pytest.mark.parametrize(("name", "args", "kwargs"), [*calls()])
def test_shape_and_dtype_are_those_of_scipy(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    found = infer_call(name, [lift(arg) for arg in args], {key: lift(value) for key, value in kwargs.items()})
    assert isinstance(found, Tensor)
    home, _, function = name.rpartition(".")
    owner, _, distribution = home.rpartition(".")
    parent = getattr(importlib.import_module(owner), distribution)
    real = getattr(parent, function)(*args, **kwargs)
    assert [size.value for size in found.shape.sizes] == [*real.shape]
    assert (found.dtype, found.library) == (str(real.dtype), "numpy")
