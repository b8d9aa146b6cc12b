"""`shapelint probe MODULE`: annotated functions called with sizes that are all different."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from shapelint.cli.options import CLEAN, FAILED, FOUND, Failed
from shapelint.runtime.probing import Limits, probe

CAUGHT = ("axis bug", "broadcast", "contradiction", "crashed")
VERDICTS = (*CAUGHT, "not probed", "passed")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        "shapelint probe",
        description="Imports modules and calls their jaxtyping-annotated functions with arrays of distinct primes as "
        "sizes, where what is right only for equal sizes fails. Each module has a process of its own.",
        epilog="exit status: 0 nothing caught, 1 something caught, 2 nothing could be probed",
    )
    top.add_argument("targets", nargs="+", metavar="MODULE[:FUNCTION]", help="package.module, or a package")
    top.add_argument("--seconds", type=float, default=30.0, help="for one function (default: 30)")
    top.add_argument("--memory", type=int, default=4096, metavar="MB", help="for one module (default: 4096)")
    top.add_argument("--draws", type=int, default=3, help="how often each function is called (default: 3)")
    return top


def probe_modules(arguments: Sequence[str]) -> int:
    """Print a verdict for each function, and how often each was given; the exit status. Raises Failed."""
    options = parser().parse_args(arguments)
    limits = Limits(options.seconds, memory=options.memory, draws=options.draws)
    counts = dict.fromkeys(VERDICTS, 0)
    sys.path.insert(0, os.getcwd())
    for target in options.targets:
        try:
            for result in probe(target, limits):
                print(result.text, flush=True)
                counts[result.verdict] += 1
        except ImportError as error:
            raise Failed(str(error)) from None
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "nothing to probe")
    if any(counts[verdict] for verdict in CAUGHT):
        return FOUND
    return CLEAN if counts["passed"] else FAILED
