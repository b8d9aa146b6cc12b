"""How fast the linter is beside the parser it stands on.

usage: python bench/run.py PATH...

Measured in one process without a cache, in CPU time: the whole of shapelint on each file and, right after it, libcst's
own parse of the same text if it concerns us (collector paused), so that both see the machine in one state.
"""

from __future__ import annotations

import argparse
import sys
import time

import libcst

from shapelint import source
from shapelint.config import Config
from shapelint.project.discovery import find_files
from shapelint.project.driver import lint_files
from shapelint.project.modules import Project


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("paths", nargs="+", metavar="PATH")
    options = arguments.parse_args()
    config = Config()
    files = find_files(options.paths, config)
    project = Project(options.paths)
    texts: list[str | None] = []
    unreadable = 0
    for filename in files:
        text = None
        try:
            text = project.text(filename)
            if project.reaches_tensors(filename, text):
                source.parse(text)  # raises what cannot be parsed, and warms up: what counts is the second time
            else:
                text = None
        except source.Unreadable:
            text, unreadable = None, unreadable + 1
        texts.append(text)

    parsing = 0.0
    times: list[float] = []
    upcoming = iter(texts)
    last = time.process_time()

    def advance(count: int) -> None:
        """After each file: note its time, then parse the same text, so that both see the same machine."""
        nonlocal last, parsing
        begun = time.process_time()
        times.append(begun - last)
        with source.paused_gc():
            for text in (next(upcoming) for _ in range(count)):
                if text is not None:
                    libcst.parse_module(text)
        last = time.process_time()
        parsing += last - begun

    outcomes = lint_files(files, config, options.paths, jobs=1, use_cache=False, advance=advance)
    linting = sum(times)
    texts_read = [text for text in texts if text is not None]
    lines = sum(text.count("\n") for text in texts_read)
    findings = sum(len(outcome.findings) for outcome in outcomes)
    failures = sum(len(outcome.failures) for outcome in outcomes)
    print(f"files {len(files)}, {len(texts_read)} can hold tensors ({lines} lines), {unreadable} cannot be parsed")
    print(f"libcst parse  {parsing:8.2f} s  {lines / parsing:10.0f} lines/s")
    print(f"shapelint     {linting:8.2f} s  {lines / linting:10.0f} lines/s  ratio {linting / parsing:.2f}")
    print(f"findings {findings}, failures {failures}, longest file {max(times, default=0):.2f} s")


if __name__ == "__main__":
    sys.exit(main())
