"""A league page of 200 runs that are scored already: what a reader waits for.

uv run pytest -n 0 -m speed tests/speed/test_league_speed.py -s
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from bench import Bench, item, result

from crucible_batch.assemble.league import report_league, write_league

N_RUNS, N_ITEMS = 200, 24


@pytest.mark.speed
def test_a_league_page_of_200_scored_runs(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    ids = [f"q{n:02}" for n in range(N_ITEMS)]
    bench.golden(*[item(one, must=1) for one in ids])
    names = [f"run-{k:03}" for k in range(N_RUNS)]
    for k, name in enumerate(names):
        rows = [
            result(q, f"d-{q}", verdict="supported" if n < k % N_ITEMS else "missing")
            for n, q in enumerate(ids)
        ]
        bench.run(name, *rows)
        bench.score(name)
    start = time.perf_counter()
    league = report_league(bench.store, "default", names)
    found = time.perf_counter()
    path = write_league(league, tmp_path / "league.html")
    done = time.perf_counter()
    sys.stdout.write(
        f"\n{N_RUNS} runs: {found - start:.2f} s to find their numbers current, "
        f"{done - found:.2f} s to write {path.stat().st_size / 1024:.0f} KiB\n"
    )
    assert len(league.entries) == N_RUNS
