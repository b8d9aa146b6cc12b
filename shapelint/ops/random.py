"""Random arrays: torch, numpy (legacy functions, RandomState and Generator methods) and jax (key first)."""

from __future__ import annotations

from collections.abc import Mapping

from shapelint.domain.dims import anonymous, data_dependent
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Axis,
    Float,
    Graph,
    GraphState,
    Int,
    Layer,
    Maker,
    Many,
    Shape,
    Tensor,
    Tuple,
    Unknown,
    Value,
    shape_of,
)
from shapelint.events import Kind
from shapelint.ops.axes import reduced
from shapelint.ops.broadcasting import broadcast_all
from shapelint.ops.creation import TORCH, filled, like, of_floats
from shapelint.ops.dtypes import default_dtype, promote, unknown_dtype
from shapelint.ops.op import (
    DtypeRule,
    GraphEffect,
    Op,
    Part,
    Result,
    Unknowable,
    integer,
    is_none,
    size_or_any,
    sizes,
    tensor,
)
from shapelint.ops.runs import hidden, joined

CONSTANT, NO_GRAPH = GraphEffect.CONSTANT, GraphEffect.NO_GRAPH
NUMBER = Float(graph=Graph(GraphState.CONST))


def torch_randint(low: Value, high: Value = NONE, shape: Value = NONE) -> Shape:
    """randint(high, size) or randint(low, high, size)"""
    return sizes(high if is_none(shape) else shape, Maker.CREATED)


def permuted(n: Value) -> Shape:
    """randperm: (n,)"""
    return shape_of(size_or_any(n))


def torch_normal(mean: Value, std: Value = NONE, shape: Value = NONE) -> Shape:
    """torch.normal: of a size, or of the shape of its parameters."""
    if not is_none(shape) and not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        return sizes(shape, Maker.CREATED)
    return broadcast_all(*(tensor(v).shape for v in (mean, std) if not is_none(v)))


def of_parameters(bound: Mapping[str, Value], library: str | None) -> str | None:
    """torch.normal: the dtype of the tensors among its parameters; the default one without any."""
    known = [bound[name] for name in ("mean", "std") if isinstance(bound.get(name), Tensor)]
    if known:
        return promote(known, library)
    numbers = all(isinstance(bound.get(name, NUMBER), Int | Float) for name in ("mean", "std"))
    return default_dtype(library, "float") if numbers else None


def multinomial(x: Value, num_samples: Value) -> Shape:
    """(c,) -> (num_samples,), (n, c) -> (n, num_samples); torch takes no more axes."""
    shape = tensor(x).shape
    count = Axis(size_or_any(num_samples))
    if shape.run is not None and shape.least_rank < 2:
        return hidden(shape, "multinomial", tail=(count,))
    return Shape((*shape.axes[:-1], count))


def receiver(x: Value) -> Value:
    """normal_, nn.init.zeros_: the tensor itself."""
    if isinstance(x, Tensor):
        return x
    raise Unknowable("not known to be a tensor")


def drawn(x: Value = NONE, y: Value = NONE, shape: Value = NONE) -> Result:
    """numpy's distributions: of `size`, else of the shape of the parameters; a number where these are numbers."""
    if not is_none(shape):
        return sizes(shape, Maker.CREATED)
    common = broadcast_all(*(tensor(v).shape for v in (x, y) if not is_none(v)), Shape())
    return common if common.rank != 0 else UNKNOWN


def drawn_whole(x: Value = NONE, y: Value = NONE, shape: Value = NONE, dtype: Value = NONE) -> Result:
    """A Python int where no array was asked for, unless it is to be of a dtype."""
    result = drawn(x, y, shape)
    return whole(0) if result is UNKNOWN and is_none(dtype) else result


def drawn_between(x: Value, y: Value = NONE, shape: Value = NONE, dtype: Value = NONE) -> Result:
    """The same from `x` on, or from 0 on where there is no `y`."""
    result = drawn(x, y, shape)
    if result is not UNKNOWN or not is_none(dtype):
        return result
    lowest = x.dim.value if isinstance(x, Int) and not is_none(y) else None
    return whole(lowest or 0)


def whole(lowest: int) -> Int:
    """A whole number of at least `lowest`: a symbol is at least 1."""
    return Int(data_dependent(object(), "random") + (lowest - 1))


def drawn_by_generator(x: Value = NONE, y: Value = NONE, shape: Value = NONE) -> Result:
    """rng.integers: an array of no axes where no other was asked for."""
    result = drawn(x, y, shape)
    return Shape() if result is UNKNOWN else result


