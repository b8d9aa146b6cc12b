"""`shapelint shapes FILE`: the source with the shape of every binding beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shapelint.domain.values import Dict, Many, Tensor, Tuple, Union, Unknown, Value
from shapelint.finding import Failure, Location

if TYPE_CHECKING:
    from shapelint.inspection.bindings import Binding

WIDEST = 78  # where the shapes stand at most, in columns; longer lines have them right behind
GAP = 2
UNKNOWN = "?"
NEWLINE = re.compile(r"\r\n?|\n")


@dataclass(frozen=True)
class Note:
    """A binding as it is shown: where its name stands, and what is known of it."""

    place: Location
    name: str
    text: str
    function: str
    tensor: Tensor | None = None  # where it is one tensor


def show(filename: str, as_json: bool = False, colour: bool = False) -> tuple[str, list[Failure]]:
    """What is printed for a file; empty where it cannot be read."""
    from shapelint.inspection.bindings import bindings_of
    from shapelint.source import Unreadable

    try:
        text, bindings, places = bindings_of(filename)
    except Unreadable as error:
        return "", [Failure(filename, error.message, error.location)]
    except OSError as error:
        return "", [Failure(filename, f"cannot be read: {error.strerror or error}")]
    except RecursionError:
        return "", [Failure(filename, "too deeply nested to be analysed")]
    found = notes(bindings, places)
    return render_json(found) if as_json else render(NEWLINE.split(text.removesuffix("\n")), found, colour), []


def notes(bindings: Sequence[Binding], places: dict[int, tuple[Location, Location]]) -> list[Note]:
    """The bindings that are or may be tensors, in the order of the source."""
    found = []
    for binding in bindings:
        texts = dict.fromkeys(text for value in binding.values if (text := describe(value)) is not None)
        if texts and id(binding.node) in places:
            first = binding.values[0]
            tensor = first if isinstance(first, Tensor) and len(binding.values) == 1 else None
            start, _ = places[id(binding.node)]
            found.append(Note(start, binding.name, " | ".join(texts), binding.function, tensor))
    return sorted(found, key=lambda note: note.place)


def describe(value: Value) -> str | None:
    """What is shown of a value; None for what is no tensor and holds none."""
    match value:
        case Tensor(shape=shape, dtype=dtype):
            return f"{shape} {dtype}" if dtype is not None else str(shape)
        case Unknown():
            return UNKNOWN
        case Tuple(items=items, kind=kind) if kind != "size":
            parts = [describe(item) for item in items]
            shown = ", ".join(part if part is not None else "·" for part in parts)
            return f"[{shown}]" if any(part not in {None, UNKNOWN} for part in parts) else None
        case Many(item=item, kind=kind) if kind != "size":
            inner = describe(item)
            return f"[{inner}, ...]" if inner not in {None, UNKNOWN} else None
        case Dict(items=items):
            known = ((key, text) for key, item in items if (text := describe(item)) not in {None, UNKNOWN})
            shown = ", ".join(f"{key}: {text}" for key, text in known)
            return f"{{{shown}}}" if shown else None
        case Union(options=options):
            texts = [text for option in options if (text := describe(option)) is not None]
            return " | ".join(dict.fromkeys(texts)) or None
    return None


def render(lines: Sequence[str], found: Sequence[Note], colour: bool = False) -> str:
    """The lines with their notes, in columns of their own."""
    if colour:
        return _coloured(lines, found)
    return "".join(f"{left}{' ' * gap}# {right}\n" if right else f"{left}\n" for left, gap, right in rows(lines, found))


def rows(lines: Sequence[str], found: Sequence[Note]) -> Iterator[tuple[str, int, str]]:
    """Of each line: its source, how many columns the notes are away, and the notes."""
    by_row: dict[int, list[Note]] = {}
    for note in found:
        by_row.setdefault(note.place.row, []).append(note)
    noted = [len(line.expandtabs()) for row, line in enumerate(lines, 1) if row in by_row]
    column = max((length for length in noted if length <= WIDEST), default=0) + GAP
    for row, line in enumerate(lines, 1):
        left = line.expandtabs().rstrip()
        right = "  ".join(f"{note.name}: {note.text}" for note in by_row.get(row, ()))
        yield left, max(column - len(left), GAP), right


def _coloured(lines: Sequence[str], found: Sequence[Note]) -> str:
    from rich.console import Console
    from rich.syntax import Syntax
    from rich.text import Text

    console = Console(force_terminal=True, highlight=False, soft_wrap=True, color_system="standard")
    laid_out = list(rows(lines, found))
    source = Syntax("", "python", theme="ansi_dark", background_color="default")
    code = source.highlight("\n".join(left for left, _, _ in laid_out)).split("\n", allow_blank=True)
    with console.capture() as capture:
        for text, (_, gap, right) in zip(code, laid_out):
            style = "yellow" if right.endswith(UNKNOWN) else "cyan"
            console.print(Text.assemble(text, (f"{' ' * gap}# {right}", style)) if right else text)
    return capture.get()


def render_json(found: Sequence[Note]) -> str:
    """A list of objects: where, which name in which function, and the shape as a list of sizes (null: not known)."""
    return json.dumps([_entry(note) for note in found], indent=2) + "\n"


def _entry(note: Note) -> dict[str, Any]:
    tensor = note.tensor
    known = tensor is not None and tensor.shape.rank is not None
    return {
        "location": {"row": note.place.row, "column": note.place.column},
        "function": note.function,
        "name": note.name,
        "text": note.text,
        "shape": [_size(size) for size in tensor.shape.sizes] if tensor is not None and known else None,
        "dtype": tensor.dtype if tensor is not None else None,
    }


def _size(size: Any) -> int | str:
    return size.value if size.value is not None else str(size)
