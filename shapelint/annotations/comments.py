"""Shapes in comments: `# (B, T, C)`, `# [b, 3, h*w]`, `# B x T x C`, `# shape: (n, d)`, `# q: (B, T) -> (B, 1, T)`."""

from __future__ import annotations

import re

from shapelint.domain.record import record

LEAD = re.compile(
    r"(?:(?!shape|size|out|result|return)(?P<name>[A-Za-z_][\w.]*)\s*[:=]\s*)?"
    r"(?:(?:output|out|result|returns?)\b[\s:=]*)?"
    r"(?:(?P<word>torch\.Size|shapes?|size)\b\s*(?:is|of)?[\s:=]*)?",
    re.IGNORECASE,
)
NAMED = re.compile(r"(?P<name>[A-Za-z_][\w.]*)\s*[:=]\s*[(\[][^()\[\]]*[)\]]")
SINGLE = re.compile(r"# *(\[([A-Za-z_]\w*)\]|\(([A-Za-z_]\w*),\))\.?")
WORDS = frozenset({"shape", "shapes", "size", "sizes", "output", "out", "result", "return", "returns"})
BRACKETS = re.compile(r"\(\[([^()\[\]]*)\]\)|\(([^()\[\]]*)\)|\[([^()\[\]]*)\]")
CROSSED = re.compile(r"\w+(?: [x×] \w+)+|(?:[A-Z][A-Z0-9_]*|\d+)(?:[x×](?:[A-Z][A-Z0-9_]*|\d+))+")
ARROW = re.compile(r"->|=>|→")
ELEMENT = re.compile(r"\.\.\.|(?!\d+ ?/ ?\d+$)[*#]?[\w.'\s+\-*/^%]+")  # 3/4: one of both
ALTERNATIVE = re.compile(
    r"[-+*/@&|=<>'’^~·∘⊗⊙]|T\b|transpose|(?:or|if|when|unless|otherwise|and|x|with|for|to)\b(?=.*[\[(])|or\b|if\b|when\b|\d"
    r"|(?:must|should|is|are|was|has|have|will|can|needs?|means)\b"  # a sentence about an element
)
WHOLE = re.compile(r"\.(?:shape|size)$")  # (1, image.shape): one word for several axes
NUMBER = re.compile(r"-?\d+(?:\.\d*)?")
SYMBOL = re.compile(r"[A-Z][A-Za-z0-9]?")
YEARS = range(1900, 2100)


@record()
class Claim:
    """What a comment says of a shape. `name` is of what, where it says so; `is_sure` where it can be nothing else."""

    text: str
    axes: tuple[str, ...]
    name: str = ""
    is_sure: bool = False


def claims(comment: str) -> tuple[Claim, ...]:
    """All that a comment states: `# out: (B, T, H), h: (1, B, H)` speaks of two."""
    named = [match for match in NAMED.finditer(comment) if match["name"].lower() not in WORDS]
    if len(named) > 1:
        return tuple(one for match in named if (one := claim(match[0])) is not None)
    one = claim(comment)
    return () if one is None else (one,)


def of_array(comment: str) -> Claim | None:
    """What the comment beside an array's declaration states: `# [num_res]` can speak of nothing else there."""
    single = SINGLE.fullmatch(comment)
    return Claim(single[1], (single[2] or single[3],)) if single is not None else claim(comment)


def claim(comment: str) -> Claim | None:
    """The shape that a comment states; None where it states none, or several. The last one behind arrows counts."""
    if len(comment) > 200 or not ("," in comment or "x" in comment or "×" in comment):
        return None
    text = comment.lstrip("# ").partition("#")[0].rstrip()
    lead = LEAD.match(text)
    assert lead is not None
    parts = ARROW.split(text[lead.end() :])
    stated = parts[-1].strip()
    crossed = CROSSED.match(stated)
    if crossed is not None and not stated[crossed.end() :].strip(" ."):
        axes = tuple(re.split(r" [x×] " if " " in crossed[0] else r"[x×]", crossed[0]))
        is_size = any(not axis.isdigit() for axis in axes)
        return Claim(crossed[0], axes, lead["name"] or "", all(map(_is_symbol, axes))) if is_size else None
    found = BRACKETS.match(stated)
    if found is None or ALTERNATIVE.match(stated[found.end() :].strip(" .,;:")) or BRACKETS.search(stated, found.end()):
        return None
    inside = next(group for group in found.groups() if group is not None)
    axes = tuple(axis.strip() for axis in inside.split(","))
    has_word = lead["word"] is not None
    if axes[-1] == "" and len(axes) > 1:
        axes = axes[:-1]
    elif len(axes) == 1 and not has_word:
        return None  # (optional), [1]
    if len(axes) == 1 and CROSSED.fullmatch(axes[0]):
        axes = tuple(re.split(r" ?[x×] ?", axes[0]))  # [55x3]
    if any(WHOLE.search(axis) for axis in axes):
        return None
    if not all(ELEMENT.fullmatch(axis) for axis in axes) or (not has_word and _is_no_shape(axes, found[0])):
        return None
    return Claim(found[0], axes, lead["name"] or "", has_word or all(map(_is_symbol, axes)))


def _is_symbol(axis: str) -> bool:
    return SYMBOL.fullmatch(axis) is not None or axis.isdigit() or axis == "..."


def _is_no_shape(axes: tuple[str, ...], text: str) -> bool:
    """A range of numbers, [0, 1], or a citation, (Vaswani, 2017)."""
    if all(NUMBER.fullmatch(axis) for axis in axes):
        is_range = text.startswith("[") and len(axes) == 2
        return is_range or any(not axis.isdigit() or axis == "0" for axis in axes)
    return axes[-1].isdigit() and int(axes[-1]) in YEARS and axes[0][:1].isupper() and len(axes[0]) > 2
