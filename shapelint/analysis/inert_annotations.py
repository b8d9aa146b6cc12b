"""What jaxtyping takes without complaint although it checks nothing, or something else than it says."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from shapelint.analysis import syntax
from shapelint.annotations.declarations import Annotation, Decorator
from shapelint.domain.values import NONE
from shapelint.events import Declared

JAXTYPED = "jaxtyping.jaxtyped"
CHECKERS = frozenset({"beartype.beartype", "typeguard.typechecked"})
DATACLASSES = frozenset({"dataclasses.dataclass", "flax.struct.dataclass", "chex.dataclass"})
MODULES = frozenset({"torch.nn.Module", "torch.nn.modules.module.Module", "pytorch_lightning.LightningModule"})
DTYPES = frozenset(
    ["float16", "float32", "float64", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "bool", "complex64"]
)
SHORT_DTYPES = frozenset({"half", "float", "double", "short", "int", "long", "cfloat"})
TOKEN = re.compile(r"(?:\{[^{}]*\}|\S)+")
MODIFIERS = re.compile(r"^[*#?]*(?:\w+=(?=.))?[*#?]*")

IMPORT_HOOKS = frozenset({"jaxtyping.install_import_hook", "beartype.claw.beartype_this_package"})


def is_checked(event: Declared) -> bool:
    """Whether a decorator holds the annotations of a function against its arguments."""
    for index, decorator in enumerate(event.decorators):
        if decorator.name == JAXTYPED:
            given = (decorator.keywords or {}).get("typechecker", NONE) != NONE
            return given or any(below.name in CHECKERS for below in event.decorators[index + 1 :])
    return False


def inert_decorator(event: Declared) -> Iterator[tuple[Decorator, str]]:
    """Decorators that look as if they checked the annotations, and why they do not."""
    names = [decorator.name for decorator in event.decorators]
    for index, decorator in enumerate(event.decorators):
        if decorator.name == JAXTYPED:
            problem = _jaxtyped(event, decorator, names[:index], names[index + 1 :])
            if problem:
                yield decorator, problem
        elif decorator.name in CHECKERS and event.kind in {"function", "method"}:
            repeated = _repeated(event)
            if repeated and "" not in names and JAXTYPED not in names:
                checker = decorator.name.rpartition(".")[2]
                yield (
                    decorator,
                    f'@{checker} alone checks each argument by itself: "{repeated}" may differ between the arguments '
                    f"of `{event.name}`. Write @jaxtyped(typechecker={checker})",
                )


def _jaxtyped(event: Declared, decorator: Decorator, above: list[str], below: list[str]) -> str | None:
    """Why a @jaxtyped checks nothing; None where it does, or may."""
    name = event.name
    if event.kind == "dataclass" and any(other in DATACLASSES for other in above):
        return f"@jaxtyped under @dataclass checks nothing in `{name}`: the __init__ is made later. Put it on top"
    if event.kind == "class" and event.bases & MODULES:
        return f"@jaxtyped on the module class `{name}` checks none of its methods. Put it on forward"
    if event.kind not in {"function", "method"} or syntax.calls(event.site, "isinstance"):
        return None  # checks made by hand inside of the body need only the scope that @jaxtyped gives
    keywords = decorator.keywords or {}
    if keywords.get("typechecker") == NONE and not any(other in CHECKERS or not other for other in below):
        return f"typechecker=None: no annotation of `{name}` is checked. Write @jaxtyped(typechecker=beartype)"
    if decorator.keywords is None and not any(other in CHECKERS or not other for other in below):
        checker = next((other.rpartition(".")[2] for other in above if other in CHECKERS), None)
        reason = f"@{checker} over a bare @jaxtyped" if checker else "A bare @jaxtyped"
        return f"{reason} checks nothing in `{name}`. Write one @jaxtyped(typechecker={checker or 'beartype'})"
    return None


def inert_string(event: Declared, annotation: Annotation) -> Iterator[str]:
    """What is wrong with a shape string that jaxtyping builds without an error."""
    text = annotation.text
    tokens = TOKEN.findall(text)
    if event.future_annotations and re.search(r",(?![^()]*\))(?![^{}]*\})", text):
        yield "axes are separated by spaces; with commas nothing is checked here, as the annotation is never evaluated"
        return
    if (
        "x" in tokens[1:-1]
        and (_is_separator("x", tokens) or _is_between("x", tokens))
        and not _names_axis("x", event, annotation)
    ):
        yield f'"x" is an axis here, so that {len(tokens)} axes are asked for. Separate axes by spaces alone'
        return
    for index, token in enumerate(tokens):
        problem = _inert_token(token, tokens[index - 1 : index] + tokens[index + 1 : index + 2], event)
        if problem:
            yield problem


def _inert_token(token: str, neighbours: list[str], event: Declared) -> str | None:
    bare = MODIFIERS.sub("", token)
    if "{" in token or "..." in token:
        return None
    if token == "*" and len(neighbours) == 2 and any(other.isdigit() for other in neighbours):
        return 'between spaces "*" stands for any number of axes, it does not multiply. Write "2*n" without spaces'
    if not bare or bare.isdigit():
        return None
    if bare.isidentifier():
        if bare in DTYPES:
            return f'"{bare}" is read as an axis of any size, not as a dtype'
        if bare in event.constants:
            return (
                f'"{bare}" is a new axis of any size here, not the constant. Write f"... {{{bare}}} ..." or the number'
            )
        return None
    try:
        parsed = ast.parse(bare, mode="eval").body
    except SyntaxError:
        if bare.endswith("="):
            return f'"{bare}" is an axis without a name that takes any size. Write the size after the equals sign'
        return (
            f'"{bare}" is no axis, and the check fails at every call. Spaces separate axes: formulas go without, as n-1'
        )
    if isinstance(parsed, ast.Attribute) and parsed.attr in DTYPES | SHORT_DTYPES:
        return f'"{bare}" is no dtype inside the string. The class before the brackets says it, as Int or Float32'
    if isinstance(parsed, ast.Attribute):
        return f'"{bare}" cannot be looked up inside the string. Write f"{{{bare}}}" for a size'
    if isinstance(parsed, ast.UnaryOp) and isinstance(parsed.operand, ast.Constant):
        return f'"{bare}" matches no axis. Write "_" for any size'
    return _unbound(parsed, bare, event)


def _unbound(formula: ast.expr, text: str, event: Declared) -> str | None:
    """A formula of names that no annotation of a checked function binds raises at each call."""
    if not any(decorator.name == JAXTYPED for decorator in event.decorators):
        return None
    bound = {name for annotation in event.annotations for name in _names(annotation)}
    for node in ast.walk(formula):
        if isinstance(node, ast.Name) and node.id not in bound:
            return f'"{text}" cannot be evaluated: no annotation of `{event.name}` has an axis "{node.id}"'
    return None


def _is_separator(token: str, tokens: list[str]) -> bool:
    """`b x d`: at every second place and nowhere else."""
    return len(tokens) % 2 == 1 and tokens.count(token) == len(tokens) // 2 and set(tokens[1::2]) == {token}


def _is_between(token: str, tokens: list[str]) -> bool:
    """`b c h x w`: once, between height and width."""
    place = tokens.index(token)
    return tokens.count(token) == 1 and [name.lower() for name in tokens[place - 1 : place + 2 : 2]] == ["h", "w"]


def _names_axis(name: str, event: Declared, besides: Annotation) -> bool:
    """Whether a name stands for an axis elsewhere, or its sisters do: x beside y."""
    if {"y", "z"} & set(TOKEN.findall(besides.text)):
        return True
    others = (TOKEN.findall(a.text) for a in event.annotations if a.text != besides.text)
    return any(name in tokens and not _is_separator(name, tokens) for tokens in others)


def _names(annotation: Annotation) -> list[str]:
    """The names that an annotation binds, without their modifiers."""
    found = (MODIFIERS.sub("", token) for token in TOKEN.findall(annotation.text))
    return [name for name in found if name.isidentifier() and not name.startswith("_")]


def _repeated(event: Declared) -> str | None:
    """A name that parameters and the return value share; variables are not checked at all."""
    counts = Counter(name for a in event.annotations if a.place != "variable" for name in set(_names(a)))
    return next((name for name, count in counts.items() if count > 1), None)


def misspelled(event: Declared, annotation: Annotation) -> Iterator[str]:
    """A name that occurs once, beside one of another annotation that differs by a slip of the keyboard."""
    counts = Counter(name for a in event.annotations for name in _names(a))
    own = dict.fromkeys(_names(annotation))  # in their order, so that a report is the same each time
    for name in own:
        for other in counts:
            if counts[name] == 1 and other not in own and counts[other] >= 1 and _is_slip(name, other):
                if counts[other] == 1 and _comes_first(name, other, event):
                    continue
                yield f'"{name}" looks like "{other}", and as a name of its own it matches any size'


def _comes_first(name: str, other: str, event: Declared) -> bool:
    found = [n for a in event.annotations for n in _names(a)]
    return found.index(name) < found.index(other)


def _is_slip(a: str, b: str) -> bool:
    """One slip inside a word of five letters or more: two letters swapped, one wrong, missing or doubled.

    Ends of words tell names apart (dim_q and dim_k, head and heads), and so do digits. A missing underscore counts.
    """
    if any(character.isdigit() for character in a + b):
        return False
    if a.replace("_", "") == b.replace("_", ""):
        return len(a) > 4
    changed = [(x, y) for x, y in zip(a.split("_"), b.split("_")) if x != y]
    if a.count("_") != b.count("_") or len(changed) != 1:
        return False
    short, long = sorted(changed[0], key=len)
    if len(short) < 5 or len(long) - len(short) > 1 or short[0] != long[0] or short[-1] != long[-1]:
        return False
    start = next(i for i, (x, y) in enumerate(zip(short, long)) if x != y)
    if len(long) > len(short):
        return short[start:] == long[start + 1 :]
    swapped = long[:start] + long[start + 1] + long[start] + long[start + 2 :]
    return short == swapped or short[start + 1 :] == long[start + 1 :]
