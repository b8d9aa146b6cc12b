"""JAX under guard: the place where jax.numpy promotes ranks, at trace time and op by op."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import jax

from shapelint.runtime.guarding import state, watch


@contextlib.contextmanager
def jax_guard() -> Iterator[None]:
    """Asks jax to warn of rank promotion, and looks at the shapes instead of warning.

    The setting belongs to the key of compiled functions: what was compiled without it is traced again.
    """
    from jax._src.numpy import util

    original = util._rank_promotion_warning_or_error

    def look(name: str, shapes: Sequence[Any]) -> None:
        if state.guards:
            watch(name, [tuple(shape) for shape in shapes])
        else:
            original(name, shapes)

    util._rank_promotion_warning_or_error = look  # type: ignore[assignment]
    try:
        with jax.numpy_rank_promotion("warn"):
            yield
    finally:
        util._rank_promotion_warning_or_error = original
