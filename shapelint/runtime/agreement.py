"""Static and run time agree: what ran into the guard or a probe, and whether the linter sees it as well."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from shapelint.runtime.catches import Catch

SHAPES = ("SHP1", "SHP2", "SHP6")  # the rules that speak of shapes


@lru_cache(maxsize=256)
def _codes(filename: str) -> tuple[tuple[int, int, str], ...]:
    from shapelint.linter import lint_file

    try:
        return tuple((f.start.row, f.end.row, f.code) for f in lint_file(filename).findings)
    except OSError:
        return ()


def seen_by_the_linter(filename: str, line: int) -> str | None:
    """The code of a finding of the shape rules on that line."""
    for first, last, code in _codes(filename):
        if first <= line <= last and code.startswith(SHAPES):
            return code
    return None


def agreement(catches: Iterable[Catch]) -> str:
    """A line for each catch; the linter's blind spots come with annotations that can be pasted."""
    lines = []
    for catch in catches:
        code = seen_by_the_linter(catch.filename, catch.line)
        lines.append(
            f"{catch.filename}:{catch.line}: {code} the linter reports it as well" if code else catch.line_for_report
        )
    return "\n".join(lines)
