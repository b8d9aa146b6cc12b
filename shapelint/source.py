"""Bytes in, syntax tree and places out: decoding, parsing that survives hostile files, positions of single nodes."""

from __future__ import annotations

import ast
import gc
import io
import re
import subprocess
import sys
import tokenize
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from shapelint.domain.tokens import forget_scopes
from shapelint.finding import Location

if TYPE_CHECKING:
    import libcst

# A file that names none of these can hold no tensor, unless it imports a file of the project that does.
TENSOR_LIBRARIES = ("torch", "numpy", "jax", "einops", "einx", "flax", "equinox", "optax", "haiku", "lightning")
MENTIONS_TENSORS = re.compile(rf"\b(?:py)?(?:{'|'.join(TENSOR_LIBRARIES)})")

# CPython refuses more than 200 open brackets; the native parser runs out of stack somewhere above a thousand.
DEEPEST_BRACKETS = 300
LONGEST_LINE = 20_000
MOST_ELIFS = 3_000
PROBE_SECONDS = 20

BRACKET = re.compile(r"[()\[\]{}]")
NEWLINE = re.compile(r"\r\n?|\n")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"()[]{}"))
_STEP = {byte: 1 if byte in b"([{" else -1 for byte in b"()[]{}"}
_PROBE = "import sys, libcst; libcst.parse_module(sys.stdin.buffer.read().decode())"


class Unreadable(Exception):
    """A file that cannot be turned into a syntax tree: why, and where if that is known."""

    def __init__(self, message: str, location: Location | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.location = location


def decode(data: bytes) -> str:
    """The text of a Python file, by its byte order mark or coding line. Raises Unreadable."""
    if b"\0" in data:
        row = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise Unreadable("source contains null bytes", Location(row, 1))
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data.replace(b"\r", b"\n")).readline)
    except SyntaxError as error:
        raise Unreadable(f"cannot be decoded: {error}", Location(1, 1)) from None
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"cannot be decoded as {encoding}: {error.reason}", Location(row, 1)) from None
    except (LookupError, ValueError) as error:
        raise Unreadable(f"cannot be decoded: {error}", Location(1, 1)) from None


def parse(text: str) -> libcst.Module:
    """The syntax tree of a text, with the garbage collector paused. Raises Unreadable."""
    import libcst

    if "\0" in text:
        raise Unreadable("source contains null bytes", Location(text.count("\n", 0, text.index("\0")) + 1, 1))
    try:
        if (row := _row_of_risk(text)) and not _survives_parsing(text):
            raise Unreadable("too deeply nested or too long to be parsed", Location(row, 1))
        with paused_gc(), _lean():
            return libcst.parse_module(text)
    except libcst.ParserSyntaxError as error:
        raise _refusal(text, error) from None
    except RecursionError:
        raise Unreadable("too deeply nested to be parsed") from None
    except (Unreadable, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the native parser is no Exception
        raise Unreadable(f"cannot be parsed: {type(error).__name__}: {error}") from None


def _refusal(text: str, error: libcst.ParserSyntaxError) -> Unreadable:
    """Why a text has no syntax tree: Python's own parser says it better, where it refuses the text as well."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of invalid escapes and the like
            compile(text, "<text>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as better:
        return Unreadable(f"cannot be parsed: {better.msg}", Location(better.lineno or 1, max(better.offset or 1, 1)))
    except (ValueError, RecursionError, MemoryError):
        pass
    reason = error.message.removeprefix("parser error: ").partition(" at ")[0]
    message = "cannot be parsed" if reason == "error" else f"cannot be parsed: {reason}"
    return Unreadable(message, Location(error.editor_line, error.editor_column))


@contextmanager
def _lean() -> Iterator[None]:
    """What the parser builds is not validated node by node, and equal whitespace is one node: a fifth of a parse.

    The checks are meant for trees made by hand, and half of all nodes are whitespace, whose places nobody asks for.
    """
    import libcst

    if getattr(libcst.CSTNode, VALIDATE, _accept) is _accept:
        yield  # another thread is parsing, or this libcst does without
        return
    validate, kinds = getattr(libcst.CSTNode, VALIDATE), {name: getattr(libcst, name) for name in SHARED}
    try:
        setattr(libcst.CSTNode, VALIDATE, _accept)
        vars(libcst).update({name: cache(kind) for name, kind in kinds.items()})
        yield
    finally:
        setattr(libcst.CSTNode, VALIDATE, validate)
        vars(libcst).update(kinds)


VALIDATE = "__post_init__"
SHARED = ("SimpleWhitespace", "Newline", "TrailingWhitespace")


def _accept(node: libcst.CSTNode) -> None:
    pass


def _row_of_risk(text: str) -> int | None:
    """Where a cheap look finds what overflows the native stack: an overflow would end the whole process."""
    if text.count("(") + text.count("[") + text.count("{") > DEEPEST_BRACKETS:
        brackets = text.encode(errors="replace").translate(None, _NOT_BRACKETS)
        if max(accumulate(_STEP[byte] for byte in brackets)) > DEEPEST_BRACKETS:
            return _row_of_depth(text)
    if text.count("elif") > MOST_ELIFS:
        return text.count("\n", 0, text.index("elif")) + 1
    if len(text) > LONGEST_LINE:
        length, row = max((len(line), row) for row, line in enumerate(text.split("\n"), 1))
        return row if length > LONGEST_LINE else None
    return None


def _row_of_depth(text: str) -> int:
    brackets = list(BRACKET.finditer(text))
    depths = accumulate(1 if bracket[0] in "([{" else -1 for bracket in brackets)
    first = next(bracket for bracket, depth in zip(brackets, depths) if depth > DEEPEST_BRACKETS)
    return text.count("\n", 0, first.start()) + 1


def _survives_parsing(text: str) -> bool:
    """Try a suspicious text in a process of its own first."""
    try:
        probe = subprocess.run(
            [sys.executable, "-c", _PROBE],
            input=text.encode(errors="surrogatepass"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=PROBE_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return False
    return probe.returncode >= 0  # a signal ended it; a syntax error is for the caller to find


@contextmanager
def paused_gc() -> Iterator[None]:
    """Pause the collector: it would walk the young syntax tree again and again, and find nothing in it.

    Syntax trees and events are many objects and hardly ever cycles.

    What was made meanwhile counts as old afterwards, or the first object made then would have all of it walked.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.freeze()
            gc.unfreeze()
            gc.enable()


MOST_OBJECTS = 15_000_000  # about a gigabyte


def collect_when_full() -> None:
    """Between two files: what many of them left behind is freed once it is much, and not looked at before."""
    if gc.get_count()[0] > MOST_OBJECTS:
        forget_scopes(0)
        gc.collect()


def lines(text: str) -> list[str]:
    """The lines of a text as Python counts them: no other character than a newline ends one."""
    return NEWLINE.split(text)
