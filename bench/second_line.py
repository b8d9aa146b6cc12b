"""Which line catches what: each program of fixtures/ with a mistake in it, read by the linter and run under the tools.

usage: python bench/second_line.py [--fixtures DIRECTORY] > table

Each program is linted, then run once with its annotations checked, under the guard and with a gradient audit, then
probed. A program that raises by itself at its sizes needs no tool and is counted apart.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import torch
from drivers import ARGUMENTS, Driver
from jaxtyping import TypeCheckError

from shapelint.linter import lint_file
from shapelint.runtime import GradientAudit, guard
from shapelint.runtime.hook import Loader
from shapelint.runtime.targets import targets
from shapelint.runtime.verdicts import Prober

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
AREAS = {"SHP1": "broadcasting", "SHP2": "axes", "SHP3": "autograd"}
TOOLS = ("static", "check", "guard", "audit", "probe")
EXPECTED = re.compile(r"#\s*expect:\s*(SHP\d+)")


@dataclass
class Row:
    program: str
    area: str
    caught: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(TOOLS, False))
    raises: str = ""


def load(path: Path) -> ModuleType | None:
    """The program, under check; None where a library of its is not installed."""
    name = f"second_line_{path.parent.name}_{path.stem}"
    loader = Loader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        loader.exec_module(module)
    except ImportError:
        return None
    return module


def without_arguments(module: ModuleType, fixed: bool) -> Iterator[Callable[..., Any]]:
    for name, function in list(vars(module).items()):
        if inspect.isfunction(function) and function.__module__ == module.__name__:
            needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
            if not needed and ("fixed" in name.lower()) == fixed:
                yield function


def run_all(module: ModuleType, audit: Callable[..., Any]) -> None:
    for function in without_arguments(module, fixed=False):
        function()


def seen_by_the_linter(path: Path) -> bool:
    marked = [
        (i, m[1]) for i, text in enumerate(path.read_text().splitlines(), 1) for m in [EXPECTED.search(text)] if m
    ]
    found = {(finding.start.row, finding.code) for finding in lint_file(str(path)).findings}
    return any((line, code[:4]) in {(row, known[:4]) for row, known in found} for line, code in marked)


def measure(path: Path, module: ModuleType, drive: Driver) -> Row:
    row = Row(f"{path.parent.name}/{path.stem}", AREAS["SHP" + path.parent.name[3]])
    row.caught["static"] = seen_by_the_linter(path)
    audits: list[GradientAudit] = []

    def audit(model: Any, optimizer: Any = None) -> None:
        audits.append(GradientAudit(model, optimizer))

    torch.manual_seed(0)
    with guard("record") as guarded:
        try:
            drive(module, audit)
        except TypeCheckError:
            row.caught["check"] = True
        except Exception as error:
            row.raises = f"{type(error).__name__}: {error}".partition("\n")[0]
    row.caught["guard"] = bool(guarded.catches)
    row.caught["audit"] = any(True for one in audits for _ in one.problems())
    probes = [Prober(target).probe() for target in targets(module) if "fixed" not in target.name.lower()]
    row.caught["probe"] = any(probe.is_bug for probe in probes)
    return row


def annotated() -> Iterator[str]:
    """The axis mistakes again, as functions with annotations: what the linter and the probe say of each."""
    path = ROOT / "tests" / "packages" / "annotated" / "axes.py"
    module = load(path)
    assert module is not None
    lines = {finding.start.row for finding in lint_file(str(path)).findings}
    yield "| annotated function | static | probe |"
    yield "|---|---|---|"
    for target in targets(module):
        first = target.raw.__code__.co_firstlineno
        last = max(line for *_, line in target.raw.__code__.co_lines() if line)
        static = "x" if lines & set(range(first, last + 1)) else ""
        yield f"| {target.name.partition(':')[2]} | {static} | {Prober(target).probe().verdict} |"


def false_alarms(fixtures: Path) -> tuple[int, list[str]]:
    """Functions that are right and run without arguments: how many, and those that a tool objects to."""
    count, wrong = 0, []
    for path in sorted(fixtures.glob("shp[12]*/*.py")):
        module = load(path)
        if module is None:
            continue
        right = list(without_arguments(module, fixed=True))
        right += without_arguments(module, fixed=False) if path.stem.endswith("_ok") else []
        for function in right:
            count += 1
            try:
                with guard():
                    function()
            except Exception as error:
                wrong.append(f"{path.parent.name}/{path.stem}:{function.__name__}: {type(error).__name__}: {error}")
    return count, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fixtures", type=Path, default=FIXTURES)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for path in sorted(options.fixtures.glob("shp[123]*/*.py")):
        key = f"{path.parent.name}/{path.stem}"
        if path.stem.endswith("_ok") or path.parent.name.startswith("shp103"):
            continue  # nothing to catch, or what raises by itself
        module = load(path)
        drive = ARGUMENTS.get(key)
        if module is not None and (drive or any(without_arguments(module, fixed=False))):
            rows.append(measure(path, module, drive or run_all))
    print("\n".join(table(rows)))
    print("\n".join(["", *annotated()]))
    count, wrong = false_alarms(options.fixtures)
    print(f"\n{count} correct functions run under check and guard, {len(wrong)} objected to.")
    for line in wrong:
        print(f"- {line.splitlines()[0]}")


def table(rows: list[Row]) -> Iterator[str]:
    yield "| programs | n | static | check | guard | audit | probe | any at run time | both lines | raises by itself |"
    yield "|---|" + "---:|" * 9
    for area in [*AREAS.values(), "all"]:
        some = [row for row in rows if area in (row.area, "all")]
        counts = [sum(row.caught[tool] for row in some) for tool in TOOLS]
        running = sum(any(row.caught[tool] for tool in TOOLS[1:]) for row in some)
        both = sum(any(row.caught.values()) for row in some)
        raising = sum(bool(row.raises) for row in some)
        yield f"| {area} | {len(some)} | " + " | ".join(map(str, [*counts, running, both, raising])) + " |"
    yield ""
    yield "| program | static | check | guard | audit | probe | |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        marks = " | ".join("x" if row.caught[tool] else "" for tool in TOOLS)
        yield f"| {row.program} | {marks} | {'raises by itself' if row.raises else ''} |"


if __name__ == "__main__":
    main()
