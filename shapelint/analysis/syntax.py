"""What is written at a place, where no value tells it: names, operators and assignments.

Read from the syntax tree, so that words in comments and strings are none of it. Names say what belongs together here,
never what something is. Nodes are told by the names of their classes: the parser is not imported for a cached answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shapelint.events import Site


def nodes(site: Site) -> Iterator[Any]:
    """All of the syntax tree at a place, in no order but that the place itself is first."""
    waiting = [site.node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)


def _of(site: Site, *kinds: str) -> Iterator[Any]:
    return (node for node in nodes(site) if _kind(node) in kinds)


def _kind(node: Any) -> str:
    return type(node).__name__


def stands_in(site: Site, around: Site) -> bool:
    """Whether a place is a part of another one."""
    return any(node is site.node for node in nodes(around))


def names(site: Site) -> frozenset[str]:
    """Every name and attribute at a place."""
    return frozenset(node.value for node in _of(site, "Name"))


def has_attribute(site: Site, name: str) -> bool:
    """Whether an attribute is asked for at a place: `p.requires_grad`."""
    return any(node.attr.value == name for node in _of(site, "Attribute"))


def calls(site: Site, name: str) -> bool:
    """Whether a function is called by its plain name at a place: `isinstance(...)`."""
    return any(_kind(node.func) == "Name" and node.func.value == name for node in _of(site, "Call"))


def takes_modulo(site: Site) -> bool:
    """Whether a remainder decides: `(step + 1) % 4 == 0`."""
    return any(_of(site, "Modulo", "ModuloAssign"))


def assigned(site: Site) -> Site:
    """What an assignment assigns; the whole of what is none."""
    is_assignment = _kind(site.node) in {"Assign", "AnnAssign", "AugAssign"} and site.node.value is not None
    return site._replace(node=site.node.value) if is_assignment else site


def called(site: Site) -> Site:
    """What a call calls; the whole of what is none."""
    return site._replace(node=site.node.func) if _kind(site.node) == "Call" else site


def index(site: Site) -> Site | None:
    """What stands in the brackets at the end of a place: `kind` of `weights[kind]`."""
    return site._replace(node=site.node.slice[-1]) if _kind(site.node) == "Subscript" else None


def attributes_of_self(site: Site) -> frozenset[str]:
    """The attributes of `self` at a place."""
    found = (node for node in _of(site, "Attribute") if _kind(node.value) == "Name" and node.value.value == "self")
    return frozenset(node.attr.value for node in found)


def bound(site: Site) -> frozenset[str]:
    """The names and attributes that assignments at a place bind."""
    return frozenset(name for target, _ in _assignments(site) for name in _targets(target))


def _targets(target: Any) -> Iterator[str]:
    match _kind(target):
        case "Name":
            yield target.value
        case "Attribute":
            yield target.attr.value
        case "Tuple" | "List":
            for element in target.elements:
                yield from _targets(element.value)


def _assignments(site: Site) -> Iterator[tuple[Any, Any]]:
    for node in _of(site, "Assign", "AnnAssign", "NamedExpr"):
        targets = [target.target for target in node.targets] if _kind(node) == "Assign" else [node.target]
        if node.value is not None:
            yield from ((target, node.value) for target in targets)


def is_appended(call: Site, loop: Site) -> bool:
    """Whether what a call gives goes into a list: `rows.append(f(x[i]))`, or `y = f(x[i])` and `rows.append(y)`."""
    held = {
        target.value
        for target, value in _assignments(loop)
        if _kind(target) == "Name" and any(node is call.node for node in _begins(value))
    }
    return any(
        node is call.node or (_kind(node) == "Name" and node.value in held)
        for value in _appended(loop)
        for node in _begins(value)
    )


def _appended(site: Site) -> Iterator[Any]:
    for node in _of(site, "Call"):
        if _kind(node.func) == "Attribute" and node.func.attr.value == "append" and len(node.args) == 1:
            yield node.args[0].value


def _begins(node: Any) -> Iterator[Any]:
    """An expression and what it begins with: `f(x)` of `f(x)[0].item()`, `float(f(x))` and `f(x) + 1`."""
    while node is not None:
        yield node
        match _kind(node):
            case "Attribute" | "Subscript":
                node = node.value
            case "BinaryOperation":
                node = node.left
            case "Call":
                node = _receiver(node)
            case _:
                node = None


def _receiver(call: Any) -> Any:
    """`x` of `x.item()`, and of `float(x)` and `np.array(x)`."""
    if _kind(call.func) == "Attribute" and not call.func.attr.value.endswith("array"):
        return call.func.value
    return call.args[0].value if len(call.args) == 1 else None
