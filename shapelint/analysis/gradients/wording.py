"""How a cut is told: what loses its gradient by it, as the author wrote it."""

from __future__ import annotations

from shapelint.analysis.evidence import name_of, shortened
from shapelint.analysis.gradients.dataflow import Cut
from shapelint.analysis.gradients.frozen import source_of
from shapelint.domain.values import Instance
from shapelint.events import Call, Event, Operation, Site
from shapelint.provenance import ancestors

OTHERWISE = "what it was computed from"
MEANING = {
    "detach": "detach() takes the value out of the graph",
    "data": ".data is the value without its graph",
    "stop_gradient": "stop_gradient lets no gradient through",
    "grad": "grad() without create_graph gives gradients that have no graph of their own",
    "numpy": "numpy() gives an array that autograd does not know",
}


def trained_by(cut: Cut) -> Event | None:
    """The nearest of the calls and parameters that would have trained through a cut."""
    for earlier in (cut.place, *ancestors(cut.place)):
        match earlier:
            case Operation(layer=layer) if earlier in cut.lost or (layer is not None and layer in cut.lost):
                return earlier
            case Call(callee=callee) if callee in cut.lost or source_of(callee) in cut.lost:
                return earlier
    return None


def words_for(cut: Cut) -> str:
    """What loses its gradient by a cut, as the author wrote it."""
    source = trained_by(cut)
    if source is not None:
        return quoted(source.site)
    if any(isinstance(origin, tuple) for origin in cut.lost):
        return arguments_of(cut)
    if isinstance(cut.event, Operation) and cut.event.operands:
        return name_of(cut.event, cut.event.operands[0], OTHERWISE)
    return OTHERWISE


def quoted(site: Site) -> str:
    """A piece of the source, as it stands in a message."""
    return f"`{shortened(site.text)}`"


def arguments_of(cut: Cut) -> str:
    """The arguments that jax differentiates by, or the parts of them that have a name, which a cut goes through."""
    names = set()
    for origin in cut.lost:
        whole, part = origin if isinstance(origin, tuple) else (origin, "")
        if isinstance(whole, Instance):  # what it has of the layer that its class derives from
            names.add(f"self.{part}")
            continue
        names.add(part.strip("'\"") if part[:1] in {"'", '"'} else getattr(whole, "name", ""))
    return ", ".join(f"`{name}`" for name in sorted(names) if name) or OTHERWISE


def reason(cut: Cut) -> str:
    """What takes a value out of its graph, as a clause."""
    name = getattr(cut.event, "name", "")
    return MEANING.get(name, f"{name}() gives a Python number")


def means(cut: Cut) -> str:
    """How a value was taken out of its graph: `.detach()`, `.data`, `stop_gradient`."""
    name = getattr(cut.event, "name", "")
    return {"data": "`.data`", "stop_gradient": "`stop_gradient`"}.get(name, f"`{name}()`")


def remedy(cut: Cut) -> str:
    return "Pass create_graph=True" if cut.is_derived else f"Compute it without {means(cut)}"
