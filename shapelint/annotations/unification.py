"""Values held against hints, shapes against patterns, with the names that the function's other annotations have bound.

`meets` is for a value and a type hint, `unify` for a shape and a jaxtyping pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from enum import Enum
from itertools import chain, count
from typing import TypeAlias

from shapelint.annotations.hints import (
    AnyHint,
    ArrayHint,
    DictHint,
    InstanceHint,
    NoneHint,
    ScalarHint,
    SequenceHint,
    TupleHint,
    TypeHint,
    UnionHint,
)
from shapelint.annotations.patterns import Anonymous, AxisPattern, Fixed, Formula, Named, Pattern, Variadic, size_asked
from shapelint.domain.dims import ONE, Dim, Origin, Truth, compare, meant_different
from shapelint.domain.record import record
from shapelint.domain.shapes import broadcast
from shapelint.domain.values import (
    Axis,
    Const,
    Dict,
    Float,
    Instance,
    Int,
    Many,
    Run,
    Shape,
    Tensor,
    Tuple,
    Union,
    Value,
)


class Verdict(Enum):
    SATISFIED = "satisfied"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Contradicted if one is, satisfied if all are."""
    seen = set(verdicts)
    for verdict in (Verdict.CONTRADICTED, Verdict.UNDECIDED):
        if verdict in seen:
            return verdict
    return Verdict.SATISFIED


@record()
class BoundRun:
    """The axes that `*n` stood for; broadcastable if only `*#n` has been met."""

    shape: Shape
    broadcastable: bool = False


@record()
class Bindings:
    """What the names of one function's annotations have been bound to."""

    sizes: Mapping[str, Dim] = field(default_factory=dict)
    runs: Mapping[str, BoundRun] = field(default_factory=dict)


UNBOUND = Bindings()


@record()
class Match:
    """The verdict, what the names are bound to from now on, and for a contradiction the reason in plain words."""

    verdict: Verdict
    bindings: Bindings = UNBOUND
    reason: str = ""


Step: TypeAlias = tuple[Verdict, str]


def unify(pattern: Pattern, shape: Shape, bindings: Bindings = UNBOUND) -> Match:
    """Whether a shape meets a pattern. A name that is not bound yet binds; a contradiction binds nothing."""
    sizes, runs = dict(bindings.sizes), dict(bindings.runs)
    verdict = Verdict.SATISFIED
    for step, reason in _steps(pattern, shape, sizes, runs):
        if step is Verdict.CONTRADICTED:
            return Match(step, bindings, reason)
        verdict = all_of((verdict, step))
    reason = _out_of_order(pattern, shape, sizes) if verdict is Verdict.UNDECIDED else ""
    if reason:
        return Match(Verdict.CONTRADICTED, bindings, reason)
    return Match(verdict, Bindings(sizes, runs))


def _out_of_order(pattern: Pattern, shape: Shape, sizes: Mapping[str, Dim]) -> str:
    """Why a named axis stands where another one was asked for, which has its own place; empty where none does.

    Their sizes may be equal by chance; that is no reason to pass one for the other.
    """
    asked = [
        (index, wanted, size_asked(wanted, sizes.get), axis.size)
        for index, wanted, axis in _lined_up(pattern, shape)
        if not isinstance(wanted, Anonymous) and not wanted.broadcastable
    ]
    for index, wanted_axis, wanted, found in asked:
        if wanted is None or wanted == found or not (_is_axis(wanted) or _is_axis(found)):
            continue
        for other, _, size, there in asked:
            if size == found and there == wanted:
                return (
                    f"its axes {index} and {other} are {found} and {there}, the annotation has them the other way round"
                )
        name = wanted_axis.name if isinstance(wanted_axis, Named) else None
        taken = next((n for n, size in sizes.items() if n != name and size == found), None)
        if name is not None and taken is not None and _is_axis(found) and sizes.get(name) == wanted:
            others = f"{name} = {wanted} and {taken} = {found}"
            return f"its axis {index} is {found}, but the other annotations make {others}"
    return ""


def _is_axis(size: Dim) -> bool:
    return size.symbol is not None and size.symbol.origin is Origin.AXIS


def _steps(pattern: Pattern, shape: Shape, sizes: dict[str, Dim], runs: dict[str, BoundRun]) -> Iterator[Step]:
    least, wanted = shape.least_rank, len(pattern.prefix + pattern.suffix)
    too_many = pattern.variadic is None and least > wanted
    if too_many or (shape.run is None and least < wanted):
        bounds = ["at least " if open_ended else "" for open_ended in (shape.run, pattern.variadic)]
        plural = "axis" if (shape.run, least) == (None, 1) else "axes"
        yield Verdict.CONTRADICTED, f'it has {bounds[0]}{least} {plural}, "{pattern.text}" has {bounds[1]}{wanted}'
        return
    for index, wanted_axis, found in _lined_up(pattern, shape):
        yield _meet_axis(index, wanted_axis, found.size, sizes)
    if pattern.variadic is None:
        yield Verdict.SATISFIED if shape.run is None else Verdict.UNDECIDED, ""
    elif (middle := _middle(pattern, shape)) is not None:
        yield _meet_run(pattern.variadic, middle, runs)
    else:
        yield Verdict.UNDECIDED, ""


