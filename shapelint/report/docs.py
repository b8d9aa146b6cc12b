"""The catalogue of rules as a page, from their docstrings: `python -m shapelint.report.docs > docs/rules.md`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from shapelint.rule import Rule, discover

HEAD = """\
# Rules

Generated from the rules' docstrings by `python -m shapelint.report.docs > docs/rules.md`; `shapelint explain CODE`
prints the same. **error**: cannot work or is certainly wrong. **warning**: runs, and computes something unintended.
"""


def page(rules: Iterable[Rule]) -> str:
    rules = tuple(rules)
    head = ["| code | name | severity | default | reports |", "|---|---|---|---|---|"]
    table = "\n".join([*head, *map(_row, rules)])
    return "\n".join([HEAD, table, *(section(rule) for rule in rules)])


def section(rule: Rule) -> str:
    return f"\n## {rule.code} {rule.name}\n\n{_markdown(rule.doc)}\n"


def _markdown(doc: str) -> str:
    """Indented examples become fenced code."""
    return re.sub(
        r"^(\w[^\n]*:)\n\n?((?:    [^\n]*\n|\n)+)",
        lambda found: f"{found[1]}\n\n```python\n{re.sub('^    ', '', found[2].strip(chr(10)), flags=re.M)}\n```\n\n",
        doc.strip() + "\n",
        flags=re.MULTILINE,
    ).strip()


def _row(rule: Rule) -> str:
    link = f"[{rule.code}](#{rule.code.lower()}-{rule.name})"
    summary = rule.summary.replace("|", "\\|")
    return f"| {link} | {rule.name} | {rule.severity} | {'on' if rule.default else 'off'} | {summary} |"


if __name__ == "__main__":
    sys.stdout.write(page(discover()))
