"""Each rule's documentation is true: Bad is reported, Good is silent, and the page of rules says the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shapelint.config import Config
from shapelint.linter import lint_text
from shapelint.report.docs import page
from shapelint.rule import Rule, discover

ROOT = Path(__file__).parent.parent
BUILT_IN = [rule for rule in discover() if rule.check.__module__.startswith("shapelint.rules.")]
MARK = re.compile(r"# expect: (SHP\d+)")
each_rule = pytest.mark.parametrize("rule", BUILT_IN, ids=lambda rule: rule.code)


def reported(rule: Rule, label: str) -> tuple[str, set[int]]:
    """An example of a docstring, and the rows where the rule reports in it."""
    example = rule.example(label)
    outcome = lint_text(example, f"{rule.code}_{label}.py", Config(select=(rule.code,)))
    assert not outcome.failures
    return example, {finding.start.row for finding in outcome.findings}


def test_there_are_rules() -> None:
    files = {path.stem for path in (ROOT / "rules").glob("*.py")} - {"__init__"}
    assert files
    assert {f"{rule.code.lower()}_{rule.name.replace('-', '_')}" for rule in BUILT_IN} == files


@each_rule
def test_bad_is_reported(rule: Rule) -> None:
    example, rows = reported(rule, "Bad")
    marked = {row for row, line in enumerate(example.splitlines(), 1) if rule.code in MARK.findall(line)}
    assert rows, f"nothing is reported in\n{example}"
    assert not marked or rows == marked


@each_rule
def test_good_is_silent(rule: Rule) -> None:
    example, rows = reported(rule, "Good")
    assert example
    assert not rows


@each_rule
def test_documentation(rule: Rule) -> None:
    assert rule.summary.endswith((".", ":"))
    assert len(rule.doc.splitlines()) > 5
    source = Path(ROOT / "rules" / f"{rule.check.__module__.rpartition('.')[2]}.py").read_text()
    assert len(source.splitlines()) <= 120, "a rule is a page"


def test_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "rules.md").read_text()
    assert written == page(BUILT_IN), "run: python -m shapelint.report.docs > docs/rules.md"
