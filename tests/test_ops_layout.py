"""Reshaping, layout, joining, selecting, contractions and linear algebra, held against the real libraries.

A case is a call. It is made, and inferred from the same arguments: shape and dtype must agree, with the sizes as
numbers and as symbols that stand for them. t, n and j make arrays of torch, numpy and jax of the given sizes.
"""

from __future__ import annotations

import ast
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from shapelint.domain.dims import ONE, Dim, anonymous, as_dim, axis, size
from shapelint.domain.values import Axis, Int, Library, Maker, Many, Run, Shape, Tensor, Tuple, Unknown, Value, shape_of
from shapelint.ops import infer_call
from shapelint.ops.dtypes import parse
from shapelint.ops.op import ShapeError
from shapelint.ops.runs import rounds
from shapelint.testing import Symbols, concrete, dtype_name, library_of, lift

PRIMES = (5, 7, 11, 13)
METHODS = {"torch": "torch.Tensor", "numpy": "numpy.ndarray", "jax": "jax.Array"}
MODULES = {"torch": "torch", "np": "numpy", "jnp": "jax.numpy", "F": "torch.nn.functional", "jax": "jax"}
MODULES["lax"] = "jax.lax"


def t(*sizes: int, dt: str = "float32") -> torch.Tensor:
    return torch.ones(sizes, dtype=getattr(torch, dt))


def n(*sizes: int, dt: str = "float64") -> np.ndarray:
    return np.ones(sizes, dt)


def j(*sizes: int, dt: str = "float32") -> jax.Array:
    return jnp.ones(sizes, dt)


def eye(library: str, *sizes: int) -> Any:
    """A batch of unit matrices: invertible, positive definite."""
    found = np.broadcast_to(np.eye(sizes[-1]), sizes).copy()
    return {"t": torch.from_numpy, "n": np.asarray, "j": jnp.asarray}[library](found)


NAMES = {"torch": torch, "np": np, "jnp": jnp, "F": F, "jax": jax, "lax": jax.lax, "t": t, "n": n, "j": j, "eye": eye}


def run(node: ast.expr) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(compile(ast.Expression(node), "case", "eval"), dict(NAMES))


def inferred(call: ast.Call, sizes: Any) -> Value:
    def known(node: ast.expr) -> Value:
        return lift(run(node), sizes)

    root, _, rest = ast.unparse(call.func).partition(".")
    receiver: list[ast.expr] = []
    if root in MODULES:
        callee = f"{MODULES[root]}.{rest}"
    else:
        assert isinstance(call.func, ast.Attribute)
        receiver = [call.func.value]
        callee = f"{METHODS[library_of(run(call.func.value)) or '']}.{call.func.attr}"
    keywords = {keyword.arg or "": known(keyword.value) for keyword in call.keywords}
    return infer_call(callee, [known(node) for node in (*receiver, *call.args)], keywords)


def agree(real: Any, value: Value, sizes: Any) -> None:
    if isinstance(real, tuple | list):
        assert isinstance(value, Tuple), value
        assert len(real) == len(value.items)
        for part, item in zip(real, value.items):
            agree(part, item, sizes)
        return
    assert isinstance(value, Tensor), value
    assert concrete(value, sizes) == tuple(real.shape)
    assert value.library == library_of(real)
    known, true = parse(value.dtype), parse(dtype_name(real.dtype))
    assert known is not None, value.dtype
    assert known == true or (known.bits == 0 and true is not None and known.category == true.category)


