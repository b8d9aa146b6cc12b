"""`[tool.shapelint]`: which rules run where. Everything unknown in it is an error that says so."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shapelint.rule import Rule, discover

if TYPE_CHECKING:
    from pathspec import PathSpec

LISTS = ("select", "extend-select", "ignore", "exclude")
KEYS = (*LISTS, "per-file-ignores")


class ConfigError(Exception):
    """A configuration that cannot be meant: names the file and the key."""


@dataclass(frozen=True)
class Config:
    """Codes are prefixes ("SHP1"); a longer prefix outweighs a shorter one. Patterns are those of .gitignore."""

    select: tuple[str, ...] = ()  # empty: the rules that are on by default
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    report_unused_suppressions: bool = False
    root: str = field(default_factory=os.getcwd)  # what patterns are relative to

    def rules(self, filename: str) -> tuple[Rule, ...]:
        """The rules that are on for a file."""
        ignore = self.ignore
        if self.per_file_ignores:
            path = self.relative(filename)
            ignore += tuple(c for spec, codes in self._ignores_by_path if path and spec.match_file(path) for c in codes)
        return tuple(rule for rule in discover() if self._is_on(rule, ignore))

    def _is_on(self, rule: Rule, ignore: Iterable[str]) -> bool:
        wanted = _longest((*self.select, *self.extend_select), rule)
        if wanted is None and not self.select and rule.default:
            wanted = 0
        if wanted is None:
            return False
        unwanted = _longest(ignore, rule)
        return unwanted is None or wanted > unwanted

    def names(self, rule: Rule) -> bool:
        """Whether a rule is asked for by its code, not only on by default."""
        return any(_covers(code, rule) for code in (*self.select, *self.extend_select))

    def excludes(self, path: str) -> bool:
        """Whether a file or directory (with a slash at its end) is excluded by a pattern."""
        inside = self.relative(path) if self.exclude else None
        return inside is not None and self._excluded.match_file(inside + "/" * path.endswith("/"))

    def relative(self, path: str) -> str | None:
        """The path as patterns see it, or None for a path outside the root."""
        inside = os.path.relpath(path, self.root)
        return None if inside.startswith(os.pardir) else inside.replace(os.sep, "/")

    @cached_property
    def _excluded(self) -> PathSpec[Any]:
        return patterns(self.exclude)

    @cached_property
    def _ignores_by_path(self) -> list[tuple[PathSpec[Any], tuple[str, ...]]]:
        return [(patterns([pattern]), codes) for pattern, codes in self.per_file_ignores]

    def overridden(
        self, select: tuple[str, ...] | None, extend_select: tuple[str, ...], ignore: tuple[str, ...]
    ) -> Config:
        """This configuration under what the command line asks: later wishes outweigh earlier ones."""
        if select is not None:
            return replace(self, select=select, extend_select=extend_select, ignore=ignore)
        kept = tuple(code for code in self.ignore if not any(code.startswith(wish) for wish in extend_select))
        return replace(self, extend_select=self.extend_select + extend_select, ignore=kept + ignore)


def patterns(lines: Iterable[str]) -> PathSpec[Any]:
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(lines)


def _covers(code: str, rule: Rule) -> bool:
    return code == "ALL" or rule.code.startswith(code)


def _longest(codes: Iterable[str], rule: Rule) -> int | None:
    return max((0 if code == "ALL" else len(code) for code in codes if _covers(code, rule)), default=None)


def find_config(start: str) -> Path | None:
    """The nearest pyproject.toml with a [tool.shapelint] table, at `start` or above."""
    directory = Path(start).absolute()
    for candidate in (directory, *directory.parents):
        path = candidate / "pyproject.toml"
        if path.is_file() and _table(path) is not None:
            return path
    return None


def load_config(path: Path) -> Config:
    """The configuration in a pyproject.toml. Raises ConfigError."""
    table = _table(path) or {}
    for key in table:
        if key not in KEYS:
            raise ConfigError(f"{path}: unknown key {key!r} in [tool.shapelint]; known are {', '.join(KEYS)}")
    for key in LISTS:
        _require_strings(path, key, table.get(key, []))
    per_file = table.get("per-file-ignores", {})
    if not isinstance(per_file, dict):
        raise ConfigError(f"{path}: per-file-ignores in [tool.shapelint] must be a table of patterns")
    for pattern, codes in per_file.items():
        _require_strings(path, f"per-file-ignores.{pattern!r}", codes)
    config = Config(
        select=tuple(table.get("select", ())),
        extend_select=tuple(table.get("extend-select", ())),
        ignore=tuple(table.get("ignore", ())),
        exclude=tuple(table.get("exclude", ())),
        per_file_ignores=tuple((pattern, tuple(codes)) for pattern, codes in per_file.items()),
        root=str(path.absolute().parent),
    )
    for key, codes in (("select", config.select), ("extend-select", config.extend_select), ("ignore", config.ignore)):
        require_codes(codes, f"{path}: {key}")
    for pattern, codes in config.per_file_ignores:
        require_codes(codes, f"{path}: per-file-ignores.{pattern!r}")
    _require_patterns(path, (*config.exclude, *per_file))
    return config


def require_codes(codes: Iterable[str], where: str) -> None:
    """Raises ConfigError for a code that no rule has."""
    for code in codes:
        if not any(_covers(code, rule) and code for rule in discover()):
            raise ConfigError(f"{where}: unknown rule code {code!r}")


def _require_strings(path: Path, key: str, value: object) -> None:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{path}: {key} in [tool.shapelint] must be a list of strings, not {value!r}")


def _require_patterns(path: Path, lines: Iterable[str]) -> None:
    for line in lines:
        try:
            patterns([line])
        except ValueError as error:
            raise ConfigError(f"{path}: {error}") from None


def _table(path: Path) -> Mapping[str, Any] | None:
    try:
        with path.open("rb") as file:
            tool = tomllib.load(file).get("tool", {})
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    table = tool.get("shapelint") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: [tool.shapelint] must be a table")
    return table
