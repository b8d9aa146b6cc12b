"""Which of the first two axes holds the samples, as their author declares it: `Float[Tensor, "batch time d"]`."""

from __future__ import annotations

from shapelint.domain.dims import Origin
from shapelint.domain.values import Axis, Tensor

# What authors call these axes in annotations, einsum letters and `b, t, d = x.shape`.
SAMPLES = frozenset({"b", "bs", "bsz", "batch", "batches", "batch_size", "batchsize", "n_batch", "num_batch"})
STEPS = frozenset({
    "t", "time", "times", "timesteps", "time_steps", "steps", "n_steps", "num_steps", "l", "len", "length", "seq",
    "sequence", "seqlen", "seq_len", "seq_length", "sequence_length", "frames", "n_frames", "num_frames",
})  # fmt: skip


def declared_batch_axis(value: Tensor) -> int | None:
    """The axis of the samples (0 or 1) where the first two are named as samples and steps, both; else None."""
    if value.shape.rank != 3:
        return None
    first, second = (declared(axis) for axis in value.shape.head[:2])
    if first in SAMPLES and second in STEPS:
        return 0
    return 1 if first in STEPS and second in SAMPLES else None


def declared(axis: Axis) -> str | None:
    """The name that an axis was given, as an axis."""
    symbol = axis.size.symbol
    return symbol.name.lower() if symbol is not None and symbol.origin is Origin.AXIS else None
