"""Probing from outside: a process for each module, restarted after a function that crashes or hangs."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from shapelint.runtime.extras import require
from shapelint.runtime.results import Result

SHAPE_STRING = re.compile(r"""["']\s*\]""")  # Float[Tensor, "n d"]; also d["key"], which costs a process at most


@dataclass
class Limits:
    """Seconds for one function, seconds for the import, megabytes beside the interpreter's own, draws."""

    seconds: float = 30.0
    import_seconds: float = 120.0
    memory: int = 4096
    draws: int = 3


@dataclass
class _Progress:
    begun: int = -1
    name: str = ""
    finished: bool = False
    results: list[Result] = field(default_factory=list)


def probe(target: str, limits: Limits | None = None) -> Iterator[Result]:
    """Probe `package.module`, `package.module:function` or all modules of a package; a Result for each function.

    Raises ImportError where jaxtyping or beartype are missing, ModuleNotFoundError for a target that does not exist.
    """
    require("jaxtyping", "beartype")
    name, _, only = target.partition(":")
    for module in modules_of(name):
        yield from probe_module(module, only, limits)


def modules_of(name: str) -> list[str]:
    """The module, and those below it that have shape strings; nothing but parent packages is imported."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"no module {name!r}", name=name)
    found = [name]
    for directory in spec.submodule_search_locations or ():
        for path in sorted(Path(directory).rglob("*.py")):
            parts = path.relative_to(directory).with_suffix("").parts
            inner = parts[:-1] if parts[-1] == "__init__" else parts
            importable = inner and inner[-1] != "__main__" and all(part.isidentifier() for part in inner)
            if importable and SHAPE_STRING.search(path.read_text(errors="replace")):
                found.append(".".join((name, *inner)))
    return found


def probe_module(module: str, only: str = "", limits: Limits | None = None) -> Iterator[Result]:
    """Probe the functions of one module. A function that crashes or hangs has its verdict; the others go on."""
    require("jaxtyping", "beartype")
    limits = limits or Limits()
    start = 0
    while True:
        progress = _Progress()
        ended = _run(module, only, start, limits, progress)
        yield from progress.results
        if progress.finished:
            return
        yield Result(progress.name or module, "crashed", ended)
        if progress.begun < 0:
            return
        start = progress.begun + 1


def _run(module: str, only: str, start: int, limits: Limits, progress: _Progress) -> str:
    """One process, up to its end or a function that takes too long; how it ended."""
    command = [sys.executable, "-m", "shapelint.runtime.prober", module, "--start", str(start)]
    command += ["--memory", str(limits.memory), "--draws", str(limits.draws), *(["--only", only] if only else [])]
    path = os.pathsep.join(dict.fromkeys([*filter(None, sys.path), os.getcwd()]))
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True,
            env=os.environ | {"PYTHONPATH": path},
        )  # fmt: skip
        try:
            for message in _messages(process, progress, limits):
                _note(message, progress)
        except TimeoutError as error:
            return str(error)
        finally:
            process.kill()
            process.wait()
        if progress.finished:
            return ""
        errors.seek(0)
        return _ending(process.returncode, errors)


def _messages(process: subprocess.Popen[str], progress: _Progress, limits: Limits) -> Iterator[dict[str, Any]]:
    lines: queue.Queue[str | None] = queue.Queue()

    def read(stream: IO[str]) -> None:
        for line in stream:
            lines.put(line)
        lines.put(None)

    assert process.stdout is not None
    threading.Thread(target=read, args=(process.stdout,), daemon=True).start()
    while True:
        seconds = limits.seconds if progress.begun >= 0 else limits.import_seconds
        try:
            line = lines.get(timeout=seconds)
        except queue.Empty:
            what = "a call" if progress.begun >= 0 else "the import"
            raise TimeoutError(f"{what} takes more than {seconds:g} s") from None
        if line is None:
            process.wait()
            return
        with contextlib.suppress(json.JSONDecodeError):
            yield json.loads(line)


def _note(message: dict[str, Any], progress: _Progress) -> None:
    match message:
        case {"begin": int(index), "name": str(name)}:
            progress.begun, progress.name = index, name
        case {"result": {"name": str(), "verdict": str()} as result}:
            progress.results.append(Result(**result))
        case {"failed": str(why)}:
            progress.results.append(Result(progress.name, "not probed", f"cannot be imported: {why}"))
            progress.finished = True
        case {"done": True}:
            progress.finished = True


def _ending(code: int, errors: IO[str]) -> str:
    try:
        how = f"killed by {signal.Signals(-code).name}" if code < 0 else f"the process ended with exit code {code}"
    except ValueError:
        how = f"killed by signal {-code}"
    last = [line.rstrip() for line in errors if line.strip()][-1:]
    return "\n".join([how, *last])
