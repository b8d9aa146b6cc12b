"""Every modelled function of NumPy and jax on drawn arguments, against NumPy itself and `jax.eval_shape`.

What is inferred must never contradict the library, whether sizes are numbers or symbols, and must be exact for some
calls. Arguments are drawn by the parameter names of the library's own signature; calls that it refuses say nothing.
"""

from __future__ import annotations

import inspect
import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import jax.scipy.special
import jax.scipy.stats
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from shapelint.domain.values import Const, Float, Int, Tensor, Tuple, Unknown, Value
from shapelint.ops import TOPICS, infer_call, lookup
from shapelint.ops.dtypes import parse
from shapelint.ops.op import ShapeError
from shapelint.testing import Symbols, dtype_name, library_of, lift, number

Sizes = tuple[int, ...]
Call = tuple[tuple[Any, ...], dict[str, Any]]

RIGHT, PARTLY, OPEN, REFUSED = (
    "right",
    "right but for the dtype or a part",
    "open",
    "refused",
)  # verdicts; any other text says what is wrong
FINE = frozenset({RIGHT, PARTLY, OPEN})
SYMBOLS = Symbols(2, 3, 5)
NUMPY_DTYPES = ("float64", "float32", "float16", "int64", "int32", "uint8", "bool", "complex64", "complex128")
JAX_DTYPES = ("float32", "bfloat16", "float16", "int32", "uint8", "bool", "complex64")

# No arrays come in or out: files and random states.
APART = {"numpy.fromfile", "numpy.frombuffer", "numpy.random.default_rng", "numpy.random.RandomState"}
APART |= {f"numpy.{name}" for name in ("memmap", "loadtxt", "genfromtxt", "fromstring", "fromiter")}
APART |= {"jax.random.split"}  # keys, to be unpacked
APART |= {f"jax.lax.{name}" for name in ("pmean", "pmax", "pmin", "psum")}  # of axes that only pmap and vmap have
# What a dtype holds; tests/test_casting.py holds it against the libraries.
APART |= {f"{library}.{name}" for library in ("numpy", "jax.numpy") for name in ("finfo", "iinfo")}
# Older releases have these under names that newer ones no longer know.
RENAMED = {"numpy.trapz": "numpy.trapezoid"}
APART |= {old for old in RENAMED if not hasattr(np, old.removeprefix("numpy."))}
# x.at[index].set(values) is no attribute path; tests/test_indexing.py has it.
PREFIXES_APART = ("jax.Array.at.",)
RANDOM_STATES = ("numpy.random.Generator.", "numpy.random.RandomState.")
# How many there are, the data decide.
DATA_DEPENDENT = frozenset({"nonzero", "argwhere", "flatnonzero", "unique", "bincount", "setdiff1d", "union1d"})
# Of these never all is known: a number that the data decide, or a dtype.
OPEN_ONLY = DATA_DEPENDENT | {"allclose", "array_equal", "iscomplexobj", "where", "choice"}


def modelled() -> list[str]:
    """All spellings of numpy and jax, and the methods that are found by a function's spelling."""
    names = [text.partition("(")[0] for topic in TOPICS for op in topic.OPS for text in op.spellings]
    methods = [f"numpy.ndarray.{name}" for name in dir(np.ndarray) if not name.startswith("_")]
    methods += [f"jax.Array.{name}" for name in dir(jax.Array) if not name.startswith("_")]
    found = {name for name in names if name.startswith(("numpy.", "jax."))}
    found |= {name for name in methods if lookup(name) is not None}
    return sorted(name for name in found - APART if not name.startswith(PREFIXES_APART))


def real(name: str) -> Any:
    found: Any = {"numpy": np, "jax": jax}[name.partition(".")[0]]
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


# Arguments, by the names of parameters.


@cache
def array(library: str, shape: Sizes, dtype: str) -> Any:
    """Small positive numbers; square matrices are well-conditioned."""
    found = np.arange(int(np.prod(shape))).reshape(shape) % 3 + 1
    if len(shape) > 1 and shape[-1] == shape[-2]:
        found = found + 7 * np.eye(shape[-1], dtype=found.dtype)
    return found.astype(dtype) if library == "numpy" else jnp.asarray(found).astype(dtype)


