"""Broadcasting, held against numpy for every size that the symbols may stand for."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapelint.domain.dims import ONE, Dim, Symbol, as_dim, axis, evaluate, size
from shapelint.domain.shapes import Pair, broadcast, line_up, never_equal
from shapelint.domain.values import Axis, Maker, Run, Shape, shape_of

A, B, C = axis("a", "f"), axis("b", "f"), size("c")
SYMBOLS = tuple(s for dim in (A, B, C) for s in dim.symbols())
GRID = [dict(zip(SYMBOLS, values)) for values in product((1, 2, 3, 4), repeat=len(SYMBOLS))]
AXES = st.sampled_from([A, B, C, ONE, ONE, as_dim(2), as_dim(3), A + 1, 2 * B, A * B])
SHAPES = st.lists(AXES, max_size=4).map(lambda sizes: shape_of(*sizes))
RUNS = (Run("r", "f"), Run("s", "f"))
RUN_SHAPES = st.tuples(st.lists(AXES, max_size=2), st.sampled_from([None, *RUNS]), st.lists(AXES, max_size=3)).map(
    lambda t: Shape(shape_of(*t[0]).head, t[1], shape_of(*t[2]).head) if t[1] else shape_of(*t[0], *t[2])
)
FILLINGS = [(), (1,), (2,), (3, 2), (1, 3)]

Sizes = Mapping[Symbol, int]
Filling = Mapping[Run, tuple[int, ...]]


def numbers(axes: tuple[Axis, ...], sizes: Sizes) -> tuple[int, ...]:
    return tuple(evaluate(a.size, sizes) for a in axes)


def concrete(shape: Shape, sizes: Sizes, filling: Filling | None = None) -> tuple[int, ...]:
    middle = () if shape.run is None else (filling or {})[shape.run]
    return numbers(shape.head, sizes) + middle + numbers(shape.tail, sizes)


def numpy_says(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


@settings(derandomize=True, max_examples=100, deadline=None)
@given(SHAPES, SHAPES)
def test_broadcast_agrees_with_numpy(a: Shape, b: Shape) -> None:
    lined_up = line_up(a, b)
    for sizes in GRID:
        expected = numpy_says(concrete(a, sizes), concrete(b, sizes))
        if expected is not None:
            assert concrete(lined_up.shape, sizes) == expected
        if lined_up.conflict is not None and 1 not in sizes.values():
            assert expected is None


@settings(derandomize=True, max_examples=100, deadline=None)
@given(SHAPES, SHAPES)
def test_what_is_said_of_two_shapes_is_said_of_them_the_other_way_round(a: Shape, b: Shape) -> None:
    here, there = line_up(a, b), line_up(b, a)
    assert here.shape == there.shape
    assert here.is_outer == there.is_outer
    assert (here.conflict is None) == (there.conflict is None)
    assert line_up(a, a).shape.sizes == a.sizes
    assert line_up(a, a).conflict is None


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.lists(SHAPES, min_size=1, max_size=4))
def test_broadcast_of_several(shapes: list[Shape]) -> None:
    both = broadcast(*shapes)
    for sizes in GRID:
        expected = numpy_says(*(concrete(shape, sizes) for shape in shapes))
        assert expected is None or concrete(both, sizes) == expected


@settings(derandomize=True, max_examples=100, deadline=None)
@given(RUN_SHAPES, RUN_SHAPES, st.lists(st.sampled_from(GRID), min_size=2, max_size=3))
def test_runs_may_be_any_axes(a: Shape, b: Shape, grid: list[Sizes]) -> None:
    lined_up = line_up(a, b)
    for sizes, middles in product(grid, product(FILLINGS, repeat=len(RUNS))):
        filling = dict(zip(RUNS, middles))
        expected = numpy_says(concrete(a, sizes, filling), concrete(b, sizes, filling))
        if lined_up.conflict is not None and 1 not in sizes.values():
            assert expected is None
        if expected is not None:
            assert fits(lined_up.shape, expected, sizes, filling)


def fits(shape: Shape, expected: tuple[int, ...], sizes: Sizes, filling: Filling) -> bool:
    """Whether what is said of a shape is true of the numbers; a new run may stand for any axes."""
    if shape.run is None or shape.run in filling:
        return concrete(shape, sizes, filling) == expected
    return (
        not shape.head
        and all(
            number_or_none(found, sizes) in (None, number)
            # beside an axis of unknown size a named one counts as larger than 1
            or (found.size.value is None and number_or_none(found, sizes) == 1)
            for found, number in zip(shape.tail[::-1], expected[::-1], strict=False)
        )
        and len(expected) >= len(shape.tail)
    )


def number_or_none(found: Axis, sizes: Sizes) -> int | None:
    try:
        return evaluate(found.size, sizes)
    except KeyError:
        return None  # an axis of unknown size


def test_unknown_shapes_are_not_equal_to_each_other() -> None:
    assert line_up(Shape((), Run()), Shape((), Run())).shape.run != Run()
    rows = Shape((), Run("rows", "f"))
    assert line_up(rows, rows).shape == rows


def shape(text: str) -> Shape:
    """(*r, a, 1): letters are sizes, `*r` is a run."""
    head: list[Axis] = []
    run = None
    for word in text.split():
        if word.startswith("*"):
            run, before, head = Run(word[1:], "f"), head, []
        else:
            head.append(Axis(as_dim(int(word)) if word.isdigit() else axis(word, "f")))
    return Shape(tuple(head)) if run is None else Shape(tuple(before), run, tuple(head))


@pytest.mark.parametrize(
    ("left", "right", "both", "outer", "conflict"),
    [
        ("n 1", "n", "(n, n)", True, None),
        ("n", "n 1", "(n, n)", True, None),
        ("n 1", "1 m", "(n, m)", True, None),
        ("n 1", "n 1", "(n, 1)", False, None),
        ("n d", "d", "(n, d)", False, None),
        ("n 1", "", "(n, 1)", False, None),
        ("b 1 t t", "t t", "(b, 1, t, t)", False, None),
        ("3 4", "4 3", "(3, 3)", False, (3, 4)),
        ("2 n", "3 n", "(2, n)", False, (2, 3)),
        ("n", "3", "(3,)", False, None),
        ("*r n", "*r n", "(*r, n)", False, None),
        ("*r 1", "*r n", "(*r, n)", False, None),
        ("*r n", "n", "(*r, n)", False, None),
        ("*r a 1", "n", "(*r, a, n)", True, None),
        ("*r 3", "4", "(*r, 3)", False, (3, 4)),
        ("b *r n", "n", "(b, *r, n)", False, None),
        ("*r n", "*s n", "(..., n)", False, None),
        ("*r 3", "*s 4", "(..., 3)", False, (3, 4)),
        ("*r", "n", "(..., n)", False, None),
        ("*r", "", "(*r,)", False, None),
    ],
)
def test_line_up(left: str, right: str, both: str, outer: bool, conflict: tuple[int, int] | None) -> None:
    lined_up = line_up(shape(left), shape(right))
    assert str(lined_up.shape) == both
    assert lined_up.is_outer is outer
    assert (lined_up.conflict is not None) == (conflict is not None)
    if lined_up.conflict is not None and conflict is not None:
        pair = lined_up.conflict
        assert {a.size.value for a in (pair.left, pair.right) if a is not None} == set(conflict)


@pytest.mark.parametrize(
    ("a", "b", "never"),
    [
        (as_dim(3), as_dim(4), True),
        (A, A + 1, True),
        (A, B, False),
        (size("w", default=3), size("h", default=4), True),
        (size("w", default=3), size("h", default=3), False),
        (size("w", default=3), size("h"), False),
    ],
)
def test_never_equal(a: Dim, b: Dim, never: bool) -> None:
    assert never_equal(a, b) is never is never_equal(b, a)


def test_an_axis_keeps_what_it_runs_over_and_who_made_it() -> None:
    merged = Axis(A * B, (A, B))
    assert Pair(merged, merged).axis.factors == (A, B)
    assert Pair(merged, Axis(A * B, (B, A))).axis.factors == ()
    assert Pair(Axis(ONE), merged).axis == Pair(merged, Axis(ONE)).axis == Pair(None, merged).axis == merged
    made = Axis(ONE, maker=Maker.LAYER)
    assert Pair(made, Axis(ONE, maker=Maker.INSERTED)).axis.maker is Maker.LAYER
    assert Pair(None, made).axis.maker is Maker.LAYER
    assert not Pair(made, made).stretches_left
