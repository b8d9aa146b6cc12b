"""What library calls do to shape, dtype and graph. `infer_call` is the public door."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TypeAlias

from shapelint.domain.values import UNKNOWN, Int, Layer, Tensor, Unknown, Value
from shapelint.ops import (
    assembled,
    attention,
    autograd,
    broadcasting,
    casts,
    contractions,
    convolutions,
    creation,
    data,
    datasets,
    distributions,
    einops,
    einx,
    elementwise,
    environments,
    estimators,
    factorisations,
    files,
    flax,
    frames,
    fused,
    images,
    indexing,
    jaxnn,
    joining,
    layers,
    layout,
    limits,
    linalg,
    losses,
    masked,
    normalisation,
    opencv,
    operators,
    ordering,
    pooling,
    random,
    recurrent,
    reductions,
    replay,
    reshaping,
    scientific,
    selecting,
    special,
    spectral,
    splitting,
    statistics,
    storage,
    stretching,
    trees,
    vision,
)
from shapelint.ops.calls import attach, attribute, bind_inputs, bind_receiver, construct
from shapelint.ops.data import iterate as iterate
from shapelint.ops.op import Op, Spelling, Unknowable, bind, parse_spelling
from shapelint.ops.results import combine, finish, operand_graphs, take_effect

TOPICS = (
    *(elementwise, operators, broadcasting),
    *(reductions, normalisation, ordering, creation, random, casts, autograd),
    *(reshaping, layout, stretching, joining, splitting, indexing, selecting, contractions, linalg, einops, einx),
    *(scientific, special, spectral, statistics, masked, assembled, factorisations, storage, fused, limits),
    *(layers, convolutions, pooling, recurrent, attention, losses, distributions, data, jaxnn, flax),
    *(files, datasets, estimators, frames, images, opencv, vision, environments, replay, trees),
)

# Other dotted names of the same callable: "torch.concat" -> "torch.cat". A topic may have its own in ALIASES.
ALIASES: Mapping[str, str] = {"operator.matmul": "torch.matmul"}

# Modules that hand on another one's functions.
REEXPORTS: Mapping[str, str] = {
    "flax.linen.": "jax.nn.",
    "flax.nnx.": "jax.nn.",
    **{f"quaxed.{module}.": f"jax.{module}." for module in ("numpy", "lax", "scipy")},
}

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
        return replace(
            found, in_place=name.startswith("torch.Tensor.") and name.endswith("_") and not name.endswith("__")
        )
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
    return [name, *(to + name.removeprefix(module) for module, to in REEXPORTS.items() if name.startswith(module))]


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
    if spelling.op.inputs:
        return construct(spelling, bound)
    accepted = {name: value for name, value in bound.items() if spelling.accepts_any or name in spelling.accepts}
    if not spelling.requires <= accepted.keys():
        raise Unknowable("an argument is missing")
    return attach(finish(spelling, bound, spelling.op.shape(**accepted)), spelling)


Bound: TypeAlias = tuple[Spelling, dict[str, Value]]


def bind_call(layer: Layer, args: Sequence[Value], kwargs: Mapping[str, Value] | None = None) -> Bound | None:
    """What to apply where an object of a library class is called; None where it is not modelled.

    Raises Unknowable where its signature does not take the arguments.
    """
    constructor = lookup(layer.name)
    return bind_inputs(constructor, layer, args, kwargs or {}) if constructor is not None else None


def bind_method(
    layer: Layer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value] | None = None
) -> Bound | None:
    """The same for a method of the object: `normal.log_prob(value)`."""
    owners = (layer.name, distributions.BASE) if layer.name in distributions.NAMES else (layer.name,)
    spelling = next(filter(None, (lookup(f"{owner}.{name}") for owner in owners)), None)
    return bind_receiver(spelling, layer, args, kwargs or {}) if spelling is not None else None


def call_layer(layer: Layer, args: Sequence[Value], kwargs: Mapping[str, Value] | None = None) -> Value:
    """The result of `layer(*args, **kwargs)`. Raises ShapeError where the call can never work."""
    return _applied(partial(bind_call, layer, args, kwargs))


def call_method(layer: Layer, name: str, args: Sequence[Value], kwargs: Mapping[str, Value] | None = None) -> Value:
    """The result of `layer.name(*args, **kwargs)`. Raises ShapeError where the call can never work."""
    return _applied(partial(bind_method, layer, name, args, kwargs))


def _applied(bound: Callable[[], Bound | None]) -> Value:
    try:
        found = bound()
        return apply(*found) if found is not None else UNKNOWN
    except Unknowable:
        return UNKNOWN


def layer_attribute(layer: Layer, name: str) -> Value | None:
    """`layer.weight`, `lstm.hidden_size`, `normal.mean`; None where it is none that is known."""
    constructor = lookup(layer.name)
    if layer.name in distributions.NAMES:
        return distributions.attribute(layer, name)
    if layer.name in limits.NAMES:
        return limits.attribute(layer, name)
    if layer.name in frames.NAMES:
        return frames.attribute(layer, name)
    if layer.name == images.PICTURE:
        return images.attribute(layer, name)
    if vision.is_dataset(layer):
        return vision.attribute(layer, name)
    if layer.name.startswith(environments.LIBRARIES):
        return environments.attribute(layer, name)
    if layer.name.startswith(("sklearn.", "scipy.")):
        return estimators.attribute(layer, name)
    return attribute(constructor, layer, name) if constructor is not None else None


def part_of(layer: Layer, index: Value) -> Value | None:
    """`layer[index]`: a sample of a data set, a column of a table; None where it is not known what that is."""
    if layer.name.startswith("pandas."):
        return frames.picked(layer, index)
    return data.sample(layer) if isinstance(index, Int | Tensor) else None
