"""torch.distributions: a constructor's parameters make batch and event axes; methods are ops on the object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce

from shapelint.domain.dims import as_dim
from shapelint.domain.shapes import line_up, never_equal
from shapelint.domain.values import NONE, UNKNOWN, Int, Layer, Many, Shape, Tensor, Tuple, Value
from shapelint.events import Kind
from shapelint.ops.op import (
    GraphEffect,
    Op,
    Result,
    ShapeError,
    Unknowable,
    integer,
    is_none,
    sizes,
    tensor,
)
from shapelint.ops.results import combine, operand_graphs
from shapelint.ops.runs import ends, joined

HOME = "torch.distributions"
BASE = f"{HOME}.Distribution"

# Distributions of single numbers: the parameters broadcast to the batch.
SCALAR: Mapping[str, str] = {
    "Normal": "loc, scale", "Laplace": "loc, scale", "Cauchy": "loc, scale", "Gumbel": "loc, scale",
    "LogNormal": "loc, scale", "Uniform": "low, high", "Beta": "concentration1, concentration0",
    "Gamma": "concentration, rate", "InverseGamma": "concentration, rate", "StudentT": "df, loc, scale",
    "Exponential": "rate", "HalfNormal": "scale", "HalfCauchy": "scale", "Poisson": "rate", "Chi2": "df",
    "Bernoulli": "probs, logits", "Geometric": "probs, logits", "ContinuousBernoulli": "probs, logits",
    "Binomial": "total_count, probs, logits", "NegativeBinomial": "total_count, probs, logits",
    "Pareto": "scale, alpha", "Weibull": "scale, concentration", "VonMises": "loc, concentration",
    "Kumaraswamy": "concentration1, concentration0", "FisherSnedecor": "df1, df2",
}  # fmt: skip
# Distributions over the last axis of their parameter. Categorical's events are single numbers.
VECTOR: Mapping[str, str] = {
    "Categorical": "probs, logits", "OneHotCategorical": "probs, logits",
    "OneHotCategoricalStraightThrough": "probs, logits", "Multinomial": "total_count, probs, logits",
    "Dirichlet": "concentration", "RelaxedOneHotCategorical": "temperature, probs, logits",
}  # fmt: skip
OTHERS: Mapping[str, str] = {
    "MultivariateNormal": "loc, covariance_matrix, precision_matrix, scale_tril",
    "LowRankMultivariateNormal": "loc, cov_factor, cov_diag",
    "Independent": "base_distribution, reinterpreted_batch_ndims",
    "MixtureSameFamily": "mixture_distribution, component_distribution",
}
CONSTRUCTORS: Mapping[str, str] = {**SCALAR, **VECTOR, **OTHERS}
NAMES = frozenset(f"{HOME}.{name}" for name in CONSTRUCTORS)
NO_PARAMETERS = frozenset({"total_count", "temperature", "validate_args"})


def shapes(layer: Value) -> tuple[Shape, Shape]:
    """Batch and event shape."""
    if not isinstance(layer, Layer) or layer.name not in NAMES:
        raise Unknowable("no distribution that is known")
    name = layer.name.removeprefix(f"{HOME}.")
    config = layer.config
    match name:
        case "Independent":
            return _independent(config)
        case "MixtureSameFamily":
            batch, event = shapes(config.get("component_distribution", NONE))
            return ends(batch, 0, 1)[1], event
        case "MultivariateNormal" | "LowRankMultivariateNormal":
            return _multivariate(config)
    known = _parameters(config)
    if name in VECTOR:
        _, lead, last = ends(_broadcast(known), 0, 1)
        if "total_count" in config and name != "Multinomial":
            raise Unknowable("counts have a shape of their own")
        return lead, Shape() if name == "Categorical" else Shape(last)
    if name in {"Binomial", "NegativeBinomial"} and "total_count" in config:
        known = [*known, tensor(config["total_count"]).shape]
    return _broadcast(known), Shape()


def _parameters(config: Mapping[str, Value]) -> list[Shape]:
    return [tensor(value).shape for name, value in config.items() if name not in NO_PARAMETERS and not is_none(value)]


def _broadcast(operands: list[Shape]) -> Shape:
    if not operands:
        return Shape()
    return reduce(_lined_up, operands)


def _lined_up(a: Shape, b: Shape) -> Shape:
    lined_up = line_up(a, b)
    if lined_up.conflict is not None:
        raise ShapeError(f"{a} and {b} do not broadcast")
    return lined_up.shape


def _independent(config: Mapping[str, Value]) -> tuple[Shape, Shape]:
    batch, event = shapes(config.get("base_distribution", NONE))
    count = integer(config.get("reinterpreted_batch_ndims", NONE))
    if count == 0:
        return batch, event
    _, rest, moved = ends(batch, 0, count)
    return rest, joined(moved, event)


def _multivariate(config: Mapping[str, Value]) -> tuple[Shape, Shape]:
    _, batch, (last,) = ends(tensor(config["loc"]).shape, 0, 1)
    for name, count in {
        "covariance_matrix": 2,
        "precision_matrix": 2,
        "scale_tril": 2,
        "cov_factor": 2,
        "cov_diag": 1,
    }.items():
        value = config.get(name, NONE)
        if not is_none(value):
            _, lead, axes = ends(tensor(value).shape, 0, count)
            batch = _lined_up(batch, lead)
            if never_equal(axes[0].size, last.size):
                raise ShapeError(f"{name} is {tensor(value)}, the mean has {last} components")
    return batch, Shape((last,))


def _joined(batch: Shape, event: Shape) -> Shape:
    if event.run is not None:
        raise Unknowable("rank of the event not known")
    return joined((), batch, event.head)


def sample(receiver: Value, shape: Value = NONE) -> Shape:
    """sample_shape -> (*sample_shape, *batch, *event)"""
    batch, event = shapes(receiver)
    before = Shape() if is_none(shape) else sizes(shape)
    after = _joined(batch, event)
    if before.run is not None and after.run is not None:
        raise Unknowable("rank not known")
    if before.run is not None:
        return Shape(before.head, before.run, (*before.tail, *after.head))
    return joined(before.head, after)


def log_prob(receiver: Value, value: Value) -> Shape:
    """(…, *event) -> (…), broadcast with the batch."""
    batch, event = shapes(receiver)
    if event.rank is None:
        raise Unknowable("rank of the event not known")
    _, lead, axes = ends(tensor(value).shape, 0, event.rank)
    for axis, expected in zip(axes, event.head):
        if never_equal(axis.size, expected.size) and axis.size != as_dim(1):
            raise ShapeError(f"the value {tensor(value)} does not end with the event shape {event}")
    return _lined_up(lead, batch)


def entropy(receiver: Value) -> Shape:
    """-> batch"""
    return shapes(receiver)[0]


def kl_divergence(p: Value, q: Value) -> Shape:
    """The two batches, broadcast."""
    return _lined_up(shapes(p)[0], shapes(q)[0])


def attribute(layer: Layer, name: str) -> Value | None:
    """`normal.mean`, `dist.batch_shape`, `categorical.logits`; None for methods and what is not known."""
    try:
        return _attribute(layer, name)
    except (Unknowable, ShapeError):
        return UNKNOWN


def _attribute(layer: Layer, name: str) -> Value | None:
    graph = combine(operand_graphs(layer.config))
    match name:
        case "batch_shape" | "event_shape":
            shape = shapes(layer)[name == "event_shape"]
            return Tuple(tuple(map(Int, shape.sizes)), "size") if shape.run is None else Many(UNKNOWN, kind="size")
        case "mean" | "variance" | "stddev" | "mode":
            batch, event = shapes(layer)
            return Tensor(_joined(batch, event), library="torch", graph=graph)
        case "base_dist" | "mixture_distribution" | "component_distribution":
            return layer.config.get("base_distribution" if name == "base_dist" else name)
        case "probs" | "logits":
            names = [n for n in ("probs", "logits") if not is_none(layer.config.get(n, NONE))]
            return replace(tensor(layer.config[names[0]]), made_by=None) if names else None
    if name in layer.config and layer.name.removeprefix(f"{HOME}.") in SCALAR and name != "total_count":
        return Tensor(shapes(layer)[0], library="torch", graph=graph)
    return None


def opaque() -> Result:
    raise Unknowable("a distribution is not called")


def own_names(parameters: str) -> str:
    """A signature in which every name stays what it is."""
    return ", ".join(f"{name}: {name}" for name in parameters.split(", "))


def _method(name: str, shape: Callable[..., Result], arguments: str, kind: Kind, graph: GraphEffect) -> Op:
    dtype = of_events if name == "sample" else "float"
    return Op(name, shape, (f"{BASE}.{arguments}",), kind, dtype, graph)


def of_events(bound: Mapping[str, Value], library: str | None) -> str | None:
    """Categorical's events are counted; others have the dtype of the parameters."""
    receiver = bound.get("receiver")
    return "int64" if isinstance(receiver, Layer) and receiver.name == f"{HOME}.Categorical" else None


