"""[tool.shapelint], selection by prefix, and which files are found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shapelint.config import Config, ConfigError, find_config, load_config, require_codes
from shapelint.project.discovery import NoSuchPath, find_files
from shapelint.rule import Rule


@pytest.fixture(autouse=True)
def rules(monkeypatch: pytest.MonkeyPatch) -> None:
    named = [("SHP101", True), ("SHP102", True), ("SHP206", True), ("SHP601", False)]
    known = tuple(Rule(code, code.lower(), "", lambda events: iter(()), default=on) for code, on in named)
    monkeypatch.setattr("shapelint.config.discover", lambda: known)


def write(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("config", "on"),
    [
        (Config(), "101 102 206"),
        (Config(ignore=("SHP1",)), "206"),
        (Config(select=("SHP1",)), "101 102"),
        (Config(select=("ALL",)), "101 102 206 601"),
        (Config(extend_select=("SHP601",)), "101 102 206 601"),
        (Config(select=("SHP101",), extend_select=("SHP6",)), "101 601"),
        (Config(select=("SHP101",), ignore=("SHP1",)), "101"),
        (Config(select=("SHP1",), ignore=("SHP101",)), "102"),
        (Config(select=("SHP1",), ignore=("SHP1",)), ""),
        (Config(per_file_ignores=(("tests/", ("SHP2",)), ("*_old.py", ("SHP1",)))), "101 102 206"),
    ],
)
def test_selection(config: Config, on: str) -> None:
    assert [rule.code.removeprefix("SHP") for rule in config.rules("a.py")] == on.split()


def test_per_file_ignores(tmp_path: Path) -> None:
    config = Config(per_file_ignores=(("tests/", ("SHP2",)), ("*_old.py", ("SHP1",))), root=str(tmp_path))

    def on(name: str) -> list[str]:
        return [rule.code for rule in config.rules(str(tmp_path / name))]

    assert on("tests/a.py") == ["SHP101", "SHP102"]
    assert on("src/a_old.py") == ["SHP206"]
    assert on("../tests/a.py") == ["SHP101", "SHP102", "SHP206"]


def test_the_command_line_outweighs_the_file() -> None:
    config = Config(select=("SHP2",), ignore=("SHP102",))
    assert [r.code for r in config.overridden(("SHP1",), (), ("SHP101",)).rules("a.py")] == ["SHP102"]
    assert [r.code for r in config.overridden(None, ("SHP1",), ()).rules("a.py")] == ["SHP101", "SHP102", "SHP206"]


def test_the_whole_table(tmp_path: Path) -> None:
    text = """
[tool.shapelint]
select = ["SHP1"]
extend-select = ["SHP601"]
ignore = ["SHP102"]
exclude = ["third_party/", "*_pb2.py"]
per-file-ignores = {"tests/**" = ["SHP101"]}
"""
    config = load_config(write(tmp_path / "pyproject.toml", text))
    assert config.select == ("SHP1",)
    assert config.extend_select == ("SHP601",)
    assert config.ignore == ("SHP102",)
    assert config.per_file_ignores == (("tests/**", ("SHP101",)),)
    assert config.excludes(str(tmp_path / "third_party") + "/")
    assert config.excludes(str(tmp_path / "a" / "b_pb2.py"))
    assert not config.excludes(str(tmp_path / "a" / "b.py"))


@pytest.mark.parametrize(
    ("table", "named"),
    [
        ("selct = []", "selct"),
        ('select = "SHP1"', "select"),
        ("ignore = [1]", "ignore"),
        ('select = ["SHP9"]', "SHP9"),
        ('ignore = [""]', "ignore"),
        ("per-file-ignores = []", "per-file-ignores"),
        ('per-file-ignores = {"a" = "SHP1"}', "per-file-ignores"),
        ('per-file-ignores = {"a" = ["X1"]}', "X1"),
        ("select = [", "cannot be read"),
    ],
)
def test_an_error_names_file_and_key(tmp_path: Path, table: str, named: str) -> None:
    path = write(tmp_path / "pyproject.toml", f"[tool.shapelint]\n{table}\n")
    with pytest.raises(ConfigError) as error:
        load_config(path)
    assert named in str(error.value)
    assert str(path) in str(error.value)


def test_require_codes() -> None:
    require_codes(["SHP1", "ALL", "SHP101"], "--select")
    with pytest.raises(ConfigError, match=r"--select: unknown rule code 'SHP3'"):
        require_codes(["SHP3"], "--select")


def test_the_nearest_table_counts(tmp_path: Path) -> None:
    outer = write(tmp_path / "pyproject.toml", "[tool.shapelint]\n")
    write(tmp_path / "a" / "pyproject.toml", "[tool.other]\n")
    (tmp_path / "a" / "b").mkdir()
    assert find_config(str(tmp_path / "a" / "b")) == outer


def found(tmp_path: Path, paths: list[str], config: Config | None = None, **kwargs: bool) -> list[str]:
    files = find_files([str(tmp_path / path) for path in paths], config or Config(root=str(tmp_path)), **kwargs)
    return [os.path.relpath(file, tmp_path).replace(os.sep, "/") for file in files]


def test_discovery(tmp_path: Path) -> None:
    for name in ["b.py", "a/z.py", "a/n.txt", ".venv/x.py", "a/build/x.py", "env/x.py", "gen/x.py", "a/gen.py"]:
        write(tmp_path / name)
    write(tmp_path / "env/pyvenv.cfg")
    (tmp_path / ".git").mkdir()
    write(tmp_path / ".gitignore", "/gen/\n*.tmp.py\n")
    write(tmp_path / "a/.gitignore", "!kept.tmp.py\n")
    write(tmp_path / "a/kept.tmp.py")
    write(tmp_path / "a/lost.tmp.pyx")
    write(tmp_path / "lost.tmp.py")
    assert found(tmp_path, ["."]) == ["a/gen.py", "a/kept.tmp.py", "a/z.py", "b.py"]
    assert found(tmp_path, ["gen", "gen/x.py", ".venv/x.py"]) == ["gen/x.py", ".venv/x.py"]
    assert found(tmp_path, ["a/n.txt", "b.py", "b.py"]) == ["a/n.txt", "b.py"]
    with pytest.raises(NoSuchPath):
        found(tmp_path, ["nowhere"])


def test_exclude(tmp_path: Path) -> None:
    for name in ("a.py", "old/b.py", "c_pb2.py"):
        write(tmp_path / name)
    config = Config(exclude=("old", "*_pb2.py"), root=str(tmp_path))
    assert found(tmp_path, ["."], config) == ["a.py"]
    assert found(tmp_path, ["c_pb2.py"], config) == ["c_pb2.py"]
    assert found(tmp_path, ["c_pb2.py", "a.py"], config, force_exclude=True) == ["a.py"]
