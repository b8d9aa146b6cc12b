"""What autocast does to the dtypes of results: each device has operations that it narrows, and some that it widens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shapelint.domain.record import record
from shapelint.domain.values import Tensor, Tuple, Value
from shapelint.ops.dtypes import is_inexact

# By canonical names; held against torch on the CPU, from torch's documentation for CUDA.
NARROWED = frozenset({
    "matmul", "bmm", "mm", "addmm", "baddbmm", "addbmm", "einsum", "linear", "conv", "conv_transpose",
    "scaled_dot_product_attention", "multi_dot", "tensordot", "attention",
})  # fmt: skip
CUDA_NARROWED = NARROWED | {"mv", "addmv", "addr", "rnn_cell", "rnn", "dot"}
LOSSES = frozenset({
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div", "cross_entropy", "nll_loss",
    "cosine_embedding_loss", "binary_cross_entropy_with_logits", "triplet_margin_loss", "margin_ranking_loss",
    "multi_margin_loss",
    "soft_margin_loss", "poisson_nll_loss", "hinge_embedding_loss", "multilabel_margin_loss",
})  # fmt: skip
WIDENED: Mapping[str, frozenset[str]] = {
    "cpu": LOSSES | {"prod", "cdist", "binary_cross_entropy", "quantile", "nanquantile", "stft", "trace"},
    "cuda": LOSSES | {
        "acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log1p", "log2", "reciprocal", "rsqrt",
        "sinh", "tan", "pow", "softplus", "layer_norm", "group_norm", "norm", "normalize", "cosine_similarity",
        "dist", "pdist", "cdist", "renorm", "logsumexp", "prod", "softmax", "softmin", "log_softmax", "cumprod",
        "cumsum", "sum",
    },
}  # fmt: skip
KEPT = frozenset({"float64", "complex64", "complex128", "complex32"})  # autocast leaves these alone


@record()
class Autocast:
    """An autocast region: for which device and to which dtype, None where that is not known."""

    device: str | None = None
    dtype: str | None = None


def adapted(autocast: Autocast, name: str, operands: tuple[Tensor, ...], result: Value) -> Value:
    """The result of an operation inside an autocast region."""
    match result:
        case Tensor(library="numpy" | "jax"):
            return result
        case Tensor(dtype=before):
            after = _dtype(autocast, name, operands, before)
            return result if after == before else replace(result, dtype=after)
        case Tuple(items=items):
            return replace(result, items=tuple(adapted(autocast, name, operands, item) for item in items))
    return result


def _dtype(autocast: Autocast, name: str, operands: tuple[Tensor, ...], before: str | None) -> str | None:
    if is_inexact(before) is False or before in KEPT or any(operand.dtype in KEPT for operand in operands):
        return before
    device = autocast.device
    if name in (CUDA_NARROWED if device == "cuda" else NARROWED):
        return autocast.dtype
    wide = [names for key, names in WIDENED.items() if device in {key, None} and name in names]
    if not wide:
        return before if device is not None or name not in CUDA_NARROWED else None
    return "float32" if device is not None or len(wide) == len(WIDENED) else None