SMOOTH = GraphEffect.DIFFERENTIABLE
OPS: tuple[Op, ...] = (
    *(
        Op("distribution", opaque, (f"{HOME}.{name}({own_names(parameters)}, validate_args)",), inputs="*args")
        for name, parameters in CONSTRUCTORS.items()
    ),
    _method("sample", sample, "sample(sample_shape: shape)", Kind.RANDOM, GraphEffect.NO_GRAPH),
    _method("rsample", sample, "rsample(sample_shape: shape)", Kind.RANDOM, SMOOTH),
    _method("log_prob", log_prob, "log_prob(value)", Kind.ELEMENTWISE, SMOOTH),
    _method("cdf", log_prob, "cdf(value)", Kind.ELEMENTWISE, SMOOTH),
    _method("icdf", log_prob, "icdf(value)", Kind.ELEMENTWISE, SMOOTH),
    _method("entropy", entropy, "entropy()", Kind.ELEMENTWISE, SMOOTH),
    Op(
        "kl_divergence",
        kl_divergence,
        (f"{HOME}.kl_divergence(p, q)", f"{HOME}.kl.kl_divergence(p, q)"),
        Kind.ELEMENTWISE,
        "float",
    ),
)

MODULES: Mapping[str, str] = {  # where a name is not the module's in snake case
    "StudentT": "studentT", "Chi2": "chi2", "VonMises": "von_mises", "FisherSnedecor": "fishersnedecor",
    "OneHotCategorical": "one_hot_categorical", "OneHotCategoricalStraightThrough": "one_hot_categorical",
    "RelaxedOneHotCategorical": "relaxed_categorical", "LowRankMultivariateNormal": "lowrank_multivariate_normal",
}  # fmt: skip


def _snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(name))


ALIASES = {f"{HOME}.{MODULES.get(name, _snake(name))}.{name}": f"{HOME}.{name}" for name in CONSTRUCTORS}
