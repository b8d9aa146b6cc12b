"""Ops that make arrays: of a shape, of nested lists, like another one, and ranges."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from shapelint.domain.dims import Dim, anonymous, as_dim, divide
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Const,
    Float,
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
from shapelint.ops import frames, images
from shapelint.ops.broadcasting import broadcast_all
from shapelint.ops.dtypes import default_dtype, element_dtype, unknown_dtype
from shapelint.ops.op import (
    DtypeRule,
    GraphEffect,
    Op,
    Part,
    Result,
    Unknowable,
    flag,
    is_none,
    refuse_dicts,
    size_or_any,
    sizes,
    tensor,
)
from shapelint.ops.runs import joined

CONSTANT = GraphEffect.CONSTANT


def filled(shape: Value) -> Shape:
    """The shape that was asked for."""
    return sizes(shape, Maker.CREATED)


def full(shape: Value, value: Value = NONE) -> Shape:
    return sizes(shape, Maker.CREATED)


def new(x: Value, shape: Value) -> Shape:
    """x.new_zeros(2, 3)"""
    return sizes(shape, Maker.CREATED)


def like(x: Value, shape: Value = NONE) -> Shape:
    """The shape of another one, or numpy's `shape=`."""
    return tensor(x).shape if is_none(shape) else sizes(shape, Maker.CREATED)


def eye(n: Value, m: Value = NONE) -> Shape:
    """(n, n) or (n, m)"""
    rows = size_or_any(n)
    return shape_of(rows, rows if is_none(m) else size_or_any(m), maker=Maker.CREATED)


def arange(start: Value = NONE, end: Value = NONE, step: Value = NONE, dtype: Value = NONE) -> Shape:
    """(ceil((end - start) / step),)"""
    if is_none(end):
        start, end = NONE, start
    start = Int(as_dim(0)) if is_none(start) else start
    if not is_none(dtype) and any(isinstance(bound, Float) for bound in (start, end, step)):
        return shape_of(size_or_any(Unknown()))  # torch rounds the bounds to a whole dtype first
    return shape_of(_steps(start, end, Int(as_dim(1)) if is_none(step) else step), maker=Maker.CREATED)


def _steps(start: Value, end: Value, step: Value) -> Dim:
    match start, end, step:
        case Int(dim=low), Int(dim=high), Int(dim=stride) if stride.value:
            span, width = (high - low, stride) if stride.value > 0 else (low - high, -stride)
            exact = divide(span, width)
            count = exact if exact is not None else (span + width - 1) // width
            return count if count.value is None or count.value > 0 else as_dim(0)
    numbers = [_number(value) for value in (start, end, step)]
    if None in numbers or not numbers[2]:
        return size_or_any(Unknown())
    low_number, high_number, stride_number = (n for n in numbers if n is not None)
    return as_dim(max(0, ceil((high_number - low_number) / stride_number)))


def _number(value: Value) -> float | None:
    match value:
        case Int(dim=dim):
            return dim.value
        case Float(value=number):
            return number
    return None


def linspace(start: Value, end: Value, steps: Value = NONE, retstep: Value = NONE) -> Result:
    """(steps,), and the step where it is asked for; bounds with axes are not modelled."""
    if any(isinstance(bound, Tensor) and bound.shape.rank != 0 for bound in (start, end)):
        raise Unknowable("bounds with axes")
    shape = shape_of(as_dim(50) if is_none(steps) else size_or_any(steps), maker=Maker.CREATED)
    return (shape, UNKNOWN) if flag(retstep) else shape


def spaced(start: Value, end: Value, steps: Value = NONE, retstep: Value = NONE, dim: Value = NONE) -> Result:
    """linspace of numpy and jax: bounds with axes stand behind the new one."""
    bounds = broadcast_all(*(tensor(bound).shape for bound in (start, end) if isinstance(bound, Tensor)), Shape())
    result = linspace(NONE, NONE, steps, retstep)
    if bounds.rank == 0 or not isinstance(result, Shape):
        return result if bounds.rank == 0 else UNKNOWN
    if not is_none(dim) and dim != Int(as_dim(0)):
        raise Unknowable("the new axis stands elsewhere")
    return joined(result.head, bounds)


def nodes(n: Value) -> tuple[Shape, Shape]:
    """Points and weights of a quadrature: as many as there are asked for."""
    shape = shape_of(size_or_any(n))
    return shape, shape


def numpy_array(x: Value, ndmin: Value = NONE) -> Result:
    """numpy's: of numbers, or of objects, for which a list of None makes room."""
    match x:
        case Many(item=item, length=length) if item == NONE:
            return Part(shape_of(length or anonymous(object())), "object")
        case Tuple(items=items) if items and all(item == NONE for item in items):
            return Part(shape_of(len(items)), "object")
    return array(x, ndmin)


