"""Row-major order: whether the axes of a reshape run over the axes of its source that they are named after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, pairwise, permutations
from itertools import product as choices
from operator import mul

from shapelint.domain.dims import ONE, Dim, Origin, Symbol, as_dim, divide, product, substitute
from shapelint.domain.values import Shape

MOST_PIECES = 10
MOST_FACTORS = 3


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an axis that stays together: its size, and which axis of the source it is in (-1: the run)."""

    size: Dim
    place: int

    @property
    def is_run(self) -> bool:
        return self.place < 0


@dataclass(frozen=True, slots=True)
class Scramble:
    """A reshape whose result can not run over its source as its sizes say.

    The source runs over `before` outside of `moved`; the result has `moved` further out.
    """

    moved: Piece
    before: Piece

    @property
    def is_inside_axis(self) -> bool:
        """Whether both are parts of one axis of the source: its order was made elsewhere."""
        return self.moved.place == self.before.place

    @property
    def are_pairs(self) -> bool:
        """Whether numbers of one axis are read in pairs, none of which is torn: 2 * 4 as (4, 2)."""
        moved, before = self.moved.size.value, self.before.size.value
        return self.is_inside_axis and before == 2 and moved is not None and not moved % before


def scramble(source: Shape, target: Shape) -> Scramble | None:
    """Why a reshape of `source` to `target` takes elements out of order; None where it does not, or may not.

    Two sizes are one axis where they are one expression, so what occurs twice says nothing. Axes of size 1 and the
    sizes that a run may have do not count.
    """
    if target.run is not None:
        return None
    pieces, sizes = list(pieces_of(source)), [size for axis in target.axes if (size := exact(axis.size)) != ONE]
    if len(pieces) > MOST_PIECES or len(sizes) > MOST_PIECES or is_squeeze(pieces, sizes):
        return None
    if is_in_order(pieces, sizes):
        return None
    found = _displaced(pieces, sizes) or _skipped(pieces, sizes) or _tiled(pieces, sizes) or _parted(pieces, sizes)
    if found is None or is_doubtful(found.moved.size, sizes) or is_doubtful(found.before.size, sizes):
        return None
    if may_be_one(found.moved.size, sizes) or is_rest(found.before.size, sizes):
        return None
    if is_left_out(found.before, pieces, sizes):
        return None
    numel = exact(product(sizes))
    if may_be_one(found.before.size, sizes) and divide(numel, found.moved.size * found.moved.size) is not None:
        return None  # what is asked for twice may be both of them: the picture is square
    return None if may_be_same(found, numel) or fits_otherwise(pieces, sizes) else found


def is_in_order(pieces: Sequence[Piece], sizes: Sequence[Dim]) -> bool:
    """Axes are merged or split where they are, no more: the frequent case."""
    before, after = {*_prefixes([piece.size for piece in pieces])}, {*_prefixes(sizes)}
    return before >= after or before <= after


def fits_otherwise(pieces: Sequence[Piece], sizes: Sequence[Dim]) -> bool:
    """Whether all is in order if an axis of which nothing is known has one of the sizes that are asked for.

    `(b, n, ?)` read as `(-1, n)`, where the last axis may be n.
    """
    for symbol in {piece.size.symbol for piece in pieces if is_free(piece.size) and piece.size not in sizes}:
        assert symbol is not None
        for fact in ({symbol: size} for size in dict.fromkeys(sizes) if symbol not in size.symbols()):
            parts = [Piece(exact(substitute(piece.size, fact)), piece.place) for piece in pieces]
            asked = [exact(substitute(size, fact)) for size in sizes]
            if is_squeeze(parts, asked) or is_in_order(parts, asked):
                return True
    return False


def is_free(size: Dim) -> bool:
    """Whether nothing is known of a size: it may be any, and any product."""
    symbol = size.symbol
    return symbol is not None and symbol.origin is Origin.ANONYMOUS and symbol.derivation is None


def may_be_one(size: Dim, asked: Sequence[Dim]) -> bool:
    """A size of which nothing is known, and which is not asked for: there need not be several elements along it."""
    return is_free(size) and not any(symbol in other.symbols() for other in asked for symbol in size.symbols())


def is_rest(size: Dim, asked: Sequence[Dim]) -> bool:
    """A quotient, for which `-1` stands, that is not asked for: it is 1 where all else that is asked for is there."""
    symbol = size.symbol
    if symbol is None or symbol.derivation is None or symbol.derivation.function != "//":
        return False
    return not any(symbol in other.symbols() for other in asked)


