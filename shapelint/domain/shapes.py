"""Broadcasting of shapes: what two operands become, which axes stretch, and where they can never fit."""

from __future__ import annotations

from functools import reduce
from itertools import zip_longest

from shapelint.domain.dims import ONE, Dim, Origin, Truth, anonymous, broadcast_size, compare, differs_by_default
from shapelint.domain.record import record
from shapelint.domain.values import Axis, Run, Shape


def never_equal(a: Dim, b: Dim) -> bool:
    """The two sizes can never be one size, or not with the defaults of the parameters they come from.

    A size that is not known may be 0 where the other is.
    """
    if 0 in (a.value, b.value) and None in (a.value, b.value):
        return False
    return compare(a, b) is Truth.DIFFERENT or differs_by_default(a, b)


@record()
class Pair:
    """Two axes lined up from the right; None where an operand certainly has no axis there."""

    left: Axis | None
    right: Axis | None

    @property
    def conflicts(self) -> bool:
        if self.left is None or self.right is None or ONE in (self.left.size, self.right.size):
            return False
        return never_equal(self.left.size, self.right.size) and not any(map(_is_one_by_chance, (self.left, self.right)))

    @property
    def stretches_left(self) -> bool:
        """The left operand is repeated along an axis of the right one."""
        return (self.left is None or self.left.size == ONE) and self.right is not None and self.right.size != ONE

    @property
    def stretches_right(self) -> bool:
        return Pair(self.right, self.left).stretches_left

    @property
    def axis(self) -> Axis:
        """The axis of the result."""
        left, right = self.left or self.right, self.right or self.left
        assert left is not None
        assert right is not None
        if left.size == right.size:
            return left if left.factors == right.factors or right.size == ONE else Axis(left.size)
        if right.size == ONE:
            return left
        return right if left.size == ONE else Axis(broadcast_size(left.size, right.size))


def _is_one_by_chance(axis: Axis) -> bool:
    """`x[..., 3:]` of an axis that nobody named may be a single column."""
    symbols = list(axis.size.symbols())
    is_rest = len(axis.size.terms) > 1 and all(symbol.origin is Origin.ANONYMOUS for symbol in symbols)
    return bool(symbols) and is_rest and compare(axis.size, ONE) is Truth.UNDECIDED


@record()
class Broadcast:
    """Two shapes lined up from the right; `pairs` are the lined-up axes, the last one rightmost."""

    shape: Shape
    pairs: tuple[Pair, ...]

    @property
    def conflict(self) -> Pair | None:
        return next((pair for pair in self.pairs if pair.conflicts), None)

    @property
    def is_outer(self) -> bool:
        """Each operand stretches the other: (n, 1) with (n,)."""
        return any(p.stretches_left for p in self.pairs) and any(p.stretches_right for p in self.pairs)


def line_up(a: Shape, b: Shape) -> Broadcast:
    """The broadcast of two shapes."""
    if a.run is None and b.run is None:
        pairs = _pairs(a.head, b.head)
        return Broadcast(Shape(tuple(p.axis for p in pairs)), pairs)
    if a.run == b.run and a.run != Run() and len(a.tail) == len(b.tail):  # the same axes, so heads end together
        head, tail = _pairs(a.head, b.head), _pairs(a.tail, b.tail)
        return Broadcast(Shape(tuple(p.axis for p in head), a.run, tuple(p.axis for p in tail)), head + tail)
    left, right = a.tail if a.run else a.head, b.tail if b.run else b.head
    for long, short in ((a, b), (b, a)):
        if long.run is not None and short.run is None and len(short.head) <= len(long.tail):
            pairs = _pairs(left, right)
            return Broadcast(Shape(long.head, long.run, tuple(p.axis for p in pairs)), pairs)
    known = min(len(left), len(right))
    pairs = _pairs(left[len(left) - known :], right[len(right) - known :])
    longer = left if len(left) > known else right
    beside_run = tuple(_against_unknown(axis, (a, b, i)) for i, axis in enumerate(longer[: len(longer) - known]))
    return Broadcast(Shape((), Run("", (a, b)), beside_run + tuple(p.axis for p in pairs)), pairs)


def _against_unknown(axis: Axis, scope: object) -> Axis:
    """An axis lined up with one of unknown size: it stays if it is a number or a size that its author named."""
    named = all(symbol.origin in {Origin.AXIS, Origin.SIZE} for symbol in axis.size.symbols())
    return axis if named and axis.size != ONE else Axis(anonymous(scope))


def broadcast(*shapes: Shape) -> Shape:
    """The shape of an elementwise operation on operands of these shapes, if it is legal."""
    return reduce(lambda a, b: line_up(a, b).shape, shapes)


def _pairs(left: tuple[Axis, ...], right: tuple[Axis, ...]) -> tuple[Pair, ...]:
    return tuple(Pair(x, y) for x, y in zip_longest(reversed(left), reversed(right)))[::-1]
