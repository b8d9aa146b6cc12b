"""scipy on arrays of numpy: special functions, densities, distances."""

from __future__ import annotations

from shapelint.events import Kind
from shapelint.ops.contractions import cdist
from shapelint.ops.elementwise import binary, unary
from shapelint.ops.jaxnn import DISTRIBUTIONS, METHODS, density
from shapelint.ops.normalisation import along
from shapelint.ops.op import Op
from shapelint.ops.reductions import logsumexp

FUNCTIONS = {
    "expit": "sigmoid", "logit": "logit", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "gammaln": "lgamma",
    "gamma": "gamma", "digamma": "digamma", "psi": "digamma", "log1p": "log1p", "expm1": "expm1", "ndtr": "ndtr",
    "ndtri": "ndtri", "log_ndtr": "log_ndtr", "entr": "entr", "i0": "i0", "i0e": "i0e", "log_expit": "logsigmoid",
}  # fmt: skip
PAIRS = ("xlogy", "xlog1py", "rel_entr", "gammainc", "gammaincc", "betaln", "beta")
LIKELIHOODS = ("norm", "laplace", "cauchy", "uniform", "logistic", "expon", "t", "gamma", "beta", "chi2")

OPS: tuple[Op, ...] = (
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
