"""Every op and module of torch against torch's own sample inputs: shape, dtype and graph, sizes as numbers and symbols.

A few samples of each by default, all of them with SHAPELINT_ALL_SAMPLES=1.

A size that the data decide (of nonzero, unique) is right when it is said to be one; its number can not be known.
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import reduce
from itertools import islice
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

from shapelint.domain.dims import Dim, Origin, as_dim
from shapelint.domain.values import (
    TRUE,
    UNKNOWN,
    Const,
    Float,
    GraphState,
    Int,
    Layer,
    Many,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
)
from shapelint.ops import call_layer, infer_call
from shapelint.ops.op import ShapeError
from shapelint.ops.results import ATTACHED
from shapelint.testing import Symbols, dtype_name, lift, number

ALL = os.environ.get("SHAPELINT_ALL_SAMPLES") == "1"
CHOSEN = slice(0, None) if ALL else slice(0, 32, 8)  # generators stop there
DTYPES = (torch.float32, torch.int64)
DETACHED = frozenset({GraphState.CONST, GraphState.CUT})
SYMBOLS = Symbols(*range(2, 100))
RIGHT, OPEN = "right", "open"  # verdicts; any other one says what is wrong


# Verdicts


def worst(verdicts: Iterable[str]) -> str:
    found = set(verdicts)
    return min(found - {RIGHT, OPEN}, default=OPEN if OPEN in found else RIGHT)


def verdict(real: Any, value: Value, symbolic: bool = False) -> str:
    """Whether an inferred value says what the library returned."""
    match real, value:
        case _, Unknown() | Many():
            return OPEN
        case _, Union(options=options):  # one of these
            found = [verdict(real, option, symbolic) for option in options]
            return OPEN if {RIGHT, OPEN}.intersection(found) else found[0]
        case torch.Tensor(), Tensor():
            return worst((shape_verdict(real, value, symbolic), dtype_verdict(real, value)))
        case tuple() | list(), Tuple(items=items) if len(items) == len(real):
            return worst(verdict(r, item, symbolic) for r, item in zip(real, items))
        case ((bool() | str() | None), Const(value=known)):
            return RIGHT if known == real else f"{known}, not {real}"
        case int(), Int(dim=dim):
            known = number(dim, SYMBOLS.sizes)
            return OPEN if known is None else RIGHT if known == real else f"{known}, not {real}"
        case ((int() | float() | complex()), (Int() | Float(value=None))):
            return OPEN
    return f"{value}, not {real}"


def dtype_verdict(real: torch.Tensor, value: Tensor) -> str:
    name = dtype_name(real.dtype)
    if value.dtype == name:
        return RIGHT
    is_class = value.dtype in {None, "inexact", name.rstrip("0123456789")}
    return OPEN if is_class else f"{value.dtype}, not {name}"


def shape_verdict(real: torch.Tensor, value: Tensor, symbolic: bool) -> str:
    shape, wanted = value.shape, tuple(real.shape)
    if shape.run is not None:
        return OPEN if shape.least_rank <= real.dim() else f"{shape}, not {wanted}"
    if len(shape.head) != real.dim():
        return f"{shape}, not {wanted}"
    if symbolic and 0 in wanted:
        return OPEN  # a symbol stands for 1 or more: nothing is said of arrays without elements
    return worst(size_verdict(size, n) for size, n in zip(shape.sizes, wanted))


def size_verdict(size: Dim, wanted: int) -> str:
    known = number(size, SYMBOLS.sizes)
    if known is None:
        decided_by_data = size.symbol is not None and size.symbol.origin is Origin.DATA
        return RIGHT if decided_by_data else OPEN
    return RIGHT if known == wanted else f"{size} = {known}, not {wanted}"


def graph_verdict(real: Any, value: Value) -> str:
    """Whether what is said of the graph agrees with `requires_grad`."""
    match real, value:
        case torch.Tensor(requires_grad=attached), Tensor(graph=graph) if graph.state in ATTACHED | DETACHED:
            return RIGHT if (graph.state in ATTACHED) == attached else f"{graph.state}, requires_grad={attached}"
        case ((tuple() | list()), Tuple(items=items)) if len(items) == len(real):
            return worst(graph_verdict(r, item) for r, item in zip(real, items))
    return OPEN


# Calls


@dataclass
class Call:
    """A call of the library by its canonical name."""

    name: str
    function: Callable[..., Any]
    args: list[Any]
    kwargs: dict[str, Any]

    def result(self) -> Any:
        """What the library returns; None where it does not take the arguments."""
        try:
            return self.function(*self.args, **self.kwargs)
        except Exception:
            return None

    def infer(self, known: Callable[[Any], Value]) -> Value | ShapeError:
        return caught(infer_call, self.name, [known(arg) for arg in self.args], values(self.kwargs, known))

    def __str__(self) -> str:
        keywords = (f"{key}={text(value)}" for key, value in self.kwargs.items())
        return f"{self.name}({', '.join((*map(text, self.args), *keywords))})"


def caught(infer: Callable[..., Value], *arguments: Any) -> Value | ShapeError:
    try:
        return infer(*arguments)
    except ShapeError as error:
        return error


def values(kwargs: dict[str, Any], known: Callable[[Any], Value]) -> dict[str, Value]:
    return {key: known(value) for key, value in kwargs.items()}


def text(obj: Any) -> str:
    if isinstance(obj, torch.Tensor):
        return f"{dtype_name(obj.dtype)}{tuple(obj.shape)}"
    return f"[{', '.join(map(text, obj))}]" if isinstance(obj, list | tuple) else repr(obj)


def symbols_in_tensors(obj: Any) -> Value:
    """Tensors with symbols for sizes; numbers as they are, for they may well be axes."""
    if isinstance(obj, list | tuple) and not isinstance(obj, torch.Size):
        return Tuple(tuple(map(symbols_in_tensors, obj)), "list" if isinstance(obj, list) else "tuple")
    return lift(obj, SYMBOLS if isinstance(obj, torch.Tensor) else as_dim)


def symbols_everywhere(obj: Any) -> Value:
    return lift(obj, SYMBOLS)


def public(name: str) -> tuple[str, Callable[..., Any]] | None:
    """The canonical name of an op, and the callable that people write."""
    for prefix in ("torch.", "torch.Tensor.") if not name.startswith("torch.") else ("",):
        path = f"{prefix}{name}".split(".")[1:]
        found = reduce(lambda owner, part: getattr(owner, part, None), path, torch)
        if callable(found):
            return f"{prefix}{name}", found
    return None


class LastCall(TorchFunctionMode):
    """Notes the last function of torch that was called, for ops that are wrappers without a public name."""

    call: Call | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = resolve_name(func) or ""
        name = name if name.startswith("torch.") else f"torch.ops.{name}"
        self.call = Call(name, func, list(args), dict(kwargs or {}))
        return func(*args, **(kwargs or {}))


def spellings(op: Any, sample: Any) -> list[Call]:
    """A sample as a call of the op's function and of its method."""
    args, method = [sample.input, *sample.args], op.name.rpartition(".")[2]
    candidates = (public(op.name), (f"torch.Tensor.{method}", op.method_variant) if op.method_variant else None)
    return list({c[0]: Call(*c, args, sample.kwargs) for c in candidates if c is not None}.values())


