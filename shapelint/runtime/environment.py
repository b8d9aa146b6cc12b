"""SHAPELINT_CHECK=package: checks a program that does not mention shapelint. Called by shapelint.pth."""

from __future__ import annotations

import os
import sys


def start() -> None:
    """Ends the program with one sentence where the check is not possible."""
    from shapelint.runtime.hook import check

    packages = [name.strip() for name in os.environ["SHAPELINT_CHECK"].split(",") if name.strip()]
    try:
        if packages:
            check(*packages)
    except (ImportError, ValueError) as error:
        # Python is still starting here: an exception, even SystemExit, would end it with its own traceback.
        print(f"shapelint: SHAPELINT_CHECK: {error}", file=sys.stderr, flush=True)
        os._exit(1)
