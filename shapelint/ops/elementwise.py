"""Ops that broadcast their tensor operands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from shapelint.domain.values import EITHER, NONE, Axis, Shape, Tensor, Value
from shapelint.events import Kind
from shapelint.ops.axes import edited
from shapelint.ops.broadcasting import broadcast_all
from shapelint.ops.dtypes import element_dtype, promote_of, result_dtype, to_real
from shapelint.ops.op import DtypeRule, GraphEffect, Op, integer, is_none, tensor

NO_GRAPH, ZERO = GraphEffect.NO_GRAPH, GraphEffect.ZERO_GRADIENT

# Where a table's short name lives, and the library's parameters after the operands.
PLACES: Mapping[str, tuple[str, str]] = {
    "torch": ("torch.", "option, option2, option3"),
    "F": ("torch.nn.functional.", "option, option2, option3, option4"),
    "sp": ("torch.special.", "option, option2"),
    "np": ("numpy.", "out, option2, option3, *, where, dtype"),
    "jnp": ("jax.numpy.", "option, option2, option3"),
    "jnn": ("jax.nn.", "option, option2"),
    "lax": ("jax.lax.", "option, *, out_dtype: dtype"),
    "jsp": ("jax.scipy.special.", "option"),
}


def binary(x: Value, y: Value) -> Shape:
    """(…a) with (…b): lined up from the right."""
    return broadcast_all(tensor(x).shape, tensor(y).shape)


def all_close(x: Value, y: Value) -> Value:
    """One bool, of which nothing is known but that the operands were lined up."""
    binary(x, y)
    return EITHER


def one_bool(x: Value, y: Value = NONE) -> Value:
    """Whether two arrays are equal throughout, or an array is complex: one bool, whatever the shapes."""
    return EITHER


def unary(x: Value) -> Shape:
    """The shape of x."""
    return tensor(x).shape


def addcmul(x: Value, tensor1: Value, tensor2: Value) -> Shape:
    return broadcast_all(*(tensor(v).shape for v in (x, tensor1, tensor2)))


def lerp(x: Value, end: Value, weight: Value) -> Shape:
    return broadcast_all(*(tensor(v).shape for v in (x, end, weight)))


def clamp(x: Value, min: Value = NONE, max: Value = NONE) -> Shape:
    """x with its bounds, which may be tensors."""
    return broadcast_all(*(tensor(v).shape for v in (x, min, max) if not is_none(v)))


def masked_fill(x: Value, mask: Value) -> Shape:
    return broadcast_all(tensor(x).shape, tensor(mask).shape)


def overwritten(x: Value, value: Value = NONE) -> Shape:
    """copy_, fill_, normal_: the receiver's shape, into which a tensor's must fit."""
    shapes = [tensor(v).shape for v in (x, value) if not is_none(v)]
    return broadcast_all(*shapes) if isinstance(value, Tensor) else shapes[0]


def prelu(x: Value, weight: Value) -> Shape:
    """The shape of x; there is one weight, or one for each channel."""
    return tensor(x).shape


def glu(x: Value, dim: Value = NONE) -> Shape:
    """(…, 2n, …) -> (…, n, …)"""
    axis = -1 if is_none(dim) else integer(dim)
    return edited(tensor(x).shape, (axis,), lambda a: (Axis(a.size // 2),))


def double(bound: Mapping[str, Value], library: str | None) -> str | None:
    """float_power computes in the widest floats, or complex numbers."""
    known = result_dtype("promote", bound, library)
    return None if known is None else "complex128" if known.startswith("complex") else "float64"


def angle_dtype(bound: Mapping[str, Value], library: str | None) -> str | None:
    """The dtype of a phase; numpy goes through its default ints for bools."""
    is_bool = element_dtype(bound["x"], library) == "bool"
    return result_dtype("quotient", bound, library) if is_bool else to_real(bound, library)


def quotient_dtype(bound: Mapping[str, Value], library: str | None) -> str | None:
    """A division's dtype; rounded it stays whole."""
    rounded = not is_none(bound.get("rounding_mode", NONE))
    return result_dtype("promote" if rounded else "quotient", bound, library)


