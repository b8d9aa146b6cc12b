"""Hazards in another file that only a call in this one brings about: they are shown at the call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from shapelint import positions
from shapelint.config import Config
from shapelint.events import Call, Entered, Event, Left, Site
from shapelint.finding import Finding
from shapelint.rule import Report, Rule
from shapelint.suppressions import ignores_file, silence, suppressions

Reported: TypeAlias = Iterable[tuple[Rule, Report]]
Key: TypeAlias = tuple[str, int]  # of a report: the rule's code, the node's id


def keys_of(reports: Reported, module: object) -> frozenset[Key]:
    """What is reported in a module."""
    return frozenset((rule.code, id(found.place.node)) for rule, found in reports if found.place.module is module)


def calls_of(
    reports: Reported,
    events: Sequence[Event],
    module: object,
    config: Config,
    alone: Callable[[Site], AbstractSet[Key]],
) -> dict[int, Site]:
    """The calls in `module` that bring about the reports on other files, by the report's id.

    `alone` gives what is reported on a site's file without this one. A report is left out where it is among that,
    where its rule is off there, and where a comment silences it.
    """
    places = {id(event): place for place, event in enumerate(events)}
    found: dict[int, Site] = {}
    for rule, report in reports:
        site = report.place
        call = call_around(events, places[id(report.event)], module) if id(report.event) in places else None
        if call is None or rule not in config.rules(site.filename):
            continue
        if (rule.code, id(site.node)) not in alone(site) and not is_silenced(rule, report):
            found[id(report)] = call.site
    return found


def call_around(events: Sequence[Event], place: int, module: object) -> Call | None:
    """The call in `module` through which the event at `place` was reached in another file."""
    entry = None
    for around in entries_around(events, place):
        if events[around].site.module is module:
            break
        entry = around
    return None if entry is None else call_ending(events, entry, module)


def entries_around(events: Sequence[Event], place: int) -> Iterator[int]:
    """Where the evaluations begin in which the event at `place` stands, innermost first."""
    inner = 0
    for earlier in range(place - 1, -1, -1):
        match events[earlier]:
            case Left():
                inner += 1
            case Entered() if inner:
                inner -= 1
            case Entered():
                yield earlier


def call_ending(events: Sequence[Event], entry: int, module: object) -> Call | None:
    """The call in `module` whose evaluation begins at `entry`: it is told when that has ended."""
    inner = 0
    for place in range(entry + 1, len(events) - 1):
        match events[place]:
            case Entered():
                inner += 1
            case Left() if inner:
                inner -= 1
            case Left():
                call = events[place + 1]
                return call if isinstance(call, Call) and call.site.module is module else None
    return None


def is_silenced(rule: Rule, report: Report) -> bool:
    """Whether a comment in the other file silences what is reported there."""
    site, text = report.place, report.place.module.code
    if ignores_file(text):
        return True
    comments = suppressions(text)
    if not comments:
        return False
    start, end = positions.places(site.module, [site.node])[id(site.node)]
    finding = Finding(site.filename, start, end, rule.code, rule.name, report.message, rule.severity)
    return not silence([finding], comments)[0]
