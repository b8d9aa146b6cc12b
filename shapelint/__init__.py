"""Finds the tensor bugs that do not crash, in PyTorch, NumPy and JAX code, without running it."""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["__version__", "lint_source"]

TYPE_CHECKING = False  # `typing` itself is a third of the start-up
if TYPE_CHECKING:
    from typing import Any

    from shapelint.linter import lint_source


def __getattr__(name: str) -> Any:
    """Import the analyser only when it is used: `shapelint --version` does not pay for it."""
    if name == "lint_source":
        from shapelint.linter import lint_source

        return lint_source
    raise AttributeError(f"module 'shapelint' has no attribute {name!r}")
