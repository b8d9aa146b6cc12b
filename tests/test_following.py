"""Decorators, annotations of other files and fields: what is known of values that nobody makes in the linted file."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import libcst as cst
import pytest

from shapelint.domain.values import Tensor, Tuple, Value
from shapelint.events import Returned
from shapelint.interpreter import interpret
from shapelint.project.modules import Project


def returned(source: str, filename: str = "asked.py", project: Project | None = None) -> str:
    return str(value_returned(source, filename, project))


def value_returned(source: str, filename: str = "asked.py", project: Project | None = None) -> Value:
    """What the function `asked` returns."""
    events = interpret(cst.parse_module(dedent(source)), filename, project)
    found = [event.value for event in events if isinstance(event, Returned) and event.function.name == "asked"]
    assert found, "it returns nothing"
    return found[-1]


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


FIELDS = """
    import dataclasses
    import numpy as np
    @dataclasses.dataclass
    class Structure:
        positions: np.ndarray  # [num_res, num_atom, 3]
        index: np.ndarray  # [num_res]
        weights: np.ndarray  # in [0, 1]
        mask: "np.ndarray | None" = None  # (num_res, num_atom)
"""


@pytest.mark.parametrize(
    ("field", "rank"), [("positions", 3), ("index", 1), ("weights", None), ("mask[None]", 3), ("positions[0]", 2)]
)
def test_comments_beside_fields_state_their_shapes(field: str, rank: int | None) -> None:
    for body in (
        f"def asked(s: Structure):\n    return s.{field}",
        f"    def asked(self):\n        return self.{field}",
    ):
        value = value_returned(dedent(FIELDS) + body)
        assert isinstance(value, Tensor)
        assert value.shape.rank == rank


def test_comments_that_the_code_contradicts_do_not_count() -> None:
    source = f"{dedent(FIELDS)}\ndef asked(s: Structure):\n    s.index[0, 1]\n    return s.index"
    value = value_returned(source)
    assert isinstance(value, Tensor)
    assert value.shape.rank is None


def test_axes_that_fields_share_are_one_size_in_one_object_only() -> None:
    source = dedent(FIELDS) + "def asked(s: Structure, t: Structure):\n    return s.positions, s.index, t.index"
    value = value_returned(source)
    assert isinstance(value, Tuple)
    sizes = [item.shape.head[0].size for item in value.items if isinstance(item, Tensor)]
    assert sizes[0] == sizes[1] != sizes[2]


def test_forward_may_be_a_method_of_the_class() -> None:
    source = """
        import torch
        class Sum(torch.nn.Module):
            @classmethod
            def forward(cls, weights):
                return weights.sum(-2)
        def asked():
            return Sum()(torch.zeros(2, 3, 1))
    """
    assert returned(source) == "(2, 1)"


def test_an_annotation_says_what_an_executed_call_did_not_tell() -> None:
    source = """
        from jaxtyping import Float
        from torch import Tensor
        from elsewhere import load
        def pair(path) -> tuple[Float[Tensor, "3 4"], float]:
            found = load(path)
            return found
        def asked(path):
            image, scale = pair(path)
            return image * scale
    """
    assert returned(source) == "(3, 4)"


def test_an_array_that_is_worked_on_is_not_none() -> None:
    source = """
        import torch
        from einops import rearrange
        def asked(flag):
            mask = torch.zeros(2, 3) if flag else None
            return rearrange(mask, "b j -> b 1 1 j")
    """
    assert returned(source) == "(2, 1, 1, 3)"
