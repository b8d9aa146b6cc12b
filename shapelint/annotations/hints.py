"""Type hints: what annotation expressions evaluate to.

Annotations are evaluated as any expression is; `subscript_hint` and `union_hint` are what `[...]` and `|` do to types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from shapelint.annotations.patterns import AnnotationError, Pattern, is_torn, parse
from shapelint.domain.record import record
from shapelint.domain.values import (
    UNKNOWN,
    Class,
    Const,
    Hint,
    Instance,
    Library,
    Tuple,
    Value,
)


@record()
class ArrayHint:
    """`Float[Tensor, "b n"]`; `text` is None for a bare `Tensor`, `library` where any will do."""

    dtype: str | None = None
    text: str | None = None
    library: str | None = None

    @property
    def pattern(self) -> Pattern | None:
        """The shape string as a pattern; None without one, or where it is malformed."""
        try:
            found = None if self.text is None else parse(self.text)
        except AnnotationError:
            return None
        return None if found is None or is_torn(found) else found


@record()
class ScalarHint:
    """int, float, bool, str, complex or bytes."""

    name: str


@record()
class NoneHint: ...


@record()
class UnionHint:
    options: tuple[TypeHint, ...]


@record()
class TupleHint:
    items: tuple[TypeHint, ...]


@record()
class SequenceHint:
    """Any number of items: list[X], Sequence[X], tuple[X, ...]."""

    item: TypeHint
    kind: str = "list"


@record()
class DictHint:
    value: TypeHint


@record()
class LayerHint:
    """A layer of torch whose sizes are not known: `layer: nn.Linear`."""

    name: str


LAYERS: Mapping[str, tuple[str, ...]] = {
    "torch.nn.Linear": ("in_features", "out_features"),
    "torch.nn.Embedding": ("num_embeddings", "embedding_dim"),
}


@record()
class InstanceHint:
    """An object of a class of the linted code."""

    cls: Class


@record()
class ForwardHint:
    """A type that is quoted inside of another one and means what its name means there: Optional["Node"]."""

    name: str


@record()
class AnyHint:
    """A type that says nothing here."""


TypeHint: TypeAlias = (
    ArrayHint | ScalarHint | NoneHint | UnionHint | TupleHint | SequenceHint | DictHint | InstanceHint | LayerHint
    | ForwardHint | AnyHint
)  # fmt: skip
ANY = AnyHint()


def holds_arrays(hint: TypeHint) -> bool:
    """Whether a type says anything of an array, itself or in a part."""
    match hint:
        case ArrayHint():
            return True
        case UnionHint(options=parts) | TupleHint(items=parts):
            return any(map(holds_arrays, parts))
        case SequenceHint(item=part) | DictHint(value=part):
            return holds_arrays(part)
    return False


ARRAYS: Mapping[str, ArrayHint] = {
    **{name: ArrayHint(library="torch") for name in ("torch.Tensor", "torch.nn.Parameter", "torch.autograd.Variable")},
    **{
        f"torch.{word}Tensor": ArrayHint(dtype, library="torch")
        for word, dtype in {
            "Float": "float32",
            "Double": "float64",
            "Half": "float16",
            "BFloat16": "bfloat16",
            "Long": "int64",
            "Int": "int32",
            "Short": "int16",
            "Byte": "uint8",
            "Bool": "bool",
        }.items()
    },
    **{name: ArrayHint(library="numpy") for name in ("numpy.ndarray", "numpy.typing.NDArray")},
    **{name: ArrayHint(library="jax") for name in ("jax.Array", "jax.numpy.ndarray", "jaxtyping.Array")},
    "jaxtyping.PRNGKeyArray": ArrayHint(library="jax"),
    "jaxtyping.Scalar": ArrayHint(text="", library="jax"),
}

SIZED = {
    **{f"Int{bits}": f"int{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"UInt{bits}": f"uint{bits}" for bits in (2, 4, 8, 16, 32, 64)},
    **{f"Float{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"Float8{kind}": f"float8_{kind}" for kind in ("e4m3b11fnuz", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")},
    **{f"Complex{bits}": f"complex{bits}" for bits in (64, 128)},
    "Float4e2m1fn": "float4_e2m1fn",
    "BFloat16": "bfloat16",
}
CLASSES = ("Bool", "UInt", "Int", "Integer", "Float", "Complex", "Inexact", "Real", "Num", "Key")
DTYPES: Mapping[str, str | None] = {**SIZED, **{word: word.lower() for word in CLASSES}, "Shaped": None}
ARRAY_WORDS = (*DTYPES, "Array", "Tensor")
WIDE = ("integer", "inexact", "real", "num")  # classes of classes, the widest last

SCALARS = frozenset({"int", "float", "bool", "str", "complex", "bytes"})
SEQUENCES: Mapping[str, str] = {
    **{f"builtins.{word}": word for word in ("list", "set", "frozenset")},
    **{f"typing.{word}": word.lower() for word in ("List", "Set", "FrozenSet", "Deque")},
    **{
        f"{module}.{word}": word.lower()
        for module in ("typing", "collections.abc")
        for word in ("Sequence", "MutableSequence", "Collection", "Iterable", "Iterator")
    },
    "collections.deque": "deque",
}
DICTS = frozenset(
    {
        *("builtins.dict", "typing.Dict", "collections.defaultdict", "typing.DefaultDict", "collections.OrderedDict"),
        *(f"{module}.{word}" for module in ("typing", "collections.abc") for word in ("Mapping", "MutableMapping")),
    }
)
TUPLES = frozenset({"builtins.tuple", "typing.Tuple"})
# Forms that say something about the name, not about the type of its value.
TRANSPARENT = frozenset(
    {
        *(f"{m}.{w}" for m in ("typing", "typing_extensions") for w in ("Annotated", "Final", "ClassVar", "Required")),
        *(f"{m}.{w}" for m in ("typing", "typing_extensions") for w in ("NotRequired", "ReadOnly")),
        *("dataclasses.InitVar", "equinox.AbstractVar", "equinox.AbstractClassVar"),
    }
)


def as_hint(value: Value) -> TypeHint:
    """The type that a value names, AnyHint where it names none that says something here."""
    match value:
        case Hint(type=known):
            hint: TypeHint = known
            return hint
        case Const(value=None):
            return NoneHint()
        case Const(value=str() as name) if name.isidentifier():
            return ForwardHint(name)
        case Class():
            return InstanceHint(value)
        case Library(name=name) if name in ARRAYS:
            return ARRAYS[name]
        case Library(name=name) if name in LAYERS:
            return LayerHint(name)
        case Library(name=name):
            root, _, word = name.rpartition(".")
            if root == "builtins" and word in SCALARS:
                return ScalarHint(word)
            if name in SEQUENCES:
                return SequenceHint(ANY, SEQUENCES[name])
            if name in TUPLES:
                return SequenceHint(ANY, "tuple")
            return DictHint(ANY) if name in DICTS else ANY
    return ANY


def union_hint(a: Value, b: Value) -> Value:
    """`a | b` for types."""
    return Hint(unite([as_hint(a), as_hint(b)]))


def unite(options: Iterable[TypeHint]) -> TypeHint:
    """The union, flat and without repetition; arrays that differ in library alone are one."""
    flat: list[TypeHint] = []
    for option in options:
        for single in option.options if isinstance(option, UnionHint) else (option,):
            twin = next((o for o in flat if _without_library(o) == _without_library(single)), None)
            if twin is None:
                flat.append(single)
            elif twin != single:
                flat[flat.index(twin)] = _without_library(twin)
    return flat[0] if len(flat) == 1 else UnionHint(tuple(flat))


def _without_library(hint: TypeHint) -> TypeHint:
    return replace(hint, library=None) if isinstance(hint, ArrayHint) else hint


def subscript_hint(base: Value, index: Value) -> Value:
    """What `base[index]` evaluates to where it is a type, Unknown where it is none that says something here.

    An object that was made with a dtype of jaxtyping is a wrapper of it: `Float = Typing(jaxtyping.Float)`, and
    what a metaclass of the project makes is a type.
    """
    items = index.items if isinstance(index, Tuple) and index.kind == "tuple" else (index,)
    match base:
        case Library(name=name):
            found = _subscript_library(name, items)
            if found is not None:
                return Hint(found)
        case Hint(type=ArrayHint() as array):
            return _subscript_array(array, items)
        case Class() if any(_dtype_class(ancestor) for ancestor in base.ancestry()):
            return _array(None, items)
        case Instance(attributes=attributes):
            held = (value.name for value in attributes.values() if isinstance(value, Library) and _dtype_class(value))
            for name in held:
                return _array(DTYPES.get(name.rpartition(".")[2]), items)
            return _wrapped(base, items) if base.cls.is_a("builtins.type") else UNKNOWN
    return _wrapped(base, items)


def _subscript_library(name: str, items: tuple[Value, ...]) -> TypeHint | None:
    root, _, word = name.rpartition(".")
    if root == "jaxtyping" and word in DTYPES:
        found = _array(DTYPES[word], items)
        return found.type if isinstance(found, Hint) else ANY
    if name == "numpy.typing.NDArray" or name == "numpy.ndarray":
        return replace(ARRAYS[name], dtype=_numpy_dtype(items[-1]))
    if name in TUPLES:
        match items:
            case (item, Const(value=value)) if value is Ellipsis:
                return SequenceHint(as_hint(item), "tuple")
            case (item,):  # most who write Tuple[float] mean any number of them
                return SequenceHint(as_hint(item), "tuple")
        return TupleHint(tuple(map(as_hint, items)))
    if name in SEQUENCES:
        return SequenceHint(as_hint(items[0]), SEQUENCES[name])
    if name in DICTS:
        return DictHint(as_hint(items[-1]))
    if name in TRANSPARENT:
        return as_hint(items[0])
    match name:
        case "typing.Optional":
            return unite([as_hint(items[0]), NoneHint()])
        case "typing.Union":
            return unite(map(as_hint, items))
    return ANY if root in {"typing", "typing_extensions", "collections.abc", "builtins"} else None


def _numpy_dtype(value: Value) -> str | None:
    match value:
        case Library(name=name) if name.startswith("numpy."):
            word = name.removeprefix("numpy.").rstrip("_")
            return word if word == "bool" or word in SIZED.values() else None
    return None


def _array(dtype: str | None, items: tuple[Value, ...]) -> Value:
    """`Float[Tensor, "b n"]`, or `Float["b n"]` where a project's wrapper implies the array."""
    match items:
        case (array, Const(value=str() as text)):
            return Hint(_shaped(dtype, text, array))
        case (array, Const(value=value)) if value is Ellipsis:
            return Hint(_shaped(dtype, "...", array))
        case (Const(value=str() as text),):
            return Hint(ArrayHint(dtype, text))
        case (array, _):
            return Hint(_shaped(dtype, "...", array))
    return UNKNOWN


