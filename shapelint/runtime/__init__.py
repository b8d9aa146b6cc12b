"""The second line of defence: what the analysis cannot see, the running program can.

    import shapelint.runtime
    shapelint.runtime.check("my_package")  # before my_package is imported: annotations hold at each call
    with shapelint.runtime.guard():        # operands that broadcast against each other raise
        ...
    audit = shapelint.runtime.GradientAudit(model)  # which parameters ever got a gradient

Nothing is imported, and nothing is slower, until one of them is used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shapelint.runtime.catches import BroadcastError, BroadcastWarning, Catch
    from shapelint.runtime.checking import checked
    from shapelint.runtime.examples import example
    from shapelint.runtime.gradients import GradientAudit, GradientError
    from shapelint.runtime.guarding import allow, guard
    from shapelint.runtime.hook import Checked, check
    from shapelint.runtime.probing import probe

__all__ = [
    "BroadcastError", "BroadcastWarning", "Catch", "Checked", "GradientAudit", "GradientError", "allow", "check",
    "checked", "example", "guard", "probe",
]  # fmt: skip

_ROOMS = {
    "BroadcastError": "catches",
    "BroadcastWarning": "catches",
    "Catch": "catches",
    "Checked": "hook",
    "GradientAudit": "gradients",
    "GradientError": "gradients",
    "allow": "guarding",
    "check": "hook",
    "checked": "checking",
    "example": "examples",
    "guard": "guarding",
    "probe": "probing",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'shapelint.runtime' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"shapelint.runtime.{_ROOMS[name]}"), name)
