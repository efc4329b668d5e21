"""Fixtures that many tests share."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

# A busy machine is no fault: speed is measured in tests/speed.
settings.register_profile("unhurried", deadline=None, max_examples=50)
settings.load_profile("unhurried")

# Tests say what they read from the environment: a terminal's or a job's own must not reach them,
# be it in this process or in those they start.
for name in [*os.environ]:
    if name.startswith(("CRUCIBLE_", "PREFECT_", "POLARS_")) and "_SPEED_" not in name:
        del os.environ[name]
for name in ("COLUMNS", "LINES", "TERM", "NO_COLOR", "FORCE_COLOR", "UV_RUN_RECURSION_DEPTH"):
    os.environ.pop(name, None)

if TYPE_CHECKING:
    from judge_server import JudgeServer

# A job in the background ignores Control-C, and so would the processes that tests start and stop.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Builders that several folders of tests import by name.
sys.path.insert(0, str(Path(__file__).parent / "support"))


@pytest.fixture(scope="session", autouse=True)
def _disk_without_waiting() -> Iterator[None]:
    """Nothing here cuts the power: what a killed process wrote is there without fsync too.

    Processes that tests start wait for the disk as users' do.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _views_without_comments() -> Iterator[Callable[..., str]]:
    """Nine hundred comments take as long as all else of a small store; gives what writes them."""
    from crucible_batch.store import catalog

    comments = catalog.comments
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalog, "comments", lambda *_: "")
        yield comments


@pytest.fixture
def commented(_views_without_comments: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores made here have comments on their views, as users' stores do."""
    monkeypatch.setattr("crucible_batch.store.catalog.comments", _views_without_comments)


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of acceptance cases beside the project; a test that needs it skips without."""
    folder = Path(__file__).resolve().parents[2] / "shared" / "cases"
    if not folder.is_dir():
        pytest.skip("the acceptance cases (../shared/cases) are not here")
    return folder


@pytest.fixture
def judge_server() -> Iterator[JudgeServer]:
    """A chat-completions endpoint that judges by a hash of the prompt, and counts."""
    from judge_server import JudgeServer
    from pytest_httpserver import HTTPServer

    with HTTPServer(threaded=True) as server:
        yield JudgeServer(server)
        server.check_assertions()


@pytest.fixture(scope="session")
def demo_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store that `crucible demo` makes, once for every test that only reads it."""
    from crucible_batch.assemble.demo import run_demo

    return run_demo(tmp_path_factory.mktemp("demo") / "store").root
