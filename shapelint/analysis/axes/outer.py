"""Outer operations: two operands that stretch each other, read off shapes or off the axes that were inserted,
and the reductions that make something smaller of them at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import dropwhile

from shapelint.analysis.evidence import PLACE_KEEPING, axes_of, elementwise_sources, identity, made_by
from shapelint.domain.dims import ONE, Dim
from shapelint.domain.shapes import broadcast, line_up
from shapelint.domain.values import NONE, Axis, Const, Run, Shape, Slice, Tensor, Tuple, Unknown, Value
from shapelint.events import Event, Kind, Operation
from shapelint.ops.equations import terms_of
from shapelint.provenance import sources

STRETCHING = frozenset({"expand", "expand_as", "repeat", "tile"})
SHAPE_KEEPING = frozenset({Kind.CAST, Kind.AUTOGRAD})
OF_TWO = frozenset({"cosine_similarity", "pairwise_distance"})
REDUCTIONS = frozenset({"sum", "mean", "norm", "einsum"}) | OF_TWO
STEPS = frozenset({"pow", "square", "abs", "neg", "mul", "div"})
OF_VECTORS = OF_TWO | {"norm"}
LOSSES = frozenset({"mse_loss", "l1_loss"})  # with reduction="none": of each pair of features
SQUARES = OF_VECTORS | {"pow", "square", "mul", "mse_loss", "einsum"}
COMPARISONS = frozenset({"eq", "ne"})  # counted over the last axis: how many letters of two codes differ
FIRST = LOSSES | COMPARISONS | {"sub"}
MOST_STEPS = 8


@dataclass(frozen=True, slots=True)
class Ones:
    """The axes of size 1 of an operand, by index from the left (0, 1 ...) and from the right (-1, -2 ...).

    `rank` is None where it is not known; then an axis stands in one of the two sets only.
    """

    left: frozenset[int]
    right: frozenset[int]
    rank: int | None = None

    def padded(self, rank: int) -> frozenset[int]:
        """From the right, with the axes that an operand of `rank` axes has and this one has not."""
        own = rank if self.rank is None else self.rank
        return self.right | frozenset(range(-rank, -own))


@dataclass(frozen=True, slots=True)
class Outer:
    """Which axes of the result each operand is repeated along, all counted from one side.

    `certain` is the number of axes that the result has at least.
    """

    stretches_left: frozenset[int]
    stretches_right: frozenset[int]
    shared: frozenset[int]
    certain: int

    def keeps(self, axis: int) -> bool | None:
        """Whether both operands have this axis of the result; None where that is not known."""
        ones = self.stretches_left | self.stretches_right | self.shared
        from_left = min(ones) >= 0
        if from_left == (axis >= 0):
            return axis not in ones
        return True if from_left and self.certain > max(ones) + 1 else None


def outer(a: Tensor, b: Tensor) -> Outer | None:
    """How two operands of an elementwise operation stretch each other; None where they do not, or may not."""
    if (run := a.shape.run) is not None and run == b.shape.run and len(a.shape.head) != len(b.shape.head):
        return _beside_run(a, b)
    for rows, table in ((a, b), (b, a)):
        if _are_rows_beside(rows, table):
            first = (frozenset({1}), frozenset({0}))
            return Outer(*(first if rows is a else first[::-1]), frozenset(), 3)
    x, y = _ones(a), _ones(b)
    if x.rank is not None and y.rank is not None:
        rank = max(x.rank, y.rank)
        return _outer(x.padded(rank), y.padded(rank), rank)
    certain = max(a.shape.least_rank, b.shape.least_rank)
    return _outer(x.left, y.left, certain) or _outer(x.right, y.right, certain)


def _beside_run(a: Tensor, b: Tensor) -> Outer | None:
    """`x[:, None] - x[indices]`: both end in the same axes, however many these are."""
    if a.shape.tail or b.shape.tail or a.shape.run == Run():
        return None
    pairs = line_up(a.shape, b.shape).pairs
    left = frozenset(place for place, pair in enumerate(pairs) if pair.stretches_left)
    right = frozenset(place for place, pair in enumerate(pairs) if pair.stretches_right)
    return Outer(left, right, frozenset(), len(pairs)) if left and right else None


def _are_rows_beside(rows: Tensor, table: Tensor) -> bool:
    """`x[:, None] - centers` with a table (k, d) of centers: rows of x, as nothing else goes with it."""
    head = rows.shape.head
    is_column = rows.shape.run is not None and not rows.shape.tail and len(head) == 2
    return is_column and head[0].size != ONE == head[1].size and table.shape.rank == 2 and ONE not in table.shape.sizes


def _outer(left: frozenset[int], right: frozenset[int], certain: int) -> Outer | None:
    first, second = left - right, right - left
    return Outer(first, second, left & right, certain) if first and second else None


def unstretched(value: Tensor) -> Tensor:
    """The value before `expand`, `repeat` and their like, if that had as many axes."""
    event = made_by(value)
    if isinstance(event, Operation) and (event.name in STRETCHING or event.kind in SHAPE_KEEPING):
        source = event.arguments.get("x")
        if isinstance(source, Tensor) and source.shape.rank in {value.shape.rank, None}:
            return unstretched(source)
    return value


def _ones(operand: Tensor) -> Ones:
    source = unstretched(operand)
    shape = source.shape
    left = frozenset(i for i, axis in enumerate(shape.head) if axis.size == ONE) | _inserted(source)
    right = frozenset(i - len(shape.tail) for i, axis in enumerate(shape.tail) if axis.size == ONE)
    if shape.rank is None:
        return Ones(frozenset(i for i in left if i >= 0), right | frozenset(i for i in left if i < 0))
    return Ones(
        frozenset(i % shape.rank for i in left), frozenset(i % shape.rank - shape.rank for i in left), shape.rank
    )


def _inserted(value: Tensor) -> frozenset[int]:
    """The axis that `x.unsqueeze(1)` makes, also where the axes of x are not known."""
    event = made_by(value)
    is_one = isinstance(event, Operation) and event.name == "unsqueeze" and value.shape.rank is None
    return frozenset(axes_of(event) or ()) if is_one and isinstance(event, Operation) else frozenset()


def insertion(value: Tensor) -> Operation | None:
    """What put axes into an operand: `x[:, None]`, also where `expand` followed."""
    event = made_by(unstretched(value))
    match event:
        case Operation(name="unsqueeze"):
            return event
        case Operation(name="getitem", arguments={"index": Tuple(items=items)}) if NONE in items:
            return event
        case Operation(name="getitem", arguments={"index": Const(value=None)}):
            return event
    return None


def used_elsewhere(events: Iterable[Event], makers: Collection[Event], but_by: Collection[Event]) -> set[int]:
    """By id: those of `makers` whose result is an operand of anything that is not in `but_by`."""
    wanted, allowed = {id(event) for event in makers}, {id(event) for event in but_by}
    return {
        id(source) for event in events if id(event) not in allowed for source in sources(event) if id(source) in wanted
    }


@dataclass(frozen=True, slots=True)
class Chain:
    """A reduction, and before it, backwards, the steps up to the operation whose two operands stretch each other."""

    reduction: Operation
    steps: tuple[Operation, ...]
    axis: int

    @property
    def axes(self) -> tuple[Axis, ...]:
        """Those that are repeated or reduced, as far as they are known."""
        shapes = [unstretched(operand).shape for operand in self.operands]
        if any(shape.run is not None for shape in shapes):
            return tuple(axis for shape in shapes for axis in shape.axes if axis.size != ONE)
        pairs = line_up(*shapes).pairs
        stretched = [pair.axis for pair in pairs if pair.stretches_left or pair.stretches_right]
        return (*stretched, self.shape.head[self.axis])

    @property
    def counts(self) -> list[Dim]:
        """How many elements the operands have, as far as it is known."""
        return [numel for operand in self.operands if (numel := operand.shape.numel()) is not None]

    @property
    def base(self) -> Operation:
        return self.steps[-1] if self.steps else self.reduction

    @property
    def is_last(self) -> bool:
        """Whether the last axis is reduced, as it is by what works on rows: the last one that is known or written."""
        return self.axis in {-1, max(len(value.shape.head) for value in self.operands) - 1}

    @property
    def factors(self) -> list[Value]:
        """What the table is multiplied with or divided by before it is reduced."""
        return [
            value
            for step, before in zip(self.steps, self.steps[1:])
            if step.name in {"mul", "div"}
            for value in (step.arguments.get("x", NONE), step.arguments.get("y", NONE))
            if value != NONE and made_by(value) is not before
        ]

    @property
    def is_weighted(self) -> bool:
        """Whether each feature has a factor of its own: `((x[:, None] - y) ** 2 / variance).sum(-1)`."""
        return any(isinstance(value, Unknown) or _has_axes(value) for value in self.factors)

    @property
    def is_of_rows(self) -> bool:
        """Whether the rows of the one meet those of the other, and nothing else: `x[..., :, None, :]`, `y[..., :, :]`.

        The two stretched axes stand directly before the one that is reduced.
        """
        stretched = outer(*self.operands)
        if stretched is None:
            return False
        repeated = sorted(stretched.stretches_left | stretched.stretches_right)
        if repeated[0] >= 0:
            first, *rest = repeated
            return rest == [first + 1] and (
                self.axis == first + 2 or (self.axis == -1 and self.least_rank <= first + 3)
            )
        rank = broadcast(*(operand.shape for operand in self.operands)).rank
        axis = self.axis - (rank or 0) if self.axis >= 0 else self.axis
        return repeated == [axis - 2, axis - 1] == [-3, -2]

    @property
    def least_rank(self) -> int:
        """How many axes the table has at least."""
        return max(operand.shape.least_rank for operand in self.operands)

    @property
    def in_order(self) -> tuple[Tensor, ...]:
        """The operands, first the one whose rows are those of the result."""
        stretched = outer(*self.operands)
        is_turned = stretched is not None and min(stretched.stretches_left) < min(stretched.stretches_right)
        return self.operands[::-1] if is_turned else self.operands

    @property
    def library(self) -> str:
        return self.reduction.callee.partition(".")[0]

    @property
    def operands(self) -> tuple[Tensor, ...]:
        return _pair(self.base)

    @property
    def shape(self) -> Shape:
        """The table of all pairs; it is built inside where the reduction itself takes two operands."""
        return broadcast(*(operand.shape for operand in self.operands))


def chain_of(reduction: Operation) -> Chain | None:
    """The chain that ends in a reduction over an axis that both stretched operands have."""
    rows = _rows_times_themselves(reduction) if reduction.name == "einsum" else None
    axes = (-1,) if rows is not None or reduction.name == "pairwise_distance" else axes_of(reduction)
    if axes is None or len(axes) != 1 or reduction.problem is not None:
        return None
    if reduction.name in OF_TWO:
        return Chain(reduction, (), axes[0]) if _is_outer(reduction, axes[0], {reduction.name}) else None
    steps: list[Operation] = []
    current = rows or reduction.arguments.get("x")
    while isinstance(current, Tensor) and len(steps) < MOST_STEPS:
        step = made_by(current)
        if not isinstance(step, Operation) or not (step.name in FIRST | STEPS or step.kind is Kind.CAST):
            return None
        steps.append(step)
        if _is_outer(step, axes[0], {reduction.name, *(s.name for s in steps)}):
            return Chain(reduction, tuple(steps), axes[0])
        current = _table_of(step) if step.name not in FIRST else None
    return None


def _rows_times_themselves(event: Operation) -> Tensor | None:
    """What `einsum("ijk,ijk->ij", d, d)` sums the squares of."""
    match event.arguments:
        case {"equation": Const(value=equation), "operands": Tuple(items=(Tensor() as x, Tensor() as y))}:
            terms, result = terms_of(str(equation))
            is_square = identity(x) == identity(y) and len(terms) == 2 and terms[0] == terms[1]
            return x if is_square and result == terms[0][:-1] else None
    return None


def _has_axes(value: Value) -> bool:
    return isinstance(value, Tensor) and value.shape.rank != 0


def _pair(event: Operation) -> tuple[Tensor, ...]:
    second = event.arguments.get("target" if event.name in LOSSES else "y")
    return tuple(v for v in (event.arguments.get("x"), second) if isinstance(v, Tensor))


def _table_of(step: Operation) -> Tensor | None:
    """What an elementwise step takes: beside it may stand itself, a number, or one factor for each feature."""
    found = {id(made_by(v)): v for v in _pair(step) if not _is_weight(v)}
    return next(iter(found.values())) if len(found) == 1 else None


def _is_weight(value: Tensor) -> bool:
    return value.shape.rank is not None and all(axis.size == ONE for axis in value.shape.head[:-1])


def _is_last(axis: int, pair: Sequence[Tensor]) -> bool:
    ranks = [value.shape.rank for value in pair]
    return axis == -1 or (None not in ranks and axis == max(filter(None, ranks)) - 1)


def _looks_flat(operand: Tensor) -> bool:
    """`x[:, None]` and `y[None, :]` name one axis beside the new one; `y[None]` and unsqueeze leave it open."""
    match insertion(operand):
        case Operation(arguments={"index": Tuple(items=items)}):
            return sum(isinstance(item, Slice) for item in items) == 1
    return False


def _is_outer(base: Operation, axis: int, names: Set[str]) -> bool:
    """Whether the operands stretch each other, both have `axis`, and a distance or product comes of it.

    Differences that are summed as they are come to two sums. Products are a matrix product only where rows
    meet rows: weighted sums over another axis are left alone.
    """
    pair = _pair(base)
    if base.name not in {"mul", *FIRST, *OF_TWO} or len(pair) != 2 or base.in_place:
        return False
    is_square = not SQUARES.isdisjoint(names)
    if not is_square and names.isdisjoint({"abs", "l1_loss"}) and base.name not in COMPARISONS:
        return False
    stretched = outer(*pair)
    if base.name == "mul" and not _is_last(axis, pair):
        return False
    ranks = [value.shape.rank for value in pair]
    if axis >= 0 and None not in ranks:
        axis -= max(filter(None, ranks))
    keeps = stretched.keeps(axis) if stretched is not None else False
    if keeps is None:  # x.unsqueeze(1) - y.unsqueeze(0): of numbers, or of vectors?
        return not OF_VECTORS.isdisjoint(names) or (is_square and not all(map(_looks_flat, pair)))
    return keeps


def is_shared(events: Iterable[Event], event: Operation, operand: Value) -> bool:
    """Whether something beside `event` takes an operand, or what it is made of element by element."""
    steps = [step for value in elementwise_sources(operand) if (step := made_by(value)) is not None]
    return bool(used_elsewhere(events, steps, [*steps, event]))


def taken_over(events: Iterable[Event], event: Operation) -> Operation | None:
    """The reduction that makes a number, or fewer axes, of what an operation gives: where a wrong table disappears."""
    carriers = {id(event)}
    for later in dropwhile(lambda other: other is not event, events):
        if not isinstance(later, Operation) or not any(id(source) in carriers for source in sources(later)):
            continue
        if later.kind is Kind.REDUCTION:
            return later
        if later.kind in PLACE_KEEPING:
            carriers.add(id(later))
    return None
