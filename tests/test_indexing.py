"""Indexing held against NumPy and torch: thousands of random index expressions, then the cases worth a name."""

from __future__ import annotations

import random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from shapelint.domain.dims import Dim, Origin, Symbol, as_dim, axis, evaluate
from shapelint.domain.values import (
    NONE,
    UNKNOWN,
    Axis,
    Const,
    Int,
    Maker,
    Run,
    Shape,
    Slice,
    Tensor,
    Tuple,
    Value,
    shape_of,
)
from shapelint.ops import infer_call
from shapelint.ops.op import ShapeError
from shapelint.testing import library_of, lift

SIZES = (2, 3, 5, 7)
SYMBOLS = {n: Symbol(f"n{n}", Origin.AXIS) for n in SIZES}


def symbolic(n: int) -> Dim:
    return as_dim(SYMBOLS[n])


def array(library: str, shape: tuple[int, ...]) -> Any:
    return {"numpy": np, "torch": torch, "jax": jnp}[library].zeros(shape)


def random_slice(rng: random.Random, size: int, library: str) -> slice:
    def bound() -> int | None:
        return rng.choice([None, rng.randint(-size - 2, size + 2)])  # beyond both ends too

    steps = [None, 1, 2, 3] if library == "torch" else [None, 1, 2, 3, -1, -2]
    return slice(bound(), bound(), rng.choice(steps))


def random_item(rng: random.Random, sizes: tuple[int, ...], library: str, length: int) -> tuple[Any, int]:
    """One item of an index and how many axes it consumes."""
    size = sizes[0]
    match rng.choice(["int", "slice", "slice", "all", "none", "array", "array", "list", "mask", "masks"]):
        case "int":
            return rng.randrange(-size, size), 1
        case "slice":
            return random_slice(rng, size, library), 1
        case "all":
            return slice(None), 1
        case "none":
            return None, 0
        case "array":
            shape = rng.choice([(), (1,), (length,), (2, length), (2, 1)])
            found = np.array([rng.randrange(-size, size) for _ in range(int(np.prod(shape)))]).reshape(shape)
            return (torch.from_numpy(found) if library == "torch" else found), 1
        case "list":
            found = np.array([rng.randrange(-size, size) for _ in range(rng.choice([1, length]))])
            return (found if library == "jax" else found.tolist()), 1  # jax takes no lists
        case "masks" if len(sizes) > 1:
            return _mask(rng, sizes[:2], library, length), 2
    return _mask(rng, sizes[:1], library, length), 1


def _mask(rng: random.Random, shape: tuple[int, ...], library: str, length: int) -> Any:
    count = int(np.prod(shape))
    ones = min(length, count)
    flat = [True] * ones + [False] * (count - ones)
    rng.shuffle(flat)
    found = np.array(flat).reshape(shape)
    return torch.from_numpy(found) if library == "torch" else found


def random_index(rng: random.Random, sizes: tuple[int, ...], library: str) -> Any:
    length = rng.choice([1, 2])
    items: list[Any] = []
    rest = sizes
    while rest and rng.random() < 0.8:
        item, consumed = random_item(rng, rest, library, length)
        items.append(item)
        rest = rest[consumed:]
    if rng.random() < 0.3:
        items = _with_ellipsis(rng, sizes, library, length)
    if len(items) == 1 and rng.random() < 0.5:
        return items[0]
    return tuple(items)


def _with_ellipsis(rng: random.Random, sizes: tuple[int, ...], library: str, length: int) -> list[Any]:
    front = rng.randrange(len(sizes) + 1)
    back = rng.randrange(len(sizes) - front + 1)
    before = [random_item(rng, sizes[i : i + 1], library, length)[0] for i in range(front)]
    after = [random_item(rng, sizes[i : i + 1], library, length)[0] for i in range(len(sizes) - back, len(sizes))]
    return [*before, ..., *after]


def inferred(x: Any, index: Any, sizes: Any = as_dim) -> Value | None:
    """What shapelint says of x[index]; None where it says that it can not work."""
    known = Tensor(shape_of(*map(sizes, x.shape)), "float32", library_of(x))
    try:
        return infer_call("operator.getitem", [known, lift(index)])
    except ShapeError:
        return None


