"""Which files are linted: those named, and those found below the directories named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from shapelint.config import Config, patterns

if TYPE_CHECKING:
    from pathspec import PathSpec

    Ignored: TypeAlias = tuple[tuple[str, PathSpec[Any]], ...]  # .gitignore files, innermost last

SKIPPED = frozenset({
    ".git", ".hg", ".svn", ".venv", "venv", ".tox", ".nox", ".eggs", "__pycache__", "__pypackages__", "node_modules",
    "site-packages", "build", "dist", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".shapelint_cache",
})  # fmt: skip


class NoSuchPath(Exception):
    """A path on the command line that is neither a file nor a directory."""


def find_files(paths: Iterable[str], config: Config, force_exclude: bool = False) -> list[str]:
    """The files to lint, each once: named files always, those below named directories by their name.

    Directories are searched in alphabetical order. Raises NoSuchPath.
    """
    found: dict[str, str] = {}
    for path in paths:
        if os.path.isdir(path):
            below = _search(os.path.normpath(path), _enclosing(path), config)
        elif os.path.isfile(path):  # a pipe could be read once only, and a device is endless
            below = iter(() if force_exclude and config.excludes(path) else (path,))
        else:
            raise NoSuchPath(path)
        for file in below:
            found.setdefault(os.path.abspath(file), file)
    return list(found.values())


def _search(directory: str, ignored: Ignored, config: Config) -> Iterator[str]:
    ignored += _gitignore(directory)
    try:
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = os.path.normpath(entry.path)
        if entry.is_dir(follow_symlinks=False):
            skipped = entry.name in SKIPPED or os.path.exists(os.path.join(path, "pyvenv.cfg"))
            if not skipped and not _is_ignored(path + "/", ignored) and not config.excludes(path + "/"):
                yield from _search(path, ignored, config)
        elif entry.name.endswith(".py") and _is_file(entry) and not _is_ignored(path, ignored):
            yield from () if config.excludes(path) else (path,)


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Not so a link to nowhere, which is an editor's lock, nor a pipe, which would keep us waiting."""
    return entry.is_file(follow_symlinks=False) or os.path.isfile(entry.path)


def _enclosing(directory: str) -> Ignored:
    """The .gitignore files of the repository above a directory, unless they ignore the directory itself."""
    above: list[str] = []
    parent = os.path.abspath(directory)
    while not os.path.exists(os.path.join(parent, ".git")):
        parent, child = os.path.dirname(parent), parent
        if parent == child:
            return ()
        above.insert(0, parent)
    ignored = tuple(spec for path in above for spec in _gitignore(path))
    return () if _is_ignored(directory + "/", ignored) else ignored


def _gitignore(directory: str) -> Ignored:
    try:
        with open(os.path.join(directory, ".gitignore"), encoding="utf-8", errors="replace") as file:
            return ((os.path.abspath(directory), patterns(file)),)
    except (OSError, ValueError):
        return ()


def _is_ignored(path: str, ignored: Ignored) -> bool:
    for directory, spec in reversed(ignored):
        inside = os.path.relpath(path, directory).replace(os.sep, "/") + "/" * path.endswith("/")
        if (decided := spec.check_file(inside).include) is not None:
            return decided
    return False
