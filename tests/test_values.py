"""Values: shapes by index, joins of branches, and what facts make of them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapelint.domain.dims import ONE, Dim, Origin, Symbol, as_dim, axis, evaluate, size
from shapelint.domain.joins import MOST_OPTIONS, join, resolve, resolve_shape
from shapelint.domain.values import (
    NONE,
    TRUE,
    UNKNOWN,
    Axis,
    Class,
    Const,
    Dict,
    Float,
    Graph,
    GraphState,
    Int,
    Library,
    Maker,
    Many,
    Run,
    Shape,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    shape_of,
    tensors_in,
)
from shapelint.interpreter.scopes import Path, meet

N, M = axis("n", "f"), size("m", "f")
(NS,), (MS,) = N.symbols(), M.symbols()
RUN = Run("r", "f")
DIMS = st.sampled_from([N, M, ONE, as_dim(2), N + 1, N * M, N // 2])
AXES = st.lists(st.builds(Axis, DIMS, st.sampled_from([(), (N, M)]), st.sampled_from([None, *Maker])), max_size=3)
SHAPES = st.one_of(
    AXES.map(lambda axes: Shape(tuple(axes))),
    st.builds(lambda head, tail: Shape(tuple(head), RUN, tuple(tail)), AXES, AXES),
)
GRAPHS = st.builds(Graph, st.sampled_from(GraphState), st.sampled_from([frozenset(), frozenset({"net"})]))
LEAVES: st.SearchStrategy[Value] = st.one_of(
    st.builds(Tensor, SHAPES, st.sampled_from([None, "float32"]), st.sampled_from([None, "torch"]), GRAPHS),
    st.builds(Int, DIMS),
    st.builds(Float, st.sampled_from([None, 1.0, 2.0])),
    st.sampled_from([NONE, TRUE, Const("a"), Library("torch.mean")]),
    st.builds(Unknown, st.none() | DIMS, GRAPHS),
)


def _containers(inner: st.SearchStrategy[Value]) -> st.SearchStrategy[Value]:
    return st.one_of(
        st.builds(Tuple, st.lists(inner, max_size=2).map(tuple), st.sampled_from(["tuple", "list"])),
        st.builds(Many, inner, st.none() | DIMS),
        st.builds(lambda k, v: Dict(((k, v),)), st.sampled_from("kq"), inner),
    )


VALUES = st.recursive(LEAVES, _containers, max_leaves=3)
quick = settings(derandomize=True, max_examples=150, deadline=None)


def is_made_up(dim: Dim) -> bool:
    return dim.symbol is not None and dim.symbol.origin is Origin.ANONYMOUS


def covers(general: Value, special: Value) -> bool:
    """Whether what `general` says is true of `special`."""
    match general, special:
        case Unknown(dim=None), _:
            return True
        case Union(options=options), _:
            return any(covers(option, special) for option in options)
        case Tensor(), Tensor():
            axes = zip(general.shape.axes, special.shape.axes)
            return (
                general.shape.run == special.shape.run
                and len(general.shape.head) == len(special.shape.head)
                and len(general.shape.tail) == len(special.shape.tail)
                and all(is_made_up(x.size) or (x.size == y.size and x.factors in ((), y.factors)) for x, y in axes)
                and all(x.maker in (None, y.maker) for x, y in zip(general.shape.axes, special.shape.axes))
                and general.dtype in (None, special.dtype)
                and general.library in (None, special.library)
                and (general.graph.state in (GraphState.UNKNOWN, special.graph.state))
                and general.graph.origins >= special.graph.origins
            )
        case Float(), Float():
            return general.value in (None, special.value)
        case Tuple(), Tuple():
            alike = general.kind == special.kind and len(general.items) == len(special.items)
            return alike and all(map(covers, general.items, special.items))
        case Many(length=None, kind="list"), Tuple(kind="list"):
            return all(covers(general.item, item) for item in special.items)
        case Many(), Many():
            return general.length in (None, special.length) and covers(general.item, special.item)
        case Dict(), Dict():
            return all(covers(value, known) for key, known in special.items if (value := general.get(key)) is not None)
    return general == special


@quick
@given(VALUES, VALUES)
def test_a_join_is_true_of_both(a: Value, b: Value) -> None:
    joined = join(a, b, "here")
    assert covers(joined, a)
    assert covers(joined, b)
    assert joined == join(a, b, "here")
    assert join(a, a, "here") is a


@quick
@given(st.lists(VALUES, min_size=2, max_size=6))
def test_joins_of_many_stay_small(values: list[Value]) -> None:
    joined = values[0]
    for i, value in enumerate(values[1:]):
        joined = join(joined, value, i)
    assert not isinstance(joined, Union) or 2 <= len(joined.options) <= MOST_OPTIONS
    assert all(covers(joined, value) for value in values)


def test_joined_tensors() -> None:
    a, b = Tensor(shape_of(N, M, M)), Tensor(shape_of(N, ONE, ONE))
    first, second, third = join(a, b, "here").shape.sizes  # type: ignore[union-attr]
    assert first == N
    assert second == third  # alike on both paths
    assert second not in (M, ONE)
    assert join(a, b, "here") != join(a, b, "there")
    assert join(a, Tensor(shape_of(N)), "here") == Union((a, Tensor(shape_of(N))))


def test_an_unknown_option_leaves_nothing_but_the_graph() -> None:
    graph = Graph(GraphState.GRAPH, frozenset({"net"}))
    assert join(NONE, Unknown(graph=graph)) == Unknown(graph=graph)
    assert join(Tensor(graph=graph), Unknown()) == Unknown(graph=Graph(origins=frozenset({"net"})))


SIZES = st.fixed_dictionaries({NS: st.integers(1, 6), MS: st.integers(1, 6)})
FACTS = st.dictionaries(st.just(NS), st.sampled_from([M, 2 * M, as_dim(4), M + 1]))


@quick
@given(SHAPES, FACTS, SIZES)
def test_facts_do_not_change_what_is_true(shape: Shape, facts: dict[Symbol, Dim], sizes: Mapping[Symbol, int]) -> None:
    known = {**sizes, **{s: evaluate(dim, sizes) for s, dim in facts.items()}}
    resolved = resolve_shape(shape, facts)
    assert [evaluate(s, known) for s in shape.sizes] == [evaluate(s, sizes) for s in resolved.sizes]
    assert [a.maker for a in resolved.axes] == [a.maker for a in shape.axes]
    assert resolved.run == shape.run


def test_where_paths_meet_the_vaguer_of_two_facts_stays() -> None:
    rest = Run("rest", "f")
    before = Path({}, {NS: 2 * M}, {RUN: Shape(shape_of(N).head, rest)})
    after = Path({}, {NS: as_dim(8), MS: as_dim(4)}, {RUN: shape_of(N), rest: Shape()})
    other = Path({}, {NS: as_dim(6)}, {RUN: shape_of(M)})
    for paths in ([before, after], [after, before]):
        met = meet(paths, None)
        assert (met.facts, met.shapes) == (before.facts, before.shapes)
    assert meet([before, other], None).facts == {}
    assert meet([after, other], None).shapes == {}


@quick
@given(VALUES)
def test_nothing_is_resolved_without_facts(value: Value) -> None:
    assert resolve(value, {}) == value


def test_resolve_reaches_into_containers() -> None:
    facts = {NS: as_dim(3)}
    assert resolve(Int(N + 1), facts) == Int(as_dim(4))
    assert resolve(Unknown(N), facts) == Unknown(as_dim(3))
    assert resolve(Tuple((Int(N), NONE)), facts) == Tuple((Int(as_dim(3)), NONE))
    assert resolve(Many(Tensor(shape_of(N)), N), facts) == Many(Tensor(shape_of(3)), as_dim(3))
    merged = Tensor(Shape((Axis(N * M, (N, M)),)))
    assert resolve(merged, facts) == Tensor(Shape((Axis(3 * M, (as_dim(3), M)),)))


HEAD, TAIL = shape_of(2, 3).head, shape_of(5).head


@pytest.mark.parametrize(
    ("shape", "index", "found"),
    [
        (Shape(HEAD), 0, 2),
        (Shape(HEAD), -1, 3),
        (Shape(HEAD), -2, 2),
        (Shape(HEAD), 2, None),
        (Shape(HEAD), -3, None),
        (Shape(HEAD, RUN, TAIL), 1, 3),
        (Shape(HEAD, RUN, TAIL), 2, None),
        (Shape(HEAD, RUN, TAIL), -1, 5),
        (Shape(HEAD, RUN, TAIL), -2, None),
        (Shape(), 0, None),
        (Shape((), RUN), -1, None),
    ],
)
def test_axis_by_index(shape: Shape, index: int, found: int | None) -> None:
    at = shape.axis(index)
    assert (at.size.value if at else None) == found


@pytest.mark.parametrize(
    ("shape", "text", "rank", "least"),
    [
        (Shape(), "()", 0, 0),
        (shape_of(N), "(n,)", 1, 1),
        (shape_of(N, 2 * M), "(n, 2*m)", 2, 2),
        (Shape((), Run()), "(...,)", None, 0),
        (Shape(HEAD, RUN, TAIL), "(2, 3, *r, 5)", None, 3),
    ],
)
def test_shapes(shape: Shape, text: str, rank: int | None, least: int) -> None:
    assert (str(shape), shape.rank, shape.least_rank) == (text, rank, least)
    assert shape.numel() == (None if rank is None else evaluate_product(shape))


def evaluate_product(shape: Shape) -> Dim:
    total = ONE
    for found in shape.sizes:
        total = total * found
    return total


def test_tensors_in_containers_in_order() -> None:
    x, y, z = (Tensor(shape_of(i)) for i in (1, 2, 3))
    assert list(tensors_in([x, Tuple((UNKNOWN, y)), Many(z), NONE])) == [x, y, z]


def test_classes_find_names_along_their_bases() -> None:
    module = Library("torch.nn.Module")
    base = Class("Base", (module,), {"x": NONE, "y": NONE})
    child = Class("Child", (base,), {"x": TRUE})
    base.bases = (module, child)  # a cycle, as wrong code may have
    assert (child.lookup("x"), child.lookup("y"), child.lookup("z")) == (TRUE, NONE, None)
    assert child.is_a("torch.nn.Module")
    assert not child.is_a("torch.nn.Linear")
