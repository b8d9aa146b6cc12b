"""Imports: library names become canonical, files of the project are followed lazily, cycles are cut."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import libcst as cst

from shapelint.domain.values import UNKNOWN, Deferred, Library, Namespace, Value
from shapelint.interpreter.attributes import CONSTANTS
from shapelint.interpreter.frame import Analysis, Frame, root_scope
from shapelint.interpreter.scopes import Scope, named

LIBRARIES = frozenset({"torch", "numpy", "jax", "einops", "jaxtyping", "beartype", "typing", "math", "functools"})
MOST_NESTED = 10  # imports inside one another that are followed
MOST_MODULES = 400  # whose names are kept for other files that import them


def plain(frame: Frame, node: cst.Import) -> None:
    for alias in node.names:
        dotted = dotted_name(alias.name)
        note_library(frame, dotted)
        name, target = dotted.partition(".")[0], dotted.partition(".")[0]
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            name, target = alias.asname.name.value, dotted
        frame.scope.names[name] = deferred(frame, target, partial(whole, frame, target))


def whole(frame: Frame, dotted: str) -> Value:
    return module(frame, dotted, 0) or Library(dotted)


def from_module(frame: Frame, node: cst.ImportFrom) -> None:
    level = len(node.relative)
    dotted = dotted_name(node.module) if node.module is not None else ""
    note_library(frame, dotted)
    if dotted == "__future__":
        frame.run.future_annotations = frame.run.future_annotations or frame.module is frame.run.module
        return
    if isinstance(node.names, cst.ImportStar):
        found = module(frame, dotted, level)
        if found is not None:
            frame.scope.names.update(found.names)
        return
    for alias in node.names:
        name = alias.name.value if isinstance(alias.name, cst.Name) else ""
        bound = alias.asname.name.value if alias.asname and isinstance(alias.asname.name, cst.Name) else name
        load = partial(member, frame, dotted, level, name)
        frame.scope.names[bound] = deferred(frame, "" if level else dotted, load)


def deferred(frame: Frame, dotted: str, load: Callable[[], Value]) -> Value:
    """A project's modules are followed when they are asked for; libraries cost nothing."""
    if frame.run.project is None or dotted.partition(".")[0] in LIBRARIES:
        return load()
    return Deferred(load)


def member(frame: Frame, dotted: str, level: int, name: str) -> Value:
    """`name` of a module: of a project's file, its submodule, or a library's callable."""
    found = module(frame, dotted, level)
    known = named(found.names, name) if found is not None else None
    if known is not None:
        return known
    inner = f"{dotted}.{name}" if dotted else name
    submodule = module(frame, inner, level)  # of a package, which need not have an __init__.py
    if submodule is not None:
        return submodule
    return UNKNOWN if level or found is not None else CONSTANTS.get(inner) or Library(inner)


def dotted_name(node: cst.BaseExpression) -> str:
    match node:
        case cst.Name(value=name):
            return name
        case cst.Attribute(value=base, attr=cst.Name(value=name)):
            return f"{dotted_name(base)}.{name}"
    return ""


def note_library(frame: Frame, dotted: str) -> None:
    if frame.module is frame.run.module:
        frame.run.libraries.add(dotted.partition(".")[0])


def module(frame: Frame, dotted: str, level: int) -> Namespace | None:
    """A file of the project, executed once; None where the name is none of them."""
    project = frame.run.project
    if project is None or frame.depth > MOST_NESTED:
        return None
    found = project.module_source(dotted, frame.filename, level)
    if found is None:
        return None
    filename, tree = found
    scope = project.scopes.get(filename)
    if scope is None:
        while len(project.scopes) >= MOST_MODULES:
            project.scopes.pop(next(iter(project.scopes)))
        scope = project.scopes[filename] = Scope({}, root_scope())
        execute(frame, filename, tree, scope)
    return Namespace(dotted, scope.names)


def execute(frame: Frame, filename: str, tree: cst.Module, scope: Scope) -> None:
    """Analysis another file's top level; what happens there is told when that file itself is linted."""
    from shapelint.interpreter.statements import execute_all

    run = Analysis(tree, filename, frame.run.project, is_import=True)
    scope.origin = (tree, filename)
    execute_all(Frame(run, scope, tree, filename, filename, depth=frame.depth + 1), tree.body)
