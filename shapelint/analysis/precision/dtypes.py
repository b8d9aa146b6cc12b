"""What rules on precision read off events: dtypes, constants, and where both came from."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from shapelint.analysis.evidence import KEEPING_METHODS, made_by, within_call
from shapelint.analysis.index import events_of, once_per_file
from shapelint.domain.dims import evaluate
from shapelint.domain.formats import FLOAT16, FORMATS, Format
from shapelint.domain.values import (
    Dict,
    Float,
    Instance,
    Int,
    Many,
    Method,
    Tensor,
    Tuple,
    Union,
    Unknown,
    Value,
    maker_of,
    same_value,
)
from shapelint.events import Call, Carried, Entered, Event, Input, Joined, Kind, Left, Operation, Site, Stored

MOST_STEPS = 40
HOLDING = frozenset({"tensor", "as_tensor", "full", "full_like", "new_full", "new_tensor", "astype"})
KEEPING = frozenset({Kind.LAYOUT, Kind.RESHAPE, Kind.INDEXING, Kind.CAST, Kind.AUTOGRAD})
PRIMARY = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def dtype_of(value: Value | None) -> str | None:
    """The dtype of an array, or of something that was cast."""
    match value:
        case Tensor(dtype=dtype) | Unknown(dtype=dtype):
            return dtype
        case Union(options=options):
            found = {dtype_of(option) for option in options if not isinstance(option, Int | Float)}
            return found.pop() if len(found) == 1 else None
    return None


def format_of(value: Value | None) -> Format | None:
    return FORMATS.get(dtype_of(value) or "")


def is_possibly(event: Operation, library: str) -> bool:
    """Whether the arrays of an operation are of this library, as far as is known."""
    known = {t.library for t in (*event.operands, event.result) if isinstance(t, Tensor)}
    return known <= {library, None} and (library in known or event.callee.partition(".")[0] in {library, "operator"})


def constant(value: Value | None) -> float | None:
    """The number that a value is, or is by default; also of `torch.tensor(-1e9)`."""
    match value:
        case Float(value=number, default=default):
            return number if number is not None else default
        case Int(dim=dim):
            defaults = {symbol: symbol.default for symbol in dim.symbols() if symbol.default is not None}
            try:
                return float(evaluate(dim, defaults))
            except (KeyError, ArithmeticError):
                return None
        case Tensor():
            maker = made_by(value)
            if isinstance(maker, Operation) and maker.name in HOLDING:
                return constant(maker.arguments.get("value", maker.arguments.get("x")))
            if isinstance(maker, Operation) and maker.kind is Kind.CAST and maker.operands:
                return constant(maker.operands[0])
            if isinstance(maker, Operation) and maker.name == "neg":
                inner = constant(maker.arguments["x"])
                return None if inner is None else -inner
    return None


def arrays(event: Operation) -> Iterator[Value]:
    """The arrays that an operation works on, also those of which only the dtype is known."""
    for value in event.values:
        items = value.items if isinstance(value, Tuple) else (value.item if isinstance(value, Many) else value,)
        yield from (item for item in items if isinstance(item, Tensor) or dtype_of(item) is not None)


def source_of(value: Value | None) -> Operation | None:
    """The operation whose numbers a value holds, past views, casts and moves."""
    for _ in range(MOST_STEPS):
        maker = made_by(value) if value is not None else None
        if isinstance(maker, Call) and isinstance(maker.callee, Method) and maker.callee.name in KEEPING_METHODS:
            value = maker.callee.receiver
            continue
        if isinstance(maker, Call) and value is not None and (inner := within_call(value)) is not value:
            value = inner
            continue
        if not isinstance(maker, Operation):
            return None
        if maker.kind not in KEEPING or not maker.operands:
            return maker
        value = maker.operands[0]
    return None


def text_of(event: Operation, name: str, number: float) -> str:
    """A constant as it is written, with its value where it has a name: `-1e9`, `self.eps` (1e-8)."""
    site = event.sites.get(name)
    text = site.text if site is not None else ""
    if not 0 < len(text) <= 40:
        return spelled(number)
    is_literal = not any(letter.isalpha() for letter in text.replace("e", ""))
    return f"`{text}`" if is_literal else f"`{text}` ({spelled(number)})"


def spelled(number: float) -> str:
    """65504 as 65,504 and 5.9605e-08 as 5.96e-8."""
    if float(number).is_integer() and abs(number) < 1e7:
        return f"{int(number):,}"
    mantissa, _, exponent = f"{number:.3g}".partition("e")
    return f"{mantissa}e{int(exponent)}" if exponent else mantissa


def applied(site: Site, call: str) -> str:
    """The source of an expression with a method called on it: `x.float()`, `(a + b).float()`."""
    text = str(site.module.code_for_node(site.node))
    try:
        is_primary = isinstance(ast.parse(text.strip(), mode="eval").body, PRIMARY)
    except SyntaxError:
        is_primary = False
    return f"{text}.{call}" if is_primary else f"({text}).{call}"


@once_per_file
def _rounds(events: Sequence[Event]) -> Iterator[Mapping[int, Sequence[Value]]]:
    """By the event that made what a round of a loop leaves to the next one: what it found instead."""
    found: dict[int, list[Value]] = {}
    for carried in events_of(events, Carried):
        maker = maker_of(carried.after)
        makers = [maker, *map(maker_of, maker.options)] if isinstance(maker, Joined) else [maker]
        for event in makers:
            found.setdefault(id(event), []).append(carried.before)
    yield found


def is_carried(events: Sequence[Event], event: Operation, operand: Value) -> bool:
    """Whether a round of a loop finds `operand` where it leaves the result of `event` to the next round."""
    return any(same_value(before, operand) for before in _rounds(events)[0].get(id(event), ()))


def is_kept(events: Sequence[Event], event: Operation, operand: Value) -> bool:
    """Whether `operand` is an attribute that becomes the result of `event`."""
    maker = maker_of(operand)
    match maker:
        case Input(kind="attribute", source=Instance() as owner, name=name):
            return any(maker_of(value) is event for value in given_to(events, owner, name))
    return False


def given_to(events: Sequence[Event], owner: Instance, attribute: str) -> Iterator[Value]:
    """All that the methods of a class make an attribute."""
    stored = (s for s in events_of(events, Stored) if s.owner.cls is owner.cls and s.attribute == attribute)
    return (s.value for s in stored)


def is_python_sum(event: Operation) -> bool:
    """Python's sum() adds what one and the same expression gives, again and again."""
    return "x" in event.sites and event.sites["x"] == event.sites.get("y")


