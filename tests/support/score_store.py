"""A process that scores runs of a store and compares them; it may be killed at any moment.

python score_store.py ROOT RUN… ; says `ready` before it begins.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

from crucible_batch.assemble.compare import compare_runs
from crucible_batch.assemble.evaluate import evaluate_run
from crucible_batch.store import Store


def work(root: Path, runs: list[str]) -> None:
    """Score every run, then compare each with the next."""
    store = Store.open(root)
    for run in runs:
        evaluate_run(store, "default", run)
    for baseline, candidate in pairwise(runs):
        compare_runs(store, "default", baseline, candidate)


if __name__ == "__main__":
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    work(Path(sys.argv[1]), sys.argv[2:])