def is_left_out(first: Piece, pieces: Sequence[Piece], asked: Sequence[Dim]) -> bool:
    """The first axis of a source whose rank is not known, where later ones may be all that is asked for: it is 1."""
    if first.place != 0 or not any(piece.is_run for piece in pieces):
        return False
    named = {symbol for size in asked for symbol in size.symbols()}
    later = {symbol for piece in pieces if piece.place > 0 for symbol in piece.size.symbols()}
    return named.isdisjoint(first.size.symbols()) and first.size.value is None and not later <= named


def may_be_same(found: Scramble, numel: Dim) -> bool:
    """Whether the axis that is skipped may itself be the number that is asked for: it is not known, nor named again."""
    moved, before = found.moved.size, found.before.size
    return moved.value is not None and before.value is None and divide(numel, before) is None


def is_doubtful(size: Dim, asked: Sequence[Dim]) -> bool:
    """A size that may be that of another axis; or `(q, k + 1)` as `(k + 1, q)`, which shifts each row on purpose."""
    derivations = [symbol.derivation for symbol in size.symbols()]
    return (len(size.terms) > 1 and size in asked) or any(
        derived is not None and derived.function != "//" for derived in derivations
    )


def pieces_of(shape: Shape) -> Iterator[Piece]:
    """The parts of all axes in row-major order, without those of size 1."""
    for place, axis in enumerate(shape.head):
        yield from (Piece(size, place) for part in axis.parts if (size := exact(part)) != ONE)
    if shape.run is not None:
        yield Piece(as_dim(Symbol("...", Origin.ANONYMOUS, shape.run)), -1)
        for place, axis in enumerate(shape.tail, len(shape.head)):
            yield from (Piece(size, place) for part in axis.parts if (size := exact(part)) != ONE)


def is_squeeze(pieces: Sequence[Piece], sizes: Sequence[Dim]) -> bool:
    """The result has fewer elements unless a size is 1: then it is, and its axis is only dropped."""
    rest = divide(exact(product(p.size for p in pieces if not p.is_run)), exact(product(sizes)))
    return rest is not None and rest != ONE


def exact(size: Dim) -> Dim:
    """A product in which what was divided is whole again: `h * (c // h)` is `c`, as the reshape tells."""
    if len(size.terms) != 1:
        return size
    ((monomial, _),) = size.terms
    if all(symbol.derivation is None for symbol in monomial):
        return size
    for symbol in monomial:
        if symbol.derivation is not None and symbol.derivation.function == "//":
            dividend, divisor = map(exact, symbol.derivation.operands)
            if not divisor.terms:
                continue
            whole, rest = divide(dividend, divisor), divide(size, as_dim(symbol) * divisor)
            if whole is not None and (others := divide(size, as_dim(symbol))) is not None:
                return exact(others * whole)
            if rest is not None:
                return exact(rest * dividend)
    return size


def _prefixes(sizes: Sequence[Dim]) -> list[Dim]:
    """The products of the first 0, 1, 2 ... sizes."""
    return [exact(p) for p in accumulate(sizes, mul, initial=ONE)]


def _displaced(pieces: Sequence[Piece], sizes: Sequence[Dim]) -> Scramble | None:
    """One axis of the result is a whole part of the source, but stands outside of more, or of less."""
    whole = [p.size for p in pieces]
    outer, reached = _prefixes(whole), _prefixes(sizes)
    for index, size in enumerate(sizes):
        if sizes.count(size) > 1 or whole.count(size) > 1 or size not in whole:
            continue
        if size.value is not None and reached[index] in outer and reached[index + 1] in outer:
            continue  # several parts in order make it up
        if size.value is not None and any(map(is_free, {*whole} ^ {*sizes})):
            continue  # it may be a part of that one
        at = whole.index(size)
        outside = _weighed(pieces[:at], sizes[:index])
        inside = _weighed(pieces[at + 1 :], sizes[index + 1 :])
        if 0 in (outside, inside):
            continue
        before = [p for p in pieces[:at] if not p.is_run]
        after = [p for p in pieces[at + 1 :] if not p.is_run]
        if (outside == 1 or inside == -1) and before:
            return Scramble(pieces[at], before[-1])
        if (outside == -1 or inside == 1) and after:
            return Scramble(after[0], pieces[at])
    return None


