"""`python -m flows.nightly`, as a person starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
TROUBLE = ("Traceback", "telemetry", "database is locked", "ERROR", "WARNING", "CRITICAL")


def run(
    home: Path, *words: str | Path, module: str = "flows.nightly"
) -> subprocess.CompletedProcess[str]:
    """Run the flow with a fresh Prefect, no API, and no way out of the machine."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT", "DO_NOT_TRACK"))}
    offline = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"), "http://127.0.0.1:9")
    local = {"NO_PROXY": "127.0.0.1,localhost", "PREFECT_HOME": str(home), "HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", module, *words],
        cwd=PROJECT,
        env=kept | offline | local,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@pytest.mark.slow
def test_the_example_completes_offline_without_trouble_in_the_log(tmp_path):
    home, root = tmp_path / "prefect", tmp_path / "store"
    home.mkdir()
    done = run(home, "--root", root)
    log = done.stdout + done.stderr
    assert done.returncode == 0, log
    assert [word for word in TROUBLE if word in log] == []
    assert "Mixed: better on Truthfulness" in log
    assert "Finished in state Completed()" in log
    (page,) = (root / "default" / "reports").iterdir()
    assert f"report: {page}" in log
    again = run(home, "--root", root)
    assert again.returncode == 0
    assert "is done already: lexical-rewrite (no-op)" in again.stdout + again.stderr
    assert not (home / ".prefect").exists()  # all of it is in PREFECT_HOME


@pytest.mark.slow
def test_a_wrong_configuration_ends_in_words_and_its_exit_code(tmp_path):
    config = tmp_path / "nightly.toml"
    config.write_text("golden_set = 'faq'\nbaselin = 'r'\n", encoding="utf-8")
    done = run(tmp_path, "--root", tmp_path / "store", "--config", config)
    assert done.returncode == 2
    assert "unknown key 'baselin'. Did you mean baseline" in done.stderr


def test_a_schedule_that_no_server_would_keep_is_refused(tmp_path):
    config = PROJECT / "data" / "example" / "nightly.toml"
    words = ("--root", tmp_path / "store", "--config", config)
    done = run(tmp_path, *words, module="flows.deploy")
    assert done.returncode == 2
    assert "No Prefect server is named" in done.stderr
    assert "prefect server start" in done.stderr