class Drawing:
    """Draws the arguments of one call."""

    def __init__(self, name: str, rng: random.Random) -> None:
        self.name, self.rng, self.choice = name, rng, rng.choice
        self.library = name.partition(".")[0]
        self.dtype = rng.choice(NUMPY_DTYPES if self.library == "numpy" else JAX_DTYPES)
        self.shape = self.sizes()
        self.first = True

    def sizes(self, least: int = 0, most: int = 3) -> Sizes:
        return tuple(self.choice((1, 2, 3, 5)) for _ in range(self.rng.randint(least, most)))

    def array(self, shape: Sizes | None = None, dtype: str | None = None) -> Any:
        return array(self.library, self.shape if shape is None else shape, dtype or self.dtype)

    def axis(self) -> int:
        rank = max(len(self.shape), 1)
        return self.rng.randrange(-rank, rank)

    def axes(self) -> Any:
        if self.rng.random() < 0.7:
            return self.axis()
        return tuple(self.rng.sample(range(len(self.shape)), self.rng.randint(0, len(self.shape))))

    def operand(self) -> Any:
        """The first array has the shape; others have it too, or one that broadcasts, or are numbers."""
        if self.first:
            self.first = False
            return self.array()
        kind = self.choice(("same", "same", "broadcast", "number"))
        if kind == "number":
            return self.choice((1, 2, 0.5))
        if kind == "same":
            return self.array()
        some = tuple(self.choice((size, 1)) for size in self.shape)
        dtype = self.choice(NUMPY_DTYPES if self.library == "numpy" else JAX_DTYPES)
        return self.array(some[self.rng.randint(0, len(some)) :], dtype)

    def several(self) -> list[Any]:
        """Arrays for joining: alike but for one axis."""
        self.shape = self.sizes(1)
        axis = self.rng.randrange(len(self.shape))
        alike = self.rng.random() < 0.5
        sizes = [self.choice((1, 2, 3)) for _ in range(self.rng.randint(1, 3))]
        shapes = [
            self.shape if alike else (*self.shape[:axis], n, *self.shape[axis + 1 :])[: len(self.shape)] for n in sizes
        ]
        return [self.array(shape) for shape in shapes]

    def indices(self) -> Any:
        return array(self.library, self.sizes(), "int32") % 1

    def an_int(self, low: int = -2, high: int = 2) -> int:
        return self.rng.randint(low, high)

    def a_bool(self) -> bool:
        return self.choice((True, False))

    def a_dtype(self) -> Any:
        names = (
            "float32",
            "int32",
            "float16",
            "complex64",
            "bool",
            "float64" if self.library == "numpy" else "bfloat16",
        )
        return getattr(np if self.library == "numpy" else jnp, self.choice(names).replace("bool", "bool_"))

    def target(self) -> Any:
        """A shape argument: for what is drawn, broadcast or reshaped."""
        if self.rng.random() < 0.2:
            return self.choice((1, 2, 3))
        if self.rng.random() < 0.5:
            return (*self.sizes(0, 1), *self.shape)
        return self.sizes()

    def reshaped(self) -> Any:
        sizes = list(self.shape)
        self.rng.shuffle(sizes)
        if len(sizes) > 1 and self.rng.random() < 0.6:
            sizes[:2] = [sizes[0] * sizes[1]]
        if sizes and self.rng.random() < 0.4:
            sizes[self.rng.randrange(len(sizes))] = -1
        return tuple(sizes)

    def permutation(self) -> Any:
        return tuple(self.rng.sample(range(len(self.shape)), len(self.shape)))

    def mask(self) -> Any:
        return self.array(self.shape if self.a_bool() else self.shape[1:], "bool")


