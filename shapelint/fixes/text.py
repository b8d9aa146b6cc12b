"""Fixes applied to a text: those that do not touch each other at once, the others when it has been linted again."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from shapelint import source
from shapelint.finding import Edit, Finding, Fix, Location, Outcome

MOST_ROUNDS = 10  # each round may uncover what the last one hid; a fix that brings its finding back must not go on


@dataclass(frozen=True, slots=True)
class Applied:
    """A text with fixes in it, and how many there are."""

    text: str
    count: int = 0


@dataclass(frozen=True, slots=True)
class Fixed:
    """What fixing a text came to: the text, how many fixes are in it, and what linting it says."""

    text: str
    count: int
    outcome: Outcome


def applicable(findings: Iterable[Finding], unsafe: bool = False) -> list[Fix]:
    return [finding.fix for finding in findings if finding.fix is not None and (finding.fix.safe or unsafe)]


def until_stable(text: str, lint: Callable[[str], Outcome], outcome: Outcome, unsafe: bool = False) -> Fixed:
    """Apply fixes and lint again until none is left. `outcome` is what linting `text` came to.

    A text that can no longer be linted is given up: then everything is as it was in the round before.
    """
    fixed = Fixed(text, 0, outcome)
    for _ in range(MOST_ROUNDS):
        applied = apply(fixed.text, applicable(fixed.outcome.findings, unsafe))
        if applied.text == fixed.text:
            break
        again = lint(applied.text)
        if len(again.failures) > len(outcome.failures):
            break
        fixed = Fixed(applied.text, fixed.count + applied.count, again)
    return fixed


def apply(text: str, fixes: Iterable[Fix]) -> Applied:
    """The fixes, in their order, but those whose edits touch an earlier one's. An edit of several is made once."""
    offsets = _Offsets(text)
    taken: list[Edit] = []
    count = 0
    for fix in fixes:
        new = [edit for edit in dict.fromkeys(fix.edits) if edit not in taken]
        if any(_touch(edit, other) for edit in new for other in taken):
            continue
        taken += new
        count += 1
    pieces: list[str] = []
    at = 0
    for edit in sorted(taken, key=lambda edit: (edit.start, edit.end)):
        start, end = offsets.of(edit.start), offsets.of(edit.end)
        pieces += text[at:start], edit.content
        at = end
    return Applied("".join([*pieces, text[at:]]), count)


def _touch(a: Edit, b: Edit) -> bool:
    return a.start <= b.end and b.start <= a.end


class _Offsets:
    """Places in a text as numbers of characters."""

    def __init__(self, text: str) -> None:
        self.length = len(text)
        self.begins = [0, *(match.end() for match in source.NEWLINE.finditer(text))]

    def of(self, location: Location) -> int:
        if location.row > len(self.begins):
            return self.length
        return min(self.begins[location.row - 1] + location.column - 1, self.length)


def encoded(text: str, original: bytes) -> bytes:
    """The text in the encoding of the file that it was read from, with its byte order mark if it had one.

    Raises UnicodeEncodeError where that cannot write it.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(original.replace(b"\r", b"\n")).readline)
    return text.encode(encoding)


def diff(before: str, after: str, filename: str) -> str:
    """A unified diff that `patch` understands; empty where nothing changes."""
    from difflib import unified_diff

    lines = unified_diff(_lines(before), _lines(after), filename, filename)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> Sequence[str]:
    """The lines as files have them: only a line feed ends one."""
    return io.StringIO(text, newline="\n").readlines()
