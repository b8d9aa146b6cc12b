"""A list of objects, in the shape of ruff's."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from shapelint.finding import Finding, Fix, Location


def render(findings: Sequence[Finding]) -> str:
    return json.dumps([entry(finding) for finding in findings], indent=2) + "\n"


def entry(finding: Finding) -> dict[str, Any]:
    return {
        "filename": finding.filename if finding.filename.startswith("<") else os.path.abspath(finding.filename),
        "location": place(finding.start),
        "end_location": place(finding.end),
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "severity": str(finding.severity),
        "trace": [
            {"message": step.text, "location": None if step.location is None else place(step.location)}
            for step in finding.trace
        ],
        "fix": None if finding.fix is None else _fix(finding.fix),
    }


def place(location: Location) -> dict[str, int]:
    return {"row": location.row, "column": location.column}


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "message": fix.message,
        "applicability": "safe" if fix.safe else "unsafe",
        "edits": [
            {"content": edit.content, "location": place(edit.start), "end_location": place(edit.end)}
            for edit in fix.edits
        ],
    }
