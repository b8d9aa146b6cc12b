"""Comments that silence: `# shapelint: ignore[SHP101]`, `# noqa: SHP101`, `# shapelint: ignore-file`."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shapelint.finding import Finding, Location, Severity
from shapelint.source import lines

UNUSED_CODE = "SHP001"
UNUSED_NAME = "unused-suppression"

_IGNORE_FILE = re.compile(r"^[ \t]*#[ \t]*shapelint:[ \t]*ignore-file\b", re.MULTILINE)
_COMMENT = re.compile(
    r"#\s*(?:"
    r"shapelint:\s*(?P<own>ignore)(?![\w-])\s*(?:\[(?P<ours>[^\]]*)\])?"
    r"|noqa(?![\w-])(?:\s*:\s*(?P<theirs>[A-Z]+\d*(?:[,\s]+[A-Z]+\d*\b)*))?"
    r")",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"[,\s]+")


@dataclass(frozen=True, slots=True)
class Suppression:
    """A comment that silences codes, by prefix, on its row; without codes it silences all."""

    location: Location
    end: Location
    codes: tuple[str, ...]
    own: bool  # written for us, not for every linter

    def covers(self, finding: Finding) -> bool:
        # A finding may span rows: the comment stands at the end of the first or the last of them.
        if self.location.row not in (finding.start.row, finding.end.row):
            return False
        return not self.codes or finding.code.startswith(self.codes)


def ignores_file(text: str) -> bool:
    return "ignore-file" in text and _IGNORE_FILE.search(text) is not None


def suppressions(text: str) -> tuple[Suppression, ...]:
    """The silencing comments of a text."""
    lowered = text.lower()
    if "noqa" not in lowered and "shapelint:" not in lowered:
        return ()
    return tuple(found for location, comment in _comments(text) for found in _read(location, comment))


def _comments(text: str) -> Iterator[tuple[Location, str]]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield Location(token.start[0], token.start[1] + 1), token.string
    except (tokenize.TokenError, SyntaxError):
        # Syntax newer than this Python: every `#` may begin a comment.
        for row, line in enumerate(lines(text), 1):
            if "#" in line:
                yield Location(row, line.index("#") + 1), line[line.index("#") :]


def _read(location: Location, comment: str) -> Iterator[Suppression]:
    for found in _COMMENT.finditer(comment):
        listed = found["ours"] if found["own"] else found["theirs"]
        codes = tuple(code.upper() for code in _SEPARATOR.split(listed or "") if code)
        start = Location(location.row, location.column + found.start())
        own = bool(found["own"]) or any(code.startswith("SHP") for code in codes)
        yield Suppression(start, Location(location.row, location.column + found.end()), codes, own)


def silence(findings: Iterable[Finding], comments: tuple[Suppression, ...]) -> tuple[list[Finding], set[Suppression]]:
    """The findings that no comment silences, and the comments that silenced one."""
    kept, used = [], set()
    for finding in findings:
        covering = [comment for comment in comments if comment.covers(finding)]
        used.update(covering)
        if not covering:
            kept.append(finding)
    return kept, used


def unused(
    filename: str, comments: tuple[Suppression, ...], used: set[Suppression], checked: Iterable[str]
) -> Iterator[Finding]:
    """A finding for each comment of ours that silences nothing, if every rule it names was checked."""
    codes = tuple(checked)
    for comment in comments:
        ours = tuple(code for code in comment.codes if code.startswith("SHP"))
        if comment in used or not comment.own or not all(any(c.startswith(o) for c in codes) for o in ours):
            continue
        what = ", ".join(ours) or "any rule"
        message = f"this comment silences {what}, but there is nothing to silence"
        yield Finding(filename, comment.location, comment.end, UNUSED_CODE, UNUSED_NAME, message, Severity.WARNING)
