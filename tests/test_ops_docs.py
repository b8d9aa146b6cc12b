"""The page of ops is up to date, and what it says not to be modelled is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from shapelint.ops import lookup
from shapelint.ops.docs import NOT_MODELLED, page

PAGE = Path(__file__).parent.parent / "docs" / "ops.md"
LEFT_OUT = [name for names in NOT_MODELLED.values() for name in names.split()]


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run: python -m shapelint.ops.docs > docs/ops.md"


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_is_left_out_is_not_modelled(name: str) -> None:
    assert lookup(name) is None


def test_nothing_is_left_out_twice() -> None:
    assert len(LEFT_OUT) == len(set(LEFT_OUT))
