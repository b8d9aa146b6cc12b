"""What is built is what is in the tree, and the code is as clean as the checkers can tell."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(*command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def tracked(root: Path = ROOT) -> set[str]:
    return set(run("git", "ls-files", cwd=root).stdout.splitlines())


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, set[str]]:
    """A directory with wheel and sdist, built from a clean clone, and the files tracked there."""
    if not (ROOT / ".git").exists():
        pytest.skip("needs the repository to know which files belong to it")
    directory = tmp_path_factory.mktemp("built")
    clone = directory / "clone"
    assert run("git", "clone", "--quiet", str(ROOT), str(clone)).returncode == 0
    done = run(sys.executable, "-m", "build", "--outdir", str(directory), str(clone))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return directory, tracked(clone)


@pytest.mark.slow
def test_the_wheel_holds_the_package_and_the_rules(built: tuple[Path, set[str]]) -> None:
    directory, files = built
    wanted = {name for name in files if name.startswith("shapelint/")}
    wanted |= {"shapelint.pth"} | {
        f"shapelint/{name}" for name in files if name.startswith("rules/") and name.endswith(".py")
    }
    (wheel,) = directory.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (entry_points,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        parser = ConfigParser()
        parser.read_string(archive.read(entry_points).decode())
    assert names == wanted
    assert parser["console_scripts"]["shapelint"] == "shapelint.__main__:run"
    assert parser["shapelint.rules"]["builtin"] == "shapelint.rules"
    assert parser["pytest11"]["shapelint"] == "shapelint.runtime.plugin"
    assert parser["flake8.extension"]["shp"] == "shapelint.flake8:Plugin"


@pytest.mark.slow
def test_the_sdist_holds_every_tracked_file(built: tuple[Path, set[str]]) -> None:
    directory, files = built
    (sdist,) = directory.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert files
    assert files <= names


def test_every_package_is_listed() -> None:
    import tomllib

    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "shapelint").rglob("__init__.py")}
    assert listed == found | {"shapelint.rules"}


def test_versions_agree() -> None:
    import shapelint

    assert f'version = "{shapelint.__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert f"## {shapelint.__version__}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    "command",
    [("mypy",), ("ruff", "check", "."), ("ruff", "format", "--check", ".")],
    ids=lambda command: " ".join(command),
)
def test_checkers_are_content(command: tuple[str, ...]) -> None:
    done = run(sys.executable, "-m", *command)
    assert done.returncode == 0, done.stdout + done.stderr
