"""How sizes are written in messages, `2*n + 1`, `n // 2`, `min(k, n)`, and what the functions in them compute."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shapelint.domain.dims import Derivation, Monomial

MOST_BITS = 4096  # of a number that is calculated; Python writes out no more than 4300 digits


def _power(base: int, exponent: int) -> int:
    _require_bounded(exponent * base.bit_length())
    power: int = base**exponent  # no int for a negative exponent: `derive` looks
    return power


def _shifted(number: int, places: int) -> int:
    _require_bounded(number.bit_length() + places)
    return number << places


def _require_bounded(bits: int) -> None:
    if bits > MOST_BITS:
        raise OverflowError(f"a number of {bits} bits")


FUNCTIONS: dict[str, Callable[..., int]] = {
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "max": max,
    "min": min,
    "broadcast": lambda a, b: b if a == 1 else a,
    "**": _power,
    "<<": _shifted,
    ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "slice": lambda start, stop, step, size: len(range(*slice(start, stop, step).indices(size))),
}

INFIX = {"//", "%", "<<", ">>", "&", "|", "^"}
MOST_NAMED = 60  # characters; what is longer helps nobody


def derived_name(derivation: Derivation) -> str:
    name = _spelled(derivation)
    return name if len(name) <= MOST_NAMED else f"{derivation.function}(...)"


def _spelled(derivation: Derivation) -> str:
    function, operands = derivation.function, derivation.operands
    if function in INFIX or function == "**":
        left, right = (f"({o})" if len(o.terms) > 1 else str(o) for o in operands)
        return f"{left} {function} {right}" if function in INFIX else f"{left}**{right}"
    if function == "slice":
        start, stop, _, length = operands
        return f"len({length}[{start}:{stop}])"
    return f"{function}({', '.join(map(str, operands))})"


def spell(terms: tuple[tuple[Monomial, int], ...]) -> Iterable[str]:
    for position, (monomial, coefficient) in enumerate(terms):
        sign = "-" if coefficient < 0 else "+"
        factors = [
            f"({s.name})" if s.derivation and (len(monomial) > 1 or abs(coefficient) != 1) else s.name for s in monomial
        ]
        if abs(coefficient) != 1 or not monomial:
            factors.insert(0, str(abs(coefficient)))
        text = "*".join(factors)
        if position == 0:
            yield text if sign == "+" else f"-{text}"
        else:
            yield sign
            yield text