def _lined_up(pattern: Pattern, shape: Shape) -> Iterable[tuple[int, AxisPattern, Axis]]:
    """Which axis certainly meets which, with its index, from left to right."""
    if shape.run is None:
        right = len(shape.head) - len(pattern.suffix)
        return chain(zip(count(), pattern.prefix, shape.head), zip(count(right), pattern.suffix, shape.head[right:]))
    ends = pattern.suffix if pattern.variadic else pattern.prefix
    known = min(len(ends), len(shape.tail))
    from_right = zip(range(-known, 0), ends[len(ends) - known :], shape.tail[len(shape.tail) - known :])
    return chain(zip(count(), pattern.prefix, shape.head), from_right)


def _middle(pattern: Pattern, shape: Shape) -> Shape | None:
    """The axes that the variadic stands for, or None where it is not known which they are."""
    left, right = len(pattern.prefix), len(pattern.suffix)
    if shape.run is None:
        return Shape(shape.head[left : len(shape.head) - right])
    if left > len(shape.head) or right > len(shape.tail):
        return None
    return Shape(shape.head[left:], shape.run, shape.tail[: len(shape.tail) - right])


def _meet_axis(index: int, pattern: AxisPattern, found: Dim, sizes: dict[str, Dim]) -> Step:
    if isinstance(pattern, Anonymous) or (pattern.broadcastable and found == ONE):
        return Verdict.SATISFIED, ""
    wanted = size_asked(pattern, sizes.get)
    if wanted is not None:
        obvious = isinstance(pattern, Fixed) or pattern.text == str(wanted).replace(" ", "")
        said = pattern.text if obvious else f"{pattern.text} = {wanted}"
        return _agree(found, wanted, pattern.broadcastable), f"its axis {index} is {found}, the annotation says {said}"
    if isinstance(pattern, Formula) or (pattern.broadcastable and _may_be_one(found)):
        return Verdict.UNDECIDED, ""
    sizes[pattern.name if isinstance(pattern, Named) else pattern.text] = found
    return Verdict.SATISFIED, ""


def _meet_run(pattern: Variadic, found: Shape, runs: dict[str, BoundRun]) -> Step:
    if pattern.name is None:
        return Verdict.SATISFIED, ""
    bound = runs.get(pattern.name)
    if bound is None:
        runs[pattern.name] = BoundRun(found, pattern.broadcastable)
        return Verdict.SATISFIED, ""
    verdict = _agree_shapes(found, bound.shape, pattern.broadcastable, bound.broadcastable)
    if bound.broadcastable and verdict is not Verdict.CONTRADICTED:
        both = broadcast(found, bound.shape) if pattern.broadcastable else found
        runs[pattern.name] = BoundRun(both, pattern.broadcastable)
    said = "" if str(bound.shape) == f"(*{pattern.name},)" else f" = {bound.shape}"
    return verdict, f"its axes {pattern.text} are {found}, the annotation says {pattern.text}{said}"


def _may_be_one(dim: Dim) -> bool:
    return compare(dim, ONE) is not Truth.DIFFERENT


def _agree(a: Dim, b: Dim, a_stretches: bool = False, b_stretches: bool = False) -> Verdict:
    """Whether two sizes are the same, or one that may be stretched is 1. Differently named axes are not the same."""
    if (a_stretches and a == ONE) or (b_stretches and b == ONE):
        return Verdict.SATISFIED
    truth = Truth.DIFFERENT if meant_different(a, b) else compare(a, b)
    if truth is Truth.DIFFERENT:
        stretches = (a_stretches and _may_be_one(a)) or (b_stretches and _may_be_one(b))
        return Verdict.UNDECIDED if stretches else Verdict.CONTRADICTED
    return Verdict.SATISFIED if truth is Truth.SAME else Verdict.UNDECIDED


def _agree_shapes(a: Shape, b: Shape, a_stretches: bool = False, b_stretches: bool = False) -> Verdict:
    """The same of shapes: the one that may be stretched may also have fewer axes."""
    if Run() in (a.run, b.run):  # any axes, not even the same each time
        return Verdict.UNDECIDED
    aligned = len(a.head) == len(b.head) and len(a.tail) == len(b.tail)
    if a.run == b.run and (a.run is None or aligned):
        if (len(a.head) < len(b.head) and not a_stretches) or (len(a.head) > len(b.head) and not b_stretches):
            return Verdict.CONTRADICTED
        pairs = chain(zip(reversed(a.head), reversed(b.head)), zip(a.tail, b.tail))
        return all_of(_agree(x.size, y.size, a_stretches, b_stretches) for x, y in pairs)
    for few, many, stretches in ((a, b, a_stretches), (b, a, b_stretches)):
        if few.run in (None, many.run) and few.least_rank < many.least_rank and not stretches:
            return Verdict.CONTRADICTED
    if a_stretches or b_stretches or not (_is_named_run(a) and _is_named_run(b)):
        return Verdict.UNDECIDED
    assert a.run is not None
    assert b.run is not None
    return Verdict.CONTRADICTED if a.run.scope == b.run.scope else Verdict.UNDECIDED


