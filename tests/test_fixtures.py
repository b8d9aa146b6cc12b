"""Every story in fixtures/<rule>/ is reported exactly on its marked lines.

`# expect: SHP101` demands that code on its line, `SHP101|SHP102` one of the two, `SHP101, SHP206` both; every other
line stays silent, whatever the rule. Stories named *_ok.py are silent throughout.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shapelint.config import Config
from shapelint.linter import lint_file
from shapelint.project.modules import Project
from shapelint.rule import discover

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
RULES = {rule.check.__module__.rpartition(".")[2]: rule for rule in discover()}
STORIES = sorted(path for path in FIXTURES.glob("*/*.py") if path.parent.name in RULES)
MARK = re.compile(r"# expect: ((?:SHP\d{3}|[|, ])+)")


def expected(text: str) -> dict[int, list[set[str]]]:
    """By row: the alternatives of each mark."""
    return {
        row: [set(part.strip().split("|")) for part in mark[1].split(",")]
        for row, line in enumerate(text.splitlines(), 1)
        if (mark := MARK.search(line))
    }


def unmet(marks: list[set[str]], codes: list[str]) -> bool:
    """Whether marks and reported codes fail to pair off."""
    left = list(codes)
    for alternatives in sorted(marks, key=len):
        code = next((code for code in left if code in alternatives), None)
        if code is None:
            return True
        left.remove(code)
    return bool(left)


@pytest.mark.parametrize("path", STORIES, ids=lambda path: str(path.relative_to(FIXTURES)))
def test_story(path: Path) -> None:
    marks = expected(path.read_text())
    rule = RULES[path.parent.name]
    outcome = lint_file(str(path), Config(extend_select=(rule.code,)), Project())
    assert not outcome.failures
    assert not (path.stem.endswith("_ok") and marks), "an _ok story has no marks"
    found: dict[int, list[str]] = {}
    for finding in outcome.findings:
        found.setdefault(finding.start.row, []).append(finding.code)
    wrong = {
        row: f"expected {marks.get(row, 'nothing')}, reported {found.get(row, 'nothing')}"
        for row in sorted(marks.keys() | found.keys())
        if unmet(marks.get(row, []), found.get(row, []))
    }
    assert not wrong


@pytest.mark.parametrize("stem", sorted(RULES))
def test_every_rule_has_stories_and_traps(stem: str) -> None:
    stories = [path for path in STORIES if path.parent.name == stem]
    marks = [mark for path in stories for row in expected(path.read_text()).values() for mark in row]
    assert RULES[stem].code in set().union(*marks)
    assert any(path.stem.endswith("_ok") for path in stories)


def test_every_folder_belongs_to_a_rule() -> None:
    folders = {path.name for path in FIXTURES.iterdir() if path.is_dir()} - {"shapes", "runtime", "__pycache__"}
    assert folders
    assert folders <= RULES.keys()


def test_marks_pair_off() -> None:
    assert expected("x\ny  # expect: SHP101|SHP102, SHP206\n") == {2: [{"SHP101", "SHP102"}, {"SHP206"}]}
    assert unmet([{"SHP101"}], [])
    assert unmet([], ["SHP101"])
    assert unmet([{"SHP101"}], ["SHP101", "SHP101"])
    assert not unmet([{"SHP101", "SHP102"}, {"SHP101"}], ["SHP101", "SHP102"])
