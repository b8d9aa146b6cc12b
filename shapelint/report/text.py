"""For people: each finding has its lines of code with the span underlined, and a trace; coloured on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from shapelint.finding import Finding, Location, Severity, Step
from shapelint.report.concise import shown

if TYPE_CHECKING:
    from rich.text import Text

CONTEXT = 1  # lines of code above and below
MOST_LINES = 6  # of a span
TAB = "    "
STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow"}

Read = Callable[[str], Sequence[str]]


def render(findings: Sequence[Finding], read: Read, coloured: bool = False, width: int = 120) -> str:
    """A frame for each finding, and a summary; `read` gives the lines of a file."""
    if not findings:
        return ""
    from rich.console import Console

    colours: Literal["standard"] | None = "standard" if coloured else None
    console = Console(force_terminal=True, width=width, highlight=False, soft_wrap=True, color_system=colours)
    with console.capture() as capture:
        for finding in findings:
            for row in _frame(finding, read(finding.filename)):
                console.print(row)
            console.print()
        console.print(_summary(findings), style="bold", end="")
    return capture.get()


def _summary(findings: Sequence[Finding]) -> str:
    files = len({finding.filename for finding in findings})
    return f"Found {_count(len(findings), 'problem')} in {_count(files, 'file')}.{_fixable(findings)}\n"


def _fixable(findings: Sequence[Finding]) -> str:
    """How many of them --fix would fix."""
    fixes = [finding.fix for finding in findings if finding.fix is not None]
    safe = sum(fix.safe for fix in fixes)
    counts = [(safe, "--fix"), (len(fixes) - safe, "--fix --unsafe-fixes")]
    parts = [f"{count} with {option}" for count, option in counts if count]
    return f" Can be fixed: {', '.join(parts)}." if parts else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + "s" * (number != 1)


def _frame(finding: Finding, lines: Sequence[str]) -> Iterator[Text]:
    from rich.text import Text

    style = STYLES[finding.severity]
    yield Text.assemble(
        (shown(finding.filename), "bold"), f":{finding.start.row}:{finding.start.column}: ",
        (finding.code, style), f" [{finding.name}] ", (finding.message, "bold"),
    )  # fmt: skip
    last = min(finding.end.row, finding.start.row + MOST_LINES - 1)
    rows = range(max(1, finding.start.row - CONTEXT), min(len(lines), last + CONTEXT) + 1)
    gutter = len(str(max(rows, default=1)))
    for row in rows:
        code = lines[row - 1].rstrip("\r\n")
        yield Text.assemble((f"{row:>{gutter}} |{' ' * bool(code)}", "blue"), code.replace("\t", TAB))
        if finding.start.row <= row <= last and (marks := _underline(finding, row, code)):
            yield Text.assemble((" " * gutter + " | ", "blue"), (marks, style))
    for step in finding.trace:
        yield from _trace(step, lines, gutter)
    if finding.fix is not None:
        yield Text.assemble((" " * gutter + " = ", "blue"), ("fix: ", "bold green"), finding.fix.message)


def _underline(finding: Finding, row: int, code: str) -> str:
    """Carets below the part of a line that the finding spans, as wide as the terminal shows it.

    Where operands are marked, the carets stand below these and waves below the rest.
    """
    span = _columns(finding.start, finding.end, row, code)
    marked = {column for mark in finding.marks for column in _columns(mark.start, mark.end, row, code)}
    if not span and not marked:
        return ""
    first, last = min({span.start, *marked}), max({span.stop - 1, *marked})
    signs = ["^" if column in marked or (column in span and not finding.marks) else "~" if column in span else " "
             for column in range(first, last + 1)]  # fmt: skip
    return " " * _width(code[:first]) + "".join(
        sign * max(_width(character), 1) for sign, character in zip(signs, code[first : last + 1].ljust(len(signs)))
    )


def _columns(start: Location, end: Location, row: int, code: str) -> range:
    """The columns of a row, from 0, that a piece of the file spans; at least one where it begins."""
    if not start.row <= row <= end.row:
        return range(0)
    first = start.column - 1 if row == start.row else len(code) - len(code.lstrip())
    last = end.column - 1 if row == end.row else len(code.rstrip())
    return range(first, max(last, first + 1)) if first <= len(code) else range(0)


def _width(code: str) -> int:
    from rich.cells import cell_len

    return cell_len(code.replace("\t", TAB))


def _trace(step: Step, lines: Sequence[str], gutter: int) -> Iterator[Text]:
    from rich.text import Text

    where = f"line {step.location.row}: " if step.location is not None else ""
    yield Text.assemble((" " * gutter + " = ", "blue"), (where, "cyan"), step.text)
