"""jax.nn and jax.scipy beyond what is elementwise in every library."""

from __future__ import annotations

from functools import reduce
from itertools import islice

from shapelint.domain.shapes import line_up
from shapelint.domain.values import NONE, Axis, Shape, Value
from shapelint.events import Kind
from shapelint.ops.creation import of_floats
from shapelint.ops.elementwise import unary
from shapelint.ops.op import GraphEffect, Op, ShapeError, Unknowable, integer, is_none, size_or_any, tensor
from shapelint.ops.runs import joined


def one_hot(x: Value, num_classes: Value, dim: Value = NONE) -> Shape:
    """(…) of classes -> (…, num_classes), or the new axis at `axis`."""
    shape = tensor(x).shape
    axis = Axis(size_or_any(num_classes))
    place = -1 if is_none(dim) else integer(dim)
    if place == -1:
        return joined((), shape, (axis,))
    if shape.rank is None:
        raise Unknowable("rank not known")
    place = place if place >= 0 else place + shape.rank + 1
    return Shape((*shape.head[:place], axis, *shape.head[place:]))


def attended(x: Value, key: Value) -> Shape:
    """query (b, t, n, h), key and value (b, s, k, h) -> (b, t, n, h)"""
    return tensor(x).shape


def density(x: Value, **parameters: Value) -> Shape:
    """A value and the parameters of its distribution, broadcast."""
    operands = [tensor(value).shape for value in (x, *parameters.values())]
    return reduce(_meet, operands)


def _meet(a: Shape, b: Shape) -> Shape:
    lined_up = line_up(a, b)
    if lined_up.conflict is not None:
        raise ShapeError(f"{a} and {b} do not broadcast")
    return lined_up.shape


SPECIAL = (
    "dawsn", "entr", "erfcx", "exp1", "expi", "factorial", "gamma", "gammasgn", "i0", "i0e", "i1", "i1e",
    "log_ndtr", "loggamma", "ndtr", "ndtri", "spence",
)  # fmt: skip
METHODS = {"logpdf": "log_prob", "pdf": "pdf", "cdf": "cdf", "sf": "cdf", "logcdf": "cdf", "logsf": "cdf"}
DISTRIBUTIONS = {
    "norm": "loc, scale", "laplace": "loc, scale", "cauchy": "loc, scale", "uniform": "loc, scale",
    "logistic": "loc, scale", "expon": "loc, scale", "t": "df, loc, scale", "gamma": "a, loc, scale",
    "beta": "a, b, loc, scale", "chi2": "df, loc, scale", "pareto": "b, loc, scale",
}  # fmt: skip
# How many of METHODS they have, where not all.
FEWER = {"laplace": 3, "uniform": 3, "logistic": 4, "t": 2}
DISCRETE = {"bernoulli": "p, loc", "poisson": "mu, loc", "geom": "p, loc"}


def _parameters(names: str) -> str:
    return ", ".join(f"{name}: {name}" for name in names.split(", "))


OPS: tuple[Op, ...] = (
    Op(
        "one_hot",
        one_hot,
        ("jax.nn.one_hot(x, num_classes, *, dtype, axis)",),
        Kind.OTHER,
        of_floats,
        GraphEffect.NO_GRAPH,
    ),
    Op("scaled_dot_product_attention", attended, ("jax.nn.dot_product_attention(query: x, key, value)",), dtype="same"),
    *(
        Op(name, unary, (f"jax.nn.{name}(x)",), Kind.ELEMENTWISE, "float")
        for name in ("squareplus", "sparse_plus", "sparse_sigmoid", "log1mexp")
    ),
    Op("identity", unary, ("jax.nn.identity(x)",), Kind.ELEMENTWISE, "same"),
    *(Op(name, unary, (f"jax.scipy.special.{name}(x)",), Kind.ELEMENTWISE, "float") for name in SPECIAL),
    *(
        Op(
            op,
            density,
            (f"jax.scipy.stats.{name}.{method}(x, {_parameters(parameters)})",),
            Kind.ELEMENTWISE,
            "floats",
        )
        for name, parameters in DISTRIBUTIONS.items()
        for method, op in islice(METHODS.items(), FEWER.get(name))
    ),
    *(
        Op(
            op,
            density,
            (f"jax.scipy.stats.{name}.{method}(k: x, {_parameters(parameters)})",),
            Kind.ELEMENTWISE,
            "float",
        )
        for name, parameters in DISCRETE.items()
        for method, op in {"logpmf": "log_prob", "pmf": "pdf"}.items()
    ),
)
