"""The same findings as flake8 codes, so that every editor with flake8 shows them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import shapelint


class Plugin:
    """A flake8 checker: one instance a file."""

    name = "shapelint"
    version = shapelint.__version__

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        self.filename = filename
        self.lines = lines

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Row (from 1), column (from 0), text and type of each finding. What flake8 itself reports is left to it."""
        from shapelint.config import Config, ConfigError, find_config, load_config
        from shapelint.project.driver import lint_text_of

        try:
            path = find_config(".")
            config = Config() if path is None else load_config(path)
        except ConfigError:
            config = Config()
        outcome = lint_text_of("".join(self.lines), self.filename, config)
        for finding in outcome.findings:
            message = f"{finding.code} [{finding.name}] {finding.message}"
            yield finding.start.row, finding.start.column - 1, message, type(self)
