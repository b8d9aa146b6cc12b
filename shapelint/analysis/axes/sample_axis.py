"""Which axis of a table holds samples, and which classes: choices held against labels, losses, joined copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shapelint.analysis.axes.normalised_axis import SOFTMAXES, is_made_by_features, one_axis, rank_of
from shapelint.analysis.evidence import axes_of, elementwise_sources, identity, least_ranks, made_by
from shapelint.analysis.index import operations
from shapelint.analysis.uses import consumers, is_same, made, uses
from shapelint.domain.dims import ONE, Dim
from shapelint.domain.values import NONE, Axis, Many, Tensor, Tuple, Value
from shapelint.events import Event, Kind, Operation

CLASS_LOSSES = frozenset({"cross_entropy", "nll_loss"})


def picks_of_all(events: Sequence[Event]) -> Iterator[tuple[Operation, Operation]]:
    """argmax over a whole table, compared with one label for each row."""
    ranks: dict[object, int] | None = None
    for event in operations(events, {"argmax", "argmin"}):
        x, output = event.arguments.get("x"), made(event)
        if x is None or event.arguments.get("dim", NONE) != NONE or rank_of(x) == 1 or output is None:
            continue
        for use in uses(events, output, -1):
            if use.event.name not in {"eq", "ne"}:
                continue
            other = next((v for v in use.event.values if not is_same(v, use.operand)), None)
            ranks = least_ranks(events) if ranks is None else ranks
            least = max((ranks.get(identity(v), 0) for v in elementwise_sources(x)), default=0)
            if _is_vector(other) or _picks_in_rows(other) or (least > 1 and _counts(events, use.event)):
                yield event, use.event
                break


def _is_vector(value: Value | None) -> bool:
    return isinstance(value, Tensor) and value.shape.least_rank > 0


def _picks_in_rows(value: Value | None) -> bool:
    """Whether one of each row was chosen: what has an axis 1 has rows."""
    event = made_by(value) if value is not None else None
    return isinstance(event, Operation) and event.name in {"argmax", "argmin"} and one_axis(event) == 1


def _counts(events: Sequence[Event], event: Operation) -> bool:
    """Whether a comparison is averaged: nobody averages one number."""
    output = made(event)
    return output is not None and any(use.event.name == "mean" for use in uses(events, output, -1))


def picks_of_samples(events: Sequence[Event]) -> Iterator[tuple[Operation, Operation]]:
    """argmax along axis 0 of what a loss takes for (samples, classes)."""
    for event in operations(events, {"argmax", "max"}):
        x = event.arguments.get("x")
        if one_axis(event) != 0 or x is None or rank_of(x) == 1:
            continue
        loss = next(
            (use for use in consumers(events, x) if isinstance(use, Operation) and _takes_classes(use, x)), None
        )
        if loss is None and rank_of(x) == 2 and _is_compared(events, event):
            loss = _normalised_in_rows(x)
        if loss is None and isinstance(x, Tensor):
            loss = _labelled_by_sample(events, event, x)
        if loss is not None:
            yield event, loss


def _labelled_by_sample(events: Sequence[Event], event: Operation, x: Tensor) -> Operation | None:
    """What holds the choice against labels that have the axes of x but for axis 1: one for each sample."""
    output, sizes = made(event), x.shape.sizes
    if output is None or x.shape.rank is None or x.shape.rank < 2 or sizes[0] in {sizes[1], ONE}:
        return None
    for use in uses(events, output, 0):
        others = [v for v in use.event.operands if not is_same(v, use.operand)]
        if use.event.name in {"eq", "ne"} and any(v.shape.sizes == (sizes[0], *sizes[2:]) for v in others):
            return use.event
    return None


def _normalised_in_rows(x: Value) -> Operation | None:
    """The softmax along axis 1 that gave x: so that is where the classes are."""
    makers = (made_by(source) for source in elementwise_sources(x))
    softmaxes = (event for event in makers if isinstance(event, Operation) and event.name in SOFTMAXES)
    return next((event for event in softmaxes if one_axis(event) == 1), None)


def _is_compared(events: Sequence[Event], event: Operation) -> bool:
    """Whether indices are held against others, and the hits counted."""
    output = made(event)
    for use in uses(events, output, -1) if output is not None else ():
        hits = made(use.event) if use.event.name in {"eq", "ne"} else None
        if hits is not None and any(later.event.name in {"mean", "sum"} for later in uses(events, hits, -1)):
            return True
    return False


def _takes_classes(loss: Operation, x: Value) -> bool:
    """Whether a loss takes axis 1 of x for the classes."""
    if loss.name not in CLASS_LOSSES or loss.callee.startswith("optax"):
        return False
    return is_same(loss.arguments.get("x"), x) and rank_of(loss.arguments.get("target")) != 0


def classes_last(events: Sequence[Event]) -> Iterator[tuple[Operation, Tensor]]:
    """Losses over classes along axis 1 whose input has them last: (samples, steps, classes)."""
    for event in operations(events, CLASS_LOSSES):
        x, target = event.arguments.get("x"), event.arguments.get("target")
        if event.callee.startswith("optax") or not isinstance(x, Tensor) or (x.shape.rank or 0) < 3 or event.problem:
            continue
        if isinstance(maker := made_by(x), Operation) and (maker.kind is Kind.LAYOUT or maker.name == "rearrange"):
            continue  # the author has moved them
        sizes = x.shape.sizes
        if isinstance(target, Tensor) and target.shape.rank is not None:
            steps = target.shape.sizes
            wrong = steps == sizes[:-1] and (steps != (sizes[0], *sizes[2:]) or is_made_by_features(x, {"linear"}))
        else:
            wrong = is_made_by_features(x, {"linear"})
        if wrong:
            yield event, x


def copies_as_samples(events: Sequence[Event]) -> Iterator[tuple[Operation, Operation, Dim]]:
    """k copies of a tensor joined along the batch, the operation where a tensor with k channels meets them, and k."""
    for event in operations(events, {"cat"}):
        tensors = event.arguments.get("tensors")
        count = tensors.length if isinstance(tensors, Many) else None
        if isinstance(tensors, Tuple) and len(tensors.items) > 1:
            first = tensors.items[0]
            count = ONE * len(tensors.items) if all(is_same(item, first) for item in tensors.items) else None
        output = made(event)
        if count is None or output is None or (axes_of(event) or (0,)) != (0,):
            continue
        for use in consumers(events, output):
            if isinstance(use, Operation) and use.kind is Kind.ELEMENTWISE:
                others = [operand for operand in use.operands if not is_same(operand, output)]
                if any(count in (axis.size for axis in _inner(other)) for other in others):
                    yield event, use, count
                    break


def _inner(value: Tensor) -> tuple[Axis, ...]:
    shape = value.shape
    return shape.tail if shape.run is not None else shape.head[1:]
