"""Torch under guard: a mode that sees each call of a torch function in this thread."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from shapelint.runtime.extras import words
from shapelint.runtime.guarding import watch, watch_loss

_BINARY = words(
    "add sub subtract mul multiply div divide true_divide floor_divide remainder fmod pow atan2 arctan2 maximum "
    "minimum fmax fmin eq ne lt le gt ge equal less greater less_equal greater_equal not_equal logical_and logical_or "
    "logical_xor bitwise_and bitwise_or bitwise_xor hypot copysign xlogy isclose allclose heaviside ldexp"
)
_DUNDER = words("add sub mul truediv floordiv mod pow eq ne lt le gt ge and or xor")
ELEMENTWISE = frozenset(
    {
        *_BINARY,
        *(f"__{name}__" for name in _DUNDER),
        *(f"__r{name}__" for name in _DUNDER),
        *words("where clamp clip lerp addcmul addcdiv masked_fill masked_select broadcast_tensors masked_scatter"),
    }
)
LOSSES = words(
    "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div "
    "poisson_nll_loss soft_margin_loss hinge_embedding_loss gaussian_nll_loss"
)
Tensor = torch.Tensor


class TorchGuard(TorchFunctionMode):
    """Looks at the shapes of elementwise operations and losses before they run; changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not torch.compiler.is_compiling():
            name = getattr(func, "__name__", None)
            if name in ELEMENTWISE:
                self._elementwise(name, args, kwargs)
            elif name in LOSSES:
                self._loss(name, args, kwargs)
        return func(*args, **kwargs) if kwargs else func(*args)

    def _elementwise(self, name: str, args: Any, kwargs: Any) -> None:
        if not kwargs and len(args) == 2:  # nearly all of them
            a, b = args
            if isinstance(a, Tensor) and isinstance(b, Tensor) and a.dim() != b.dim():
                watch(name, (tuple(a.shape), tuple(b.shape)))
            return
        operands = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
        values = [*operands, *kwargs.values()] if kwargs else operands
        watch(name, [tuple(value.shape) if isinstance(value, Tensor) else () for value in values])

    def _loss(self, name: str, args: Any, kwargs: Any) -> None:
        sides = [*args[:2], *((kwargs or {}).get(side) for side in ("input", "target") if side in (kwargs or {}))]
        if len(sides) >= 2 and isinstance(sides[0], Tensor) and isinstance(sides[1], Tensor):
            watch_loss(name, tuple(sides[0].shape), tuple(sides[1].shape))
