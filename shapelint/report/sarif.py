"""SARIF 2.1.0, as code scanning services read it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shapelint import __version__
from shapelint.finding import Edit, Finding, Fix, Location
from shapelint.report.concise import shown
from shapelint.rule import discover

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render(findings: Sequence[Finding]) -> str:
    driver = {"name": "shapelint", "version": __version__, "rules": _rules(findings)}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding) for finding in findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rules(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    documented = {rule.code: rule for rule in discover()}
    found = {finding.code: finding for finding in findings}
    rules = []
    for code in sorted(found):
        entry: dict[str, Any] = {"id": code, "name": found[code].name}
        if code in documented:
            rule = documented[code]
            entry["shortDescription"] = {"text": rule.summary}
            entry["fullDescription"] = {"text": rule.doc}
            entry["defaultConfiguration"] = {"level": str(rule.severity)}
        rules.append(entry)
    return rules


def _result(finding: Finding) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": str(finding.severity),
        "message": {"text": finding.message},
        "locations": [_place(finding.filename, finding.start, finding.end)],
    }
    related = [
        {**_place(finding.filename, step.location, step.location), "message": {"text": step.text}}
        for step in finding.trace
        if step.location is not None
    ]
    if related:
        result["relatedLocations"] = related
    if finding.fix is not None:
        result["fixes"] = [_fix(finding.filename, finding.fix)]
    return result


def _place(filename: str, start: Location, end: Location) -> dict[str, Any]:
    region = {"startLine": start.row, "startColumn": start.column, "endLine": end.row, "endColumn": end.column}
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(filename)}, "region": region}}


def _fix(filename: str, fix: Fix) -> dict[str, Any]:
    def replacement(edit: Edit) -> dict[str, Any]:
        region = _place(filename, edit.start, edit.end)["physicalLocation"]["region"]
        return {"deletedRegion": region, "insertedContent": {"text": edit.content}}

    change = {"artifactLocation": {"uri": _uri(filename)}, "replacements": [replacement(e) for e in fix.edits]}
    return {"description": {"text": fix.message}, "artifactChanges": [change]}


def _uri(filename: str) -> str:
    from urllib.parse import quote

    path = shown(filename)
    return Path(path).as_uri() if os.path.isabs(path) else quote(path.replace(os.sep, "/"))
