"""Each form that SHP602 calls inert, held against jaxtyping: what it lets through, or can never accept."""

# ruff: noqa: F722, F821, UP037 - shape strings

from __future__ import annotations

import dataclasses
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from beartype import beartype
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import AnnotationError, Float, TypeCheckError, jaxtyped

from shapelint import lint_source
from shapelint.config import Config

ARRAY = np.ndarray
HEADER = (
    "from dataclasses import dataclass\nimport torch\nfrom beartype import beartype\n"
    "from jaxtyping import Float, jaxtyped\nfrom torch import Tensor, nn\n\nHIDDEN = 64\n\n"
)


def reported(code: str, header: str = HEADER) -> list[str]:
    findings = lint_source(header + code, "story.py", Config(select=("SHP602",)))
    return [finding.message for finding in findings]


def function_of(*shapes: str) -> Callable[..., Any]:
    """A checked function of one parameter for each shape."""
    names = "abcd"[: len(shapes)]
    scope: dict[str, Any] = {}
    exec(f"def function({', '.join(names)}): pass", scope)
    function = scope["function"]
    function.__annotations__ = {name: Float[ARRAY, shape] for name, shape in zip(names, shapes)}
    return jaxtyped(typechecker=beartype)(function)  # type: ignore[no-any-return]


def accepts(function: Callable[..., Any], *sizes: tuple[int, ...]) -> bool:
    try:
        function(*map(np.zeros, sizes))
    except (TypeCheckError, AnnotationError, BeartypeCallHintViolation):
        return False
    return True


# Annotations, and arrays that have the shapes which the author means.
NEVER_ACCEPTED = [
    (("n", "n - 1"), ((4,), (3,))),
    (("n", "2 * n"), ((4,), (8,))),
    (("b x d",), ((2, 3),)),
    (("b t", "(b t)"), ((2, 3), (6,))),
    (("n 1x",), ((3, 1),)),
    (("b -> n",), ((2, 3),)),
    (("b d", "b -1"), ((2, 3), (2, 7))),
    (("f 3 torch.long",), ((5, 3),)),
    (("n b*d",), ((4, 6),)),
]


@pytest.mark.parametrize(("shapes", "sizes"), NEVER_ACCEPTED, ids=lambda value: str(value))
def test_string_rejects_what_it_means(shapes: tuple[str, ...], sizes: tuple[tuple[int, ...], ...]) -> None:
    assert not accepts(function_of(*shapes), *sizes)
    parameters = ", ".join(f'{name}: Float[Tensor, "{shape}"]' for name, shape in zip("abcd", shapes))
    assert len(reported(f"@jaxtyped(typechecker=beartype)\ndef f({parameters}) -> None: ...\n")) == 1


# Annotations, and arrays that contradict what the author means.
LETS_THROUGH = [
    (("b=",), ((7,),)),
    (("b HIDDEN",), ((2, 13),)),
    (("b float32",), ((2, 13),)),
    (("batch d", "bacth d"), ((2, 3), (1, 3))),
    (("b seq_len", "b seqlen"), ((2, 3), (2, 5))),
]


@pytest.mark.parametrize(("shapes", "sizes"), LETS_THROUGH, ids=lambda value: str(value))
def test_string_accepts_what_it_excludes(shapes: tuple[str, ...], sizes: tuple[tuple[int, ...], ...]) -> None:
    assert accepts(function_of(*shapes), *sizes)
    parameters = ", ".join(f'{name}: Float[Tensor, "{shape}"]' for name, shape in zip("abcd", shapes))
    assert len(reported(f"@jaxtyped(typechecker=beartype)\ndef f({parameters}) -> None: ...\n")) == 1


FINE = [
    "n",
    "n 3",
    "*batch n",
    "... d",
    "#n *#b",
    "c=3 h w",
    "_ d",
    "_n",
    "n n",
    "",
    "  n  d ",
    "x y",
    "b x y",
    "?n",
    "n_q n_k",
]


@pytest.mark.parametrize("shape", FINE)
def test_string_that_means_what_it_says(shape: str) -> None:
    assert reported(f'@jaxtyped(typechecker=beartype)\ndef f(a: Float[Tensor, "{shape}"]) -> None: ...\n') == []


