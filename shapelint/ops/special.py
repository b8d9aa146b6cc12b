"""Special functions of mathematics: Bessel, gamma and error functions, orthogonal polynomials."""

from __future__ import annotations

from shapelint.domain.values import Shape, Value
from shapelint.events import Kind
from shapelint.ops.elementwise import Row, binary, rows, unary
from shapelint.ops.op import GraphEffect, Op, tensor

NO_GRAPH = GraphEffect.NO_GRAPH


def ordered(n: Value, x: Value) -> Shape:
    """polygamma: the order is a number."""
    return tensor(x).shape


def orders(n: Value, x: Value) -> Shape:
    """polygamma of jax.scipy: orders and arguments broadcast."""
    return binary(n, x)


def multivariate(x: Value, p: Value) -> Shape:
    """mvlgamma: the shape of x."""
    return tensor(x).shape


FUNCTIONS: tuple[Row, ...] = (
    ("i0", "torch sp jnp"),
    ("i0e", "sp"),
    ("i1", "sp"),
    ("i1e", "sp"),
    ("ndtr", "sp"),
    ("ndtri", "sp"),
    ("log_ndtr", "sp"),
    ("erfcx", "sp"),
    ("entr", "sp"),
    ("digamma", "sp.psi"),
)
# torch knows no gradient of these
WITHOUT_GRADIENT = (
    *("airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0"),
    *(f"{scaled}modified_bessel_{kind}{order}" for scaled in ("", "scaled_") for kind in "ik" for order in "01"),
)
POLYNOMIALS = (
    *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    *("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"),
)
PAIRS: tuple[Row, ...] = (
    ("xlog1py", "sp jsp"),
    ("zeta", "sp jsp"),
    ("gammainc", "sp torch.igamma jsp"),
    ("gammaincc", "sp torch.igammac jsp"),
)
POWERS: tuple[Row, ...] = (("heaviside", "torch"),)

OPS: tuple[Op, ...] = (
    *rows(FUNCTIONS, unary, "x", "float"),
    *rows((("i0", "np"),), unary, "x", "quotient"),
    *rows(tuple((name, "sp") for name in WITHOUT_GRADIENT), unary, "x", "float"),
    *rows(tuple((name, "sp") for name in POLYNOMIALS), binary, "x, y", "floats"),
    *rows(PAIRS, binary, "x, y", "floats"),
    *rows(POWERS, binary, "x, y", "promote", NO_GRAPH),
    *rows((("polygamma", "torch sp"),), ordered, "n, x", "float"),
    Op("polygamma", orders, ("jax.scipy.special.polygamma(n, x)",), Kind.ELEMENTWISE, "floats"),
    Op("polygamma", ordered, ("torch.Tensor.polygamma(x, n)",), Kind.ELEMENTWISE, "float"),
    *rows((("mvlgamma", "torch sp.multigammaln"),), multivariate, "x, p", "float"),
)
