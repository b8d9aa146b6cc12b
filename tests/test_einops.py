"""einops patterns held against einops, with sizes as numbers and as symbols."""

from __future__ import annotations

from typing import Any

import einops
import numpy as np
import pytest
import torch
from einops.layers.torch import Rearrange, Reduce

from shapelint.domain.dims import Dim, as_dim, axis
from shapelint.domain.values import UNKNOWN, Int, Run, Shape, Tensor, Tuple, Value, shape_of
from shapelint.ops import infer_call
from shapelint.ops.op import ShapeError
from shapelint.testing import Symbols, concrete, lift

PRIMES = (5, 7, 11, 13)
B, H, W, C, D = (axis(name) for name in "bhwcd")

REARRANGE: list[tuple[tuple[int, ...], str, dict[str, int]]] = [
    ((5, 7, 11, 3), "b h w c -> b h w c", {}),
    ((5, 7, 11, 3), "b h w c -> b c h w", {}),
    ((5, 7, 11, 3), "b h w c -> (b h) w c", {}),
    ((5, 7, 11, 3), "b h w c -> h (b w) c", {}),
    ((5, 7, 11, 3), "b h w c -> b (c h w)", {}),
    ((5, 7, 11, 3), "b h w c -> (b h w c)", {}),
    ((6, 7, 11, 3), "(b1 b2) h w c -> b1 b2 h w c", {"b1": 2}),
    ((6, 7, 11, 3), "(b1 b2) h w c -> (b1 h) (b2 w) c", {"b1": 2}),
    ((5, 14, 22, 3), "b (h h1) (w w1) c -> b h w (c h1 w1)", {"h1": 2, "w1": 2}),
    ((5, 14, 22, 12), "b h w (c h1 w1) -> b (h h1) (w w1) c", {"h1": 2, "w1": 2}),
    ((5, 7, 21), "b n (h d) -> b h n d", {"h": 3}),
    ((5, 7, 33), "b n (three h d) -> three b h n d", {"three": 3, "d": 11}),
    ((5, 7, 11), "b t c -> b t 1 c", {}),
    ((5, 7, 11), "b t c -> b t () c", {}),
    ((5, 1, 11), "b 1 c -> b c", {}),
    ((5, 1, 11), "b () c -> c b", {}),
    ((5, 7, 11, 13), "b ... -> ... b", {}),
    ((5, 7, 11, 13), "... h w -> ... (h w)", {}),
    ((5, 7, 11, 13), "b ... c -> b (...) c", {}),
    ((5, 7), "a b ... -> b a ...", {}),
    ((5, 7, 11), "b t_1 c1 -> b c1 t_1", {}),
    ((), "->", {}),
    ((), " -> 1", {}),
    ((5, 3, 14, 22), "b c (h p1) (w p2) -> b (h w) (p1 p2 c)", {"p1": 7, "p2": 11}),
    ((5, 14, 3), "b (x y) c -> b c y x", {"x": 2, "y": 7}),
    ((5, 6, 22), "b (h w) (p1 p2 c) -> b c (h p1) (w p2)", {"h": 2, "p1": 1, "p2": 2}),
    ((10, 3, 7, 11), "(b t) c h w -> b c t h w", {"t": 2}),
    ((5, 3, 2, 7, 11), "b c t h w -> (b t) c h w", {}),
    ((5, 7, 12), "... (d r) -> ... d r", {"r": 2}),
    ((5, 7, 6, 2), "... d r -> ... (d r)", {}),
    ((7,), "n -> 1 n 1", {}),
    ((5, 7, 24), "b n (qkv h d) -> qkv b h n d", {"qkv": 3, "h": 2}),
]
REDUCE: list[tuple[tuple[int, ...], str, str, dict[str, int]]] = [
    ((5, 7, 11, 3), "b h w c -> h w c", "mean", {}),
    ((5, 7, 11, 3), "b h w c -> h w", "min", {}),
    ((5, 14, 22, 3), "b (h h2) (w w2) c -> h (b w) c", "max", {"h2": 2, "w2": 2}),
    ((5, 14, 22, 3), "b (h 2) (w 2) c -> b h w c", "mean", {}),
    ((5, 7, 11, 3), "b c h w -> b c () ()", "mean", {}),
    ((5, 7, 11, 3), "b c h w -> b c 1 1", "sum", {}),
    ((5, 7, 11, 3), "b ... -> b", "sum", {}),
    ((5, 7, 11, 3), "... c -> ...", "prod", {}),
    ((5, 7), "a b ->", "sum", {}),
]
REPEAT: list[tuple[tuple[int, ...], str, dict[str, int]]] = [
    ((5, 7), "h w -> h w c", {"c": 3}),
    ((5, 7), "h w -> h repeat w", {"repeat": 3}),
    ((5, 7), "h w -> (repeat h) w", {"repeat": 3}),
    ((5, 7), "h w -> h (w repeat)", {"repeat": 3}),
    ((5, 7), "h w -> (h h2) (w w2)", {"h2": 2, "w2": 2}),
    ((5, 7), "h w -> h 2 w", {}),
    ((5, 7), "h w -> (h 2) (w 2)", {}),
    ((5, 7, 11), "... c -> ... n c", {"n": 13}),
    ((1, 7), "1 d -> b d", {"b": 5}),
    ((1, 1, 7), "() n d -> b n d", {"b": 5}),
    ((14, 3), "(h h2) w -> h (w h2 k)", {"h2": 2, "k": 4}),
    ((7,), "d -> b n d", {"b": 2, "n": 5}),
    ((5, 7), "... -> b ...", {"b": 2}),
    ((), "-> b", {"b": 3}),
    ((5, 7, 11), "b n d -> (b k) n d", {"k": 2}),
]
EINSUM: list[tuple[list[tuple[int, ...]], str]] = [
    ([(5, 7), (7, 11)], "a b, b c -> a c"),
    ([(13, 5, 7), (13, 11, 7)], "batch i d, batch j d -> batch i j"),
    ([(2, 3, 5, 7), (5, 11)], "... i j, i k -> ... k"),
    ([(5,), (7,)], "in1, in2 -> in1 in2"),
    ([(5, 7)], "rows columns -> columns"),
    ([(5, 7)], "a b ->"),
]


