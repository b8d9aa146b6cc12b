"""The command line as a user meets it: exit status, streams, stdin, cache, processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shapelint.__main__ import main

BUG = """\
import torch
from torch import Tensor, nn
from jaxtyping import Float

model = nn.Linear(8, 1)


def loss(x: Float[Tensor, "n 8"], y: Float[Tensor, " n"]) -> Tensor:
    return ((model(x) - y) ** 2).mean()
"""
CLEAN = "import torch\n\nx = torch.zeros(3)\n"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str | bytes) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def shell(*arguments: str, stdin: str = "", python: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *python, "-m", "shapelint", *arguments], input=stdin, capture_output=True, text=True
    )


def test_a_bug_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", BUG)
    assert main([]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("a.py:9:14: SHP101 [outer-broadcast] ")
    assert out.endswith("Found 1 problem in 1 file. Can be fixed: 1 with --fix.\n")
    assert err == ""


def test_clean(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", CLEAN)
    assert main(["a.py"]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["--exit-zero"], 0),
        (["--ignore", "SHP1"], 0),
        (["--select", "SHP102,shp103"], 0),
        (["--select", "shp101"], 1),
        (["--select=SHP2", "--extend-select=SHP101"], 1),
    ],
)
def test_selection(options: list[str], status: int) -> None:
    write("a.py", BUG)
    assert main([*options, "a.py"]) == status


def test_what_cannot_be_read_is_named_and_the_rest_is_linted(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", BUG)
    write("broken.py", "import torch\nx = 1 +\n")
    write("encoding.py", b"# coding: klingon\n")
    write("null.py", b"x\0")
    assert main(["--output-format", "json", "--exit-zero", "."]) == 2
    out, err = capsys.readouterr()
    assert [Path(item["filename"]).name for item in json.loads(out)] == ["a.py"]
    lines = err.splitlines()
    assert [line.split(":")[0] for line in lines] == ["broken.py", "encoding.py", "null.py"]
    assert lines[0].startswith("broken.py:2:")


def test_a_syntax_error_is_told_as_python_tells_it(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", "import torch\ndef f(:\n    pass\n")
    assert main(["a.py"]) == 2
    assert capsys.readouterr().err == "a.py:2:7: error: cannot be parsed: invalid syntax\n"


def test_a_notebook_is_no_source(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.ipynb", "{}")
    assert main(["a.ipynb"]) == 2
    assert capsys.readouterr().err.startswith("a.ipynb: error: a notebook")


@pytest.mark.skipif(os.name == "nt", reason="pipes and links")
def test_links_to_nowhere_and_pipes_are_passed_by() -> None:
    write("d/a.py", CLEAN)
    Path("d/.#a.py").symlink_to("user@host.1234")
    os.mkfifo("d/pipe.py")
    assert main(["d"]) == 0


@pytest.mark.parametrize("command", ["rules", "explain", "shapes", "budget", "probe"])
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: shapelint {command}")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--frobnicate"], "--frobnicate"),
        (["--output-format", "xml"], "xml"),
        (["--select", "SHP9"], "SHP9"),
        (["--jobs", "0"], "'0'"),
        (["nowhere"], "nowhere"),
        ([os.devnull], "neither a file nor a directory"),
        (["-", "a.py"], "stdin"),
        (["--config", "nowhere.toml"], "nowhere.toml"),
        (["explain", "SHP999"], "SHP999"),
        (["explain"], "explain"),
        (["rules", "there"], "./rules"),
        (["rules", "--frobnicate"], "--frobnicate"),
        (["--no-cache", "shapes", "a.py"], "a command stands first: shapelint shapes"),
        (["probe", "no_such_module_anywhere"], "no module"),
    ],
)
def test_a_wish_that_cannot_be_met(arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        status = main(arguments)
    except SystemExit as exit_:  # argparse's own way
        status = exit_.code  # type: ignore[assignment]
    assert status == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert named in err.splitlines()[-1]
    assert "Traceback" not in err


def test_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    write("p/a.py", BUG)
    toml = write("p/pyproject.toml", '[tool.shapelint]\nignore = ["SHP101"]\n')
    assert main(["p"]) == 0
    assert main(["p", "--isolated"]) == 1
    assert main(["p", "--select", "SHP101"]) == 1
    toml.write_text("[tool.shapelint]\nignroe = []\n")
    capsys.readouterr()
    assert main(["p"]) == 2
    assert "'ignroe'" in capsys.readouterr().err
    other = write("other.toml", "[tool.shapelint]\n")
    assert main(["p", "--config", str(other)]) == 1


def test_stdin() -> None:
    run = shell("-", "--stdin-filename", "pkg/b.py", stdin=BUG)
    assert (run.returncode, run.stderr) == (1, "")
    assert run.stdout.startswith("pkg/b.py:9:14: SHP101 ")
    assert shell("-", stdin=BUG).stdout.startswith("<stdin>:9:14: ")
    assert shell("-", stdin="import torch\nx = 1 +\n").returncode == 2


def test_other_files_are_followed_through_imports(capsys: pytest.CaptureFixture[str]) -> None:
    write("src/pkg/__init__.py", "from .layers import head\n")
    write("src/pkg/layers.py", "from torch import nn\n\nhead = nn.Linear(8, 1)\n")
    write("tests/use.py", BUG.replace("model = nn.Linear(8, 1)", "from pkg import head as model"))
    write("pyproject.toml", "")
    assert main(["tests"]) == 1
    assert "SHP101" in capsys.readouterr().out
    write("src/pkg/layers.py", "from torch import nn\n\nhead = nn.Linear(8, 8)\n")
    main(["tests"])  # the cache sees that the imported file is another
    assert "SHP101" not in capsys.readouterr().out


def test_statistics(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", BUG)
    write("b.py", BUG)
    assert main(["--statistics", "--output-format", "concise"]) == 1
    assert capsys.readouterr().out.splitlines()[-1].split() == ["2", "SHP101", "outer-broadcast"]
    assert main(["--statistics", "--output-format", "json"]) == 1
    out, err = capsys.readouterr()
    assert len(json.loads(out)) == 2
    assert "SHP101" in err


def test_frames_need_no_colour(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", BUG)
    for colour in ("always", "never"):
        main(["--color", colour])
        out = capsys.readouterr().out
        assert ("\x1b[" in out) == (colour == "always")
        assert "^^^" in out


def test_processes_agree_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(9):
        write(f"d{number}/a.py", BUG if number % 2 else CLEAN)
    write("broken.py", "import torch\nx = 1 +\n")
    seen = []
    for jobs in ("1", "3"):
        assert main(["--no-cache", "--jobs", jobs, "."]) == 2
        seen.append(capsys.readouterr())
    assert seen[0] == seen[1]
    assert seen[0].out.count("SHP101") == 4


def test_the_cache_answers_without_the_parser() -> None:
    write("a.py", BUG)
    first = shell("a.py")
    assert Path(".shapelint_cache/.gitignore").read_text() == "*\n"
    again = shell("a.py", python=("-X", "importtime"))
    assert (again.returncode, again.stdout) == (first.returncode, first.stdout)
    assert first.returncode == 1
    assert "libcst" not in again.stderr
    assert "shapelint.linter" not in again.stderr
    write("a.py", CLEAN)
    assert shell("a.py").returncode == 0


def test_no_cache_leaves_nothing_behind() -> None:
    write("a.py", BUG)
    assert main(["--no-cache"]) == 1
    assert not Path(".shapelint_cache").exists()


@pytest.mark.parametrize("damage", ["", "[]", '{"a": 1}', "{{"])
def test_a_damaged_cache_is_no_cache(damage: str) -> None:
    write("a.py", BUG)
    assert main([]) == 1
    for document in Path(".shapelint_cache").glob("*.json"):
        entries = json.loads(document.read_text())
        document.write_text(damage if damage != '{"a": 1}' else json.dumps(dict.fromkeys(entries, 1)))
    assert main([]) == 1


def test_unused_suppressions(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", CLEAN + "y = x  # shapelint: ignore[SHP101]\n")
    assert main([]) == 0
    assert main(["--report-unused-suppressions"]) == 1
    assert "a.py:4:8: SHP001 [unused-suppression]" in capsys.readouterr().out


def test_rules_and_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    assert "SHP101  outer-broadcast" in capsys.readouterr().out
    for name in ("SHP101", "shp101", "outer-broadcast"):
        assert main(["explain", name]) == 0
        out = capsys.readouterr().out
        assert out.startswith("SHP101 outer-broadcast (warning)")
        assert "Bad:" in out


def test_a_directory_called_rules_can_be_linted(capsys: pytest.CaptureFixture[str]) -> None:
    write("rules/a.py", BUG)
    assert main(["./rules"]) == 1
    assert "rules/a.py:9:14" in capsys.readouterr().out


def test_a_closed_pipe_is_no_error() -> None:
    for number in range(40):
        write(f"a{number}.py", BUG)
    command = f"{sys.executable} -m shapelint --no-cache . | head -n 1"
    run = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert run.stdout.count("\n") == 1
    assert run.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("delay", [0.2, 0.5, 0.8, 1.5])
def test_ctrl_c_is_clean(delay: float) -> None:
    """Also while the worker processes start, and without a word on what they left behind."""
    import signal

    for number in range(60):
        write(f"a{number}.py", BUG * 40)
    code = "import shapelint.__main__ as front; print('ready', flush=True); front.run()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "--no-cache", "--jobs", "2", "."],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(delay)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert err in ("shapelint: interrupted\n", "")
    assert process.returncode in (130, -signal.SIGINT, 1)


def test_version_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    def seconds(*arguments: str) -> float:
        begun = time.perf_counter()
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)
        return time.perf_counter() - begun

    pairs = [(seconds("-c", "import argparse"), seconds("-m", "shapelint", "--version")) for _ in range(12)]
    floor, ours = (min(times) for times in zip(*pairs))
    assert ours <= 2 * floor
    assert shell("--version").stdout.startswith("shapelint ")


def test_nothing_heavy_is_imported_for_help() -> None:
    run = shell("--help", python=("-X", "importtime"))
    for heavy in ("typing", "dataclasses", "rich", "libcst", "pathspec", "shapelint.rule"):
        assert f"| {heavy}\n" not in run.stderr.replace("  ", ""), heavy
