"""Values held against those of an earlier evaluation of the same function: its result holds for whatever is alike.

Of a size that is a symbol an evaluation knows nothing but that it is one, of a run of axes nothing but that it is
itself. What it came to is so for every size and for any axes in their place, as long as it is the same for the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from shapelint.domain.dims import Dim, Symbol, substitute
from shapelint.domain.values import Dict, Float, Int, Many, Run, Shape, Tensor, Tuple, Union, Unknown, Value
from shapelint.events import Event


@dataclass(slots=True)
class Matching:
    """What stands for what: sizes and axes of one call in place of those of another evaluation."""

    sizes: dict[Symbol, Dim] = field(default_factory=dict)
    runs: dict[Run, Shape] = field(default_factory=dict)
    others: dict[Event, Value] = field(default_factory=dict)  # what stands for a value of which nothing was known
    has_dtypes: bool = True  # all arrays have the dtypes of those in the other evaluation

    def copy(self) -> Matching:
        return Matching(dict(self.sizes), dict(self.runs), dict(self.others), self.has_dtypes)


def are_alike(patterns: Iterable[Value], values: Iterable[Value], found: Matching) -> bool:
    """Whether one could be had from the other by replacing symbols and runs; `found` is filled as far as it goes."""
    return all(is_alike(pattern, value, found) for pattern, value in zip(patterns, values, strict=True))


def is_alike(pattern: Value, value: Value, found: Matching) -> bool:
    match pattern, value:
        case Tensor(), Tensor():
            if pattern.library != value.library and None not in (pattern.library, value.library):
                return False
            found.has_dtypes &= pattern.dtype == value.dtype
            return is_alike_shape(pattern.shape, value.shape, found)
        case Unknown(made_by=made_by, dim=dim), _:
            found.has_dtypes &= pattern.dtype == getattr(value, "dtype", None)
            if dim is not None and dim.symbol is not None and isinstance(value, Int):
                found.sizes.setdefault(dim.symbol, value.dim)
            if made_by is None:
                return True
            if isinstance(value, Tensor):
                found.runs.setdefault(Run("", made_by), value.shape)
            return found.others.setdefault(made_by, value) == value
        case Int(dim=dim), Int(dim=other):
            return is_alike_size(dim, other, found)
        case Float(value=number), Float(value=other_number):
            return number is None or number == other_number
        case (Tuple(items=ones), Tuple(items=others)) | (Union(options=ones), Union(options=others)):
            same_kind = getattr(pattern, "kind", "") == getattr(value, "kind", "")
            return same_kind and len(ones) == len(others) and are_alike(ones, others, found)
        case Many(item=one, length=length), Many(item=other_item, length=other_length):
            if pattern.kind != value.kind or not is_alike(one, other_item, found):
                return False
            return length is None or (other_length is not None and is_alike_size(length, other_length, found))
        case Dict(items=pairs, other=None), Dict(items=other_pairs, other=None):
            same_keys = pattern.kind == value.kind and [key for key, _ in pairs] == [key for key, _ in other_pairs]
            return same_keys and are_alike((v for _, v in pairs), (v for _, v in other_pairs), found)
    return pattern == value


def is_alike_shape(pattern: Shape, shape: Shape, found: Matching) -> bool:
    before, after = len(pattern.head), len(pattern.tail)
    if pattern.run is None:
        middle = Shape() if shape.run is None and len(shape.head) == before else None
    elif shape.run is None:
        rest = len(shape.head) - after
        middle = Shape(shape.head[before:rest]) if rest >= before else None
    else:
        rest = len(shape.tail) - after
        fits = len(shape.head) >= before and rest >= 0
        middle = Shape(shape.head[before:], shape.run, shape.tail[:rest]) if fits else None
    if middle is None:
        return False
    last = (shape.head if shape.run is None else shape.tail)[-after:] if after else ()
    pairs = zip((*pattern.head, *pattern.tail), (*shape.head[:before], *last))
    if not all(is_alike_size(one.size, other.size, found) for one, other in pairs):
        return False
    return pattern.run is None or pattern.run.scope is None or found.runs.setdefault(pattern.run, middle) == middle


def is_alike_size(pattern: Dim, size: Dim, found: Matching) -> bool:
    symbol = pattern.symbol
    if symbol is not None and symbol.derivation is None:
        return found.sizes.setdefault(symbol, size) == size
    return substitute(pattern, found.sizes) == size
