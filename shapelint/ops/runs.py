"""Taking shapes apart at their ends and putting them together, also where a run hides the rank."""

from __future__ import annotations

from collections.abc import Sequence

from shapelint.domain.dims import Dim, anonymous, axis
from shapelint.domain.values import Axis, Run, Shape
from shapelint.ops.op import ShapeError

ROUNDS = "rounds?"


def fresh(shape: Shape, *what: object) -> object:
    """A scope for what an operation on `shape` leaves open: the same for the same shape, if that is known to be one."""
    shapes = (part for part in (shape, *what) if isinstance(part, Shape))
    unlike_itself = any(part.run is not None and part.run.scope is None for part in shapes)
    return object() if unlike_itself else (shape, *what)


def hidden(shape: Shape, *what: object, tail: tuple[Axis, ...] = ()) -> Shape:
    """What remains when an operation on `shape` leaves everything but `tail` open."""
    return Shape((), Run("", fresh(shape, *what)), tail)


def unknown_size(shape: Shape, *what: object) -> Dim:
    return anonymous(fresh(shape, *what))


def rounds(scope: object) -> Dim:
    """How often a loop goes round, how many items a list has: unknown, but no more meant to be 1 than a named size."""
    return anonymous(scope, ROUNDS)


def with_rank(shape: Shape, rank: int, names: Sequence[str] = (), scope: object = None) -> Shape:
    """`shape` where its use says how many axes there are; axes out of the run get `names`, if any are given.

    Raises ShapeError where it can not have that many.
    """
    missing = rank - shape.least_rank
    if missing < 0 or (missing and shape.run is None):
        raise ShapeError(f"{shape} has {shape.least_rank} axes, not {rank}")
    if shape.run is None:
        return shape
    first = len(shape.head)
    found = tuple(_found(shape, (rank, i), names[i] if names else "", scope) for i in range(first, first + missing))
    return Shape((*shape.head, *found, *shape.tail))


def _found(shape: Shape, what: object, name: str, scope: object) -> Axis:
    return Axis(axis(name, scope) if name else unknown_size(shape, what))


def ends(
    shape: Shape, before: int, after: int, names: Sequence[str] = (), scope: object = None
) -> tuple[tuple[Axis, ...], Shape, tuple[Axis, ...]]:
    """The first `before` axes, what lies between, and the last `after` axes.

    `names` are for those first and last axes that come out of the run. Raises ShapeError where there are too few.
    """
    if shape.run is None:
        rank = len(shape.head)
        if rank < before + after:
            raise ShapeError(f"{shape} has {rank} axes, {before + after} are needed")
        return shape.head[:before], Shape(shape.head[before : rank - after]), shape.head[rank - after :]
    head, tail = shape.head[:before], shape.tail[max(len(shape.tail) - after, 0) :]
    if len(head) == before and len(tail) == after:
        middle = Shape(shape.head[before:], shape.run, shape.tail[: len(shape.tail) - after])
        return head, middle, tail
    names = names or [""] * (before + after)
    first = (*head, *(_found(shape, ("first", i), names[i], scope) for i in range(len(head), before)))
    lost = after - len(tail)
    last = (*(_found(shape, ("last", lost - i), names[before + i], scope) for i in range(lost)), *tail)
    between = hidden(shape, "between", before, after)
    # The axes that come out may be those beside the run, not its own.
    middle_head = shape.head[before : max(len(shape.head) - lost, 0)]
    middle_tail = shape.tail[before - len(head) : max(len(shape.tail) - after, 0)]
    return first, Shape(middle_head, between.run, middle_tail), last


def joined(front: tuple[Axis, ...], middle: Shape, back: tuple[Axis, ...] = ()) -> Shape:
    if middle.run is None:
        return Shape((*front, *middle.head, *back))
    return Shape((*front, *middle.head), middle.run, (*middle.tail, *back))
