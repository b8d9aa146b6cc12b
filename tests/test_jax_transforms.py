"""grad, jacobians, vmap and scans: the shapes that jax gives, and nothing where they are not followed."""

from __future__ import annotations

from typing import Any

import jax
import libcst as cst
import pytest

from shapelint.domain.values import Dict, Tensor, Tuple, Value
from shapelint.events import Returned
from shapelint.interpreter import interpret

HEAD = """\
import jax
import jax.numpy as jnp


def predict(params, x):
    w, b = params
    return jnp.dot(x, w) + b


def loss(params, x, y):
    return jnp.mean((predict(params, x) - y) ** 2)


def lossy(params, x, y):
    return loss(params, x, y), predict(params, x)


def story(n=5):
    params = jnp.zeros((3, 2)), jnp.zeros(2)
    x, y = jnp.ones((n, 3)), jnp.ones((n, 2))
    return """


def inferred(value: Value) -> Any:
    match value:
        case Tensor(shape=shape):
            return (
                tuple(5 if str(size) == "n" else int(str(size)) for size in shape.sizes)
                if shape.rank is not None
                else None
            )
        case Tuple(items=items):
            return [inferred(item) for item in items]
        case Dict(items=items):
            return {key: inferred(item) for key, item in items}
    return None


def real(value: Any) -> Any:
    match value:
        case dict():
            return {key: real(item) for key, item in value.items()}
        case tuple() | list():
            return [real(item) for item in value]
    return jax.numpy.shape(value)


def both(expression: str) -> tuple[Any, Any]:
    source = HEAD + expression + "\n"
    scope: dict[str, Any] = {}
    exec(source, scope)
    events = interpret(cst.parse_module(source), "story.py")
    value = next(e.value for e in reversed(events) if isinstance(e, Returned) and e.function.name == "story")
    return inferred(value), real(scope["story"]())


@pytest.mark.parametrize(
    "expression",
    [
        "jax.grad(loss)(params, x, y)",
        "jax.jit(jax.grad(loss))(params, x, y)",
        "jax.grad(loss, argnums=1)(params, x, y)",
        "jax.grad(loss, (0, 2))(params, x, y)",
        "jax.value_and_grad(loss)(params, x, y)",
        "jax.value_and_grad(lossy, has_aux=True)(params, x, y)",
        "jax.grad(lossy, has_aux=True)(params, x, y)",
        "jax.vmap(predict, in_axes=(None, 0))(params, x)",
        "jax.vmap(predict, (None, 0))(params, x)",
        "jax.vmap(lambda a: a.sum())(x)",
        "jax.vmap(jnp.linalg.norm)(x)",
        "jax.vmap(lambda a, b: (a, b * 2))(x, y)",
        "jax.vmap(lambda d: d['x'].sum() + d['y'])({'x': x, 'y': y})",
        "jax.vmap(jax.grad(loss), in_axes=(None, 0, 0))(params, x, y)",
        "jax.vmap(jax.vmap(lambda a, b: a @ b, (None, 0)), (0, None))(x, x)",
    ],
)
def test_shapes_are_those_of_jax(expression: str) -> None:
    shapes, expected = both(expression)
    assert shapes == expected


@pytest.mark.parametrize(
    "expression",
    [
        "jax.vmap(lambda a: a * 2, in_axes=1)(x)",
        "jax.vmap(lambda a: a * 2, in_axes=-1)(x)",
        "jax.vmap(lambda a: a * 2, out_axes=1)(x)",
        "jax.vmap(lambda a: a * 2, 1, 1)(x)",
        "jax.vmap(lambda a: jnp.outer(a, a), out_axes=-1)(x)",
        "jax.vmap(lambda a: jnp.outer(a, a), in_axes=1, out_axes=-2)(x)",
        "jax.vmap(lambda a: (a, a.sum()), in_axes=1)(x)",
        "jax.vmap(lambda a, b: a * b, in_axes=(1, None))(x, y[:, 0])",
        "jax.vmap(lambda a, b: a + b, in_axes=(0, 1))(x, x.T)",
        "jax.vmap(lambda a, *, b: a @ b)(x, b=x)",
        "jax.vmap(lambda a, b: b * 2, in_axes=(0, None), out_axes=None)(x, y)",
    ],
)
def test_axes_other_than_the_first_are_mapped(expression: str) -> None:
    shapes, expected = both(expression)
    assert shapes == expected


@pytest.mark.parametrize(
    "expression",
    [
        "jax.jacfwd(lambda a: a @ params[0])(x[0])",
        "jax.jacrev(lambda a: a @ params[0])(x)",
        "jax.jacobian(lambda a: (a.sum(), a * 2))(x)",
        "jax.jacfwd(predict)(params, x)",
        "jax.jacrev(predict, argnums=1)(params, x)",
        "jax.jacfwd(predict, argnums=(0, 1))(params, x)",
        "jax.hessian(lambda a: (a**2).sum())(x[0])",
        "jax.hessian(lambda a: (a**2).sum(0))(x)",
        "jax.hessian(loss, argnums=1)(params, x, y)",
        "jax.vmap(jax.jacfwd(lambda a: a @ params[0]))(x)",
        "jnp.atleast_2d(jax.jacfwd(lambda a: a.sum())(x[0]))",
        "jax.jacfwd(lambda d: d['a'] * d['b'])({'a': x, 'b': x})",
    ],
)
def test_jacobians_have_the_axes_of_both(expression: str) -> None:
    shapes, expected = both(expression)
    assert shapes == expected


@pytest.mark.parametrize(
    "expression",
    [
        "jax.lax.associative_scan(jnp.add, x)",
        "jax.lax.associative_scan(lambda a, b: (a[0] + b[0], a[1] @ b[1]), (x, jnp.ones((n, 2, 2))))",
        "jax.lax.associative_scan(jax.vmap(lambda a, b: a @ b), jnp.ones((n, 2, 2)), reverse=True)",
        "jax.lax.associative_scan(jnp.add, x, axis=1)",
        "jax.tree.leaves((x, None, {'a': y}))",
        "[jnp.sum(leaf) for leaf in jax.tree_util.tree_leaves(params)]",
    ],
)
def test_scans_of_neighbours_and_leaves(expression: str) -> None:
    shapes, expected = both(expression)
    assert shapes == expected


def test_nothing_is_known_of_axes_that_are_told_in_a_tree() -> None:
    shapes, expected = both("jax.vmap(lambda d: d['a'] + d['b'], in_axes=({'a': 0, 'b': None},))({'a': x, 'b': x[0]})")
    assert shapes is None
    assert expected is not None
