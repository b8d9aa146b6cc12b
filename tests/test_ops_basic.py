"""Elementwise ops, reductions, creation, random, casts and autograd, held against the real libraries.

A case is an expression. It is evaluated, and its outermost call or operator is inferred from the same arguments:
shape and dtype must agree. t, n and j make arrays of torch, numpy and jax of the given sizes, distinct primes.
"""

from __future__ import annotations

import ast
import operator
import warnings
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from jax import lax

from shapelint.domain.dims import Dim, as_dim, axis
from shapelint.domain.values import (
    UNTRACKED,
    Axis,
    Const,
    Float,
    Graph,
    GraphState,
    Int,
    Library,
    Maker,
    Run,
    Shape,
    Tensor,
    Tuple,
    Unknown,
    Value,
    shape_of,
)
from shapelint.ops import (
    autograd,
    broadcasting,
    casts,
    creation,
    elementwise,
    infer_call,
    normalisation,
    operators,
    ordering,
    random,
    reductions,
)
from shapelint.ops.attributes import tensor_attribute
from shapelint.ops.dtypes import parse
from shapelint.ops.op import ShapeError
from shapelint.testing import Symbols, concrete, dtype_name, library_of, lift

PRIMES = (5, 7, 11, 13)
MODULES = {"torch": torch, "np": np, "jnp": jnp, "F": F, "lax": lax, "jax": jax}
PREFIXES = {"np": "numpy", "jnp": "jax.numpy", "lax": "jax.lax", "F": "torch.nn.functional"}
METHODS = {"torch": "torch.Tensor", "numpy": "numpy.ndarray", "jax": "jax.Array"}
BINARY_OPERATORS = {
    **{symbol: function for symbol, (function, *_) in operators.SYMBOLS.items()},
    "@": "operator.matmul",
}
SYMBOLS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.Eq: "==",
    ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.USub: "-", ast.UAdd: "+",
    ast.Invert: "~",
}  # fmt: skip


def values(sizes: tuple[int, ...], dtype: str) -> np.ndarray:
    """Numbers in (0, 1), distinct along each axis; small whole ones for integer dtypes."""
    found = (np.arange(int(np.prod(sizes))) * 7 % 13).reshape(sizes)
    return np.asarray(found % 3 + 1 if parse(dtype).level < 2 else found / 13 * 0.9 + 0.05, dtype)


def t(*sizes: int, dt: str = "float32", grad: bool = False) -> torch.Tensor:
    plain = "float32" if dt == "bfloat16" else dt
    return torch.from_numpy(values(sizes, plain)).to(getattr(torch, dt)).requires_grad_(grad)


def n(*sizes: int, dt: str = "float64") -> np.ndarray:
    return values(sizes, dt)


def j(*sizes: int, dt: str = "float32") -> jax.Array:
    return jnp.asarray(values(sizes, "float32" if dt == "bfloat16" else dt).astype(jnp.dtype(dt)))


NAMES = {**MODULES, "t": t, "n": n, "j": j, "key": jax.random.key(0), "rng": np.random.default_rng(0)}


def run(node: ast.expr) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return eval(compile(ast.Expression(node), "case", "eval"), dict(NAMES))


def outcome(node: ast.expr) -> Any:
    """What the library makes of a case. Of jax's own results shape and dtype are asked, which spares compiling."""
    text = ast.unparse(node)
    lazy = text.startswith(("jnp.", "jax.", "lax.", "j(")) and "device" not in text
    return jax.eval_shape(lambda: run(node)) if lazy else run(node)


def infer(node: ast.expr, symbols: Any) -> Value:
    """The inference for the outermost operation of an expression, on its real arguments lifted."""

    def known(part: ast.expr) -> Value:
        return lift(run(part), symbols)

    match node:
        case ast.BinOp(left, symbol, right):
            return infer_call(BINARY_OPERATORS[SYMBOLS[type(symbol)]], [known(left), known(right)])
        case ast.Compare(left, [symbol], [right]):
            return infer_call(BINARY_OPERATORS[SYMBOLS[type(symbol)]], [known(left), known(right)])
        case ast.UnaryOp(symbol, operand):
            return infer_call(operators.PREFIXES[SYMBOLS[type(symbol)]][0], [known(operand)])
        case ast.Call(function, args, keywords):
            callee, receiver = callee_of(function)
            given = {keyword.arg: known(keyword.value) for keyword in keywords}
            return infer_call(callee, [known(part) for part in (*receiver, *args)], given)
    raise AssertionError(ast.unparse(node))


def callee_of(function: ast.expr) -> tuple[str, list[ast.expr]]:
    """The canonical name of what is called, and the receiver if it is a method."""
    root, _, rest = ast.unparse(function).partition(".")
    if root in MODULES:
        return f"{PREFIXES.get(root, root)}.{rest}", []
    assert isinstance(function, ast.Attribute)
    receiver = run(function.value)
    if isinstance(receiver, np.random.Generator):
        return f"numpy.random.Generator.{function.attr}", []
    return f"{METHODS[library_of(receiver)]}.{function.attr}", [function.value]


def agree(real: Any, inferred: Value, sizes: Any, data_dependent: bool = False) -> None:
    """The inferred value says what the real one is; only sizes that the data decide may be left open."""
    if isinstance(real, tuple | list) and not isinstance(real, torch.Size):
        assert isinstance(inferred, Tuple), inferred
        assert len(real) == len(inferred.items)
        for part, item in zip(real, inferred.items):
            agree(part, item, sizes, data_dependent)
        return
    if library_of(real) is None:
        if data_dependent and isinstance(inferred, Int):
            assert isinstance(real, int | np.integer), inferred
            assert concrete(inferred, sizes) in (None, real)
            return
        assert isinstance(inferred, Float | Unknown) or concrete(inferred, sizes) == real, inferred
        return
    assert isinstance(inferred, Tensor), inferred
    shape = concrete(inferred, sizes)
    assert shape is not None, "the rank is not known"
    assert data_dependent or None not in shape, shape
    assert len(shape) == len(real.shape)
    assert all(size in (None, true) for size, true in zip(shape, real.shape)), (shape, tuple(real.shape))
    assert inferred.library == library_of(real)
    assert fits(inferred.dtype, dtype_name(real.dtype)), (inferred.dtype, real.dtype)


