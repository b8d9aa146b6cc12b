"""What a type hint says of a value that enters: a parameter, an attribute."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from shapelint.annotations.hints import (
    LAYERS,
    ArrayHint,
    DictHint,
    ForwardHint,
    InstanceHint,
    LayerHint,
    NoneHint,
    ScalarHint,
    SequenceHint,
    TupleHint,
    TypeHint,
    UnionHint,
)
from shapelint.annotations.patterns import to_shape
from shapelint.domain.dims import size
from shapelint.domain.joins import join
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Class,
    Dict,
    Float,
    Int,
    Layer,
    Many,
    Run,
    Shape,
    Tensor,
    Tuple,
    Unknown,
    Value,
)


def value_of(
    hint: TypeHint,
    scope: object,
    name: str = "",
    instance: Callable[[Class], Value] = lambda _: UNKNOWN,
    forward: Callable[[str], Value] = lambda _: UNKNOWN,
) -> Value:
    """The value of a parameter `name` of this type, in a function known by `scope`.

    `instance` makes objects, `forward` says what a type that is quoted says.
    """

    def inner(hint: TypeHint, name: str) -> Value:
        return value_of(hint, scope, name, instance, forward)

    match hint:
        case ArrayHint(dtype=dtype, library=library):
            pattern = hint.pattern
            shape = Shape((), Run("", (scope, name))) if pattern is None else to_shape(pattern, scope, name)
            return Tensor(shape, dtype, library)
        case ScalarHint(name="int"):
            return UNKNOWN if "[]" in name else Int(size(name, scope))  # the items of a list are not all one size
        case ScalarHint(name="float"):
            return Float()
        case NoneHint():
            return NONE
        case TupleHint(items=items):
            return Tuple(tuple(inner(item, f"{name}[{i}]") for i, item in enumerate(items)))
        case SequenceHint(item=item, kind=kind):
            return Many(inner(item, f"{name}[]"), kind=kind)
        case DictHint(value=item):
            return Dict(other=inner(item, f"{name}[]"))
        case InstanceHint(cls=cls):
            return instance(cls)
        case ForwardHint(name=text):
            return forward(text)
        case LayerHint(name=layer):
            return Layer(layer, {key: Unknown(size(f"{name}.{key}", scope)) for key in LAYERS[layer]})
        case UnionHint(options=options):
            return reduce(lambda a, b: join(a, b, (scope, name)), [inner(option, name) for option in options])
    return UNKNOWN
