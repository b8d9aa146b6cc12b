"""Where values of a file are kept: in attributes, and in what its functions and methods return."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shapelint.analysis.gradients.frozen import source_of
from shapelint.analysis.index import once_per_file
from shapelint.analysis.registration import steps_of
from shapelint.domain.values import NONE, Class, Dict, Function, Instance, Method, Tuple, Unknown, Value
from shapelint.events import Call, Event, Grown, Left, Stored


@dataclass(slots=True)
class Kept:
    """Where values of one file are kept."""

    stores: dict[tuple[int, str], list[Value]] = field(default_factory=dict)  # by class and attribute
    grown: dict[tuple[int, str], list[Value]] = field(default_factory=dict)  # what is appended to an attribute, too
    methods: dict[str, dict[int, Value]] = field(default_factory=dict)  # by name and class: what they return
    results: dict[int, Value] = field(default_factory=dict)  # of functions that are evaluated on their own
    called: set[object] = field(default_factory=set)  # what is called and unknown: a model, as a rule

    def namesake(self, callee: Value) -> Value | None:
        """What the only method of that name in the file returns, for a receiver of which nothing else is known."""
        match callee:
            case Method(receiver=Unknown(), name=name) if len(self.methods.get(name, ())) == 1:
                return next(iter(self.methods[name].values()))
        return None

    def given_as(self, name: str) -> Value | None:
        """What the only forward of the file that returns a dict with such a key, as it is written, has there.

        Or what the only one that returns several things has at that place.
        """
        results = self.methods.get("forward", {}).values()
        if name.isdigit():
            several = [result.items for result in results if isinstance(result, Tuple)]
            return several[0][int(name)] if len(several) == 1 and int(name) < len(several[0]) else None
        dicts = [dict(result.items) for result in results if isinstance(result, Dict)]
        found = [keys[name.strip("'\"")] for keys in dicts if name.strip("'\"") in keys]
        return found[0] if len(found) == 1 else None

    def stored_as(self, name: str) -> Sequence[Value]:
        """What the only class of the file that has such an attribute puts into it."""
        found = [values for (_, attribute), values in self.stores.items() if attribute == name]
        return [value for value in found[0] if value != NONE] if len(found) == 1 else ()


@once_per_file
def kept_values(events: Sequence[Event]) -> Iterator[Kept]:
    kept = Kept()
    for step in steps_of(events, Stored, Left, Call, Grown):
        match step.event:
            case Call(callee=Unknown() as callee):
                kept.called.add(source_of(callee))
            case Stored(owner=owner, attribute=attribute, value=value):
                kept.stores.setdefault((id(owner.cls), attribute), []).append(value)
            case Grown(owner=Instance() as owner, name=name, value=value):
                kept.grown.setdefault((id(owner.cls), name.partition(".")[2]), []).append(value)
            case Left(function=Function(name=name, owner=owner) as function, result=result) if not step.stack:
                kept.results[id(function)] = result
                if isinstance(owner, Class):
                    kept.methods.setdefault(name, {})[id(owner)] = result
    yield kept
