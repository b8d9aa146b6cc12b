"""A rule is a module: its name is code and hazard, its docstring the documentation, `check` the rule.

    shp206_bare_squeeze.py  ->  code SHP206, name "bare-squeeze"

    SEVERITY = Severity.WARNING     (optional; WARNING when absent)
    DEFAULT = True                  (optional; False: only when selected)
    AT_CALLS = False                (optional; True: what a call from another file gives decides, and no more than that)
    def check(events: Sequence[Event]) -> Iterator[Report]: ...

Rules are found by the entry-point group `shapelint.rules`: a package whose modules are rules.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Literal

from shapelint.events import Event, Site
from shapelint.finding import Severity

GROUP = "shapelint.rules"
MODULE_NAME = re.compile(r"([a-z]+\d+)_(\w+)")


@dataclass(frozen=True, slots=True)
class Clue:
    """One step of a report's trace: a decisive fact and where it came from."""

    text: str
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class Replacement:
    """A proposed edit: `content` in the place of the source at `site`, before it, after it, or on a line above.

    See `fixes.proposals` for the usual ones.
    """

    site: Site
    content: str
    where: Literal["whole", "before", "after", "above"] = "whole"


@dataclass(frozen=True, slots=True)
class Report:
    """What a rule yields: at which event, in which words, and why.

    `site` defaults to the event's. Consequences of `event` are not reported again by rules of its family.
    """

    event: Event
    message: str
    trace: tuple[Clue, ...] = ()
    site: Site | None = None
    severity: Severity | None = None
    fix: tuple[Replacement, ...] = ()
    fix_message: str = ""
    fix_is_safe: bool = True
    fix_imports: tuple[str, ...] = ()  # the import statements that the fix needs
    marks: tuple[Site, ...] = ()  # the operands that the message speaks of, to be underlined
    on_request: bool = False  # only for those who select the rule by its code
    stands_alone: bool = False  # a mistake in itself, whatever was reported of the values before

    @property
    def place(self) -> Site:
        return self.site or self.event.site


@dataclass(frozen=True, slots=True)
class Rule:
    code: str
    name: str
    doc: str
    check: Callable[[Sequence[Event]], Iterator[Report]]
    severity: Severity = Severity.WARNING
    default: bool = True
    at_calls: bool = False

    @property
    def summary(self) -> str:
        return self.doc.strip().splitlines()[0]

    def example(self, label: str) -> str:
        """The code block that follows the line `Bad:` or `Good:` of the docstring; empty if there is none."""
        found = re.search(rf"^{label}:\n((?:[ \t]+.*\n|\n)+)", self.doc + "\n", re.MULTILINE)
        return inspect.cleandoc(found.group(1)) + "\n" if found else ""


def rule_of(module: ModuleType) -> Rule | None:
    """The rule that a module is, or None where its name does not follow the pattern."""
    matched = MODULE_NAME.fullmatch(module.__name__.rpartition(".")[2])
    if matched is None or not hasattr(module, "check"):
        return None
    code, hazard = matched.groups()
    return Rule(
        code.upper(),
        hazard.replace("_", "-"),
        inspect.cleandoc(module.__doc__ or ""),
        module.check,
        getattr(module, "SEVERITY", Severity.WARNING),
        getattr(module, "DEFAULT", True),
        getattr(module, "AT_CALLS", False),
    )


@cache
def discover() -> tuple[Rule, ...]:
    """Every installed rule, by code."""
    rules = []
    for entry_point in entry_points(group=GROUP):
        package = entry_point.load()
        for found in pkgutil.iter_modules(package.__path__):
            rule = rule_of(importlib.import_module(f"{package.__name__}.{found.name}"))
            if rule is not None:
                rules.append(rule)
    return tuple(sorted(rules, key=lambda rule: rule.code))