@pytest.mark.parametrize("formula", ["n+1", "n-1", "2*n", "n//2", "(n*2)", "n**2"])
def test_formula_of_a_bound_name(formula: str) -> None:
    size = eval(formula, {"n": 6})
    assert accepts(function_of("n", formula), (6,), (size,))
    code = f'def f(a: Float[Tensor, "n"], b: Float[Tensor, "{formula}"]) -> None: ...\n'
    assert reported("@jaxtyped(typechecker=beartype)\n" + code) == []


def test_comma_under_the_future_import_is_never_seen() -> None:
    script = (
        "from __future__ import annotations\nimport numpy as np\nfrom beartype import beartype\n"
        "from jaxtyping import Float, jaxtyped\n\n@jaxtyped(typechecker=beartype)\n"
        'def f(x: Float[np.ndarray, "b, d"]) -> None: ...\n\nf(np.zeros(7))\n'
        'f(np.zeros((2, 3, 4)))\nprint("unchecked")\n'
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "unchecked", done.stderr
    assert len(reported('def f(x: Float[Tensor, "b, d"]): ...\n', "from __future__ import annotations\n" + HEADER)) == 1


def pair(a: Float[ARRAY, "b d"], b: Float[ARRAY, "b"]) -> None: ...


def decorated(*decorators: Callable[..., Any]) -> Callable[..., Any]:
    """`pair` under these decorators, outermost first."""
    function: Callable[..., Any] = pair
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for decorator in reversed(decorators):
            function = decorator(function)
    return function


DECORATORS = {
    "@beartype\n@jaxtyped\n": (beartype, jaxtyped),
    "@jaxtyped\n": (jaxtyped,),
    "@jaxtyped(typechecker=None)\n": (jaxtyped(typechecker=None),),
    "@beartype\n@jaxtyped(typechecker=None)\n": (beartype, jaxtyped(typechecker=None)),
    "@beartype\n": (beartype,),
    "@jaxtyped(typechecker=beartype)\n": (jaxtyped(typechecker=beartype),),
    "@jaxtyped\n@beartype\n": (jaxtyped, beartype),
}


@pytest.mark.parametrize("text", DECORATORS)
def test_decorators_are_reported_where_names_do_not_bind(text: str) -> None:
    lets_through = accepts(decorated(*DECORATORS[text]), (2, 3), (1,))
    code = text + 'def pair(a: Float[Tensor, "b d"], b: Float[Tensor, "b"]) -> None: ...\n'
    assert bool(reported(code)) is lets_through


@pytest.mark.parametrize("is_on_top", [True, False])
def test_jaxtyped_and_dataclass(is_on_top: bool) -> None:
    class Pair:
        a: Float[ARRAY, "b d"]
        b: Float[ARRAY, "b"]

    check = jaxtyped(typechecker=beartype)
    made = check(dataclasses.dataclass(Pair)) if is_on_top else dataclasses.dataclass(check(Pair))
    order = ["@jaxtyped(typechecker=beartype)\n", "@dataclass\n"]
    code = (
        "".join(order if is_on_top else order[::-1])
        + 'class Pair:\n    a: Float[Tensor, "b d"]\n    b: Float[Tensor, "b"]\n'
    )
    assert bool(reported(code)) is accepts(made, (2, 3), (1,)) is not is_on_top


def test_jaxtyped_on_a_module_class() -> None:
    from torch import nn

    class Gate(nn.Module):
        def forward(self, a: Float[ARRAY, "b d"], b: Float[ARRAY, "b"]) -> None: ...

    assert accepts(jaxtyped(typechecker=beartype)(Gate)(), (2, 3), (1,))
    code = (
        'class Gate(nn.Module):\n    def forward(self, a: Float[Tensor, "b d"], b: Float[Tensor, "b"]) -> None: ...\n'
    )
    assert len(reported("@jaxtyped(typechecker=beartype)\n" + code)) == 1
    assert reported(code) == []


@pytest.mark.parametrize("text", ["\"Float[Tensor, 'n - 1']\"", "Optional[\"Float[Tensor, 'n - 1']\"]"])
def test_a_quoted_annotation_is_reported_where_it_stands(text: str) -> None:
    code = f"from typing import Optional\ndef f(\n    a: int,\n    b: {text},\n) -> None: ...\n"
    (finding,) = lint_source(HEADER + code, "story.py", Config(select=("SHP602",)))
    assert (HEADER + code).splitlines()[finding.start.row - 1][finding.start.column - 1 :].startswith('"Float')
