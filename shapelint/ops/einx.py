"""einx: names for the axes of every operand, and for those of the result."""

from __future__ import annotations

from shapelint.events import Kind
from shapelint.ops.dtypes import unknown_dtype
from shapelint.ops.equations import ELLIPSIS, Term, contracted
from shapelint.ops.op import DtypeRule, Op, ShapeError, Unknowable, tensor
from shapelint.values import Const, Shape, Tuple, Value


def aligned(pattern: Value, tensors: Value) -> Shape:
    """ "b i, b j -> b i j": axes meet by name; those in brackets are gone from the result.

    Without an arrow, with sizes as numbers, parentheses or named ellipses nothing is told.
    """
    match pattern, tensors:
        case Const(value=str() as text), Tuple(items=items):
            left, arrow, right = text.replace("...", ELLIPSIS).partition("->")
            if arrow and _is_plain(left.replace("[", "").replace("]", "")) and _is_plain(right):
                terms = [_term(part) for part in left.split(",")]
                return _placed(text, terms, _term(right), items)
    raise Unknowable("not a plain pattern")


def _is_plain(text: str) -> bool:
    return all(word.isidentifier() or word == ELLIPSIS for word in text.replace(",", " ").split())


def _term(text: str) -> Term:
    return tuple(text.replace("[", " ").replace("]", " ").split())


def _placed(text: str, terms: list[Term], result: Term, items: tuple[Value, ...]) -> Shape:
    if any(len(set(term)) < len(term) for term in (*terms, result)):
        raise ShapeError(f"{text!r} names an axis twice")
    if not {*result} <= {name for term in terms for name in term}:
        raise Unknowable("a keyword gives the size of an axis")
    return contracted(text, terms, result, tuple(tensor(item).shape for item in items))


ARITHMETIC = ("add", "subtract", "multiply", "maximum", "minimum", "dot")
TRUTHS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or")


def row(name: str, dtype: DtypeRule) -> Op:
    return Op(name, aligned, (f"einx.{name}(pattern, *tensors)",), Kind.OTHER, dtype)


OPS: tuple[Op, ...] = (
    *(row(name, "promote") for name in ARITHMETIC),
    *(row(name, "bool") for name in TRUTHS),
    row("divide", "quotient"),
    *(row(name, unknown_dtype) for name in ("where", "get_at")),
)
