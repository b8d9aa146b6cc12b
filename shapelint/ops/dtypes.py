"""Dtypes by name ("float16"), or a class of them where no more is known ("float"), and how libraries promote them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial, reduce
from itertools import product

from shapelint.domain.record import record
from shapelint.domain.values import (
    Const,
    Float,
    Int,
    Layer,
    Library,
    Many,
    Shape,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    tensors_in,
)
from shapelint.ops.dtype_names import NAMES, TORCH_NAMES
from shapelint.ops.op import DtypeRule

LIBRARIES = ("torch", "numpy", "jax")
LADDER = ("bool", "int", "float", "complex")


@record()
class Dtype:
    """`bits` is 0 for a class: some float. bfloat is a kind of its own, so that float16 is another one."""

    kind: str  # "bool", "int", "uint", "float", "bfloat", "complex"
    bits: int = 0

    @property
    def category(self) -> str:
        return {"uint": "int", "bfloat": "float"}.get(self.kind, self.kind)

    @property
    def level(self) -> int:
        return LADDER.index(self.category)

    def __str__(self) -> str:
        return f"{self.kind}{self.bits or ''}"


BOOL = Dtype("bool")
DEFAULTS: Mapping[str, Mapping[str, Dtype]] = {
    "torch": {"bool": BOOL, "int": Dtype("int", 64), "float": Dtype("float", 32), "complex": Dtype("complex", 64)},
    "numpy": {"bool": BOOL, "int": Dtype("int", 64), "float": Dtype("float", 64), "complex": Dtype("complex", 128)},
    # 32 or 64 bits, as jax_enable_x64 says; weakly typed results adapt to their next operand
    "jax": {"bool": BOOL, "int": Dtype("int"), "float": Dtype("float"), "complex": Dtype("complex")},
}


@lru_cache(maxsize=256)
def parse(name: str | None) -> Dtype | None:
    """The dtype of a name, None where it is none that promotion knows."""
    found = re.fullmatch(r"(bool|u?int|b?float|complex)(\d*)", name or "")
    return Dtype(found[1], int(found[2] or 0)) if found else None


def is_inexact(name: str | None) -> bool | None:
    """Whether a dtype can carry a gradient; None where that is not known."""
    dtype = parse(name)
    if dtype is None:
        return True if name == "inexact" else None
    return dtype.level >= LADDER.index("float")


def named(value: Value | None, library: str | None = None) -> str | None:
    """The dtype that an argument names: torch.half, np.float32, "float32", float; None where it is not known."""
    match value:
        case Library(name=name):
            root, _, word = name.rpartition(".")
        case Const(value=str() as name):
            root, word = "", name.rpartition(".")[2]
        case _:
            return None
    if root == "torch":
        word = TORCH_NAMES.get(word, word)
    word = NAMES.get(word, word)
    dtype = parse(word)
    if dtype is None:
        return "object" if word in {"object", "object_", "O"} else word if re.fullmatch(r"float8_\w+", word) else None
    if dtype.bits == 0 and library is not None:
        return str(DEFAULTS[library][dtype.category])
    return _text(_in_library(dtype, library))


def _in_library(dtype: Dtype | None, library: str | None) -> Dtype | None:
    """jax narrows 64 bits to 32 unless it is told not to: only the class is certain."""
    if dtype is not None and library == "jax" and dtype.bits == (128 if dtype.kind == "complex" else 64):
        return Dtype(dtype.kind)
    return dtype


def _text(dtype: Dtype | None) -> str | None:
    return None if dtype is None else str(dtype)


@record()
class Operand:
    dtype: Dtype | None
    weak: bool = False  # a Python number
    scalar: bool | None = False  # a tensor without axes; None where that is not known


def operand(value: Value, library: str | None) -> Operand:
    match value:
        case Tensor(dtype=dtype, shape=shape):
            scalar = None if shape.run is not None and shape.least_rank == 0 else shape.rank == 0
            number = value.library == "numpy" and library == "torch" and shape.rank == 0
            return Operand(_in_library(parse(dtype), library), number, scalar)
        case Int() | Float() | Const(value=bool() | complex()):
            return Operand(Dtype(_category_of(value)), weak=True)
        case Tuple() | Many():
            return Operand(parse(element_dtype(value, library or "numpy")))
        case Unknown(dtype=str() as dtype):
            return Operand(_in_library(parse(dtype), library), scalar=None)
    return Operand(None, scalar=None)


def _category_of(value: Value) -> str:
    match value:
        case Int():
            return "int"
        case Float():
            return "float"
        case Const(value=complex()):
            return "complex"
    return "bool"


def element_dtype(value: Value, library: str | None) -> str | None:
    """The dtype of the array that numbers, tensors and nested lists of them become."""
    match value:
        case Tensor(dtype=dtype):
            return _text(_in_library(parse(dtype), library)) if parse(dtype) else dtype
        case Tuple(items=items) if items:
            kinds = tuple(Operand(parse(element_dtype(item, library))) for item in items)
            return _text(_promote(library, kinds)) if library else None
        case Many(item=item):
            return element_dtype(item, library)
        case Unknown(dtype=dtype):
            return dtype
        case Layer(config={"dtype": Const(value=str() as dtype)}):  # a picture, a column of a table
            return dtype
        case Int() | Float() | Const(value=bool() | complex()) if library:
            return str(DEFAULTS[library][_category_of(value)])
    return None


def promote(values: Iterable[Value], library: str | None) -> str | None:
    """The dtype of an elementwise operation on these; None where it is not known, or libraries disagree."""
    values = list(values)
    if any(type(value) in OPEN and value.dtype is None for value in values):  # type: ignore[union-attr]
        return None  # the frequent case
    libraries = (library,) if library else LIBRARIES
    results = {_promote(each, tuple(operand(value, each) for value in values)) for each in libraries}
    return _text(results.pop()) if len(results) == 1 else None


OPEN = frozenset({Tensor, Unknown})  # values whose dtype may not be known


@lru_cache(maxsize=4096)
def _promote(library: str, operands: tuple[Operand, ...]) -> Dtype | None:
    if not operands or any(o.dtype is None for o in operands):
        return None
    if library != "torch":
        strong = _fold(library, (o.dtype for o in operands if not o.weak))
        weak = _fold(library, (o.dtype for o in operands if o.weak))
        return _lift(library, strong, weak)
    # A tensor of unknown rank may be one without axes: certain is only what holds either way.
    choices = product(*((True, False) if o.scalar is None else (o.scalar,) for o in operands))
    results = {_promote_torch(operands, scalars) for scalars in choices}
    return results.pop() if len(results) == 1 else None


def _promote_torch(operands: Sequence[Operand], scalars: Sequence[bool]) -> Dtype | None:
    """Tensors with axes decide before those without, and these before numbers, unless of a lower category."""
    groups: tuple[list[Dtype | None], ...] = ([], [], [])
    for o, scalar in zip(operands, scalars):
        groups[2 if o.weak else 1 if scalar else 0].append(o.dtype)
    axes, none, numbers = (_fold("torch", group) for group in groups)
    tensors = axes if axes is None or none is None or none.level <= axes.level else _pair("torch", axes, none)
    return _lift("torch", tensors or none, numbers)


def _lift(library: str, strong: Dtype | None, weak: Dtype | None) -> Dtype | None:
    """A strong dtype together with a Python number's category."""
    if weak is None:
        return strong
    if strong is None:
        return DEFAULTS[library][weak.category]
    if weak.level <= strong.level:
        return strong
    if weak.category == "complex" and strong.category == "float":
        return Dtype("complex", max(64, 2 * strong.bits) if strong.bits else 0)
    return DEFAULTS[library][weak.category]