def real(x: Any, index: Any) -> tuple[int, ...] | None:
    try:
        if library_of(x) == "jax":
            return tuple(jax.eval_shape(lambda a: a[index], x).shape)  # computes nothing
        return tuple(x[index].shape)
    except (IndexError, ValueError, TypeError, RuntimeError):
        return None


def disagreement(shape: Shape, expected: tuple[int, ...]) -> bool:
    """A size or the rank is claimed, and is another one. Sizes of masks and of what is open claim nothing."""
    numbers = {symbol: n for n, symbol in SYMBOLS.items()}
    if shape.run is not None:
        return shape.least_rank > len(expected)
    if len(shape.head) != len(expected):
        return True
    for size, n in zip(shape.sizes, expected):
        if all(s in numbers or s.derivation for s in size.symbols()) and _number(size, numbers) not in (n, None):
            return True
    return False


def _number(size: Dim, numbers: dict[Symbol, int]) -> int | None:
    try:
        found = evaluate(size, numbers)
    except KeyError:
        return None
    return found if found >= 1 else None  # sizes are at least 1: an empty slice of a symbol is not foreseen


@pytest.mark.parametrize(("library", "count"), [("numpy", 4000), ("torch", 4000), ("jax", 400)])
@pytest.mark.parametrize("sizes", [as_dim, symbolic], ids=["numbers", "symbols"])
def test_random_indices(library: str, count: int, sizes: Any) -> None:
    rng = random.Random(f"{library} indices")
    wrong: list[str] = []
    known = valid = 0
    for _ in range(count):
        shape = SIZES[: rng.randint(1, 4)]
        x = array(library, shape)
        index = random_index(rng, shape, library)
        expected = real(x, index)
        found = inferred(x, index, sizes)
        if expected is None:
            continue  # that it fails need not be found
        valid += 1
        if found is None:
            wrong.append(f"{shape}[{index}] is {expected}, not impossible")
        elif isinstance(found, Tensor):
            known += found.shape.run is None
            if 0 not in expected and disagreement(found.shape, expected):
                wrong.append(f"{shape}[{index}] is {expected}, not {found.shape}")
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:10])
    assert known / valid > 0.99


N, M, K = axis("n"), axis("m"), axis("k")


def index_of(*items: Value) -> Value:
    return items[0] if len(items) == 1 else Tuple(items)


def part(start: Value = NONE, stop: Value = NONE, step: Value = NONE) -> Slice:
    return Slice(start, stop, step)


def at(dim: Dim | int) -> Int:
    return Int(as_dim(dim))


def ints(*sizes: Dim | int) -> Tensor:
    return Tensor(shape_of(*sizes), "int64", "torch")


ALL = part()
ELLIPSIS = Const(...)

