"""Workflow commands that GitHub shows beside the changed lines."""

from __future__ import annotations

from collections.abc import Sequence

from shapelint.finding import Finding
from shapelint.report.concise import shown


def render(findings: Sequence[Finding]) -> str:
    return "".join(f"{command(finding)}\n" for finding in findings)


def command(finding: Finding) -> str:
    start, end = finding.start, finding.end
    places = {"file": shown(finding.filename), "line": str(start.row), "col": str(start.column)}
    places |= {"endLine": str(end.row)} | ({"endColumn": str(end.column)} if end.row == start.row else {})
    places["title"] = f"shapelint ({finding.code})"
    properties = ",".join(f"{key}={_property(value)}" for key, value in places.items())
    return f"::{finding.severity} {properties}::{_data(f'{finding.code} [{finding.name}] {finding.message}')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