OPERANDS = """
x a a1 a2 m A arr ar array operand v input self ary object y b x1 x2 val z element value prototype values condition pred
on_true on_false src loc scale mean sigma lam low high alpha mu kappa df dfnum dfden p n minval maxval start stop min
max a_min a_max test_elements other real d
"""
FLAGS = """
keepdims returned retstep endpoint right sparse full_matrices compute_uv return_index return_inverse return_counts
promote_integers reverse replace return_sign lower increasing density independent copy invert equal_nan
"""
COUNTS = "N M num num_classes ndmin minlength bins ddof correction length kth"
KINDS: Mapping[str, Callable[[Drawing], Any]] = {
    **dict.fromkeys(OPERANDS.split(), Drawing.operand),
    **dict.fromkeys(["axis"], Drawing.axes),
    **dict.fromkeys(["axis1", "axis2", "source", "destination", "dimension", "axisa", "axisb", "axisc"], Drawing.axis),
    **dict.fromkeys(FLAGS.split(), Drawing.a_bool),
    **dict.fromkeys(["dtype", "new_dtype", "preferred_element_type", "out_dtype"], Drawing.a_dtype),
    **dict.fromkeys(["shape", "size"], Drawing.target),
    **dict.fromkeys(["k", "offset", "shift", "decimals"], Drawing.an_int),
    **dict.fromkeys(COUNTS.split(), lambda d: d.an_int(0, 4)),
    **dict.fromkeys(["arrays", "tup", "operands"], Drawing.several),
    **dict.fromkeys(["axes"], lambda d: d.choice((d.permutation(), d.axes()))),
    "indices": Drawing.indices,
    "obj": lambda d: d.choice((0, 1, slice(0, 1), [0])),
    "where": Drawing.mask,
    "weights": Drawing.operand,
    "initial": lambda d: 1,
    "prepend": lambda d: d.choice((0, d.array())),
    "append": lambda d: d.choice((0, d.array())),
    "q": lambda d: d.choice((0.5, np.array([0.1, 0.9], "float32"))),
    "fill_value": lambda d: d.choice((1, 2.5, True, d.array((), None))),
    "repeats": lambda d: d.choice((2, 3, [2] * (d.shape[0] if d.shape else 1), 1)),
    "reps": lambda d: d.choice((2, (2, 3), (2, 1, 3, 1), [3])),
    "pad_width": lambda d: d.choice((1, (1, 2), ((1, 2),), tuple((i, 2) for i in range(len(d.shape))))),
    "mode": lambda d: d.choice(("reflect", "constant", "edge", "wrap", "clip", "fill", "complete", "r", "reduced")),
    "indexing": lambda d: d.choice(("ij", "xy")),
    "ord": lambda d: d.choice((1, 2, "fro", "nuc", np.inf, None)),
    "indices_or_sections": lambda d: d.choice((1, 2, 3, [1], [1, 1], (0, 1))),
    "window_shape": lambda d: d.choice((1, 2, (2,), (1,) * len(d.shape))),
    "step": lambda d: d.choice((1, 2, 0.5, -1)),
    "seed": lambda d: 0,
    "dimensions": lambda d: d.choice((d.permutation(), (d.axis(),))),
    "new_sizes": Drawing.reshaped,
    "new_shape": Drawing.target,
    "image": Drawing.operand,
    "method": lambda d: "nearest",
    "shardings": lambda d: jax.sharding.SingleDeviceSharding(jax.devices()[0]),
    "permutation": Drawing.permutation,
    "start_index": lambda d: 0,
    "limit_index": lambda d: d.an_int(1, 2),
    "slice_size": lambda d: d.an_int(1, 2),
    "stride": lambda d: d.choice((None, 1, 2)),
    "start_indices": lambda d: (0,) * len(d.shape),
    "slice_sizes": lambda d: tuple(d.choice((1, size)) for size in d.shape),
    "update": lambda d: d.array(tuple(d.choice((1, size)) for size in d.shape)),
    "key": lambda d: jax.random.key(0),
    "device": lambda d: None,
    "broadcast_dimensions": lambda d: tuple(range(len(d.shape))),
    "deg": lambda d: d.an_int(1, 4) if "polynomial" in d.name else d.a_bool(),
    "total_repeat_length": lambda d: d.an_int(1, 4),
    "variance": lambda d: None,
    "approximate": Drawing.a_bool,
}  # fmt: skip
# Given only where the library demands them: most calls would be refused, or they are other operands.
SELDOM = frozenset({"where", "initial", "mode", "device", "size", "min", "max", "high", "mean", "variance", "b", "y"})


# Calls whose arguments hang together.


def matrices(d: Drawing) -> Call:
    batch = d.sizes(0, 1)
    n, k, m = (d.choice((1, 2, 3, 5)) for _ in range(3))
    left = d.choice(((*batch, n, k), (k,), (*d.sizes(0, 1), *batch, n, k)[-3:]))
    right = d.choice(((*batch, k, m), (k,), (k, m)))
    return (d.array(left), d.array(right, d.choice((d.dtype, "float32")))), {}


def vectors(d: Drawing) -> Call:
    """Two arrays that share their last axis."""
    last = d.choice((2, 3, 5))
    return (d.array((*d.sizes(0, 2), last)), d.array((*d.choice(((), d.sizes(0, 1))), last))), {}


def two_lines(d: Drawing) -> Call:
    """Two lines of numbers, of which none need be as long as the other."""
    mode = d.choice(("full", "same", "valid"))
    return (d.array(d.sizes(1, 1)), d.array(d.sizes(1, 1))), d.choice(({}, {"mode": mode}))


def square(d: Drawing) -> Call:
    n = d.choice((1, 2, 3, 5))
    matrix = d.array((*d.sizes(0, 1), n, n), d.choice(("float32", "float32", "complex64", "int32")))
    return (matrix,), optional(d, skip=("a", "x", "A", "M", "n", "b"))


