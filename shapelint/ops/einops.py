"""einops: patterns that name axes, split them and merge them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from shapelint.domain.dims import ONE, Dim, anonymous, as_dim, product
from shapelint.domain.record import record
from shapelint.domain.shapes import never_equal
from shapelint.domain.values import Axis, Const, Dict, Int, Maker, Shape, Tuple, Value
from shapelint.events import Kind
from shapelint.ops.dtypes import element_dtype, is_inexact
from shapelint.ops.equations import ELLIPSIS, contracted
from shapelint.ops.op import SIZE, Op, ShapeError, Unknowable, size_or_any, tensor
from shapelint.ops.reshaping import FREE, merged, regrouped, target_sizes
from shapelint.ops.runs import ends, joined, with_rank

Group = tuple[str, ...]  # the names of one axis; none for an axis of 1
BARE: Group = ("...",)  # an ellipsis as axes of its own; in parentheses it is ELLIPSIS among the names
TOKEN = re.compile(r"\s*(\(|\)|\.\.\.|…|\w+|\S)")


@record()
class Side:
    """One side of a pattern, an axis a group."""

    text: str
    groups: tuple[Group, ...]

    @property
    def names(self) -> list[str]:
        return [ELLIPSIS if group == BARE else name for group in self.groups for name in group]

    @property
    def ellipsis(self) -> int | None:
        """Where the ellipsis stands as axes of its own."""
        return self.groups.index(BARE) if BARE in self.groups else None


def parse(text: str) -> tuple[Side, Side]:
    left, arrow, right = text.partition("->")
    if not arrow:
        raise ShapeError(f"{text!r} has no arrow")
    return _side(left), _side(right)


def _side(text: str) -> Side:
    """The groups; a number other than 1 gets a name of its own, which `number` reads."""
    groups: list[Group] = []
    inside: list[str] | None = None
    for position, token in enumerate(TOKEN.findall(text)):
        if token == "(":
            inside = []
        elif token == ")":
            if inside is None:
                raise ShapeError(f"{text!r} closes what is not open")
            groups.append(tuple(inside))
            inside = None
        else:
            name = f"{token} {position}" if token.isdigit() else token.replace("...", ELLIPSIS)
            if inside is None:
                groups.append(() if token == "1" else BARE if name == ELLIPSIS else (name,))
            elif token != "1":
                inside.append(name)
    side = Side(text.strip(), tuple(groups))
    if inside is not None or len(set(side.names)) < len(side.names):
        raise ShapeError(f"{text.strip()!r} is no pattern")
    return side


def number(name: str) -> Dim | None:
    """The size that a number among the names stands for."""
    return as_dim(int(name.split()[0])) if name[0].isdigit() else None


def _pattern(value: Value) -> str:
    match value:
        case Const(value=str() as text) if "{" not in text:  # what an f-string inserts is not known
            return text
    raise Unknowable("pattern not known")


def _given(sizes: Mapping[str, Value], *sides: Side) -> dict[str, Dim]:
    """The sizes that keywords and numbers give."""
    numbers = {name: size for side in sides for name in side.names if (size := number(name)) is not None}
    return {name.removesuffix(SIZE): size_or_any(value) for name, value in sizes.items()} | numbers


@record()
class Bound:
    """What the left side of a pattern says of a shape: axes by name, and what the ellipsis stands for."""

    axes: Mapping[str, Axis]
    middle: Shape


def bind(shape: Shape, side: Side, sizes: Mapping[str, Dim], text: str) -> Bound:
    """Names get their axes; ShapeError where the shape can never be what the side says."""
    scope = (text, object())
    names = [group[0] if len(group) == 1 else "" for group in side.groups if group != BARE]
    at = side.ellipsis
    back: tuple[Axis, ...] = ()
    try:
        if at is None:
            front, middle = with_rank(shape, len(names), names, scope).head, Shape()
        else:
            front, middle, back = ends(shape, at, len(names) - at, names, scope)
        groups = (group for group in side.groups if group != BARE)
        axes = {n: a for group, axis in zip(groups, (*front, *back)) for n, a in _split(group, axis, sizes)}
    except ShapeError as error:
        raise ShapeError(f"{side.text!r} of {text!r}: {error}") from None
    return Bound(axes, middle)


def _split(group: Group, axis: Axis, sizes: Mapping[str, Dim]) -> Iterator[tuple[str, Axis]]:
    if ELLIPSIS in group:
        raise ShapeError("an ellipsis can not be in parentheses here")
    targets = [sizes.get(name, FREE) for name in group]
    if targets == [FREE]:
        yield group[0], axis
        return
    if targets.count(FREE) > 1:
        unknown = ", ".join(name for name in group if name not in sizes)
        raise ShapeError(f"the sizes of {unknown} can not be told from {axis}")
    if len(group) < 2 and never_equal(axis.size, product(targets)):
        raise ShapeError(f"{''.join(group) or '1'} is {product(targets)}, not {axis}")
    yield from zip(group, regrouped(Shape((axis,)), targets).head)


def place(side: Side, bound: Bound, new: Mapping[str, Dim]) -> Shape:
    """The shape that the right side of a pattern makes of bound axes; `new` has the sizes of repeated ones."""
    result = Shape()
    for group in side.groups:
        if group == BARE:
            result = Shape((*result.head, *bound.middle.head), bound.middle.run, bound.middle.tail)
        else:
            result = joined((), result, (_merge(group, bound, new),))
    return result


def _merge(group: Group, bound: Bound, new: Mapping[str, Dim]) -> Axis:
    if not group:
        return Axis(ONE, maker=Maker.INSERTED)
    axes: list[Axis] = []
    for name in group:
        if name == ELLIPSIS:
            axes.extend(bound.middle.axes if bound.middle.run is None else [Axis(anonymous(object()))])
        else:
            axes.append(bound.axes[name] if name in bound.axes else Axis(new[name]))
    return merged(axes) if axes else Axis(ONE, maker=Maker.INSERTED)


def _only(names: Iterable[str], others: Iterable[str]) -> list[str]:
    known = set(others)
    return [name for name in names if name not in known]


def rearrange(x: Value, pattern: Value, **sizes: Value) -> Shape:
    """ "b (h w) c -> b h w c": the same elements, axes moved, split and merged."""
    text = _pattern(pattern)
    left, right = parse(text)
    lonely = _only(left.names, right.names) + _only(right.names, left.names)
    if lonely:
        raise ShapeError(f"{lonely[0].split()[0]!r} is on one side of {text!r} only")
    return place(right, bind(tensor(x).shape, left, _given(sizes, left), text), {})


def reduce(x: Value, pattern: Value, **sizes: Value) -> Shape:
    """ "b c (h 2) (w 2) -> b c h w": what is not on the right is reduced."""
    text = _pattern(pattern)
    left, right = parse(text)
    added = _only(right.names, left.names)
    if added:
        raise ShapeError(f"{added[0].split()[0]!r} of {text!r} is on the right side only")
    given = {name: value for name, value in sizes.items() if name != "reduction"}
    return place(right, bind(tensor(x).shape, left, _given(given, left), text), {})


def repeat(x: Value, pattern: Value, **sizes: Value) -> Shape:
    """ "h w -> h w c": what is on the right only is new, its size given."""
    text = _pattern(pattern)
    left, right = parse(text)
    given = _given(sizes, left, right)
    lost = _only(left.names, right.names)
    unknown = [name for name in _only(right.names, left.names) if name not in given]
    if lost or unknown:
        raise ShapeError(f"{(lost + unknown)[0].split()[0]!r} of {text!r} is on one side only, and has no size")
    return place(right, bind(tensor(x).shape, left, given, text), given)


def einsum(tensors_and_pattern: Value) -> Shape:
    """ "b n k, b k m -> b n m" after its operands."""
    match tensors_and_pattern:
        case Tuple(items=(*tensors, Const(value=str() as text))):
            left, arrow, right = text.replace("...", ELLIPSIS).partition("->")
            if not arrow:
                raise ShapeError(f"{text!r} has no arrow")
            terms = [tuple(term.split()) for term in left.split(",")]
            return contracted(text, terms, tuple(right.split()), tuple(tensor(t).shape for t in tensors))
    raise Unknowable("pattern not known")


def _around_star(pattern: Value) -> tuple[str, int, int]:
    text = _pattern(pattern)
    names = text.split()
    if names.count("*") != 1:
        raise ShapeError(f"{text!r} needs one *")
    return text, names.index("*"), len(names) - names.index("*") - 1


def pack(tensors: Value, pattern: Value) -> tuple[Shape, Value]:
    """ "b * c": what * stands for is made one axis and joined; also which shapes it stood for."""
    _, before, after = _around_star(pattern)
    if not isinstance(tensors, Tuple) or not tensors.items:
        raise Unknowable("not a known number of tensors")
    parts = [ends(tensor(item).shape, before, after) for item in tensors.items]
    if any(middle.run is not None for _, middle, _ in parts):
        raise Unknowable("rank not known")
    for index in range(before + after):
        sizes = [(front + back)[index].size for front, _, back in parts]
        if any(never_equal(sizes[0], size) for size in sizes):
            raise ShapeError(f"axes of {' and '.join(map(str, sizes))} are packed as one")
    front, _, back = parts[0]
    whole = [merged(middle.head) if middle.head else Axis(ONE) for _, middle, _ in parts]
    total = whole[0] if len(whole) == 1 else Axis(sum((axis.size for axis in whole[1:]), whole[0].size))
    shapes = Tuple(tuple(Tuple(tuple(map(Int, middle.sizes))) for _, middle, _ in parts), "list")
    return Shape((*front, total, *back)), shapes


def unpack(x: Value, packed_shapes: Value, pattern: Value) -> tuple[Shape, ...]:
    """The inverse of pack."""
    _, before, after = _around_star(pattern)
    shape = with_rank(tensor(x).shape, before + after + 1)
    if not isinstance(packed_shapes, Tuple):
        raise Unknowable("not a known number of shapes")
    front, back = shape.head[:before], shape.head[before + 1 :]

    def piece(packed: Value) -> Shape:
        sizes = target_sizes(packed)
        if sizes is None:
            raise Unknowable("shapes not known")
        return Shape((*front, *(Axis(anonymous(object()) if size == FREE else size) for size in sizes), *back))

    return tuple(map(piece, packed_shapes.items))


def parse_shape(x: Value, pattern: Value) -> Value:
    """The sizes by name."""
    text = _pattern(pattern)
    shape = tensor(x).shape
    groups = [name for name in text.replace("...", ELLIPSIS).split() if name != "_"]
    bound = bind(shape, _side(_unnamed(text)), {}, text)
    return Dict(tuple((name, Int(bound.axes[name].size)) for name in groups if name in bound.axes))


def _unnamed(text: str) -> str:
    """Each _ with a name of its own."""
    return " ".join(f"_{i}" if name == "_" else name for i, name in enumerate(text.split()))


def _reduced_dtype(bound: Mapping[str, Value], library: str | None) -> str | None:
    known = element_dtype(bound["x"], library) if "x" in bound else None
    return known if is_inexact(known) else None


def layers(constructor: str) -> tuple[str, ...]:
    return tuple(f"einops.layers.{library}.{constructor}" for library in ("torch", "flax"))


OPS: tuple[Op, ...] = (
    Op("rearrange", rearrange, ("einops.rearrange(tensor: x, pattern)",), Kind.RESHAPE, "same"),
    Op("reduce", reduce, ("einops.reduce(tensor: x, pattern, reduction)",), Kind.REDUCTION, _reduced_dtype),
    Op("rearrange", rearrange, layers("Rearrange(pattern)"), Kind.RESHAPE, "same", inputs="input"),
    Op("reduce", reduce, layers("Reduce(pattern, reduction)"), Kind.REDUCTION, _reduced_dtype, inputs="input"),
    Op("repeat", repeat, ("einops.repeat(tensor: x, pattern)",), Kind.LAYOUT, "same"),
    Op("einsum", einsum, ("einops.einsum(*tensors_and_pattern)",), Kind.CONTRACTION, "promote"),
    Op("pack", pack, ("einops.pack(tensors, pattern)",), Kind.JOINING, "promote"),
    Op("unpack", unpack, ("einops.unpack(tensor: x, packed_shapes, pattern)",), Kind.JOINING, "same"),
    Op("parse_shape", parse_shape, ("einops.parse_shape(x, pattern)",), Kind.OTHER, "same"),
)