def fits(inferred: str | None, real: str) -> bool:
    """The inferred dtype is not known, is the real one, or a class that the real one is of."""
    if inferred is None or inferred == real:
        return True
    known, true = parse(inferred), parse(real)
    return known is not None and true is not None and known.bits == 0 and known.category == true.category


def cases(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


UNARY = """
abs absolute exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh square floor ceil trunc sign
isnan isinf isfinite logical_not deg2rad rad2deg negative positive reciprocal nan_to_num round conj signbit
"""
TORCH_UNARY = """
neg rsqrt asin acos atan arcsin sigmoid erf erfc lgamma digamma frac fix relu sgn logit erfinv
"""
NUMPY_UNARY = "cbrt arcsin arccos arctan fabs rint conjugate isreal sinc arcsinh arctanh"
ACTIVATIONS = """
relu relu6 leaky_relu elu selu celu gelu silu mish softplus softsign logsigmoid hardtanh hardsigmoid hardswish
sigmoid tanh dropout hardshrink softshrink tanhshrink
"""
JAX_ACTIVATIONS = "relu relu6 leaky_relu elu selu celu gelu silu swish mish softplus soft_sign log_sigmoid sigmoid"
BINARY = """
add subtract multiply divide true_divide floor_divide remainder fmod maximum minimum fmax fmin arctan2 hypot
copysign logaddexp equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor isclose
"""
TORCH_BINARY = "add sub mul div true_divide floor_divide remainder fmod pow maximum minimum atan2 eq ne lt le gt ge"
REDUCTIONS = "sum mean prod std var any all nansum nanmean"
NUMPY_REDUCTIONS = """
sum mean prod std var any all max min amax amin median nansum nanmean nanmax nanmin nanstd nanvar argmax argmin
count_nonzero ptp nanmedian average nanargmax
"""


def each(template: str, **words: str | list[str]) -> list[str]:
    """The template with every combination of words in its fields."""
    lists = [word.split() if isinstance(word, str) else word for word in words.values()]
    return [template.format(**dict(zip(words, combination))) for combination in product(*lists)]


# Spelled alike in numpy and jax.numpy: "np.sum(n(5, 7))" and "jnp.sum(j(5, 7))".
TWINS = ["np n", "jnp j"]


def twins(template: str, **words: str | list[str]) -> list[str]:
    return [
        case.replace("M.", f"{module}.").replace("A(", f"{array}(")
        for module, array in map(str.split, TWINS)
        for case in each(template, **words)
    ]


DTYPED = "sqrt exp abs square sign"
TORCH_RIGHT = ["2", "1.5", "t(7)", "t()", "t(7, dt='int64')", "t(dt='float64')"]
NUMPY_RIGHT = ["2", "1.5", "n(7)", "n(7, dt='float32')", "n(7, dt='int64')", "np.float64(2)"]
JAX_RIGHT = ["2", "1.5", "j(7)", "j(7, dt='float16')", "j(7, dt='int16')", "n(7)"]
NARROW = "int8 uint8 int32 bool float16"

GENERATED = [
    *each("torch.{f}(t(5, 7))", f=UNARY + TORCH_UNARY),
    *each("t(5, 7).{f}()", f=UNARY + TORCH_UNARY),
    *twins("M.{f}(A(5, 7))", f=UNARY + NUMPY_UNARY),
    *each("np.{f}(n(5, 7, dt='{d}'))", f=DTYPED, d="int8 int16 int64 float16"),
    *each("torch.{f}(t(5, 7, dt='{d}'))", f=DTYPED, d="int8 int64 float16 bfloat16"),
    *each("jnp.{f}(j(5, 7, dt='{d}'))", f=DTYPED, d="int8 float16 bfloat16"),
    *each("F.{f}(t(5, 7))", f=ACTIVATIONS),
    *each("jax.nn.{f}(j(5, 7))", f=JAX_ACTIVATIONS),
    *each("lax.{f}(j(5, 7))", f="exp log sqrt rsqrt sin cos tanh abs neg sign floor ceil square logistic erf"),
    *twins("M.{f}(A(5, 1, 7), A(11, 1))", f=BINARY),
    *each("torch.{f}(t(5, 1, 7), t(11, 1))", f=TORCH_BINARY + " xlogy logaddexp hypot isclose logical_and not_equal"),
    *each("t(5, 7).{f}(t(7))", f=TORCH_BINARY),
    *each("t(5, 7).{f}(2)", f="add sub mul div floor_divide remainder fmod pow eq ne lt le gt ge"),
    *each("t(5, 7, dt='{d}') {o} {y}", o="+ / <", d="float16 bfloat16 int32 uint8 float64", y=TORCH_RIGHT),
    *each("n(5, 7, dt='{d}') {o} {y}", o="+ / <", d="float16 int32 uint8 float64", y=NUMPY_RIGHT),
    *each("j(5, 7, dt='{d}') {o} {y}", o="* /", d="float16 bfloat16 int32 uint8 float32", y=JAX_RIGHT),
    *each("2 {o} t(5, 7)", o="+ - * / // % ** == >= !="),
    *each("t(5, 7, dt='int64') {o} t(7, dt='int64')", o="& | ^ << >> // %"),
    *each("{o}t(5, 7, dt='int64')", o="- + ~"),
    *each("torch.{f}(t(5, 7, 11){b})", f=REDUCTIONS, b=["", ", 1", ", dim=-1, keepdim=True"]),
    *each("t(5, 7, 11).{f}{b}", f=REDUCTIONS, b=["()", "(0)", "(dim=2, keepdim=True)"]),
    *each(
        "torch.{f}(t(5, 7, 11), dim=(0, 2){k})",
        f="sum mean std var amax amin logsumexp norm",
        k=["", ", keepdim=True"],
    ),
    *each(
        "t(5, 7).{f}{b}",
        f="max min median argmax argmin amax amin",
        b=["()", "(dim=1)", "(dim=-2, keepdim=True)"],
    ),
    *twins("M.{f}(A(5, 7, 11){b})", f=NUMPY_REDUCTIONS, b=["", ", axis=1", ", -1"]),
    *twins("M.{f}(A(5, 7, 11), axis=(0, 2), keepdims=True)", f="sum mean prod std var any all max min median"),
    *twins("A(5, 7, 11).{f}{b}", f="sum mean prod std var any all max min argmax argmin", b=["()", "(1)", "(axis=-1)"]),
    *twins("A(5, 7, dt='{d}').{f}(0)", f="sum mean prod max cumsum argmax", d=NARROW),
    *twins("A(5, 7, dt='{d}').std(0)", d="int8 uint8 int32 float16"),
    *each("t(5, 7, dt='{d}').{f}(0)", f="sum prod cumsum", d=NARROW),
]

CASES = """
# elementwise with more operands
torch.where(t(5, 7) > 0.5, t(7), t(5, 1))
torch.where(t(5, 7) > 0.5, 1.0, 0.0)
torch.where(t(5, 7) > 0.5, t(7, dt='float16'), 0.0)
t(5, 7).where(t(5, 7) > 0.5, t(7))
np.where(n(5, 7) > 0.5, n(7), n(5, 1))
np.where(n(5, 7) > 0.5, 1, 0)
jnp.where(j(5, 7) > 0.5, j(7), 0.0)
jnp.where(j(5, 7) > 0.5, j(7), j(5, 1))
lax.select(j(5, 7) > 0.5, j(5, 7), j(5, 7))
torch.clamp(t(5, 7), 0, 1)
torch.clamp(t(5, 7), min=t(7))
torch.clamp(t(5, 7, dt='int64'), min=0.5)
t(5, 7).clamp(max=1.0)
t(5, 7).clip(0, 1)
t(5, 1).clamp(t(1, 7), t(5, 7))
t(5, 7).clamp_min(0.1)
torch.clamp_max(t(5, 7), 0.1)
np.clip(n(5, 7), 0, 1)
np.clip(n(5, 7), a_min=n(7), a_max=None)
np.clip(n(5, 7, dt='int64'), 0.5, 1.5)
n(5, 7).clip(0, 1)
n(5, 7).clip(min=0)
jnp.clip(j(5, 7), 0, 1)
jnp.clip(j(5, 7), min=0)
torch.lerp(t(5, 7), t(7), 0.3)
torch.lerp(t(5, 7), t(5, 7), t(5, 1))
t(5, 7).lerp(t(5, 7), 0.5)
torch.addcmul(t(5, 7), t(7), t(5, 1), value=2.0)
torch.addcdiv(t(5, 7), t(7), t(5, 1))
t(5, 7).addcmul(t(5, 1), t(7))
t(5, 7).masked_fill(t(7) > 0.5, 0.0)
torch.masked_fill(t(5, 7), t(5, 1) > 0.5, 1.0)
torch.add(t(5, 7), t(7), alpha=2)
torch.add(input=t(5, 7), other=t(7))
torch.div(t(5, 7), t(7), rounding_mode='floor')
torch.div(t(5, 7, dt='int64'), 2, rounding_mode='floor')
torch.div(t(5, 7, dt='int64'), 2)
F.tanhshrink(t(5, 7, dt='int64'))
np.add(n(5, 7), n(7), out=n(5, 7))
np.maximum(n(5, 7), 0)
np.power(n(5, 7), 2)
jnp.maximum(j(5, 7), 0)
torch.isin(t(5, 7), t(11))
np.isin(n(5, 7), n(11))
np.isin(n(5, 7), [1, 2])
np.exp([0.1, 0.2, 0.3])
np.add([1, 2], n(5, 2))
F.leaky_relu(t(5, 7), 0.2, True)
F.softplus(t(5, 7), 1, 20)
F.dropout(t(5, 7), 0.1, True, False)
F.gelu(t(5, 7), approximate='tanh')
F.threshold(t(5, 7), 0.1, 0.0)
F.glu(t(5, 14), dim=-1)
F.glu(t(14, 7), 0)
F.elu_(t(5, 7))
F.relu_(t(5, 7))
F.prelu(t(5, 7), t(7))
torch.broadcast_tensors(t(5, 1), t(7))
np.broadcast_arrays(n(5, 1), n(7))
torch.special.expit(t(5, 7))
torch.sqrt(t(5, 7))
torch.square(input=t(5, 7))
# in place
t(5, 7).add_(t(7))
t(5, 7).mul_(2)
t(5, 7).sub_(t(5, 1))
t(5, 7).div_(t())
t(5, 7).clamp_(0, 1)
t(5, 7).clamp_(min=0.1)
t(5, 7).pow_(2)
t(5, 7).sqrt_()
t(5, 7).exp_()
t(5, 7).masked_fill_(t(7) > 0.5, 0)
t(5, 7).copy_(t(7))
t(5, 7).fill_(1.0)
t(5, 7).zero_()
t(5, 7).normal_()
t(5, 7).uniform_(-1, 1)
t(5, 7).lerp_(t(7), 0.1)
t(5, 7).addcmul_(t(7), t(5, 1), value=0.1)
t(5, 7).relu_()
t(5, 7).neg_()
t(5, 7).round_()
t(5, 7, dt='float16').add_(t(7))
torch.relu_(t(5, 7))
torch.nn.init.zeros_(t(5, 7))
torch.nn.init.normal_(t(5, 7), mean=0.0, std=0.02)
torch.nn.init.xavier_uniform_(t(5, 7))
torch.nn.init.constant_(t(5, 7), 0.5)
# along an axis
F.softmax(t(5, 7), dim=-1)
F.softmax(t(5, 7), dim=1, dtype=torch.float64)
F.log_softmax(t(5, 7), 1)
torch.softmax(t(5, 7), 0)
t(5, 7).softmax(-1)
t(5, 7).log_softmax(dim=0)
jax.nn.softmax(j(5, 7))
jax.nn.softmax(j(5, 7), axis=0)
jax.nn.log_softmax(j(5, 7), -1)
F.normalize(t(5, 7), dim=-1)
F.normalize(t(5, 7), 2, 1)
F.gumbel_softmax(t(5, 7), tau=1.0, hard=True)
t(5, 7).cumsum(0)
torch.cumsum(t(5, 7, dt='int32'), dim=1)
torch.cumprod(t(5, 7), -1)
torch.logcumsumexp(t(5, 7), 1)
torch.cummax(t(5, 7), 1)
np.cumsum(n(5, 7))
np.cumsum(n(5, 7), axis=1)
np.cumprod(n(5, 7), 0)
jnp.cumsum(j(5, 7), axis=-1)
jnp.cumsum(j(5, 7))
lax.cumsum(j(5, 7), 1)
torch.diff(t(5, 7))
torch.diff(t(5, 7), dim=0)
np.diff(n(5, 7))
np.diff(n(5, 7), prepend=n(5, 1))
np.trapezoid(n(5, 7))
np.trapezoid(n(5, 7), dx=0.5, axis=0)
jnp.trapezoid(j(5, 7), j(7))
np.convolve(n(5), n(7))
np.convolve(n(5), n(7), "same")
np.convolve(n(7), n(5), mode="valid")
np.correlate(n(7), n(5))
jnp.convolve(j(5), j(7))
jnp.correlate(j(5), j(7), "full")
torch.diff(t(5, 7), dim=0, append=t(11, 7))
np.diff(n(5, 7), 2, axis=0)
jnp.diff(j(5, 7), axis=0)
n(5, 7).cumsum(1)
# other reductions
torch.max(t(5, 7), 1)
torch.max(t(5, 7), t(7))
torch.max(t(5, 7), other=t(7))
torch.min(t(5, 7), -1, True)
torch.max(t(5, 7))
torch.median(t(5, 7), dim=0)
torch.mode(t(5, 7), 1)
torch.kthvalue(t(5, 7), 2, dim=1)
torch.aminmax(t(5, 7), dim=0)
torch.argmax(t(5, 7), dim=1, keepdim=True)
torch.norm(t(5, 7))
torch.norm(t(5, 7), dim=1)
torch.norm(t(5, 7), 2, 1, True)
t(5, 7).norm(dim=-1, keepdim=True)
t(5, 7).norm(2, -1)
t(5, 7).norm(p=2, dim=(0, 1))
torch.linalg.norm(t(5, 7), dim=-1)
torch.linalg.norm(t(5, 7))
torch.linalg.vector_norm(t(5, 7, 11), dim=(0, 2), keepdim=True)
torch.linalg.matrix_norm(t(5, 7, 11))
np.linalg.norm(n(5, 7))
np.linalg.norm(n(5, 7), axis=1)
np.linalg.norm(n(5, 7), 2, 1, keepdims=True)
np.linalg.norm(n(5, 7, dt='float32'), ord=1, axis=0)
np.linalg.norm(n(5, 7, dt='int64'))
jnp.linalg.norm(j(5, 7), axis=-1, keepdims=True)
jax.scipy.special.logsumexp(j(5, 7), axis=1)
jax.nn.logsumexp(j(5, 7), axis=-1, keepdims=True)
torch.std(t(5, 7), False)
torch.std(t(5, 7), 1, False)
torch.std(t(5, 7), dim=0, correction=0)
t(5, 7).std(0, unbiased=False, keepdim=True)
t(5, 7).var(dim=(0, 1))
torch.std_mean(t(5, 7), dim=1)
torch.var_mean(t(5, 7))
torch.sum(t(5, 7), dim=())
torch.sum(t(5, 7, dt='float16'), dtype=torch.float32)
torch.mean(t(5, 7, dt='int64'), dtype=torch.float32)
t(5, 7).sum(axis=1)
t(5, 7).sum(1, True)
t(5, 7).mean((0, 1))
t(5, 7).sum(dtype=torch.float64)
t().sum(0)
t(5, 7).any()
t(5, 7).all(dim=1)
torch.count_nonzero(t(5, 7), dim=0)
torch.quantile(t(5, 7), 0.5)
torch.quantile(t(5, 7), 0.5, dim=1)
torch.quantile(t(5, 7), t(11), dim=0)
np.percentile(n(5, 7), 50)
np.interp(n(5, 7), n(11), n(11))
np.interp(n(5, dt='float32'), n(11), n(11))
np.quantile(n(5, 7), [0.1, 0.9], axis=1)
np.percentile(n(5, 7), [5, 50, 95], axis=0)
np.sum(n(5, 7), axis=1, dtype=np.float32)
np.sum([1.0, 2.0, 3.0])
np.mean(n(5, 7, dt='float16'), axis=0)
np.average(n(5, 7), axis=0, weights=n(5))
np.average(n(5, 7))
np.var(n(5, 7), axis=0, ddof=1)
np.argmax(n(5, 7), axis=1)
np.argmax(n(5, 7), axis=1, keepdims=True)
np.any(n(5, 7) > 0.5, axis=1)
torch.trace(t(5, 7))
np.trace(n(5, 7))
torch.dist(t(5, 7), t(7))
F.cosine_similarity(t(5, 7), t(5, 7))
F.cosine_similarity(t(5, 1, 11), t(7, 11), dim=-1)
jnp.sum(j(5, 7), axis=(0, 1))
jnp.max(j(5, 7), axis=-1, keepdims=True)
jnp.argmax(j(5, 7), axis=-1)
# sorting
torch.topk(t(5, 7), 3)
torch.topk(t(5, 7), k=2, dim=0)
t(5, 7).topk(5, dim=1, largest=False)
lax.top_k(j(5, 7), 3)
torch.sort(t(5, 7))
torch.sort(t(5, 7), dim=0, descending=True)
t(5, 7).sort(1, True)
np.sort(n(5, 7))
np.sort(n(5, 7), axis=None)
jnp.sort(j(5, 7), axis=0)
torch.argsort(t(5, 7), dim=1)
t(5, 7).argsort()
np.argsort(n(5, 7), axis=0)
np.argsort(n(5, 7))
n(5, 7).argsort(axis=None)
jnp.argsort(j(5, 7))
np.partition(n(5, 7), 2)
np.argpartition(n(5, 7), 2, axis=0)
torch.histc(t(5, 7), bins=11)
np.histogram(n(5, 7), bins=11)
np.histogram(n(5, 7))
torch.searchsorted(t(11), t(5, 7))
np.searchsorted(n(11), n(5, 7))
jnp.searchsorted(j(11), j(5, 7), side='right')
torch.bucketize(t(5, 7), t(11))
np.digitize(n(5, 7), np.linspace(0, 1, 11))
np.polyval(n(3), n(5, 7))
np.polyfit(n(11), n(11), 2)
np.polyfit(n(11), n(11, 5), deg=3)
jnp.polyval(j(3), j(5, 7))
# creation
torch.zeros(5, 7)
torch.zeros((5, 7))
torch.zeros([5, 7], dtype=torch.float16)
torch.zeros(5, 7, dtype=torch.long)
torch.zeros(5)
torch.zeros(())
torch.ones(5, 7, dtype=torch.bool)
torch.empty(5, 7, dtype=torch.half)
torch.empty(size=(5, 7))
torch.zeros(t(5, 7).shape)
torch.zeros(1, 5, requires_grad=True)
torch.full((5, 7), 3)
torch.full((5, 7), 0.5)
torch.full((5, 7), 0.5, dtype=torch.float16)
torch.full(size=(5,), fill_value=True)
torch.randint_like(t(5, 7), 3)
torch.zeros_like(t(5, 7, dt='float16'))
torch.ones_like(t(5, 7), dtype=torch.bool)
torch.full_like(t(5, 7), 0.5)
torch.empty_like(t(5, 7))
torch.rand_like(t(5, 7))
torch.randn_like(t(5, 7, dt='float64'))
torch.eye(5)
torch.eye(5, 7)
torch.eye(n=5, dtype=torch.float64)
torch.arange(7)
torch.arange(5, 11)
torch.arange(0, 11, 2)
torch.arange(11, 0, -3)
torch.arange(0, 1, 0.3)
torch.arange(7.0)
torch.arange(7, dtype=torch.float32)
torch.arange(end=7)
torch.arange(start=2, end=7)
torch.linspace(0, 1, 11)
torch.linspace(0, 1, steps=11)
torch.logspace(0, 1, 11)
torch.tensor(3)
torch.tensor(3.0)
torch.tensor(True)
torch.tensor([1, 2, 3])
torch.tensor([1, 2.5, 3])
torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
torch.tensor([1, 2], dtype=torch.float16)
torch.tensor(n(5, 7))
torch.tensor(t(5, 7))
torch.tensor([])
torch.tensor([t(), t(), t()])
torch.as_tensor(n(5, 7))
torch.as_tensor(t(5, 7))
torch.as_tensor([1.0, 2.0], dtype=torch.float64)
torch.asarray(n(5, 7))
torch.from_numpy(n(5, 7, dt='float32'))
torch.FloatTensor(5, 7)
torch.FloatTensor([1, 2, 3])
torch.LongTensor([[1, 2], [3, 4]])
torch.LongTensor([torch.ones(3).long().numpy()])
torch.Tensor(5, 7)
torch.Tensor([1, 2])
torch.Tensor(5)
t(5, 7).new_zeros(11)
t(5, 7).new_zeros((11, 13))
t(5, 7, dt='float16').new_ones(2, 3)
t(5, 7).new_full((2, 3), 1.0)
t(5, 7).new_empty(3)
t(5, 7).new_tensor([1, 2, 3])
np.zeros((5, 7))
np.zeros(5)
np.zeros([5, 7], dtype=np.float32)
np.zeros(5, dtype=int)
np.zeros(5, dtype='int32')
np.zeros((5, 7), bool)
np.zeros(shape=(5, 7))
np.ones((5, 1))
np.empty((5, 7), dtype=np.uint8)
np.full((5, 7), 3)
np.full((5, 7), np.nan)
np.full(5, 1.0, dtype=np.float32)
np.zeros_like(n(5, 7, dt='int64'))
np.ones_like(n(5, 7), dtype=np.float32)
np.full_like(n(5, 7), 2)
np.zeros_like(n(5, 7), shape=(11,))
np.eye(5)
np.eye(5, 7)
np.eye(N=5, M=7)
np.identity(5)
np.arange(7)
np.arange(5, 11)
np.arange(0, 11, 3)
np.arange(7, dtype=np.float32)
np.arange(0.0, 1.0, 0.25)
np.arange(start=0, stop=7)
np.linspace(0, 1)
np.linspace(0, 1, 11)
np.linspace(0, 1, num=11, endpoint=False)
np.logspace(0, 1, 11)
np.array([1, 2, 3])
np.array([[1.0, 2.0], [3.0, 4.0]])
np.array([1, 2], dtype=np.float32)
np.array(3.5)
np.array([n(5), n(5)])
np.array(n(5, 7))
np.array([True, False])
np.array([])
np.array(t(5, 7))
np.asarray(n(5, 7), dtype=np.float32)
np.asarray([1, 2])
np.ascontiguousarray(n(5, 7))
np.asanyarray(n(5, 7))
jnp.zeros((5, 7))
jnp.ones(5)
jnp.zeros((5, 7), dtype=jnp.int32)
jnp.zeros((5, 7), jnp.bfloat16)
jnp.full((5, 7), 0.5)
jnp.zeros_like(j(5, 7))
jnp.eye(5)
jnp.arange(7)
jnp.arange(1, 7)
jnp.linspace(0, 1, 11)
jnp.array([1, 2, 3])
jnp.array([[1.0, 2.0]])
jnp.array(n(5, 7))
jnp.asarray(n(5, 7, dt='float32'))
jnp.asarray(3)
jnp.array(1.0, dtype=jnp.float16)
torch.triu_indices(5, 5)
np.frombuffer(b'12345678')
# random
torch.rand(5, 7)
torch.rand((5, 7), dtype=torch.float64)
torch.randn(5, 7, requires_grad=True)
torch.randn(())
torch.randint(0, 3, (5, 7))
torch.randint(3, (5, 7))
torch.randint(low=0, high=3, size=(5,))
torch.randint(0, 2, (5,), dtype=torch.float32)
torch.randperm(7)
torch.normal(0.0, 1.0, (5, 7))
torch.normal(t(5, 7), 1.0)
torch.normal(t(5, 7), t(5, 7))
torch.normal(mean=0.0, std=1.0, size=(5, 7))
torch.multinomial(t(5, 7), 3)
torch.multinomial(t(7), 3, replacement=True)
torch.bernoulli(t(5, 7))
torch.poisson(t(5, 7))
t(5, 7).bernoulli()
np.random.rand(5, 7)
np.random.rand()
np.random.randn(5)
np.random.random((5, 7))
np.random.random(5)
np.random.normal(0, 1, (5, 7))
np.random.normal(size=5)
np.random.normal(loc=n(5, 7))
np.random.normal()
np.random.uniform(0, 1, 5)
np.random.uniform(-1, 1, size=(5, 7))
np.random.randint(0, 3, (5, 7))
np.random.randint(3, size=5)
np.random.choice(7, 5)
np.random.choice(n(7), size=(5, 2))
np.random.choice(7, 5, replace=False)
np.random.permutation(7)
np.random.permutation(n(5, 7))
np.random.shuffle(n(5, 7))
np.random.exponential(1.0, (5, 7))
np.random.poisson(2.0, 5)
np.random.binomial(3, 0.5, (5, 7))
np.random.beta(1.0, 1.0, 5)
np.random.gamma(1.0, 1.0, (5,))
np.random.standard_normal((5, 7))
np.random.dirichlet([1.0, 1.0, 1.0], 5)
np.random.multivariate_normal([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], 5)
rng.normal(0, 1, (5, 7))
rng.normal(size=(5, 7))
rng.standard_normal((5, 7))
rng.standard_normal(5)
rng.random((5, 7))
rng.random()
rng.uniform(0, 1, size=5)
rng.integers(0, 3, (5, 7))
rng.integers(3, size=5)
rng.choice(7, 5)
rng.permutation(7)
jax.random.normal(key, (5, 7))
jax.random.normal(key)
jax.random.normal(key, shape=(5,), dtype=jnp.float16)
jax.random.uniform(key, (5, 7), minval=0.0, maxval=2.0)
jax.random.randint(key, (5, 7), 0, 3)
jax.random.bernoulli(key, 0.5, (5, 7))
jax.random.bernoulli(key, j(5, 7))
jax.random.categorical(key, j(5, 7))
jax.random.categorical(key, j(5, 7), axis=0)
jax.random.permutation(key, 7)
jax.random.permutation(key, j(5, 7))
jax.random.truncated_normal(key, -1.0, 1.0, (5, 7))
jax.random.gumbel(key, (5, 7))
jax.random.exponential(key, (5,))
# casts
t(5, 7).to(torch.float16)
t(5, 7).to('cpu')
t(5, 7).to('cpu', torch.float64)
t(5, 7).to(torch.float16, non_blocking=True)
t(5, 7).to(dtype=torch.int64)
t(5, 7).to(device='cpu')
t(5, 7).to(device='cpu', dtype=torch.bfloat16)
t(5, 7).to(t(1, dt='float64'))
t(5, 7).float()
t(5, 7).half()
t(5, 7).double()
t(5, 7).bfloat16()
t(5, 7).long()
t(5, 7).int()
t(5, 7).bool()
t(5, 7).type(torch.float64)
t(5, 7).type(torch.LongTensor)
t(5, 7).type('torch.HalfTensor')
t(5, 7).type_as(t(1, dt='int64'))
t(5, 7).cpu()
t(5, 7).contiguous()
t(5, 7).clone()
torch.clone(t(5, 7))
t(5, 7).numpy()
t(5, 7, dt='int64').numpy()
n(5, 7).astype(np.float32)
n(5, 7).astype('int32')
n(5, 7).astype(int)
n(5, 7).astype(float)
n(5, 7).astype(dtype=bool)
n(5, 7).copy()
np.copy(n(5, 7))
j(5, 7).astype(jnp.bfloat16)
j(5, 7).astype('int32')
jnp.copy(j(5, 7))
jax.device_put(j(5, 7))
jax.device_get(j(5, 7))
lax.stop_gradient(j(5, 7))
lax.convert_element_type(j(5, 7), jnp.int32)
np.float32(3)
np.float32(n(5, 7))
jnp.float32(3)
# autograd
t(5, 7).detach()
torch.detach(t(5, 7))
t(5, 7).detach_()
t().item()
t(dt='int64').item()
n().item()
t(5, 7).requires_grad_()
t(5, 7).requires_grad_(False)
torch.nn.Parameter(t(5, 7))
torch.nn.Parameter(t(5, 7), requires_grad=False)
torch.autograd.Variable(t(5, 7))
t(grad=True).backward()
"""

DATA = """
torch.unique(t(5, 7))
torch.unique(t(5, 7), return_counts=True)
torch.unique(t(5, 7), return_inverse=True, return_counts=True)
torch.unique(t(5, 7), dim=0)
torch.unique_consecutive(t(5))
np.unique(n(5, 7))
np.unique(n(5), return_index=True, return_counts=True)
np.unique(n(5, 7), axis=0)
torch.nonzero(t(5, 7))
torch.nonzero(t(5, 7), as_tuple=True)
t(5, 7).nonzero()
np.nonzero(n(5, 7))
n(5, 7).nonzero()
jnp.nonzero(j(5, 7))
np.argwhere(n(5, 7))
np.flatnonzero(n(5, 7))
torch.bincount(t(5, dt='int64'))
np.bincount(n(5, dt='int64'), minlength=11)
np.arange(0, 1, n().item())
torch.triu_indices(5, 5)
np.frombuffer(b'12345678')
np.random.randint(3)
np.random.randint(-3, n(dt='int64'))
np.random.choice(n(7).size)
np.random.choice(7)
np.random.poisson(2.0)
rng.integers(2, 5)
np.zeros(np.prod([5, 7]))
np.ones(rng.integers(2, 5, size=2))
np.full(np.sum(n(5, 7) > 2), 3.0)
torch.zeros(t(dt='int64'))
"""

WRONG = """
t(5, 7) + t(5)
t(5, 7) - t(11, 7)
n(5, 7) * n(5)
j(5, 7) / j(11)
t(5, 7) < t(5)
torch.where(t(5, 7) > 0, t(11), t(7))
torch.add(t(5, 7), t(11))
np.maximum(n(5, 7), n(11))
t(5, 7).clamp(min=t(11))
t(7).add_(t(5, 7))
t(5, 1).mul_(t(5, 7))
t(7).copy_(t(5, 7))
np.add(n(5, 7), n(7), out=n(7))
t(5, 7).sum(2)
t(5, 7).mean(dim=-3)
n(5, 7).sum(axis=2)
np.max(n(5, 7), axis=5)
jnp.mean(j(5, 7), axis=3)
t(5, 7).sum((0, 0))
t(5, 7).max(dim=2)
F.softmax(t(5, 7), dim=2)
t(5, 7).cumsum(2)
torch.norm(t(5, 7), dim=4)
t(5, 7).argmax(2)
np.argmax(n(5, 7), axis=2)
t(5, 7).topk(2, dim=2)
torch.sort(t(5, 7), 3)
"""
NOT_EXACT = ("torch.triu_indices(5, 5)", "np.frombuffer(b'12345678')")

EXACT = [*GENERATED, *(c for c in cases(CASES) if c not in NOT_EXACT)]


def node_of(case: str) -> ast.expr:
    return ast.parse(case, mode="eval").body


@pytest.mark.parametrize("case", EXACT)
def test_case_as_the_library(case: str) -> None:
    node = node_of(case)
    real = outcome(node)
    agree(real, infer(node, as_dim), {})
    symbols = Symbols(*PRIMES)
    agree(real, infer(node, symbols), symbols.sizes)


@pytest.mark.parametrize("case", cases(DATA))
def test_data_decide_the_size(case: str) -> None:
    node = node_of(case)
    real = run(node)
    agree(real, infer(node, as_dim), {}, data_dependent=True)


@pytest.mark.parametrize("case", cases(WRONG))
def test_wrong_call_raises(case: str) -> None:
    node = node_of(case)
    with pytest.raises((RuntimeError, ValueError, IndexError, TypeError)):
        run(node)
    with pytest.raises(ShapeError):
        infer(node, as_dim)


# What no library can be asked: graph states, who made an axis of size 1, sizes beside an unknown rank.

N = axis("n")
ATTACHED = Graph(GraphState.GRAPH, frozenset({"net"}))
CUT = Graph(GraphState.CUT, frozenset({"net"}))
CONSTANT = Graph(GraphState.CONST)
LEAF = Graph(GraphState.LEAF)


def tensor(*sizes: Dim | int, graph: Graph = UNTRACKED, dtype: str | None = "float32") -> Tensor:
    return Tensor(shape_of(*sizes), dtype, "torch", graph)


def call(name: str, *args: Value, **kwargs: Value) -> Any:
    return infer_call(name, args, kwargs)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (ATTACHED, CONSTANT, ATTACHED),
        (ATTACHED, CUT, ATTACHED),
        (ATTACHED, UNTRACKED, ATTACHED),
        (LEAF, CONSTANT, Graph(GraphState.GRAPH)),
        (CUT, CONSTANT, CUT),
        (CUT, UNTRACKED, CUT),
        (CONSTANT, CONSTANT, CONSTANT),
        (CONSTANT, UNTRACKED, UNTRACKED),
        (ATTACHED, Graph(GraphState.GRAPH, frozenset({"head"})), Graph(GraphState.GRAPH, frozenset({"net", "head"}))),
    ],
)
def test_operands_graphs_combine(left: Graph, right: Graph, expected: Graph) -> None:
    assert call("operator.add", tensor(N, graph=left), tensor(N, graph=right)).graph == expected
    assert call("torch.mul", tensor(N, graph=right), tensor(N, graph=left)).graph == expected


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("torch.exp", ATTACHED, ATTACHED),
        ("torch.round", ATTACHED, ATTACHED),
        ("torch.Tensor.argmax", ATTACHED, CUT),
        ("torch.isnan", CONSTANT, CONSTANT),
        ("torch.isnan", UNTRACKED, UNTRACKED),
        ("torch.Tensor.detach", ATTACHED, CUT),
        ("torch.Tensor.detach", CONSTANT, CONSTANT),
        ("torch.Tensor.numpy", ATTACHED, CUT),
        ("torch.Tensor.long", ATTACHED, CUT),
        ("torch.Tensor.double", ATTACHED, ATTACHED),
        ("torch.tensor", ATTACHED, CUT),
        ("torch.as_tensor", ATTACHED, ATTACHED),
        ("torch.zeros_like", ATTACHED, CONSTANT),
        ("torch.nn.Parameter", CONSTANT, LEAF),
        ("torch.Tensor.requires_grad_", CONSTANT, LEAF),
        ("torch.Tensor.requires_grad_", ATTACHED, ATTACHED),
        ("torch.autograd.Variable", ATTACHED, CUT),
        ("torch.Tensor.item", ATTACHED, Graph(GraphState.NUMBER, frozenset({"net"}))),
        ("torch.Tensor.item", CONSTANT, CONSTANT),
    ],
)
def test_effect_on_the_graph(name: str, before: Graph, after: Graph) -> None:
    assert call(name, tensor(graph=before)).graph == after