def drawn_float(x: Value = NONE, y: Value = NONE, shape: Value = NONE) -> Result:
    result = drawn(x, y, shape)
    return NUMBER if result is UNKNOWN else result


def drawn_sizes(shape: Value) -> Result:
    """numpy.random.rand(2, 3)"""
    if isinstance(shape, Unknown):
        return shape_of(size_or_any(shape), maker=Maker.CREATED)  # a single tuple is refused
    return NUMBER if shape == Tuple(()) else sizes(shape, Maker.CREATED)


def vectors(mean: Value, y: Value = NONE, shape: Value = NONE) -> Shape:
    """multivariate_normal, dirichlet: (*size, d)"""
    event = tensor(mean).shape
    if event.rank is None:
        raise Unknowable("rank not known")
    batch = Shape() if is_none(shape) else sizes(shape)
    if batch.run is not None:
        return Shape((), batch.run, event.head[-1:])
    return Shape(batch.head + event.head[-1:])


def jax_vectors(mean: Value, cov: Value = NONE, shape: Value = NONE) -> Shape:
    """jax's multivariate_normal and dirichlet: (*shape, d), the batch of the parameters where no shape is asked for."""
    event = tensor(mean).shape
    last = event.axis(-1) or Axis(anonymous(object()))
    if not is_none(shape):
        return joined((), sizes(shape), (last,))
    if event.rank is None or (not is_none(cov) and tensor(cov).shape.rank is None):
        raise Unknowable("rank not known")
    batch = Shape() if is_none(cov) else Shape(tensor(cov).shape.head[:-2])
    return joined((), broadcast_all(Shape(event.head[:-1]), batch), (last,))


def choice(a: Value, shape: Value = NONE) -> Result:
    """Elements of a vector, or numbers below an int."""
    if not is_none(shape):
        if isinstance(a, Int):
            return Part(sizes(shape, Maker.CREATED), "index")
        if tensor(a).shape.rank == 1:
            return sizes(shape, Maker.CREATED)
        raise Unknowable("rows of a table, or elements of a vector")
    return whole(0) if isinstance(a, Int) else UNKNOWN


def jax_choice(a: Value, shape: Value = NONE, dim: Value = NONE) -> Result:
    """(*shape, …): numbers below an int, or entries along an axis of an array."""
    drawn = Shape() if is_none(shape) else sizes(shape, Maker.CREATED)
    if isinstance(a, Int):
        return Part(drawn, "index")
    pool, axis = _array_only(a), 0 if is_none(dim) else integer(dim)
    if pool.rank is None or not -pool.rank <= axis < pool.rank:
        raise Unknowable("an int or an array of known rank")
    axis %= pool.rank
    return joined(pool.head[:axis], drawn, pool.head[axis + 1 :])


def of_pool(bound: Mapping[str, Value], library: str | None) -> str | None:
    pool = bound["a"]
    return pool.dtype if isinstance(pool, Tensor) else None


def permutation(x: Value) -> Result:
    """range(n) or an array, shuffled."""
    return Part(shape_of(x.dim), "index") if isinstance(x, Int) else Part(_array_only(x), "same")


def _array_only(x: Value) -> Shape:
    if isinstance(x, Unknown):
        raise Unknowable("an int or an array")
    return tensor(x).shape


def shuffled(x: Value) -> Value:
    return NONE


def generator(seed: Value = NONE) -> Value:
    """numpy.random.default_rng"""
    return Layer("numpy.random.Generator", {})


def random_state(seed: Value = NONE) -> Value:
    return Layer("numpy.random.RandomState", {})


def jax_drawn(shape: Value = Tuple(())) -> Shape:  # noqa: B008
    """key first, then the shape; a scalar without one."""
    return sizes(shape, Maker.CREATED)


def jax_between(shape: Value = Tuple(()), minval: Value = NONE, maxval: Value = NONE) -> Shape:  # noqa: B008
    """Numbers between bounds; a scalar by default, which bounds that are arrays may stretch."""
    bounds = [tensor(v).shape for v in (minval, maxval) if isinstance(v, Tensor)]
    if shape == Tuple(()) and any(bound.rank != 0 for bound in bounds):
        raise Unknowable("stretched or not")
    return sizes(shape, Maker.CREATED)


def ball(d: Value, shape: Value = Tuple(())) -> Shape:  # noqa: B008
    """(*shape, d): points of a ball in d dimensions."""
    return joined((), sizes(shape), (Axis(size_or_any(d)),))


