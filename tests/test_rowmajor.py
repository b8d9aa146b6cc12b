"""What is said of the order of elements, held against real arrays whose elements count themselves."""

from __future__ import annotations

from itertools import permutations
from itertools import product as choices
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapelint.domain.dims import Dim, anonymous, as_dim, axis, derive, evaluate, product
from shapelint.domain.rowmajor import exact, scramble
from shapelint.domain.values import Axis, Run, Shape
from shapelint.ops.reshaping import merged, regrouped

SIZES = {"b": 2, "h": 3, "t": 5, "d": 7}
NAMES = tuple(SIZES)
DIMS = {name: axis(name) for name in NAMES}
NUMBERS = {symbol: SIZES[symbol.name] for dim in DIMS.values() for symbol in dim.symbols()}

Group = tuple[str, ...]  # one axis: the names that it runs over, outermost first


def shape_of_groups(groups: tuple[Group, ...]) -> Shape:
    return Shape(tuple(merged([Axis(DIMS[name]) for name in group]) for group in groups))


def array(order: tuple[str, ...]) -> np.ndarray:
    """Elements numbered by their place along b, h, t and d, in memory in the given order."""
    counted = np.arange(prod(SIZES.values())).reshape([SIZES[n] for n in NAMES])
    return counted.transpose([NAMES.index(n) for n in order])


def keeps_order(source: tuple[Group, ...], target: tuple[Group, ...]) -> bool:
    """Whether a reshape puts each element where the names of the target say."""
    flat = tuple(name for group in source for name in group)
    wanted = tuple(name for group in target for name in group)
    sizes = [prod(SIZES[name] for name in group) for group in target]
    return np.array_equal(array(flat).reshape(sizes), array(wanted).reshape(sizes))


@st.composite
def groupings(draw: st.DrawFn) -> tuple[Group, ...]:
    order = tuple(draw(st.permutations(NAMES)))
    cuts = sorted(draw(st.sets(st.integers(1, len(order) - 1), max_size=len(order) - 1)))
    return tuple(order[a:b] for a, b in zip([0, *cuts], [*cuts, len(order)]))


@settings(derandomize=True, max_examples=150, deadline=None)
@given(groupings(), groupings())
def test_scrambled_exactly_when_elements_lie_elsewhere(source: tuple[Group, ...], target: tuple[Group, ...]) -> None:
    """A target's axis claims its names in whatever order: sizes do not tell b * h from h * b."""
    sizes = Shape(tuple(Axis(product(DIMS[name] for name in group)) for group in target))
    found = scramble(shape_of_groups(source), sizes)
    flat = [name for group in source for name in group]
    claims = tuple(tuple(sorted(group, key=flat.index)) for group in target)
    assert (found is not None) == (not keeps_order(source, claims))


@settings(derandomize=True, max_examples=150, deadline=None)
@given(groupings(), groupings())
def test_products_of_unknown_order_are_scrambled_in_each_order(
    source: tuple[Group, ...], target: tuple[Group, ...]
) -> None:
    """An axis of size b * h of which nothing else is known may run over either first."""
    shape = Shape(tuple(Axis(product(DIMS[name] for name in group)) for group in source))
    sizes = Shape(tuple(Axis(product(DIMS[name] for name in group)) for group in target))
    if scramble(shape, sizes) is not None:
        for order in choices(*(permutations(group) for group in source)):
            flat = [name for group in order for name in group]
            claims = tuple(tuple(sorted(group, key=flat.index)) for group in target)
            assert not keeps_order(tuple(order), claims)


