"""How long a slice of an axis is, with bounds and sizes that may be symbols."""

from __future__ import annotations

from shapelint.domain.dims import ONE, Derivation, Dim, anonymous, as_dim, derive, divide
from shapelint.domain.values import Value
from shapelint.ops.op import Unknowable, dimension, is_none


def slice_size(start: Value, stop: Value, step: Value, size: Dim) -> tuple[Dim, bool]:
    """How long `range(size)[start:stop:step]` is, given that it is not empty, and whether that is known."""
    try:
        stride = 1 if is_none(step) else dimension(step).value
        first = None if is_none(start) else dimension(start)
        last = None if is_none(stop) else dimension(stop)
    except Unknowable:
        return anonymous(object()), False
    if stride is None or stride == 0:
        return anonymous(object()), False
    if all(d is None or d.value is not None for d in (first, last)) and size.value is not None:
        begin, end = (None if d is None else d.value for d in (first, last))
        return as_dim(len(range(*slice(begin, end, stride).indices(size.value)))), True
    if stride < 0:
        return _backward(first, last, stride, size)
    length = _forward(first, last, size)
    if _at_least(-length, as_dim(0)):  # it begins where the axis ends: this is never reached, or the size is another
        return anonymous(object()), False
    return _rounded_up(length, stride), True


def _rounded_up(length: Dim, stride: int) -> Dim:
    exact = divide(length, as_dim(stride))
    return exact if exact is not None else (length + (stride - 1)) // stride


def _backward(first: Dim | None, last: Dim | None, stride: int, size: Dim) -> tuple[Dim, bool]:
    if first is None and last is None:
        return _rounded_up(size, -stride), True
    return anonymous(object()), False


def _forward(first: Dim | None, last: Dim | None, size: Dim) -> Dim:
    """The length of `[first:last]`. Negative bounds count from the end; those beyond the end stop there."""
    if first is None or _at_least(first, as_dim(0)):
        begin = first if first is not None else as_dim(0)
        if last is None:
            return size - begin
        if last - begin == ONE:
            return ONE
        if _at_least(last, as_dim(0)) and not _at_least(size, last):
            return least(last - begin, size - begin)
        end = _end(last, size)
        return end - begin if end is not None else _sliced(begin, last, size)
    if not _at_least(-first, ONE):
        return _sliced(first, last if last is not None else size, size)
    end = size if last is None else _end(last, size)
    if end is None:
        return _sliced(first, last if last is not None else size, size)
    length = end - size - first  # what lies between, if the axis is long enough
    return least(length, end)


def _end(last: Dim, size: Dim) -> Dim | None:
    """Where a slice stops, counted from the front; None where not even the sign of `last` is known."""
    if _at_least(-last, ONE):
        return size + last
    if not _at_least(last, as_dim(0)):
        return None
    return least(last, size)


def least(a: Dim, b: Dim) -> Dim:
    if _at_least(b, a):
        return a
    return b if _at_least(a, b) else derive("min", *sorted((a, b), key=str))


def _sliced(first: Dim, last: Dim, size: Dim) -> Dim:
    return derive("slice", first, last, ONE, size)


def _at_least(a: Dim, b: Dim) -> bool:
    """a >= b whatever the symbols, each of which is at least 1."""
    return _never_negative(a - b) or any(_at_least(a, bound) for bound in _bounds(b))


def _bounds(dim: Dim) -> tuple[Dim, ...]:
    """Sizes that this one never exceeds: n // 2 stays within n."""
    match dim.symbol and dim.symbol.derivation:
        case Derivation("//", (dividend, divisor)) if _at_least(divisor, ONE) and _at_least(dividend, as_dim(0)):
            return (dividend,)
        case Derivation("min", operands):
            return operands
    return ()


def _never_negative(difference: Dim) -> bool:
    """Every coefficient but the constant is positive, and the constant is outweighed."""
    terms = [(monomial, c) for monomial, c in difference.terms if monomial]
    derived = any(s.derivation for monomial, _ in terms for s in monomial)  # n // 2 may be 0
    constant = sum(c for monomial, c in difference.terms if not monomial)
    return all(c > 0 for _, c in terms) and constant + (0 if derived else sum(c for _, c in terms)) >= 0
