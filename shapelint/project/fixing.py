"""Files under their fixes: each until it is stable, then written back or shown as a diff."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from shapelint.config import Config
from shapelint.finding import Failure, Outcome
from shapelint.fixes.text import applicable, encoded
from shapelint.project.driver import fix_data
from shapelint.source import Unreadable, decode

MOST_ROUNDS = 3  # what is fixed in one file may uncover something in another that imports it


@dataclass(frozen=True, slots=True)
class Change:
    """A file that fixes would change."""

    filename: str
    before: str
    after: str
    data: bytes
    count: int


def changes(
    files: Sequence[str], outcomes: Sequence[Outcome], config: Config, roots: Sequence[str], unsafe: bool
) -> Iterator[Change | Failure]:
    """The files that have fixes, with these. Nothing is written."""
    for filename, outcome in zip(files, outcomes):
        if not applicable(outcome.findings, unsafe):
            continue
        try:
            with open(filename, "rb") as file:
                before = file.read()
            fixed = fix_data(before, filename, outcome, config, roots, unsafe)
            if fixed.count:
                yield Change(filename, decode(before), fixed.text, encoded(fixed.text, before), fixed.count)
        except (OSError, Unreadable, UnicodeEncodeError) as error:
            yield Failure(filename, f"cannot be fixed: {error}")


def fix_files(
    files: Sequence[str],
    lint: Callable[[], Sequence[Outcome]],
    config: Config,
    roots: Sequence[str] = (),
    unsafe: bool = False,
) -> tuple[Sequence[Outcome], int]:
    """Write the fixes into the files. What linting says afterwards, and how many fixes there were."""
    outcomes, total = lint(), 0
    failures: dict[str, Failure] = {}
    for _ in range(MOST_ROUNDS):
        count = 0
        for change in changes(files, outcomes, config, roots, unsafe):
            if isinstance(change, Failure):
                failures[change.filename] = change
                continue
            try:
                with open(change.filename, "wb") as file:
                    file.write(change.data)
                count += change.count
            except OSError as error:
                failures[change.filename] = Failure(change.filename, f"cannot be written: {error.strerror or error}")
        if not count:
            break
        outcomes, total = lint(), total + count
    return [_with(outcome, failures.get(filename)) for filename, outcome in zip(files, outcomes)], total


def _with(outcome: Outcome, failure: Failure | None) -> Outcome:
    return outcome if failure is None else replace(outcome, failures=(*outcome.failures, failure))