def _is_named_run(shape: Shape) -> bool:
    return shape.run is not None and bool(shape.run.name) and not shape.axes


# A value held against a hint.


def meets(hint: TypeHint, value: Value, bindings: Bindings = UNBOUND) -> Match:
    """Whether a value has the shapes that a hint asks for. Only shapes and lengths of tuples contradict."""
    match hint, value:
        case _, Union(options=options):
            return _one_of([meets(hint, option, bindings) for option in options], bindings)
        case UnionHint(options=options), _:
            likeliest = sorted(options, key=lambda option: not _has_as_many(option, value))  # it says what is wrong
            return _any_of([meets(option, value, bindings) for option in likeliest if _admits(option, value)], bindings)
        case ArrayHint(), Tensor(shape=shape):
            pattern = hint.pattern
            if pattern is not None:
                return unify(pattern, shape, bindings)
            return Match(Verdict.SATISFIED if hint.text is None else Verdict.UNDECIDED, bindings)
        case TupleHint(items=items), Tuple(items=values, kind="tuple"):
            if len(items) != len(values) and len(items) > 1:  # tuple[X] is often meant as tuple[X, ...]
                reason = f"it has {len(values)} elements, the annotation {len(items)}"
                return Match(Verdict.CONTRADICTED, bindings, reason)
            return _all_of(zip(items, values), bindings) if len(items) == len(values) else _undecided(bindings)
        case SequenceHint(item=item), Tuple(items=values):
            return _all_of(((item, value) for value in values), bindings)
        case SequenceHint(item=item), Many(item=value):
            return meets(item, value, bindings)
        case DictHint(value=item), Dict(items=entries):
            return _all_of(((item, value) for _, value in entries), bindings)
        case (NoneHint(), Const(value=None)) | (ScalarHint(name="int"), Int()) | (ScalarHint(name="float"), Float()):
            return Match(Verdict.SATISFIED, bindings)
    return _undecided(bindings)


def _undecided(bindings: Bindings) -> Match:
    return Match(Verdict.UNDECIDED, bindings)


def _all_of(pairs: Iterable[tuple[TypeHint, Value]], bindings: Bindings) -> Match:
    verdict, known = Verdict.SATISFIED, bindings
    for index, (hint, value) in enumerate(pairs):
        match = meets(hint, value, known)
        if match.verdict is Verdict.CONTRADICTED:
            return Match(match.verdict, bindings, f"in element {index} {match.reason}")
        verdict, known = all_of((verdict, match.verdict)), match.bindings
    return Match(verdict, known)


def _one_of(matches: list[Match], bindings: Bindings) -> Match:
    """The value is one of several: it contradicts if all of them do."""
    verdicts = {match.verdict for match in matches}
    same = all(match.bindings == matches[0].bindings for match in matches)
    known = matches[0].bindings if same else bindings
    return Match(verdicts.pop(), known, matches[0].reason) if len(verdicts) == 1 else Match(Verdict.UNDECIDED, known)


def _any_of(matches: list[Match], bindings: Bindings) -> Match:
    """The hint offers several: names bind where only one of them fits, or all that fit agree."""
    fitting = [match for match in matches if match.verdict is not Verdict.CONTRADICTED]
    if not fitting:
        return matches[0] if matches else _undecided(bindings)
    known = fitting[0].bindings if all(match.bindings == fitting[0].bindings for match in fitting) else bindings
    satisfied = any(match.verdict is Verdict.SATISFIED for match in fitting)
    return Match(Verdict.SATISFIED if satisfied else Verdict.UNDECIDED, known)


def _has_as_many(hint: TypeHint, value: Value) -> bool:
    """Whether an option of a union has as many axes as the value."""
    pattern = hint.pattern if isinstance(hint, ArrayHint) else None
    if pattern is None or pattern.variadic is not None or not isinstance(value, Tensor):
        return False
    return len(pattern.prefix + pattern.suffix) == value.shape.rank


def _admits(hint: TypeHint, value: Value) -> bool:
    """Whether a value may be of the kind that an option of a union names, shapes aside."""
    match value:
        case Const(value=None):
            return isinstance(hint, NoneHint | AnyHint | InstanceHint)
        case Tensor(shape=shape):
            return isinstance(hint, ArrayHint | AnyHint | InstanceHint) or (
                isinstance(hint, ScalarHint) and shape.least_rank == 0
            )
        case Int() | Float():
            return not isinstance(hint, NoneHint | TupleHint | SequenceHint | DictHint)
        case Tuple() | Many():
            return not isinstance(hint, NoneHint | ScalarHint | DictHint)
        case Instance():
            return not isinstance(hint, NoneHint | ScalarHint)
    return True