def _weighed(pieces: Sequence[Piece], sizes: Sequence[Dim]) -> int | None:
    """1 where the parts have more elements than the sizes, 0 as many, -1 fewer, each for certain."""
    known, claimed = exact(product(p.size for p in pieces if not p.is_run)), exact(product(sizes))
    if known == claimed:
        return 0
    if divide(known, claimed) is not None:
        return 1
    open_ended = any(p.is_run for p in pieces)
    return -1 if divide(claimed, known) is not None and not open_ended else None


def _skipped(pieces: Sequence[Piece], sizes: Sequence[Dim]) -> Scramble | None:
    """The first axes of the result are whole parts of the source, but not the first ones."""
    outer = _prefixes([p.size for p in pieces])
    for reached in _prefixes(sizes)[1:-1]:
        if any(_within(reached, a, b) for a, b in pairwise(outer)):
            continue
        if reached.value is not None and pieces[0].is_run:
            continue  # it may be part of what is not known to be there
        for count in range(1, len(pieces)):
            for chosen in combinations(range(len(pieces)), count):
                if exact(product(pieces[i].size for i in chosen)) == reached:
                    skipped = [i for i in range(chosen[-1]) if i not in chosen and not pieces[i].is_run]
                    late = [i for i in chosen if not pieces[i].is_run and skipped and i > skipped[0]]
                    return Scramble(pieces[late[0]], pieces[skipped[0]]) if late else None
    return None


def _tiled(pieces: Sequence[Piece], sizes: Sequence[Dim]) -> Scramble | None:
    """Two axes are cut, `(h // p, w // p, p, p)` of `(h, w)`, and no order of their parts gives the result."""
    cuts = {dim: symbol for size in sizes for symbol in size.symbols() if (dim := _cut(symbol, pieces, sizes))}
    if len(cuts) < 2:
        return None
    counts = {symbol: as_dim(Symbol(symbol.name, Origin.AXIS, ("count", symbol))) for symbol in cuts.values()}
    asked = [substitute(size, counts) for size in sizes]
    found: list[Scramble | None] = []
    for turned in choices((False, True), repeat=len(cuts)):
        two = {
            whole: [counts[symbol], _divisor(symbol)][:: -1 if turn else 1]
            for turn, (whole, symbol) in zip(turned, cuts.items())
        }
        tiles = [Piece(size, piece.place) for piece in pieces for size in two.get(piece.size, [piece.size])]
        found.append(_displaced(tiles, asked) or _skipped(tiles, asked))
    return found[0] if None not in found else None


def _parted(pieces: Sequence[Piece], sizes: Sequence[Dim]) -> Scramble | None:
    """One axis is a product, `(b, a * k, h, w)` read as `(b, h * w * a, k)`, and no order of its factors gives that."""
    wholes = [piece for piece in pieces if len(factors_of(piece.size)) > 1 and piece.size not in sizes]
    if len(wholes) != 1 or not 2 <= len(factors := factors_of(wholes[0].size)) <= MOST_FACTORS:
        return None
    if not any(size in factors and size not in (piece.size for piece in pieces) for size in sizes):
        return None
    at = pieces.index(wholes[0])
    found: list[Scramble | None] = []
    for order in dict.fromkeys(permutations(factors)):
        parts = [*pieces[:at], *(Piece(factor, wholes[0].place) for factor in order), *pieces[at + 1 :]]
        found.append(_displaced(parts, sizes) or _skipped(parts, sizes))
    across = [why for why in found if why is not None and not why.is_inside_axis]
    return across[0] if across and None not in found else None


def factors_of(size: Dim) -> list[Dim]:
    """What a product consists of: its symbols, each as often as it occurs, and its number."""
    if len(size.terms) != 1:
        return []
    ((monomial, number),) = size.terms
    return [*map(as_dim, monomial), *([as_dim(number)] if number != 1 else [])]


def _cut(symbol: Symbol, pieces: Sequence[Piece], sizes: Sequence[Dim]) -> Dim | None:
    """The piece of which a symbol is how many times p it has; p is asked for as well."""
    if symbol.derivation is None or symbol.derivation.function != "//":
        return None
    whole = symbol.derivation.operands[0]
    is_piece = sum(p.size == whole for p in pieces) == 1
    return whole if is_piece and divide(product(sizes), as_dim(symbol) * _divisor(symbol)) is not None else None


def _divisor(symbol: Symbol) -> Dim:
    assert symbol.derivation is not None
    return symbol.derivation.operands[1]


def _within(reached: Dim, outer: Dim, inner: Dim) -> bool:
    """Whether a part, from `outer` to `inner`, may be split there."""
    if reached in (outer, inner):
        return True
    return divide(reached, outer) is not None and divide(inner, reached) is not None