def test_created_with_a_gradient_is_a_leaf() -> None:
    assert call("torch.randn", Int(N), requires_grad=Const(True)).graph == LEAF
    assert call("torch.randn", Int(N)).graph == CONSTANT


def test_list_of_tensors_rebuilt_loses_the_graph() -> None:
    pieces = Tuple((tensor(graph=ATTACHED), tensor(graph=ATTACHED)), "list")
    assert call("torch.as_tensor", pieces).graph == CUT
    assert call("torch.tensor", pieces, requires_grad=Const(True)).graph == CUT


def test_number_from_a_graph_makes_a_cut() -> None:
    number = call("torch.Tensor.item", tensor(graph=ATTACHED))
    assert call("operator.mul", tensor(N, graph=CONSTANT), number).graph == CUT


def test_indices_of_a_maximum_have_no_graph() -> None:
    best = call("torch.Tensor.max", tensor(N, 7, graph=ATTACHED), Int(as_dim(1)))
    assert (best.kind, best.fields) == ("max", ("values", "indices"))
    assert [part.graph for part in best.items] == [ATTACHED, CUT]
    assert [part.dtype for part in best.items] == ["float32", "int64"]


@pytest.mark.parametrize(
    ("result", "maker"),
    [
        (call("torch.Tensor.sum", tensor(N, 7), Int(as_dim(1)), keepdim=Const(True)), Maker.KEEPDIM),
        (call("numpy.mean", tensor(N, 7), axis=Int(as_dim(1)), keepdims=Const(True)), Maker.KEEPDIM),
        (call("torch.zeros", Int(N), Int(as_dim(1))), Maker.CREATED),
        (call("numpy.random.randn", Int(N), Int(as_dim(1))), Maker.CREATED),
    ],
)
def test_axis_of_size_one_knows_its_maker(result: Any, maker: Maker) -> None:
    assert result.shape.sizes == (N, as_dim(1))
    assert result.shape.head[1].maker is maker