SYMBOLIC = [
    (shape_of(N), part(at(1)), shape_of(N - 1)),
    (shape_of(N + 1), part(at(1)), shape_of(N)),
    (shape_of(N), part(NONE, at(-1)), shape_of(N - 1)),
    (shape_of(N), part(at(2), at(-2)), shape_of(N - 4)),
    (shape_of(2 * N), part(NONE, at(N)), shape_of(N)),
    (shape_of(2 * N), part(at(N)), shape_of(N)),
    (shape_of(2 * N), part(NONE, NONE, at(2)), shape_of(N)),
    (shape_of(N), part(NONE, NONE, at(-1)), shape_of(N)),
    (shape_of(N), part(NONE, at(N // 2)), shape_of(N // 2)),
    (shape_of(N), part(at(N // 2)), shape_of(N - N // 2)),
    (shape_of(N, M), index_of(ALL, part(NONE, at(1))), shape_of(N, 1)),
    (shape_of(N, M), index_of(ALL, part(at(-1))), shape_of(N, 1)),
    (shape_of(N, M), index_of(ALL, part(at(K), at(K + 1))), shape_of(N, 1)),
    (shape_of(N, M), index_of(ALL, NONE), shape_of(N, 1, M)),
    (shape_of(N, M), index_of(ELLIPSIS, NONE), shape_of(N, M, 1)),
    (shape_of(N, M), index_of(ELLIPSIS, at(0)), shape_of(N)),
    (shape_of(N, M), at(0), shape_of(M)),
    (shape_of(N, M), ints(K), shape_of(K, M)),
    (shape_of(N, M, 5), index_of(ALL, ints(K), ints(K)), shape_of(N, K)),
    (shape_of(N, M, 5), index_of(ints(K), ALL, ints(K)), shape_of(K, M)),
]


@pytest.mark.parametrize(("shape", "index", "expected"), SYMBOLIC, ids=str)
def test_symbolic(shape: Shape, index: Value, expected: Shape) -> None:
    result = infer_call("operator.getitem", [Tensor(shape, library="torch"), index])
    assert isinstance(result, Tensor)
    assert result.shape == expected


def test_a_bound_beyond_the_end_stops_there() -> None:
    result = infer_call("operator.getitem", [Tensor(shape_of(N)), part(NONE, at(5))])
    assert isinstance(result, Tensor)
    (size,) = result.shape.sizes
    (symbol,) = N.symbols()
    assert [evaluate(size, {symbol: n}) for n in (3, 5, 9)] == [3, 5, 5]


BATCH = Run("batch", "scope")
RUNS = [
    (Shape((), BATCH, shape_of(N, M).head), index_of(ELLIPSIS, at(0)), Shape((), BATCH, shape_of(N).head)),
    (Shape((), BATCH, shape_of(N).head), index_of(ELLIPSIS, NONE), Shape((), BATCH, shape_of(N, 1).head)),
    (Shape((), BATCH, shape_of(N).head), NONE, Shape(shape_of(1).head, BATCH, shape_of(N).head)),
    (Shape(shape_of(N).head, BATCH), at(0), Shape((), BATCH)),
    (shape_of(N, M), Tensor(Shape((), BATCH), "int64"), Shape((), BATCH, shape_of(M).head)),
    (shape_of(N, M), index_of(ALL, Tensor(Shape((), BATCH), "int64")), Shape(shape_of(N).head, BATCH)),
]


@pytest.mark.parametrize(("shape", "index", "expected"), RUNS, ids=str)
def test_beside_a_run(shape: Shape, index: Value, expected: Shape) -> None:
    result = infer_call("operator.getitem", [Tensor(shape), index])
    assert isinstance(result, Tensor)
    assert result.shape == expected


def test_an_axis_that_comes_out_of_the_run_is_not_the_one_behind_it() -> None:
    """(*, n)[0] may be (), (n,) or more: nothing of it is known, not even that n is still there."""
    result = infer_call("operator.getitem", [Tensor(Shape((), BATCH, shape_of(N).head)), at(0)])
    assert isinstance(result, Tensor)
    assert result.shape.least_rank == 0


def test_who_made_an_axis_of_one() -> None:
    column = infer_call("operator.getitem", [Tensor(shape_of(N, M)), index_of(ALL, part(NONE, at(1)))])
    inserted = infer_call("operator.getitem", [Tensor(shape_of(N)), index_of(ALL, NONE)])
    kept = infer_call("operator.getitem", [Tensor(Shape((Axis(as_dim(1), maker=Maker.LAYER), *shape_of(N).head))), ALL])
    makers = [v.shape.axes[i].maker for v, i in ((column, 1), (inserted, 1), (kept, 0)) if isinstance(v, Tensor)]
    assert makers == [Maker.SLICE, Maker.INSERTED, Maker.LAYER]


@pytest.mark.parametrize(
    ("shape", "index"),
    [
        ((3, 5), (0, 0, 0)),
        ((3, 5), 3),
        ((3, 5), -4),
        ((3, 5), np.zeros(4, bool)),
        ((3, 5), (np.zeros(2, int), np.zeros(3, int))),
        ((3, 5), (..., ...)),
    ],
)
def test_impossible(shape: tuple[int, ...], index: Any) -> None:
    assert real(np.zeros(shape), index) is None
    assert inferred(np.zeros(shape), index) is None


@pytest.mark.parametrize("index", [UNKNOWN, Tensor(), Tensor(shape_of(2, 3)), Tuple((ALL, UNKNOWN))], ids=str)
def test_what_is_not_known_claims_nothing(index: Value) -> None:
    result = infer_call("operator.getitem", [Tensor(shape_of(3, 5, 7)), index])
    assert not isinstance(result, Tensor)


def test_a_mask_and_integers_of_one_axis_agree_in_the_rank() -> None:
    result = infer_call("operator.getitem", [Tensor(shape_of(3, 5, 7)), Tensor(shape_of(3))])
    assert isinstance(result, Tensor)
    assert result.shape.sizes[1:] == (as_dim(5), as_dim(7))
    assert result.shape.sizes[0].value is None


def test_numpy_and_torch_place_arrays_apart_from_an_integer_differently() -> None:
    index = (0, slice(None), np.zeros(2, int))
    assert real(np.zeros((3, 5, 7)), index) != real(torch.zeros(3, 5, 7), (*index[:2], torch.zeros(2, dtype=int)))
    assert not isinstance(infer_call("operator.getitem", [Tensor(shape_of(3, 5, 7)), lift(index)]), Tensor)


STORES = [
    ((3, 5), 0, (5,)),
    ((3, 5), 0, (1, 1, 5)),
    ((3, 5), (slice(None), 0), ()),
    ((3, 5), (slice(None), 0), (3,)),
    ((3, 5), (slice(None), slice(1)), (3, 1)),
    ((3, 5), (slice(None), 0), (3, 1)),
    ((3, 5), (slice(None), 0), (5,)),
    ((3, 5), (slice(None), slice(1)), (3, 2)),
    ((3, 5), 0, (2, 5)),
    ((3, 5), ..., (5, 3)),
    ((3, 5), ([0, 1], [2, 3]), (2,)),
    ((3, 5), ([0, 1], [2, 3]), (3,)),
]


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize(("shape", "index", "value"), STORES)
def test_store(library: str, shape: tuple[int, ...], index: Any, value: tuple[int, ...]) -> None:
    x, y = array(library, shape), array(library, value)
    try:
        x[index] = y
        works = True
    except (ValueError, RuntimeError, IndexError):
        works = False
    try:
        result = infer_call("operator.setitem", [lift(x), lift(index), lift(y)])
        assert works
        assert isinstance(result, Tensor)
        assert result.shape == shape_of(*shape)
    except ShapeError:
        assert not works


def test_jax_updates() -> None:
    x = jnp.zeros((3, 5))
    expected = x.at[0].set(jnp.ones(5)).shape
    result = infer_call("jax.Array.at.set", [lift(x), lift(0), lift(jnp.ones(5))])
    assert isinstance(result, Tensor)
    assert result.shape == shape_of(*expected)
    with pytest.raises(ShapeError, match="does not fit"):
        infer_call("jax.Array.at.set", [lift(x), lift(0), lift(jnp.ones(4))])


@pytest.mark.parametrize(("sizes", "works"), [(("b",), True), (("b", "c"), True), (("b", 2), False), ((2,), False)])
def test_a_first_axis_that_may_be_one_can_be_stored(sizes: tuple[str | int, ...], works: bool) -> None:
    """`table[i] = x` of (b,): where b is 1 torch leaves the axis out. No b makes (b, 2) one number."""
    axes = [axis(size) if isinstance(size, str) else size for size in sizes]
    table, value = (Tensor(shape_of(*s), "float32", "torch") for s in ((4,), axes))
    try:
        infer_call("operator.setitem", [table, Int(as_dim(0)), value])
    except ShapeError:
        assert not works
    else:
        assert works


@pytest.mark.parametrize("rank", [3, 4])
def test_an_index_of_more_axes_than_the_array_has_is_no_mask(rank: int) -> None:
    where = torch.zeros([2, 5, 3, 4][:rank], dtype=torch.long)
    shape = torch.zeros(6, 7)[where].shape
    result = infer_call("operator.getitem", [Tensor(shape_of(6, 7)), Tensor(shape_of(*where.shape))])
    assert result == Tensor(shape_of(*shape))
    assert infer_call("operator.getitem", [Tensor(shape_of(6, 7)), Tensor(shape_of(6, 7))]) == UNKNOWN, "it may be one"


def test_a_list_of_whole_numbers_that_arrays_hold_picks_as_one_of_integers() -> None:
    held = [np.int64(2), np.int64(0)]
    assert np.zeros((3, 4))[held].shape == (2, 4)
    result = infer_call("operator.getitem", [lift(np.zeros((3, 4))), Tuple((Tensor(Shape(), "int64"),) * 2, "list")])
    assert isinstance(result, Tensor)
    assert result.shape == shape_of(2, 4)
    flags = [Tensor(Shape(), "bool")] * 3
    assert infer_call("operator.getitem", [lift(np.zeros((3, 4))), Tuple(tuple(flags), "list")]) == UNKNOWN
