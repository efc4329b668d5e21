"""A process that appends judgments: `appender.py ROOT NAME SEED N_BATCHES [forever]`.

Batches overlap with those of other processes: queries come from a small range. Prints one line per
append, so that a test knows when it is at work.
"""

from __future__ import annotations

import random
import sys
from datetime import UTC, datetime

import polars as pl

from crucible_batch.assemble.qrels import append_qrels
from crucible_batch.contracts import TABLES
from crucible_batch.store import Store


def batch(rng: random.Random, size: int, span: int) -> pl.DataFrame:
    rows = [
        {
            "workspace_id": "w",
            "query_id": f"q{query:04d}",
            "target": "doc:d1",
            "source": "human",
            "judge": "human",
            "doc_id": "d1",
            "grade": query % 4,
            "created_at": datetime(2026, 1, 1, tzinfo=UTC),
        }
        for query in rng.sample(range(span), size)
    ]
    return pl.DataFrame(rows, schema=TABLES["qrels"].schema)


def main(root: str, name: str, seed: str, batches: str) -> None:
    workspace = Store.open(root).workspace("w", create=True)
    rng = random.Random(int(seed))
    for number in range(int(batches)):
        done = append_qrels(
            workspace, batch(rng, 10, 4000), actor=name, idempotency_key=f"{name}-{number}"
        )
        sys.stdout.write(f"{number} {done.appended} {done.already_there}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
