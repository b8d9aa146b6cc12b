"""How findings are shown: one module a format, each with `render(findings) -> str`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from shapelint.finding import Finding

FORMATS = ("text", "concise", "json", "sarif", "github")


def render(output_format: str, findings: Sequence[Finding]) -> str:
    """The findings in a format that does not depend on the terminal."""
    text: str = import_module(f"shapelint.report.{output_format}").render(findings)
    return text