def array(x: Value, ndmin: Value = NONE) -> Shape:
    """Numbers, tensors and nested lists of them as one array."""
    if not is_none(ndmin):
        raise Unknowable("axes put in front")
    if isinstance(x, Layer) and x.name in frames.NAMES:
        return frames.as_array(x).shape
    if images.is_picture(x):
        return images.pixels(x)
    if isinstance(x, Unknown | Tensor | Int | Float | Const | Tuple | Many):
        return tensor(x).shape
    raise Unknowable("not of numbers")


def contiguous(x: Value) -> Shape:
    """numpy's ascontiguousarray: an array of at least one axis."""
    shape = array(x)
    return shape_of(1, maker=Maker.CREATED) if shape.rank == 0 else shape


def torch_tensor(x: Value) -> Result:
    """torch.tensor: copies, and leaves the graph behind. Tensors in a list have one element each, of whatever rank."""
    match x:
        case Tuple(items=items) if items and all(isinstance(i, Tensor) and i.library == "torch" for i in items):
            return Part(shape_of(len(items), maker=Maker.CREATED), None, GraphEffect.REBUILD)
        case Many(item=Tensor(library="torch"), length=length):
            return Part(shape_of(length or anonymous(object())), None, GraphEffect.REBUILD)
    return Part(array(x), None, GraphEffect.REBUILD)


def as_tensor(x: Value) -> Result:
    """torch.as_tensor, asarray: one tensor keeps its graph, a list of them does not."""
    return array(x) if isinstance(x, Tensor) else Part(array(x), None, GraphEffect.REBUILD)


def new_tensor(x: Value, data: Value) -> Result:
    return Part(array(data), None, GraphEffect.REBUILD)


def legacy(arguments: Value) -> Result:
    """torch.FloatTensor(2, 3) is of that shape, torch.FloatTensor([2, 3]) holds these numbers, FloatTensor() none."""
    match arguments:
        case Tuple(items=()):
            return Part(shape_of(0), None, CONSTANT)
        case Tuple(items=(Tensor(library="numpy", shape=Shape(head=(), run=None)),), kind="tuple"):  # np.int64
            return Part(shape_of(size_or_any(Unknown())), None, CONSTANT)
        case Tuple(items=(Tensor() as only,), kind="tuple"):  # the one argument, not a list of one array
            return Part(only.shape, None, GraphEffect.REBUILD)
        case Tuple(items=items, kind="tuple" | "size") if all(isinstance(item, Int) for item in items):
            return Part(sizes(arguments, Maker.CREATED), None, CONSTANT)
        case Tuple(kind="list") | Many(kind="list"):
            return Part(array(arguments), None, GraphEffect.REBUILD)
        case Tuple(items=items):
            refuse_dicts(items)
    raise Unknowable("sizes or data")


def triangle_indices(row: Value, col: Value = NONE) -> Shape:
    """torch.tril_indices: (2, k)"""
    return shape_of(2, size_or_any(Unknown()))


def from_buffer(count: Value = NONE) -> Shape:
    return shape_of(size_or_any(count) if isinstance(count, Int) and count.dim.value != -1 else size_or_any(Unknown()))


def of_value(bound: Mapping[str, Value], library: str | None) -> str | None:
    """The dtype of the value to fill with; numpy's full takes the value's own."""
    value = bound.get("value")
    return element_dtype(value, library) if value is not None else None


def of_bounds(bound: Mapping[str, Value], library: str | None) -> str | None:
    """arange: whole numbers if all bounds are."""
    values = [bound[name] for name in ("start", "end", "step") if name in bound and not is_none(bound[name])]
    if all(isinstance(value, Int) for value in values):
        return default_dtype(library, "int")
    if all(isinstance(value, Int | Float) for value in values):
        return default_dtype(library, "float")
    return None


def of_numbers(bound: Mapping[str, Value], library: str | None) -> str | None:
    """linspace: real unless a bound is complex."""
    real = all(isinstance(bound.get(name), Int | Float) for name in ("start", "end"))
    return default_dtype(library, "float") if real else None


def of_data(bound: Mapping[str, Value], library: str | None) -> str | None:
    return element_dtype(bound["x"], library)


def of_floats(bound: Mapping[str, Value], library: str | None) -> str | None:
    return default_dtype(library, "float")


TORCH = "*, out, dtype, layout, device, pin_memory, requires_grad, memory_format"
LEGACY = {
    "Tensor": "float32",
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}


def row(
    name: str,
    function: object,
    *spellings: str,
    dtype: DtypeRule = of_floats,
    graph: GraphEffect = CONSTANT,
) -> Op:
    return Op(name, function, spellings, Kind.CREATION, dtype, graph)  # type: ignore[arg-type]


def both(name: str, signature: str) -> tuple[str, str]:
    return f"numpy.{name}({signature})", f"jax.numpy.{name}({signature})"