def behind(op: Any, sample: Any) -> Call | None:
    """What a wrapper calls in the end; None where torch does not take the sample."""
    with LastCall() as mode:
        result = Call(op.name, op.op, [sample.input, *sample.args], sample.kwargs).result()
    return mode.call if result is not None else None


def samples(op: Any, dtype: torch.dtype, requires_grad: bool = False) -> Iterator[Any]:
    torch.manual_seed(0)
    return islice(op.sample_inputs("cpu", dtype, requires_grad=requires_grad), CHOSEN.start, CHOSEN.stop, CHOSEN.step)


# Sweeps


@dataclass
class Tally:
    """How often the inference was right, left something open, or was wrong, and how."""

    right: Counter[str] = field(default_factory=Counter)
    open: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def add(self, name: str, said: str, case: object) -> None:
        if said == RIGHT:
            self.right[name] += 1
        elif said == OPEN:
            self.open[name] += 1
        else:
            self.wrong.append(f"{case}: {said}")

    @property
    def exact(self) -> float:
        return self.right.total() / (self.right.total() + self.open.total() + len(self.wrong))

    def __str__(self) -> str:
        return f"{self.right.total()} right, {self.open.total()} open, {len(self.wrong)} wrong: {self.exact:.1%} exact"


@dataclass
class Sweep:
    """What came of all samples. `first` counts a sample once: by its function, else by its method."""

    first: Tally = field(default_factory=Tally)
    whole_numbers: Tally = field(default_factory=Tally)
    methods: Tally = field(default_factory=Tally)
    symbolic: Tally = field(default_factory=Tally)
    graphs: Tally = field(default_factory=Tally)

    def check(self, op: Any, sample: Any, tally: Tally) -> None:
        counted = False
        for call in spellings(op, sample):
            counted |= self.check_call(call, self.methods if counted else tally)
        if not counted:
            call = behind(op, sample)
            if call is not None and not self.check_call(call, tally):
                tally.add(op.name, OPEN, call)

    def check_call(self, call: Call, tally: Tally) -> bool:
        """Whether torch takes the call; if so it is compared with the inference."""
        plain, *symbolic = (call.infer(known) for known in (lift, symbols_in_tensors, symbols_everywhere))
        case, real = str(call), call.result()
        if real is None:
            return False
        tally.add(call.name, said(real, plain), case)
        for value in symbolic:
            self.symbolic.add(call.name, said(real, value, symbolic=True), case)
        return True

    def check_graph(self, op: Any, sample: Any) -> None:
        for call in spellings(op, sample):
            value, case, real = call.infer(lift), str(call), call.result()
            if real is not None and not isinstance(value, ShapeError):
                self.graphs.add(call.name, graph_verdict(real, value), case)


