"""`stage_many.py FOLDER ROWS MEMORY_LIMIT`: stage shuffled ranking rows and print the cost."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.store import Engine, Store

DEPTH = 100
PIECE = 1_000_000


def write_pieces(folder: Path, n_rows: int) -> list[Path]:
    """Rankings of one run, every row in a random place."""
    rng = np.random.default_rng(1)
    places = rng.permutation(n_rows)
    schema = TABLES["retrievals"].schema
    paths = []
    for start in range(0, n_rows, PIECE):
        place = pl.Series("place", places[start : start + PIECE])
        rows = pl.DataFrame([place]).select(
            workspace_id=pl.lit("w"),
            run_id=pl.lit("r1"),
            item_id=pl.format("q{}", pl.col("place") // DEPTH),
            sample_index=pl.lit(0, pl.Int64),
            rank=pl.col("place") % DEPTH + 1,
            doc_id=pl.format("doc{}", pl.Series(rng.integers(0, 8_000_000, len(place)))),
            score=pl.Series(rng.random(len(place))),
        )
        absent = [pl.lit(None, dtype).alias(n) for n, dtype in schema.items() if n not in rows]
        paths.append(folder / f"{start}.parquet")
        rows.with_columns(absent).select(*schema).write_parquet(paths[-1])
    return paths


def main(folder: str, rows: str, memory_limit: str) -> None:
    root = Path(folder)
    pieces = root / "pieces"
    pieces.mkdir()
    paths = write_pieces(pieces, int(rows))
    store = Store.create(root / "store", engine=Engine(memory_limit))
    workspace = store.workspace("w", create=True)
    start = time.monotonic()
    bulk = workspace.stage_bulk("retrievals", paths, "r1")
    seconds = time.monotonic() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    said = {"rows": bulk.n_rows, "seconds": round(seconds, 1), "peak_mb": round(peak)}
    sys.stdout.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