def jax_of_parameters(x: Value = NONE, y: Value = NONE, shape: Value = NONE) -> Shape:
    """bernoulli, gamma, beta: of the shape of the parameters where none is asked for."""
    if not is_none(shape):
        return sizes(shape, Maker.CREATED)
    return broadcast_all(*(tensor(v).shape for v in (x, y) if not is_none(v)), Shape())


def categorical(x: Value, dim: Value = NONE, shape: Value = NONE) -> Shape:
    """(…, c) -> (…)"""
    if not is_none(shape):
        return sizes(shape)
    return reduced(tensor(x).shape, (-1 if is_none(dim) else integer(dim),), False)


def keys(num: Value = NONE) -> Value:
    """jax.random.split: that many keys, two where nothing is said."""
    match num:
        case Int(dim=dim) if dim.value is not None and dim.value <= 64:
            return Tuple((UNKNOWN,) * dim.value)
        case Int(dim=dim):
            return Many(UNKNOWN, dim, "list")
    return Tuple((UNKNOWN, UNKNOWN)) if is_none(num) else UNKNOWN


def row(
    name: str, function: object, *spellings: str, dtype: DtypeRule = of_floats, graph: GraphEffect = CONSTANT
) -> Op:
    return Op(name, function, spellings, Kind.RANDOM, dtype, graph)  # type: ignore[arg-type]


def everywhere(name: str, signature: str) -> tuple[str, ...]:
    """The function of numpy.random, and the methods of its generators."""
    return (
        f"numpy.random.{name}({signature})",
        f"numpy.random.RandomState.{name}({signature})",
        f"numpy.random.Generator.{name}({signature})",
    )


# Distributions of numpy by the number of their parameters, with real samples and with whole ones.
REAL = {
    "size: shape": ("random", "standard_normal", "standard_cauchy", "standard_exponential"),
    "scale: x, size: shape": ("exponential", "rayleigh"),
    "df: x, size: shape": ("chisquare", "standard_t"),
    "shape: x, size: shape": ("standard_gamma",),
    "a: x, size: shape": ("pareto", "power", "weibull"),
    "loc: x, scale: y, size: shape": ("normal", "laplace", "gumbel", "logistic"),
    "low: x, high: y, size: shape": ("uniform",),
    "mean: x, sigma: y, size: shape": ("lognormal",),
    "a: x, b: y, size: shape": ("beta",),
    "shape: x, scale: y, size: shape": ("gamma",),
    "dfnum: x, dfden: y, size: shape": ("f",),
    "mu: x, kappa: y, size: shape": ("vonmises",),
    "mean: x, scale: y, size: shape": ("wald",),
}
WHOLE = {
    "lam: x, size: shape": ("poisson",),
    "p: x, size: shape": ("geometric", "logseries"),
    "a: x, size: shape": ("zipf",),
    "n: x, p: y, size: shape": ("binomial", "negative_binomial"),
}
JAX_PLAIN = ("normal", "gumbel", "exponential", "laplace", "logistic", "cauchy")
JAX_OF_PARAMETERS = {
    "a: x, shape": ("gamma", "loggamma"),
    "df: x, shape": ("t", "chisquare"),
    "b: x, shape": ("pareto",),
    "scale: x, shape": ("rayleigh",),
    "a: x, b: y, shape": ("beta",),
    "n: x, p: y, shape": ("binomial",),
    "dfnum: x, dfden: y, shape": ("f",),
    "lower: x, upper: y, shape": ("truncated_normal",),
}
TORCH_IN_PLACE = (
    *("normal_", "uniform_", "random_", "bernoulli_", "exponential_", "cauchy_", "log_normal_", "geometric_"),
)
INIT = (
    *(
        "normal_",
        "uniform_",
        "zeros_",
        "ones_",
        "constant_",
        "eye_",
        "dirac_",
        "orthogonal_",
        "trunc_normal_",
        "sparse_",
    ),
    *("xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_"),
)

