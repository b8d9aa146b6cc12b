"""Patterns of einx: what is computed element by element is held against torch's own equations."""

from __future__ import annotations

import pytest
import torch

from shapelint.domain.values import UNKNOWN, Const, Float, Run, Shape, Tensor, Union, Unknown, Value
from shapelint.ops import infer_call
from shapelint.ops.op import ShapeError, Unknowable
from shapelint.testing import lift

A, B, C, D = 2, 3, 5, 7

EQUATIONS = [
    ("a b, b c -> a b c", ((A, B), (B, C))),
    ("a b, a c -> a c b", ((A, B), (A, C))),
    ("a b, a -> a b", ((A, B), (A,))),
    ("a b, -> a b", ((A, B), ())),
    ("... c, c d -> ... c d", ((A, B, C), (C, D))),
    ("b ..., b -> b ...", ((B, A, C), (B,))),
    ("... c, ... -> ... c", ((A, B, C), (A, B))),
]


def infer(name: str, pattern: str, *shapes: tuple[int, ...]) -> Value:
    tensors = [lift(torch.zeros(shape)) for shape in shapes]
    found = infer_call(f"einx.{name}", (Const(pattern), *tensors), {})
    assert found is not None
    return found


@pytest.mark.parametrize(("pattern", "shapes"), EQUATIONS)
@pytest.mark.parametrize("name", ["multiply", "subtract", "less", "dot"])
def test_axes_meet_by_name(name: str, pattern: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    result = infer(name, pattern, *shapes)
    assert isinstance(result, Tensor)
    wanted = torch.einsum(pattern.replace(" ", ""), *map(torch.zeros, shapes)).shape
    assert [size.value for size in result.shape.sizes] == [*wanted]
    assert result.shape.rank == len(wanted)
    assert result.dtype == ("bool" if name == "less" else "float32")


def test_where_takes_numbers() -> None:
    mask, points = lift(torch.zeros(A, B, dtype=torch.bool)), lift(torch.zeros(A, B, C))
    found = infer_call("einx.where", (Const("a b, a b c, -> a b c"), mask, points, Float(0.0)), {})
    assert isinstance(found, Tensor)
    assert [size.value for size in found.shape.sizes] == [A, B, C]


@pytest.mark.parametrize(
    ("pattern", "shapes"),
    [("b [n] c, b i -> b i c", ((A, B, C), (A, D))), ("[n] c, b i -> b i c", ((B, C), (A, D)))],
)
def test_brackets_are_gone_from_the_result(pattern: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    values, index = (torch.zeros(shape) for shape in shapes)
    wanted = values[index.long()] if values.ndim == 2 else torch.stack([v[i] for v, i in zip(values, index.long())])
    result = infer("get_at", pattern, *shapes)
    assert isinstance(result, Tensor)
    assert [size.value for size in result.shape.sizes] == [*wanted.shape]


@pytest.mark.parametrize("pattern", ["a b, b c", "a b, b a", "(a b), b -> a b", "a b, b -> a b 2", "a b, b -> a b c"])
def test_what_is_not_told(pattern: str) -> None:
    with pytest.raises(Unknowable):
        infer_raw(pattern)


@pytest.mark.parametrize("pattern", ["a b, a -> a b", "a b, b c -> a b c", "a a, b -> a b"])
def test_what_can_not_work(pattern: str) -> None:
    with pytest.raises(ShapeError):
        infer_raw(pattern)


def infer_raw(pattern: str) -> None:
    from shapelint.domain.values import Tuple
    from shapelint.ops.einx import aligned

    aligned(Const(pattern), Tuple((lift(torch.zeros(A, B)), lift(torch.zeros(B)))))


@pytest.mark.parametrize(
    ("pattern", "shapes", "wanted"),
    [
        ("a b c, a", ((A, B, C), (A,)), (A, B, C)),
        ("a, a b", ((A,), (A, B)), (A, B)),
        ("a b, a c -> a b c 1", ((A, B), (A, C)), (A, B, C, 1)),
        ("a b, a -> a 1 b", ((A, B), (A,)), (A, 1, B)),
    ],
)
def test_the_widest_operand_and_axes_of_size_1(
    pattern: str, shapes: tuple[tuple[int, ...], ...], wanted: tuple[int, ...]
) -> None:
    result = infer("divide", pattern, *shapes)
    assert isinstance(result, Tensor)
    assert [size.value for size in result.shape.sizes] == [*wanted]


def test_the_pattern_tells_the_rank_of_what_is_not_known() -> None:
    either = Union((lift(torch.zeros(A, B)), Const(None)))
    found = infer_call("einx.where", (Const("a b, a b c, -> a b c"), either, UNKNOWN, Float(0.0)), {})
    assert isinstance(found, Tensor)
    assert found.shape.rank == 3
    assert isinstance(infer("divide", "a b, b c", (A, B), (B, C)), Unknown)


def test_one_array_twice_has_the_same_axes_under_both_letters() -> None:
    array = Tensor(Shape((), Run("", object())))
    for name in ("logical_and", "multiply"):
        found = infer_call(f"einx.{name}", (Const("... i, ... j -> ... i j"), array, array), {})
        assert isinstance(found, Tensor)
        assert found.shape.tail[0].size == found.shape.tail[1].size
