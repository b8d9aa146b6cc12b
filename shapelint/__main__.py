"""The command line. Nothing is imported before it is needed: `shapelint --version` answers at once."""

from __future__ import annotations

import argparse
import os
import sys

import shapelint

TYPE_CHECKING = False  # `typing` itself costs a third of the start-up
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

    from shapelint.config import Config
    from shapelint.finding import Failure, Finding, Outcome

FORMATS = ("text", "concise", "json", "sarif", "github")
CLEAN, FOUND, FAILED = 0, 1, 2

EPILOG = """\
other commands (lint a file or directory of that name as ./rules):
  shapelint rules          list the rules
  shapelint explain CODE   what a rule reports, why it matters, and examples
  shapelint probe MODULE   call annotated functions with sizes that are all different
  shapelint budget FILE    bytes, parameters and work of a module; --help for more
  shapelint shapes FILE    the file with the shape of every binding beside it; --help for more

exit status: 0 nothing found, 1 problems found, 2 some file or the configuration could not be read;
with --fix 1 means that some are left, with --diff that some could be fixed
"""


class Failed(Exception):
    """Nothing can be done: the reason for the user."""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        "shapelint",
        description="Finds the tensor bugs that do not crash, in PyTorch, NumPy and JAX code, without running it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("paths", nargs="*", default=["."], metavar="PATH", help="files and directories; - for stdin (.)")
    top.add_argument("--version", action="version", version=f"shapelint {shapelint.__version__}")
    top.add_argument("--output-format", choices=FORMATS, default="text", help="how findings are shown (text)")
    top.add_argument("--select", type=_codes, metavar="CODES", help="report these rules only, by code or prefix")
    top.add_argument("--extend-select", type=_codes, default=(), metavar="CODES", help="report these rules also")
    top.add_argument("--ignore", type=_codes, default=(), metavar="CODES", help="do not report these rules")
    top.add_argument("--fix", action="store_true", help="write the safe fixes into the files; report what remains")
    top.add_argument(
        "--unsafe-fixes", action="store_true", help="with --fix and --diff: fixes that may change more, too"
    )
    top.add_argument("--diff", action="store_true", help="show what --fix would change, and change nothing")
    top.add_argument("--exit-zero", action="store_true", help="exit with 0 although problems were found")
    top.add_argument("--statistics", action="store_true", help="how often each rule was reported")
    top.add_argument("--jobs", "-j", type=_jobs, metavar="N", help="number of processes (as many as are worth it)")
    top.add_argument("--no-cache", action="store_true", help="neither read nor write .shapelint_cache")
    top.add_argument("--stdin-filename", metavar="FILE", help="the file that stdin stands for")
    top.add_argument("--config", metavar="FILE", help="a pyproject.toml (the nearest one with [tool.shapelint])")
    top.add_argument("--isolated", action="store_true", help="read no configuration file")
    top.add_argument("--force-exclude", action="store_true", help="apply `exclude` to files named as well")
    top.add_argument("--report-unused-suppressions", action="store_true", help="report comments that silence nothing")
    top.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="code frames and colour")
    return top


