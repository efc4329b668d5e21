"""`crucible score` of a large run against pytrec_eval, whole commands, and runs beyond memory.

uv run --group speed pytest -n 0 -m speed -s tests/speed/test_score_speed.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from make_data import write, write_texts

from crucible_batch.store import Store

ROUNDS = 3
HUGE = "CRUCIBLE_SPEED_50M"
QUERIES, DEPTH = 50_000, 100


def crucible(store: Path, *words: str | Path) -> dict[str, float]:
    """Run a command in a process of its own; its seconds and peak memory."""
    program = (
        "import sys\nfrom crucible_batch.cli import main\n"
        "sys.argv[0] = 'crucible'\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "line = [l for l in open('/proc/self/status') if l.startswith('VmHWM:')][0]\n"
        "print('PEAK', int(line.split()[1]) / 1024)\n"
    )
    command = [sys.executable, "-c", program, "--root", str(store), *map(str, words)]
    before = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {
        "seconds": time.perf_counter() - before,
        "peak_mb": float(done.stdout.rsplit("PEAK", 1)[1]),
    }


def loaded(folder: Path) -> dict[str, float]:
    """Load the texts of `folder` into a store there; what loading the run took."""
    store = folder / "store"
    Store.create(store)
    crucible(store, "load", "golden", folder / "topics.tsv", "--format", "topics")
    crucible(store, "load", "qrels", folder / "qrels.txt", "--format", "trec")
    return crucible(store, "load", "run", folder / "run.trec", "--format", "trec", "--run", "big")


def contender(name: str, folder: Path) -> dict[str, Any]:
    """The fastest of a few runs, timed as whole commands."""
    command = [sys.executable, str(Path(__file__).parent / "contenders.py"), name, str(folder)]
    reports = []
    for _ in range(ROUNDS):
        before = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - before
        reports.append({**json.loads(done.stdout.splitlines()[-1]), "seconds": seconds})
    return min(reports, key=lambda report: report["seconds"])


@pytest.mark.speed
def test_scoring_everything_takes_less_than_pytrec_eval_takes_for_five_metrics(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = write(tmp_path_factory.getbasetemp() / "score-5M", QUERIES, DEPTH)
    write_texts(folder)
    load = loaded(folder)
    ours, theirs = (contender(name, folder) for name in ("crucible_score", "pytrec_eval_trec"))
    assert ours["means"] == pytest.approx(theirs["means"], abs=1e-9)
    sys.stdout.write(
        f"\n{QUERIES * DEPTH:,} rows: load run {load['seconds']:.1f} s {load['peak_mb']:.0f} MB;"
        f" score {ours['seconds']:.2f} s {ours['peak_mb']:.0f} MB;"
        f" pytrec_eval from TREC text {theirs['seconds']:.2f} s {theirs['peak_mb']:.0f} MB;"
        f" {ours['seconds'] / theirs['seconds']:.2f} x\n"
    )
    assert ours["peak_mb"] < 800
    assert ours["seconds"] <= 0.8 * theirs["seconds"]


@pytest.mark.speed
@pytest.mark.skipif(HUGE not in os.environ, reason=f"half an hour and 20 GB of disk: set {HUGE}=1")
def test_a_run_of_fifty_million_rows_needs_two_gigabytes(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    base = tmp_path_factory.getbasetemp()
    took: dict[int, dict[str, float]] = {}
    for parts in (1, 10):
        folder = base / f"score-{parts}x5M"
        write_texts(write(folder, QUERIES, DEPTH), parts=parts, shuffled=True)
        load = loaded(folder)
        took[parts] = crucible(folder / "store", "score", "big")
        sys.stdout.write(
            f"\n{parts * QUERIES * DEPTH:,} rows: load run {load['seconds']:.1f} s"
            f" {load['peak_mb']:.0f} MB; score {took[parts]['seconds']:.1f} s"
            f" {took[parts]['peak_mb']:.0f} MB\n"
        )
        assert load["peak_mb"] < 2000
    assert took[10]["peak_mb"] < 2000
    assert took[10]["seconds"] / 10 <= 1.25 * took[1]["seconds"]
