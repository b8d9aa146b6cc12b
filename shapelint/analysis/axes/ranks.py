"""How many axes values have in terms of one another, where nobody says how many: `x.sum(1)` has one less than x.

`embed(users).sum(1)` and `bias(users)` of an Embedding with one column are (*, ) and (*, 1) of the same users: whether
these are a vector or a table, each meets all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from shapelint.analysis.axes.columns import MADE_BY_THE_WAY, Table
from shapelint.analysis.evidence import PLACE_KEEPING, axes_of, keeps_axes, made_by, within_call
from shapelint.domain.dims import ONE, anonymous
from shapelint.domain.record import record
from shapelint.domain.values import Axis, Maker, Run, Shape, Tensor, Value, maker_of
from shapelint.events import Input, Kind, Operation

MOST_STEPS = 24
KEEPING = frozenset({"linear", "dropout", "layer_norm", "rms_norm"})
GATHERS = frozenset({"gather", "take_along_axis"})


@record()
class Rank:
    """So many axes more than what is known by `root` has; or, without it, so many."""

    root: object
    more: int


@record(eq=False)
class Ranks:
    """What has been found: the least number of axes of roots, and which have as many as others."""

    least: dict[object, int] = field(default_factory=dict)
    same: dict[object, Rank] = field(default_factory=dict)

    def of(self, value: Value, depth: int = 0) -> Rank:
        value = within_call(value)
        if isinstance(value, Tensor) and value.shape.rank is not None:
            return Rank(None, value.shape.rank)
        event = made_by(value)
        found = self._made(event, depth + 1) if isinstance(event, Operation) and depth < MOST_STEPS else None
        return found if found is not None else Rank(id(event) if event is not None else id(value), 0)

    def _made(self, event: Operation, depth: int) -> Rank | None:
        x, axes = event.arguments.get("x"), axes_of(event)
        if event.kind is Kind.ELEMENTWISE:
            return self._together(event, depth)
        if x is None:
            return None
        if event.kind in PLACE_KEEPING or (event.kind is Kind.LAYER and event.name in KEEPING):
            return self.of(x, depth)
        match event.name:
            case "embedding" if event.kind is Kind.LAYER:
                return self._beyond(x, 1, 0, depth)
            case "unsqueeze" if axes is not None and len(axes) == 1:
                return self._beyond(x, 1, max(axes[0], 0), depth)
            case name if name in GATHERS and "index" in event.arguments:
                rank = self.of(event.arguments["index"], depth)
                self._unite(rank, self.of(x, depth))
                return rank
        is_along = axes is not None and all(axis == -1 or axis > 0 for axis in axes)
        if event.kind is not Kind.REDUCTION or axes is None or not is_along or keeps_axes(event):
            return None
        return self._beyond(x, -len(axes), max(axes) + 1, depth)

    def _beyond(self, x: Value, more: int, least: int, depth: int) -> Rank:
        """The rank of something with so many axes more than x, which has to have `least`."""
        rank = self.resolved(self.of(x, depth))
        if rank.root is not None:
            self.least[rank.root] = max(self.least.get(rank.root, 0), least - rank.more)
        return Rank(rank.root, rank.more + more)

    def _together(self, event: Operation, depth: int) -> Rank | None:
        """Operands of an operation have as many axes, but for those that are known to have few, and weights."""
        operands = [v for v in event.values if isinstance(v, Tensor) and v.shape.rank is None and not _is_weight(v)]
        ranks = [self.of(value, depth) for value in operands]
        for rank in ranks[1:]:
            self._unite(ranks[0], rank)
        found = [self.resolved(rank) for rank in ranks]
        return max(found, key=lambda rank: rank.more) if found else None

    def _unite(self, a: Rank, b: Rank) -> None:
        a, b = self.resolved(a), self.resolved(b)
        if a.root is None or b.root is None or a.root == b.root:
            return
        self.same[b.root] = Rank(a.root, a.more - b.more)
        self.least[a.root] = max(self.least.get(a.root, 0), self.least.get(b.root, 0) - a.more + b.more)

    def resolved(self, rank: Rank) -> Rank:
        while rank.root in self.same:
            other = self.same[rank.root]
            rank = Rank(other.root, other.more + rank.more)
        return rank

    def at_least(self, value: Value) -> int:
        rank = self.resolved(self.of(value))
        return rank.more + (self.least.get(rank.root, 0) if rank.root is not None else 0)


def _is_weight(value: Tensor) -> bool:
    """An attribute of something, which lines up with the last axes only."""
    maker = maker_of(value)
    return isinstance(maker, Input) and maker.kind == "attribute"


def ranked_table(a: Tensor, b: Tensor) -> Table | None:
    """(*, 1) against what is sure to have one axis less, and one at least: which of all is paired with which?"""
    if a.shape.run is None or b.shape.run is None:
        return None
    for column, vector in ((a, b), (b, a)):
        ranks = Ranks()
        found = [ranks.of(column), ranks.of(vector)]  # and with them what is known of their roots
        one_more, rank = map(ranks.resolved, found)
        if rank.root is None or rank.root != one_more.root or one_more.more - rank.more != 1:
            continue
        if ranks.at_least(vector) < 1 or any(axis.size == ONE for axis in vector.shape.axes):
            continue
        for place in _ones(column, ranks):
            size = anonymous((column, vector))
            return Table(column, vector, place, size, Shape((), Run(), (Axis(size), Axis(size))))
    return None


def _ones(value: Tensor, ranks: Ranks) -> Iterator[int]:
    """Where an axis of size 1 stands that a layer or an index made, beside others before it."""
    for place, axis in enumerate(value.shape.head):
        if place and axis.size == ONE and axis.maker is Maker.GATHER:
            yield place
    if _ends_in_one(value, ranks, 0):
        yield -1


def _ends_in_one(value: Value, ranks: Ranks, depth: int) -> bool:
    """Whether the last axis is one that a layer made, also where it is not known how many stand before it."""
    value = within_call(value)
    if not isinstance(value, Tensor) or depth > MOST_STEPS:
        return False
    last, event = value.shape.axis(-1), made_by(value)
    if last is not None and last.size == ONE and last.maker in MADE_BY_THE_WAY:
        return True
    if not isinstance(event, Operation):
        return False
    if event.kind is Kind.ELEMENTWISE:
        open_ = [v for v in event.operands if v.shape.rank is None]
        known = [v for v in event.operands if v.shape.rank]
        return bool(open_) and all(_ends_in_one(v, ranks, depth + 1) for v in open_) and all(map(_is_one_wide, known))
    axes, x = axes_of(event), event.arguments.get("x")
    if event.kind is not Kind.REDUCTION or axes is None or x is None or keeps_axes(event) or min(axes) < 1:
        return False
    return ranks.at_least(x) > max(axes) + 1 and _ends_in_one(x, ranks, depth + 1)


def _is_one_wide(value: Tensor) -> bool:
    axis = value.shape.axis(-1)
    return axis is not None and axis.size == ONE