OPS: tuple[Op, ...] = (
    *(
        row(name, filled, f"torch.{name}(*size, {TORCH})", *both(name, "shape, dtype, order, *, device"))
        for name in ("zeros", "ones", "empty")
    ),
    *(
        row(
            f"{name}_like",
            like,
            f"torch.{name}_like(input, {TORCH})",
            *both(f"{name}_like", "a, dtype, order, subok, shape"),
            dtype="same",
        )
        for name in ("zeros", "ones", "empty")
    ),
    row(
        "full",
        full,
        f"torch.full(size, fill_value, {TORCH})",
        *both("full", "shape, fill_value, dtype, order"),
        "jax.lax.full(shape, fill_value, dtype)",
        dtype=of_value,
    ),
    row(
        "full_like",
        like,
        f"torch.full_like(input, fill_value, {TORCH})",
        *both("full_like", "a, fill_value, dtype, order, subok, shape"),
        "jax.lax.full_like(x, fill_value, dtype, shape)",
        dtype="same",
    ),
    *(
        row(f"new_{name}", new, f"torch.Tensor.new_{name}(x, *size, {TORCH})", dtype="same")
        for name in ("zeros", "ones", "empty")
    ),
    row("new_full", new, f"torch.Tensor.new_full(x, size, fill_value, {TORCH})", dtype="same"),
    row("eye", eye, f"torch.eye(n, m, {TORCH})", "numpy.eye(n, m, k, dtype)", "jax.numpy.eye(n, m, k, dtype)"),
    row("eye", eye, "numpy.identity(n, dtype)", "jax.numpy.identity(n, dtype)"),
    row(
        "arange",
        arange,
        f"torch.arange(start, end, step, {TORCH})",
        *both("arange", "start, stop, step, dtype"),
        dtype=of_bounds,
    ),
    row(
        "linspace",
        linspace,
        f"torch.linspace(start, end, steps, {TORCH})",
        f"torch.logspace(start, end, steps, base, {TORCH})",
        dtype=of_numbers,
    ),
    row(
        "linspace",
        spaced,
        *both("linspace", "start, stop, num, endpoint, retstep, dtype, axis"),
        *both("geomspace", "start, stop, num, endpoint, dtype, axis"),
        *both("logspace", "start, stop, num, endpoint, base, dtype, axis"),
        dtype=of_numbers,
    ),
    row(
        "quadrature",
        nodes,
        *(
            f"numpy.polynomial.{name}(deg: n)"
            for name in ("legendre.leggauss", "hermite.hermgauss", "hermite_e.hermegauss", "laguerre.laggauss")
        ),
        dtype="float64",
    ),
    row(
        "tensor",
        contiguous,
        "numpy.ascontiguousarray(a, dtype)",
        "numpy.asfortranarray(a, dtype)",
        dtype=of_data,
        graph=GraphEffect.DIFFERENTIABLE,
    ),
    row(
        "tensor",
        numpy_array,
        "numpy.array(object, dtype, *, copy, order, subok, ndmin)",
        "numpy.asarray(a, dtype, order)",
        "numpy.asanyarray(a, dtype, order)",
        "jax.numpy.array(object, dtype, copy, order, ndmin)",
        "jax.numpy.asarray(a, dtype, order)",
        dtype=of_data,
        graph=GraphEffect.DIFFERENTIABLE,
    ),
    row("tensor", torch_tensor, f"torch.tensor(data, {TORCH})", f"torch.scalar_tensor(data, {TORCH})", dtype=of_data),
    row(
        "as_tensor",
        as_tensor,
        f"torch.as_tensor(data, dtype, device, {TORCH})",
        f"torch.asarray(data, {TORCH})",
        dtype=of_data,
        graph=GraphEffect.DIFFERENTIABLE,
    ),
    row("new_tensor", new_tensor, f"torch.Tensor.new_tensor(x, data, {TORCH})", dtype=unknown_dtype),
    *(row("tensor", legacy, f"torch.{name}(*arguments)", dtype=dtype) for name, dtype in LEGACY.items()),
    *(
        row("tensor", legacy, f"torch.cuda.{name}(*arguments)", dtype=dtype)
        for name, dtype in LEGACY.items()
        if name != "Tensor"
    ),
    row("tril_indices", triangle_indices, f"torch.tril_indices(row, col, offset, {TORCH})", dtype="index"),
    row("triu_indices", triangle_indices, f"torch.triu_indices(row, col, offset, {TORCH})", dtype="index"),
    row(
        "frombuffer",
        from_buffer,
        "numpy.frombuffer(buffer, dtype, count, offset)",
        "numpy.fromfile(file, dtype, count, sep, offset)",
    ),
    row("frombuffer", from_buffer, "torch.frombuffer(buffer, *, dtype, count, offset, requires_grad)"),
)
