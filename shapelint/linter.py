"""One file: parsed once, interpreted once, all rules over the events, reports to findings."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from shapelint import cross_file, positions, source
from shapelint.config import Config
from shapelint.domain.tokens import forget_scopes
from shapelint.domain.values import maker_of
from shapelint.events import Event, Meeting, Site
from shapelint.finding import Edit, Failure, Finding, Fix, Location, Outcome, Severity, Span, Step
from shapelint.fixes import imports
from shapelint.provenance import ancestors
from shapelint.rule import Replacement, Report, Rule
from shapelint.suppressions import ignores_file, silence, suppressions, unused

if TYPE_CHECKING:
    import libcst

    from shapelint.interpreter import Project

# Rules of one group report one mistake in different words: a wrong shape makes further wrong shapes.
GROUPS = {"1": "shape", "2": "shape", "6": "shape"}
EXCLUSIVE = ("SHP1", "SHP2")  # at most one of these speaks of one operation

Places = dict[int, tuple[Location, Location]]


def lint_source(
    text: str, filename: str = "<string>", config: Config | None = None, project: Project | None = None
) -> list[Finding]:
    """The findings in a Python source text, in its order.

    Raises SyntaxError where the text cannot be parsed; warns where it could be linted only in part.
    """
    try:
        outcome = lint_text(text, filename, config, project)
    except source.Unreadable as error:
        raise _syntax_error(filename, error) from None
    for failure in outcome.failures:
        warnings.warn(f"{failure.filename}: {failure.message}", RuntimeWarning, stacklevel=2)
    return list(outcome.findings)


def lint_file(filename: str, config: Config | None = None, project: Project | None = None) -> Outcome:
    """Findings and failures of a file on disk; never raises."""
    try:
        with open(filename, "rb") as file:
            data = file.read()
    except OSError as error:
        return Outcome(failures=(Failure(filename, f"cannot be read: {error.strerror or error}"),))
    return lint_bytes(data, filename, config, project)


def lint_bytes(
    data: bytes, filename: str = "<string>", config: Config | None = None, project: Project | None = None
) -> Outcome:
    """Findings and failures of a Python source in any encoding that Python reads; never raises."""
    try:
        return lint_text(source.decode(data), filename, config, project)
    except source.Unreadable as error:
        return Outcome(failures=(Failure(filename, error.message, error.location),))


def lint_text(
    text: str, filename: str = "<string>", config: Config | None = None, project: Project | None = None
) -> Outcome:
    """Findings and failures of a text. Raises Unreadable where it cannot be parsed."""
    if ignores_file(text) or (project is None and not source.MENTIONS_TENSORS.search(text)):
        return Outcome()
    forget_scopes()
    with source.paused_gc():
        return lint_module(source.parse(text), text, filename, config or Config(), project)


def lint_module(
    module: libcst.Module, text: str, filename: str, config: Config, project: Project | None = None
) -> Outcome:
    """Findings and failures of a parsed file; never raises."""
    try:
        return _lint_module(module, text, filename, config, project)
    except RecursionError:
        return Outcome(failures=(Failure(filename, "too deeply nested to be analysed"),))
    except Exception as error:
        return Outcome(failures=(Failure(filename, f"internal error: {describe(error)}"),))


def _lint_module(module: libcst.Module, text: str, filename: str, config: Config, project: Project | None) -> Outcome:
    from shapelint.interpreter import interpret

    events: Sequence[Event] = interpret(module, filename, project)
    failures: list[Failure] = []
    reports = [
        (rule, report)
        for rule, report in _reports(events, filename, config, failures)
        if rule.at_calls or report.place.module is module
    ]
    settled = list(_settle(reports, events))
    known = {} if project is None else project.reported
    known[os.path.abspath(filename)] = module, cross_file.keys_of(reports, module)

    def alone(site: Site) -> frozenset[cross_file.Key]:
        key = os.path.abspath(site.filename)
        if key not in known or known[key][0] is not site.module:
            found: Sequence[tuple[Rule, Report]] = ()
            if project is not None and project.reaches_tensors(site.filename, site.module.code):
                there = interpret(site.module, site.filename, project)
                found = _reports(there, site.filename, config, failures)
            known[key] = site.module, cross_file.keys_of(found, site.module)
        return known[key][1]

    foreign = [pair for pair in settled if pair[1].place.module is not module]
    calls = cross_file.calls_of(foreign, events, module, config, alone) if foreign else {}
    shown = [pair for pair in settled if pair[1].place.module is module or id(pair[1]) in calls]
    findings = list(_findings(filename, shown, calls, failures))
    comments = suppressions(text) if findings or config.report_unused_suppressions else ()
    kept, used = silence(findings, comments)
    if config.report_unused_suppressions:
        kept += unused(filename, comments, used, (rule.code for rule in config.rules(filename)))
    return Outcome(tuple(sorted(kept, key=lambda finding: (finding.start, finding.code))), tuple(failures))


def _reports(
    events: Sequence[Event], filename: str, config: Config, failures: list[Failure]
) -> list[tuple[Rule, Report]]:
    return [
        (rule, report)
        for rule in config.rules(filename)
        for report in _reports_of(rule, events, filename, failures)
        if not report.on_request or config.names(rule)
    ]


def _reports_of(rule: Rule, events: Sequence[Event], filename: str, failures: list[Failure]) -> Iterator[Report]:
    """What a rule reports, until it fails: then the failure is recorded and the other rules go on."""
    try:
        yield from rule.check(events)
    except RecursionError:
        failures.append(Failure(filename, f"too deeply nested for {rule.code} {rule.name}"))
    except Exception as error:
        failures.append(Failure(filename, f"internal error: {rule.code} {rule.name}: {describe(error)}"))


def _settle(reports: Sequence[tuple[Rule, Report]], events: Sequence[Event]) -> Iterator[tuple[Rule, Report]]:
    """The reports in event order, without those that are a consequence of an earlier one, or its echo."""
    order = {id(event): index for index, event in enumerate(events)} if reports else {}
    ranked = sorted(
        reports,
        key=lambda pair: (order.get(id(pair[1].event), len(order)), _severity(*pair) is Severity.WARNING, pair[0].code),
    )
    reported: dict[str, set[int]] = {}
    winner: dict[int, str] = {}  # by event and by node: which rule on shapes speaks of it
    for rule, report in ranked:
        event, node = id(report.event), id(report.place.node)
        tainted = reported.setdefault(_group(rule), set())
        is_echo = event not in tainted and any(id(earlier) in tainted for earlier in ancestors(report.event))
        if is_echo and not report.stands_alone:
            continue
        if rule.code.startswith(EXCLUSIVE):
            speakers = {winner.setdefault(key, rule.code) for key in (event, node)}
            if speakers != {rule.code}:
                continue
        tainted.add(event)
        if type(report.event) is Meeting:  # what contradicts its annotation goes on with the shape that it has
            tainted.add(id(maker_of(report.event.value)))
        yield rule, report


def _group(rule: Rule) -> str:
    family = rule.code.removeprefix("SHP")[:1]
    return GROUPS.get(family, family) if rule.code.startswith("SHP") else rule.code


def _findings(
    filename: str,
    reports: Sequence[tuple[Rule, Report]],
    calls: Mapping[int, Site],
    failures: list[Failure],
) -> Iterator[Finding]:
    """Reports with their places in the source, each code once at each place. `calls` are those of other files."""
    sites = [*calls.values(), *(site for _, report in reports for site in _sites(report))]
    places: Places = {}
    for tree in {id(site.module): site.module for site in sites}.values():
        places |= positions.places(tree, (site.node for site in sites if site.module is tree))
    seen: set[tuple[str, int, Location]] = set()
    for rule, report in reports:
        site = report.place
        if id(site.node) not in places:
            failures.append(
                Failure(filename, f"internal error: {rule.code} {rule.name}: reports on no place of the file")
            )
            continue
        key = rule.code, id(site.module), places[id(site.node)][0]
        if key not in seen:
            seen.add(key)
            call = calls.get(id(report))
            found = _finding(rule, report, places)
            yield replace(found, filename=filename) if call is None else _at_call(found, report, call, filename, places)


def _finding(rule: Rule, report: Report, places: Places) -> Finding:
    """A report as the file says it in which it stands."""
    site, module = report.place, report.place.module
    trace = tuple(_step(clue.text, clue.site, module, places) for clue in report.trace)
    marks = tuple(Span(*places[id(mark.node)]) for mark in report.marks if id(mark.node) in places)
    fix = _fix(report, module, places)
    span, severity = places[id(site.node)], _severity(rule, report)
    return Finding(site.filename, *span, rule.code, rule.name, report.message, severity, trace, fix, marks)


def _at_call(found: Finding, report: Report, call: Site, filename: str, places: Places) -> Finding:
    """A finding in another file as the file of the call says it: at the call. A fix would not be for all callers."""
    there, here = _spelled(report.place, places), _spelled(call, places)
    origin = replace(found, message=f"{found.message} (with what the call at {here} gives)", fix=None)
    message = f"{found.message} (in {there}, with what this call gives)"
    trace = tuple(_step(clue.text, clue.site, call.module, places) for clue in report.trace)
    start, end = places[id(call.node)]
    return Finding(filename, start, end, found.code, found.name, message, found.severity, trace, origin=origin)


def _sites(report: Report) -> Iterator[Site]:
    yield report.place
    yield from (clue.site for clue in report.trace if clue.site is not None)
    yield from (replacement.site for replacement in report.fix)
    yield from report.marks
    if report.fix_imports:
        yield from (Site(node, report.place.module) for node in imports.leading(report.place.module))


def _step(text: str, site: Site | None, module: libcst.Module, places: Places) -> Step:
    """A link of the trace; a place in another file stands in its text."""
    if site is None or id(site.node) not in places:
        return Step(text)
    if site.module is not module:
        return Step(f"{text} ({_spelled(site, places)})")
    return Step(text, places[id(site.node)][0])


def _spelled(site: Site, places: Places) -> str:
    """A place in another file, from where we stand."""
    path = os.path.relpath(site.filename)
    return f"{site.filename if path.startswith('..') else path}:{places[id(site.node)][0].row}"


def _fix(report: Report, module: libcst.Module, places: Places) -> Fix | None:
    """The proposed edits; none unless all of them stand in this file."""
    if not report.fix or not all(r.site.module is module and id(r.site.node) in places for r in report.fix):
        return None
    edits = [_edit(replacement, module, *places[id(replacement.site.node)]) for replacement in report.fix]
    edits += imports.added(module, report.fix_imports, places)
    return Fix(report.fix_message, tuple(edits), report.fix_is_safe)


def _edit(replacement: Replacement, module: libcst.Module, start: Location, end: Location) -> Edit:
    match replacement.where:
        case "before":
            return Edit(start, start, replacement.content)
        case "after":
            return Edit(end, end, replacement.content)
        case "above":
            indentation = source.lines(module.code)[start.row - 1][: start.column - 1]
            return Edit(start, start, f"{replacement.content}{module.default_newline}{indentation}")
    return Edit(start, end, replacement.content)


def _severity(rule: Rule, report: Report) -> Severity:
    return report.severity or rule.severity


def describe(error: Exception) -> str:
    """An unexpected exception on one line, with the place in our own code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" ({trace.tb_frame.f_globals.get('__name__')}:{trace.tb_lineno})" if trace is not None else ""
    return f"{type(error).__name__}: {' '.join(str(error).split())}{place}"


def _syntax_error(filename: str, error: source.Unreadable) -> SyntaxError:
    where = error.location or Location(1, 1)
    return SyntaxError(error.message, (filename, where.row, where.column, None))
