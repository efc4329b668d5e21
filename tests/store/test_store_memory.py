from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_staging_five_million_unsorted_rows_stays_under_two_gigabytes(tmp_path):
    script = Path(__file__).with_name("stage_many.py")
    said = subprocess.run(
        [sys.executable, script, tmp_path, "5000000", "1GB"],
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    cost = json.loads(said)
    assert cost["rows"] == 5_000_000
    assert cost["peak_mb"] < 2_000
