"""What a function needs beside its annotated arrays, said by its author where it is defined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T", bound=Callable[..., Any])
ATTRIBUTE = "__shapelint_example__"


def example(**arguments: Any) -> Callable[[T], T]:
    """Arguments under which a function can be probed; on a class, those of its constructor.

    An argument may be a function of the sizes that are drawn for named axes:
    `@example(length=lambda t, **sizes: t)`. The decorated object is returned unchanged.
    """

    def mark(target: T) -> T:
        setattr(target, ATTRIBUTE, arguments)
        return target

    return mark


def given(target: object) -> dict[str, Any]:
    """The arguments that an author gave for exactly this function or class."""
    return dict(getattr(target, "__dict__", {}).get(ATTRIBUTE, {}))
