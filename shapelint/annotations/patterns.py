"""The jaxtyping dialect: "*batch n 2*d" as a pattern, and as the shape of a parameter.

`parse` reads a string, `to_shape` says what a parameter of this annotation is known to be, `unification.unify` holds
a shape against a pattern.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from functools import cache
from itertools import repeat
from typing import TypeAlias

from shapelint.domain.dims import ONE, Dim, anonymous, as_dim, axis, derive, divide, size
from shapelint.domain.record import record
from shapelint.domain.values import Axis, Maker, Run, Shape


class AnnotationError(ValueError):
    """The string is none of the dialect; jaxtyping refuses to build the annotation."""


@record()
class Named:
    """`n`, `#n`, `?n`, or `{self.dim}`: a value that the author inserts; it is named by its text, braces included."""

    text: str
    name: str
    broadcastable: bool = False


@record()
class Fixed:
    """`3`, `#3`, `rgb=3`."""

    text: str
    size: int
    broadcastable: bool = False


@record()
class Formula:
    """`n+1`, `(h//2)`, `2*{d}`."""

    text: str
    source: str
    broadcastable: bool = False


@record()
class Anonymous:
    """`_`, `_n`: any size, never bound."""

    text: str


@record()
class Variadic:
    """`...`, `*_` (no name), `*n`, `*#n`: any number of axes."""

    text: str
    name: str | None = None
    broadcastable: bool = False


AxisPattern: TypeAlias = Named | Fixed | Formula | Anonymous


@record()
class Pattern:
    """Axes in order; without a variadic every axis stands in `prefix`."""

    text: str
    prefix: tuple[AxisPattern, ...] = ()
    variadic: Variadic | None = None
    suffix: tuple[AxisPattern, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names that it can bind, in order, each once."""
        return tuple(dict.fromkeys(a.name for a in self.prefix + self.suffix if isinstance(a, Named)))


TOKEN = re.compile(r"(?:\{[^{}]*\}|\S)+")  # what stands in braces is one piece, spaces included
BRACES = re.compile(r"\{[^{}]*\}")


@cache
def parse(text: str) -> Pattern:
    """The pattern of a shape string. Raises AnnotationError where jaxtyping refuses to build it."""
    items = [_parse_axis(token) for token in TOKEN.findall(text)]
    prefix: list[AxisPattern] = []
    suffix: list[AxisPattern] = []
    variadic: Variadic | None = None
    for item in items:
        if not isinstance(item, Variadic):
            (prefix if variadic is None else suffix).append(item)
        elif variadic is None:
            variadic = item
        else:
            raise AnnotationError(f"{variadic.text} and {item.text}: only one can stand for any number of axes")
    return Pattern(text, tuple(prefix), variadic, tuple(suffix))


def _parse_axis(token: str) -> AxisPattern | Variadic:
    if "," in token and "(" not in token:
        raise AnnotationError(f"{token}: a comma does not separate axes, a space does")
    if token.endswith("#"):
        raise AnnotationError(f"{token}: # stands before the name of a broadcastable axis")
    if "..." in token:
        if token != "...":
            raise AnnotationError(f"{token}: ... stands alone")
        return Variadic(token)
    flags, rest = _split_flags(token)
    if not rest or rest.isidentifier():
        return _parse_name(token, flags, rest)
    kind = "a number" if _is_integer(rest) else "an expression"
    for flag, meaning in {"*": "several axes", "_": "anonymous", "?": "different in each leaf"}.items():
        if flag in flags:
            raise AnnotationError(f"{token}: {kind} cannot be {meaning}")
    if _is_integer(rest):
        return Fixed(token, int(rest), "#" in flags)
    return (Named if BRACES.fullmatch(rest) else Formula)(token, rest, "#" in flags)


def _split_flags(token: str) -> tuple[set[str], str]:
    """`?*#n` is {?, *, #} and `n`; the name in `n=4` says nothing."""
    flags: set[str] = set()
    rest = token
    while rest:
        if rest[0] in "#*_?":
            if rest[0] in flags:
                raise AnnotationError(f"{token}: {rest[0]} stands twice")
            flags.add(rest[0])
            rest = rest[1:]
        elif BRACES.sub("", rest).count("=") == 1:
            rest = rest.partition("=")[2]
        else:
            break
    return flags, rest


