"""Calls that are not executed give what their function came to on its own: in sizes of their own, each of them."""

from __future__ import annotations

from pathlib import Path

import libcst as cst

from shapelint.events import Call
from shapelint.interpreter import interpret
from shapelint.values import Tensor

SEQUENCES = Path(__file__).parent.parent / "fixtures" / "shp103_incompatible_shapes" / "modules_in_sequence_ok.py"


def test_modules_in_one_sequential_have_sizes_of_their_own() -> None:
    events = interpret(cst.parse_module(SEQUENCES.read_text()), str(SEQUENCES))
    given = [e.result for e in events if isinstance(e, Call) and e.site.text == "self.mixed(x)"]
    channels = [value.shape.tail[-3].size for value in given if isinstance(value, Tensor)]
    assert len(channels) == len(given) == 3, "one for each module of the linted code"
    assert all(size.value is None for size in channels), "these calls were not executed"
    assert len(set(channels)) == 3
