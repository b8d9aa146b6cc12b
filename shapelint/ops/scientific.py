"""scipy on arrays of numpy: special functions, densities, distances."""

from __future__ import annotations

from shapelint.domain.values import NONE, Shape, Value
from shapelint.events import Kind
from shapelint.ops.contractions import cdist
from shapelint.ops.elementwise import binary, unary
from shapelint.ops.jaxnn import DISTRIBUTIONS, METHODS, density
from shapelint.ops.normalisation import along
from shapelint.ops.op import GraphEffect, Op, Unknowable, tensor
from shapelint.ops.reductions import logsumexp

FUNCTIONS = {
    "expit": "sigmoid", "logit": "logit", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "gammaln": "lgamma",
    "gamma": "gamma", "digamma": "digamma", "psi": "digamma", "log1p": "log1p", "expm1": "expm1", "ndtr": "ndtr",
    "ndtri": "ndtri", "log_ndtr": "log_ndtr", "entr": "entr", "i0": "i0", "i0e": "i0e", "log_expit": "logsigmoid",
}  # fmt: skip
PAIRS = ("xlogy", "xlog1py", "rel_entr", "gammainc", "gammaincc", "betaln", "beta")
MORPHOLOGY = tuple(f"binary_{name}" for name in ("erosion", "dilation", "opening", "closing", "propagation"))
LIKELIHOODS = ("norm", "laplace", "cauchy", "uniform", "logistic", "expon", "t", "gamma", "beta", "chi2")


def mask_of(x: Value, output: Value = NONE) -> Shape:
    """bools of x's shape; where they go somewhere else, nothing is given back."""
    if output != NONE:
        raise Unknowable("written into output")
    return tensor(x).shape


MASK = (Kind.ELEMENTWISE, "bool", GraphEffect.NO_GRAPH)
OPS: tuple[Op, ...] = (
    *(Op(name, mask_of, (f"scipy.ndimage.{name}(input, structure, *, output)",), *MASK) for name in MORPHOLOGY),
    *(
        Op(op, unary, (f"scipy.special.{name}(x, out)",), Kind.ELEMENTWISE, "quotient")
        for name, op in FUNCTIONS.items()
    ),
    *(Op(name, binary, (f"scipy.special.{name}(x, y, out)",), Kind.ELEMENTWISE, "quotient") for name in PAIRS),
    *(
        Op(name, along, (f"scipy.special.{name}(x, axis)",), Kind.NORMALISATION, "quotient")
        for name in ("softmax", "log_softmax")
    ),
    Op(
        "logsumexp",
        logsumexp,
        ("scipy.special.logsumexp(a: x, axis: dim, b, keepdims: keepdim, return_sign)",),
        Kind.REDUCTION,
        "quotient",
    ),
    Op("cdist", cdist, ("scipy.spatial.distance.cdist(XA: x, XB: y, metric, *, out)",), Kind.CONTRACTION, "float64"),
    *(
        Op(
            op,
            density,
            (f"scipy.stats.{name}.{method}(x, {', '.join(f'{p}: {p}' for p in DISTRIBUTIONS[name].split(', '))})",),
            Kind.ELEMENTWISE,
            "float64",
        )
        for name in LIKELIHOODS
        for method, op in METHODS.items()
    ),
)