def test_named_sizes_survive_an_operand_of_unknown_rank() -> None:
    result = call("operator.mul", tensor(N, 1, 7), Unknown())
    assert result.shape.rank is None
    assert result.shape.sizes[0] == N
    assert result.shape.sizes[1].value is None  # stretched, or not
    assert result.shape.sizes[2] == as_dim(7)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_reduction_beside_an_unknown_run(rank: int) -> None:
    shape = Shape((Axis(N),), Run("batch"), (Axis(as_dim(5)), Axis(as_dim(7))))
    x = Tensor(shape, "float32", "torch")
    assert call("torch.sum", x, Int(as_dim(-1))).shape == Shape((Axis(N),), Run("batch"), (Axis(as_dim(5)),))
    assert call("torch.sum", x, Int(as_dim(0))).shape == Shape((), Run("batch"), (Axis(as_dim(5)), Axis(as_dim(7))))
    inside = call("torch.sum", x, Int(as_dim(rank))).shape
    assert inside.head == (Axis(N),)
    assert inside.tail == ()


def test_two_unknown_arrays_are_not_the_same_run() -> None:
    left = Tensor(Shape((Axis(as_dim(5)),), Run(), ()), None, "torch")
    right = Tensor(Shape((Axis(as_dim(7)),), Run(), ()), None, "torch")
    assert call("operator.add", left, right).shape.rank is None  # (5, 2, 3) + (7, 1, 2, 3) might be meant


