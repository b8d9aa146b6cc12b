"""What linting costs grows with the code and not with the number of paths through it: events are counted, not time."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest

from shapelint.analysis.gradients.reachability import makers
from shapelint.events import Entered, Event, Operation, Returned
from shapelint.interpreter import interpret
from shapelint.project.modules import Project

FILES = 200

LINK = """\
import torch
from pkg.m{next} import step as following


def step(x, depth=0):
    y = torch.relu(x) + {index}
    z = following(y)
    w = following(torch.cat([y, y]))
    return z + w


step(torch.zeros({index} + 1, 3))
"""


def chained(directory: Path, closed: bool) -> list[Path]:
    """Files that import one another in a row, or in a circle; each function calls the next one twice."""
    package = directory / "pkg"
    package.mkdir()
    (package / "__init__.py").write_text("")
    paths = [package / f"m{index}.py" for index in range(FILES)]
    for index, path in enumerate(paths):
        path.write_text(LINK.format(index=index, next=(index + 1) % FILES))
    if not closed:
        paths[-1].write_text("import torch\n\n\ndef step(x):\n    return torch.relu(x)\n")
    return paths


@pytest.mark.parametrize("closed", [False, True], ids=["chain", "circle"])
def test_files_that_call_one_another(tmp_path: Path, closed: bool) -> None:
    paths = chained(tmp_path, closed)
    project = Project([str(tmp_path)])
    counts = []
    for path in paths:
        text = path.read_text()
        assert project.reaches_tensors(str(path), text)
        counts.append(len(interpret(project.tree(str(path), text), str(path), project)))
    assert max(counts) < 1500  # two calls at each of seven levels would be 2 ** 7 evaluations for each of two callers
    assert sum(counts[100:]) <= 2 * sum(counts[:100])  # what others have imported before costs no more


def branching(count: int) -> list[Event]:
    tests = "".join(f"    if x.sum() > {n}:\n        y = torch.relu(y) + x\n" for n in range(count))
    text = f"import torch\n\n\ndef f(x, y):\n{tests}    return y\n\n\nf(torch.zeros(3), torch.zeros(3))\n"
    return interpret(cst.parse_module(text), "branches.py")


def test_branches_in_a_row_do_not_multiply() -> None:
    six, twelve = (sum(isinstance(event, Operation) for event in branching(n)) for n in (6, 12))
    assert six > 20
    assert twelve <= 2 * six


def test_branches_that_call_do_not_multiply() -> None:
    helpers = "".join(
        f"def f{n}(x):\n    if x.sum() > {n}:\n        return f{n + 1}(x + 1)\n    return f{n + 1}(x * 2)\n\n\n"
        for n in range(12)
    )
    text = f"import torch\n\n\n{helpers}def f12(x):\n    return x\n\n\nf0(torch.zeros(3))\n"
    events = interpret(cst.parse_module(text), "calls.py")
    assert sum(isinstance(event, Entered) for event in events) < 200


def test_what_meets_again_and_again_is_told_once() -> None:
    tests = "".join(
        f"    if x.sum() > {n}:\n        if x.sum() < 9:\n            x = torch.relu(x)\n" for n in range(24)
    )
    events = interpret(cst.parse_module(f"import torch\n\n\ndef f(x):\n{tests}    return x\n"), "meetings.py")
    (given,) = (event.value for event in events if isinstance(event, Returned))
    assert 24 < sum(1 for _ in makers(given)) < len(events)  # 2 ** 24 paths lead through the joins


def test_loops_in_loops_do_not_multiply() -> None:
    def nested(depth: int) -> int:
        loops = "".join(f"{'    ' * (n + 1)}for i{n} in range(n):\n" for n in range(depth))
        text = f"import torch\n\n\ndef f(x, n):\n{loops}{'    ' * (depth + 1)}x = torch.relu(x)\n    return x\n"
        return len(interpret(cst.parse_module(text), "loops.py"))

    assert nested(12) <= 2 * nested(6) + 2


def test_main_is_evaluated_once_where_the_top_level_calls_it() -> None:
    text = """
import torch


def helper():
    return torch.ones(2)


def main():
    return helper()


def other(n=3):
    return torch.zeros(n)


if __name__ == "__main__":
    main()
    main()
    other()
"""
    events = interpret(cst.parse_module(text), "script.py")
    entered = [event for event in events if isinstance(event, Entered)]
    assert [event.at_call for event in entered if event.function.name == "main"] == [False]
    assert [event.at_call for event in entered if event.function.name == "helper"] == [True, False]
    assert [event.at_call for event in entered if event.function.name == "other"] == [True, False]


STACK = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.layer = nn.Linear(dim, dim)

    def forward(self, x):
        return self.layer(x)


class Stack(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.layers = nn.ModuleList([])
        for _ in range(depth):
            self.layers.append(nn.ModuleList([Block(dim), Block(dim)]))

    def forward(self, x):
        for first, second in self.layers:
            x = second(first(x) + x) + x
        return x
"""


def test_one_round_makes_all_blocks_of_a_stack() -> None:
    events = interpret(cst.parse_module(STACK), "stack.py")
    made = [e for e in events if isinstance(e, Entered) and e.at_call and e.function.name == "__init__"]
    assert 1 <= len(made) <= 2  # another round of the loop would make two more
