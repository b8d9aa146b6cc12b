"""What every name of a file is bound to: the best that is known of it, over all evaluations of its function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import libcst as cst

from shapelint import positions, source
from shapelint.domain.values import Many, Tensor, Tuple, Unknown, Value, maker_of
from shapelint.finding import Location
from shapelint.interpreter import interpret
from shapelint.interpreter.frame import Frame
from shapelint.project.modules import Project

MOST_VALUES = 3  # of one binding, where its function is called with arguments of different shapes


@dataclass(frozen=True)
class Binding:
    """A name (`x`, `self.w`) that is bound at `node`, and what to: several values where calls differ."""

    name: str
    node: Any
    values: tuple[Value, ...]
    function: str = ""


def bindings_of(filename: str) -> tuple[str, list[Binding], dict[int, tuple[Location, Location]]]:
    """Text, bindings, and the places of their nodes. Raises OSError, Unreadable, RecursionError."""
    project = Project()
    text = project.text(filename)
    with source.paused_gc():
        module = project.tree(filename, text)
        found = bindings(module, filename, project)
    return text, found, positions.places(module, (binding.node for binding in found))


@dataclass(eq=False)
class _Evaluation:
    """One run of a function or of the top level: the last value of each binding in it."""

    frame: Frame
    values: dict[int, tuple[cst.CSTNode, Value]]


def bindings(module: cst.Module, filename: str, project: Project | None = None) -> list[Binding]:
    """The bindings of a file in the order in which they are first met."""
    evaluations: dict[int, _Evaluation] = {}

    def watch(frame: Frame, node: cst.CSTNode, value: Value) -> None:
        if frame.module is not module:
            return
        evaluation = evaluations.setdefault(id(frame), _Evaluation(frame, {}))
        if isinstance(node, cst.FunctionDef | cst.Lambda):
            evaluation.values = dict(refined(evaluation))
        else:
            evaluation.values[id(node)] = node, value

    interpret(module, filename, project, watch)
    found: dict[int, list[tuple[_Evaluation, cst.CSTNode, Value]]] = {}
    for evaluation in evaluations.values():
        for key, (node, value) in refined(evaluation):
            found.setdefault(key, []).append((evaluation, node, value))
    return [_binding(candidates) for candidates in found.values()]


def refined(evaluation: _Evaluation) -> Iterator[tuple[int, tuple[cst.CSTNode, Value]]]:
    """The bindings with what their uses told: a parameter of which nothing was known on entry."""
    frame = evaluation.frame
    for key, (node, value) in evaluation.values.items():
        current = frame.scope.names.get(name_of(node))
        same = current is not None and maker_of(current) is not None and maker_of(current) is maker_of(value)
        yield key, (node, frame.known(current if same and current is not None else value))


def name_of(node: cst.CSTNode) -> str:
    match node:
        case cst.Name(value=name) | cst.Param(name=cst.Name(value=name)):
            return name
        case cst.Attribute(value=base, attr=cst.Name(value=name)):
            return f"{name_of(base)}.{name}"
    return "?"


def _binding(candidates: list[tuple[_Evaluation, cst.CSTNode, Value]]) -> Binding:
    """One binding: what holds for every call if that is much, else what is known in single calls."""
    _, node, _ = candidates[0]
    most = max(knowledge(value) for _, _, value in candidates)
    values: list[Value] = []
    for evaluation, _, value in candidates:
        if knowledge(value) == most and value not in values:
            values.append(value)
        if knowledge(value) == most and not evaluation.frame.is_call:
            values = [value]
            break
    function = candidates[0][0].frame.function
    name = function.name if function is not None else ""
    return Binding(name_of(node), node, tuple(values[:MOST_VALUES]), name)


def knowledge(value: Value) -> int:
    """How much is known: 3 all sizes, 2 the rank, 1 some axes or that it is a tensor, 0 nothing."""
    match value:
        case Tensor(shape=shape) if shape.rank is None:
            return 1
        case Tensor(shape=shape):
            return 3 if all(is_known(size) for size in shape.sizes) else 2
        case Tuple(items=items) if items:
            return min(map(knowledge, items))
        case Many(item=item):
            return knowledge(item)
        case Unknown():
            return 0
    return 3


def is_known(size: object) -> bool:
    """Whether a size is a number, or a symbol with a name."""
    return "?" not in str(size)
