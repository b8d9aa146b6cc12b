"""How findings are shown: one module a format, each with `render`; `text` reads the sources as well."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from shapelint.finding import Finding


def render(output_format: str, findings: Sequence[Finding]) -> str:
    """The findings in a format for programs: concise, json, sarif or github."""
    text: str = import_module(f"shapelint.report.{output_format}").render(findings)
    return text
