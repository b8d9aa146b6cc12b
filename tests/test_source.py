"""The syntax tree that is read is the one libcst builds, and libcst is left as it was found."""

from __future__ import annotations

import contextlib
from pathlib import Path

import libcst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapelint import source

FIXTURES = sorted(Path(__file__).parents[1].glob("fixtures/*/*.py"))
ADDED = ("# a", "x = 1", "    ", "if x:\r\n\ty", "\\\n", "f( a , b )", ";", "'''\n'''", "\f", "[\n\n  1 , # c\n]")


@pytest.mark.parametrize("path", FIXTURES[::25], ids=lambda path: path.stem)
def test_a_tree_is_the_one_of_libcst(path: Path) -> None:
    text = path.read_text()
    tree = source.parse(text)
    assert tree.code == text
    assert tree.deep_equals(libcst.parse_module(text))


@settings(derandomize=True, deadline=None)
@given(st.lists(st.sampled_from(ADDED), max_size=6).map("\n".join))
def test_odd_whitespace_is_kept_and_refused_alike(text: str) -> None:
    try:
        expected = libcst.parse_module(text)
    except libcst.ParserSyntaxError:
        with pytest.raises(source.Unreadable):
            source.parse(text)
    else:
        assert source.parse(text).deep_equals(expected)


@pytest.mark.parametrize("text", ["x = 1\n", "x = (\n"])
def test_the_library_is_left_as_it_was(text: str) -> None:
    before = [getattr(libcst, name) for name in source.SHARED], libcst.CSTNode.__dict__[source.VALIDATE]
    with contextlib.suppress(source.Unreadable):
        source.parse(text)
    assert ([getattr(libcst, name) for name in source.SHARED], libcst.CSTNode.__dict__[source.VALIDATE]) == before
    with pytest.raises(libcst.CSTValidationError):
        libcst.Name("")
