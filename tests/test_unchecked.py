"""SHP601: what it says by default and what on request, and that its fix makes jaxtyping check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from jaxtyping import TypeCheckError

from shapelint import lint_source
from shapelint.config import Config
from shapelint.finding import Finding
from shapelint.fixes.text import apply

BY_CODE = Config(select=("SHP601",))
HEADER = "from __future__ import annotations\nimport numpy as np\nfrom jaxtyping import Float\n\n"
PLAIN = 'def f(a: Float[np.ndarray, "n d"], b: Float[np.ndarray, "n"]) -> None:\n    pass\n'


def fixed(text: str, finding: Finding) -> str:
    """The text under the fix of a finding, as a front applies it."""
    assert finding.fix is not None
    return apply(text, [finding.fix]).text


def test_only_on_request_where_nothing_is_checked() -> None:
    assert lint_source(HEADER + PLAIN, "story.py") == []
    assert len(lint_source(HEADER + PLAIN, "story.py", Config(extend_select=("SHP6",)))) == 1


def test_by_default_beside_checked_functions() -> None:
    checked = (
        "from beartype import beartype\nfrom jaxtyping import jaxtyped\n\n@jaxtyped(typechecker=beartype)\n"
        'def g(x: Float[np.ndarray, "n"]) -> None: ...\n\n'
    )
    assert [finding.code for finding in lint_source(HEADER + checked + PLAIN, "story.py")] == ["SHP601"]


@pytest.mark.parametrize("indent", ["", "    ", "\t"])
@pytest.mark.parametrize("above", ["@np.errstate(all='ignore')\n", "@staticmethod\n", ""])
def test_the_fix_makes_jaxtyping_check(above: str, indent: str) -> None:
    body = "".join(indent + line for line in (above + PLAIN).splitlines(keepends=True))
    text = HEADER + ("class Box:\n" * bool(indent)) + body
    (finding,) = lint_source(text, "story.py", BY_CODE)
    scope: dict[str, Any] = {"__name__": "story"}
    exec(fixed(text, finding), scope)
    function = scope["Box"].f if indent else scope["f"]
    function(np.zeros((3, 2)), np.zeros(3))
    with pytest.raises(TypeCheckError):
        function(np.zeros((3, 2)), np.zeros(1))
