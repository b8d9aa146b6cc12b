"""A suite that has to pass with every tool of the plugin on."""

import threading

import jax.numpy as jnp
import numpy as np
import torch

from suite import library


def test_compiled():
    assert library.compiled(torch.ones(4, 3), torch.ones(4, 1)).shape == (4, 3)
    model = torch.compile(library.Net(3), backend="eager", fullgraph=True)
    model(torch.ones(5, 3)).sum().backward()
    assert model.layer.weight.grad is not None


def test_workers():
    loader = torch.utils.data.DataLoader(library.Rows(), batch_size=2, num_workers=2)
    assert [batch.shape for batch in loader] == [(2, 3)] * 3


def test_torch_transforms():
    x, w = torch.rand(5, 3), torch.rand(3)
    gradients = torch.func.vmap(torch.func.grad(library.squared), in_dims=(0, None))(x, w)
    assert gradients.shape == (5, 3)
    torch.jit.trace(library.squared, (x[0], w))


def test_jax_transforms():
    value, gradient = library.step(jnp.ones(3), jnp.ones((4, 3)))
    assert (value.shape, gradient.shape) == ((), (3,))
    assert library.batched(jnp.ones((2, 3))).shape == (2,)


def test_threads():
    results = []
    threads = [
        threading.Thread(target=lambda n=n: results.append(library.centred(np.ones((n, 2))).shape)) for n in range(2, 6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [(2, 2), (3, 2), (4, 2), (5, 2)]


def test_audit(gradient_audit):
    model = library.Net(3)
    gradient_audit(model)
    model(torch.ones(5, 3)).sum().backward()
