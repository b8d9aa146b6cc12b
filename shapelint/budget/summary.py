"""The budget of a module: parameters by submodule, bytes by pile, the largest tensors, work and its intensity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from shapelint.budget import activations, work
from shapelint.budget.evaluation import Evaluated, Given, evaluate, tensor
from shapelint.budget.views import Storage, shape_of
from shapelint.budget.weights import Weights, weights
from shapelint.domain.values import Class, Function, Tensor
from shapelint.events import Call, Event

# Bytes for each parameter: its copy that computes, its gradient, and what the optimizer holds.
STATES = {
    ("float32", "SGD"): (4, 4, 0),
    ("float32", "SGD with momentum"): (4, 4, 4),
    ("float32", "Adam"): (4, 4, 8),
    ("mixed", "SGD"): (2, 2, 4),  # the optimizer holds a float32 copy of the weights
    ("mixed", "SGD with momentum"): (2, 2, 8),
    ("mixed", "Adam"): (2, 2, 12),
}
SERVING = {"float32": 4, "half": 2}
ALWAYS_LEFT_OUT = (
    "what the allocator rounds up and keeps, workspaces of kernels, the CUDA context, and gradients of activations",
    "tensors that a module registers as buffers, except the statistics of normalisation layers",
    "operations other than products of matrices, convolutions and attention: they move bytes and compute little",
    "in mixed precision, what autocast leaves in float32: kept floats count as halves, statistics as they are",
)


@dataclass(frozen=True)
class Piles:
    """Bytes of one way to run the module."""

    purpose: str  # "training" or "serving"
    precision: str
    optimizer: str
    weights: int
    gradients: int
    optimizer_state: int
    activations: int

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.optimizer_state + self.activations


@dataclass(frozen=True)
class Large:
    """One of the largest tensors of the forward pass."""

    shape: tuple[int, ...]
    dtype: str
    bytes: int
    made_by: str
    is_kept: bool
    times: int = 1  # how many of this shape the same words make: one for each block


@dataclass(frozen=True)
class Intensity:
    """Work against traffic at one batch size, floats in half precision."""

    batch: int
    flops: int
    bytes: int
    balance: float

    @property
    def flops_per_byte(self) -> float:
        return self.flops / self.bytes if self.bytes else 0.0

    @property
    def bound(self) -> str:
        return "compute" if self.flops_per_byte >= self.balance else "memory"


@dataclass(frozen=True)
class Budget:
    name: str
    inputs: tuple[tuple[str, tuple[int, ...], str], ...]
    parameters: int
    submodules: tuple[tuple[str, int], ...]
    piles: tuple[Piles, ...]
    largest: tuple[Large, ...]
    intensities: tuple[Intensity, ...]
    left_out: tuple[str, ...]
    knows_all_parameters: bool


def draw_up(filename: str, class_name: str | None, given: Given, balance: float, most: int = 10) -> Budget:
    """The budget of a module at the given sizes. Raises Unclear, OSError, or source.Unreadable."""
    evaluated = evaluate(filename, class_name, given)
    held = weights(evaluated.module, evaluated.construction)
    memory = activations.run(evaluated.forward)
    single = evaluate(filename, evaluated.name, _single(given))
    return Budget(
        evaluated.name,
        tuple(_inputs(evaluated)),
        held.parameters,
        tuple(_submodules(held)),
        tuple(_piles(held, memory)),
        tuple(_largest(memory, most)),
        tuple(_intensities(evaluated, single, balance)),
        (*_left_out(evaluated, held, memory), *ALWAYS_LEFT_OUT),
        not held.unknown,
    )


def _single(given: Given) -> Given:
    """The same for a batch of one."""
    inputs = {}
    for name, value in given.inputs.items():
        sizes = shape_of(value) or ()
        inputs[name] = tensor([1, *sizes[1:]], value.dtype or "float32") if sizes else value
    return replace(given, inputs=inputs, batch=1)


def _inputs(evaluated: Evaluated) -> Iterator[tuple[str, tuple[int, ...], str]]:
    for name, value in evaluated.inputs.items():
        if isinstance(value, Tensor):
            yield name, shape_of(value) or (), value.dtype or "float32"


def _submodules(held: Weights, depth: int = 2) -> Iterator[tuple[str, int]]:
    """Parameters of submodules, to a depth of two names; numbered ones count as one level with their list."""
    counts: Counter[str] = Counter()
    for weight in held.known:
        if weight.is_trained:
            names = weight.path.split(".")[:-1] or ["(itself)"]
            kept = names[: depth + any(name.isdigit() for name in names[:depth])]
            counts[".".join(kept)] += weight.count
    yield from counts.items()


def _piles(held: Weights, memory: activations.Memory) -> Iterator[Piles]:
    buffers = sum(weight.count * 4 for weight in held.known if not weight.is_trained)
    kept = {"float32": _bytes(memory.kept.values(), 4), "mixed": _bytes(memory.kept.values(), 2)}
    for (precision, optimizer), (copy, gradient, state) in STATES.items():
        count = held.parameters
        yield Piles(
            "training", precision, optimizer, count * copy + buffers, count * gradient, count * state, kept[precision]
        )
    for precision, width in SERVING.items():
        largest = max((_bytes([storage], width) for storage in memory.made), default=0)
        yield Piles("serving", precision, "", held.parameters * width + buffers, 0, 0, largest)


def _bytes(storages: Iterable[Storage], width: int) -> int:
    return sum(s.bytes if s.is_statistic or s.dtype != "float32" else s.bytes // 4 * width for s in storages)


def _largest(memory: activations.Memory, most: int) -> Iterator[Large]:
    everything = {id(storage): storage for storage in (*memory.made, *memory.kept.values())}
    alike = Counter((s.shape, s.dtype, s.bytes, s.made_by, key in memory.kept) for key, s in everything.items())
    for kind, times in sorted(alike.items(), key=lambda item: -item[0][2])[:most]:
        yield Large(*kind, times)


def _intensities(whole: Evaluated, single: Evaluated, balance: float) -> Iterator[Intensity]:
    for evaluated in (whole, single):
        done = list(work.work(evaluated.forward))
        batch = next((shape[0] for _, shape, _ in _inputs(evaluated) if shape), 1)
        yield Intensity(batch, sum(w.flops for w in done), sum(w.bytes(2) for w in done), balance)


def _left_out(evaluated: Evaluated, held: Weights, memory: activations.Memory) -> Iterator[str]:
    if held.unknown:
        yield f"parameters of {', '.join(held.unknown)}"
    if memory.unjudged:
        yield f"what is kept for the backward pass of {', '.join(sorted(memory.unjudged))}"
    if names := work.uncounted(evaluated.forward):
        yield f"the work of {', '.join(sorted(names))}"
    if calls := sorted(set(_opaque(evaluated.forward))):
        yield f"calls that are not followed: {', '.join(calls)}"


def _opaque(events: Sequence[Event]) -> Iterator[str]:
    for event in events:
        if isinstance(event, Call) and not isinstance(event.callee, Function | Class):
            text = event.site.text
            yield text if len(text) <= 40 else f"{text[:39]}…"
