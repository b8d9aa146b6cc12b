"""Tests of conditions along paths: negations, and what holds for all rounds of a loop."""

from __future__ import annotations

import pytest

from shapelint.analysis.control_flow import LASTING, supposed
from shapelint.analysis.paths import merged, renewed, suppose
from shapelint.analysis.training.gradient_states import Path


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("amp", ("amp", True)),
        ("not amp", ("amp", False)),
        ("self.scaler is not None", ("self.scaler", True)),
        ("self.scaler is None", ("self.scaler", False)),
        ("not (amp)", ("amp", False)),
        ("a != b", ("a == b", False)),
        ("i % k == 0", ("i % k == 0", True)),
        ("f(x) is None", ("f(x) is None", True)),
        ("try: x = 1", ("", True)),
    ],
)
def test_negations_are_of_one_test(test: str, expected: tuple[str, bool]) -> None:
    assert supposed(test) == expected


def test_a_path_goes_one_way_at_the_same_test() -> None:
    start = frozenset([Path()])
    taken = suppose(start, ("amp", True))
    assert suppose(taken, ("amp", False)) == frozenset()
    assert merged(taken | suppose(start, ("amp", False)), "amp") == start


def test_what_changes_from_round_to_round_is_open_again() -> None:
    state = Path(tests=frozenset([("amp", True), ("i % k == 0", True), ("(is_last)", True)]))
    assert renewed(frozenset([state])) == {Path(tests=frozenset([("amp", True)]))}
    assert LASTING.fullmatch("self.scaler")