def spelled(table: Iterable[str], operands: str, places: Mapping[str, tuple[str, str]] = PLACES) -> Iterator[str]:
    """ "np.exp" -> "numpy.exp(x, out, *, where, dtype)" """
    for short in table:
        place, _, name = short.partition(".")
        prefix, rest = places[place]
        yield f"{prefix}{name}({operands}, {rest})"


Row = tuple[str, str]


def rows(
    table: Iterable[Row],
    function: object,
    operands: str,
    dtype: DtypeRule = "promote",
    graph: GraphEffect = GraphEffect.DIFFERENTIABLE,
) -> tuple[Op, ...]:
    """One op for each (name, spellings) of a table; a bare library means the same name there."""

    def full(name: str, short: str) -> str:
        return short if "." in short else f"{short}.{name}"

    return tuple(
        Op(
            name,
            function,  # type: ignore[arg-type]
            tuple(spelled([full(name, short) for short in spellings.split()], operands)),
            Kind.ELEMENTWISE,
            dtype,
            graph,
        )
        for name, spellings in table
    )


ARITHMETIC: tuple[Row, ...] = (
    ("add", "torch np jnp lax"),
    ("sub", "torch torch.subtract torch.rsub np.subtract jnp.subtract lax"),
    ("mul", "torch torch.multiply np.multiply jnp.multiply lax"),
    ("maximum", "torch np jnp torch.fmax np.fmax jnp.fmax lax.max"),
    ("minimum", "torch np jnp torch.fmin np.fmin jnp.fmin lax.min"),
    ("bitwise_and", "torch np jnp lax"),
    ("bitwise_or", "torch np jnp lax"),
    ("bitwise_xor", "torch np jnp lax"),
    ("gcd", "torch np jnp"),
    ("lcm", "torch np jnp"),
)
COUNTING: tuple[Row, ...] = (
    ("floor_divide", "torch np jnp"),
    ("remainder", "torch np np.mod jnp jnp.mod"),
    ("fmod", "torch np jnp lax.rem"),
    ("pow", "torch np.power np jnp.power jnp lax"),
    ("lshift", "torch.bitwise_left_shift np.left_shift jnp.left_shift lax.shift_left"),
    ("rshift", "torch.bitwise_right_shift np.right_shift jnp.right_shift lax.shift_right_logical"),
)
QUOTIENTS: tuple[Row, ...] = (
    ("div", "torch torch.true_divide torch.divide np.divide np.true_divide jnp.divide jnp.true_divide"),
    ("ldexp", "torch"),
)
FLOAT_PAIRS: tuple[Row, ...] = (
    ("nextafter", "torch np jnp lax"),
    ("atan2", "torch torch.arctan2 np np.arctan2 jnp jnp.arctan2 lax"),
    ("hypot", "torch np jnp"),
    ("copysign", "torch np jnp"),
    ("logaddexp", "torch np jnp torch.logaddexp2 np.logaddexp2 jnp.logaddexp2"),
    ("xlogy", "torch sp jsp"),
    ("heaviside", "np jnp"),
)
COMPARISONS: tuple[Row, ...] = (
    ("eq", "torch np.equal jnp.equal lax"),
    ("ne", "torch torch.not_equal np.not_equal jnp.not_equal lax"),
    ("lt", "torch torch.less np.less jnp.less lax"),
    ("le", "torch torch.less_equal np.less_equal jnp.less_equal lax"),
    ("gt", "torch torch.greater np.greater jnp.greater lax"),
    ("ge", "torch torch.greater_equal np.greater_equal jnp.greater_equal lax"),
    ("logical_and", "torch np jnp"),
    ("logical_or", "torch np jnp"),
    ("logical_xor", "torch np jnp"),
    ("isclose", "torch np jnp"),
)
PREDICATES: tuple[Row, ...] = (
    ("isnan", "torch np jnp"),
    ("isinf", "torch np jnp"),
    ("isfinite", "torch np jnp lax.is_finite"),
    ("isposinf", "torch np jnp"),
    ("isneginf", "torch np jnp"),
    ("isreal", "torch np jnp"),
    ("iscomplex", "np jnp"),
    ("signbit", "torch np jnp"),
    ("logical_not", "torch np jnp"),
)
FLOAT_FUNCTIONS: tuple[Row, ...] = (
    ("exp", "torch np jnp lax"),
    ("exp2", "torch sp np jnp lax"),
    ("expm1", "torch sp np jnp lax"),
    ("log", "torch np jnp lax"),
    ("log2", "torch np jnp"),
    ("log10", "torch np jnp"),
    ("log1p", "torch sp np jnp lax"),
    ("sqrt", "torch np jnp lax"),
    ("rsqrt", "torch lax"),
    ("reciprocal", "torch jnp"),
    ("abs", "np.fabs jnp.fabs"),
    ("cbrt", "np jnp lax"),
    ("sin", "torch np jnp lax"),
    ("cos", "torch np jnp lax"),
    ("tan", "torch np jnp lax"),
    ("asin", "torch torch.arcsin np.arcsin jnp jnp.arcsin lax np"),
    ("acos", "torch torch.arccos np.arccos jnp jnp.arccos lax np"),
    ("atan", "torch torch.arctan np.arctan jnp jnp.arctan lax np"),
    ("sinh", "torch np jnp lax"),
    ("cosh", "torch np jnp lax"),
    ("tanh", "torch F np jnp lax jnn"),
    ("asinh", "torch torch.arcsinh np np.arcsinh jnp jnp.arcsinh lax"),
    ("acosh", "torch torch.arccosh np np.arccosh jnp jnp.arccosh lax"),
    ("atanh", "torch torch.arctanh np np.arctanh jnp jnp.arctanh lax"),
    ("sigmoid", "torch F sp.expit jnn lax.logistic jsp.expit"),
    ("logit", "torch sp jsp"),
    ("erf", "torch sp lax jsp"),
    ("erfc", "torch sp lax jsp"),
    ("erfinv", "torch sp lax.erf_inv jsp"),
    ("lgamma", "torch sp.gammaln lax jsp.gammaln"),
    ("digamma", "torch sp lax jsp"),
    ("sinc", "torch sp jnp"),
    ("deg2rad", "torch np jnp np.radians jnp.radians"),
    ("rad2deg", "torch np jnp np.degrees jnp.degrees"),
)
SAME_FUNCTIONS: tuple[Row, ...] = (
    ("neg", "torch torch.negative np.negative jnp.negative lax"),
    ("square", "lax"),
    ("positive", "torch np jnp"),
    ("invert", "torch.bitwise_not np.invert np.bitwise_not jnp.invert jnp.bitwise_not lax.bitwise_not"),
    ("conj", "torch jnp torch.resolve_conj torch.conj_physical jnp.conjugate"),
    ("nan_to_num", "torch np jnp"),
    ("frac", "torch"),
    ("relu6", "F"),
    ("hardsigmoid", "F"),
    ("hardswish", "F"),
    ("hardshrink", "F torch"),
    ("softshrink", "F"),
    ("threshold", "F torch"),
    ("rrelu", "F torch"),
    ("dropout", "F torch F.dropout1d F.dropout2d F.dropout3d F.alpha_dropout F.feature_alpha_dropout"),
)
COUNTING_FUNCTIONS: tuple[Row, ...] = (
    ("square", "torch np jnp"),
    ("reciprocal", "np"),
    ("conj", "np np.conjugate"),
    ("relu", "torch F jnn"),
    ("hardtanh", "F jnn.hard_tanh"),
)
ACTIVATIONS: tuple[Row, ...] = (
    ("relu6", "jnn"),
    ("hardsigmoid", "jnn.hard_sigmoid"),
    ("hardswish", "jnn.hard_silu jnn.hard_swish"),
    ("tanhshrink", "F"),
    ("leaky_relu", "F jnn"),
    ("elu", "F jnn"),
    ("selu", "F jnn torch"),
    ("celu", "F jnn torch"),
    ("gelu", "F jnn"),
    ("silu", "F jnn jnn.swish"),
    ("mish", "F jnn"),
    ("softplus", "F jnn"),
    ("softsign", "F jnn.soft_sign"),
    ("logsigmoid", "F jnn.log_sigmoid"),
)
STEPS: tuple[Row, ...] = (
    ("round", "torch np jnp lax np.around jnp.around np.rint jnp.rint"),
    ("floor", "torch np jnp lax"),
    ("ceil", "torch np jnp lax"),
    ("trunc", "torch torch.fix np np.fix jnp jnp.trunc"),
    ("sign", "torch np jnp lax torch.sgn"),
)
MAGNITUDES: tuple[Row, ...] = (("abs", "torch torch.absolute np np.absolute jnp jnp.absolute lax"),)