def call_of(events: Sequence[Event], event: Operation, number: Value | None) -> Call | None:
    """The call that brings a default and a narrow array together; None where the function itself does."""
    maker = maker_of(number) if number is not None else None
    if not isinstance(maker, Input) or maker.kind != "default":
        return None
    index = next(i for i, other in enumerate(events) if other is event)
    entered = _around(events, index)
    if entered is None or entered.parameters.get(maker.name) is not number:
        return None
    if not any(dtype_of(value) in FORMATS for value in entered.parameters.values()):
        return None
    for later in events[index:]:
        if isinstance(later, Call) and later.callee is entered.function:
            return later
    return None


def _around(events: Sequence[Event], index: int) -> Entered | None:
    depth = 0
    for event in reversed(events[:index]):
        if isinstance(event, Left):
            depth += 1
        elif isinstance(event, Entered):
            if depth == 0:
                return event
            depth -= 1
    return None


EPSILONS = {
    "Adam": 1e-8, "AdamW": 1e-8, "NAdam": 1e-8, "RAdam": 1e-8, "Adamax": 1e-8, "SparseAdam": 1e-8, "RMSprop": 1e-8,
    "Adagrad": 1e-10, "Adadelta": 1e-6,
}  # fmt: skip


def parameters_of(optimizer: Operation) -> str | None:
    """The dtype of what an optimizer is given, where all of it has one."""
    return _parameter_dtype(optimizer.arguments.get("params"))


def _parameter_dtype(value: Value | None) -> str | None:
    match value:
        case Tensor(dtype=dtype):
            return dtype
        case Many(item=item):
            return _parameter_dtype(item)
        case Tuple(items=items) if items:
            found = {_parameter_dtype(item) for item in items if not isinstance(item, Unknown)}
            return found.pop() if len(found) == 1 else None
        case Dict():
            return _parameter_dtype(value.get("params"))
    return None


def dead_eps(optimizer: Operation) -> float | None:
    """The eps of an Adam over float16 parameters, where it is 0 to them."""
    name = optimizer.callee.rpartition(".")[2]
    if parameters_of(optimizer) != FLOAT16.name or name not in EPSILONS:
        return None
    given = optimizer.arguments.get("eps")
    eps = EPSILONS[name] if given is None else constant(given)
    return eps if eps and FLOAT16.stored(eps) == 0 else None
