"""An MLP in JAX: parameters as a list of pairs, vmap over the batch, value_and_grad, jit, scan over epochs, Adam."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import grad, jit, lax, random, value_and_grad, vmap


def random_layer_params(m, n, key, scale=1e-1):
    w_key, b_key = random.split(key)
    return scale * random.normal(w_key, (n, m)), scale * random.normal(b_key, (n,))


def init_network_params(sizes, key):
    keys = random.split(key, len(sizes))
    return [random_layer_params(m, n, k) for m, n, k in zip(sizes[:-1], sizes[1:], keys)]


def relu(x):
    return jnp.maximum(0, x)


def predict(params, image):
    activations = image
    for w, b in params[:-1]:
        outputs = jnp.dot(w, activations) + b
        activations = relu(outputs)
    final_w, final_b = params[-1]
    logits = jnp.dot(final_w, activations) + final_b
    return logits - jax.scipy.special.logsumexp(logits)


batched_predict = vmap(predict, in_axes=(None, 0))


def one_hot(x, k, dtype=jnp.float32):
    return jnp.array(x[:, None] == jnp.arange(k), dtype)


def loss(params, images, targets):
    preds = batched_predict(params, images)
    return -jnp.mean(preds * targets)


def accuracy(params, images, targets):
    target_class = jnp.argmax(targets, axis=1)
    predicted_class = jnp.argmax(batched_predict(params, images), axis=1)
    return jnp.mean(predicted_class == target_class)


@jit
def update(params, x, y, step_size=0.01):
    grads = grad(loss)(params, x, y)
    return [(w - step_size * dw, b - step_size * db) for (w, b), (dw, db) in zip(params, grads)]


@partial(jax.jit, static_argnums=(2,))
def smooth(values, decay, window):
    kernel = decay ** jnp.arange(window)
    kernel = kernel / kernel.sum()
    return jnp.convolve(values, kernel, mode="same")


def ridge(weights, x, y):
    residual = x @ weights - y
    return jnp.mean(residual**2) + 0.1 * jnp.sum(weights**2)


def fit_ridge(x, y, steps=5):
    weights = jnp.zeros(x.shape[1])

    def step(weights, _):
        value, g = value_and_grad(ridge)(weights, x, y)
        return weights - 0.1 * g, value

    weights, history = lax.scan(step, weights, None, length=steps)
    return weights, history


def main():
    key = random.PRNGKey(0)
    params = init_network_params([12, 16, 8, 3], key)
    images = random.normal(key, (10, 12))
    labels = np.random.randint(0, 3, size=10)
    targets = one_hot(labels, 3)
    for epoch in range(2):
        params = update(params, images, targets)
        acc = accuracy(params, images, targets)
    value = loss(params, images, targets)
    weights, history = fit_ridge(images, images[:, 0])
    curve = smooth(history, 0.5, 3)
    pairwise = vmap(lambda a: vmap(lambda b: jnp.sum((a - b) ** 2))(images))(images)
    return float(acc), float(value), curve, pairwise, weights


if __name__ == "__main__":
    main()
