"""One Prefect server for all tests of the flows, in a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import flows  # noqa: F401  (sets what keeps Prefect quiet; before Prefect is imported)


@pytest.fixture(scope="session")
def prefect_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where Prefect keeps its files: never the developer's ~/.prefect."""
    home = tmp_path_factory.mktemp("prefect")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PREFECT_HOME", str(home))
        patch.setenv("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "120")
        yield home


@pytest.fixture(scope="session")
def server(prefect_home: Path) -> Iterator[None]:
    """A temporary Prefect server; it takes ten seconds, so there is one."""
    from prefect.testing.utilities import prefect_test_harness

    with prefect_test_harness(server_startup_timeout=120):
        yield
    assert os.environ["PREFECT_HOME"] == str(prefect_home)
