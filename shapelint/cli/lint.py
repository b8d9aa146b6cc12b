"""`shapelint PATH...`: findings of files, directories or stdin, fixed or shown as a diff where that is asked for."""

from __future__ import annotations

import argparse
import os
import sys

import shapelint
from shapelint.cli.options import (
    CLEAN,
    FAILED,
    FOUND,
    Failed,
    add_colour,
    add_configuration,
    configuration,
    is_coloured,
    line_of,
    not_found,
    positive,
    rule_codes,
)

TYPE_CHECKING = False  # `typing` itself costs a third of the start-up
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from shapelint.config import Config
    from shapelint.finding import Finding, Outcome

FORMATS = ("text", "concise", "json", "sarif", "github")

EPILOG = """\
other commands (lint a file or directory of that name as ./rules):
  shapelint rules          list the rules
  shapelint explain RULE   what a rule reports, why it matters, and examples
  shapelint shapes FILE    the file with the shape of every binding beside it
  shapelint budget FILE    bytes, parameters and work of a module
  shapelint probe MODULE   call annotated functions with sizes that are all different
each has a --help of its own

exit status: 0 nothing found, 1 problems found, 2 some file or the configuration could not be read;
with --fix 1 means that some are left, with --diff that some could be fixed
"""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        "shapelint",
        description="Finds the tensor bugs that do not crash, in PyTorch, NumPy and JAX code, without running it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    option = top.add_argument
    option("paths", nargs="*", default=["."], metavar="PATH", help="files and directories (default: .); - for stdin")
    option("--version", action="version", version=f"shapelint {shapelint.__version__}")
    option("--output-format", choices=FORMATS, default="text", help="how findings are shown (default: text)")
    option("--select", type=rule_codes, metavar="CODES", help="report these rules only: SHP1,SHP203 or ALL")
    option("--extend-select", type=rule_codes, default=(), metavar="CODES", help="report these rules also")
    option("--ignore", type=rule_codes, default=(), metavar="CODES", help="do not report these rules")
    option("--fix", action="store_true", help="write the safe fixes into the files; report what remains")
    option("--unsafe-fixes", action="store_true", help="with --fix and --diff: fixes that may change more, too")
    option("--diff", action="store_true", help="show what --fix would change, and change nothing")
    option("--exit-zero", action="store_true", help="exit with 0 although problems were found")
    option("--statistics", action="store_true", help="count the findings of each rule")
    option("--jobs", "-j", type=positive, metavar="N", help="number of processes (default: as many as are worth it)")
    option("--no-cache", action="store_true", help="neither read nor write .shapelint_cache")
    option("--stdin-filename", metavar="FILE", help="the file that stdin stands for")
    add_configuration(top)
    option("--force-exclude", action="store_true", help="apply `exclude` to files named as well")
    option("--report-unused-suppressions", action="store_true", help="report comments that silence nothing")
    add_colour(top)
    return top


def lint(arguments: Sequence[str]) -> int:
    """Lint what is named; the exit status. Raises Failed."""
    options = parser().parse_args(arguments)
    config = _config(options)
    _load_rules()
    if "-" not in options.paths:
        return _lint_paths(options, config)
    if options.paths != ["-"]:
        raise Failed("stdin (-) cannot be linted together with files")
    return _lint_stdin(options, config)


def _lint_stdin(options: argparse.Namespace, config: Config) -> int:
    """With --fix the fixed source goes to stdout, and what remains to stderr."""
    from shapelint.fixes.text import diff, encoded
    from shapelint.project.driver import fix_data, lint_stdin

    named, data = options.stdin_filename or "<stdin>", sys.stdin.buffer.read()
    outcome = lint_stdin(data, named, config)
    if outcome.failures or not (options.fix or options.diff):
        if options.fix:  # whoever pipes through us keeps what could not be read
            sys.stdout.buffer.write(data)
        return _report([outcome], options, {named: data}, stream=sys.stderr if options.fix else None)
    fixed = fix_data(data, named, outcome, config, (), options.unsafe_fixes)
    if options.diff:
        from shapelint.source import decode

        return _show_diffs([diff(decode(data), fixed.text, named)], fixed.count, options)
    changed = encoded(fixed.text, data)
    sys.stdout.buffer.write(changed)
    return _report([fixed.outcome], options, {named: changed}, fixed.count, sys.stderr)


