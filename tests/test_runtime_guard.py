"""The broadcast guard: what stretches on both sides, in torch, NumPy and JAX, and what is meant."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from shapelint.runtime import BroadcastError, BroadcastWarning, allow, guard

LIBRARIES = [np.ones, torch.ones, jnp.ones]


def squared(prediction: Any, target: Any) -> Any:
    return ((prediction - target) ** 2).mean()


def kernel(a: Any, b: Any) -> Any:
    return a[:, None] - b


def by_a_local(a: Any, b: Any) -> Any:
    column = 2 * a[:, None]
    return column - b


def reshaped(a: Any, b: Any) -> Any:
    return a.reshape(-1, 1) - b


def silenced(a: Any, b: Any) -> Any:
    return a - b  # shapelint: ignore[SHP101]


@pytest.mark.parametrize("ones", LIBRARIES)
def test_operands_that_stretch_each_other_raise(ones: Callable[..., Any]) -> None:
    with guard(), pytest.raises(BroadcastError) as error:
        squared(ones((5, 1)), ones((5,)))
    message = str(error.value)
    assert "`prediction` (5, 1) and `target` (5,) broadcast against each other" in message
    assert "(5, 5)" in message
    assert f"{__file__}:" in message
    assert "return ((prediction - target) ** 2).mean()" in message


@pytest.mark.parametrize("ones", LIBRARIES)
@pytest.mark.parametrize(
    ("function", "a", "b"),
    [
        (squared, (5, 1), (5, 1)),
        (squared, (5, 3), (3,)),
        (squared, (5, 3), (5, 1)),
        (squared, (5, 1), (1, 4)),
        (squared, (1, 1), (1,)),
        (squared, (5, 1), ()),
        (kernel, (5,), (5,)),
        (by_a_local, (5,), (5,)),
        (reshaped, (5,), (4,)),
        (silenced, (5, 1), (5,)),
    ],
)
def test_what_is_meant_passes(ones: Callable[..., Any], function: Callable[..., Any], a: Any, b: Any) -> None:
    with guard():
        function(ones(a), ones(b))


@pytest.mark.parametrize("ones", LIBRARIES)
def test_a_reshape_beside_the_same_size_is_no_intent(ones: Callable[..., Any]) -> None:
    with guard(), pytest.raises(BroadcastError):
        reshaped(ones(5), ones(5))


def test_intent_of_the_caller() -> None:
    with guard():
        squared(torch.ones(5)[:, None], torch.ones(5))
    with guard():
        squared(np.ones(5)[:, np.newaxis], np.ones(5))


@pytest.mark.parametrize("ones", LIBRARIES)
def test_allow_as_block_and_decorator(ones: Callable[..., Any]) -> None:
    with guard():
        with allow():
            squared(ones((5, 1)), ones(5))
        allow()(squared)(ones((5, 1)), ones(5))
        with pytest.raises(BroadcastError):
            squared(ones((5, 1)), ones(5))


def where(condition: Any, value: Any) -> Any:
    return (torch if isinstance(value, torch.Tensor) else np).where(condition, value, 0.0)


@pytest.mark.parametrize("ones", [np.ones, torch.ones])
def test_functions_of_several_operands(ones: Callable[..., Any]) -> None:
    with guard(), pytest.raises(BroadcastError, match="where"):
        where(ones((5, 1)) > 0, ones(5))


def test_torch_calls() -> None:
    column, vector = torch.ones(5, 1), torch.ones(5)
    with guard():
        for call in (
            lambda: column.sub(vector),
            lambda: torch.maximum(column, vector),
            lambda: column.clamp(min=vector),
            lambda: column == vector,
            lambda: torch.distributions.Normal(column, 1.0).log_prob(vector),
            lambda: torch.addcmul(column, vector, vector),
        ):
            with pytest.raises(BroadcastError):
                call()


@pytest.mark.parametrize("loss", [torch.nn.MSELoss(), F.l1_loss, F.smooth_l1_loss, F.huber_loss])
def test_sides_of_a_loss(loss: Callable[..., Any]) -> None:
    with guard():
        loss(torch.ones(5, 1), torch.ones(5, 1))
        for a, b in [((5, 1), (5,)), ((5, 1), (1, 5)), ((5, 3), (3,))]:
            with pytest.raises(BroadcastError, match="two sides of a loss"):
                loss(torch.ones(a), torch.ones(b))
        with pytest.raises(BroadcastError):
            loss(torch.ones(5), torch.ones(5).unsqueeze(1))  # one side only: a mistake more often than not


def test_explicit_axes_on_both_sides_of_a_loss_are_meant() -> None:
    with guard():
        F.smooth_l1_loss(torch.ones(5, 3).unsqueeze(2), torch.ones(5, 4).unsqueeze(1))


def test_jax_transforms_are_seen_when_they_are_traced() -> None:
    with guard():
        for transformed in (jax.jit(squared), jax.grad(squared)):
            with pytest.raises(BroadcastError):
                transformed(jnp.ones((5, 1)), jnp.ones(5))
        with pytest.raises(BroadcastError):
            jax.vmap(squared)(jnp.ones((3, 5, 1)), jnp.ones((3, 5)))
    jax.jit(squared)(jnp.ones((5, 1)), jnp.ones(5))


def test_warning_stands_at_the_line() -> None:
    with warnings.catch_warnings(record=True) as seen, guard("warn") as here:
        warnings.simplefilter("always")
        for _ in range(3):
            squared(torch.ones(5, 1), torch.ones(5))
    (warning,) = [w for w in seen if w.category is BroadcastWarning]
    assert warning.filename == __file__
    assert len(here.catches) == 1


def test_record_and_the_line_to_paste() -> None:
    with guard("record") as here:
        squared(torch.ones(5, 1), torch.ones(5))
    (catch,) = here.catches
    assert catch.annotation == 'prediction: "a 1", target: "a"'
    assert here.report() == f"{__file__}:{catch.line}: SHP101 the linter reports it as well"
    assert catch.line_for_report.startswith(f"{__file__}:{catch.line}: SHP101 ")


def test_after_it_everything_is_as_before() -> None:
    code = squared.__code__
    with guard("record"):
        assert squared.__code__ is not code
    assert squared.__code__ is code
    squared(np.ones((5, 1)), np.ones(5))
    squared(torch.ones(5, 1), torch.ones(5))


def test_other_threads_are_left_alone() -> None:
    failures: list[Exception] = []

    def work() -> None:
        try:
            squared(np.ones((5, 1)), np.ones(5))
            squared(torch.ones(5, 1), torch.ones(5))
        except Exception as error:
            failures.append(error)

    with guard():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert not failures


def test_results_are_those_without_it() -> None:
    x, y = torch.rand(5, 3), torch.rand(5, 1)
    expected = (x - y) * x.mean(0) / (1 + y)
    with guard():
        assert torch.equal((x - y) * x.mean(0) / (1 + y), expected)
    with pytest.raises(ValueError, match="raise, warn or record"), guard("ignore"):  # type: ignore[arg-type]
        pass