def agree(real: Any, value: Value, sizes: Any = None) -> None:
    assert isinstance(value, Tensor)
    assert concrete(value, sizes) == tuple(real.shape)
    assert value.library == ("torch" if isinstance(real, torch.Tensor) else "numpy")
    assert value.dtype == str(real.dtype).removeprefix("torch.")


def both(name: str, real: Any, args: list[Any], options: dict[str, int]) -> None:
    """The inference with numbers, and with symbols for the primes."""
    for sizes in (as_dim, Symbols(*PRIMES)):
        kwargs = {key: lift(value, sizes) for key, value in options.items()}
        value = infer_call(name, [lift(arg, sizes) for arg in args], kwargs)
        agree(real, value, getattr(sizes, "sizes", None))


@pytest.mark.parametrize("zeros", [torch.zeros, np.zeros])
@pytest.mark.parametrize(("shape", "pattern", "sizes"), REARRANGE)
def test_rearrange(zeros: Any, shape: tuple[int, ...], pattern: str, sizes: dict[str, int]) -> None:
    x = zeros(shape)
    both("einops.rearrange", einops.rearrange(x, pattern, **sizes), [x, pattern], sizes)


@pytest.mark.parametrize(("shape", "pattern", "how", "sizes"), REDUCE)
def test_reduce(shape: tuple[int, ...], pattern: str, how: str, sizes: dict[str, int]) -> None:
    x = torch.zeros(shape)
    both("einops.reduce", einops.reduce(x, pattern, how, **sizes), [x, pattern, how], sizes)


@pytest.mark.parametrize(("shape", "pattern", "sizes"), REPEAT)
def test_repeat(shape: tuple[int, ...], pattern: str, sizes: dict[str, int]) -> None:
    x = torch.zeros(shape)
    both("einops.repeat", einops.repeat(x, pattern, **sizes), [x, pattern], sizes)


@pytest.mark.parametrize(("shapes", "pattern"), EINSUM)
def test_einsum(shapes: list[tuple[int, ...]], pattern: str) -> None:
    operands = [torch.zeros(shape) for shape in shapes]
    both("einops.einsum", einops.einsum(*operands, pattern), [*operands, pattern], {})


def test_a_list_is_stacked() -> None:
    images = [torch.zeros(7, 11, 3) for _ in range(5)]
    both("einops.rearrange", einops.rearrange(images, "b h w c -> h b w c"), [images, "b h w c -> h b w c"], {})


@pytest.mark.parametrize(
    ("pattern", "shapes"),
    [
        ("b * c", [(5, 7, 3), (5, 2, 11, 3)]),
        ("* c", [(7,), (5, 7), (2, 3, 7)]),
        ("b *", [(5,), (5, 7)]),
        ("*", [(5, 7), ()]),
    ],
)
def test_pack_and_unpack(pattern: str, shapes: list[tuple[int, ...]]) -> None:
    tensors = [torch.zeros(shape) for shape in shapes]
    packed, packed_shapes = einops.pack(tensors, pattern)
    result = infer_call("einops.pack", [lift(tensors), lift(pattern)])
    assert isinstance(result, Tuple)
    value, value_shapes = result.items
    agree(packed, value)
    assert concrete(value_shapes) == tuple(map(tuple, packed_shapes))
    pieces = infer_call("einops.unpack", [value, value_shapes, lift(pattern)])
    assert concrete(pieces) == tuple(tuple(t.shape) for t in einops.unpack(packed, packed_shapes, pattern))


