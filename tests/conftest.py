"""What holds for every test: torch's own test suites change the default dtype when they are imported."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def _default_dtype() -> None:
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_default_dtype(torch.float32)
