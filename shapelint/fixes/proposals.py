"""Edits that rules propose, in pieces that leave the author's own text and layout as they are."""

from __future__ import annotations

from collections.abc import Iterable

from shapelint.analysis.axes.columns import Table, table_of
from shapelint.domain.values import Maker, Shape, Tensor, Value, maker_of
from shapelint.events import Operation, Site
from shapelint.rule import Replacement

# What a method call may follow as it is; everything else needs parentheses.
ATOMS = frozenset({"Name", "Attribute", "Call", "Subscript"})


def followed_by(site: Site, suffix: str) -> tuple[Replacement, ...]:
    """`model(x)` becomes `model(x).squeeze(-1)`, and `a @ b` becomes `(a @ b).squeeze(-1)`."""
    if site.node.rpar:
        return (Replacement(site._replace(node=site.node.rpar[-1]), suffix, "after"),)
    if type(site.node).__name__ in ATOMS:
        return (Replacement(site, suffix, "after"),)
    return Replacement(site, "(", "before"), Replacement(site, ")" + suffix, "after")


def wrapped(site: Site, callee: str) -> tuple[Replacement, ...]:
    """`[a, b]` becomes `nn.ModuleList([a, b])`."""
    return Replacement(site, f"{callee}(", "before"), Replacement(site, ")", "after")


def registering(assignment: Site, made: Value) -> tuple[Replacement, ...]:
    """A list that is written out becomes a ModuleList or ParameterList, spelled as what it holds is."""
    display = getattr(assignment.node, "value", None)
    maker = maker_of(made)
    if type(display).__name__ not in {"List", "ListComp"} or not isinstance(maker, Operation):
        return ()
    module = maker.site.text.partition("(")[0].rpartition(".")[0]
    container = "ParameterList" if isinstance(made, Tensor) else "ModuleList"
    return wrapped(assignment._replace(node=display), f"{module}.{container}") if module else ()


def detached(growth: Site) -> tuple[Replacement, ...]:
    """`total += loss` becomes `total += loss.detach()`, and so does what is appended."""
    match type(growth.node).__name__, growth.node:
        case "AugAssign", node:
            return followed_by(growth._replace(node=node.value), ".detach()")
        case "Call", node if len(node.args) == 1:
            return followed_by(growth._replace(node=node.args[0].value), ".detach()")
    return ()


def with_argument(site: Site, argument: str) -> tuple[Replacement, ...]:
    """`x.sum(1)` becomes `x.sum(1, keepdim=True)`; none where the source at `site` is no call."""
    call = site.node
    if type(call).__name__ != "Call":
        return ()
    if call.args:
        return (Replacement(site._replace(node=call.args[-1]), f", {argument}", "after"),)
    code = site.module.code_for_node(call.with_changes(lpar=(), rpar=()))
    return (Replacement(site, f"{code.rstrip()[:-1]}{argument})"),)


def built_with(event: Operation, argument: str) -> tuple[Replacement, ...]:
    """The layer that is called gets an argument where it is built, unless it says it there already."""
    maker = event.layer.made_by if event.layer is not None else None
    if not isinstance(maker, Operation) or argument.partition("=")[0] in maker.explicit:
        return ()
    return with_argument(maker.site, argument)


def along(event: Operation, axis: int) -> tuple[Replacement, ...]:
    """The operation along another axis than the one it names, or leaves unsaid."""
    if "dim" in event.sites:
        return (Replacement(event.sites["dim"], str(axis)),)
    if event.layer is not None:
        return built_with(event, f"dim={axis}")
    return with_argument(event.site, f"{'dim' if event.callee.startswith('torch') else 'axis'}={axis}")


def kept(reduction: Operation, keep: str) -> tuple[Replacement, ...]:
    """A reduction with keepdim=True; nothing where the call does not take it, or says it already."""
    if "keepdim" in reduction.explicit or reduction.callee.startswith("einops"):
        return ()
    return with_argument(reduction.site, keep)


def sites_of(event: Operation, operands: Iterable[Value]) -> tuple[Site, ...]:
    """Where operands stand, those that are arguments of their own."""
    named = [(value, event.sites[name]) for name, value in event.arguments.items() if name in event.sites]
    return tuple(site for operand in operands for value, site in named if value is operand)


def squeezed(event: Operation, table: Table) -> tuple[Replacement, ...]:
    """The column of a table loses its axis where it is used; beside a distribution's parameters the vector gets one.

    Nothing where the operands would not be alike then, or one of them is written to.
    """
    column, vector = sites_of(event, (table.column,)), sites_of(event, (table.vector,))
    if event.in_place or not fits_without_axis(table):
        return ()
    if column:
        return followed_by(column[0], f".squeeze({table.place})")
    is_torch = table.place == -1 and table.vector.library == "torch"
    return followed_by(vector[0], ".unsqueeze(-1)") if vector and is_torch else ()


def squeezed_words(event: Operation, table: Table) -> str:
    """What `squeezed` does."""
    takes_away = bool(sites_of(event, (table.column,)))
    return f"Remove the axis: squeeze({table.place})" if takes_away else "Add the axis: unsqueeze(-1)"


def fits_without_axis(table: Table) -> bool:
    flat = without_axis(table.column, table.place)
    if flat is None:  # (..., 1) of a layer whose batch the vector belongs to
        return table.place == -1 and table.vector.shape.rank == 1 and table.column.shape.least_rank <= 2
    return flat.shape.rank == table.vector.shape.rank and table_of(flat, table.vector) is None


def without_axis(value: Tensor, place: int) -> Tensor | None:
    axes = value.shape.head
    if value.shape.run is not None or not -len(axes) <= place < len(axes):
        return None
    index = place % len(axes)
    return Tensor(Shape(axes[:index] + axes[index + 1 :]), value.dtype, value.library)


def is_column_for_certain(table: Table) -> bool:
    """Whether who made the axis of size 1 leaves no doubt that it is not meant for this table."""
    return table.maker not in {None, Maker.INSERTED, Maker.RESHAPE} and table.column.shape.rank is not None


def axes_to_name(operand: Tensor) -> str:
    """Which axis squeeze() should name, where that is known."""
    ones = certain_ones(operand)
    return f"write squeeze({ones[0]})" if len(ones) == 1 else "name the axes to remove"


def certain_ones(operand: Tensor) -> list[int]:
    """The axes that squeeze() is sure to remove, from the right; none where they are not known."""
    shape = operand.shape
    if shape.head and shape.run is not None:
        return []
    return [index for index, axis in enumerate(shape.axes, -len(shape.axes)) if axis.size.value == 1]


def axes_named(event: Operation, operand: Tensor) -> tuple[Replacement, ...]:
    """`x.squeeze()` becomes `x.squeeze(-1)`: the axes that are sure to go, and no other."""
    ones = certain_ones(operand)
    if not ones or operand.library is None:
        return ()
    axes = str(ones[0]) if len(ones) == 1 else str(tuple(ones))
    is_method = len(event.sites) == 1 and event.site.text.endswith(".squeeze()")
    keyword = "" if is_method else "dim=" if operand.library == "torch" else "axis="
    return with_argument(event.site, keyword + axes)
