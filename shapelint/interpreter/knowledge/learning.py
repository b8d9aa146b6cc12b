"""What a use tells of an array of unknown rank: it holds for every array of that shape, whatever it is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from shapelint.domain.dims import anonymous
from shapelint.domain.joins import filled, resolve_shape
from shapelint.domain.tokens import is_met
from shapelint.domain.values import Axis, Many, Run, Shape, Tensor, Unknown, Value
from shapelint.interpreter.frame import Frame
from shapelint.interpreter.operations import Arguments
from shapelint.interpreter.scopes import learn as learn_size
from shapelint.interpreter.scopes import meet
from shapelint.provenance import parts


def with_rank(frame: Frame, tensor: Tensor, rank: int, text: str, place: object) -> Tensor | None:
    """The array once it is known to have `rank` axes; None where it cannot. New axes are named after `text`."""
    shape, run = tensor.shape, tensor.shape.run
    missing = rank - shape.least_rank
    if missing < 0 or run is None:
        return None if missing else tensor
    start = len(shape.head)
    found = Shape(tuple(_axis(tensor, index, text, place) for index in range(start, start + missing)))
    learn(frame, run, found)
    return _reshaped(tensor, Shape((*shape.head, *found.head, *shape.tail)))


def with_axis(frame: Frame, tensor: Tensor, index: int, text: str, place: object) -> Tensor:
    """The array with so many known axes that `index` is among them."""
    shape, run = tensor.shape, tensor.shape.run
    if run is None:
        return tensor
    head = tuple(_axis(tensor, i, text, place) for i in range(len(shape.head), index + 1))
    tail = tuple(_axis(tensor, i, text, place) for i in range(index, -len(shape.tail)))
    rest = Run("", (run, len(shape.head) + len(head), len(shape.tail) + len(tail)))
    found = Shape(head, rest, tail)
    learn(frame, run, found)
    return _reshaped(tensor, Shape((*shape.head, *head), rest, (*tail, *shape.tail)))


def learn(frame: Frame, run: Run, shape: Shape) -> None:
    """Record what a run of axes turned out to be; one that is not even equal to itself is never met again."""
    if run.scope is None:
        return
    for known, found in frame.shapes.items():
        if found.run == run:
            frame.shapes[known] = filled(found, {run: shape})
    frame.shapes[run] = shape


def are_alike(frame: Frame, a: Value, b: Value) -> None:
    """Two arrays have one shape, of which neither the rank nor any axis is known."""
    match a, b:
        case Tensor(shape=Shape((), Run() as run, ()) as shape), Tensor(shape=Shape((), Run() as other, ())):
            if other != run and run.scope is not None:
                learn(frame, other, shape)


def _axis(tensor: Tensor, index: int, text: str, place: object) -> Axis:
    run = tensor.shape.run
    known = run is not None and run.scope is not None
    return Axis(anonymous((run if known else tensor.made_by or place, index), f"{text}.shape[{index}]"))


def _reshaped(tensor: Tensor, shape: Shape) -> Tensor:
    return Tensor(shape, tensor.dtype, tensor.library, tensor.graph, tensor.made_by)


Taught = tuple[tuple[Shape, Shape], ...]


def lesson(inner: Frame, arguments: Arguments) -> Taught:
    """What a call that comes back has found out about its arguments."""
    paths = [*inner.exits, *([inner.snapshot()] if inner.alive else [])]
    if not any(path.facts or path.shapes for path in paths) or is_generator(inner):
        return ()
    known = meet(paths, None)
    found = ((s, resolve_shape(filled(s, known.shapes), known.facts)) for s in open_shapes(arguments.values))
    return tuple((before, after) for before, after in found if before != after)


def is_generator(frame: Frame) -> bool:
    """Whether a call of the function does nothing yet."""
    node = frame.function.node if frame.function is not None else None
    is_async = isinstance(node, cst.FunctionDef) and node.asynchronous is not None
    return is_async or any(isinstance(value, Many) and value.kind == "generator" for value in frame.returns)


def open_shapes(values: Iterable[Value]) -> Iterator[Shape]:
    """The shapes of the arrays among values, and of what may be one."""
    for value in parts(values):
        match value:
            case Tensor(shape=shape):
                yield shape
            case Unknown(made_by=made_by) if is_met(made_by):
                yield Shape((), Run("", made_by))


def adopt(frame: Frame, taught: Taught) -> None:
    """Take over what a call has found out."""
    for before, after in taught:
        start, stop = len(before.head), len(before.tail)
        for a, b in (*zip(before.head, after.head), *zip(before.tail[::-1], (after.tail or after.head)[::-1])):
            learn_size(frame.facts, a.size, b.size)
        if before.run is None or before.run in frame.shapes:
            continue
        if after.run is None:
            learn(frame, before.run, Shape(after.head[start : len(after.head) - stop]))
        elif after.run != before.run:
            learn(frame, before.run, Shape(after.head[start:], after.run, after.tail[: len(after.tail) - stop]))
