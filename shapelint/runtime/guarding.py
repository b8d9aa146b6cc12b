"""The broadcast guard: what operations of torch, NumPy and JAX do to their operands, while they do it."""

from __future__ import annotations

import ast
import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from shapelint.runtime.catches import BroadcastError, BroadcastWarning, Catch, Shape, outer_pair, sides_differ
from shapelint.runtime.intent import Reader, operands
from shapelint.runtime.places import executing, source_line, user_frames

Action = Literal["raise", "warn", "record"]


class State(threading.local):
    """The guards that are on in this thread; the innermost one decides."""

    def __init__(self) -> None:
        self.guards: list[Guard] = []
        self.allowed = 0

    @property
    def on(self) -> bool:
        return bool(self.guards) and not self.allowed


state = State()


class Guard:
    """What `guard()` gives: `catches` are the operations that were caught, each place once."""

    def __init__(self, action: Action) -> None:
        self.action: Action = action
        self.places: dict[tuple[str, int, tuple[Shape, Shape]], Catch] = {}

    @property
    def catches(self) -> tuple[Catch, ...]:
        return tuple(self.places.values())

    def take(self, catch: Catch) -> None:
        __tracebackhide__ = True
        known = self.places.setdefault((catch.filename, catch.line, catch.shapes), catch)
        if self.action == "raise":
            raise BroadcastError(catch.message)
        if self.action == "warn" and known is catch:
            warnings.warn_explicit(catch.message, BroadcastWarning, catch.filename, catch.line)

    def report(self) -> str:
        """The catches, each as a line for a report or an annotation, and whether the linter sees it as well."""
        from shapelint.runtime.agreement import agreement

        return agreement(self.catches)


@contextlib.contextmanager
def guard(action: Action = "raise") -> Iterator[Guard]:
    """Within it, an operation whose operands broadcast against each other, or a loss whose sides differ, is an error.

    `action="warn"` warns with BroadcastWarning at the user's line, `"record"` only notes it in `catches`. Torch is
    watched in this thread wherever the operation stands, JAX when a function is traced or run op by op, NumPy in the
    functions of the user's own modules that are imported by then. Raises ValueError for another action.
    """
    if action not in ("raise", "warn", "record"):
        raise ValueError(f"action is raise, warn or record, not {action!r}")
    from shapelint.runtime.imports import when_imported

    here = Guard(action)
    with contextlib.ExitStack() as stack:
        for library, enter in GUARDS.items():
            stack.enter_context(when_imported(library, lambda enter=enter: stack.enter_context(enter())))  # type: ignore[misc]
        state.guards.append(here)
        try:
            yield here
        finally:
            state.guards.remove(here)


@contextlib.contextmanager
def allow() -> Iterator[None]:
    """Within it, or in a function decorated with it, operands may broadcast against each other."""
    state.allowed += 1
    try:
        yield
    finally:
        state.allowed -= 1


def _torch() -> contextlib.AbstractContextManager[Any]:
    from shapelint.runtime.torchguard import TorchGuard

    return TorchGuard()


def _numpy() -> contextlib.AbstractContextManager[Any]:
    from shapelint.runtime.numpyguard import numpy_guard

    return numpy_guard()


def _jax() -> contextlib.AbstractContextManager[Any]:
    from shapelint.runtime.jaxguard import jax_guard

    return jax_guard()


GUARDS: dict[str, Callable[[], contextlib.AbstractContextManager[Any]]] = {
    "torch": _torch,
    "numpy": _numpy,
    "jax.numpy": _jax,
}


def watch(operation: str, shapes: Sequence[Shape]) -> None:
    """An elementwise operation on operands of these shapes is about to run."""
    __tracebackhide__ = True
    pair = outer_pair(shapes)
    if pair is not None and state.on:
        _caught(operation, shapes, pair, is_loss=False)


def watch_loss(operation: str, prediction: Shape, target: Shape) -> None:
    """A loss is about to be taken of these two sides."""
    __tracebackhide__ = True
    if sides_differ(prediction, target) and state.on:
        _caught(operation, (prediction, target), (0, 1), is_loss=True)


def _caught(operation: str, shapes: Sequence[Shape], pair: tuple[int, int], is_loss: bool) -> None:
    __tracebackhide__ = True
    frame = next(user_frames(), None)
    if frame is None:
        return
    filename, line = frame.f_code.co_filename, frame.f_lineno
    a, b = shapes[pair[0]], shapes[pair[1]]
    node = executing(frame)
    written = operands(node) if node is not None else []
    if (written and _meant(Reader(frame), written, (a, b), is_loss)) or _silenced(filename, line):
        return
    names = _names(node, written, operation, len(shapes), is_loss)
    text = source_line(filename, line)
    catch = Catch(filename, line, text, operation, (names[pair[0]], names[pair[1]]), (a, b), is_loss)
    state.guards[-1].take(catch)


def _names(node: Any, written: Sequence[ast.expr], operation: str, count: int, is_loss: bool) -> list[str]:
    """The operands as they are written, if it is this operation that is written there, else their positions."""
    called = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else None
    if called is None or is_loss or called == operation:
        names = [f"`{ast.unparse(item)}`" for item in written[max(0, len(written) - count) :]]
        if len(names) == count and all(len(name) <= 60 for name in names):
            return names
    return [f"operand {i + 1}" for i in range(count)]


def _meant(reader: Reader, written: Sequence[Any], shapes: tuple[Shape, Shape], is_loss: bool) -> bool:
    """An explicit axis on an operand is intent, on both sides of a loss; a reshape is where the sizes differ."""
    evidence = [set(reader.evidence(item)) for item in written]
    if is_loss:
        return sum("inserted" in found for found in evidence) > 1
    sizes = [{size for size in shape if size != 1} for shape in shapes]
    return any("inserted" in found or ("reshaped" in found and sizes[0] != sizes[1]) for found in evidence)


def _silenced(filename: str, line: int) -> bool:
    """The line carries a comment that silences the linter there."""
    text = source_line(filename, line)
    if "#" not in text:
        return False
    from shapelint.suppressions import suppressions

    return any(not s.codes or "SHP101".startswith(s.codes) or "SHP102".startswith(s.codes) for s in suppressions(text))