def _parse_name(token: str, flags: set[str], name: str) -> AxisPattern | Variadic:
    if flags >= {"_", "#"}:
        raise AnnotationError(f"{token}: an anonymous axis cannot be broadcastable")
    if "?" in flags:
        name = f"?{name}"
    if "*" in flags:
        return Variadic(token, None if "_" in flags else name, "#" in flags)
    return Anonymous(token) if "_" in flags else Named(token, name, "#" in flags)


def _is_integer(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True


# A pattern as the shape of a parameter.


def is_torn(pattern: Pattern) -> bool:
    """`(b t) d`, `n - 1`, `any*`: where a part is no formula, nobody knows how many axes its author means."""
    return any(not is_formula(part.source) for part in pattern.prefix + pattern.suffix if isinstance(part, Formula))


@cache
def is_formula(text: str) -> bool:
    if re.fullmatch(r"\w+", text):  # 1x: no Python, but one axis
        return True
    try:
        compile(text, "<size>", "eval")
    except (SyntaxError, ValueError):
        return False
    return any(map(str.isalnum, text))


def to_shape(pattern: Pattern, scope: object, place: object = None) -> Shape:
    """What is known of an array that has this annotation.

    `scope` is shared by all annotations of one function: equal names in it are equal sizes. `place` tells the
    arrays of one scope apart, whose anonymous and broadcastable axes are not related.
    """
    if is_torn(pattern):
        return Shape((), Run("", (scope, place)))
    prefix = tuple(_entry_axis(a, scope, (scope, place, i)) for i, a in enumerate(pattern.prefix))
    suffix = tuple(_entry_axis(a, scope, (scope, place, ~i)) for i, a in enumerate(pattern.suffix))
    match pattern.variadic:
        case None:
            return Shape(prefix)
        case Variadic(name=str() as name, broadcastable=False):
            return Shape(prefix, Run(name, scope), suffix)
        case Variadic(name=name):
            return Shape(prefix, Run(f"#{name}" if name else "", (scope, place)), suffix)


def _entry_axis(pattern: AxisPattern, scope: object, place: object) -> Axis:
    match pattern:
        case Fixed(size=1):
            return Axis(ONE, maker=Maker.ANNOTATION)
        case Named(broadcastable=False) | Fixed(broadcastable=False) | Formula(broadcastable=False):
            known = size_asked(pattern, lambda name: _entry_size(name, scope))
            return Axis(anonymous(place, pattern.text) if known is None else known)
    return Axis(anonymous(place, pattern.text))  # `#n` is n or 1


def _entry_size(name: str, scope: object) -> Dim:
    return size(name[1:-1].strip(), scope) if name.startswith("{") else axis(name, scope)


def size_asked(pattern: AxisPattern, lookup: Callable[[str], Dim | None]) -> Dim | None:
    """The size that a pattern asks for, or None where that is not known."""
    match pattern:
        case Named(name=name):
            return lookup(name)
        case Fixed(size=number):
            return as_dim(number)
        case Formula(source=source):
            tree, inserted = _syntax(source)
            return None if tree is None else _evaluate(tree, lambda name: lookup(inserted.get(name, name)))
    return None


@cache
def _syntax(source: str) -> tuple[ast.expr | None, Mapping[str, str]]:
    """The expression, with a name in place of each `{...}`, and which name stands for which."""
    inserted = {f"__inserted_{i}": text for i, text in enumerate(BRACES.findall(source))}
    names = iter(inserted)
    try:
        return ast.parse(BRACES.sub(lambda _: next(names), source), mode="eval").body, inserted
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None, {}


def _power(base: Dim, exponent: Dim) -> Dim:
    match exponent.value:
        case int(n) if 0 <= n <= 4:
            result = ONE
            for factor in repeat(base, n):
                result = result * factor
            return result
    return derive("**", base, exponent)


OPERATORS: Mapping[type[ast.operator], Callable[[Dim, Dim], Dim | None]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: divide,
    ast.Pow: _power,
}


def _evaluate(node: ast.expr, lookup: Callable[[str], Dim | None]) -> Dim | None:
    match node:
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            return as_dim(number)
        case ast.Name(id=name):
            return lookup(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            value = _evaluate(operand, lookup)
            return None if value is None else -value
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _evaluate(left, lookup), _evaluate(right, lookup)
            return OPERATORS[type(op)](a, b) if a is not None and b is not None and type(op) in OPERATORS else None
        case ast.Call(func=ast.Name(id="min" | "max" as function), args=[_, _, *_] as args, keywords=[]):
            values = [_evaluate(arg, lookup) for arg in args]
            known = [value for value in values if value is not None]
            return derive(function, *known) if len(known) == len(values) else None
    return None
