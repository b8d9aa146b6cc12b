"""Ops that change dtype, device or library, and keep the shape."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from shapelint.domain.values import Const, Float, Int, Layer, Library, Shape, Tensor, Tuple, Union, Unknown, Value
from shapelint.events import Input, Kind, Site
from shapelint.ops.creation import LEGACY
from shapelint.ops.dtypes import element_dtype, named
from shapelint.ops.op import DtypeRule, GraphEffect, Op, Result, Unknowable, tensor

NO_GRAPH = GraphEffect.NO_GRAPH


def kept(x: Value) -> Shape:
    """The same shape."""
    return tensor(x).shape


def to(x: Value) -> Shape:
    """x.to(dtype), x.to(device), x.to(other); modules have a `to` as well."""
    if not isinstance(x, Tensor):
        raise Unknowable("not known to be a tensor")
    return x.shape


def to_numpy(x: Value) -> Result:
    """Out of the graph, into numpy."""
    known = tensor(x)
    return Tensor(known.shape, known.dtype, "numpy")


def scalar(x: Value) -> Shape:
    """np.float32(x): a number, or an array of that dtype."""
    if not isinstance(x, Tensor | Int | Float | Const | Tuple):
        raise Unknowable("not of numbers")
    return tensor(x).shape


def _always(name: str, bound: Mapping[str, Value], library: str | None) -> str | None:
    return named(Const(name), library)


def device(name: Value = Const("cpu"), index: Value = Const(None)) -> Value:  # noqa: B008
    """torch.device: an object that is certainly no dtype."""
    return Layer("torch.device", {})


def to_dtype(bound: Mapping[str, Value], library: str | None) -> str | None:
    """The dtype that `to` names, or the one it had; None where an argument may be one or the other."""
    targets = bound.get("targets")
    found = list(targets.items) if isinstance(targets, Tuple) else [targets]
    for target in (*found, bound.get("other")):
        match target:
            case Library(name=name) if name.startswith("torch.") and named(target, library):
                return named(target, library)
            case Tensor(dtype=other):
                return other
    return element_dtype(bound["x"], library) if all(map(is_no_dtype, found)) else None


def is_no_dtype(target: Value | None) -> bool:
    """A device, a flag, or nothing: what `to` is given beside a dtype."""
    match target:
        case None | Const(value=bool() | str() | None) | Layer() | Int():
            return True
        case Unknown(made_by=Input(declaration=Site() as declaration)):
            return declaration.text.rpartition(".")[2].strip("\"'") in {"device", "Device", "str"}
        case Union(options=options):
            return all(map(is_no_dtype, options))
    return False


def of_other(bound: Mapping[str, Value], library: str | None) -> str | None:
    other = bound.get("y")
    return other.dtype if isinstance(other, Tensor | Unknown) else None


def type_name(bound: Mapping[str, Value], library: str | None) -> str | None:
    """x.type(torch.FloatTensor), x.type("torch.cuda.HalfTensor"), x.type(torch.float)."""
    target = bound.get("target")
    match target:
        case Library(name=name) | Const(value=str() as name):
            return LEGACY.get(name.rpartition(".")[2]) or named(target, library)
    return None


def type_of(x: Value, target: Value) -> Shape:
    return tensor(x).shape


def row(
    name: str,
    function: object,
    *spellings: str,
    dtype: DtypeRule = "same",
    graph: GraphEffect = GraphEffect.DIFFERENTIABLE,
) -> Op:
    return Op(name, function, spellings, Kind.CAST, dtype, graph)  # type: ignore[arg-type]


METHODS = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "char": "int8",
    "byte": "uint8",
    "bool": "bool",
    "chalf": "complex32",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
KEEPING = ("cpu", "cuda", "contiguous", "pin_memory", "share_memory_", "to_dense", "coalesce", "xpu")
SCALARS = (
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "complex64", "complex128", "bool_"),
)

OPS: tuple[Op, ...] = (
    row(
        "to",
        to,
        "torch.Tensor.to(x, *targets, dtype, device, other, non_blocking, copy)",
        dtype=to_dtype,
    ),
    *(row(name, to, f"torch.Tensor.{name}(x, memory_format)", dtype=dtype) for name, dtype in METHODS.items()),
    *(row(name, to, f"torch.Tensor.{name}(x, option, option2)") for name in KEEPING),
    row("type", type_of, "torch.Tensor.type(x, target, non_blocking)", dtype=type_name),
    row("type_as", kept, "torch.Tensor.type_as(x, other)", dtype=of_other),
    row("clone", kept, "torch.clone(input, *, memory_format)", "numpy.copy(a, order)", "jax.numpy.copy(a, order)"),
    row("numpy", to_numpy, "torch.Tensor.numpy(x, *, force)", "jax.device_get(x)", graph=GraphEffect.CUT),
    row("from_numpy", kept, "torch.from_numpy(x)", "torch.from_dlpack(x)", graph=GraphEffect.REBUILD),
    row("astype", to, "numpy.ndarray.astype(x, dtype, order, casting, subok, copy)", "jax.Array.astype(x, dtype)"),
    row("astype", kept, "numpy.astype(x, dtype)", "jax.numpy.astype(x, dtype)"),
    row("astype", kept, "jax.lax.convert_element_type(x, dtype)"),
    row("device_put", kept, "jax.device_put(x, device)", "jax.block_until_ready(x)"),
    *(row(name, kept, f"jax.lax.{name}(x, axis_name)") for name in ("pmax", "pmin")),
    row("pmean", kept, "jax.lax.pmean(x, axis_name)", dtype="quotient"),
    row("psum", kept, "jax.lax.psum(x, axis_name)", dtype="counted"),
    row("device_put", kept, "jax.lax.with_sharding_constraint(x, shardings)"),
    row("stop_gradient", kept, "jax.lax.stop_gradient(x)", graph=GraphEffect.CUT),
    *(
        row("astype", scalar, f"numpy.{n}(x)", dtype=str(named(Const(n))))
        for n in (*SCALARS, "half", "single", "double")
    ),
    *(row("astype", scalar, f"jax.numpy.{n}(x)", dtype=partial(_always, n)) for n in (*SCALARS, "bfloat16")),
    row("device", device, "torch.device(name, index)"),
)