def any_matrix(d: Drawing) -> Call:
    matrix = d.array((*d.sizes(0, 1), d.choice((1, 2, 3, 5)), d.choice((2, 3, 5))), d.choice(("float32", "complex64")))
    return (matrix,), optional(d, skip=("a", "x", "A", "b"))


def power(d: Drawing) -> Call:
    (matrix,), _ = square(d)
    return (matrix, d.an_int(0, 3)), {}


def system(d: Drawing) -> Call:
    n, dtype = d.choice((2, 3, 5)), d.choice(("float32", "complex64"))
    batch = d.sizes(0, 1)
    right = d.choice(((n,), (n, 2), (*batch, n, 3)))
    matrix = d.array((*batch, n, n), dtype)
    return ((matrix, True) if d.name.endswith("cho_solve") else matrix, d.array(right, dtype)), {}


def least_squares(d: Drawing) -> Call:
    m = d.choice((3, 5))
    return (d.array((m, d.choice((2, 5))), "float32"), d.array(d.choice(((m,), (m, 2))), "float32")), {}


def summation(d: Drawing) -> Call:
    equation, *shapes = d.choice((
        ("ij,jk->ik", (2, 3), (3, 5)), ("ij,ij->", (2, 3), (2, 3)), ("bij,bjk", (2, 3, 5), (2, 5, 3)),
        ("ii->i", (3, 3)), ("ij,ik", (1, 2), (3, 2)),
        ("...i,i->...", (2, 5, 3), (3,)), ("i,j->ij", (2,), (3,)), ("ij->ji", (2, 5)), ("...ij->...ji", (5, 2, 3)),
        ("bhqd,bhkd->bhqk", (2, 1, 3, 5), (2, 1, 2, 5)), ("ii", (2, 2)), ("ij,j", (1, 3), (3,)),
    ))  # fmt: skip
    return (equation, *(d.array(shape) for shape in shapes)), {}


def tensordot(d: Drawing) -> Call:
    a, b, axes = d.choice((
        ((2, 3, 5), (3, 5, 2), 2), ((2, 3), (3, 5), 1), ((2, 3), (5,), 0), ((2, 3, 5), (5, 2), ([0, 2], [1, 0])),
        ((2, 3), (3, 2), (1, 0)), ((2, 3), (2, 3), ((0, 1), (0, 1))),
    ))  # fmt: skip
    return (d.array(a), d.array(b)), {"axes": axes}


def dot_general(d: Drawing) -> Call:
    a, b, numbers = d.choice((
        ((2, 3), (3, 5), (((1,), (0,)), ((), ()))), ((5, 2, 3), (5, 3, 2), (((2,), (1,)), ((0,), (0,)))),
        ((2, 3), (2, 3), (((0, 1), (0, 1)), ((), ()))),
    ))  # fmt: skip
    return (d.array(a), d.array(b), numbers), optional(d, only=("preferred_element_type",))


def multi_dot(d: Drawing) -> Call:
    sizes = [d.choice((2, 3, 5)) for _ in range(4)]
    shapes: list[Sizes] = list(pairwise(sizes))
    if d.a_bool():
        shapes[0] = shapes[0][1:]
    if d.a_bool():
        shapes[-1] = shapes[-1][:1]
    return ([d.array(shape, "float32") for shape in shapes],), {}


def cross(d: Drawing) -> Call:
    batch = d.sizes(0, 2)
    return (d.array((*batch, d.choice((3, 3, 2)))), d.array((*d.choice((batch, ())), d.choice((3, 3, 2))))), {}


def along_axis(d: Drawing) -> Call:
    d.shape = d.sizes(1)
    axis = d.axis()
    sizes = list(d.choice((d.shape, (1,) * len(d.shape))))
    sizes[axis] = d.choice((1, 2, 3))
    return (d.array(), d.array(tuple(sizes), "int32") % 1), {"axis": axis}


def ranges(d: Drawing) -> Call:
    args = d.choice(((5,), (1, 5), (0, 10, 3), (5, 0, -2), (0.0, 1.0, 0.25), (2.5,)))
    return args, optional(d, only=("dtype",))


def unary_stretch(d: Drawing) -> Call:
    return (d.array(), d.target()), {}


def shapes(d: Drawing) -> Call:
    return d.choice((((2, 1), (3,)), ((2, 3), (2, 3)), ((5, 1, 3), (2, 1), ()), ((1,), 3))), {}


def arrays(d: Drawing) -> Call:
    return tuple(d.operand() for _ in range(d.rng.randint(1, 3))), optional(d, only=("indexing", "sparse"))