def _lint_paths(options: argparse.Namespace, config: Config) -> int:
    from shapelint.project.discovery import NoSuchPath, find_files

    try:
        files = find_files(options.paths, config, options.force_exclude)
    except NoSuchPath as error:
        raise not_found(str(error)) from None
    if not files:
        print("shapelint: no Python files to lint", file=sys.stderr)
    roots = [path for path in options.paths if os.path.isdir(path)]
    if options.diff:
        return _diff(files, roots, options, config)
    if not options.fix:
        return _report(_outcomes(files, roots, options, config), options)
    from shapelint.project.fixing import fix_files

    outcomes, count = fix_files(
        files, lambda: _outcomes(files, roots, options, config), config, roots, options.unsafe_fixes
    )
    return _report(outcomes, options, fixed=count)


def _diff(files: list[str], roots: list[str], options: argparse.Namespace, config: Config) -> int:
    from shapelint.finding import Failure
    from shapelint.fixes.text import diff
    from shapelint.project.fixing import changes
    from shapelint.report.concise import shown

    outcomes = _outcomes(files, roots, options, config)
    found = list(changes(files, outcomes, config, roots, options.unsafe_fixes))
    failures = [failure for outcome in outcomes for failure in outcome.failures]
    failures += [change for change in found if isinstance(change, Failure)]
    for failure in failures:
        print(line_of(failure), file=sys.stderr)
    made = [change for change in found if not isinstance(change, Failure)]
    diffs = [diff(change.before, change.after, shown(change.filename)) for change in made]
    status = _show_diffs(diffs, sum(change.count for change in made), options)
    return FAILED if failures else status


def _show_diffs(diffs: list[str], count: int, options: argparse.Namespace) -> int:
    sys.stdout.write("".join(diffs))
    sys.stdout.flush()
    if count:
        print(f"Would fix {count} problem{'s' * (count != 1)}.", file=sys.stderr)
    return FOUND if count and not options.exit_zero else CLEAN


def _report(
    outcomes: Sequence[Outcome],
    options: argparse.Namespace,
    given: dict[str, bytes] | None = None,
    fixed: int = 0,
    stream: TextIO | None = None,
) -> int:
    """Show what was found; the exit status."""
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    failures = [failure for outcome in outcomes for failure in outcome.failures]
    _show(findings, options, given or {}, stream or sys.stdout, fixed)
    for failure in failures:
        print(line_of(failure), file=sys.stderr)
    if failures:
        return FAILED
    return FOUND if findings and not options.exit_zero else CLEAN


def _load_rules() -> None:
    """A package of rules that cannot be imported is one error, not one for each file."""
    from shapelint.rule import discover

    try:
        discover()
    except Exception as error:
        raise Failed(f"the rules cannot be loaded: {type(error).__name__}: {error}") from None


def _config(options: argparse.Namespace) -> Config:
    """The configuration under what the command line asks."""
    from dataclasses import replace

    from shapelint.config import ConfigError, require_codes

    stdin = options.paths == ["-"]
    config = configuration(options, [options.stdin_filename or "."] if stdin else options.paths)
    asked = {"--select": options.select or (), "--extend-select": options.extend_select, "--ignore": options.ignore}
    try:
        for option, wanted in asked.items():
            require_codes(wanted, option)
    except ConfigError as error:
        raise Failed(str(error)) from None
    config = config.overridden(options.select, options.extend_select, options.ignore)
    return replace(config, report_unused_suppressions=options.report_unused_suppressions)


def _outcomes(files: list[str], roots: list[str], options: argparse.Namespace, config: Config) -> list[Outcome]:
    from shapelint.project.driver import lint_files

    if not sys.stderr.isatty():
        return lint_files(files, config, roots, options.jobs, not options.no_cache)
    from shapelint.report.progress import Progress

    with Progress(len(files)) as progress:
        return lint_files(files, config, roots, options.jobs, not options.no_cache, progress.advance)


def _show(
    findings: list[Finding], options: argparse.Namespace, given: dict[str, bytes], stream: TextIO, fixed: int
) -> None:
    if options.output_format == "text":
        from shapelint.report.text import render as frames

        text = frames(findings, lambda filename: _lines(filename, given), is_coloured(options))
    else:
        from shapelint.report import render

        text = render(options.output_format, findings)
    stream.write(text)
    stream.flush()
    readable = stream if options.output_format in ("text", "concise") else sys.stderr
    if fixed:
        readable.write(f"Fixed {fixed} problem{'s' * (fixed != 1)}.\n")
    if options.statistics:
        readable.write(_statistics(findings))


def _lines(filename: str, given: dict[str, bytes]) -> list[str]:
    from shapelint.source import Unreadable, decode

    try:
        if filename in given:
            data = given[filename]
        else:
            with open(filename, "rb") as file:
                data = file.read()
        return decode(data).splitlines()
    except (OSError, Unreadable):
        return []


def _statistics(findings: list[Finding]) -> str:
    from collections import Counter

    counts = Counter((finding.code, finding.name) for finding in findings)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return "".join(f"{count:6}  {code} {name}\n" for (code, name), count in ordered)