def _fold(library: str, dtypes: Iterable[Dtype | None]) -> Dtype | None:
    found = list(dtypes)
    return reduce(lambda a, b: _pair(library, a, b) if a and b else None, found) if found else None


def _pair(library: str, a: Dtype, b: Dtype) -> Dtype | None:
    """Promotion of two arrays' dtypes."""
    if a == b:
        return a
    low, high = sorted((a, b), key=lambda d: d.level)
    if low.category == "bool":
        return high
    if low.category == high.category:
        return _within(library, low, high)
    if high.category == "complex":
        part = _pair(library, low, Dtype("float", high.bits // 2))
        return Dtype("complex", 2 * part.bits) if part else None
    if library != "numpy":
        return high
    if not low.bits or not high.bits:
        return Dtype("float")
    return Dtype("float", max(high.bits, min(64, 2 * low.bits)))


def _within(library: str, a: Dtype, b: Dtype) -> Dtype | None:
    """Promotion inside one category: the wider, and a wider one where neither holds both."""
    if not a.bits or not b.bits:
        return Dtype(a.kind if a.kind == b.kind else a.category)
    if a.kind == b.kind:
        return max(a, b, key=lambda d: d.bits)
    if a.category == "float":
        plain = b if a.kind == "bfloat" else a
        return Dtype("float", max(plain.bits, 32)) if library != "numpy" else None
    signed, unsigned = (a, b) if a.kind == "int" else (b, a)
    if signed.bits > unsigned.bits:
        return signed
    if unsigned.bits < 64:
        return Dtype("int", 2 * unsigned.bits) if library != "torch" or unsigned.bits == 8 else None
    return Dtype("float", 64) if library == "numpy" else None


def result_dtype(rule: DtypeRule, bound: Mapping[str, Value], library: str | None) -> str | None:
    """The dtype of an op's result by its row; a `dtype=` argument wins.

    "promote": all operands; "counted": the same, for arithmetic that turns bools into ints; "arrays": the same, where
    numpy makes arrays of Python's numbers first; "same": the first; "bool"; "index": what counts positions; "float":
    of a function such as exp; "floats": of two; "step": of floor and its like; "quotient": of a division or mean;
    "total": of a sum; "magnitude": of abs; "moment": of std and norm; else the dtype itself.
    """
    asked = bound.get("dtype")
    if asked is not None and asked != Const(None):
        return named(asked, library)
    if callable(rule):
        return rule(bound, library)
    first = bound.get("x")
    match rule:
        case "promote":
            return promote(operands_of(bound), library)
        case "counted":
            return _counted(promote(operands_of(bound), library), library)
        case "arrays":
            return promote(map(partial(_as_array, library), operands_of(bound)), library)
        case "same":
            return element_dtype(first, library) if first is not None else None
        case "index":
            return default_dtype(library, "int")
        case "float":
            return _map(first, library, _floated)
        case "step":
            name = element_dtype(first, library) if first is not None else None
            return name if library == "torch" or is_inexact(name) else None
        case "floats":
            known = parse(promote(operands_of(bound), library))
            return _floated(known, library) if known is not None else None
        case "quotient":
            return _quotient(promote(operands_of(bound), library), library)
        case "moment":
            known = parse(_quotient(promote(operands_of(bound), library), library))
            return _magnitude(known, library) if known is not None else None
        case "total":
            return _map(first, library, _totalled)
        case "magnitude":
            return _map(first, library, _magnitude)
    return rule


NO_OPERANDS = frozenset({"condition", "out", "where", "index", "indices", "dtype"})


def operands_of(bound: Mapping[str, Value]) -> list[Value]:
    """What takes part in promotion: every tensor, and the numbers that stand for one."""
    found: list[Value] = []
    for name, value in bound.items():
        if name in {"x", "y"}:
            found.append(value)
        elif name not in NO_OPERANDS:
            items = value.item.options if isinstance(value, Many) and isinstance(value.item, Union) else (value,)
            found.extend(tensors_in(items))
    return found


def promote_of(*names: str) -> DtypeRule:
    """The rule that promotes these arguments: clamp's x, min and max."""

    def rule(bound: Mapping[str, Value], library: str | None) -> str | None:
        return promote([bound[n] for n in names if n in bound and bound[n] != Const(None)], library)

    return rule


def unknown_dtype(bound: Mapping[str, Value], library: str | None) -> str | None:
    """The rule of an op whose dtype is not modelled."""
    return None


def default_dtype(library: str | None, category: str) -> str:
    """What a library makes of Python's ints and floats."""
    return str(DEFAULTS[library][category]) if library else category


def _map(value: Value | None, library: str | None, function: Callable[[Dtype, str | None], str]) -> str | None:
    dtype = parse(element_dtype(value, library)) if value is not None else None
    return function(dtype, library) if dtype is not None else None


def _floated(dtype: Dtype, library: str | None) -> str:
    if dtype.level >= LADDER.index("float"):
        return str(dtype)
    if library != "numpy":
        return default_dtype(library, "float")
    if dtype.category != "bool" and not dtype.bits:
        return "float"
    return f"float{min(64, 2 * max(dtype.bits, 8))}"


def _counted(dtype: str | None, library: str | None) -> str | None:
    if dtype != "bool":
        return dtype
    return {"numpy": "int8", "jax": "int"}.get(library or "")  # torch refuses most of these


def _as_array(library: str | None, value: Value) -> Value:
    return value if library != "numpy" else Tensor(Shape(), element_dtype(value, library), library)


def _quotient(dtype: str | None, library: str | None) -> str | None:
    known = parse(dtype)
    if known is None or known.level >= LADDER.index("float"):
        return dtype
    return default_dtype(library, "float")


def _totalled(dtype: Dtype, library: str | None) -> str:
    if dtype.level >= LADDER.index("float"):
        return str(dtype)
    if dtype.kind == "uint" and library != "torch":
        return "uint64" if library == "numpy" else "uint"
    return default_dtype(library, "int")


def magnitude(name: str | None) -> str | None:
    """The dtype of a complex number's parts."""
    dtype = parse(name)
    return _magnitude(dtype, None) if dtype is not None else None


def _magnitude(dtype: Dtype, library: str | None) -> str:
    if dtype.kind != "complex":
        return str(dtype)
    return f"float{dtype.bits // 2 or ''}"


def to_complex(bound: Mapping[str, Value], library: str | None) -> str | None:
    """Of floats, complex numbers of the same precision."""
    known = parse(result_dtype("float", bound, library))
    if known is None or known.kind == "complex":
        return None if known is None else str(known)
    bits = 2 * known.bits if library == "torch" else max(64, 2 * known.bits)
    return f"complex{bits if known.bits else ''}"


def to_real(bound: Mapping[str, Value], library: str | None) -> str | None:
    """Of complex numbers, floats of the same precision."""
    return magnitude(result_dtype("float", bound, library))
