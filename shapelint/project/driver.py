"""Many files: what need not be read again comes from the cache, the rest is linted here or in worker processes."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from typing import TypeAlias

from shapelint import source
from shapelint.config import Config
from shapelint.finding import Failure, Finding, Location, Outcome
from shapelint.fixes.text import Fixed, until_stable
from shapelint.project.cache import Cache, digest
from shapelint.project.modules import Lookup, Project
from shapelint.suppressions import ignores_file

# Below this many characters a worker costs more than it saves: it has to import the parser first.
WORTH_A_WORKER = 300_000
FILES_AT_ONCE = 16

# The digest of the linted text, which other files were asked for, and the outcome.
Result: TypeAlias = tuple[str, dict[Lookup, str | None], Outcome]


@source.paused_gc()
def lint_files(
    files: Sequence[str],
    config: Config,
    roots: Sequence[str] = (),
    jobs: int | None = None,
    use_cache: bool = True,
    advance: Callable[[int], None] = lambda count: None,
) -> list[Outcome]:
    """The outcomes of files, in their order; `advance` hears how many more are done.

    `jobs` None: as many processes as are worth it.
    """
    project = Project(roots)
    cache = Cache(config, project) if use_cache else None
    outcomes: dict[str, Outcome] = {}
    pending: list[str] = []
    characters = 0
    for filename in files:
        known = _known(filename, project, cache)
        if isinstance(known, Outcome):
            outcomes[filename] = known
            advance(1)
        else:
            pending.append(filename)
            characters += known
    try:
        for filename, (text_digest, consulted, outcome) in _lint(pending, config, project, _jobs(jobs, characters)):
            outcomes[filename] = outcome
            if cache is not None and text_digest:
                cache.put(filename, text_digest, consulted, outcome)
            advance(1)
    finally:
        if cache is not None:
            cache.save()
    return list(_brought_home({os.path.abspath(name): outcomes[name] for name in files}, files))


def _brought_home(outcomes: dict[str, Outcome], files: Sequence[str]) -> Iterator[Outcome]:
    """The outcomes, with what a call brings about in another file shown there if that file is linted as well, once."""
    kept: dict[str, list[Finding]] = {name: [] for name in outcomes}
    given = dict(zip(outcomes, files))
    seen: set[tuple[str, Location, str]] = set()
    for name, outcome in outcomes.items():
        for finding in outcome.findings:
            if finding.origin is None:
                kept[name].append(finding)
                continue
            home = os.path.abspath(finding.origin.filename)
            if (home, finding.origin.start, finding.code) not in seen:
                seen.add((home, finding.origin.start, finding.code))
                shown = replace(finding.origin, filename=given[home]) if home in given else finding
                kept[home if home in given else name].append(shown)
    for name, outcome in outcomes.items():
        findings = tuple(sorted(kept[name], key=lambda finding: (finding.start, finding.code)))
        yield outcome if findings == outcome.findings else replace(outcome, findings=findings)


def lint_stdin(data: bytes, filename: str, config: Config) -> Outcome:
    """The outcome of a source that stands for the file `filename`."""
    try:
        return lint_text_of(source.decode(data), filename, config)
    except source.Unreadable as error:
        return _unreadable(filename, error)


def fix_data(
    data: bytes, filename: str, outcome: Outcome, config: Config, roots: Sequence[str] = (), unsafe: bool = False
) -> Fixed:
    """A source that stands for the file `filename`, with its fixes. `outcome` is what linting it came to."""
    text = source.decode(data)
    return until_stable(text, lambda changed: lint_text_of(changed, filename, config, roots), outcome, unsafe)


def lint_text_of(text: str, filename: str, config: Config, roots: Sequence[str] = ()) -> Outcome:
    """The outcome of a text that stands for the file `filename`, whose neighbours are those on disk."""
    project = Project(roots)
    if ignores_file(text) or not project.reaches_tensors(filename, text):
        return Outcome()
    from shapelint.linter import lint_text

    try:
        return lint_text(text, filename, config, project)
    except source.Unreadable as error:
        return _unreadable(filename, error)


def _known(filename: str, project: Project, cache: Cache | None) -> Outcome | int:
    """The outcome of a file that need not be parsed; otherwise its length."""
    if filename.endswith(".ipynb"):
        return Outcome(failures=(Failure(filename, "a notebook: `jupyter nbconvert --to script` makes a file of it"),))
    try:
        text = project.text(filename)
    except (OSError, source.Unreadable) as error:
        return _unreadable(filename, error)
    if ignores_file(text) or not project.reaches_tensors(filename, text):
        return Outcome()
    return (cache.get(filename, text) if cache is not None else None) or len(text)


def _unreadable(filename: str, error: OSError | source.Unreadable) -> Outcome:
    if isinstance(error, OSError):
        return Outcome(failures=(Failure(filename, f"cannot be read: {error.strerror or error}"),))
    return Outcome(failures=(Failure(filename, error.message, error.location),))


def _jobs(wanted: int | None, characters: int) -> int:
    if wanted is not None:
        return wanted
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(processors, 1 + characters // WORTH_A_WORKER)


def _lint(files: list[str], config: Config, project: Project, jobs: int) -> Iterator[tuple[str, Result]]:
    if jobs <= 1 or len(files) <= 1:
        for filename in files:
            yield filename, lint_one(filename, config, project)
        return
    size = max(1, min(FILES_AT_ONCE, len(files) // (jobs * 4)))
    chunks = [files[start : start + size] for start in range(0, len(files), size)]
    done: set[str] = set()
    try:
        for filename, result in _in_processes(chunks, config, project, min(jobs, len(chunks))):
            done.add(filename)
            yield filename, result
    except BrokenProcessPool:
        # A file brought its process down. Which one shows when each has a process of its own.
        for filename in files:
            if filename not in done:
                yield filename, _alone(filename, config, project)


def _in_processes(chunks: list[list[str]], config: Config, project: Project, jobs: int) -> Iterator[tuple[str, Result]]:
    # Forked processes would share locks and threads with whoever called us.
    executor = ProcessPoolExecutor(
        jobs, multiprocessing.get_context("spawn"), initializer=_start, initargs=(config, project.roots)
    )
    try:
        with _interrupts_held():
            futures = [executor.submit(_lint_chunk, chunk) for chunk in chunks]
        for chunk, future in zip(chunks, futures):
            yield from zip(chunk, future.result())
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    executor.shutdown()


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """An interrupt waits meanwhile, and processes that are started never hear one: the parent ends them."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _alone(filename: str, config: Config, project: Project) -> Result:
    try:
        return next(_in_processes([[filename]], config, project, 1))[1]
    except BrokenProcessPool:
        return "", {}, Outcome(failures=(Failure(filename, "internal error: the analysis ended its process"),))


_worker: tuple[Config, Project]


def _start(config: Config, roots: Sequence[str]) -> None:
    """Called once in each worker process."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    gc.disable()  # as in `lint_files`
    _worker = config, Project(roots)


def _lint_chunk(files: list[str]) -> list[Result]:
    return [lint_one(filename, *_worker) for filename in files]


def lint_one(filename: str, config: Config, project: Project) -> Result:
    """Lint a file that is known to concern us."""
    from shapelint.linter import lint_module

    try:
        text = project.text(filename)
        outcome = lint_module(project.tree(filename, text), text, filename, config, project)
    except (OSError, source.Unreadable) as error:
        return "", {}, _unreadable(filename, error)
    source.collect_when_full()
    return digest(text), project.consulted(filename), outcome
