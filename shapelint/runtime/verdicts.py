"""One target under draws of primes and of squares, and what that says of it."""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from jaxtyping import TypeCheckError

from shapelint.runtime.catches import BroadcastError
from shapelint.runtime.drawing import NotProbed, TooLarge, distinct
from shapelint.runtime.guarding import guard
from shapelint.runtime.places import LIBRARIES, source_line
from shapelint.runtime.results import Result
from shapelint.runtime.targets import Target

FACTORS = (1, 4, 24)  # a function may need even sizes, or sizes that heads and strides divide
ATTEMPTS = 60


@dataclass(frozen=True)
class Run:
    """One call: the sizes it was made with, and how it ended; `error` is empty where it passed."""

    sizes: dict[str, int]
    error: str = ""
    kind: str = ""
    filename: str = ""
    line: int = 0

    @property
    def text(self) -> str:
        sizes = ", ".join(f"{name}={size}" for name, size in self.sizes.items()) or "no named axis"
        if not self.error:
            return f"{sizes}: passes"
        place = f"\n    {self.filename}:{self.line}: {source_line(self.filename, self.line)}" if self.filename else ""
        return f"{sizes}: {self.error}{place}"


class Prober:
    """Calls one target; `before_call` is told of each call, so that whoever waits knows that one has begun."""

    def __init__(self, target: Target, draws: int = 3, before_call: Callable[[], None] = lambda: None) -> None:
        self.target, self.draws, self.before_call = target, draws, before_call
        self.left = ATTEMPTS

    def run(self, sizes: Mapping[str, int], seed: int = 0) -> Run:
        """Call the target once, under guard."""
        self.left -= 1
        self.before_call()
        shown = dict(sizes)
        optional = bool(seed % 2)
        _seed(seed)
        try:
            with guard():
                self.target.call(sizes, seed, optional)
        except TooLarge as error:
            return Run(shown, str(error))
        except NotProbed:
            raise
        except Exception as error:
            if isinstance(error, MemoryError) or "allocate memory" in str(error):
                raise MemoryError from None
            filename, line = _user_line(error)
            text = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
            kind = "broadcast" if isinstance(error, BroadcastError) else ""
            if isinstance(error, TypeCheckError) and self._is_own_result(str(error)):
                kind, filename, line = "result", self.target.raw.__code__.co_filename, self.target.result_line
            return Run(shown, str(error) if kind == "broadcast" else text, kind, filename, line)
        return Run(shown)

    def _is_own_result(self, text: str) -> bool:
        return text.partition("\n")[0].startswith(
            f"{self.target.raw.__module__}.{self.target.raw.__qualname__}: its result"
        )

    def sizes(self, pins: Mapping[str, int], seed: int, factor: int = 1) -> dict[str, int]:
        names = self.target.axes + self.target.widths
        return distinct(names, self.target.constants | set(pins.values()), seed, factor) | dict(pins)

    def probe(self) -> Result:
        if self.target.why:
            return Result(self.target.name, "not probed", self.target.why)
        try:
            return self._probe()
        except NotProbed as error:
            return Result(self.target.name, "not probed", str(error))

    def _probe(self) -> Result:
        failed: list[Run] = []
        for pins in self._pins():
            # A function that ran to its end and broke its own promise is not excused by a size that happens to fit.
            if pins != self.target.pins and any(run.kind == "result" for run in failed):
                break
            for factor in FACTORS:
                *_, last = runs = self._primes(pins, factor)
                if last.kind == "broadcast":
                    return self._verdict("broadcast", last, last.text, "SHP101")
                if not last.error:
                    return Result(self.target.name, "passed", f"{len(runs)} draws, such as {last.text}")
                failed.append(last)
        for pins in self._pins():
            for factor in FACTORS:
                found = self._square_only(pins, factor)
                if found is not None:
                    return found
        for run in failed:
            if run.kind == "result":
                return self._verdict("contradiction", run, run.text, "SHP203")
        return Result(self.target.name, "not probed", f"no draw passes, square ones neither: {failed[0].text}")

    def _pins(self) -> Iterator[dict[str, int]]:
        """Axes held at sizes that are written down: none, then one, then two."""
        yield dict(self.target.pins)
        free = [axis for axis in self.target.axes if axis not in self.target.pins]
        literals = self.target.literals()
        single = [{axis: size} for axis in free for size in literals]
        double = [a | b for a, b in itertools.combinations(single, 2) if a.keys() != b.keys()]
        for pins in (single + double)[:12]:
            if self.left > 0:
                yield dict(self.target.pins) | pins

    def _primes(self, pins: Mapping[str, int], factor: int) -> list[Run]:
        """Draws of distinct sizes, up to the first that fails."""
        runs: list[Run] = []
        for seed in range(self.draws):
            runs.append(self.run(self.sizes(pins, seed, factor), seed))
            if runs[-1].error:
                break
        return runs

    def _square_only(self, pins: Mapping[str, int], factor: int) -> Result | None:
        """Passes with all sizes equal, at two such sizes, and not with distinct ones."""
        names = [name for name in self.target.axes + self.target.widths if name not in pins]
        prime = self.run(self.sizes(pins, 0, factor))
        squares = [self.run(dict.fromkeys(names, factor * size) | dict(pins)) for size in (7, 11)]
        if not prime.error or len(names) < 2:
            return None
        if all(run.kind == "broadcast" for run in squares):
            return self._verdict("broadcast", squares[0], f"{squares[0].text}\n{prime.text}", "SHP101")
        if any(run.error for run in squares):
            return None
        group = self._tied(names, pins, factor)
        axes = [name for name in group if name in self.target.axes]
        if len(axes) < 2 or len(axes) < len(group):
            ties = ", ".join(group)
            return Result(self.target.name, "passed", f"where {ties} have one size, as the constructor asks")
        others = [name for name in names if name not in axes]
        apart = self.run(distinct([*axes, *others], self.target.constants, 0, factor) | dict(pins))
        equal = " == ".join(axes)
        detail = f"passes only where {equal}\n{(apart if apart.error else prime).text}\n{squares[0].text}"
        return self._verdict("axis bug", apart if apart.error else prime, detail, "SHP202")

    def _tied(self, names: list[str], pins: Mapping[str, int], factor: int) -> list[str]:
        """The smallest set of names that must have one size for the call to pass, others having sizes of their own.

        A pair of axes is tried last: that an axis has the width of a layer is nobody's mistake.
        """
        widths = set(self.target.widths)
        for count in range(2, len(names) + 1):
            groups = sorted(itertools.combinations(names, count), key=lambda group: not widths & set(group))
            for group in groups:
                if self.left <= 0:
                    return names
                sizes = distinct(names, self.target.constants, 1, factor)
                sizes |= dict.fromkeys(group, sizes[group[0]])
                if not self.run(sizes | dict(pins)).error:
                    return list(group)
        return names

    def _verdict(self, verdict: str, run: Run, detail: str, code: str) -> Result:
        return Result(self.target.name, verdict, detail, run.filename, run.line, code)


def _seed(seed: int) -> None:
    import random
    import sys

    import numpy as np

    random.seed(seed)
    np.random.seed(seed)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)


def _user_line(error: BaseException) -> tuple[str, int]:
    """The innermost line of the user's code that the error came through."""
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        module = frame.f_globals.get("__name__") or ""
        if module.partition(".")[0] not in LIBRARIES and not module.startswith("shapelint.runtime"):
            return frame.f_code.co_filename, line
    return "", 0