@pytest.mark.parametrize(
    ("array", "name"),
    [
        (array, name)
        for array in ("t(5, 7)", "n(5, 7, 11)", "j(5)")
        for name in ("shape", "ndim", "size", "T", "real", "dtype")
        if (array, name) != ("t(5, 7)", "size")  # a method of torch's
    ],
)
def test_attribute_as_the_library(array: str, name: str) -> None:
    obj = run(node_of(array))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        real = getattr(obj, name)
    inferred = tensor_attribute(lift(obj), name)
    assert inferred is not None
    if name == "dtype":
        assert inferred == Library(f"{PREFIXES.get('jnp') if array[0] == 'j' else library_of(obj)}.{dtype_name(real)}")
    elif name in {"T", "real"}:
        agree(real, inferred, {})
    else:
        assert concrete(inferred) == (tuple(real) if name == "shape" else real)


def test_attribute_of_data_is_cut_and_methods_are_none() -> None:
    x = tensor(N, graph=ATTACHED)
    data = tensor_attribute(x, "data")
    assert isinstance(data, Tensor)
    assert data.graph == CUT
    assert tensor_attribute(x, "mean") is None
    assert tensor_attribute(x, "size") is None  # a method of torch's


def test_sizes_and_dtype_of_another_tensor() -> None:
    x = Tensor(shape_of(N, 7), "float16", "torch")
    size, dtype = tensor_attribute(x, "shape"), tensor_attribute(x, "dtype")
    assert size is not None
    assert dtype is not None
    made = call("torch.zeros", size, dtype=dtype)
    assert made.shape == x.shape
    assert made.dtype == "float16"


