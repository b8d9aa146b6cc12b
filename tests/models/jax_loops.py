"""A recurrent cell, a filter and an optimizer step in jax's control flow: scan, loops, cond, map and tree.map."""

import jax
import jax.numpy as jnp
from jax import lax


def init(key, width, hidden):
    first, second = jax.random.split(key)
    return {
        "w": jax.random.normal(first, (width, hidden)) * 0.1,
        "u": jax.random.normal(second, (hidden, hidden)) * 0.1,
        "b": jnp.zeros(hidden),
    }


def recurrent(params, xs, hidden):
    def step(carry, x):
        h, count = carry
        h = jnp.tanh(x @ params["w"] + h @ params["u"] + params["b"])
        return (h, count + 1), (h, h.mean(-1))

    start = jnp.zeros((xs.shape[1], hidden))
    (last, count), (states, means) = lax.scan(step, (start, 0), xs)
    return last, states, means, count


def power(matrix, rounds):
    product = lax.fori_loop(0, rounds, lambda i, m: m @ matrix, jnp.eye(matrix.shape[0]))
    size, scaled = lax.while_loop(
        lambda s: s[0] > 1.0, lambda s: (s[0] * 0.5, s[1] * 0.5), (jnp.abs(product).max(), product)
    )
    return product, scaled, size


def chosen(x, which):
    pooled = lax.cond(which > 0, lambda a: a.max(0), lambda a: a.mean(0), x)
    again = lax.switch(which, [lambda a: a - pooled, lambda a: a + pooled], x)
    rows = lax.map(lambda row: row / row.sum(), again)
    return pooled, again, rows


def updated(params, grads, rate=0.1):
    scaled = jax.tree.map(lambda g: g * rate, grads)
    return jax.tree.map(lambda p, g: p - g, params, scaled)


def loss(params, xs, hidden):
    last, states, means, _ = recurrent(params, xs, hidden)
    return (last**2).mean() + states.mean() + means.sum()


def main():
    params = init(jax.random.PRNGKey(0), 3, 5)
    xs = jnp.ones((7, 2, 3))
    last, states, means, count = recurrent(params, xs, 5)
    grads = jax.grad(loss)(params, xs, 5)
    better = updated(params, grads)
    product, scaled, size = power(jnp.eye(4) * 2, 3)
    pooled, again, rows = chosen(jnp.ones((6, 4)), 1)
    return last, states, means, count, better, product, scaled, size, pooled, again, rows


if __name__ == "__main__":
    main()
