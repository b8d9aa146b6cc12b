"""Operands that tell that what they meet is meant to be square, whatever its author called the two axes."""

from __future__ import annotations

from collections.abc import Iterator

from shapelint.analysis.evidence import identity, made_by
from shapelint.domain.values import NONE, Tensor, Value
from shapelint.events import Event, Joined, Kind, Operation
from shapelint.provenance import ancestors

IDENTITIES = frozenset({"eye", "identity"})
TRANSPOSES = frozenset({"transpose", "permute", "t", "mT", "T", "rearrange"})
MOST_STEPS = 8
MOST_BEFORE = 32


def is_mirrored(event: Operation) -> bool:
    """Whether a value meets what tells that it is meant to be square.

    Its own transpose, `a - a.transpose(1, 2)`, the identity, itself, `a[1::2] @ a[::2]`, or what it makes of others:
    `a + einsum("be,ec->bc", a, w)`, `a @ (a @ x)`.
    """
    if len(event.operands) != 2:
        return False
    first, second = event.operands
    makers = [made_by(cast_from(operand)) for operand in event.operands]
    if any(isinstance(maker, Operation) and maker.name in IDENTITIES for maker in makers):
        return True
    if event.kind is Kind.CONTRACTION and (roots(first) & roots(second) or is_again(event)):
        return True
    mapped = [m.operands for m in makers if isinstance(m, Operation) and m.name == "einsum"]
    if any(identity(value) == identity(operand) for given in mapped for value in given for operand in event.operands):
        return True
    if len(mapped) == 2 and {identity(v) for v in mapped[0]} == {identity(v) for v in mapped[1]}:
        return True  # einsum("nm,no->mo", a, b) + einsum("nm,no->mo", b, a)
    turned = [m.arguments.get("x", NONE) for m in makers if isinstance(m, Operation) and m.name in TRANSPOSES]
    return any(identity(value) == identity(operand) for value in turned for operand in event.operands)


def cast_from(value: Value) -> Value:
    """A value before it got another dtype or device."""
    for _ in range(MOST_STEPS):
        match made_by(value):
            case Operation(kind=Kind.CAST, arguments={"x": Tensor() as source}):
                value = source
            case _:
                break
    return value


def roots(value: Value, depth: int = 0) -> frozenset[object]:
    """What a value is cut out of, where paths meet each of them; powers of a matrix are cut out of it as well."""
    match made_by(value):
        case Operation(name="getitem", arguments={"x": Tensor() as source}) if depth < MOST_STEPS:
            return roots(source, depth + 1)
        case Joined(options=options) if depth < MOST_STEPS:
            return frozenset().union(*(roots(option, depth + 1) for option in options))
        case Operation(kind=Kind.CONTRACTION, operands=(first, second)) if depth < MOST_STEPS:
            of_both = roots(first, depth + 1) & roots(second, depth + 1)
            return of_both or frozenset({identity(value)})
    return frozenset({identity(value)})


def is_again(event: Operation) -> bool:
    """Whether a matrix, or a power of it, is applied to what it made before."""
    first, second = event.operands
    maker, own = made_by(second), roots(first)
    return maker is not None and any(own & roots(value) for earlier in products(maker) for value in earlier.operands)


def products(event: Event) -> Iterator[Operation]:
    for earlier in (event, *ancestors(event, MOST_BEFORE)):
        if isinstance(earlier, Operation) and earlier.kind is Kind.CONTRACTION:
            yield earlier
