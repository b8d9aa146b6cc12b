"""`shapelint rules` and `shapelint explain CODE`."""

from __future__ import annotations

import argparse

from shapelint.cli.options import CLEAN, Failed

TYPE_CHECKING = False  # `typing` itself costs a third of the start-up
if TYPE_CHECKING:
    from collections.abc import Sequence


def list_rules(arguments: Sequence[str]) -> int:
    """One line for each rule: code, name, severity, whether it is on by default, summary."""
    parser = argparse.ArgumentParser("shapelint rules", description="Lists the rules.")
    parser.add_argument("paths", nargs="*", help=argparse.SUPPRESS)
    if parser.parse_args(arguments).paths:
        raise Failed("rules takes no arguments; to lint a directory of that name: ./rules")
    from shapelint.rule import discover

    width = max((len(rule.name) for rule in discover()), default=0)
    for rule in discover():
        state = "on " if rule.default else "off"
        print(f"{rule.code}  {rule.name:{width}}  {rule.severity:7}  {state}  {rule.summary}")
    return CLEAN


def explain(arguments: Sequence[str]) -> int:
    """The documentation of rules. Raises Failed where one is not known."""
    parser = argparse.ArgumentParser(
        "shapelint explain", description="What a rule reports, why it matters, with an example of bad and of good code."
    )
    parser.add_argument("rules", nargs="*", metavar="RULE", help="the code or the name of a rule: SHP101, graph-cut")
    wanted = parser.parse_args(arguments).rules
    if not wanted:
        raise Failed("explain needs the code or the name of a rule; `shapelint rules` lists them")
    from shapelint.rule import discover

    for name in wanted:
        rule = next((rule for rule in discover() if name.upper() == rule.code or name.lower() == rule.name), None)
        if rule is None:
            raise Failed(f"no rule {name!r}; `shapelint rules` lists them")
        state = "" if rule.default else ", off by default"
        print(f"{rule.code} {rule.name} ({rule.severity}{state})\n\n{rule.doc}")
    return CLEAN
