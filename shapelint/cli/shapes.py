"""`shapelint shapes FILE`."""

from __future__ import annotations

import argparse
import os
import sys

from shapelint.cli.options import (
    CLEAN,
    FAILED,
    Failed,
    add_colour,
    add_configuration,
    configuration,
    is_coloured,
    line_of,
    not_found,
)

TYPE_CHECKING = False  # `typing` itself costs a third of the start-up
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapelint.finding import Failure


def parser() -> argparse.ArgumentParser:
    command = argparse.ArgumentParser(
        "shapelint shapes",
        description="Shows the shape of every binding of a file beside it, as far as it can be inferred.",
        allow_abbrev=False,
    )
    command.add_argument("paths", nargs="+", metavar="PATH", help="a file; with --coverage files and directories")
    command.add_argument(
        "--coverage", action="store_true", help="how many results have known shapes, and which calls lose them"
    )
    command.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    add_configuration(command)
    add_colour(command)
    return command


def show_shapes(arguments: Sequence[str]) -> int:
    """Print a file with its shapes, or the coverage of many; the exit status."""
    options = parser().parse_args(arguments)
    as_json = options.output_format == "json"
    text, failures = _coverage(options, as_json) if options.coverage else _listing(options, as_json)
    sys.stdout.write(text)
    for failure in failures:
        print(line_of(failure), file=sys.stderr)
    return FAILED if failures else CLEAN


def _listing(options: argparse.Namespace, as_json: bool) -> tuple[str, Sequence[Failure]]:
    from shapelint.inspection.listing import show

    if len(options.paths) != 1 or os.path.isdir(options.paths[0]):
        raise Failed("shapes shows one file; --coverage takes several and directories")
    return show(options.paths[0], as_json, is_coloured(options))


def _coverage(options: argparse.Namespace, as_json: bool) -> tuple[str, Sequence[Failure]]:
    from shapelint.inspection.coverage import measure
    from shapelint.inspection.coverage_table import render, render_json
    from shapelint.project.discovery import NoSuchPath

    try:
        tallies, failures = measure(options.paths, configuration(options, options.paths))
    except NoSuchPath as error:
        raise not_found(str(error)) from None
    return render_json(tallies) if as_json else render(tallies), failures
