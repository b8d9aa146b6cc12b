"""What the guard and the probe catch: shapes that stretch each other, where, and how to say it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Shape = tuple[int, ...]


class BroadcastError(ValueError):
    """Two operands stretch each other, or the two sides of a loss differ in shape."""


class BroadcastWarning(UserWarning):
    """As BroadcastError, where the guard is asked to warn."""


def stretches(a: Shape, b: Shape) -> bool:
    """Whether a is repeated along an axis of b; both stretch each other: (n, 1) with (n,).

    Where both spell out their unit axes, as (n, 1) with (1, m) does, the author laid them out.
    """
    padded = (1,) * (len(b) - len(a)) + a
    return any(x == 1 and y > 1 for x, y in zip(reversed(padded), reversed(b)))


def outer(a: Shape, b: Shape) -> bool:
    """Both operands stretch each other, one of them along an axis that it does not have."""
    return len(a) != len(b) and stretches(a, b) and stretches(b, a)


def outer_pair(shapes: Sequence[Shape]) -> tuple[int, int] | None:
    """The first two of several operands that stretch each other."""
    for i, a in enumerate(shapes):
        for j in range(i + 1, len(shapes)):
            if len(a) != len(shapes[j]) and outer(a, shapes[j]):
                return i, j
    return None


def sides_differ(prediction: Shape, target: Shape) -> bool:
    """The sides of a loss are not of one shape, and at least one is repeated; a number on one side is meant."""
    if prediction == target or not prediction or not target:
        return False
    return stretches(prediction, target) or stretches(target, prediction)


def broadcast(a: Shape, b: Shape) -> str:
    width = max(len(a), len(b))
    pairs = zip((1,) * (width - len(a)) + a, (1,) * (width - len(b)) + b)
    return _shown(tuple(max(x, y) for x, y in pairs))


def _shown(shape: Shape) -> str:
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


@dataclass(frozen=True, slots=True)
class Catch:
    """One operation that was caught. `names` are the operands as the user wrote them, or their positions."""

    filename: str
    line: int
    source: str
    operation: str
    names: tuple[str, str]
    shapes: tuple[Shape, Shape]
    is_loss: bool = False

    @property
    def code(self) -> str:
        return "SHP102" if self.is_loss else "SHP101"

    @property
    def message(self) -> str:
        (a, b), (left, right) = self.names, self.shapes
        works_on = f"{self.operation} works on {broadcast(left, right)}"
        if self.is_loss:
            what = f"are the two sides of a loss but differ: {works_on}"
        else:
            what = f"broadcast against each other: {works_on}"
        return (
            f"{a} {_shown(left)} and {b} {_shown(right)} {what}\n"
            f"  {self.filename}:{self.line}: {self.source}\n"
            "  squeeze the axis of size 1, or mark what is meant: an explicit None, or shapelint.runtime.allow()"
        )

    @property
    def annotation(self) -> str:
        """The operands with one letter for each size: `prediction: "a 1", y: "a"`."""
        sizes = list(dict.fromkeys(size for shape in self.shapes for size in shape if size != 1))
        letter = {size: chr(ord("a") + i) for i, size in enumerate(sizes[:26])} | {1: "1"}
        spelled = (" ".join(letter.get(size, str(size)) for size in shape) for shape in self.shapes)
        return ", ".join(f'{name.strip("`")}: "{text}"' for name, text in zip(self.names, spelled))

    @property
    def line_for_report(self) -> str:
        """One line: place, code, shapes, and the annotations that let the linter see it as well."""
        left, right = map(_shown, self.shapes)
        names = f"{self.names[0]} {left} and {self.names[1]} {right}"
        return f"{self.filename}:{self.line}: {self.code} {names} at run time; annotate {self.annotation}"