def lines(d: Drawing) -> Call:
    return tuple(d.array(d.sizes(1, 1)) for _ in range(d.rng.randint(1, 3))), optional(d, only=("indexing", "sparse"))


def nested_blocks(d: Drawing) -> Call:
    rows, columns = ([d.rng.randint(1, 3) for _ in range(d.rng.randint(1, 3))] for _ in range(2))
    batch = d.sizes(0, 1)
    return ([[d.array((*batch, n, m)) for m in columns] for n in rows],), {}


def slopes(d: Drawing) -> Call:
    shape = tuple(n + 1 for n in d.sizes(1, 3))
    axis = {"axis": d.rng.randrange(len(shape))} if d.rng.random() < 0.5 else {}
    return (d.array(shape, "float32"),), axis


def two_sets(d: Drawing) -> Call:
    return (d.array(d.sizes(0, 2), "int32"), d.array(d.sizes(0, 2), "int32")), {}


def blocks(d: Drawing) -> Call:
    return tuple(d.array(d.sizes(0, 2)) for _ in range(d.rng.randint(1, 3))), {}


def attention(d: Drawing) -> Call:
    heads = d.choice((1, 2))
    query = d.array((*d.choice(((2,), ())), 3, heads, 5), "float32")
    keys = d.array((*query.shape[:-3], d.choice((2, 3)), heads, 5), "float32")
    return (query, keys, keys), {}


def reshape(d: Drawing) -> Call:
    return (d.array(), d.reshaped()), {}


def splat(d: Drawing, what: Callable[[Drawing], Any] = Drawing.reshaped) -> Call:
    sizes = what(d)
    return (d.array(), *(sizes if d.a_bool() else (sizes,))), {}


def sorted_values(d: Drawing) -> Call:
    return (d.array(d.sizes(1, 1), "float32"), d.array(d.sizes(), "float32")), optional(d, only=("right", "side"))


def one_array(d: Drawing) -> Call:
    d.shape = d.sizes(1)
    place = (d.rng.randrange(min(d.shape)),) if "partition" in d.name else (1,) if "top_k" in d.name else ()
    return (d.array(), *place), optional(d, skip=("a", "x", "operand", "self", "size", "k", "kth"))


def one_line(d: Drawing) -> Call:
    return (d.array(d.sizes(1, 1), "int32"),), optional(d, skip=("x", "v", "a", "weights"))


def moved(d: Drawing) -> Call:
    d.shape = d.sizes(1)
    several = d.rng.sample(range(len(d.shape)), d.rng.randint(1, len(d.shape)))
    return (d.array(), *d.choice(((d.axis(), d.axis()), (several, several[::-1])))), {}


def sizes_of_draw(d: Drawing) -> Call:
    return (*receiver(d), *d.choice((d.sizes(), d.shape))), {}


def multivariate(d: Drawing) -> Call:
    n = d.choice((2, 3, 5))
    if d.library == "jax":  # means and covariances come in batches
        return (jax.random.key(0), jax.numpy.zeros((*d.sizes(0, 1), n)), jax.numpy.eye(n)), {}
    return (*receiver(d), np.zeros(n), np.eye(n)), optional(d, only=("size",))


def multinomial(d: Drawing) -> Call:
    n = d.choice((2, 5))
    return (*receiver(d), 4, np.full(n, 1 / n)), optional(d, only=("size",))


def dirichlet(d: Drawing) -> Call:
    if d.library == "jax":
        return (jax.random.key(0), jax.numpy.ones((*d.sizes(0, 2), 3))), {}
    return (*receiver(d), np.ones(d.choice((2, 3)))), optional(d, only=("size",))


def choices(d: Drawing) -> Call:
    pool = d.choice((5, d.array(d.sizes(1, 1)), d.array(d.sizes(1, 2))))
    key = (jax.random.key(0),) if d.library == "jax" else receiver(d)
    return (*key, pool), optional(d, only=("size", "shape", "replace"))


def permuted(d: Drawing) -> Call:
    key = (jax.random.key(0),) if d.library == "jax" else receiver(d)
    return (*key, d.choice((5, d.array(d.sizes(1, 2))))), {}


def probabilities(d: Drawing) -> Call:
    """A draw whose parameters lie in (0, 1)."""
    key = (jax.random.key(0),) if d.library == "jax" else receiver(d)
    count = 2 if "binomial" in d.name else 1
    shape = d.sizes()
    args = [d.choice((3, np.full(shape, 3))), d.choice((0.5, np.full(shape, 0.5)))][-count:]
    return (*key, *args), optional(d, only=("size", "shape"))


