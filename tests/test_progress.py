"""The progress bar appears only for runs that take their time."""

from __future__ import annotations

import pytest

from shapelint.report import progress


def test_a_quick_run_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.Progress(3) as bar:
        for _ in range(3):
            bar.advance(1)
    assert capsys.readouterr() == ("", "")


def test_a_long_run_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with progress.Progress(3) as bar:
        bar.advance(2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "Linting" in err
    assert "67%" in err
