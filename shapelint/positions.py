"""Positions of single nodes: the text is generated once, several times as fast as the positions of all nodes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

import libcst
from libcst._nodes.internal import CodegenState

from shapelint.finding import Location
from shapelint.source import NEWLINE


def places(module: libcst.Module, nodes: Iterable[Any]) -> dict[int, tuple[Location, Location]]:
    """Start and end of the given nodes, by their id; a compound statement ends with its header.

    Nodes that are not in the tree have no place.
    """
    state = _Recorder(module, nodes)
    try:
        if state.missing:
            module._codegen(state)
    except _AllFound:
        pass
    locate = _locator(state.tokens)
    found: dict[int, tuple[Location, Location]] = {}
    for key, (start, end) in state.spans.items():
        found[key] = locate(start), locate(state.begun.get(id(_suite(state.wanted[key])), end))
    return found


class _AllFound(Exception):
    """The last wanted node has been generated: the rest of the text is not needed."""


class _Recorder(CodegenState):
    """Generates the text of a module as tokens, and notes between which of them the wanted nodes stand."""

    def __init__(self, module: libcst.Module, nodes: Iterable[Any]) -> None:
        super().__init__(module.default_indent, module.default_newline)
        self.wanted = {id(node): node for node in nodes}
        self.missing = set(self.wanted)
        for node in tuple(self.wanted.values()):
            if (suite := _suite(node)) is not None:
                self.wanted[id(suite)] = suite
        self.begun: dict[int, int] = {}  # by id: how many tokens stood before the node
        self.spans: dict[int, tuple[int, int]] = {}

    def before_codegen(self, node: Any) -> None:
        if id(node) in self.wanted:
            self.begun[id(node)] = len(self.tokens)

    def after_codegen(self, node: Any) -> None:
        if id(node) in self.wanted:
            self.spans.setdefault(id(node), (self.begun[id(node)], len(self.tokens)))
            self.missing.discard(id(node))
            if not self.missing:
                raise _AllFound

    @contextmanager
    def record_syntactic_position(self, node: Any, *, start_node: Any = None, end_node: Any = None) -> Iterator[None]:
        if id(node) not in self.wanted:
            yield
            return
        self.wanted.update((id(n), n) for n in (start_node, end_node) if n is not None)
        start = len(self.tokens)
        yield
        end = len(self.tokens)
        start = self.spans[id(start_node)][0] if start_node is not None else start
        self.spans[id(node)] = (start, self.spans[id(end_node)][1] if end_node is not None else end)


def _suite(node: Any) -> Any | None:
    """The indented part of a compound statement."""
    body = getattr(node, "body", None)
    return body if type(body).__name__ in ("IndentedBlock", "SimpleStatementSuite") else None


def _locator(tokens: list[str]) -> Callable[[int], Location]:
    """A function from a number of tokens to the place where they end."""
    offsets = [0, *accumulate(map(len, tokens))]
    lines = [0, *(newline.end() for newline in NEWLINE.finditer("".join(tokens)))]

    def locate(count: int) -> Location:
        # The last newline of the file may have been taken back.
        offset = offsets[min(count, len(tokens))]
        row = bisect_right(lines, offset)
        return Location(row, offset - lines[row - 1] + 1)

    return locate