@settings(derandomize=True, max_examples=80, deadline=None)
@given(groupings(), st.data())
def test_random_steps_keep_their_factors(groups: tuple[Group, ...], data: st.DataObject) -> None:
    """Transposes, merges and splits in order: the factors of the shape are those of the real array."""
    shape, real = shape_of_groups(groups), list(groups)
    for _ in range(data.draw(st.integers(1, 4))):
        match data.draw(st.sampled_from(["transpose", "merge", "split"])):
            case "transpose":
                order = data.draw(st.permutations(range(len(real))))
                real = [real[i] for i in order]
                shape = Shape(tuple(shape.head[i] for i in order))
            case "merge" if len(real) > 1:
                at = data.draw(st.integers(0, len(real) - 2))
                real[at : at + 2] = [real[at] + real[at + 1]]
                target = shape_of_groups(tuple(real))
                assert scramble(shape, target) is None
                shape = Shape(tuple(regrouped(shape, target.sizes).head))
            case "split":
                at = data.draw(st.integers(0, len(real) - 1))
                real[at : at + 1] = [(name,) for name in real[at]]
                target = shape_of_groups(tuple(real))
                assert scramble(shape, target) is None
                shape = Shape(tuple(regrouped(shape, target.sizes).head))
    assert [axis.parts for axis in shape.head] == [tuple(DIMS[name] for name in group) for group in real]
    assert [evaluate(axis.size, NUMBERS) for axis in shape.head] == [prod(SIZES[n] for n in g) for g in real]


b, h, t, d, c, n = (axis(name) for name in "bhtdcn")


@pytest.mark.parametrize(
    ("source", "target", "scrambled"),
    [
        ((b, t, c), (b, h, t, c // h), True),
        ((b, t, c), (b, t, h, c // h), False),
        ((b, h, t, c // h), (b, t, c), True),
        ((b, t, h, c // h), (b, t, c), False),
        ((b, c // h, h, t), (b, c, t), False),
        ((b, t, c), (t, n, h), True),  # n * h is b * c
        ((b, t, c), (n, h, d), False),  # nothing is named
        ((b, n * t, c), (b, t, n, c), False),  # n * t of one piece may run over either first
        ((t, t, b), (t, b, t), True),  # b was the last, whichever t is which
        ((h, t + 1), (t + 1, h), False),  # rows shifted by one
        ((b, c, t), (b, t), False),  # c is 1
        ((b, n * c, h, t), (b, h * t * n, c), True),  # whichever of n and c runs first
        ((b, n * c, h, t), (b, n, c, h * t), False),
        ((b, n * c, h, t), (b, c, n, t * h), False),
        ((b, h, t, n * c), (b, h * t * n, c), False),
        ((b, 4 * n, h, t), (b, h * t * n, as_dim(4)), True),
    ],
)
def test_sizes_that_are_not_all_named(source: tuple[Dim, ...], target: tuple[Dim, ...], scrambled: bool) -> None:
    found = scramble(Shape(tuple(map(Axis, source))), Shape(tuple(map(Axis, target))))
    assert (found is not None) == scrambled


def test_a_run_may_be_empty() -> None:
    run = Run("batch", object())
    assert scramble(Shape((Axis(h),), run, (Axis(d),)), Shape((Axis(d), Axis(h)))) is not None
    assert scramble(Shape((), run, (Axis(h), Axis(d))), Shape((Axis(h), Axis(d)))) is None
    assert scramble(Shape((Axis(b),), run, (Axis(d),)), Shape((Axis(b), Axis(n), Axis(d)))) is None


def test_exact_products() -> None:
    assert exact(h * (c // h)) == c
    assert exact(b * h * (c // (h * t))) == b * h * (c // (h * t))
    assert exact((c // h) * d) == (c // h) * d


def test_a_number_may_be_what_is_not_known() -> None:
    """(?, ?, 19) as (19, 19): which of the axes is 19 as well?"""
    rows, columns, ten = Axis(anonymous(object())), Axis(anonymous(object())), Axis(as_dim(10))
    assert scramble(Shape((rows, columns, ten)), Shape((ten, ten))) is None
    assert scramble(Shape((rows, columns, ten)), Shape((ten, rows, columns))) is not None


def test_a_remainder_may_be_one() -> None:
    """`x.reshape(-1, n, c)` of a total that is not known, read as (c, h): all that is asked for may be in one of it."""
    n, c, h = (anonymous(name, name) for name in "nch")
    rest = derive("//", anonymous("total"), n * c)
    assert scramble(Shape((Axis(rest), Axis(n), Axis(c), Axis(h))), Shape((Axis(c), Axis(h)))) is None
    assert scramble(Shape((Axis(rest), Axis(c), Axis(h))), Shape((Axis(c), Axis(rest), Axis(h)))) is not None