def said(real: Any, value: Value | ShapeError, symbolic: bool = False) -> str:
    return f"ShapeError: {value}" if isinstance(value, ShapeError) else verdict(real, value, symbolic)


def sweep(ops: Iterable[Any]) -> Sweep:
    done = Sweep()
    for op in ops:
        supported = op.supported_dtypes("cpu")
        for dtype, tally in zip(DTYPES, (done.first, done.whole_numbers)):
            for sample in samples(op, dtype) if dtype in supported else ():
                done.check(op, sample, tally)
        if op.supports_autograd and torch.float32 in supported:
            for sample in samples(op, torch.float32, requires_grad=True):
                done.check_graph(op, sample)
    return done


def module_sweep(infos: Iterable[Any]) -> Tally:
    tally = Tally()
    for info in infos:
        torch.manual_seed(0)
        inputs = info.module_inputs_func(info, device="cpu", dtype=torch.float32, requires_grad=False, training=True)
        for sample in islice(inputs, CHOSEN.start, CHOSEN.stop, CHOSEN.step):
            built, called = sample.constructor_input, sample.forward_input
            if called is None:
                continue
            name = f"torch.{info.name}"
            value = caught(infer_module, name, built, called)
            real = Call(name, info.module_cls(*built.args, **built.kwargs), called.args, called.kwargs).result()
            if real is not None:
                tally.add(name, said(real, value), Call(name, info.module_cls, [*built.args, *called.args], {}))
    return tally


def infer_module(name: str, built: Any, called: Any) -> Value:
    layer = infer_call(name, [lift(arg) for arg in built.args], values(built.kwargs, lift))
    if not isinstance(layer, Layer):
        return UNKNOWN
    return call_layer(layer, [lift(arg) for arg in called.args], values(called.kwargs, lift))


def test_ops_as_torch() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = sweep(op_db)
    print(*(f"{field.name}: {getattr(done, field.name)}" for field in fields(done)), sep="\n")
    for tally in (done.first, done.whole_numbers, done.methods, done.symbolic, done.graphs):
        assert not tally.wrong, "\n".join((f"{len(tally.wrong)} wrong", *tally.wrong[:40]))
    assert done.first.exact >= 0.92, done.first.open.most_common(40)
    assert done.symbolic.exact >= 0.7
    assert done.graphs.exact >= 0.9


def test_modules_as_torch() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tally = module_sweep(module_db)
    print(f"modules: {tally}")
    assert not tally.wrong, "\n".join(tally.wrong[:40])
    assert tally.exact >= 0.95, tally.open.most_common(20)


@pytest.mark.parametrize(
    ("real", "value"),
    [
        (torch.ones(2, 3), Tensor(lift(torch.ones(3, 2)).shape, "float32")),  # type: ignore[union-attr]
        (torch.ones(2, 3), lift(torch.ones(2, 3, dtype=torch.int64))),
        (torch.ones(2), lift(torch.ones(2, 1))),
        ((torch.ones(2),), lift((torch.ones(2), torch.ones(2)))),
        (torch.ones(2), Int(as_dim(2))),
        (2, Int(as_dim(3))),
        (2, Union((Int(as_dim(3)), TRUE))),
    ],
)
def test_what_is_wrong_is_found(real: Any, value: Value) -> None:
    assert verdict(real, value) not in {RIGHT, OPEN}
