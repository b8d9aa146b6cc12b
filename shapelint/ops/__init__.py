"""What library calls do to shape, dtype and graph. `infer_call` is the public door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from shapelint.ops import autograd, casts, creation, elementwise, normalisation, ordering, random, reductions
from shapelint.ops.op import Op, Spelling, Unknowable, bind, parse_spelling
from shapelint.ops.results import combine, finish, operand_graphs, take_effect
from shapelint.values import UNKNOWN, Unknown, Value

TOPICS = (elementwise, reductions, normalisation, ordering, creation, random, casts, autograd)

# Other dotted names of the same callable: "torch.concat" -> "torch.cat". A topic may have its own in ALIASES.
ALIASES: Mapping[str, str] = {"operator.matmul": "torch.matmul"}

FALLBACKS: Mapping[str, tuple[str, ...]] = {
    "torch.Tensor.": ("torch.", "torch.nn.functional.", "torch.special.", "torch.linalg."),
    "numpy.ndarray.": ("numpy.",),
    "jax.Array.": ("jax.numpy.",),
}


@cache
def _index() -> dict[str, tuple[Op, str]]:
    return {text.partition("(")[0]: (op, text) for topic in TOPICS for op in topic.OPS for text in op.spellings}


@cache
def _aliases() -> dict[str, str]:
    return {**ALIASES, **{name: to for topic in TOPICS for name, to in getattr(topic, "ALIASES", {}).items()}}


@cache
def lookup(name: str) -> Spelling | None:
    """The op of a canonical dotted name, or None where it is not modelled."""
    found = _find(name)
    if found is not None:
        return replace(found, in_place=name.startswith("torch.Tensor.") and name.endswith("_"))
    if name.startswith("operator.i"):  # operator.iadd
        plain = name.replace(".i", ".", 1)
        found = _find(plain) or _find(f"{plain}_")  # operator.iand, operator.and_
    elif name.endswith("_") and not name.endswith("__"):
        found = _find(name.removesuffix("_"))
    return replace(found, in_place=True) if found is not None else None


def _find(name: str) -> Spelling | None:
    index, aliases = _index(), _aliases()
    by_operands = name.startswith(("operator.", *FALLBACKS))
    for candidate in _candidates(name):
        candidate = aliases.get(candidate, candidate)
        if candidate in index:
            return replace(parse_spelling(*index[candidate]), by_operands=by_operands)
    return None


def _candidates(name: str) -> Sequence[str]:
    for prefix, others in FALLBACKS.items():
        if name.startswith(prefix):
            return [name, *(other + name.removeprefix(prefix) for other in others)]
    return [name]


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
        bound = bind(spelling, tuple(args), kwargs or {})
    except Unknowable:
        return UNKNOWN
    try:
        return apply(spelling, bound)
    except Unknowable:
        return Unknown(graph=take_effect(spelling.op.graph, combine(operand_graphs(bound))))


def apply(spelling: Spelling, bound: Mapping[str, Value]) -> Value:
    """The result of an op on bound arguments: shapes by its function, dtype, library and graph by its row.

    Raises ShapeError where the call can never work, Unknowable where too little is known.
    """
    accepted = {name: value for name, value in bound.items() if spelling.accepts_any or name in spelling.accepts}
    if not spelling.requires <= accepted.keys():
        raise Unknowable("an argument is missing")
    return finish(spelling, bound, spelling.op.shape(**accepted))
