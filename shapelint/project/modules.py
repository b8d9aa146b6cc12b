"""The files that are linted together: which file an import means, its tree, and whether tensors can reach it."""

from __future__ import annotations

import os
import re
import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from shapelint import source

if TYPE_CHECKING:
    import libcst

# Of source text whose syntax trees are kept: more than a large package has, less than a machine can hold.
MOST_CHARACTERS = 8_000_000  # about 400 MB
ROOT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<dots>\.*)[ \t]*(?P<module>[\w.]*)[ \t]+"
    r"import[ \t]*(?:\((?P<many>[^)]*)\)|(?P<few>[^\n]*))"
    r"|import[ \t]+(?P<modules>[^\n]*))",
    re.MULTILINE,
)
_NAME = re.compile(r"[\w.]+")

Lookup: TypeAlias = tuple[str, str, int]  # dotted name, from which file, level


class Project:
    """Answers the interpreter's questions about other files; parses each of them once, while the trees fit."""

    def __init__(self, roots: Iterable[str] = ()) -> None:
        self.roots = tuple(package_root(os.path.abspath(root)) for root in roots)
        self.scopes: dict[str, object] = {}  # the interpreter's: names of the modules that were executed for an import
        self.transparent: set[object] = set()  # the interpreter's: decorators that gave back what they got
        # By file: its tree, and what is reported of it without others that call it (rules' codes and ids of nodes).
        self.reported: dict[str, tuple[object, frozenset[tuple[str, int]]]] = {}
        self._trees: OrderedDict[str, tuple[libcst.Module, int]] = OrderedDict()
        self._characters = 0  # of the texts of these trees
        self._facts: dict[str, tuple[bool, tuple[str, ...]]] = {}  # of a file: names tensors, imports these files
        self._reaching: dict[str, bool] = {}
        self._search_paths: dict[str, tuple[str, ...]] = {}
        self._asked: dict[str, dict[Lookup, str | None]] = {}  # by the file that imports: what was asked, the answer
        self._modules: dict[tuple[str, tuple[str, ...]], str | None] = {}
        self._entries: dict[str, frozenset[str]] = {}  # by directory: what it holds

    def module_source(self, dotted_name: str, from_file: str, level: int) -> tuple[str, libcst.Module] | None:
        """File name and tree of an imported module; None where it is no file of the project, or unreadable."""
        asked = self._asked.setdefault(os.path.abspath(from_file), {})
        lookup = dotted_name, from_file, level
        if lookup not in asked:
            asked[lookup] = self.resolve(*lookup)
        filename = asked[lookup]
        if filename is None:
            return None
        try:
            return filename, self.tree(filename)
        except (OSError, source.Unreadable):
            return None

    def consulted(self, filename: str) -> dict[Lookup, str | None]:
        """All that was asked on behalf of a file: by itself, and by the files that it was answered with."""
        found: dict[Lookup, str | None] = {}
        seen = {os.path.abspath(filename)}
        queue = list(seen)
        for current in queue:
            answers = self._asked.get(current, {})
            found |= answers
            fresh = {answer for answer in answers.values() if answer is not None} - seen
            seen |= fresh
            queue += sorted(fresh)
        return found

    def resolve(self, dotted_name: str, from_file: str, level: int) -> str | None:
        """The file that `from <level dots><dotted_name> import ...` means in a file."""
        parts = [part for part in dotted_name.split(".") if part]
        directory = os.path.dirname(os.path.abspath(from_file))
        if level:
            for _ in range(level - 1):
                directory = os.path.dirname(directory)
            return self._module(directory, parts)
        if not parts or parts[0] in sys.stdlib_module_names:
            return None
        if parts[0] in source.TENSOR_LIBRARIES and not is_inside(directory, parts[0]):
            return None
        for root in (*self._search_path(directory), *self.roots):
            if found := self._module(root, parts):
                return found
        return None

    def _search_path(self, directory: str) -> tuple[str, ...]:
        """Where absolute imports of a file are looked up: its package's root, then up to the repository's root."""
        if directory not in self._search_paths:
            top = package_root(directory)
            enclosing = []
            while not any(os.path.exists(os.path.join(top, mark)) for mark in ROOT_MARKS):
                enclosing.append(top)
                if top == (top := os.path.dirname(top)):
                    del enclosing[1:]  # no repository: only the package's root itself
                    break
            else:
                enclosing.append(top)
            self._search_paths[directory] = tuple(p for root in enclosing for p in (root, os.path.join(root, "src")))
        return self._search_paths[directory]

    def _module(self, directory: str, parts: list[str]) -> str | None:
        if parts and parts[0] not in self._names_in(directory):
            return None
        key = directory, tuple(parts)
        if key not in self._modules:
            path = os.path.join(directory, *parts)
            candidates = (os.path.join(path, "__init__.py"), *([path + ".py"] if parts else []))
            self._modules[key] = next(filter(os.path.isfile, candidates), None)
        return self._modules[key]

    def _names_in(self, directory: str) -> frozenset[str]:
        """The names of what may be imported from a directory: most imports are of what is installed elsewhere."""
        if directory not in self._entries:
            try:
                found = os.listdir(directory)
            except OSError:
                found = []
            self._entries[directory] = frozenset(name.removesuffix(".py") for name in found)
        return self._entries[directory]

    def text(self, filename: str) -> str:
        """The text of a file. Raises OSError, Unreadable."""
        with open(filename, "rb") as file:
            return source.decode(file.read())

    def tree(self, filename: str, text: str | None = None) -> libcst.Module:
        """The syntax tree of a file. Raises OSError, Unreadable."""
        key = os.path.abspath(filename)
        if key not in self._trees:
            text = self.text(filename) if text is None else text
            self._trees[key] = source.parse(text), len(text)
            self._characters += len(text)
            while len(self._trees) > 1 and self._characters > MOST_CHARACTERS:
                name, (tree, size) = self._trees.popitem(last=False)
                if name in self.reported and self.reported[name][0] is tree:
                    del self.reported[name]
                self._characters -= size
        self._trees.move_to_end(key)
        return self._trees[key][0]

    def reaches_tensors(self, filename: str, text: str) -> bool:
        """Whether a tensor library is named in a file, or in a file that it imports, directly or not."""
        start = os.path.abspath(filename)
        self._facts[start] = self._read_facts(start, text)
        seen, queue = {start}, [start]
        for current in queue:
            if current not in self._facts:
                try:
                    self._facts[current] = self._read_facts(current, self.text(current))
                except (OSError, source.Unreadable):
                    self._facts[current] = False, ()
            names_tensors, imported = self._facts[current]
            if names_tensors or self._reaching.get(current):
                self._reaching[start] = True
                return True
            fresh = [file for file in imported if file not in seen and self._reaching.get(file) is not False]
            seen.update(fresh)
            queue += fresh
        self._reaching.update(dict.fromkeys(seen, False))
        return False

    def _read_facts(self, filename: str, text: str) -> tuple[bool, tuple[str, ...]]:
        if source.MENTIONS_TENSORS.search(text):
            return True, ()
        found = (self.resolve(name, filename, level) for name, level in _imports(text))
        return False, tuple(dict.fromkeys(file for file in found if file is not None))


def package_root(directory: str) -> str:
    """The directory that a package's directory is imported from: the nearest one that is no package itself."""
    while os.path.isfile(os.path.join(directory, "__init__.py")) and directory != os.path.dirname(directory):
        directory = os.path.dirname(directory)
    return directory


def is_inside(directory: str, package: str) -> bool:
    """Whether a directory belongs to a package of this name: a library's own files import one another."""
    while directory != (outer := os.path.dirname(directory)):
        if os.path.basename(directory) == package and os.path.isfile(os.path.join(directory, "__init__.py")):
            return True
        directory = outer
    return False


def _imports(text: str) -> Iterator[tuple[str, int]]:
    """The modules that a text may import, by dotted name and level; read off its lines, not parsed."""
    for found in _IMPORT.finditer(text):
        if found["modules"] is not None:
            yield from ((name, 0) for name in _NAME.findall(found["modules"]))
            continue
        module, level = found["module"], len(found["dots"])
        yield module, level
        for name in _NAME.findall(found["many"] or found["few"] or ""):
            yield f"{module}.{name}" if module else name, level
