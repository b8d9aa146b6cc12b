"""Every number that rules on precision quote is what numpy and torch compute."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from shapelint.analysis.precision.dtypes import EPSILONS, spelled
from shapelint.domain.formats import BFLOAT16, FLOAT16, FORMATS, INTEGERS, Format

FIXED = settings(derandomize=True, max_examples=200, deadline=None)
DTYPES = {name: getattr(torch, name) for name in FORMATS}
each_format = pytest.mark.parametrize("format", FORMATS.values(), ids=list(FORMATS))


@each_format
def test_limits(format: Format) -> None:
    info = torch.finfo(DTYPES[format.name])
    assert (format.largest, format.spacing, format.normal) == (info.max, info.eps, info.tiny)
    assert format.smallest == float(torch.nextafter(*torch.tensor([0.0, 1.0], dtype=DTYPES[format.name])).double())


@each_format
def test_first_integer_that_is_missing(format: Format) -> None:
    exact = torch.tensor([format.exact, format.exact + 1], dtype=torch.int64).to(DTYPES[format.name])
    assert exact.to(torch.int64).tolist() == [format.exact, format.exact]


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name: str) -> None:
    info = np.iinfo(name)
    assert INTEGERS[name] == (info.min, info.max)


@given(st.floats(width=64, allow_nan=False))
@FIXED
def test_rounding_to_float16(value: float) -> None:
    with np.errstate(over="ignore"):
        assert FLOAT16.stored(value) == float(np.float64(value).astype(np.float16))


@given(st.floats(width=32, allow_nan=False))
@FIXED
def test_rounding_to_bfloat16(value: float) -> None:
    assert BFLOAT16.stored(value) == float(torch.tensor(value, dtype=torch.float32).to(torch.bfloat16))


@pytest.mark.parametrize(
    ("number", "text"),
    [(65504.0, "65,504"), (5.9604645e-08, "5.96e-8"), (1e-8, "1e-8"), (0.000244140625, "0.000244"), (1e-4, "0.0001")],
)
def test_spelling(number: float, text: str) -> None:
    assert spelled(number) == text


# SHP402


HALF = torch.ones(4, dtype=torch.half)
KEEP = torch.tensor([True, False, True, False])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.masked_fill(KEEP, 65505.0),
        lambda x: x.clone().fill_(-1e9),
        lambda x: torch.full((2,), 1e9, dtype=x.dtype),
        lambda x: torch.full_like(x, 1e9),
        lambda x: x.new_full((2,), 1e9),
        lambda x: x.clamp(min=-1e9),
        lambda x: F.pad(x, (1, 1), value=-1e9),
        lambda x: x.index_fill(0, torch.tensor([0]), 1e9),
    ],
)
def test_what_raises(call: object) -> None:
    with pytest.raises(RuntimeError, match="without overflow"):
        call(HALF)  # type: ignore[operator]


@pytest.mark.parametrize(
    "result",
    [
        torch.where(KEEP, HALF, -1e9),
        torch.where(KEEP, HALF, torch.tensor(-1e9)),
        HALF - 1e9,
        torch.tensor([65520.0], dtype=torch.half),
        torch.tensor([1e9]).half(),
        (1 - KEEP.half()) * -1e9,
        HALF.clone().index_put((KEEP,), torch.tensor(1e9).half()),
        torch.maximum(HALF, torch.tensor(1e9)),
        HALF * 1e9,
    ],
)
def test_what_is_silently_infinite(result: torch.Tensor) -> None:
    assert result.dtype is torch.half
    assert result.isinf().any()


def test_numpy_clips_without_a_word() -> None:
    assert np.isfinite(np.clip(np.ones(2, np.float16), -1e9, 1e9)).all()


def test_squares() -> None:
    assert torch.tensor(255.9, dtype=torch.half).square().isfinite()
    assert torch.tensor(256.0, dtype=torch.half).square().isinf()
    assert torch.full((4,), 300.0).half().pow(2).mean().isinf()


# SHP403


def test_epsilons_that_are_zero() -> None:
    zero = torch.zeros(4, dtype=torch.half)
    assert FLOAT16.stored(2.98e-8) == 0 < FLOAT16.stored(2.99e-8)
    for result in (zero + 1e-8, zero.clamp(min=1e-8), torch.where(zero == 0, 1e-8, zero), zero.clamp_min(1e-10)):
        assert not result.any()
    assert F.normalize(zero, dim=0).isnan().all()
    assert F.cosine_similarity(zero, zero, dim=0).isnan()
    assert F.layer_norm(zero, (4,), eps=1e-12).isfinite().all()
    assert (zero + 1e-4).all()


@pytest.mark.parametrize(("format", "eps"), [(FLOAT16, 1e-6), (BFLOAT16, 1e-6), (BFLOAT16, 1e-3)])
def test_one_minus_epsilon_is_one(format: Format, eps: float) -> None:
    assert format.stored(1 - eps) == 1
    assert torch.ones(1, dtype=DTYPES[format.name]).clamp(max=1 - eps).item() == 1
    assert format.stored(1 - 2 * format.spacing) < 1


@pytest.mark.parametrize("name", [name for name in EPSILONS if name != "SparseAdam"])
def test_default_eps_of_optimizers(name: str) -> None:
    optimizer = getattr(torch.optim, name)([torch.zeros(1, requires_grad=True)])
    assert optimizer.defaults["eps"] == EPSILONS[name]


def test_adam_on_half_divides_zero_by_zero() -> None:
    weight = torch.ones(3, dtype=torch.half, requires_grad=True)
    weight.grad = torch.zeros_like(weight)
    torch.optim.Adam([weight], lr=1e-3).step()
    assert weight.isnan().all()


# SHP404


@pytest.mark.parametrize("format", [FLOAT16, BFLOAT16], ids=lambda f: f.name)
def test_lost_updates(format: Format) -> None:
    assert format.stored(1 + format.spacing / 2) == 1 < format.stored(1 + 0.51 * format.spacing)
    assert format.stored(1 - format.spacing / 4) == 1 > format.stored(1 - 0.26 * format.spacing)


def test_a_thousand_steps_change_nothing() -> None:
    weight = torch.ones(1, dtype=torch.half, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1e-4)
    for _ in range(1000):
        weight.grad = torch.ones_like(weight)
        optimizer.step()
    assert weight.item() == 1


# SHP406


def test_numpy_sums() -> None:
    ones = np.ones((5000, 3), np.float16)
    large = np.full((5000, 3), 300, np.float16)
    assert ones.sum(axis=0).tolist() == [2048.0] * 3
    assert np.cumsum(ones[:, 0])[-1] == 2048
    assert np.nansum(ones, axis=0)[0] == np.einsum("nd->d", ones)[0] == 2048
    assert np.average(ones, axis=0, weights=ones[:, 0])[0] < 0.5
    assert ones.mean(axis=0)[0] == np.median(ones) == 1
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spread = np.tile(np.array([0, 1000], np.float16), 500)
        assert np.isinf([np.linalg.norm(large), np.std(spread), np.var(spread), np.nanstd(spread)]).all()
        assert np.isinf(np.ones(70_000, np.float16).sum())


def test_torch_sums() -> None:
    assert torch.ones(70_000).half().sum().isinf()
    assert torch.ones(2049).half().sum().item() == 2048
    assert torch.ones(70_000).half().mean().item() == 1
    assert sum(torch.ones(5000).half()) == 2048
    assert sum(torch.ones(1000).bfloat16()) == 256


def test_positions() -> None:
    for format in (FLOAT16, BFLOAT16):
        positions = torch.arange(format.exact + 2, dtype=DTYPES[format.name])
        assert len(set(positions[: format.exact + 1].tolist())) == format.exact + 1
        assert len(set(positions.tolist())) < format.exact + 2


def test_bytes_wrap() -> None:
    for array in (torch.tensor([10, 20, 129, 255], dtype=torch.uint8), np.array([10, 20, 129, 255], np.uint8)):
        assert (
            int(array[0] - array[1]) == 246 if isinstance(array, torch.Tensor) else (array[:1] - array[1:2])[0] == 246
        )
        assert int((array * 2)[2]) == 2
        assert int((array**2)[1]) == 144
        assert int((array + 1)[3]) == 0
    assert int(torch.ones(256, dtype=torch.uint8) @ torch.ones(256, dtype=torch.uint8)) == 0
    assert int(np.diff(np.array([20, 10], np.uint8))[0]) == 246
    assert (torch.tensor([200], dtype=torch.uint8) * 2.0).item() == 400


# SHP407


def test_bfloat16_has_no_numpy() -> None:
    tensor = torch.ones(2, dtype=torch.bfloat16)
    for convert in (torch.Tensor.numpy, np.asarray, lambda array: np.stack([array])):
        with pytest.raises(TypeError, match="BFloat16"):
            convert(tensor)
    assert tensor.float().numpy().dtype == np.float32


def test_infinity_is_no_overflow() -> None:
    assert FLOAT16.stored(-math.inf) == -math.inf
