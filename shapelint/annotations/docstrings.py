"""Shapes in docstrings: of parameters and of what is returned, in numpydoc, Google, Sphinx and torch style.

`read` takes the text as it is, `shape_in` one description: "input of shape :math:`(N, C, H, W)`".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field

from shapelint.annotations.comments import ALTERNATIVE, BRACKETS, CROSSED, ELEMENT
from shapelint.domain.record import record


@record()
class Stated:
    """A shape as its author wrote it. `is_array`: the words around it say that it is the shape of an array."""

    text: str
    axes: tuple[str, ...]
    is_array: bool = False
    is_optional: bool = False  # it may be None


@record()
class Documented:
    """What a docstring states: by parameter, and for each value that is returned (one, unless it lists several)."""

    parameters: Mapping[str, Stated] = field(default_factory=dict)
    returns: tuple[Stated | None, ...] = ()


NOTHING = Documented()

# Markup around formulas and names, and what stands for it.
MARKUP = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r":\w+(?::\w+)*:(?=\S)~?", ""),
        (r"\\(?:text|mathrm|mathbf|mathit|textrm|operatorname)\s*\{([^{}]*)\}", r"\1"),
        (r"\\[lcd]?dots\b|…", "..."),
        (r"\\times\b|×", "x"),
        (r"\\(?:cdot|ast)\b|\\\*", "*"),
        (r"\\_", "_"),
        (r"_\{([^{}]*)\}", r"_\1"),
        (r"\\left\b|\\right\b|\\[,;! ]", ""),
        (r"(?<=,)\s*\.\.(?=\s*[)\]])", " ..."),
    )
)
MARKED_UP = re.compile(r"[\\…×]|:\w+:|,\s*\.\.|_\{")
ENTRY = re.compile(
    r"(?P<indent>\s*)(?:[-*•]\s+)?"
    r"(?:"
    r":(?:param|parameter|arg|argument|key)\s+(?P<kind>[\w.\[\]]+\s+)?(?P<field>\w+)\s*:"
    r"|(?P<names>\w+(?:\s*,\s*\w+)*)\s*(?P<type>\((?:[^()]|\([^()]*\))*\))?\s*(?::(?!:)|\s--?\s|(?=\s(?:has|is)\s))"
    r")\s*(?P<rest>.*)"
)
RETURN_FIELD = re.compile(r"\s*:returns?:\s*(?P<rest>.*)")
HEADING = re.compile(r"\s*(?P<title>[A-Z][A-Za-z ]*?)\s*(?P<colon>::?)?\s*$")
RETURNS = frozenset({"Returns", "Return", "Output", "Outputs"})
UNDERLINE = re.compile(r"\s*[-=~]{3,}\s*$")

WORD = r"(?:tensors?|arrays?|ndarrays?|matrix|matrices|vectors?|array[-_]like)"
ARRAY = re.compile(rf"(?i)\b{WORD}\b|\w*Tensor\b|\bArrayLike\b")
# What stands before a shape: "of shape", "with the shape of", "array_like, shape", "tensor of size".
SHAPE_OF = re.compile(
    rf"(?i)(?:\bshaped?\b[\s:=]*(?:(?:is|of|as|must be|should be|will be)\b)?"
    rf"|\b{WORD}\s+(?:of|with)\s+(?:the\s+)?(?:sizes?|dims?|dimensions?|length)\b)[\s:]*$"
)
ARRAY_OF = re.compile(rf"(?i)\b{WORD}\s*(?:of|with)?[\s:]*$")
ARRAY_BEHIND = re.compile(rf"(?i)[\s-]*(?:(?:float|int|long|bool|boolean|complex|input|dense)\s+)?(?:{WORD}|shaped?)\b")
PREPOSITION = re.compile(r"(?i)\b(?:of|with|has|have|in|is|the|a|an|expected)\s+shape\b|[,;(]\s*shape\b|\bshaped\b")
# Words before a shape that make it the shape of something else, or of several things.
OTHERS = re.compile(
    r"(?i)\b(?:(?:lists?|tuples?|sequences?|pairs?|collections?|iterables?)\s+(?:of(?!\s+(?:the\s+)?shape)|with|containing)"
    r"|dict(?:s|ionary|ionaries)?|mapping|each(?=[^,;]*$)|callable|function|generator|broadcast\w*|either|if|scalar|flattened"
    r"|reshaped|resized|str|string|sparse|DataFrame)\b"
)
NO_ARRAY = re.compile(
    r"(?i)\b(?:float|int|number|bool|callable|list|tuple|dict|sequence|scalar|str)s?\b"
    rf"(?!(?:\s+or\s+(?:float|int|bool))?[\s-]+{WORD})"
)
SINGLE = re.compile(rf"{NO_ARRAY.pattern}[^.]*?\bor\b")
CONDITION = re.compile(
    r"(?i)\b(?:if|when|unless|depending|otherwise|broadcast\w*|respectively|or|but|for (?:batched|unbatched))\b"
)
OR_NONE = re.compile(r"[\s,]*\bor None\b")
OPTIONAL = re.compile(r"(?i)\boptional\b|\bNone\b")
SYMBOL = re.compile(r"[A-Z][A-Za-z]?(?:_?\w{1,3})?|\d+|\*|\.\.\.")
POINT = frozenset("XYZUVW")
BATCH = re.compile(r"batch\w*|num_\w+|n_\w+")
TYPES = "optional int float str bool tuple list dict tensor ndarray array callable sequence none bytes default any"
WORDS = frozenset(TYPES.split())
ALONE = re.compile(r"[A-Za-z_]\w*|\d+")
# `BxNx2`, or two axes before a word for arrays: `Bx16 tensor`; there is a letter among them, 3x3 may be anything.
BARE = re.compile(
    rf"(?<![\w(\[/.*-])(?=[\dx]*[A-Z])((?:[A-Z]|\d+)(?:x(?:[A-Z]|\d+)){{2,}}|(?:[A-Z]|\d+)x(?:[A-Z]|\d+)(?=\s+{WORD}\b))"
    r"(?![\w)\]/*-])"
)
HAS_BRACKET = re.compile(r"[(\[]")
HAS_BRACKETS = re.compile(r"[(\[][^()\[\]\n]*,[^()\[\]\n]*[)\]]")


def may_state(text: str) -> bool:
    """Whether it pays to read a docstring: it has brackets with a comma or speaks of shapes."""
    return "shape" in text or "Shape" in text or HAS_BRACKETS.search(text) is not None


def read(text: str, names: frozenset[str]) -> Documented:
    """What the docstring of a function with these parameters states."""
    lines = text.partition(">>>")[0].replace("`", "").replace("$", "").expandtabs().splitlines()
    parameters: dict[str, list[Stated | None]] = {}
    for name, type_, description in entries(lines, names):
        if "x" in description:
            description = BARE.sub(r"(\1)", description)
        if HAS_BRACKET.search(type_ + description) is None:
            continue
        parameters.setdefault(name, []).append(of_entry(plain(type_), plain(description)))
    agreed = {
        name: found[0] for name, found in parameters.items() if found[0] and len({s and s.axes for s in found}) == 1
    }
    return Documented({name: stated for name, stated in agreed.items() if stated}, tuple(returned(lines)))


def plain(text: str) -> str:
    """The text without markup."""
    if MARKED_UP.search(text) is None:
        return text
    for pattern, replacement in MARKUP:
        text = pattern.sub(replacement, text)
    return text


def entries(lines: list[str], names: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    """Name, type and description of each parameter that the lines speak of."""
    for index, line in enumerate(lines):
        match = ENTRY.match(line) if ":" in line or " is " in line or " has " in line or " -" in line else None
        if match is None:
            continue
        mentioned = [name.strip() for name in (match["field"] or match["names"]).split(",")]
        if names.issuperset(mentioned):
            rest = " ".join([match["rest"], *continued(lines, index, len(match["indent"]))])
            yield from ((name, match["type"] or match["kind"] or "", rest) for name in mentioned)


def continued(lines: list[str], index: int, indent: int) -> Iterator[str]:
    """The lines that belong to the one at `index`: those that are indented deeper."""
    for line in lines[index + 1 :]:
        if not line.strip() or len(line) - len(line.lstrip()) <= indent:
            return
        yield line.strip()


def of_entry(type_: str, description: str) -> Stated | None:
    """`x (Tensor): input of shape (N, C)`, `mean (dim,): ...`"""
    if NO_ARRAY.search(type_.partition("shape")[0]):
        return None
    found = shape_in(description, bool(ARRAY.search(type_)))
    if found is None and type_ and ALTERNATIVE.match(description) is None:
        axes = axes_of(type_)
        if axes is None:
            found = shape_in(type_[1:-1])
        elif type_.endswith(",)") or all(SYMBOL.fullmatch(axis) or "_" in axis for axis in axes):
            found = Stated(type_, axes, is_array=True)
        if CONDITION.search(description.partition(".")[0]):
            return None
    if found is None:
        return None
    return Stated(found.text, found.axes, found.is_array, OPTIONAL.search(f"{type_} {description}") is not None)


def shape_in(text: str, is_array: bool = False) -> Stated | None:
    """The one shape that a description states; None where it states none, several, or one under conditions."""
    said_array = is_array or ARRAY.search(text) is not None
    marked: list[Stated] = []
    bare: list[Stated] = []
    for match in BRACKETS.finditer(text):
        axes = axes_of(match[0])
        before, behind = text[: match.start()], OR_NONE.sub("", text[match.end() :], count=1)
        if before.endswith(("(", "[")):
            return None  # ([B,] C, H, W)
        if axes is None or before.endswith((".shape", "_shape")):
            continue
        sentence = before.rpartition(". ")[2]
        has_mark = SHAPE_OF.search(sentence) is not None
        if not has_mark and has_symbols(axes):
            has_mark = ARRAY_OF.search(sentence) is not None or ARRAY_BEHIND.match(behind) is not None
        if not has_mark and not is_plain(axes) and not BATCH.match(axes[0] if axes else ""):
            continue
        if is_other(sentence, behind):
            return None
        stated = Stated(match[0], axes, said_array or PREPOSITION.search(sentence) is not None)
        (marked if has_mark else bare).append(stated)
    found = marked + bare
    return found[0] if len({stated.axes for stated in found}) == 1 else None


def is_other(before: str, behind: str) -> bool:
    """Whether the words around a shape make it one of several, or that of something else."""
    if OTHERS.search(before) or SINGLE.search(before):
        return True
    rest = behind.strip(" .,;:*")
    return ALTERNATIVE.match(rest) is not None or CONDITION.search(re.split(r"[.;]", behind)[0]) is not None


def has_symbols(axes: tuple[str, ...]) -> bool:
    """Whether some axis is written as only axes are: (N, seq_len), (3, h), not (width, height)."""
    return any(SYMBOL.fullmatch(axis) or "_" in axis for axis in axes)


def is_plain(axes: tuple[str, ...]) -> bool:
    """Axes that nobody would write but for a shape: (B, N, 2), not (Vaswani, 2017), (X, Y), (0, 1)."""
    if not all(SYMBOL.fullmatch(axis) for axis in axes) or POINT.issuperset(axes):
        return False
    return any(axis[0].isalpha() for axis in axes) and not any(len(axis) > 3 and axis.isdigit() for axis in axes)


def axes_of(text: str) -> tuple[str, ...] | None:
    """The axes in brackets; None where these hold something else."""
    match = BRACKETS.fullmatch(text.strip())
    if match is None:
        return None
    inside = next(group for group in match.groups() if group is not None).strip()
    if not inside:
        return ()
    axes = tuple(axis.strip() for axis in (inside.split("x") if CROSSED.fullmatch(inside) else inside.split(",")))
    if axes[-1] == "" and len(axes) > 1:
        axes = axes[:-1]
    elif len(axes) == 1 and not ALONE.fullmatch(axes[0]):
        return None
    fits = all(ELEMENT.fullmatch(axis) and axis.lower().rpartition(".")[2] not in WORDS for axis in axes)
    return axes if fits and sum(is_run(axis) for axis in axes) <= 1 else None


def is_run(axis: str) -> bool:
    """Whether it stands for any number of axes."""
    return axis in {"...", "*"} or (axis.startswith("*") and axis[1:].isidentifier())


def returned(lines: list[str]) -> Iterator[Stated | None]:
    """What each value that is returned is said to be."""
    for index, line in enumerate(lines):
        match = RETURN_FIELD.match(line)
        if match is not None:
            indent = len(line) - len(line.lstrip())
            yield shape_in(plain(" ".join([match["rest"], *continued(lines, index, indent)])))
            return
        heading = HEADING.match(line)
        if heading is not None and heading["title"] in RETURNS:
            is_numpydoc = index + 1 < len(lines) and UNDERLINE.match(lines[index + 1]) is not None
            if is_numpydoc or heading["colon"]:
                yield from of_section(lines, index + 1 + is_numpydoc, is_numpydoc)
                return


def of_section(lines: list[str], start: int, is_numpydoc: bool) -> Iterator[Stated | None]:
    """The values that a section lists: by numpydoc's `name : type`, else one."""
    block: list[str] = []
    for line in lines[start:]:
        if not line.strip() or (HEADING.match(line) and line.rstrip().endswith(":")):
            break
        block.append(line)
    if not block:
        return
    indent = len(block[0]) - len(block[0].lstrip())
    if is_numpydoc:
        heads = [i for i, line in enumerate(block) if len(line) - len(line.lstrip()) == indent]
        for head in heads:
            type_ = block[head].strip().rpartition(" : ")[2]
            yield shape_in(plain(" ".join([type_, *continued(block, head, indent)])))
    elif not any(line.lstrip().startswith(("- ", "* ")) for line in block):
        yield shape_in(plain(" ".join(line.strip() for line in block)))