def receiver(d: Drawing) -> tuple[Any, ...]:
    """A random state, where the call is a method of one."""
    if ".Generator." in d.name:
        return (np.random.default_rng(0),)
    return (np.random.RandomState(0),) if ".RandomState." in d.name else ()


def clipped(d: Drawing) -> Call:
    return (d.operand(), d.operand(), d.choice((None, d.operand()))), {}


def binned(d: Drawing) -> Call:
    return (d.array(), d.array(d.sizes(1, 1), "float32")), optional(d, only=("right",))


def diagonal_ones(d: Drawing) -> Call:
    return (d.an_int(0, 4),), optional(d, only=("M", "k", "dtype"))


def truncated(d: Drawing) -> Call:
    return (jax.random.key(0), -1.0, d.array(None, "float32")), optional(d, only=("shape",))


def ball(d: Drawing) -> Call:
    return (jax.random.key(0), d.an_int(1, 3)), optional(d, only=("shape",))


def chosen(d: Drawing) -> Call:
    return (d.mask(), *((d.operand(), d.operand()) if d.library == "jax" or d.a_bool() else ())), {}


def squeezed(d: Drawing) -> Call:
    d.shape = (*d.sizes(0, 1), 1, *d.sizes(0, 1))
    return (d.array(), (d.shape.index(1),)), {}


def spaced(d: Drawing) -> Call:
    return (d.choice((1, 1.5)), d.choice((2, 3.5))), optional(d, only=("num", "endpoint", "retstep", "dtype"))


def alone(d: Drawing) -> Call:
    return (d.operand(),), {}


def logits(d: Drawing) -> Call:
    d.shape = d.sizes(1)
    return (jax.random.key(0), d.array(None, "float32")), optional(d, only=("axis", "shape"))


SCALARS = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"),
    *("complex64", "complex128", "bool_", "half", "single", "double", "bfloat16"),
)
UFUNCS = ("add", "subtract", "multiply", "maximum", "minimum")
UFUNCS += ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def pair(d: Drawing) -> Call:
    return (d.array(d.sizes(0, 2)), d.array(d.sizes(0, 2), d.choice(NUMPY_DTYPES))), {}


RECIPES: Mapping[str, Callable[[Drawing], Call]] = {
    **dict.fromkeys(["matmul", "dot"], matrices),
    **dict.fromkeys(["inner", "vecdot"], vectors),
    **dict.fromkeys(["convolve", "correlate"], two_lines),
    **dict.fromkeys(["inv", "det", "slogdet", "cholesky", "cond", "expm", "cho_factor"], square),
    **dict.fromkeys(["eig", "eigh", "eigvals", "eigvalsh"], square),
    **{f"{name}.outer": pair for name in UFUNCS},
    "tensorsolve": lambda d: ((np.eye(6).reshape(2, 3, 6), np.ones((2, 3))), {}),
    **dict.fromkeys(["svd", "svdvals", "qr", "pinv", "matrix_rank"], any_matrix),
    **dict.fromkeys(["solve", "solve_triangular", "cho_solve"], system),
    **dict.fromkeys(["broadcast_arrays", "atleast_1d", "atleast_2d", "atleast_3d"], arrays),
    **dict.fromkeys(["searchsorted"], sorted_values),
    "polyval": lambda d: ((d.array((3,), "float32"), d.array(d.sizes(), "float32")), {}),
    "polyfit": lambda d: ((np.linspace(0, 1, 7), d.array((7, *d.choice(((), (3,)))), "float32"), d.choice((1, 2))), {}),
    **dict.fromkeys(["multi_dot"], multi_dot),
    **dict.fromkeys(["bincount", "vander"], one_line),
    **dict.fromkeys(["top_k", "sort", "argsort", "partition", "argpartition"], one_array),
    **dict.fromkeys(["rand", "randn"], sizes_of_draw),
    **dict.fromkeys(["random.choice", "Generator.choice", "RandomState.choice"], choices),
    **dict.fromkeys(["random.permutation", "Generator.permutation", "RandomState.permutation", "shuffle"], permuted),
    **dict.fromkeys(["random.bernoulli", "geometric", "logseries", "binomial", "negative_binomial"], probabilities),
    **dict.fromkeys(("fftfreq", "rfftfreq", "kaiser"), lambda d: ((d.an_int(1, 6), 0.5), {})),
    **dict.fromkeys(("linspace", "geomspace", "logspace"), spaced),
    "interp": lambda d: ((d.array(None, "float32"), np.arange(3.0), np.ones(3)), {}),
    "glu": lambda d: ((d.array((*d.sizes(0, 2), d.choice((2, 4)))),), {}),
    "zipf": lambda d: ((*receiver(d), d.choice((2.0, np.full(d.shape, 2.0)))), optional(d, only=("size",))),
    "vdot": lambda d: ((d.array(), d.array()), {}),
    "zeta": lambda d: ((d.array(None, "float32"), d.array(d.shape[1:], "float32")), {}),
    "image.resize": lambda d: ((d.array(), tuple(d.choice((1, 2, 6)) for _ in d.shape), "nearest"), {}),
    "select": lambda d: ((d.array(None, "bool"), d.array(), d.array()), {}),
    **dict.fromkeys((*SCALARS, "nonzero", "argwhere", "flatnonzero"), alone),
    "numpy.clip": clipped, "digitize": binned, "eye": diagonal_ones, "identity": diagonal_ones,
    "truncated_normal": truncated, "ball": ball, "numpy.where": chosen, "lax.squeeze": squeezed,
    "matrix_power": power, "lstsq": least_squares, "einsum": summation, "tensordot": tensordot, "cross": cross,
    "dot_general": dot_general, "take_along_axis": along_axis, "numpy.arange": ranges, "broadcast_shapes": shapes,
    "broadcast_to": unary_stretch, "meshgrid": lines, "block_diag": blocks,
    "block": nested_blocks, "gradient": slopes, "setdiff1d": two_sets, "union1d": two_sets,
    "dot_product_attention": attention,
    "reshape": reshape, "Array.reshape": splat, "ndarray.reshape": splat, "moveaxis": moved,
    "ndarray.transpose": partial(splat, what=Drawing.permutation),
    "Array.transpose": partial(splat, what=Drawing.permutation),
    "multivariate_normal": multivariate, "multinomial": multinomial, "dirichlet": dirichlet, "categorical": logits,
}  # fmt: skip


