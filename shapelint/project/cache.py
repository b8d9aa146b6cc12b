"""What linting came to the last time, for files that have not changed, nor the files they were linted with."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from shapelint.config import Config
from shapelint.finding import Edit, Failure, Finding, Fix, Location, Outcome, Severity, Span, Step
from shapelint.rule import GROUP

if TYPE_CHECKING:
    from shapelint.project.modules import Lookup, Project

DIRECTORY = ".shapelint_cache"


class Cache:
    """Outcomes by file, in one JSON document for each configuration; a damaged one counts as empty."""

    def __init__(self, config: Config, project: Project) -> None:
        self.project = project
        self.directory = os.path.join(config.root, DIRECTORY)
        self.path = os.path.join(self.directory, _fingerprint(config) + ".json")
        self._digests: dict[str, str] = {}
        self._changed = False
        try:
            with open(self.path, encoding="utf-8") as file:
                self._entries: dict[str, Any] = dict(json.load(file))
        except (OSError, ValueError, TypeError):
            self._entries = {}

    def get(self, filename: str, text: str) -> Outcome | None:
        """What a file of this text came to, if all that it was linted with is as it was."""
        entry = self._entries.get(os.path.abspath(filename))
        try:
            if entry is None or entry["text"] != digest(text):
                return None
            for name, from_file, level, answer, content in entry["consulted"]:
                if self.project.resolve(name, from_file, level) != answer or self._digest(answer) != content:
                    return None
            return _load(entry["outcome"], filename)
        except (KeyError, TypeError, ValueError):
            return None

    def put(self, filename: str, text_digest: str, consulted: dict[Lookup, str | None], outcome: Outcome) -> None:
        self._changed = True
        self._entries[os.path.abspath(filename)] = {
            "text": text_digest,
            "consulted": [(*lookup, answer, self._digest(answer)) for lookup, answer in consulted.items()],
            "outcome": asdict(outcome),
        }

    def save(self) -> None:
        """Write what is new; a directory that cannot be written to is no reason to fail."""
        if not self._changed:
            return
        with contextlib.suppress(OSError):
            os.makedirs(self.directory, exist_ok=True)
            ignore = os.path.join(self.directory, ".gitignore")
            if not os.path.exists(ignore):
                with open(ignore, "w", encoding="utf-8") as file:
                    file.write("*\n")
            with tempfile.NamedTemporaryFile("w", dir=self.directory, delete=False, encoding="utf-8") as draft:
                json.dump(self._entries, draft)
            os.replace(draft.name, self.path)
            self._forget_old()

    def _forget_old(self, most: int = 8) -> None:
        """Keep the documents of the configurations that were used last."""
        documents = [entry for entry in os.scandir(self.directory) if entry.name.endswith(".json")]
        for entry in sorted(documents, key=lambda entry: entry.stat().st_mtime)[:-most]:
            os.unlink(entry.path)

    def _digest(self, filename: str | None) -> str | None:
        if filename is None:
            return None
        if filename not in self._digests:
            try:
                with open(filename, "rb") as file:
                    self._digests[filename] = hashlib.blake2b(file.read(), digest_size=16).hexdigest()
            except OSError:
                self._digests[filename] = ""
        return self._digests[filename]


def digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _fingerprint(config: Config) -> str:
    """Of everything that may change an outcome and is no linted file: configuration, our code, every rule."""
    parts: list[object] = [config, sys.version_info[:2]]
    with contextlib.suppress(PackageNotFoundError):
        parts.append(version("libcst"))
    packages = ["shapelint", *(point.module for point in entry_points(group=GROUP))]
    for package in packages:
        spec = find_spec(package)
        for location in (spec.submodule_search_locations or ()) if spec is not None else ():
            for directory, _, names in os.walk(location):
                for name in names:
                    if name.endswith(".py"):
                        found = os.stat(os.path.join(directory, name))
                        parts.append((directory, name, found.st_size, found.st_mtime_ns))
    return digest(repr([*parts[:3], *sorted(map(repr, parts[3:]))]))


def _load(data: dict[str, Any], filename: str) -> Outcome:
    return Outcome(
        tuple(_finding(finding, filename) for finding in data["findings"]),
        tuple(Failure(filename, f["message"], _place(f["location"])) for f in data["failures"]),
    )


def _finding(data: dict[str, Any], filename: str) -> Finding:
    fix = data["fix"]
    return Finding(
        filename,
        Location(**data["start"]),
        Location(**data["end"]),
        data["code"],
        data["name"],
        data["message"],
        Severity(data["severity"]),
        tuple(Step(step["text"], _place(step["location"])) for step in data["trace"]),
        fix
        and Fix(
            fix["message"],
            tuple(Edit(Location(**e["start"]), Location(**e["end"]), e["content"]) for e in fix["edits"]),
            fix["safe"],
        ),
        tuple(Span(Location(**mark["start"]), Location(**mark["end"])) for mark in data["marks"]),
        data["origin"] and _finding(data["origin"], data["origin"]["filename"]),
    )


def _place(data: dict[str, int] | None) -> Location | None:
    return Location(**data) if data else None
