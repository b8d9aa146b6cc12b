"""Something to do as soon as a library is there: at once, or when the program imports it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class Waiting(MetaPathFinder):
    """Finds nothing itself: lets the others find the module, and calls back once it was executed."""

    def __init__(self, name: str, then: Callable[[], object]) -> None:
        self.name, self.then = name, then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is not None and spec.loader is not None:
            loader, execute = spec.loader, spec.loader.exec_module

            def executed(module: ModuleType) -> Any:
                execute(module)
                self.then()

            loader.exec_module = executed  # type: ignore[method-assign]
        return spec


@contextlib.contextmanager
def when_imported(name: str, then: Callable[[], object]) -> Iterator[None]:
    """Calls `then` now if the module is there, else when it is imported within the block."""
    if name in sys.modules:
        then()
        yield
        return
    waiting = Waiting(name, then)
    sys.meta_path.insert(0, waiting)
    try:
        yield
    finally:
        if waiting in sys.meta_path:
            sys.meta_path.remove(waiting)
