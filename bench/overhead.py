"""What the second line costs, off and on, as ratios within one run.

usage: python bench/overhead.py

Each pair is measured alternately, and the smallest of many rounds counts, so that both see the same machine.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import jaxtyping
import numpy as np
import torch

from shapelint.runtime import GradientAudit, checked, guard
from shapelint.runtime.numpyguard import binary

ROUNDS = 15
Matrix: Any = jaxtyping.Float[np.ndarray, "n d"]
Vector: Any = jaxtyping.Float[np.ndarray, "n "]


def smallest(*functions: Callable[[], Any], rounds: int = ROUNDS) -> list[float]:
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            begun = time.process_time()
            function()
            best[i] = min(best[i], time.process_time() - begun)
    return best


def show(what: str, off: float, on: float, count: int = 1) -> None:
    print(f"| {what} | {off / count * 1e6:.2f} | {on / count * 1e6:.2f} | {on / off:.2f} |")


def started(code: str) -> float:
    """The CPU time of a Python process that runs the code."""
    text = f"{code}\nimport time; print(time.process_time())"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    return float(done.stdout)


def loop(a: Any, b: Any, count: int = 10_000) -> None:
    for _ in range(count):
        a * b


def with_guard(function: Callable[[], Any]) -> float:
    with guard():
        return smallest(function)[0]


def checks(x: Matrix, y: Vector) -> Vector:
    return y


def main() -> None:
    print("| what | µs without | µs with | ratio |\n|---|---:|---:|---:|")
    bare = min(started("") for _ in range(ROUNDS))
    show(
        "start of Python, shapelint.runtime imported",
        bare,
        min(started("import shapelint.runtime") for _ in range(ROUNDS)),
    )
    small, large = (torch.ones(8), torch.ones(8)), (torch.ones(512, 512), torch.ones(512, 512))
    plain = smallest(lambda: loop(*small))[0]
    import shapelint.runtime.guarding  # noqa: F401 - loaded, and off

    show("torch operation on 8 numbers, guard off", plain, smallest(lambda: loop(*small))[0], 10_000)
    entering = smallest(lambda: with_guard(lambda: None))[0] - ROUNDS * 1e-6
    show("torch operation on 8 numbers, guard on", plain, with_guard(lambda: loop(*small)), 10_000)
    off = smallest(lambda: loop(*large, 200))[0]
    show("torch operation on 512 x 512, guard on", off, with_guard(lambda: loop(*large, 200)), 200)
    a, b = np.ones(8), np.ones(8)
    guarded = with_guard(lambda: [binary("Mult", a, b) for _ in range(10_000)])
    show("NumPy operation on 8 numbers, guard on", smallest(lambda: [a * b for _ in range(10_000)])[0], guarded, 10_000)
    x, y, checking = np.ones((4, 3)), np.ones(4), checked(checks)
    calls = range(2_000)
    show(
        "call with three annotations, checked",
        *smallest(lambda: [checks(x, y) for _ in calls], lambda: [checking(x, y) for _ in calls]),
        2_000,
    )
    for width in (64, 1024):
        batch = torch.ones(64, width)
        models = [torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(4))) for _ in range(2)]
        audit = GradientAudit(models[1])
        backward = [lambda model=model, batch=batch: model(batch).sum().backward() for model in models]
        plain, audited = smallest(*backward)
        show(f"backward through four layers of {width}, audited", plain, audited)
        audit.close()
    print(f"\nEntering the guard once more: {entering * 1e6:.0f} µs.")


if __name__ == "__main__":
    main()
