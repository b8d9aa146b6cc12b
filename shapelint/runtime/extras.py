"""Optional packages: one sentence says what is missing and how to get it."""

from __future__ import annotations

from importlib.util import find_spec


def require(*names: str, extra: str = "runtime") -> None:
    """Raises ImportError that names the missing packages and the extra that brings them."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise ImportError(f'{" and ".join(missing)} not installed: pip install "shapelint[{extra}]"', name=missing[0])


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())
