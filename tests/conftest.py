"""Fixtures that many tests share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of acceptance cases beside the project; a test that needs it skips without."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "cases"
    if not folder.is_dir():
        pytest.skip("the acceptance cases (../shared/cases) are not here")
    return folder
