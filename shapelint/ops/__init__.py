"""What library calls do to shape, dtype and graph. `infer_call` is the public door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from shapelint.ops import elementwise
from shapelint.ops.op import Op, Spelling, Unknowable, bind, parse_spelling
from shapelint.values import UNKNOWN, Shape, Tensor, Tuple, Value

TOPICS = (elementwise,)

ALIASES: Mapping[str, str] = {}  # other dotted names of the same callable: "torch.concat" -> "torch.cat"

FALLBACKS: Mapping[str, tuple[str, ...]] = {
    "torch.Tensor.": ("torch.", "torch.nn.functional.", "torch.special.", "torch.linalg."),
    "numpy.ndarray.": ("numpy.",),
    "jax.Array.": ("jax.numpy.",),
}


@cache
def _index() -> dict[str, tuple[Op, str]]:
    return {text.partition("(")[0]: (op, text) for topic in TOPICS for op in topic.OPS for text in op.spellings}


@cache
def lookup(name: str) -> Spelling | None:
    """The op of a canonical dotted name, or None where it is not modelled."""
    index = _index()
    name = ALIASES.get(name, name)
    if name in index:
        return parse_spelling(*index[name])
    for prefix, others in FALLBACKS.items():
        if name.startswith(prefix):
            method = name.removeprefix(prefix)
            for candidate in (method, method.removesuffix("_")):
                for other in (prefix, *others):
                    if other + candidate in index:
                        return parse_spelling(*index[other + candidate])
    return None


def infer_call(name: str, args: Sequence[Value], kwargs: Mapping[str, Value] | None = None) -> Value:
    """What the call of a library's callable returns.

    `name` is the canonical dotted name ("torch.mean", "torch.Tensor.mean", "numpy.mean", "jax.numpy.mean",
    "torch.nn.Linear"). Raises ShapeError where the call can never work; Unknown is returned where
    the op is not modelled or too little is known.
    """
    spelling = lookup(name)
    if spelling is None:
        return UNKNOWN
    try:
        return apply(spelling, bind(spelling, tuple(args), kwargs or {}))
    except Unknowable:
        return UNKNOWN


def apply(spelling: Spelling, bound: Mapping[str, Value]) -> Value:
    """The result of an op on bound arguments: shapes by its function, dtype, library and graph by its row."""
    accepted = {name: value for name, value in bound.items() if name in spelling.accepts}
    result = spelling.op.shape(**accepted)
    return finish(spelling, bound, result)


def finish(spelling: Spelling, bound: Mapping[str, Value], result: object) -> Value:
    """Shapes become tensors with the dtype, library and graph that the op's row says."""
    match result:
        case Shape():
            return Tensor(result, library=library_of(spelling.callee))
        case tuple():
            return Tuple(tuple(finish(spelling, bound, part) for part in result))
    return result  # type: ignore[return-value]


def library_of(callee: str) -> str | None:
    root = callee.partition(".")[0]
    return root if root in {"torch", "numpy", "jax"} else None
