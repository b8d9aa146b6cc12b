"""What each output format makes of findings."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest

from shapelint.cli.lint import FORMATS
from shapelint.finding import Edit, Finding, Fix, Location, Severity, Step
from shapelint.report import docs, render, text
from shapelint.rule import Rule

PLAIN = Finding(
    "src/train.py", Location(3, 12), Location(3, 23), "SHP101", "outer-broadcast", "(n, 1) with (n,): 50%",
    Severity.WARNING, (Step("pred is (n, 1): Linear(64, 1)", Location(1, 8)), Step("y is (n,)")),
)  # fmt: skip
FIXED = Finding(
    "<stdin>", Location(1, 1), Location(2, 4), "SHP206", "bare-squeeze", "two\nlines", Severity.ERROR,
    fix=Fix("name the axis", (Edit(Location(1, 1), Location(1, 2), "x"),), safe=False),
)  # fmt: skip
SOURCE = ["model = nn.Linear(64, 1)", "pred = model(x)", "loss =\t((é + pred - y) ** 2).mean()", "loss.backward()"]


def test_concise() -> None:
    assert render("concise", [PLAIN]) == "src/train.py:3:12: SHP101 [outer-broadcast] (n, 1) with (n,): 50%\n"
    assert render("concise", []) == ""


def test_text_has_a_summary() -> None:
    shown = text.render([PLAIN, PLAIN, FIXED], source)
    assert shown.endswith("\nFound 3 problems in 2 files. Can be fixed: 1 with --fix --unsafe-fixes.\n")
    assert text.render([PLAIN], source).endswith("\nFound 1 problem in 1 file.\n")
    assert text.render([], source) == ""


def test_paths_are_relative_to_the_working_directory(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(str(tmp_path))
    for name, shown in ((f"{tmp_path}/a/b.py", "a/b.py"), ("./b.py", "b.py"), ("/x/b.py", "/x/b.py")):
        finding = Finding(name, Location(1, 1), Location(1, 2), "C1", "n", "m", Severity.ERROR)
        assert render("concise", [finding]) == f"{shown}:1:1: C1 [n] m\n"


def test_json() -> None:
    first, second = json.loads(render("json", [PLAIN, FIXED]))
    assert first.pop("filename").endswith("/src/train.py")
    assert first == {
        "location": {"row": 3, "column": 12},
        "end_location": {"row": 3, "column": 23},
        "code": "SHP101",
        "name": "outer-broadcast",
        "message": "(n, 1) with (n,): 50%",
        "severity": "warning",
        "trace": [
            {"message": "pred is (n, 1): Linear(64, 1)", "location": {"row": 1, "column": 8}},
            {"message": "y is (n,)", "location": None},
        ],
        "fix": None,
    }
    assert second["filename"] == "<stdin>"
    edit = {"content": "x", "location": {"row": 1, "column": 1}, "end_location": {"row": 1, "column": 2}}
    assert second["fix"] == {"message": "name the axis", "applicability": "unsafe", "edits": [edit]}
    assert json.loads(render("json", [])) == []


def test_github() -> None:
    first, second = render("github", [PLAIN, FIXED]).splitlines()
    assert first == (
        "::warning file=src/train.py,line=3,col=12,endLine=3,endColumn=23,title=shapelint (SHP101)"
        "::SHP101 [outer-broadcast] (n, 1) with (n,): 50%25"
    )
    assert second.startswith("::error file=<stdin>,line=1,")
    assert second.endswith("two%0Alines")


def test_sarif() -> None:
    log = json.loads(render("sarif", [PLAIN, FIXED]))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["SHP101", "SHP206"]
    first, second = run["results"]
    assert (first["ruleId"], first["level"]) == ("SHP101", "warning")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "src/train.py"
    assert place["region"] == {"startLine": 3, "startColumn": 12, "endLine": 3, "endColumn": 23}
    assert [related["message"]["text"] for related in first["relatedLocations"]] == ["pred is (n, 1): Linear(64, 1)"]
    (replacement,) = second["fixes"][0]["artifactChanges"][0]["replacements"]
    assert replacement["insertedContent"] == {"text": "x"}
    assert json.loads(render("sarif", []))["runs"][0]["results"] == []


def source(filename: str) -> Sequence[str]:
    return SOURCE


def frames(findings: list[Finding]) -> list[str]:
    plain, coloured = text.render(findings, source), text.render(findings, source, coloured=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == plain
    return plain.splitlines()


def test_a_frame_underlines_the_span() -> None:
    assert frames([PLAIN]) == [
        "src/train.py:3:12: SHP101 [outer-broadcast] (n, 1) with (n,): 50%",
        "2 | pred = model(x)",
        "3 | loss =    ((é + pred - y) ** 2).mean()",
        "  |               ^^^^^^^^^^^",
        "4 | loss.backward()",
        "  = line 1: pred is (n, 1): Linear(64, 1)",
        "  = y is (n,)",
        "",
        "Found 1 problem in 1 file.",
    ]


def test_a_frame_over_lines_and_past_the_end() -> None:
    lines = frames([FIXED])
    assert "  | ^^^^^^^^^^^^^^^^^^^^^^^^" in lines
    assert "  | ^^^" in lines
    assert "  = fix: name the axis" in lines
    beyond = Finding("a.py", Location(9, 3), Location(9, 5), "C1", "n", "m", Severity.ERROR)
    assert frames([beyond])[0] == "a.py:9:3: C1 [n] m"


def test_every_format_renders_every_kind() -> None:
    assert text.render([PLAIN, FIXED], source)
    for name in FORMATS[1:]:
        assert render(name, [PLAIN, FIXED])


def test_the_page_of_rules() -> None:
    doc = "Says what.\n\nWhy.\n\nBad:\n    x = 1\n\n    y = 2\n\nGood:\n    x = 2"
    rule = Rule("SHP101", "a-hazard", doc, lambda events: iter(()), Severity.ERROR, default=False)
    page = docs.page([rule])
    assert "| [SHP101](#shp101-a-hazard) | a-hazard | error | off | Says what. |" in page
    assert page.endswith(
        "\n## SHP101 a-hazard\n\nSays what.\n\nWhy.\n\nBad:\n\n```python\nx = 1\n\ny = 2\n```\n\n"
        "Good:\n\n```python\nx = 2\n```\n"
    )