def test_parse_shape() -> None:
    x = torch.zeros(5, 7, 11)
    value = infer_call("einops.parse_shape", [lift(x), lift("a _ b")])
    assert dict(value.items) == {"a": Int(as_dim(5)), "b": Int(as_dim(11))}  # type: ignore[union-attr]
    assert einops.parse_shape(x, "a _ b") == {"a": 5, "b": 11}


IMPOSSIBLE: list[tuple[str, tuple[int, ...], str, dict[str, int]]] = [
    ("rearrange", (5, 7), "a b c -> c b a", {}),
    ("rearrange", (5, 7, 11), "a b -> b a", {}),
    ("rearrange", (5, 7), "a b -> a", {}),
    ("rearrange", (5, 7), "a b -> a b c", {}),
    ("rearrange", (5, 7), "(a a2) b -> a a2 b", {"a2": 2}),
    ("rearrange", (5, 7), "(a a2) b -> a a2 b", {}),
    ("rearrange", (6, 7), "(a a2) b -> a a2 b", {"a": 2, "a2": 2}),
    ("rearrange", (5, 7), "a b -> b a", {"a": 6}),
    ("rearrange", (5, 7), "1 b -> b", {}),
    ("rearrange", (5, 7), "a a -> a", {}),
    ("rearrange", (5, 7), "(a b -> a b", {}),
    ("rearrange", (5,), "a b ... -> a b ...", {}),
    ("repeat", (5, 7), "a b -> a b c", {}),
    ("repeat", (5, 7), "a b -> a c", {"c": 3}),
]


@pytest.mark.parametrize(("name", "shape", "pattern", "sizes"), IMPOSSIBLE)
def test_impossible(name: str, shape: tuple[int, ...], pattern: str, sizes: dict[str, int]) -> None:
    x = torch.zeros(shape)
    with pytest.raises(einops.EinopsError):
        getattr(einops, name)(x, pattern, **sizes)
    with pytest.raises(ShapeError):
        infer_call(f"einops.{name}", [lift(x), lift(pattern)], {key: lift(value) for key, value in sizes.items()})


def rearrange(shape: Shape, pattern: str, **sizes: Dim) -> Shape:
    kwargs: dict[str, Value] = {name: Int(size) for name, size in sizes.items()}
    result = infer_call("einops.rearrange", [Tensor(shape), lift(pattern)], kwargs)
    assert isinstance(result, Tensor)
    return result.shape


def test_symbols_are_divided_exactly() -> None:
    heads = rearrange(shape_of(B, W, H * D), "b n (h d) -> b h n d", h=H)
    assert heads == shape_of(B, H, W, D)
    merged = rearrange(heads, "b h n d -> b n (h d)")
    assert merged.axes[-1].factors == (H, D)
    assert rearrange(heads, "b h n d -> b n (d h)").axes[-1].factors == (D, H)


def test_names_stand_for_what_is_not_known() -> None:
    unknown = rearrange(Shape((), Run()), "b (h w) c -> b c h w", h=H)
    assert [str(size) for size in unknown.sizes[:2]] == ["b", "c"]
    assert unknown.sizes[2] == H
    assert unknown.rank == 4
    batch = Run("batch", "scope")
    assert rearrange(Shape((), batch, shape_of(H, W).head), "... h w -> ... w h") == Shape(
        (), batch, shape_of(W, H).head
    )


def test_a_size_that_is_not_known_is_some_size() -> None:
    result = infer_call("einops.rearrange", [Tensor(shape_of(B, C)), lift("b (h d) -> b h d")], {"h": UNKNOWN})
    assert isinstance(result, Tensor)
    assert result.shape.rank == 3
    assert result.shape.sizes[0] == B


def test_layers() -> None:
    from shapelint.ops import call_layer

    x = torch.zeros(5, 7, 22)
    for layer, name, args in (
        (Rearrange("b n (h d) -> b h n d", h=2), "Rearrange", ["b n (h d) -> b h n d"]),
        (Reduce("b n (h d) -> b d", "mean", h=2), "Reduce", ["b n (h d) -> b d", "mean"]),
    ):
        built = infer_call(f"einops.layers.torch.{name}", [lift(a) for a in args], {"h": lift(2)})
        agree(layer(x), call_layer(built, [lift(x)]))  # type: ignore[arg-type]
