"""Fixtures that many tests share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine is no fault: speed is measured in tests/speed.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

# Builders that several folders of tests import by name.
sys.path.insert(0, str(Path(__file__).parent / "support"))


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of acceptance cases beside the project; a test that needs it skips without."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "cases"
    if not folder.is_dir():
        pytest.skip("the acceptance cases (../shared/cases) are not here")
    return folder
