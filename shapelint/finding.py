"""What a front prints: findings with a place, a message and, where it is safe, a fix."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """ERROR: cannot work or is certainly wrong. WARNING: runs, and computes something unintended."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in a file; rows and columns count from 1, as editors do."""

    row: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A piece of a file, up to `end`."""

    start: Location
    end: Location


@dataclass(frozen=True, slots=True)
class Step:
    """One link of a trace: where a decisive fact came from ("pred is (n, 1): nn.Linear(64, 1)")."""

    text: str
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text from `start` up to `end` by `content`."""

    start: Location
    end: Location
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    message: str
    edits: tuple[Edit, ...]
    safe: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """One report of one rule, with everything a front needs to show it."""

    filename: str
    start: Location
    end: Location
    code: str
    name: str
    message: str
    severity: Severity
    trace: tuple[Step, ...] = ()
    fix: Fix | None = None
    marks: tuple[Span, ...] = ()  # the operands that the message speaks of
    origin: Finding | None = (
        None  # where it happens, if that is in another file and `start` is the call that leads there
    )


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be linted, or only in part: why, and where if that is known."""

    filename: str
    message: str
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What linting came to: findings in the order of the source, and what could not be done."""

    findings: tuple[Finding, ...] = ()
    failures: tuple[Failure, ...] = ()
