"""From a text to findings: places, taint, suppressions and everything that can go wrong on the way."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import libcst as cst
import pytest
from libcst import matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider

import shapelint
from shapelint import positions, source
from shapelint.config import Config
from shapelint.domain.values import Shape, Tensor, Value
from shapelint.events import Event, Kind, Operation, Site
from shapelint.finding import Location, Outcome, Severity
from shapelint.linter import lint_bytes, lint_text
from shapelint.rule import Clue, Replacement, Report, Rule

Install = Callable[..., None]


def operations(module: cst.Module, filename: str, project: object = None) -> list[Event]:
    """A stand-in for the interpreter: each binary operation of names is an event, fed by the assignments before."""
    events: list[Event] = []
    known: dict[str, Value] = {}
    for assign in m.findall(module, m.Assign(targets=[m.AssignTarget(target=m.Name())])):
        found = assign.value
        if isinstance(found, cst.BinaryOperation):
            sides = {k: known.get(n.value, Tensor()) for k, n in (("x", found.left), ("y", found.right))}
            event = Operation("add", "operator.add", Kind.ELEMENTWISE, sides, Tensor(), Site(found, module, filename))
            events.append(event)
            known[assign.targets[0].target.value] = Tensor(Shape(), made_by=event)
    return events


def rule(code: str, reports: Callable[[Event], Iterator[Report]], severity: Severity = Severity.WARNING) -> Rule:
    return Rule(code, "a-hazard", "Doc.", lambda events: (r for e in events for r in reports(e)), severity)


def always(code: str, severity: Severity = Severity.WARNING) -> Rule:
    return rule(code, lambda event: iter([Report(event, "wrong")]), severity)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    def put(*rules: Rule, interpret: Callable[..., list[Event]] = operations) -> None:
        monkeypatch.setitem(sys.modules, "shapelint.interpreter", SimpleNamespace(interpret=interpret))
        monkeypatch.setattr("shapelint.config.discover", lambda: rules)

    return put


def found(text: str, **kwargs: object) -> list[tuple[str, int, int]]:
    outcome = lint_text("import torch\n" + text, **kwargs)  # type: ignore[arg-type]
    assert not outcome.failures
    return [(f.code, f.start.row, f.start.column) for f in outcome.findings]


def test_a_report_has_the_place_of_its_node(install: Install) -> None:
    install(always("SHP101"))
    assert found("if a:\n    é = 'é'; x = (a +\n      b)  # c\n") == [("SHP101", 3, 19)]
    (finding,) = lint_text("import torch\nx = (a +\n  b)\n").findings
    assert (finding.start, finding.end) == (Location(2, 6), Location(3, 4))
    assert (finding.message, finding.name, finding.severity) == ("wrong", "a-hazard", Severity.WARNING)


def test_consequences_are_not_reported_again(install: Install) -> None:
    install(always("SHP101"), always("SHP201"), always("SHP301"))
    text = "x = a + b\ny = x + c\nz = y + d\nother = a + c\n"
    assert found(text) == [("SHP101", 2, 5), ("SHP301", 2, 5), ("SHP101", 5, 9), ("SHP301", 5, 9)]


def test_an_error_outweighs_a_warning_on_one_operation(install: Install) -> None:
    install(always("SHP101"), always("SHP103", Severity.ERROR), always("SHP104"))
    assert found("x = a + b\n") == [("SHP103", 2, 5)]


def test_contracts_may_speak_beside_each_other(install: Install) -> None:
    def both(event: Event) -> Iterator[Report]:
        for side in (event.site.node.left, event.site.node.right):
            yield Report(event, "inert", site=Site(side, event.site.module))

    install(rule("SHP602", both))
    assert found("x = a + b\n") == [("SHP602", 2, 5), ("SHP602", 2, 9)]


def test_one_place_is_reported_once(install: Install) -> None:
    install(always("SHP101"), interpret=lambda *args: operations(*args) + operations(*args))
    assert found("x = a + b\n") == [("SHP101", 2, 5)]


def test_places_in_other_files(install: Install) -> None:
    other = cst.parse_module("\n\nfar = away\n")
    far = Site(other.body[0].body[0], other, "other.py")

    def reports(event: Event) -> Iterator[Report]:
        clues = (Clue("made there", far), Clue("made here", event.site), Clue("said"))
        yield Report(event, "here", clues)
        yield Report(event, "there", site=far)

    install(rule("SHP101", reports))
    (finding,) = lint_text("import torch\nx = a + b\n").findings
    assert finding.message == "here"
    assert [(s.text, s.location) for s in finding.trace] == [
        ("made there (other.py:3)", None), ("made here", Location(2, 5)), ("said", None),
    ]  # fmt: skip


def test_a_replacement_becomes_an_edit(install: Install) -> None:
    def reports(event: Event) -> Iterator[Report]:
        yield Report(event, "wrong", fix=(Replacement(event.site, "a - b"),), fix_message="subtract", fix_is_safe=False)

    install(rule("SHP101", reports))
    fix = lint_text("import torch\nx = a + b\n").findings[0].fix
    assert fix is not None
    assert (fix.message, fix.safe) == ("subtract", False)
    assert [(e.start, e.end, e.content) for e in fix.edits] == [(Location(2, 5), Location(2, 10), "a - b")]


@pytest.mark.parametrize(
    "comment",
    ["shapelint: ignore", "shapelint: ignore[SHP101]", "shapelint: ignore[SHP3, shp1]", "noqa", "noqa: SHP101",
     "noqa: SHP", "NOQA:E501,SHP101", "type: ignore # noqa: SHP101", "noqa: SHP101 - meant"],
)  # fmt: skip
def test_silenced(install: Install, comment: str) -> None:
    install(always("SHP101"))
    assert found(f"x = a + b  # {comment}\n") == []
    assert found(f"x = (a  # {comment}\n+ b)\n") == []
    assert found(f"x = (a +\n b)  # {comment}\n") == []
    assert found(f"# {comment}\nx = a + b\n") == [("SHP101", 3, 5)]


@pytest.mark.parametrize(
    "comment",
    ["noqa: E501", "noqa: SHP102", "shapelint: ignore[SHP3]", "shapelint: ignore[E1]", "shapelint: ignored", "noqax"],
)
def test_not_silenced(install: Install, comment: str) -> None:
    install(always("SHP101"))
    assert found(f"x = a + b  # {comment}\n") == [("SHP101", 2, 5)]


def test_a_string_is_no_comment(install: Install) -> None:
    install(always("SHP101"))
    assert found("x = a + b; s = '# noqa'\n") == [("SHP101", 2, 5)]


def test_a_whole_file_is_silenced(install: Install) -> None:
    install(always("SHP101"))
    assert found("x = a + b\n  # shapelint: ignore-file\n") == []


def test_a_comment_in_a_body_does_not_silence_its_header(install: Install) -> None:
    def reports(event: Event) -> Iterator[Report]:
        yield Report(event, "wrong", site=Site(event.site.module.body[1], event.site.module))

    install(rule("SHP303", reports))
    assert found("with a:\n    x = a + b\n    y = 1  # noqa\n") == [("SHP303", 2, 1)]
    assert found("with a:  # noqa\n    x = a + b\n") == []


def test_unused_suppressions_on_request(install: Install) -> None:
    install(always("SHP101"), always("SHP301"))
    text = (
        "x = 1  # noqa\nx = 1  # noqa: SHP101\nx = 1  # shapelint: ignore\nx = a + b  # noqa: SHP1, SHP3\n"
        "x = 1  # noqa: SHP9\nx = 1  # noqa: E501\n"
    )
    assert found(text) == []
    assert found(text, config=Config(report_unused_suppressions=True)) == [("SHP001", 3, 8), ("SHP001", 4, 8)]


def test_a_broken_rule_stops_no_other(install: Install) -> None:
    def breaks(event: Event) -> Iterator[Report]:
        yield Report(event, "before")
        raise ValueError("no\nway")

    install(rule("SHP101", breaks), always("SHP301"))
    outcome = lint_text("import torch\nx = a + b\n", "f.py")
    assert [f.code for f in outcome.findings] == ["SHP101", "SHP301"]
    (failure,) = outcome.failures
    assert failure.filename == "f.py"
    assert failure.message.startswith("internal error: SHP101 a-hazard: ValueError: no way (")


@pytest.mark.parametrize("error", [RecursionError(), KeyError("x"), AssertionError()])
def test_a_broken_interpreter_is_a_failure(install: Install, error: Exception) -> None:
    def breaks(*args: object) -> list[Event]:
        raise error

    install(always("SHP101"), interpret=breaks)
    outcome = lint_text("import torch\n", "f.py")
    assert not outcome.findings
    assert [f.filename for f in outcome.failures] == ["f.py"]


@pytest.mark.parametrize(
    ("data", "message", "row"),
    [
        (b"import torch\nx = (\n", "cannot be parsed", None),
        (b"import torch\nif x:\ny\n", "cannot be parsed", None),
        (b"import torch\nx = 1 +\n", "cannot be parsed", 2),
        (b"import torch\n# \xff\n", "cannot be decoded as utf-8", 2),
        (b"# coding: klingon\nimport torch\n", "cannot be decoded", 1),
        (b"import torch\nx = 'a\0b'\n", "null bytes", 2),
        (b"import torch\nx = " + b"(" * 5000 + b"1" + b")" * 5000, "too deeply nested", 2),
    ],
)
def test_what_cannot_be_read_is_a_failure(data: bytes, message: str, row: int | None) -> None:
    outcome = lint_bytes(data, "f.py")
    assert not outcome.findings
    (failure,) = outcome.failures
    assert failure.filename == "f.py"
    assert message in failure.message
    assert "\n" not in failure.message
    assert row is None or (failure.location is not None and failure.location.row == row)


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000, "10 ** 10 ** 9", "1 << 10 ** 12", "1 << -1"])
def test_numbers_that_python_would_not_write_out(number: str) -> None:
    assert lint_text(f"import torch\nn = {number}\nx = torch.ones(n) + torch.ones(4)\n") == Outcome()


@pytest.mark.parametrize("codec", ["utf-8-sig", "latin-1", "utf-8"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_encodings_and_newlines(install: Install, codec: str, newline: str) -> None:
    install(always("SHP101"))
    cookie = "# coding: latin-1" if codec == "latin-1" else "#"
    text = newline.join([cookie, "import torch", "s = 'é'; x = a + b", ""])
    (finding,) = lint_bytes(text.encode(codec)).findings
    assert finding.start == Location(3, 14)


def test_a_file_without_tensors_is_not_parsed(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install(always("SHP101"))
    monkeypatch.setattr(source, "parse", None)
    assert not lint_text("x = a + b\n").findings


def test_lint_source_raises_and_warns(install: Install) -> None:
    install(always("SHP101"))
    assert [f.code for f in shapelint.lint_source("import torch\nx = a + b\n")] == ["SHP101"]
    with pytest.raises(SyntaxError) as caught:
        shapelint.lint_source("import torch\nx = 1 +\n", "f.py")
    assert (caught.value.filename, caught.value.lineno) == ("f.py", 2)
    install(rule("SHP101", lambda event: iter([1 / 0])))  # type: ignore[list-item]
    with pytest.warns(RuntimeWarning, match="SHP101"):
        assert shapelint.lint_source("import torch\nx = a + b\n") == []


SNIPPETS = '''
@decorated(1)
def f(x: "a", *args, k=(1,
        2), **kw) -> None:
    """Doc."""
    with a as b, c:  # comment

        for i in range(3): print(i); x = [y for y in (1, 2) if y]
    return lambda z: {1: z, **k}[f"{z!r}" "x"]


class C(B[int]):
\tdef g(self): return (self
\t\t.x .y)
async def h(): await (x); a @= b; del a
try:
    x = 1 if y else -2 ** ~3
except (A, B) as e:
    raise E from e
'''


def test_places_are_those_of_the_position_provider() -> None:
    module = cst.parse_module(SNIPPETS)
    expected = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    nodes = [n for n in expected if isinstance(n, cst.BaseExpression | cst.BaseSmallStatement)]
    assert len(nodes) > 60
    places = positions.places(module, nodes)
    for node in nodes:
        spot = expected[node]
        if not hasattr(node, "body"):
            assert [(p.row, p.column - 1) for p in places[id(node)]] == [
                (spot.start.line, spot.start.column), (spot.end.line, spot.end.column),
            ]  # fmt: skip
        assert positions.places(module, [node])[id(node)] == places[id(node)]
    assert positions.places(module, [cst.Name("elsewhere")]) == {}
