"""What stands at a definition: its decorators, and the jaxtyping annotations in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shapelint.domain.record import record
from shapelint.domain.values import Value

if TYPE_CHECKING:
    from shapelint.events import Site


@record()
class Decorator:
    """A decorator as resolved: canonical name ("jaxtyping.jaxtyped"), keywords by name, None for a bare one."""

    name: str
    site: Site
    keywords: Mapping[str, Value] | None = None


@record()
class Annotation:
    """A jaxtyping annotation as written: where, of what, and its shape string."""

    name: str  # parameter, variable, or "return"
    dtype: str  # "Float"
    text: str  # "b t d"
    site: Site  # the annotation's subscript; all of it where it is quoted
    place: str = "parameter"  # or "return", "variable", "field"
