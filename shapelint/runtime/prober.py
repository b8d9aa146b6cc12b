"""The process that probes: imports a module under check, calls its functions, writes one line of JSON for each.

usage: python -m shapelint.runtime.prober MODULE [--only NAME] [--start N] [--memory MB] [--draws N]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import warnings
from dataclasses import asdict


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("module")
    arguments.add_argument("--only")
    arguments.add_argument("--start", type=int, default=0)
    arguments.add_argument("--memory", type=int, default=4096)
    arguments.add_argument("--draws", type=int, default=3)
    options = arguments.parse_args()
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the user's code prints is not ours to read
    warnings.simplefilter("ignore")

    def say(**message: object) -> None:
        channel.write(json.dumps(message) + "\n")
        channel.flush()

    from shapelint.runtime.hook import check

    check(options.module)
    _limit(options.memory)
    say(begin=-1, name=options.module)
    try:
        module = importlib.import_module(options.module)
    except BaseException as error:
        say(failed=f"{type(error).__name__}: {error}")
        return
    from shapelint.runtime.targets import targets
    from shapelint.runtime.verdicts import Prober

    found = [t for t in targets(module) if options.only in (None, t.name.partition(":")[2])]
    say(count=len(found))
    for index, target in enumerate(found[options.start :], options.start):
        say(begin=index, name=target.name)
        try:
            say(result=asdict(Prober(target, options.draws, lambda: say(calls=True)).probe()))
        except MemoryError:
            say(result={"name": target.name, "verdict": "crashed", "detail": "more memory than allowed"})
        except SystemExit as error:
            say(result={"name": target.name, "verdict": "crashed", "detail": f"ends the process: exit {error.code}"})
    say(done=True)
    channel.close()
    os._exit(0)  # threads and exit handlers of the user's code do not keep us


def _limit(megabytes: int) -> None:
    """At most this much more memory than now, where the system can hold to it."""
    try:
        import resource

        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + megabytes * 2**20, resource.RLIM_INFINITY))
    except (ImportError, OSError, ValueError):
        pass


if __name__ == "__main__":
    main()
