"""The second line of defence: jaxtyping annotations, checked while the program runs.

    import shapelint.runtime
    shapelint.runtime.check("my_package")  # before my_package is imported

Needs `pip install "shapelint[runtime]"`. Nothing is imported, and nothing is slower, until `check` is called.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from types import TracebackType
from typing import Any

__all__ = ["Checked", "check"]

NEEDED = ("jaxtyping", "beartype")


class Checked:
    """Packages under check; `uninstall()`, or the end of a `with` block, ends it for modules imported later."""

    def __init__(self, hook: Any) -> None:
        self._hook = hook

    def uninstall(self) -> None:
        self._hook.uninstall()

    def __enter__(self) -> Checked:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.uninstall()


def check(*packages: str, typechecker: str = "beartype.beartype") -> Checked:
    """Check every annotated function and dataclass of these packages at each call, as if decorated with
    `@jaxtyped(typechecker=beartype)`: axis names must have one size in all arguments and the result of a call.

    Raises ImportError where jaxtyping or beartype are missing, ValueError for no package or one that is already
    imported, whose functions could no longer be reached.
    """
    if not packages:
        raise ValueError('name the packages to check: shapelint.runtime.check("my_package")')
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ImportError(f'{" and ".join(missing)} not installed: pip install "shapelint[runtime]"', name=missing[0])
    late = [package for package in packages if package in sys.modules]
    if late:
        raise ValueError(f"{', '.join(late)} is already imported: call shapelint.runtime.check before that")
    from jaxtyping import install_import_hook

    return Checked(install_import_hook(list(packages), typechecker))
