"""What number formats hold: the largest and smallest numbers, the spacing near 1, the last exact integer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point format of `digits` significant bits; `least` is the exponent of its smallest normal.

    Exponents are those of `math.frexp`: 1.0 is 0.5 * 2**1.
    """

    name: str
    digits: int
    least: int
    largest: float

    @property
    def smallest(self) -> float:
        """The smallest positive number: what is at most half of it is stored as 0."""
        return math.ldexp(1.0, self.least - self.digits)

    @property
    def normal(self) -> float:
        """The smallest positive number of full precision."""
        return math.ldexp(0.5, self.least)

    @property
    def spacing(self) -> float:
        """From 1 to the next number above; below 1 it is half of that."""
        return math.ldexp(1.0, 1 - self.digits)

    @property
    def exact(self) -> int:
        """Up to here every integer has a number of its own."""
        return 1 << self.digits

    def stored(self, value: float) -> float:
        """`value` rounded to the format, ties to even; infinite beyond its range."""
        if value == 0 or not math.isfinite(value):
            return value
        quantum = math.ldexp(1.0, max(math.frexp(value)[1], self.least) - self.digits)
        rounded = round(value / quantum) * quantum
        return rounded if abs(rounded) <= self.largest else math.copysign(math.inf, value)


FLOAT16 = Format("float16", 11, -13, 65504.0)
BFLOAT16 = Format("bfloat16", 8, -125, math.ldexp(255, 120))
FLOAT32 = Format("float32", 24, -125, math.ldexp((1 << 24) - 1, 104))
FLOAT64 = Format("float64", 53, -1021, math.ldexp(float((1 << 53) - 1), 971))

FORMATS: Mapping[str, Format] = {f.name: f for f in (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)}
NARROW = frozenset({"float16", "bfloat16", "uint8", "int32"})
INTEGERS: Mapping[str, tuple[int, int]] = {
    **{f"int{bits}": (-(1 << bits - 1), (1 << bits - 1) - 1) for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": (0, (1 << bits) - 1) for bits in (8, 16, 32, 64)},
}


def read_number(text: str) -> float | None:
    """The number that a string spells; None for "nan", which is no known number, and for what spells none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isnan(value) else value
