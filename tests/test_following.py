"""Decorators, annotations of other files and fields: what is known of values that nobody makes in the linted file."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import libcst as cst
import pytest

from shapelint.events import Returned
from shapelint.interpreter import interpret
from shapelint.project import Project


def returned(source: str, filename: str = "asked.py", project: Project | None = None) -> str:
    """What the function `asked` returns."""
    events = interpret(cst.parse_module(dedent(source)), filename, project)
    found = [event.value for event in events if isinstance(event, Returned) and event.function.name == "asked"]
    assert found, "it returns nothing"
    return str(found[-1])


DECORATORS = {
    "one of two": "check = jaxtyped(typechecker=beartype) if os.environ.get('CHECK') else identity",
    "chosen inside": "def check(f):\n    return jaxtyped(typechecker=beartype)(f) if os.environ.get('CHECK') else f",
    "wrapper": "def check(f):\n    @functools.wraps(f)\n    def inner(*args, **kw):\n        return f(*args, **kw)\n"
    "    return inner",
    "with options": "def made(name):\n    def outer(f):\n        return f\n    return outer\ncheck = made('x')",
}


@pytest.mark.parametrize("decorator", DECORATORS.values(), ids=DECORATORS)
def test_decorators_of_the_project_are_followed(decorator: str) -> None:
    source = f"""
        import functools
        import os
        import torch
        from beartype import beartype
        from jaxtyping import jaxtyped
        def identity(f):
            return f
        {decorator.replace(chr(10), chr(10) + " " * 8)}
        @check
        def row(x):
            return x[None]
        def asked():
            return row(torch.zeros(3, 4))
    """
    assert returned(source) == "(1, 3, 4)"


def test_a_decorator_that_changes_the_result_is_not_seen_through() -> None:
    source = """
        import torch
        def first(f):
            def inner(*args):
                return f(*args)[0]
            return inner
        @first
        def row(x):
            return x[None, None]
        def asked():
            return row(torch.zeros(3, 4))
    """
    assert returned(source) == "(1, 3, 4)"


def test_what_another_file_says_of_a_result_holds_where_the_call_is_not_executed(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text(
        "import torch\nfrom jaxtyping import Float\n"
        'def embed(x: Float[torch.Tensor, "b n"], *rest) -> Float[torch.Tensor, "b n 8"]:\n    return magic(x)\n'
    )
    source = """
        import torch
        from models import embed
        def asked(rest):
            return embed(torch.zeros(3, 4), *rest)
    """
    (tmp_path / "main.py").write_text(dedent(source))
    project = Project([str(tmp_path)])
    assert returned(source, str(tmp_path / "main.py"), project).endswith(", 8)")
