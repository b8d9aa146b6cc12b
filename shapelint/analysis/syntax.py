"""What is written at a place, where no value tells it: names, operators and assignments.

Read from the syntax tree, so that words in comments and strings are none of it. Names say what belongs together here,
never what something is.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from shapelint.events import Site


def nodes(site: Site) -> Iterator[cst.CSTNode]:
    """All of the syntax tree at a place, in no order but that the place itself is first."""
    waiting: list[cst.CSTNode] = [site.node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)


def stands_in(site: Site, around: Site) -> bool:
    """Whether a place is a part of another one."""
    return any(node is site.node for node in nodes(around))


def names(site: Site) -> frozenset[str]:
    """Every name and attribute at a place."""
    return frozenset(node.value for node in nodes(site) if isinstance(node, cst.Name))


def has_attribute(site: Site, name: str) -> bool:
    """Whether an attribute is asked for at a place: `p.requires_grad`."""
    return any(isinstance(node, cst.Attribute) and node.attr.value == name for node in nodes(site))


def calls(site: Site, name: str) -> bool:
    """Whether a function is called by its plain name at a place: `isinstance(...)`."""
    return any(
        isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == name
        for node in nodes(site)
    )


def takes_modulo(site: Site) -> bool:
    """Whether a remainder decides: `(step + 1) % 4 == 0`."""
    return any(isinstance(node, cst.Modulo | cst.ModuloAssign) for node in nodes(site))


def assigned(site: Site) -> Site:
    """What an assignment assigns; the whole of what is none."""
    value = getattr(site.node, "value", None)
    return site._replace(node=value) if isinstance(value, cst.BaseExpression) else site


def called(site: Site) -> Site:
    """What a call calls; the whole of what is none."""
    return site._replace(node=site.node.func) if isinstance(site.node, cst.Call) else site


def attributes_of_self(site: Site) -> frozenset[str]:
    """The attributes of `self` at a place."""
    return frozenset(
        node.attr.value
        for node in nodes(site)
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == "self"
    )


def index(site: Site) -> Site | None:
    """What stands in the brackets at the end of a place: `kind` of `weights[kind]`."""
    return site._replace(node=site.node.slice[-1]) if isinstance(site.node, cst.Subscript) else None


def bound(site: Site) -> frozenset[str]:
    """The names and attributes that assignments at a place bind."""
    return frozenset(name for target, _ in _assignments(site) for name in _targets(target))


def _targets(target: cst.CSTNode) -> Iterator[str]:
    match target:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            yield name
        case cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                yield from _targets(element.value)


def _assignments(site: Site) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    for node in nodes(site):
        match node:
            case cst.Assign(targets=targets, value=value):
                yield from ((target.target, value) for target in targets)
            case (
                cst.AnnAssign(target=target, value=cst.BaseExpression() as value)
                | cst.NamedExpr(target=target, value=value)
            ):
                yield target, value


def _appended(site: Site) -> Iterator[cst.BaseExpression]:
    """What is appended to lists at a place."""
    for node in nodes(site):
        match node:
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="append")), args=[cst.Arg(value=value)]):
                yield value


def _begins(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """An expression and what it begins with: `f(x)` of `f(x)[0].item()`, `float(f(x))` and `f(x) + 1`."""
    while True:
        yield node
        match node:
            case cst.Attribute(value=inner) | cst.Subscript(value=inner) | cst.BinaryOperation(left=inner):
                node = inner
            case cst.Call(func=cst.Attribute(attr=name, value=inner)) if not name.value.endswith("array"):
                node = inner
            case cst.Call(args=[cst.Arg(value=inner)]):  # float(x), np.array(x)
                node = inner
            case _:
                return


def is_appended(call: Site, loop: Site) -> bool:
    """Whether what a call gives goes into a list: `rows.append(f(x[i]))`, or `y = f(x[i])` and `rows.append(y)`."""
    held = {
        target.value
        for target, value in _assignments(loop)
        if isinstance(target, cst.Name) and any(node is call.node for node in _begins(value))
    }
    return any(
        node is call.node or (isinstance(node, cst.Name) and node.value in held)
        for value in _appended(loop)
        for node in _begins(value)
    )
