"""`shapelint shapes --coverage PATH...`: how much of the code has known shapes, and what loses them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shapelint.report.concise import shown

if TYPE_CHECKING:
    from shapelint.inspection.coverage import Tally

MOST_LOST = 20


def render(tallies: Sequence[Tally]) -> str:
    """A table with a row for each path, and the calls that lost most shapes."""
    total = summed(tallies)
    listed = [*tallies, total] if len(tallies) > 1 else list(tallies)
    width = max((len(shown(entry.path)) for entry in listed), default=0)
    lines = [f"{'':{width}}  {'results':>8}  {'rank known':>11}  {'sizes known':>12}"]
    for entry in listed:
        shares = share(entry.rank_known, entry.results), share(entry.sizes_known, entry.results)
        lines.append(f"{shown(entry.path):{width}}  {entry.results:>8}  {shares[0]:>11}  {shares[1]:>12}")
    if total.lost:
        lines += [
            "",
            "calls that lose a known shape, or are not modelled:",
        ]
        lines += [f"{count:>8}  {name}" for name, count in ranked(total.lost)[:MOST_LOST]]
    return "\n".join(lines) + "\n"


def render_json(tallies: Sequence[Tally]) -> str:
    total = summed(tallies)
    document = {
        "total": counts(total),
        "paths": [{"path": entry.path, **counts(entry)} for entry in tallies],
        "lost": [{"call": name, "count": count} for name, count in ranked(total.lost)],
    }
    return json.dumps(document, indent=2) + "\n"


def summed(tallies: Sequence[Tally]) -> Tally:
    from shapelint.inspection.coverage import Tally

    total = Tally("total")
    for entry in tallies:
        total.add(entry)
    return total


def counts(entry: Tally) -> dict[str, Any]:
    return {"results": entry.results, "rank_known": entry.rank_known, "sizes_known": entry.sizes_known}


def ranked(lost: Counter[str]) -> list[tuple[str, int]]:
    return sorted(lost.items(), key=lambda item: (-item[1], item[0]))


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