def _shaped(dtype: str | None, text: str, array: Value) -> TypeHint:
    """An array type with dtype and shape; arrays that have a shape get these axes in front, unions each for itself."""
    match as_hint(array):
        case ArrayHint() as inner:
            return _extended(dtype, text, inner)
        case UnionHint(options=options):
            return unite(_shaped(dtype, text, Hint(option)) for option in options)
        case ScalarHint() as scalar:
            return scalar
        case InstanceHint(cls=cls) as instance if not cls.is_a("torch.Tensor"):
            return instance
    return ArrayHint(dtype, text)


def _extended(dtype: str | None, text: str, inner: ArrayHint) -> ArrayHint:
    words = [part.strip() for part in (text, inner.text or "") if part.strip()]
    return ArrayHint(_narrower(dtype, inner.dtype), " ".join(words), inner.library)


def _narrower(outer: str | None, inner: str | None) -> str | None:
    """What satisfies both, given that they overlap: float32 of float32 and inexact."""

    def breadth(dtype: str) -> int:
        return WIDE.index(dtype) + 2 if dtype in WIDE else int(dtype.isalpha())

    return min((d for d in (inner, outer) if d is not None), key=breadth, default=None)


def _subscript_array(array: ArrayHint, items: tuple[Value, ...]) -> Value:
    """An alias that is subscripted: `Vec[Tensor]` fills in a type variable, `Arr["b n"]` a shape."""
    match items:
        case (Const(value=str() as text),):
            return Hint(_extended(None, text, array))
        case (single,):
            match as_hint(single):
                case ArrayHint(dtype=dtype, text=None, library=library):
                    return Hint(ArrayHint(_narrower(array.dtype, dtype), array.text, library or array.library))
    return Hint(array)


def _dtype_class(value: Value) -> bool:
    """Whether a class is one of jaxtyping's dtypes, or made to be one."""
    return isinstance(value, Library) and value.name in {"jaxtyping.AbstractDtype", *(f"jaxtyping.{d}" for d in DTYPES)}


def _wrapped(base: Value, items: tuple[Value, ...]) -> Value:
    """A wrapper that cannot be followed. Only a string that can be no type is evidence: "b n", not "Model".

    Of a library's class its name must say that it is an array: Quantity["angular speed"] is none.
    """
    if isinstance(base, Library) and not any(word in base.name.rpartition(".")[2] for word in ARRAY_WORDS):
        return UNKNOWN
    match items:
        case (Const(value=str() as text),) | (_, Const(value=str() as text)) if not _may_be_type(text):
            if len(items) == 1 or not isinstance(as_hint(items[0]), AnyHint | ForwardHint):
                return _array(None, items)
    return UNKNOWN


def _may_be_type(text: str) -> bool:
    try:
        compile(text.strip(), "<annotation>", "eval")
    except (SyntaxError, ValueError):
        return ArrayHint(text=text).pattern is None
    return True
