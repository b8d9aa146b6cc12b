"""What jax's libraries make of trees of arrays. The shapes are those of lineax 0.1, optax 0.2 and equinox 0.13."""

from __future__ import annotations

import pytest

from shapelint.domain.values import Dict, Tensor, Tuple, Unknown, shape_of
from shapelint.ops import infer_call

MATRIX = Tensor(shape_of(3, 2), "float32", "jax")
TREE = Tuple((MATRIX, Dict((("bias", Tensor(shape_of(4), "float32", "jax")),))))
NORMS = [*(f"lineax.internal.{name}" for name in ("two_norm", "rms_norm", "max_norm", "sum_squares"))]


@pytest.mark.parametrize("tree", [MATRIX, TREE, Unknown()])
@pytest.mark.parametrize("name", [*NORMS, "optax.global_norm"])
def test_a_norm_is_one_number(name: str, tree: Tensor | Tuple | Unknown) -> None:
    result = infer_call(name, [tree])
    assert isinstance(result, Tensor)
    assert result.shape == shape_of()


def test_the_product_of_two_trees_is_one_number() -> None:
    result = infer_call("lineax.internal.tree_dot", [TREE, TREE])
    assert isinstance(result, Tensor)
    assert result.shape == shape_of()


def test_a_check_hands_on_what_it_checks() -> None:
    assert infer_call("equinox.error_if", [MATRIX, Tensor(shape_of(3, 2), "bool", "jax"), Unknown()]) == MATRIX
    assert isinstance(infer_call("equinox.error_if", [TREE, Unknown(), Unknown()]), Unknown)
