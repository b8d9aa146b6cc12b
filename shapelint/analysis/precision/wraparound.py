"""Arithmetic in unsigned bytes and 16-bit samples: where it leaves their range and wraps around."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from shapelint.analysis.control_flow import supposed
from shapelint.analysis.evidence import made_by
from shapelint.analysis.index import operations
from shapelint.analysis.precision.dtypes import constant, dtype_of, given_to, is_carried, is_kept
from shapelint.analysis.precision.squares import COMPARING, is_square, zero_or_one
from shapelint.domain.values import NONE, Instance, Int, Slice, Tensor, Tuple, Union, Unknown, Value, same_value
from shapelint.events import Branch, Event, Input, Joined, Kind, Operation

BYTE = "uint8"
UNSIGNED = {"uint8": 2**8, "uint16": 2**16, "uint32": 2**32}
HOLDS = {name: f"0 to {end - 1:,}" for name, end in UNSIGNED.items()} | {"int16": "-32,768 to 32,767"}
PIXELS = frozenset({"randint", "tensor", "as_tensor", "frombuffer", "from_numpy", "imread"})
ARITHMETIC = frozenset({"sub", "mul", "pow", "square", "matmul", "dot", "einsum", "diff", "add", "neg"})
SAMPLE = "int16"
LOUDEST = 2**15 - 1
BELOW = frozenset({"sub", "diff", "neg"})  # what leaves the range of all unsigned integers alike
SQUARING = frozenset({"pow", "square", "mul", "dot", "matmul"})
ORDERING = frozenset({"lt", "le", "gt", "ge"})


def wraps(events: Sequence[Event]) -> Iterator[tuple[Operation, str]]:
    """Operations on bytes that may wrap around, with what happens in them."""
    chosen: set[int] | None = None
    for event in operations(events, ARITHMETIC):
        dtype = dtype_of(event.result)
        if dtype == SAMPLE and event.name in SQUARING:
            if is_square(event) and is_signal(event.operands[0]):
                yield event, "200 squared is -25,536"
            continue
        if dtype not in UNSIGNED or (dtype != BYTE and event.name not in BELOW):
            continue
        example = _example(events, event)
        if example is None:
            continue
        chosen = _chosen(events) if chosen is None else chosen
        if id(event) not in chosen:
            yield event, example


def _example(events: Sequence[Event], event: Operation) -> str | None:
    left, right = event.arguments.get("x"), event.arguments.get("y")
    match event.name:
        case "sub" if left is not None and right is not None:
            is_open = _below_zero(left, right) or is_made_positive(events, event)
            may_be_negative = is_open and not _is_ordered(events, left, right)
            example = "10 - 20" if _below_zero(left, right) else "0 - 1"
            return f"{example} is {_difference(event, example):,}" if may_be_negative else None
        case "neg" if not zero_or_one(left):
            return f"-10 is {_difference(event):,}"
        case "diff" if not zero_or_one(left):
            return f"10 - 20 is {_difference(event):,}"
        case "matmul" | "dot" if dtype_of(left) == dtype_of(right) == BYTE:
            return "a sum of 256 ones is 0"
        case "einsum" if len(event.operands) > 1:
            return "a sum of 256 ones is 0"
        case "pow" if isinstance(left, Int):
            return None  # 2 ** arange(8) are the bits of a byte
        case "pow" | "square" | "mul" if is_square(event) or event.name == "pow":
            return None if zero_or_one(left) or (constant(right) or 2) < 2 else "20 squared is 144"
        case "mul":
            return _multiplied(events, left, right)
        case "add":
            return _counted(events, event, left, right) or _brightened(events, left, right)
    return None


def _difference(event: Operation, example: str = "") -> int:
    return UNSIGNED[dtype_of(event.result) or BYTE] - (1 if example == "0 - 1" else 10)


def _below_zero(left: Value, right: Value) -> bool:
    """Whether a difference may be negative: not 255 - image, not labels - 1, not x - x.min()."""
    if isinstance(left, Int) or isinstance(right, Int):
        number = constant(left if isinstance(left, Int) else right)
        return number is not None and number not in {0, 1, 255}
    if dtype_of(left) != dtype_of(right) or zero_or_one(left) or zero_or_one(right):
        return False
    return not (_is_by(right, {"min", "amin", "minimum"}) or _is_by(left, {"max", "amax", "maximum"}))


def is_made_positive(events: Sequence[Event], event: Operation) -> bool:
    """Whether the sign of a difference of two masks is taken away: its author expects -1, which is 255."""
    is_of_arrays = len(event.operands) == 2 and all(dtype_of(value) == BYTE for value in event.operands)
    return is_of_arrays and any(made_by(use.operands[0]) is event for use in operations(events, {"abs"}))


def _is_by(value: Value, names: set[str]) -> bool:
    """Whether a value was made by one of these operations, on whatever path."""
    maker = made_by(value)
    if maker is None or isinstance(maker, Joined):
        ways = value.options if isinstance(value, Union) else maker.options if maker is not None else ()
        return bool(ways) and all(_is_by(way, names) for way in ways)
    return isinstance(maker, Operation) and maker.name in names


def _is_ordered(events: Sequence[Event], left: Value, right: Value) -> bool:
    """Whether two numbers are compared with each other: `if high <= low: return` comes before `high - low`."""
    if not all(isinstance(value, Tensor) and value.shape.rank == 0 for value in (left, right)):
        return False
    pairs = (event.operands for event in operations(events, ORDERING) if len(event.operands) == 2)
    return any(
        (same_value(a, left) and same_value(b, right)) or (same_value(a, right) and same_value(b, left))
        for a, b in pairs
    )


def _multiplied(events: Sequence[Event], left: Value | None, right: Value | None) -> str | None:
    """`frames * 2`; a mask or labels are multiplied to be looked at."""
    for array, factor in ((left, right), (right, left)):
        number = constant(factor) if isinstance(factor, Int) else None
        if array is not None and number is not None and 2 <= number < 255 and is_picture(events, array):
            return f"{256 // int(number) + 1} * {int(number)} is {(256 // int(number) + 1) * int(number) - 256}"
    return None


def _counted(events: Sequence[Event], event: Operation, left: Value | None, right: Value | None) -> str | None:
    """A counter of bytes: `votes += mask` in a loop, `histogram[value] += 1`."""
    element = made_by(left) if left is not None else None
    if left is None or isinstance(left, Int) or is_painted(right) or is_own_kind(events, right):
        return None
    if isinstance(element, Operation) and element.name == "getitem":  # elements are often written once each
        grows = constant(right) == 1 and is_zeros(element.operands[0]) and not is_window(element)
    else:
        grows = is_carried(events, event, left) or (is_kept(events, event, left) and not is_set_once(events, event))
    return "255 + 1 is 0" if grows else None


def is_set_once(events: Sequence[Event], event: Operation) -> bool:
    """`if not self.is_ready: self.is_ready += 1`"""
    name = event.sites["x"].text if "x" in event.sites else ""
    tests: list[tuple[str, bool]] = []
    for branch in takewhile(lambda other: other is not event, events):
        if not isinstance(branch, Branch):
            continue
        if branch.way != 0:
            tests.pop()
        if branch.way is not None:
            text, holds = supposed(branch.site.text)
            tests.append((text, holds is (branch.way == 0)))
    return (name, False) in tests


def is_window(element: Operation) -> bool:
    """Whether a part with a beginning and an end is taken: parts overlap, but few of them do."""
    index = element.arguments.get("index")
    items = index.items if isinstance(index, Tuple) else (index,)
    return any(isinstance(item, Slice) and NONE not in (item.start, item.stop) for item in items)


def is_painted(value: Value | None) -> bool:
    """A mask times a colour: each element is painted once."""
    maker = made_by(value) if value is not None else None
    return isinstance(maker, Operation) and maker.name == "mul" and any(map(zero_or_one, maker.operands))


def is_own_kind(events: Sequence[Event], value: Value | None) -> bool:
    """`kinds == kind` for kind in ...: each element is of one kind, and so it is counted once."""
    maker = made_by(value) if value is not None else None
    if not isinstance(maker, Operation) or maker.name != "eq" or len(maker.values) != 2:
        return False
    if any(isinstance(operand, Int) for operand in maker.values):  # the kinds are known: `for kind in (3, 5)`
        same = (event for event in operations(events, {"eq"}) if event.site.node is maker.site.node)
        return len({constant(operand) for event in same for operand in event.values if isinstance(operand, Int)}) > 1
    arrays = [operand for operand in maker.values if isinstance(operand, Tensor | Unknown)]
    if any(isinstance(operand, Unknown) and made_by(operand) is None for operand in arrays):
        return True  # one of many kinds, perhaps
    items = [isinstance(event, Input) and event.kind == "iteration" for event in map(made_by, arrays)]
    return len(arrays) == 2 and items.count(True) == 1


def _brightened(events: Sequence[Event], left: Value | None, right: Value | None) -> str | None:
    """`image + 50`, `red + green`; not `image * mask + (1 - mask) * other`"""
    if is_painted(left) and is_painted(right):
        return None
    for array, other in ((left, right), (right, left)):
        if array is None or other is None or not is_picture(events, array):
            continue
        is_number = isinstance(other, Int) or (isinstance(other, Tensor) and other.shape.rank == 0)  # np.uint8(60)
        number = constant(other) if is_number else None
        if number is not None and 2 <= number < 255:
            return f"255 + {int(number)} is {int(number) - 1}"
        if number is None and dtype_of(other) == BYTE and is_picture(events, other):
            return "200 + 100 is 44"
    return None


def is_zeros(value: Value) -> bool:
    maker = made_by(value)
    if isinstance(maker, Operation) and maker.name in {"setitem", "getitem"}:
        return is_zeros(maker.operands[0])
    return isinstance(maker, Operation) and maker.name in {"zeros", "zeros_like", "new_zeros"}


def is_picture(events: Sequence[Event], value: Value, depth: int = 0) -> bool:
    """Bytes that are annotated so, read, or scaled to 255; not labels or masks that were cast to bytes."""
    maker = made_by(value)
    match maker:
        case Input(kind="attribute", source=Instance() as owner, name=name) if depth == 0:
            return any(is_picture(events, kept, depth + 1) for kept in given_to(events, owner, name))
        case Input(annotation=annotation):
            return bool(annotation)
        case Operation(name=name) if name in PIXELS:
            return True
        case Operation(name="sub" | "mul" | "pow"):
            return True
        case Operation(name="add", operands=operands):  # counters of masks are none
            return any(is_picture(events, operand, depth) for operand in operands)
        case Operation(kind=Kind.CAST, operands=(source, *_)) if dtype_of(source) != BYTE:
            return _is_scaled(made_by(source))
        case Operation(
            kind=Kind.LAYOUT | Kind.RESHAPE | Kind.INDEXING | Kind.CAST | Kind.JOINING, operands=(source, *_)
        ):
            return is_picture(events, source, depth)
    return False


def is_signal(value: Value) -> bool:
    """Samples of sound: read from bytes, or scaled to 16 bits."""
    match made_by(value):
        case Operation(name="frombuffer"):
            return True
        case Operation(kind=Kind.CAST, operands=(source, *_)) if dtype_of(source) != SAMPLE:
            return _is_scaled(made_by(source), LOUDEST)
        case Operation(
            kind=Kind.LAYOUT | Kind.RESHAPE | Kind.INDEXING | Kind.CAST | Kind.JOINING, operands=(source, *_)
        ):
            return is_signal(source)
    return False


def _is_scaled(maker: Event | None, most: int = 255) -> bool:
    """`(image * 255).astype(np.uint8)`, `x.clip(0, 255)`, a ramp from 0 to 255"""
    if not isinstance(maker, Operation):
        return False
    if maker.kind in {Kind.RESHAPE, Kind.LAYOUT}:
        return any(_is_scaled(made_by(value), most) for value in maker.operands[:1])
    numbers = {constant(value) for value in maker.values if not isinstance(value, Tensor)}
    if maker.name in {"mul", "clamp", "linspace"} and numbers & {most, most + (most == LOUDEST)}:
        return not (maker.name == "mul" and any(_is_mask(value) for value in maker.values))
    is_kept = maker.name in {"clamp", "round", "add", "rint", "floor"}
    return is_kept and any(_is_scaled(made_by(value), most) for value in maker.operands)


def _is_mask(value: Value) -> bool:
    maker = made_by(value)
    return zero_or_one(value) or (isinstance(maker, Operation) and maker.name in COMPARING)


def _chosen(events: Sequence[Event]) -> set[int]:
    """Differences of which `where(a > b, a - b, b - a)` takes the one that does not wrap."""
    found: set[int] = set()
    for event in operations(events, {"where"}):
        made = [made_by(event.arguments[name]) for name in ("x", "y") if name in event.arguments]
        match made:
            case [Operation(name="sub") as one, Operation(name="sub") as two]:
                if same_value(one.arguments["x"], two.arguments["y"]):
                    found |= {id(one), id(two)}
    return found
