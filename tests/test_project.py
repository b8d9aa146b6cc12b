"""Which file an import means, what was asked for a file, and which files tensors can reach."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shapelint import source
from shapelint.project.modules import Project


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = {
        "pyproject.toml": "",
        "src/pkg/__init__.py": "from .core import f\n",
        "src/pkg/core.py": "import torch\n",
        "src/pkg/sub/__init__.py": "",
        "src/pkg/sub/mod.py": "from ..core import f\n",
        "src/pkg/plain.py": "import os\nfrom . import leaf\n",
        "src/pkg/leaf.py": "from . import plain\n",
        "src/pkg/far.py": "from pkg.sub import (\n    mod,\n)\n",
        "scripts/run.py": "import pkg\n",
        "scripts/torch.py": "",
        "scripts/helper.py": "",
        "optax/__init__.py": "",
        "optax/_src/base.py": "",
        "optax/_src/update.py": "from optax._src import base\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "from_file", "level", "answer"),
    [
        ("core", "src/pkg/__init__.py", 1, "src/pkg/core.py"),
        ("", "src/pkg/core.py", 1, "src/pkg/__init__.py"),
        ("core", "src/pkg/sub/mod.py", 2, "src/pkg/core.py"),
        ("sub", "src/pkg/core.py", 1, "src/pkg/sub/__init__.py"),
        ("pkg.sub.mod", "src/pkg/core.py", 0, "src/pkg/sub/mod.py"),
        ("pkg.sub", "scripts/run.py", 0, "src/pkg/sub/__init__.py"),
        ("helper", "scripts/run.py", 0, "scripts/helper.py"),
        ("mod", "src/pkg/sub/__init__.py", 0, None),
        ("torch", "scripts/run.py", 0, None),
        ("os", "scripts/run.py", 0, None),
        ("optax._src.base", "optax/_src/update.py", 0, "optax/_src/base.py"),
        ("optax._src.base", "scripts/run.py", 0, None),
        ("nowhere", "src/pkg/core.py", 1, None),
    ],
)
def test_resolve(root: Path, name: str, from_file: str, level: int, answer: str | None) -> None:
    found = Project().resolve(name, str(root / from_file), level)
    assert found == (None if answer is None else str(root / answer))


def test_modules_of_packages_without_an_init_file(root: Path) -> None:
    from shapelint.domain.values import Tensor
    from shapelint.interpreter import interpret

    (root / "optax/_src/base.py").write_text("import jax.numpy as jnp\ndef make():\n    return jnp.zeros((2, 3))\n")
    user = root / "optax/_src/update.py"
    user.write_text("from optax._src import base\nmade = base.make().T\n")
    project = Project([str(root)])
    events = interpret(project.tree(str(user)), str(user), project)
    results = [getattr(event, "result", None) for event in events]
    assert [str(result.shape) for result in results if isinstance(result, Tensor)][-1] == "(3, 2)"


def test_directories_named_are_searched(tmp_path: Path) -> None:
    for package in ("libs/a/one", "libs/b/two"):
        (tmp_path / package).mkdir(parents=True)
        (tmp_path / package / "__init__.py").touch()
    importer = str(tmp_path / "libs/a/one/__init__.py")
    assert Project().resolve("two", importer, 0) is None
    assert Project([str(tmp_path / "libs/b/two")]).resolve("two", importer, 0) == str(
        tmp_path / "libs/b/two/__init__.py"
    )


def test_module_source_remembers_what_was_asked(root: Path) -> None:
    project = Project()
    mod, core = (str(root / "src/pkg" / name) for name in ("sub/mod.py", "core.py"))
    found = project.module_source("core", mod, 2)
    assert found is not None
    assert found[0] == core
    assert project.module_source("core", mod, 2) == found
    project.module_source("absent", core, 1)
    project.module_source("leaf", str(root / "src/pkg/plain.py"), 1)
    assert project.consulted(mod) == {("core", mod, 2): core, ("absent", core, 1): None}


def test_unreadable_modules_are_unknown(root: Path) -> None:
    (root / "src/pkg/core.py").write_text("import torch\nx = (\n")
    assert Project().module_source("core", str(root / "src/pkg/__init__.py"), 1) is None


@pytest.mark.parametrize(
    ("name", "reaches"),
    [("core", True), ("__init__", True), ("sub/mod", True), ("far", True), ("plain", False), ("leaf", False)],
)
def test_what_tensors_can_reach(root: Path, name: str, reaches: bool) -> None:
    path = root / "src/pkg" / f"{name}.py"
    if name in ("plain", "leaf"):  # importing a sibling runs the package, which imports torch here
        (root / "src/pkg/__init__.py").write_text("")
    project = Project()
    for _ in range(2):
        assert project.reaches_tensors(str(path), path.read_text()) is reaches


def test_trees_are_kept_while_they_fit(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def parse(text: str) -> object:
        parsed.append(text)
        return object()

    monkeypatch.setattr(source, "parse", parse)
    monkeypatch.setattr("shapelint.project.modules.MOST_CHARACTERS", 40)
    names = [str(root / "scripts" / f"{letter}.py") for letter in "abc"]
    for name in names:
        Path(name).write_text(f"# {os.path.basename(name):>13}\n")
    project = Project()
    for name in (names[0], names[1], names[0], names[2], names[0], names[1]):
        project.tree(name)
    assert [text.split()[1][0] for text in parsed] == ["a", "b", "c", "b"]
