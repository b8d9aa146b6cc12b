"""einsum's equations: letters that stand for axes, and what the operands say of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import reduce

from shapelint.domain.dims import ONE
from shapelint.domain.shapes import never_equal
from shapelint.domain.values import Axis, Const, Shape, Tuple, Value
from shapelint.ops.broadcasting import broadcast_all
from shapelint.ops.op import ShapeError, Unknowable, tensor
from shapelint.ops.runs import ends, fresh, joined, with_rank

ELLIPSIS = "…"


def einsum(equation: Value, operands: Value) -> Shape:
    """ "bik,bkj->bij": equal letters have equal sizes; those without a place in the result are summed over."""
    match equation, operands:
        case Const(value=str() as text), Tuple(items=items) if "{" not in text:  # what an f-string inserts is unknown
            return contracted(text, *terms_of(text), tuple(tensor(item).shape for item in items))
    raise Unknowable("not a known equation")


Term = tuple[str, ...]


def terms_of(text: str) -> tuple[list[Term], Term]:
    """The letters of each operand and of the result, an ellipsis as one letter."""
    left, arrow, right = text.replace(" ", "").replace("...", ELLIPSIS).partition("->")
    terms = [tuple(term) for term in left.split(",")]
    if arrow:
        return terms, tuple(right)
    letters = [letter for term in terms for letter in term]
    once = sorted(c for c in set(letters) if c != ELLIPSIS and letters.count(c) == 1)
    return terms, ((ELLIPSIS,) if ELLIPSIS in letters else ()) + tuple(once)


def contracted(text: str, terms: list[Term], result: Term, shapes: tuple[Shape, ...]) -> Shape:
    """The result of an equation on operands of these shapes; ShapeError where a letter has two sizes."""
    if len(terms) != len(shapes):
        raise ShapeError(f"{text!r} is for {len(terms)} operands, not {len(shapes)}")
    scope = (text, object())
    are_names = relates(terms, result)
    axes: dict[str, Axis] = {}
    batches: list[Shape] = []
    alike: dict[object, list[Axis | Shape]] = {}  # one array twice has the same axes under both letters
    for term, shape in zip(terms, shapes):
        named = list(_assign(text, term, shape, scope, are_names))
        place = fresh(shape), *(name == ELLIPSIS for name in term)
        parts = alike.setdefault(place, [part for _, part in named])
        for (letter, _), found in zip(named, parts):
            if isinstance(found, Shape):
                batches.append(found)
            else:
                axes[letter] = _unified(text, letter, axes.get(letter), found)
    batch = reduce(broadcast_all, batches) if batches else Shape()
    return _placed(text, result, axes, batch)


def relates(terms: list[Term], result: Term) -> bool:
    """Whether letters are names of axes, which they relate: those of what is only summed, `ijk->ij`, are indices."""
    return len(terms) > 1 or not {*result} < {*terms[0]}


def _assign(text: str, term: Term, shape: Shape, scope: object, are_names: bool) -> Iterator[tuple[str, Axis | Shape]]:
    names = [name for name in term if name != ELLIPSIS]
    given = names if are_names else ()
    try:
        if ELLIPSIS not in term:
            yield from zip(names, with_rank(shape, len(names), given, scope).head)
            return
        before = term.index(ELLIPSIS)
        front, middle, back = ends(shape, before, len(names) - before, given, scope)
    except ShapeError as error:
        raise ShapeError(f"{''.join(term)!r} of {text!r}: {error}") from None
    yield from zip(names, front + back)
    yield ELLIPSIS, middle


def _unified(text: str, letter: str, known: Axis | None, found: Axis) -> Axis:
    if known is None or known.size == ONE:
        return found
    if found.size == ONE or found.size == known.size:
        return known
    if never_equal(known.size, found.size):
        raise ShapeError(f"{letter!r} of {text!r} is {known} and {found}")
    return found if found.size.value is not None else known


def _placed(text: str, result: Term, axes: Mapping[str, Axis], batch: Shape) -> Shape:
    unknown = [letter for letter in result if letter != ELLIPSIS and letter not in axes]
    if unknown:
        raise ShapeError(f"{unknown[0]!r} of {text!r} is in no operand")
    if ELLIPSIS not in result:
        return Shape(tuple(axes[letter] for letter in result))
    at = result.index(ELLIPSIS)
    return joined(tuple(axes[c] for c in result[:at]), batch, tuple(axes[c] for c in result[at + 1 :]))