def twins(text: str) -> list[str]:
    """M.f(A(5)) for numpy and jax."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [
        line.replace("M.", f"{module}.").replace("A(", f"{array}(").replace("eye('A'", f"eye('{array}'")
        for module, array in (("np", "n"), ("jnp", "j"))
        for line in lines
    ]


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


RESHAPING = lines("""
torch.reshape(t(5, 7, 11), (35, 11))
torch.reshape(t(5, 7, 11), [-1])
torch.reshape(t(5, 7, 11), (-1, 77))
t(5, 7, 11).reshape(5, -1)
t(5, 7, 11).reshape((11, 35))
t(5, 7, 11).view(-1, 7, 11, 1)
t(5, 22).view(5, 2, 11)
t(5, 22).view(5, 2, -1)
t(10, 7).view(-1, 5, 7)
t(7).view(1, -1)
t().reshape(1)
t().reshape(())
t(4, 5).view(2, 10)
t(5, 7).view_as(t(7, 5))
t(5, 7).reshape_as(t(35))
torch.flatten(t(5, 7, 11))
torch.flatten(t(5, 7, 11), 1)
torch.flatten(t(5, 7, 11), start_dim=1, end_dim=-1)
torch.flatten(t(5, 7, 11, 13), 1, 2)
torch.flatten(t())
t(5, 7, 11).flatten(0, 1)
t(5, 7, 11).flatten(-2)
t(5, 7).ravel()
torch.ravel(t(5, 7))
torch.unflatten(t(5, 22), 1, (2, 11))
torch.unflatten(t(5, 22), -1, (2, -1))
t(22, 7).unflatten(0, (11, 2))
torch.view_as_real(t(5, 7, dt="complex64"))
torch.view_as_complex(t(5, 2))
n(5, 7, 11).reshape(35, 11)
n(5, 7, 11).reshape((35, -1))
n(5, 7, 11).reshape(-1, order="F")
n(5, 7).ravel()
n(5, 7).flatten()
j(5, 7, 11).reshape(35, -1)
j(5, 7).ravel()
j(5, 7).flatten()
lax.reshape(j(5, 7), (35,))
lax.reshape(j(5, 7), new_sizes=(7, 5))
""") + twins("""
M.reshape(A(5, 7, 11), (35, 11))
M.reshape(A(5, 7, 11), -1)
M.reshape(A(5, 7, 11), (5, -1), order="F")
M.ravel(A(5, 7))
""")

LAYOUT = lines("""
torch.squeeze(t(5, 1, 7, 1))
torch.squeeze(t(5, 1, 7, 1), 1)
torch.squeeze(t(5, 1, 7, 1), (1, 2))
torch.squeeze(t(5, 1, 7), dim=-2)
t(1, 5).squeeze(0)
t(5, 1).squeeze(0)
t(1, 1).squeeze()
t(5, 7).unsqueeze(0)
t(5, 7).unsqueeze(-1)
torch.unsqueeze(t(5, 7), dim=1)
t().unsqueeze(0)
t(5, 7, 11).transpose(0, 2)
t(5, 7, 11).transpose(-1, -2)
torch.transpose(t(5, 7, 11), dim0=0, dim1=1)
torch.swapaxes(t(5, 7, 11), 0, -1)
torch.swapdims(t(5, 7, 11), 0, 1)
t(5, 7, 11).swapaxes(1, 2)
t(5, 7, 11).permute(2, 0, 1)
t(5, 7, 11).permute((0, 2, 1))
t(5, 7, 11).permute([-1, 0, 1])
torch.permute(t(5, 7, 11), (2, 1, 0))
t(5, 7).t()
t(5).t()
torch.t(t(5, 7))
torch.adjoint(t(5, 7, 11))
torch.movedim(t(5, 7, 11), 0, -1)
torch.moveaxis(t(5, 7, 11), (0, 1), (1, 0))
t(5, 7, 11, 13).movedim(1, 3)
t(5, 7, 11, 13).movedim((0, 1), (-1, -2))
t(5, 7).flip(0)
t(5, 7).flip(0, 1)
torch.flip(t(5, 7), [0, 1])
torch.fliplr(t(5, 7))
torch.flipud(t(5, 7))
torch.roll(t(5, 7), 1, 0)
t(5, 7).roll(shifts=(1, 2), dims=(0, 1))
torch.rot90(t(5, 7), 1, [0, 1])
torch.rot90(t(5, 7), 2, [0, 1])
torch.tril(t(5, 7))
t(5, 7, 11).triu(1)
torch.atleast_1d(t())
torch.atleast_2d(t(5))
torch.atleast_3d(t(5))
torch.atleast_3d(t(5, 7))
t(5, 1).expand(5, 7)
t(5, 1).expand(-1, 7)
t(5, 1).expand(11, -1, 7)
t(5, 1).expand((11, 5, 7))
t(7).expand(5, 7)
t(1, 7).expand_as(t(5, 7))
torch.broadcast_to(t(7), (5, 7))
torch.broadcast_to(t(7), size=(5, 7))
t(7).broadcast_to((5, 7))
t(7).broadcast_to(5, 7)
t(7, 1).broadcast_to(5, -1, 7)
t(5, 7).repeat(1, 11)
t(5, 7).repeat(2, 1, 11)
t(5, 7).repeat((11, 1))
torch.tile(t(5, 7), (2,))
torch.tile(t(5, 7), (2, 3, 4))
t(5, 7).tile(2, 3)
torch.repeat_interleave(t(5, 7), 11, dim=1)
torch.repeat_interleave(t(5, 7), 11)
t(5, 7).repeat_interleave(2, 0)
t(2, 7).repeat_interleave(torch.tensor([1, 2]), 0, output_size=3)
F.pad(t(5, 7), (1, 2))
F.pad(t(5, 7), (1, 2, 3, 4))
F.pad(t(5, 7, 11), pad=(0, 0, 1, 0), value=0.0)
F.pad(t(5, 7), (-1, 0))
t(5, 13).unfold(1, 4, 2)
t(13, 5).unfold(dimension=0, size=4, step=1)
np.rollaxis(n(5, 7, 11), 2)
np.rollaxis(n(5, 7, 11), 0, 3)
np.rollaxis(n(5, 7, 11), 1, 2)
n(5, 1).squeeze()
n(5, 1).squeeze(1)
n(5, 7, 11).transpose()
n(5, 7, 11).transpose(2, 0, 1)
n(5, 7, 11).transpose((2, 0, 1))
n(5, 7, 11).swapaxes(0, 2)
n(5, 7).repeat(2)
n(5, 7).repeat(2, 1)
n(5, 7).repeat(repeats=2, axis=0)
np.tril(n(5))
np.linalg.matrix_transpose(n(5, 7, 11))
np.lib.stride_tricks.sliding_window_view(n(5, 13), 3, 1)
np.lib.stride_tricks.sliding_window_view(n(5, 13), (2, 3))
np.fft.fftshift(n(5, 7))
j(5, 7, 11).transpose(2, 0, 1)
j(5, 1).squeeze(-1)
lax.transpose(j(5, 7), (1, 0))
lax.expand_dims(j(5, 7), (0,))
lax.expand_dims(j(5, 7), dimensions=(0, 3))
lax.squeeze(j(1, 7), (0,))
lax.rev(j(5, 7), (0,))
lax.broadcast_in_dim(j(7), (5, 7), (1,))
jnp.repeat(j(5, 7), 3, axis=1, total_repeat_length=21)
""") + twins("""
M.squeeze(A(5, 1, 7, 1))
M.squeeze(A(5, 1, 7, 1), axis=1)
M.squeeze(A(5, 1, 7, 1), axis=(1, 3))
M.expand_dims(A(5, 7), 0)
M.expand_dims(A(5, 7), axis=-1)
M.expand_dims(A(5, 7), (0, 2))
M.expand_dims(A(5, 7), (-1, 0))
M.transpose(A(5, 7, 11))
M.transpose(A(5, 7, 11), (0, 2, 1))
M.transpose(A(5, 7, 11), axes=(-1, 0, 1))
M.permute_dims(A(5, 7, 11), (0, 2, 1))
M.matrix_transpose(A(5, 7, 11))
M.swapaxes(A(5, 7, 11), 0, 2)
M.swapaxes(A(5, 7, 11), axis1=1, axis2=2)
M.moveaxis(A(5, 7, 11), 0, -1)
M.moveaxis(A(5, 7, 11), [0, 1], [-1, -2])
M.flip(A(5, 7))
M.flip(A(5, 7), 0)
M.flip(A(5, 7), axis=(0, 1))
M.flipud(A(5, 7))
M.fliplr(A(5, 7))
M.roll(A(5, 7), 2)
M.roll(A(5, 7), 2, axis=1)
M.rot90(A(5, 7))
M.rot90(A(5, 7), 2)
M.tril(A(5, 7))
M.triu(A(5, 7), k=1)
M.atleast_1d(A())
M.atleast_2d(A(5))
M.atleast_3d(A(5, 7))
M.broadcast_to(A(7), (5, 7))
M.broadcast_to(A(5, 1), (5, 7))
M.tile(A(5, 7), 2)
M.tile(A(5, 7), (2, 3))
M.tile(A(7), (5, 1))
M.repeat(A(5, 7), 3)
M.repeat(A(5, 7), 3, axis=1)
M.repeat(A(5, 7), repeats=2, axis=0)
M.pad(A(5, 7), 2)
M.pad(A(5, 7), (1, 2))
M.pad(A(5, 7), ((1, 2), (0, 3)))
M.pad(A(5, 7), ((1, 2),))
M.pad(A(5, 7), ((0, 0), (1, 1)), mode="edge")
""")

JOINING = lines("""
torch.cat([t(5, 7), t(11, 7)])
torch.cat([t(5, 7), t(5, 11)], dim=1)
torch.cat((t(5, 7), t(5, 7), t(5, 7)), -1)
torch.cat([t(0), t(5, 7)])
torch.cat([t(5, dt="int64"), t(7)])
torch.concat([t(5), t(7)])
torch.concat([t(5, 7), t(5, 7)], axis=1)
torch.concatenate((t(5, 7), t(5, 7)), axis=1)
torch.stack([t(5, 7), t(5, 7)])
torch.stack([t(5, 7), t(5, 7)], dim=1)
torch.stack((t(5, 7), t(5, 7), t(5, 7)), -1)
torch.stack([t(), t()])
torch.hstack([t(5), t(7)])
torch.hstack([t(5, 7), t(5, 11)])
torch.vstack([t(7), t(7)])
torch.vstack([t(5, 7), t(7)])
torch.dstack([t(5, 7), t(5, 7)])
torch.column_stack([t(5), t(5, 7)])
torch.split(t(5, 7), [3, 4], dim=1)
t(5, 7).split([1, 6], -1)
t(6, 7).split(split_size=4)
torch.chunk(t(22, 7), 2)
torch.chunk(t(5, 22), 2, dim=-1)
torch.chunk(t(6, 7), 4)
t(5, 7).chunk(3, 1)
torch.unbind(t(3, 7))
t(5, 3).unbind(-1)
torch.unbind(t(5, 2, 7), dim=1)
torch.tensor_split(t(11, 7), 3)
torch.tensor_split(t(11, 7), (2, 4))
torch.hsplit(t(5, 6), 2)
torch.vsplit(t(6, 5), 3)
torch.meshgrid(t(5), t(7))
torch.meshgrid(t(5), t(7), indexing="ij")
torch.meshgrid(t(5), t(7), indexing="xy")
torch.meshgrid([t(5), t(7), t(11)], indexing="ij")
torch.block_diag(t(5, 7), t(11, 13))
torch.pca_lowrank(t(11, 7), q=5)
torch.svd_lowrank(t(3, 11, 7), 5)
np.block([[n(5, 7), n(5, 3)], [n(2, 7), n(2, 3)]])
np.block([n(5), n(7)])
np.block([[n(3), n(2)]])
np.block([n(5, 7), n(5, 3)])
np.block([[n(2, 5, 3)], [n(2, 7, 3)]])
np.block([[n(7)], [n(2, 7)]])
np.gradient(n(7))
np.gradient(n(5, 7))
np.gradient(n(5, 7), axis=-1)
np.gradient(n(5, 7), 0.5, 2.0)
jnp.block([[j(5, 7), j(5, 3)], [j(2, 7), j(2, 3)]])
jnp.gradient(j(5, 7), axis=0)
torch.where(t(5, 1, dt="bool"), t(7), 0.0)
t(5, 7).where(t(5, 1, dt="bool"), t(7))
np.append(n(5, 7), n(5, 7))
np.append(n(5, 7), n(11, 7), axis=0)
np.concatenate([n(5, 7), n(5, 7)], axis=None)
np.concatenate((n(5), [1.0, 2.0]))
np.split(n(6, 7), 3)
np.hsplit(n(5, 6), 2)
lax.concatenate([j(5, 7), j(11, 7)], 0)
jax.scipy.linalg.block_diag(j(5, 7), j(11, 13))
lax.dot_general(j(13, 5, 7), j(13, 7, 11), (((2,), (1,)), ((0,), (0,))))
lax.dot_general(j(5, 7), j(7, 11), dimension_numbers=(((1,), (0,)), ((), ())))
""") + twins("""
M.concatenate([A(5, 7), A(11, 7)])
M.concatenate((A(5, 7), A(5, 11)), axis=1)
M.concatenate((A(5, 7), A(5, 11)), -1)
M.concatenate(A(2, 5, 7), axis=1)
M.stack([A(5, 7), A(5, 7)])
M.stack((A(5, 7), A(5, 7)), axis=-1)
M.stack(A(2, 5, 7), axis=1)
M.hstack([A(5), A(7)])
M.hstack((A(5, 7), A(5, 7)))
M.vstack([A(7), A(7)])
M.vstack((A(5, 7), A(11, 7)))
M.dstack((A(5, 7), A(5, 7)))
M.column_stack((A(5), A(5)))
M.column_stack((A(5), A(5, 7)))
M.split(A(10, 7), 2)
M.split(A(5, 7), [2, 3])
M.split(A(5, 7), [2, 4], axis=1)
M.array_split(A(11, 7), 3)
M.array_split(A(5, 7), 3, axis=1)
M.where(A(5, 1, dt="bool"), A(7), 0.0)
M.meshgrid(A(5), A(7))
M.meshgrid(A(5), A(7), indexing="ij")
M.meshgrid(A(5), A(7), A(11))
""")

SELECTING = lines("""
torch.gather(t(5, 7), 1, t(5, 3, dt="int64") * 0)
t(5, 7).gather(dim=0, index=t(1, 7, dt="int64"))
torch.take_along_dim(t(5, 7), t(5, 1, dt="int64"), dim=1)
torch.index_select(t(5, 7), 0, t(3, dt="int64"))
t(5, 7).index_select(-1, t(11, dt="int64"))
torch.take(t(5, 7), t(3, dt="int64"))
t(5, 7).scatter(1, t(5, 3, dt="int64"), 1.0)
t(5, 7).scatter_(1, t(5, 3, dt="int64"), t(5, 3))
t(5, 7).scatter_add(1, t(5, 3, dt="int64"), t(5, 3))
t(5, 7).index_add(0, t(3, dt="int64"), t(3, 7))
t(5, 7).index_add_(0, t(3, dt="int64"), t(3, 7))
t(5, 7).index_fill(1, t(3, dt="int64"), 0.0)
t(5, 7).masked_scatter(t(5, 7, dt="bool"), t(5, 7))
t(5, 7).select(1, 0)
torch.narrow(t(5, 7), 1, 0, 3)
t(5, 7).narrow(0, start=1, length=2)
torch.diagonal(t(5, 7, 11), dim1=1, dim2=2)
torch.diagonal(t(5, 5), offset=1)
t(5, 5).diagonal()
t(7, 5, 5).diagonal(0, -2, -1)
torch.diag(t(5))
torch.diag(t(5), 1)
torch.diag(t(5, 5))
torch.diag_embed(t(5, 7))
t(5, 7).diag_embed()
torch.diagflat(t(5, 2))
torch.trace(t(5, 5))
np.take(n(5, 7), [0, 1, 2], axis=1)
np.take(n(5, 7), n(2, 3, dt="int64"))
np.take(n(5, 7), 0, axis=0)
n(5, 7).take(n(3, dt="int64"), axis=0)
np.delete(n(5, 7), 0, axis=1)
np.delete(n(5, 7), 0, 0)
np.take_along_axis(n(5, 7), n(5, 3, dt="int64"), axis=1)
jnp.take(j(5, 7), j(3, dt="int32"), axis=1)
lax.dynamic_slice(j(5, 7), (0, 0), (2, 3))
lax.dynamic_slice_in_dim(j(5, 7), 0, 3, axis=1)
lax.slice_in_dim(j(5, 7), 0, 3, axis=1)
lax.dynamic_update_slice(j(5, 7), j(2, 3), (0, 0))
""") + twins("""
M.diag(A(5))
M.diag(A(5), k=1)
M.diag(A(5, 5))
M.diagonal(A(5, 5, 7))
M.diagonal(A(7, 5, 5), axis1=1, axis2=2)
M.diagonal(A(7, 5, 5), 0, -2, -1)
M.diagflat(A(5))
M.trace(A(5, 5))
M.trace(A(7, 5, 5), axis1=1, axis2=2)
""")

CONTRACTIONS = lines("""
torch.matmul(t(5, 7), t(7, 11))
torch.matmul(t(7), t(7))
torch.matmul(t(5, 7), t(7))
torch.matmul(t(7), t(7, 11))
torch.matmul(t(7), t(13, 7, 11))
torch.matmul(t(13, 5, 7), t(7))
torch.matmul(t(13, 5, 7), t(7, 11))
torch.matmul(t(13, 5, 7), t(13, 7, 11))
torch.matmul(t(13, 1, 5, 7), t(2, 7, 11))
t(5, 7).matmul(t(7, 11))
t(5, 7).mm(t(7, 11))
torch.mm(t(5, 7), mat2=t(7, 11))
torch.bmm(t(13, 5, 7), t(13, 7, 11))
t(13, 5, 7).bmm(t(13, 7, 11))
torch.mv(t(5, 7), t(7))
torch.dot(t(7), t(7))
t(7).dot(t(7))
torch.inner(t(5, 7), t(11, 7))
torch.inner(t(7), t(7))
torch.outer(t(5), t(7))
t(5).outer(t(7))
torch.linalg.vecdot(t(5, 7), t(5, 7))
torch.linalg.vecdot(t(5, 7), t(5, 7), dim=0)
torch.tensordot(t(5, 7, 11), t(7, 11, 13), dims=2)
torch.tensordot(t(5, 7, 11), t(11, 7, 13), dims=([1, 2], [1, 0]))
torch.addmm(t(11), t(5, 7), t(7, 11))
torch.addmv(t(5), t(5, 7), t(7))
torch.baddbmm(t(13, 5, 11), t(13, 5, 7), t(13, 7, 11))
torch.einsum("ij,jk->ik", t(5, 7), t(7, 11))
torch.einsum("ij,jk", t(5, 7), t(7, 11))
torch.einsum("bij,bjk->bik", [t(13, 5, 7), t(13, 7, 11)])
torch.einsum("...ij,...jk->...ik", t(13, 2, 5, 7), t(2, 7, 11))
torch.einsum("ij->ji", t(5, 7))
torch.einsum("ii->i", t(5, 5))
torch.einsum("ii", t(5, 5))
torch.einsum("ba", t(5, 7))
torch.einsum("i,j->ij", t(5), t(7))
torch.einsum("b h i d, b h j d -> b h i j", t(2, 3, 5, 7), t(2, 3, 11, 7))
torch.einsum("...i->...", t(5, 7, 11))
torch.linalg.multi_dot([t(5, 7), t(7, 11), t(11, 13)])
torch.kron(t(5, 7), t(11, 13))
torch.kron(t(5), t(11, 13))
torch.cross(t(5, 3), t(5, 3), dim=1)
torch.linalg.cross(t(5, 3), t(1, 3))
torch.cdist(t(5, 7), t(11, 7))
torch.cdist(t(13, 5, 7), t(13, 11, 7))
F.scaled_dot_product_attention(t(2, 3, 5, 7), t(2, 3, 11, 7), t(2, 3, 11, 13))
F.scaled_dot_product_attention(t(2, 3, 5, 7), t(2, 3, 5, 7), t(2, 3, 5, 7), is_causal=True)
F.scaled_dot_product_attention(query=t(2, 5, 7), key=t(2, 11, 7), value=t(2, 11, 7), attn_mask=t(5, 11))
n(5, 7).dot(n(7, 11))
np.linalg.outer(n(5), n(7))
np.vecdot(n(5, 7), n(5, 7))
np.linalg.multi_dot([n(5, 7), n(7, 11), n(11)])
""") + twins("""
M.matmul(A(5, 7), A(7, 11))
M.matmul(A(13, 5, 7), A(7, 11))
M.matmul(A(5, 7), A(7))
M.matmul(A(7), A(13, 7, 11))
M.dot(A(5, 7), A(7, 11))
M.dot(A(7), A(7))
M.dot(A(13, 5, 7), A(7))
M.dot(A(13, 5, 7), A(2, 7, 11))
M.dot(A(5, 7), 2.0)
M.vdot(A(5, 7), A(5, 7))
M.inner(A(5, 7), A(11, 7))
M.inner(A(5, 7), A(2, 11, 7))
M.outer(A(5), A(7))
M.outer(A(5, 2), A(7))
M.tensordot(A(5, 7, 11), A(7, 11, 13))
M.tensordot(A(5, 7), A(7, 11), axes=1)
M.tensordot(A(5, 7), A(7, 11), 1)
M.tensordot(A(5, 7, 11), A(11, 7, 13), axes=((1, 2), (1, 0)))
M.tensordot(A(5, 7), A(5, 11), axes=(0, 0))
M.einsum("ij,jk->ik", A(5, 7), A(7, 11))
M.einsum("bij,bkj->bik", A(13, 5, 7), A(13, 11, 7))
M.einsum("...i,...i", A(5, 7), A(5, 7))
M.einsum("ijk->ki", A(5, 7, 11))
M.kron(A(5, 7), A(11, 13))
M.cross(A(5, 3), A(5, 3))
""")

LINALG = lines("""
torch.linalg.inv(eye('t', 5, 7, 7))
eye('t', 7, 7).inverse()
torch.inverse(eye('t', 7, 7))
torch.linalg.cholesky(eye('t', 5, 7, 7))
torch.linalg.det(eye('t', 5, 7, 7))
eye('t', 7, 7).det()
eye('t', 7, 7).logdet()
torch.linalg.slogdet(eye('t', 5, 7, 7))
torch.linalg.pinv(t(5, 7, 11))
torch.linalg.matrix_rank(t(5, 7, 11))
torch.linalg.solve(eye('t', 5, 5), eye('t', 5, 5))
torch.linalg.solve(t(7, 5, 5).triu(), t(7, 5, 11))
torch.linalg.solve(t(5, 5).triu(), t(5))
torch.linalg.solve(t(7, 5, 5).triu(), t(7, 5))
torch.linalg.solve_triangular(t(5, 5).triu(), t(5, 11), upper=True)
torch.cholesky_solve(t(5, 11), t(5, 5))
torch.linalg.svd(t(5, 7, 11))
torch.linalg.svd(t(7, 5), full_matrices=False)
torch.svd(t(5, 7))
torch.linalg.svdvals(t(5, 7))
torch.linalg.eigh(eye('t', 5, 7, 7))
torch.linalg.eig(eye('t', 7, 7))
torch.linalg.eigvals(eye('t', 7, 7))
torch.linalg.eigvalsh(eye('t', 7, 7))
torch.linalg.qr(t(5, 7, 11))
torch.linalg.qr(t(7, 5), mode="complete")
torch.linalg.matrix_power(t(5, 5), 3)
torch.matrix_exp(t(5, 5))
torch.linalg.diagonal(t(5, 7, 7))
np.linalg.solve(np.eye(5), n(5))
np.linalg.solve(np.eye(5), n(5, 7))
jax.scipy.linalg.solve_triangular(jnp.eye(5), j(5, 7), lower=True)
jax.scipy.linalg.solve_triangular(jnp.eye(5), j(5))
jax.scipy.linalg.cho_solve((jnp.eye(5), True), j(5, 7))
jax.scipy.linalg.cholesky(jnp.eye(5), lower=True)
""") + twins("""
M.linalg.inv(eye('A', 5, 7, 7))
M.linalg.cholesky(eye('A', 7, 7))
M.linalg.det(eye('A', 5, 7, 7))
M.linalg.slogdet(eye('A', 7, 7))
M.linalg.pinv(A(5, 7))
M.linalg.svd(A(5, 7))
M.linalg.svd(A(5, 7), full_matrices=False)
M.linalg.svd(A(5, 7), compute_uv=False)
M.linalg.eigh(eye('A', 5, 7, 7))
M.linalg.eigvalsh(eye('A', 7, 7))
M.linalg.qr(A(7, 5))
M.linalg.matrix_power(eye('A', 5, 5), 2)
""")

CASES = [*RESHAPING, *LAYOUT, *JOINING, *SELECTING, *CONTRACTIONS, *LINALG]


def parsed(case: str) -> ast.Call:
    node = ast.parse(case, mode="eval").body
    assert isinstance(node, ast.Call)
    return node


def outcome(case: str) -> Any:
    if case.startswith(("jnp.", "jax.", "lax.", "j(")):
        return jax.eval_shape(lambda: run(parsed(case)))
    return run(parsed(case))


@pytest.mark.parametrize("case", CASES)
def test_agrees(case: str) -> None:
    real = outcome(case)
    agree(real, inferred(parsed(case), as_dim), {})
    symbols = Symbols(*PRIMES)
    agree(real, inferred(parsed(case), symbols), symbols.sizes)


NUMBERS_ONLY = lines("""
torch.split(t(10, 7), 5)
t(5, 22).split(11, dim=-1)
""")


@pytest.mark.parametrize("case", NUMBERS_ONLY)
def test_how_many_pieces_a_symbol_makes_of_a_number_is_open(case: str) -> None:
    agree(outcome(case), inferred(parsed(case), as_dim), {})
    assert isinstance(inferred(parsed(case), Symbols(5, 11)), Many)


IMPOSSIBLE = lines("""
t(5, 7).view(6, 6)
t(5, 7).view(-1, 6)
t(8, 7, 7).view(8, 400)
t(5, 7).reshape(-1, -1)
torch.flatten(t(5, 7), 1, 0)
torch.unflatten(t(5, 22), 1, (3, 11))
t(5, 7).transpose(0, 2)
t(5, 7).permute(0, 1, 2)
t(5, 7).permute(0, 0)
t(5, 7, 11).t()
t(5, 7).unsqueeze(3)
t(5, 7).squeeze(2)
t(5, 7).expand(5, 11)
t(5, 7).expand(7)
t(5, 7).repeat(2)
torch.movedim(t(5, 7), (0, 1), (0,))
n(5, 7).squeeze(1)
np.broadcast_to(n(5, 7), (5, 11))
np.expand_dims(n(5, 7), 3)
torch.cat([t(5, 7), t(5, 11)])
torch.cat([t(5, 7), t(5)])
torch.cat([t(5, 7), t(5, 7)], 2)
torch.stack([t(5, 7), t(5, 11)])
np.concatenate([n(5, 7), n(5, 11)])
np.vstack([n(5), n(7)])
np.split(n(7, 5), 2)
torch.split(t(5, 7), [3, 3], dim=1)
torch.matmul(t(5, 7), t(5, 7))
torch.matmul(t(5, 7), t(5))
torch.matmul(t(13, 5, 7), t(11, 7, 5))
torch.matmul(t(), t(5))
torch.mm(t(5, 7), t(11, 7))
torch.mm(t(2, 5, 7), t(2, 7, 5))
torch.bmm(t(13, 5, 7), t(11, 7, 5))
torch.bmm(t(5, 7), t(7, 11))
torch.dot(t(5), t(7))
np.dot(n(5, 7), n(5, 7))
np.dot(n(5, 7), n(2, 5, 7))
np.inner(n(5, 7), n(5, 11))
torch.outer(t(5, 2), t(7))
torch.tensordot(t(5, 7), t(5, 11), dims=1)
torch.einsum("ij,jk->ik", t(5, 7), t(5, 7))
torch.einsum("ij,jk->ik", t(5, 7))
torch.einsum("ij->ijk", t(5, 7))
torch.einsum("ij->i", t(5, 7, 11))
torch.addmm(t(13), t(5, 7), t(7, 11))
torch.linalg.inv(t(5, 7))
torch.linalg.solve(t(5, 5).triu(), t(7, 11))
torch.linalg.multi_dot([t(5, 7), t(5, 7)])
torch.cdist(t(5, 7), t(5, 11))
F.scaled_dot_product_attention(t(2, 5, 7), t(2, 5, 11), t(2, 5, 7))
torch.gather(t(5, 7), 1, t(5, dt="int64"))
torch.diag(t(5, 7, 11))
F.pad(t(5), (1, 1, 1, 1))
np.pad(n(5, 7), ((1, 1), (1, 1), (1, 1)))
t(5).unfold(0, 7, 1)
""")


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_impossible(case: str) -> None:
    with pytest.raises((RuntimeError, ValueError, IndexError, TypeError)):
        outcome(case)
    with pytest.raises(ShapeError):
        inferred(parsed(case), as_dim)


N, M, K, H, D = (axis(name) for name in "nmkhd")
BATCH = Run("batch", "scope")


def call(callee: str, *args: Any) -> Shape:
    """The shape that a call returns; shapes stand for tensors, ints for themselves."""
    lifted = (Tensor(a) if isinstance(a, Shape) else Int(a) if isinstance(a, Dim) else _value(a) for a in args)
    result = infer_call(callee, list(lifted))
    assert isinstance(result, Tensor), result
    return result.shape


def _value(arg: Any) -> Value:
    if isinstance(arg, list | tuple):
        items = (Tensor(a) if isinstance(a, Shape) else Int(a) if isinstance(a, Dim) else _value(a) for a in arg)
        return Tuple(tuple(items), "list" if isinstance(arg, list) else "tuple")
    return arg if isinstance(arg, Many | Unknown) else lift(arg)


def factors(shape: Shape) -> list[tuple[Dim, ...]]:
    return [a.factors for a in shape.axes]


def makers(shape: Shape) -> list[Maker | None]:
    return [a.maker for a in shape.axes]


def test_the_message_has_the_arithmetic() -> None:
    with pytest.raises(ShapeError, match=r"\(8, 7, 7\) has 392 elements, \(8, 400\) needs 3200"):
        call("torch.Tensor.view", shape_of(8, 7, 7), 8, 400)
    with pytest.raises(ShapeError, match="7 and 5 differ"):
        call("torch.matmul", shape_of(5, 7), shape_of(5, 7))


def test_the_free_size_of_a_symbolic_view() -> None:
    assert call("torch.Tensor.view", shape_of(N, H * D), N, -1, D).sizes == (N, H, D)
    assert call("torch.Tensor.view", shape_of(N, 2 * M + 2), -1, M + 1).sizes == (2 * N, M + 1)
    assert call("torch.Tensor.view", shape_of(N, M), -1, 2).sizes[0] == N * M // 2
    assert call("torch.Tensor.view", shape_of(N, M), N, K).sizes == (N, K)
    with pytest.raises(ShapeError, match="no multiple of 2"):
        call("torch.Tensor.view", shape_of(2 * N + 1), -1, 2)
    with pytest.raises(ShapeError, match="needs"):
        call("torch.Tensor.view", shape_of(N), N, 2)


def test_a_size_whose_default_is_minus_one_may_be_the_free_one() -> None:
    assert call("torch.Tensor.view", shape_of(6, 7), size("s", default=-1), 7).rank == 2


def test_merged_axes_have_factors_and_give_them_back() -> None:
    merged = call("torch.Tensor.reshape", shape_of(N, H, D), N, H * D)
    assert factors(merged) == [(), (H, D)]
    assert call("torch.Tensor.view", merged, N, H, D) == shape_of(N, H, D)
    assert factors(call("torch.flatten", shape_of(N, H, D), 0, 1)) == [(N, H), ()]
    assert factors(call("torch.flatten", merged)) == [(N, H, D)]
    swapped = call("torch.Tensor.transpose", shape_of(N, H, D), 1, 2)
    assert factors(call("torch.Tensor.reshape", swapped, N, H * D)) == [(), (D, H)]
    assert factors(call("torch.unflatten", merged, 1, (H, D))) == [(), (), ()]


def test_a_scrambled_axis_has_no_factors() -> None:
    assert factors(call("torch.Tensor.view", shape_of(N, M), M, N)) == [(), ()]
    assert factors(call("torch.Tensor.view", shape_of(N, M, K), N, K * M)) == [(), (M, K)]
    assert factors(call("torch.Tensor.view", shape_of(N, M, K), K, N * M)) == [(), ()]


def test_joined_and_repeated_pieces_are_factors() -> None:
    assert factors(call("torch.cat", [shape_of(N, D), shape_of(N, D)], 0)) == [(as_dim(2), N), ()]
    assert factors(call("torch.cat", [shape_of(N, D), shape_of(M, D)], 0)) == [(), ()]
    assert factors(call("torch.cat", Many(Tensor(shape_of(N, D)), K), 0)) == [(K, N), ()]
    assert factors(call("torch.Tensor.repeat", shape_of(N), K)) == [(K, N)]
    assert factors(call("torch.repeat_interleave", shape_of(N), K, 0)) == [(N, K)]


def test_who_made_an_axis_of_one() -> None:
    assert makers(call("torch.Tensor.view", shape_of(N), -1, 1)) == [None, Maker.RESHAPE]
    assert makers(call("torch.Tensor.unsqueeze", shape_of(N), 0)) == [Maker.INSERTED, None]
    assert makers(call("numpy.expand_dims", shape_of(N), -1)) == [None, Maker.INSERTED]
    layer = Shape((Axis(N), Axis(ONE, maker=Maker.LAYER)))
    assert makers(call("torch.Tensor.view", layer, N, 1)) == [None, Maker.LAYER]
    assert makers(call("torch.Tensor.t", layer)) == [Maker.LAYER, None]
    assert makers(call("torch.gather", shape_of(N, M), 1, shape_of(N, 1))) == [None, Maker.GATHER]


def test_squeeze_of_what_may_be_one() -> None:
    unknown = anonymous("x")
    assert call("torch.squeeze", shape_of(N, 1, M)) == shape_of(N, M)
    assert call("torch.squeeze", shape_of(N, 1), 0) == shape_of(N, 1)
    assert call("torch.squeeze", shape_of(N, unknown, M)).rank is None
    assert call("torch.squeeze", shape_of(N, unknown, 1, M)).tail == shape_of(M).head
    assert call("torch.squeeze", shape_of(N, unknown), 1).rank is None
    assert call("torch.squeeze", shape_of(N, 1, unknown + 1)) == shape_of(N, unknown + 1)
    assert call("torch.squeeze", shape_of(N, unknown + 1), 1).rank is None, "there may be none of what is unknown"
    assert call("torch.squeeze", shape_of(N, unknown + 2), 1) == shape_of(N, unknown + 2)
    assert call("torch.squeeze", shape_of(N, unknown + 1)).rank is None, "nobody squeezes for nothing"
    filled = rounds("a list")
    assert call("torch.squeeze", shape_of(filled, M)) == shape_of(filled, M), "but a stack of what was collected"
    assert call("torch.squeeze", shape_of(2, 3)) == shape_of(2, 3)
    assert call("numpy.squeeze", shape_of(N, unknown), 1) == shape_of(N)
    assert call("torch.squeeze", Shape((), BATCH, shape_of(N, 1).head), -1) == Shape((), BATCH, shape_of(N).head)


@pytest.mark.parametrize(("before", "after"), [("float32", "int32"), ("float64", "int16"), ("int8", "int8")])
def test_bytes_read_as_another_dtype(before: str, after: str) -> None:
    """Held against torch: the axes stay, and the last one where elements are as large as before."""
    there = torch.zeros(2, 3, dtype=getattr(torch, before)).view(getattr(torch, after)).shape
    found = infer_call("torch.Tensor.view", [Tensor(shape_of(2, 3), before, "torch"), Library(f"torch.{after}")])
    assert isinstance(found, Tensor)
    assert found.dtype == after
    assert found.shape.rank == len(there)
    assert all(size.value in {None, real} for size, real in zip(found.shape.sizes, there))
    assert (found.shape.sizes[-1].value is None) == (there[-1] != 3)


def test_sizes_of_pieces() -> None:
    def pieces(callee: str, *args: Any) -> Value:
        return infer_call(callee, [_value(a) if not isinstance(a, Shape) else Tensor(a) for a in args])

    thirds = pieces("torch.chunk", shape_of(N, 3 * D), 3, -1)
    assert isinstance(thirds, Tuple)
    assert [t.shape for t in thirds.items if isinstance(t, Tensor)] == [shape_of(N, D)] * 3
    rows = pieces("torch.unbind", shape_of(N, D))
    assert rows == Many(Tensor(shape_of(D), library="torch"), N, "tuple")


def test_many_tensors() -> None:
    assert call("torch.stack", Many(Tensor(shape_of(N)), K)).sizes == (K, N)
    stacked = call("torch.stack", Many(Tensor(shape_of(N))), 1)
    assert stacked.sizes[0] == N
    assert stacked.rank == 2
    joined = call("torch.cat", Many(Tensor(shape_of(N, D))), 0)
    assert joined.sizes[1] == D
    assert joined.sizes[0] not in (N, D)


def test_beside_a_run() -> None:
    def run(*sizes: Any) -> Shape:
        return Shape((), BATCH, shape_of(*sizes).head)

    assert call("torch.transpose", run(N, M), -1, -2) == run(M, N)
    assert call("torch.matmul", run(N, M), shape_of(M, K)) == run(N, K)
    assert call("torch.matmul", run(N, M), run(M, K)) == run(N, K)
    assert factors(call("torch.flatten", run(N, H, D), -2)) == [(), (H, D)]
    assert call("torch.unsqueeze", run(N), -1) == run(N, 1)
    assert call("torch.unflatten", run(H * D), -1, (H, D)) == run(H, D)
    assert call("torch.linalg.inv", run(N, N)) == run(N, N)
    assert call("torch.einsum", "...ij,...jk->...ik", run(N, M), run(M, K)) == run(N, K)
    assert call("torch.cat", [run(N), run(M)], -1) == run(N + M)
    assert call("torch.Tensor.view", run(N), 3, M) == shape_of(3, M)
    assert call("torch.Tensor.permute", run(N), 0, 2, 1).sizes[1] == N
    assert call("torch.Tensor.transpose", run(N), 1, 2).least_rank == 3
    assert call("torch.Tensor.transpose", run(N), -1, -2).axis(-2) == Axis(N)
    assert call("torch.Tensor.transpose", run(N), 0, -1).least_rank == 0
    with pytest.raises(ShapeError):
        call("torch.matmul", run(5), shape_of(7, K))


def test_what_is_not_known_claims_nothing() -> None:
    unknown = Unknown()
    assert call("torch.Tensor.view", shape_of(N, M), unknown).rank is None
    assert call("torch.Tensor.view", shape_of(N, M), N, unknown).sizes[0] == N
    assert call("torch.matmul", Shape((), Run()), Shape((), Run())).least_rank == 0
    first, second = (call("torch.Tensor.view", Shape((), Run()), -1) for _ in range(2))
    assert first.sizes != second.sizes  # two unknown tensors have no size in common


@pytest.mark.parametrize("callee", ["torch.where", "numpy.where"])
def test_where_of_a_condition_alone(callee: str) -> None:
    result = infer_call(callee, [Tensor(shape_of(N, M), "bool")])
    assert isinstance(result, Tuple)
    rows, columns = result.items
    assert isinstance(rows, Tensor)
    assert isinstance(columns, Tensor)
    assert rows.shape == columns.shape
    assert (rows.shape.rank, rows.dtype) == (1, "int64")


def test_letters_name_the_axes_that_come_out_of_a_run() -> None:
    result = call("torch.einsum", "b n k, b m k -> b n m".replace(" ", ""), Shape((), Run()), Shape((), Run()))
    assert [str(s) for s in result.sizes] == ["b", "n", "m"]
