"""Shapes in docstrings: what states one, and what only looks like it."""

from __future__ import annotations

import pytest

from shapelint.annotations.docstrings import plain, read, shape_in

DESCRIPTIONS = {
    "input of shape (N, C, H, W)": ("N", "C", "H", "W"),
    "ndarray of shape (n_samples, n_features)": ("n_samples", "n_features"),
    "array_like, shape (M, N)": ("M", "N"),
    "(N,) array": ("N",),
    "the image with shape :math:(B, C, H, W), where B is the batch": ("B", "C", "H", "W"),
    r"the points with a shape of :math:(*, N, D\_1)": ("*", "N", "D_1"),
    r":math:(N, *, H_{in}) where :math:* means any number": ("N", "*", "H_in"),
    r"patches, shape (B, H \times W, \text{out\_features})": ("B", "H x W", "out_features"),
    "float tensor with shape (..., time)": ("...", "time"),
    "int tensor of shape (N, ..). Must be sorted": ("N", "..."),
    "[N,3] tensor of positions": ("N", "3"),
    "tensor [B, C, H, W]": ("B", "C", "H", "W"),
    "tensor of size (n_thresholds+1, )": ("n_thresholds+1",),
    "array of length (N,)": ("N",),
    "Shape: (B, 3)": ("B", "3"),
    "targets shaped (B, C).": ("B", "C"),
    "mask of shape (T, S) or None": ("T", "S"),
    "mask of shape (T, S). If None, all may be seen": ("T", "S"),
    "(B, N, 2) pixel coordinates (x, y)": ("B", "N", "2"),
    "logits (batch_size, num_classes)": ("batch_size", "num_classes"),
    "a scalar of shape ()": None,
    "tensor of shape ()": (),
}
SILENT = [
    "tensor of shape (B, C, H, W) or (C, H, W)",
    "tensor of shape (N, C) or (N,)",
    "tensor of shape (N, C) if batched",
    "one of shape (N, C); when unbatched, a tensor of shape (C,)",
    "list of tensors of shape (N, C)",
    "each of shape (N, C)",
    "broadcastable to shape (N, C)",
    "float or array of shape (N,)",
    "a function of arrays of shape (N,)",
    "size of the image (height, width)",
    "boxes as (x1, y1, x2, y2)",
    "tensor of (x, y, z) coordinates",
    "a number in [0, 1]",
    "as in (Vaswani, 2017)",
    "see X.shape[0], Y.shape[1]",
    "optional ([B], C, H, W)",
    "tensor of shape (..., C, ...)",
    "sparse matrix of shape (N, M)",
]


@pytest.mark.parametrize("text", DESCRIPTIONS)
def test_a_shape(text: str) -> None:
    found = shape_in(plain(text))
    assert (found.axes if found is not None else None) == DESCRIPTIONS[text]


@pytest.mark.parametrize("text", SILENT)
def test_no_shape(text: str) -> None:
    assert shape_in(text) is None


NUMPYDOC = """Fit.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows, e.g. (1, 2).
    y, sample_weight : array_like, shape (n,)
        One for each row.
    size : tuple of (height, width)
    other : int

    Returns
    -------
    labels : ndarray of shape (n,)
        Where they belong.
    scores : ndarray of shape (n, k)
    count : int
"""
GOOGLE = """Forward.

    Args:
        x (Tensor): the image
            with shape (B, C, H, W).
        mean (dim,): predicted mean
        cov (dim, dim) or (dim,): covariance
        window (Tensor, optional): window
        - ``pred`` (:class:`~torch.Tensor`): logits ``(N, K)``
        * `k` has shape `[seq_len, batch]`

    Returns:
        Tensor with shape (B, C).
"""
SPHINX = """
    :param x: a tensor of shape ``(B, D)``.
    :param torch.Tensor y: shape [B]
    :param gamma: in [0, 1]
    :return: the optimal policy with shape (n_state, ).
"""


def test_numpydoc() -> None:
    stated = read(NUMPYDOC, frozenset({"X", "y", "sample_weight", "size", "other"}))
    assert {name: one.axes for name, one in stated.parameters.items()} == {
        "X": ("n", "d"),
        "y": ("n",),
        "sample_weight": ("n",),
    }
    assert [one and one.axes for one in stated.returns] == [("n",), ("n", "k"), None]


def test_google() -> None:
    stated = read(GOOGLE, frozenset({"x", "mean", "cov", "window", "pred", "k"}))
    assert {name: one.axes for name, one in stated.parameters.items()} == {
        "x": ("B", "C", "H", "W"),
        "mean": ("dim",),
        "pred": ("N", "K"),
        "k": ("seq_len", "batch"),
    }
    assert [one and one.axes for one in stated.returns] == [("B", "C")]


def test_sphinx() -> None:
    stated = read(SPHINX, frozenset({"x", "y", "gamma"}))
    assert {name: one.axes for name, one in stated.parameters.items()} == {"x": ("B", "D"), "y": ("B",)}
    assert [one and one.axes for one in stated.returns] == [("n_state",)]


def test_two_entries_that_differ_state_nothing() -> None:
    text = "Args:\n    x: tensor of shape (B, C)\nShape:\n    - x: (C, H, W)\n"
    assert not read(text, frozenset({"x"})).parameters


def test_words_say_that_it_is_an_array() -> None:
    sure = shape_in("an array of shape (N, 3)")
    unsure = shape_in("(N, 3) pixels")
    assert sure is not None
    assert sure.is_array
    assert unsure is not None
    assert not unsure.is_array
