"""What the commands share: options, the configuration they choose, exit statuses, lines for failures."""

from __future__ import annotations

import argparse
import os
import sys

TYPE_CHECKING = False  # `typing` itself costs a third of the start-up
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapelint.config import Config
    from shapelint.finding import Failure

CLEAN, FOUND, FAILED = 0, 1, 2
COMMANDS = ("rules", "explain", "probe", "budget", "shapes")


class Failed(Exception):
    """Nothing can be done: the reason for the user."""


def add_configuration(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", metavar="FILE", help="a pyproject.toml (default: the nearest one with [tool.shapelint])"
    )
    parser.add_argument("--isolated", action="store_true", help="read no configuration file")


def add_colour(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colours (default: on a terminal)"
    )


def rule_codes(text: str) -> tuple[str, ...]:
    return tuple(code.strip().upper() for code in text.split(",") if code.strip())


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a positive number, not {text!r}")
    return int(text)


def is_coloured(options: argparse.Namespace) -> bool:
    wanted = options.color == "auto" and sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return bool(options.color == "always" or wanted)


def configuration(options: argparse.Namespace, paths: Sequence[str]) -> Config:
    """The configuration for all `paths`: the file that is named, or the nearest one. Raises Failed."""
    from pathlib import Path

    from shapelint.config import Config, ConfigError, find_config, load_config

    try:
        if options.isolated:
            return Config()
        path = Path(options.config) if options.config else find_config(_common_directory(paths))
        return Config() if path is None else load_config(path)
    except ConfigError as error:
        raise Failed(str(error)) from None


def _common_directory(paths: Sequence[str]) -> str:
    """The directory that holds all that is linted: where the search for a configuration begins."""
    absolute = [os.path.abspath(path) for path in paths]
    return os.path.commonpath([path if os.path.isdir(path) else os.path.dirname(path) for path in absolute])


def not_found(path: str) -> Failed:
    hint = f"; a command stands first: shapelint {path} ..." if path in COMMANDS else ""
    if os.path.exists(path):
        return Failed(f"{path}: neither a file nor a directory; - reads stdin")
    return Failed(f"{path or repr(path)}: no such file or directory{hint}")


def line_of(failure: Failure) -> str:
    """A failure as one line: `train.py:3:7: error: ...`."""
    from shapelint.report.concise import shown

    place = f":{failure.location.row}:{failure.location.column}" if failure.location is not None else ""
    return f"{shown(failure.filename)}{place}: error: {failure.message}"