OPS: tuple[Op, ...] = (
    *rows(ARITHMETIC, binary, "x, y"),
    *rows(COUNTING, binary, "x, y", "counted"),
    *rows(QUOTIENTS, binary, "x, y", quotient_dtype),
    *rows(FLOAT_PAIRS, binary, "x, y", "floats"),
    *rows(COMPARISONS, binary, "x, y", "bool", NO_GRAPH),
    *rows(PREDICATES, unary, "x", "bool", NO_GRAPH),
    *rows(FLOAT_FUNCTIONS, unary, "x", "float"),
    *rows(SAME_FUNCTIONS, unary, "x", "same"),
    *rows(COUNTING_FUNCTIONS, unary, "x", "counted"),
    *rows((("sinc", "np"),), unary, "x", "quotient"),
    *rows(ACTIVATIONS, unary, "x", "float"),
    *rows(STEPS, unary, "x", "step", ZERO),
    *rows(MAGNITUDES, unary, "x", "magnitude"),
    *rows((("allclose", "torch np jnp"),), all_close, "x, y"),
    *rows((("equal", "torch np.array_equal jnp.array_equal"),), one_bool, "x, y"),
    *rows((("is_complex", "torch np.iscomplexobj jnp.iscomplexobj"),), one_bool, "x"),
    *rows((("real", "torch np jnp lax"), ("imag", "torch np jnp lax")), unary, "x", "magnitude"),
    *rows((("lerp", "torch"),), lerp, "x, end, weight", "same"),
    *rows((("addcmul", "torch"), ("addcdiv", "torch")), addcmul, "x, tensor1, tensor2", "promote"),
    *rows((("clamp", "torch torch.clip np.clip jnp.clip"),), clamp, "x, min, max", promote_of("x", "min", "max")),
    *rows((("clamp", "torch.clamp_min"),), clamp, "x, min", promote_of("x", "min")),
    *rows((("clamp", "torch.clamp_max"),), clamp, "x, max", promote_of("x", "max")),
    *rows((("masked_fill", "torch"),), masked_fill, "x, mask, value", "same"),
    *rows((("fill", "torch"),), overwritten, "x, value", "same"),
    Op("conj", unary, ("numpy.ndarray.conj(self)", "numpy.ndarray.conjugate(self)"), Kind.ELEMENTWISE, "same"),
    Op("clamp", clamp, ("jax.lax.clamp(min, x, max)",), Kind.ELEMENTWISE, "same"),
    Op("clamp", clamp, ("numpy.ndarray.clip(x, min, max, out)",), Kind.ELEMENTWISE, promote_of("x", "min", "max")),
    Op("pow", binary, ("torch.float_power(x, y)", "numpy.float_power(x, y)"), Kind.ELEMENTWISE, double),
    Op("angle", unary, ("torch.angle(x)", "numpy.angle(x)"), Kind.ELEMENTWISE, angle_dtype),
    *rows((("prelu", "F torch"),), prelu, "x, weight", "same"),
    Op("glu", glu, ("torch.nn.functional.glu(x, dim)", "jax.nn.glu(x, axis)"), Kind.ELEMENTWISE, "same"),
    Op("copy_", overwritten, ("torch.Tensor.copy_(x, value, non_blocking)",), Kind.ELEMENTWISE, "same"),
    Op("fill_", overwritten, ("torch.Tensor.fill_(x, value)",), Kind.ELEMENTWISE, "same"),
    Op("zero_", unary, ("torch.Tensor.zero_(x)",), Kind.ELEMENTWISE, "same", GraphEffect.CONSTANT),
)
