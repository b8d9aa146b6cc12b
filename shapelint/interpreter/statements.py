"""Statements: a table from syntax node to the function that executes it. What is not in it changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import libcst as cst

from shapelint.domain.values import NONE, UNKNOWN, Layer, Library, Method, Unknown, Value
from shapelint.events import Branch, Ends, Event, Region, Returned
from shapelint.interpreter import containers, imports, operators
from shapelint.interpreter.calls import evaluate_callee, evaluated_arguments
from shapelint.interpreter.expressions import evaluate, truth_of
from shapelint.interpreter.flow import assignments, conditions, growth, loops
from shapelint.interpreter.flow.assignments import assign
from shapelint.interpreter.frame import CALL_COST, Frame
from shapelint.interpreter.functions import definitions
from shapelint.interpreter.knowledge import comments, contracts
from shapelint.interpreter.libraries import casting
from shapelint.interpreter.libraries.transforms import RAISING, REGIONS
from shapelint.interpreter.scopes import Path

Executor = Callable[[Frame, Any], None]


def execute_block(frame: Frame, block: cst.BaseSuite) -> None:
    execute_all(frame, block.body)


def execute_all(frame: Frame, statements: Iterable[cst.CSTNode]) -> None:
    for statement in statements:
        if not frame.alive:
            return
        execute(frame, statement)


def execute(frame: Frame, statement: cst.CSTNode) -> None:
    executor = EXECUTORS.get(type(statement))
    if executor is not None:
        executor(frame, statement)


def line(frame: Frame, node: cst.SimpleStatementLine) -> None:
    frame.run.credit += -CALL_COST if frame.is_call else 1
    execute_all(frame, node.body)
    comment = node.trailing_whitespace.comment
    if comment is not None and not frame.is_call:  # a caller may give more axes than the author speaks of
        comments.read(frame, node, comment)


def expression(frame: Frame, node: cst.Expr) -> None:
    if type(node.value) is cst.SimpleString:  # a docstring does nothing
        return
    value = evaluate(frame, node.value)
    if isinstance(value, Unknown) and value.dtype is not None:
        casting.in_place(frame, node.value, value.dtype)


def returns(frame: Frame, node: cst.Return) -> None:
    value = evaluate(frame, node.value) if node.value is not None else NONE
    if frame.function is not None:
        value = contracts.meet_return(frame, value, node)
        frame.tell(Returned(frame.function, value, frame.site(node)))
    frame.returns.append(value)
    if frame.is_call:
        frame.exits.append(Path({}, dict(frame.facts), dict(frame.shapes)))
    ends(frame, "return", node)


def ends_path(frame: Frame, node: cst.Raise) -> None:
    """What is raised is no array: its constructor is not followed, only what it is given."""
    if isinstance(node.exc, cst.Call):
        evaluate_callee(frame, node.exc.func)
        evaluated_arguments(frame, node.exc.args)
    elif node.exc is not None:
        evaluate(frame, node.exc)
    ends(frame, "raise", node)


def leaves_loop(frame: Frame, node: cst.Break | cst.Continue) -> None:
    frame.breaks.append(frame.snapshot())
    ends(frame, "break" if isinstance(node, cst.Break) else "continue", node)


def ends(frame: Frame, how: str, node: cst.CSTNode) -> None:
    frame.alive = False
    frame.tell(Ends(how, frame.site(node)))


def supposes(frame: Frame, test: cst.BaseExpression, truth: bool) -> None:
    """Go on where a test is `truth`."""
    frame.tell(Branch(frame.site(test), 0 if truth else 1, growth.may_change(frame, test)))
    conditions.assume(frame, test, truth)
    if not frame.alive:
        ends(frame, "never", test)


def asserts(frame: Frame, node: cst.Assert) -> None:
    evaluate(frame, node.test)
    conditions.assume(frame, node.test, True)
    frame.run.contradicted |= not frame.alive


def branches(frame: Frame, node: cst.If) -> None:
    truth = truth_of(evaluate(frame, node.test))
    if truth is not None:
        if truth:
            execute_block(frame, node.body)
        elif node.orelse is not None:
            otherwise(frame, node.orelse)
        return
    before, refined = frame.snapshot(), len(frame.refined)
    frame.branch_depth += 1
    supposes(frame, node.test, True)
    if frame.alive:
        execute_block(frame, node.body)
    first = frame.snapshot()
    conditions.keep(frame, node.test, True, before)
    conditions.forget(frame, refined)
    frame.restore(before)
    supposes(frame, node.test, False)
    if frame.alive and node.orelse is not None:
        otherwise(frame, node.orelse)
        conditions.keep(frame, node.test, False, before)
    if first.alive:
        conditions.forget(frame, refined)
    frame.branch_depth -= 1
    meets(frame, [first, frame.snapshot()], node)


def meets(frame: Frame, paths: list[Path], node: cst.CSTNode) -> None:
    frame.meet(paths, node)
    frame.tell(Branch(frame.site(node), None))


def otherwise(frame: Frame, node: cst.If | cst.Else) -> None:
    if isinstance(node, cst.If):
        branches(frame, node)
    else:
        execute_block(frame, node.body)


def tries(frame: Frame, node: cst.Try | cst.TryStar) -> None:
    before, site = frame.snapshot(), frame.site(node)
    frame.branch_depth += 1
    frame.tell(Branch(site, 0))
    execute_block(frame, node.body)
    if node.orelse is not None and frame.alive:
        execute_block(frame, node.orelse.body)
    paths = [frame.snapshot()]
    for handler in node.handlers:
        frame.tell(Branch(site, len(paths)))
        frame.meet([before, Path(paths[0].names, paths[0].facts, paths[0].shapes)], handler)
        if handler.name is not None:
            assign(frame, handler.name.name, UNKNOWN)
        execute_block(frame, handler.body)
        paths.append(frame.snapshot())
    frame.branch_depth -= 1
    meets(frame, paths, node)
    if node.finalbody is not None:
        alive, frame.alive = frame.alive, True
        execute_block(frame, node.finalbody.body)
        frame.alive = frame.alive and alive


def enters(frame: Frame, node: cst.With) -> None:
    regions: list[str] = []
    told: list[Event] | None = None
    around = autocast = frame.autocast
    for item in node.items:
        value = evaluate(frame, item.item)
        name = region_of(frame, item.item, value)
        if name == "raises":
            told = frame.run.events
        elif name is not None:
            regions.append(name)
            arguments = value.config if isinstance(value, Layer) else {}
            frame.tell(Region(name, True, frame.site(item.item), arguments))
            autocast = casting.autocast_of(value, autocast)
        if item.asname is not None:
            assign(frame, item.asname.name, value if not isinstance(value, Library) else UNKNOWN)
    frame.autocast = autocast
    if told is not None:
        frame.run.events = []  # what is to fail there is no news
    with frame.region(tuple(regions)):
        execute_block(frame, node.body)
    frame.autocast = around
    if told is not None:
        frame.run.events = told
    for name in reversed(regions):
        frame.tell(Region(name, False, frame.site(node)))


def region_of(frame: Frame, node: cst.BaseExpression, value: Value) -> str | None:
    """The kind of context, by the library callable that made it."""
    match value:
        case Library(name=name) | Layer(name=name) if name in REGIONS:
            return REGIONS[name]
    if isinstance(node, cst.Call):
        callee = evaluate(frame, node.func)
        match callee:
            case Library(name=name):
                return REGIONS.get(name)
            case Method(name=name) if name in RAISING:
                return "raises"
    return None


def augments(frame: Frame, node: cst.AugAssign) -> None:
    current, value = evaluate(frame, node.target), evaluate(frame, node.value)
    operator = type(node.operator).__name__.removesuffix("Assign")
    result = operators.binary(frame, node, operator, current, value, (node.target, node.value))
    assign(frame, node.target, result, node)
    if operator == "Add":
        growth.grown(frame, node.target, value, node)


def annotated(frame: Frame, node: cst.AnnAssign) -> None:
    value = evaluate(frame, node.value) if node.value is not None else None
    value = contracts.meet_assignment(frame, node, value)
    if value is not None:
        assign(frame, node.target, value, node)


def assigns(frame: Frame, node: cst.Assign) -> None:
    for target in node.targets:
        if assignments.names_axes(frame, target.target, node.value):
            return
    value = evaluate(frame, node.value)
    for target in node.targets:
        assign(frame, target.target, assignments.named_size(frame, target.target, node.value, value), node)


def deletes(frame: Frame, node: cst.Del) -> None:
    if isinstance(node.target, cst.Name):
        frame.scope.names.pop(node.target.value, None)
    elif isinstance(node.target, cst.Attribute):
        assignments.delete_attribute(frame, node.target, node)
    elif isinstance(node.target, cst.Subscript):
        growth.emptied(frame, node.target.value, node)
        containers.emptied(frame, node.target)


def matches(frame: Frame, node: cst.Match) -> None:
    evaluate(frame, node.subject)
    before, site = frame.snapshot(), frame.site(node)
    frame.branch_depth += 1
    paths = [before]
    for way, case in enumerate(node.cases):
        frame.tell(Branch(site, way))
        frame.restore(before)
        for name in pattern_names(case.pattern):
            frame.scope.names[name] = UNKNOWN
        execute_block(frame, case.body)
        paths.append(frame.snapshot())
    frame.tell(Branch(site, len(node.cases)))
    frame.branch_depth -= 1
    meets(frame, paths, node)


def pattern_names(pattern: cst.CSTNode) -> Iterable[str]:
    if isinstance(pattern, cst.MatchAs | cst.MatchStar) and pattern.name is not None:
        yield pattern.name.value
    for child in pattern.children:
        yield from pattern_names(child)


def makes_global(frame: Frame, node: cst.Global | cst.Nonlocal) -> None:
    frame.globals.update(item.name.value for item in node.names)


EXECUTORS: dict[type[cst.CSTNode], Executor] = {
    cst.SimpleStatementLine: line,
    cst.Expr: expression,
    cst.Return: returns,
    cst.Raise: ends_path,
    cst.Break: leaves_loop,
    cst.Continue: leaves_loop,
    cst.Assert: asserts,
    cst.If: branches,
    cst.For: loops.loops_over,
    cst.While: loops.loops_while,
    cst.Try: tries,
    cst.TryStar: tries,
    cst.With: enters,
    cst.Assign: assigns,
    cst.AugAssign: augments,
    cst.AnnAssign: annotated,
    cst.Del: deletes,
    cst.Match: matches,
    cst.Global: makes_global,
    cst.Nonlocal: makes_global,
    cst.FunctionDef: definitions.function,
    cst.ClassDef: definitions.class_,
    cst.TypeAlias: definitions.type_alias,
    cst.Import: imports.plain,
    cst.ImportFrom: imports.from_module,
}