def _codes(text: str) -> tuple[str, ...]:
    return tuple(code.strip().upper() for code in text.split(",") if code.strip())


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a positive number, not {text!r}")
    return int(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    try:
        status = _command(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        print("shapelint: interrupted", file=sys.stderr)
        return 130
    except Failed as error:
        print(f"shapelint: {error}", file=sys.stderr)
        return FAILED
    except Exception as error:
        print(f"shapelint: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        return FAILED


def run() -> None:
    """The console script. What is in memory is not taken apart at the end: that would take as long as a parse."""
    status = main()
    sys.stderr.flush()
    os._exit(status)


def _command(arguments: list[str]) -> int:
    match arguments:
        case ["rules", *rest]:
            if rest:
                raise Failed("rules takes no arguments; to lint a directory of that name: ./rules")
            return _rules()
        case ["explain", *codes]:
            return _explain(codes)
        case ["budget", *rest]:
            from shapelint.budget.command import main as budget

            return budget(rest)
        case ["probe", *rest]:
            from shapelint.runtime.probing import main as probe

            return probe(rest)
        case ["shapes", *rest]:
            return _shapes(shapes_parser().parse_args(rest))
    return _lint(parser().parse_args(arguments))


def _rules() -> int:
    from shapelint.rule import discover

    width = max((len(rule.name) for rule in discover()), default=0)
    for rule in discover():
        state = "on " if rule.default else "off"
        print(f"{rule.code}  {rule.name:{width}}  {rule.severity:7}  {state}  {rule.summary}")
    return CLEAN


def _explain(codes: list[str]) -> int:
    from shapelint.rule import discover

    if not codes:
        raise Failed("explain needs the code or the name of a rule; `shapelint rules` lists them")
    for code in codes:
        rule = next((rule for rule in discover() if code.upper() == rule.code or code.lower() == rule.name), None)
        if rule is None:
            raise Failed(f"no rule {code!r}; `shapelint rules` lists them")
        state = "" if rule.default else ", off by default"
        print(f"{rule.code} {rule.name} ({rule.severity}{state})\n\n{rule.doc}")
    return CLEAN


def shapes_parser() -> argparse.ArgumentParser:
    command = argparse.ArgumentParser(
        "shapelint shapes",
        description="Shows the shape of every binding of a file beside it, as far as it can be inferred.",
        allow_abbrev=False,
    )
    command.add_argument("paths", nargs="+", metavar="PATH", help="a file; with --coverage files and directories")
    command.add_argument("--coverage", action="store_true", help="how many results have known shapes, what loses them")
    command.add_argument("--output-format", choices=("text", "json"), default="text", help="how it is shown (text)")
    command.add_argument("--config", metavar="FILE", help="a pyproject.toml (the nearest one with [tool.shapelint])")
    command.add_argument("--isolated", action="store_true", help="read no configuration file")
    command.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="colour (auto)")
    command.set_defaults(
        select=None, extend_select=(), ignore=(), stdin_filename=None, report_unused_suppressions=False
    )
    return command


def _shapes(options: argparse.Namespace) -> int:
    as_json = options.output_format == "json"
    failures: Sequence[Failure]
    if options.coverage:
        from shapelint.inspection import coverage_table
        from shapelint.inspection.coverage import measure
        from shapelint.project.discovery import NoSuchPath

        try:
            tallies, failures = measure(options.paths, _config(options))
        except NoSuchPath as error:
            raise Failed(f"{error}: no such file or directory") from None
        sys.stdout.write(coverage_table.render_json(tallies) if as_json else coverage_table.render(tallies))
    else:
        from shapelint.inspection.listing import show

        if len(options.paths) != 1 or os.path.isdir(options.paths[0]):
            raise Failed("shapes shows one file; --coverage takes several and directories")
        text, failures = show(options.paths[0], as_json, _colour(options))
        sys.stdout.write(text)
    for failure in failures:
        print(_line(failure), file=sys.stderr)
    return FAILED if failures else CLEAN


def _colour(options: argparse.Namespace) -> bool:
    wanted = options.color == "auto" and sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return bool(options.color == "always" or wanted)


def _lint(options: argparse.Namespace) -> int:
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
        raise Failed(f"{error}: no such file or directory") from None
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
        print(_line(failure), file=sys.stderr)
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
        print(_line(failure), file=sys.stderr)
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
    from dataclasses import replace
    from pathlib import Path

    from shapelint.config import Config, ConfigError, find_config, load_config, require_codes

    try:
        if options.isolated:
            path = None
        elif options.config:
            path = Path(options.config)
        else:
            path = find_config(_common_directory(options))
        config = Config() if path is None else load_config(path)
        asked = {"--select": options.select or (), "--extend-select": options.extend_select, "--ignore": options.ignore}
        for option, codes in asked.items():
            require_codes(codes, option)
    except ConfigError as error:
        raise Failed(str(error)) from None
    config = config.overridden(options.select, options.extend_select, options.ignore)
    return replace(config, report_unused_suppressions=options.report_unused_suppressions)


def _common_directory(options: argparse.Namespace) -> str:
    """The directory that holds all that is linted: where the search for a configuration begins."""
    paths = [options.stdin_filename or "."] if options.paths == ["-"] else options.paths
    absolute = [os.path.abspath(path) for path in paths]
    return os.path.commonpath([path if os.path.isdir(path) else os.path.dirname(path) for path in absolute])


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
    from shapelint.report import render

    if options.output_format == "text" and _colour(options):
        from shapelint.report.text import render_frames

        text = render_frames(findings, lambda filename: _lines(filename, given))
    else:
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


def _line(failure: Failure) -> str:
    from shapelint.report.concise import shown

    place = f":{failure.location.row}:{failure.location.column}" if failure.location is not None else ""
    return f"{shown(failure.filename)}{place}: error: {failure.message}"


if __name__ == "__main__":
    run()
