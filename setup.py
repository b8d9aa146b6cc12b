"""Puts shapelint.pth beside the package, for SHAPELINT_CHECK; everything else stands in pyproject.toml."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

PTH = Path(__file__).parent / "shapelint.pth"


class BuildWithPth(build_py):
    def run(self):
        super().run()
        if not self.editable_mode:
            Path(self.build_lib).mkdir(parents=True, exist_ok=True)
            shutil.copy(PTH, self.build_lib)


class EditableWithPth(editable_wheel):
    def _run_build_commands(self, dist_name, unpacked_wheel, *others):
        shutil.copy(PTH, unpacked_wheel)
        return super()._run_build_commands(dist_name, unpacked_wheel, *others)


setup(cmdclass={"build_py": BuildWithPth, "editable_wheel": EditableWithPth})
