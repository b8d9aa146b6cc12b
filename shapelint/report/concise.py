"""One line a finding: `file:row:column: CODE [name] message`."""

from __future__ import annotations

import os
from collections.abc import Sequence

from shapelint.finding import Finding


def render(findings: Sequence[Finding]) -> str:
    return "".join(f"{line(finding)}\n" for finding in findings)


def line(finding: Finding) -> str:
    place = f"{shown(finding.filename)}:{finding.start.row}:{finding.start.column}"
    return f"{place}: {finding.code} [{finding.name}] {finding.message}"


def shown(filename: str) -> str:
    """A path below the working directory relative to it; every other as it is."""
    try:
        relative = os.path.relpath(filename)
    except ValueError:  # another drive
        return filename
    return filename if filename.startswith("<") or relative.startswith(os.pardir) else relative
