"""einx: names for the axes of every operand, and for those of the result."""

from __future__ import annotations

from shapelint.domain.dims import ONE, anonymous
from shapelint.domain.values import Axis, Const, Maker, Run, Shape, Tuple, Union, Unknown, Value
from shapelint.events import Kind
from shapelint.ops.dtypes import unknown_dtype
from shapelint.ops.equations import ELLIPSIS, Term, contracted
from shapelint.ops.op import DtypeRule, Op, ShapeError, Unknowable, tensor


def aligned(pattern: Value, tensors: Value) -> Shape:
    """ "b i, b j -> b i j": axes meet by name; those in brackets are gone from the result.

    Without an arrow the result is like the operand that has all axes. Where operands have sizes as numbers,
    parentheses or named ellipses, nothing is told.
    """
    match pattern, tensors:
        case Const(value=str() as text), Tuple(items=items):
            left, arrow, right = text.replace("...", ELLIPSIS).partition("->")
            if _is_plain(left.replace("[", "").replace("]", "")) and _is_plain(
                " ".join(w for w in right.split() if w != "1")
            ):
                terms = [_term(part) for part in left.split(",")]
                return _placed(text, terms, _term(right) if arrow else _widest(terms), items)
    raise Unknowable("not a plain pattern")


def _is_plain(text: str) -> bool:
    words = text.replace(",", " ").split()
    return all(word.isidentifier() or word == ELLIPSIS for word in words)


def _widest(terms: list[Term]) -> Term:
    """The one operand that has all axes."""
    names = {name for term in terms for name in term}
    found = [term for term in terms if names <= {*term}]  # also of "a b, b a": then it is not certain which
    if len({*found}) != 1 or any(not term for term in terms):
        raise Unknowable("no operand has all axes")
    return found[0]


def _term(text: str) -> Term:
    return tuple(text.replace("[", " ").replace("]", " ").split())


def _placed(text: str, terms: list[Term], result: Term, items: tuple[Value, ...]) -> Shape:
    named = tuple(name for name in result if name != "1")
    if any(len(set(term)) < len(term) for term in (*terms, named)):
        raise ShapeError(f"{text!r} names an axis twice")
    if not {*named} <= {name for term in terms for name in term}:
        raise Unknowable("a keyword gives the size of an axis")
    shapes = tuple(_shape(item, term) for item, term in zip(items, terms))
    return _inserted(result, contracted(text, terms, named, (*shapes, *(tensor(i).shape for i in items[len(terms) :]))))


def _shape(item: Value, term: Term) -> Shape:
    """An operand's shape; of what is not known to be one array no more than how many axes it has."""
    if not isinstance(item, Union | Unknown):
        return tensor(item).shape
    at = term.index(ELLIPSIS) if ELLIPSIS in term else len(term)
    axes = tuple(Axis(anonymous(object())) for name in term if name != ELLIPSIS)
    return Shape(axes[:at], Run("", object()) if ELLIPSIS in term else None, axes[at:])


def _inserted(result: Term, shape: Shape) -> Shape:
    """The axes of size 1 that the result names by their size."""
    if "1" not in result:
        return shape
    if ELLIPSIS not in result:
        known = iter(shape.head)
        return Shape(tuple(ONES if name == "1" else next(known) for name in result))
    raise Unknowable("sizes beside an ellipsis")


ONES = Axis(ONE, maker=Maker.INSERTED)
ARITHMETIC = ("add", "subtract", "multiply", "maximum", "minimum", "dot")
TRUTHS = ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or")


def arrowed(pattern: Value, tensors: Value) -> Shape:
    """The same where only an arrow tells the result: of what is contracted, or looked up."""
    if isinstance(pattern, Const) and "->" not in str(pattern.value):
        raise Unknowable("no arrow")
    return aligned(pattern, tensors)


def row(name: str, dtype: DtypeRule) -> Op:
    return Op(
        name, arrowed if name in {"dot", "get_at"} else aligned, (f"einx.{name}(pattern, *tensors)",), Kind.OTHER, dtype
    )


OPS: tuple[Op, ...] = (
    *(row(name, "promote") for name in ARITHMETIC),
    *(row(name, "bool") for name in TRUTHS),
    row("divide", "quotient"),
    *(row(name, unknown_dtype) for name in ("where", "get_at")),
)