def drawn(d: Drawing) -> Call:
    parts = d.name.rsplit(".", 2)
    special = RECIPES.get(".".join(parts[-2:])) or RECIPES.get(parts[-1])
    if special is not None:
        return special(d)
    demanded = [p.name for p in parameters(d.name) if p.default is p.empty and p.name in KINDS]
    return (*receiver(d), *(KINDS[name](d) for name in demanded)), optional(d)


@cache
def parameters(name: str) -> list[inspect.Parameter]:
    """The parameters of the library's signature; by the spelling where they are not told."""
    try:
        found = list(inspect.signature(real(name)).parameters.values())
    except (AttributeError, TypeError, ValueError):
        return [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]  # an attribute
    if found and found[0].kind is inspect.Parameter.VAR_POSITIONAL and name.startswith("jax.numpy."):
        spelling = lookup(name)
        assert spelling is not None
        names = [part for part in spelling.positional if not part.startswith("option")]
        found = [inspect.Parameter(part, inspect.Parameter.POSITIONAL_ONLY) for part in names]
    is_method = name.startswith("numpy.random.") and name.count(".") > 2 and found[:1] and found[0].name == "self"
    return found[1:] if is_method else found


def optional(d: Drawing, only: tuple[str, ...] = (), skip: tuple[str, ...] = ()) -> dict[str, Any]:
    """Some of the parameters that have a default, as keywords."""
    chosen = {}
    for parameter in parameters(d.name):
        name = parameter.name
        if parameter.kind is parameter.POSITIONAL_ONLY or parameter.kind is parameter.VAR_POSITIONAL:
            continue
        if parameter.default is parameter.empty or name not in KINDS or name in skip or (only and name not in only):
            continue
        if d.rng.random() < (0.1 if name in SELDOM and not only else 0.35):
            chosen[name] = KINDS[name](d)
    return chosen


# The library's answer, ours, and whether they agree.


