"""What later uses tell of an array is so in every call of the function, whichever way it takes.

The stories of fixtures/shapes/used_later.py are executed: with arrays of every rank that they take.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from oracle import Program, instrumented

from shapelint.events import Operation
from shapelint.interpreter import interpret
from shapelint.source import parse

STORIES = Path(__file__).parent.parent / "fixtures" / "shapes" / "used_later.py"
TOLD = """
two, three, images = torch.rand(2, 3), torch.rand(2, 3, 4), torch.rand(2, 3, 8, 9)
unpacked_late(three), same_name(two), Block(4)(three), Attention(4)(three), told_by_a_callee(Net(), images)
alike(two, two), joined(three, 2, 4), columns(three), Attended(4)(three)
table = np.ones((5, 3))
drawn(table, 4), drawn(table, (2, 2)), drawn(table, None), drawn(table, ())
"""
TRAPS = """
two, three, images = torch.rand(2, 3), torch.rand(2, 3, 4), torch.rand(2, 3, 8, 9)
either(two), told_nothing_by_it(two), dispatched(two), only_with_a_mask(two, True), attempted(two)
either(three), told_nothing_by_it(three), dispatched(three), only_with_a_mask(three, False), attempted(three)
perhaps_never(two, [1]), perhaps_never(three, []), in_a_comprehension(two, []), in_a_comprehension(three, [three.mT])
not_begun(two), not_begun(three), lifted(three), lifted(images), bound_anew(three), of_a_list([[1, 2], [3, 4]])
unbatched(images), unbatched(images[0])
"""


@pytest.mark.parametrize("calls", [TOLD, TRAPS], ids=["told", "traps"])
def test_no_inferred_shape_is_wrong(calls: str) -> None:
    program: Program = instrumented(STORIES.read_text() + calls, "used_later.py")
    program.run()
    assert program.compared() > 20
    assert program.contradictions() == []


def test_discarded_statements_tell_nothing() -> None:
    text = "import torch\n\ndef f(x):\n    y = torch.relu(x)\n    b, t = x.shape\n    return y\n"
    events = interpret(parse(text), "f.py")
    (relu,) = (event for event in events if isinstance(event, Operation) and event.name == "relu")
    assert str(relu.operands[0].shape) == "(b, t)"