OPS: tuple[Op, ...] = (
    row("rand", filled, f"torch.rand(*size, {TORCH}, generator)"),
    row("randn", filled, f"torch.randn(*size, {TORCH}, generator)"),
    *(row(f"{n}_like", like, f"torch.{n}_like(input, {TORCH})", dtype="same") for n in ("rand", "randn")),
    row("randint_like", like, f"torch.randint_like(input, option, option2, {TORCH})", dtype="same"),
    row("randint", torch_randint, f"torch.randint(low, high, size, {TORCH}, generator)", dtype="index"),
    row("randperm", permuted, f"torch.randperm(n, {TORCH}, generator)", dtype="index"),
    row(
        "normal",
        torch_normal,
        f"torch.normal(mean, std, size, {TORCH}, generator)",
        dtype=of_parameters,
        graph=GraphEffect.ZERO_GRADIENT,
    ),
    row("multinomial", multinomial, "torch.multinomial(input, num_samples, option)", dtype="index", graph=NO_GRAPH),
    row("bernoulli", like, "torch.bernoulli(input, p)", dtype="same", graph=GraphEffect.ZERO_GRADIENT),
    row("poisson", like, "torch.poisson(input)", dtype="same", graph=GraphEffect.ZERO_GRADIENT),
    *(row(n, receiver, f"torch.Tensor.{n}(x, option, option2)", dtype="same") for n in TORCH_IN_PLACE),
    *(row(n, receiver, f"torch.nn.init.{n}(tensor, option, option2, option3, option4)", dtype="same") for n in INIT),
    row("rand", drawn_sizes, "numpy.random.rand(*shape)", "numpy.random.RandomState.rand(*shape)"),
    row("randn", drawn_sizes, "numpy.random.randn(*shape)", "numpy.random.RandomState.randn(*shape)"),
    row("random", drawn_float, *(f"numpy.random.{n}(size: shape)" for n in ("random_sample", "ranf", "sample"))),
    *(row(n, drawn_float, *everywhere(n, s)) for s, names in REAL.items() for n in names),
    *(row(n, drawn_whole, *everywhere(n, s), dtype="index") for s, names in WHOLE.items() for n in names),
    row(
        "randint",
        drawn_between,
        "numpy.random.randint(low: x, high: y, size: shape, dtype)",
        dtype="index",
    ),
    row("randint", drawn, "numpy.random.random_integers(low: x, high: y, size: shape)", dtype="index"),
    row(
        "randint",
        drawn_between,
        "numpy.random.RandomState.randint(low: x, high: y, size: shape, dtype)",
        dtype="index",
    ),
    row(
        "randint",
        drawn_by_generator,
        "numpy.random.Generator.integers(low: x, high: y, size: shape, dtype)",
        dtype="index",
    ),
    row("multivariate_normal", vectors, *everywhere("multivariate_normal", "mean, cov, size")),
    row("multinomial", vectors, *everywhere("multinomial", "y, mean, size"), dtype="index"),
    row("dirichlet", vectors, *everywhere("dirichlet", "mean, size")),
    row("choice", choice, *everywhere("choice", "a, size, replace, p"), dtype=of_pool),
    row("permutation", permutation, *everywhere("permutation", "x"), dtype=unknown_dtype),
    row("shuffle", shuffled, *everywhere("shuffle", "x")),
    row("default_rng", generator, "numpy.random.default_rng(seed)"),
    row("default_rng", random_state, "numpy.random.RandomState(seed)"),
    *(row(n, jax_drawn, f"jax.random.{n}(key, shape, dtype)") for n in JAX_PLAIN),
    row("rademacher", jax_drawn, "jax.random.rademacher(key, shape, dtype)", dtype="index"),
    row("ball", ball, "jax.random.ball(key, d, p, shape, dtype)"),
    row("uniform", jax_between, "jax.random.uniform(key, shape, dtype, minval, maxval)"),
    row("randint", jax_between, "jax.random.randint(key, shape, minval, maxval, dtype)", dtype="index"),
    row("bernoulli", jax_of_parameters, "jax.random.bernoulli(key, p: x, shape)", dtype="bool", graph=NO_GRAPH),
    *(
        row(n, jax_of_parameters, f"jax.random.{n}(key, {s}, dtype)")
        for s, names in JAX_OF_PARAMETERS.items()
        for n in names
    ),
    row("poisson", jax_of_parameters, "jax.random.poisson(key, lam: x, shape, dtype)", dtype="index", graph=NO_GRAPH),
    row("geometric", jax_of_parameters, "jax.random.geometric(key, p: x, shape, dtype)", dtype="index", graph=NO_GRAPH),
    row("multivariate_normal", jax_vectors, "jax.random.multivariate_normal(key, mean, cov, shape, dtype, method)"),
    row("dirichlet", jax_vectors, "jax.random.dirichlet(key, alpha: mean, shape, dtype)"),
    row("categorical", categorical, "jax.random.categorical(key, logits, axis, shape)", dtype="index", graph=NO_GRAPH),
    row("permutation", permutation, "jax.random.permutation(key, x, axis, independent)", dtype=unknown_dtype),
    row("choice", jax_choice, "jax.random.choice(key, a, shape, replace, p, axis)", dtype=of_pool),
    row("split", keys, "jax.random.split(key, num)"),
)