@pytest.mark.parametrize(
    ("args", "count"),
    [((7,), 7), ((N,), N), ((1, N), N - 1), ((0, N * 2, 2), N), ((0, N, 3), (N + 2) // as_dim(3)), ((N, 0, -1), N)],
)
def test_arange_counts(args: tuple[Any, ...], count: Dim | int) -> None:
    assert call("torch.arange", *(Int(as_dim(arg)) for arg in args)).shape.sizes == (as_dim(count),)


@pytest.mark.parametrize("name", ["torch.zeros", "numpy.zeros", "torch.randn", "jax.numpy.ones"])
def test_unknown_shape_argument_is_no_single_size(name: str) -> None:
    assert call(name, Unknown(dim=N)).shape.rank is None


def test_device_is_no_dtype() -> None:
    device = call("torch.device", Const("cuda"))
    assert call("torch.Tensor.to", tensor(N, dtype="float16"), device).dtype == "float16"
    assert call("torch.Tensor.to", tensor(N, dtype="float16"), Unknown()).dtype is None


def test_every_spelling_is_one_of_the_library() -> None:
    missing = [name for name in spellings() if not exists(name)]
    assert missing == []


def spellings() -> list[str]:
    arithmetic = (elementwise, operators, broadcasting)
    mine = (*arithmetic, reductions, normalisation, ordering, creation, random, casts, autograd)
    return [text.partition("(")[0] for topic in mine for op in topic.OPS for text in op.spellings]


def exists(name: str) -> bool:
    parts = name.split(".")
    if parts[0] == "operator":
        return hasattr(operator, parts[1])
    found: Any = {"torch": torch, "numpy": np, "jax": jax}[parts[0]]
    for part in parts[1:]:
        found = getattr(found, part, None)
    return found is not None or name == "jax.Array.tolist"  # which the arrays have, but not their abstract class