def outcome(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What the library makes of it; of jax only shape and dtype are asked, which spares compiling."""

    def run() -> Any:
        if name.count(".") == 2 and name.startswith(("numpy.ndarray.", "jax.Array.")):
            return attribute(args[0], name.rpartition(".")[2], *args[1:], **kwargs)
        if name.startswith(RANDOM_STATES):
            return attribute(args[0], name.rpartition(".")[2], *args[1:], **kwargs)
        return real(name)(*args, **kwargs)

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        concrete = name.rpartition(".")[2] in DATA_DEPENDENT or name.endswith(("broadcast_shapes", ".item", ".tolist"))
        return jax.eval_shape(run) if name.startswith("jax.") and not concrete else run()


def attribute(obj: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    found = getattr(obj, name)
    return found(*args, **kwargs) if callable(found) else found


def verdict(real: Any, value: Value) -> str:
    """Whether an inferred value says what the library returned."""
    match real, value:
        case _, Unknown():
            return OPEN
        case (tuple() | list(), Tuple(items=items)):
            if len(items) != len(real):
                return f"{len(items)} values, not {len(real)}"
            verdicts = [verdict(r, item) for r, item in zip(real, items)]
            wrong = next((v for v in verdicts if v not in FINE), None)
            return wrong or (RIGHT if set(verdicts) <= {RIGHT} else OPEN if set(verdicts) <= {OPEN} else PARTLY)
        case (bool() | str() | None, Const(value=known)):
            return RIGHT if known == real else f"{known}, not {real}"
        case (int(), Int(dim=dim)) if not isinstance(real, bool):
            known = number(dim, SYMBOLS.sizes)
            return OPEN if known is None else RIGHT if known == real else f"{known}, not {real}"
        case (float(), Float()):
            return RIGHT
        case (_, Tensor()) if hasattr(real, "shape"):
            return of_array(real, value)
        case _, Tuple() | Tensor() | Int() | Float() | Const():
            return f"{value}, not a {type(real).__name__}"
    return OPEN


def of_array(real: Any, value: Tensor) -> str:
    wanted, shape = tuple(real.shape), value.shape
    if not fits(value.dtype, dtype_name(real.dtype)):
        return f"{value.dtype}, not {real.dtype}"
    if shape.run is not None:
        return OPEN if shape.least_rank <= len(wanted) else f"{shape}, not {wanted}"
    found = tuple(number(size, SYMBOLS.sizes) for size in shape.sizes)
    if len(found) != len(wanted) or any(a not in {None, b} for a, b in zip(found, wanted)):
        return f"{shape} = {found}, not {wanted}"
    return OPEN if None in found else RIGHT if value.dtype is not None else PARTLY


def fits(inferred: str | None, real: str) -> bool:
    """The inferred dtype is not known, is the real one, or a class that the real one is of."""
    if inferred is None or inferred == real:
        return True
    known, true = parse(inferred), parse(real)
    return known is not None and true is not None and known.bits == 0 and known.category == true.category


def lift_arrays(obj: Any) -> Value:
    """Arrays with symbols as sizes; numbers as they are, for they may well be axes."""
    if isinstance(obj, list | tuple):
        return Tuple(tuple(map(lift_arrays, obj)), "list" if isinstance(obj, list) else "tuple")
    return lift(obj, SYMBOLS) if library_of(obj) is not None else lift(obj)


def verdicts(name: str, rng: random.Random) -> Iterator[str]:
    """What comes of one drawn call: with numbers, with arrays of symbolic sizes, with symbols throughout."""
    args, kwargs = drawn(Drawing(name, rng))
    try:
        answer = outcome(name, args, kwargs)
    except Exception:  # whatever a library raises on arguments that it does not take
        yield REFUSED
        return
    given = args[1:] if name.startswith(RANDOM_STATES) else args  # methods of an object are asked without it
    for known in (lift, lift_arrays, partial(lift, size=SYMBOLS)):
        try:
            inferred = infer_call(name, [known(arg) for arg in given], {key: known(arg) for key, arg in kwargs.items()})
            found = verdict(answer, inferred)
        except ShapeError as error:
            found = f"raises {error}"
        assert found in FINE, f"{name}(*{described(args)}, **{described(kwargs)}): {found}"
        yield found


def described(obj: Any) -> Any:
    """A call as text: arrays by shape and dtype."""
    match obj:
        case tuple() | list():
            return [described(part) for part in obj]
        case dict():
            return {key: described(part) for key, part in obj.items()}
    return f"{obj.dtype}{list(obj.shape)}" if library_of(obj) and not isinstance(obj, type) else obj


@pytest.mark.parametrize("name", modelled())
def test_never_contradicts_the_library(name: str) -> None:
    tally: Counter[str] = Counter()

    @settings(
        derandomize=True, database=None, deadline=None, max_examples=12 if name.startswith("numpy.") else 6,
        phases=[Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.integers(0, 2**32))
    def examples(seed: int) -> None:
        tally.update(verdicts(name, random.Random(seed)))

    examples()
    assert tally[RIGHT] + tally[PARTLY] or (tally[OPEN] and name.rpartition(".")[2] in OPEN_ONLY), dict(tally)


@pytest.mark.parametrize(("old", "new"), RENAMED.items())
def test_a_renamed_function_is_the_new_one(old: str, new: str) -> None:
    before, after = lookup(old), lookup(new)
    assert before is not None
    assert after is not None
    assert (before.op, before.positional) == (after.op, after.positional)
