"""One scan of a corpus of 1,000,000 documents and 5,000,000 mentions, in a process of its own.

uv run pytest -n 0 -m speed tests/speed/test_drift_speed.py -s
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from crucible_batch.assemble.load import load_corpus
from crucible_batch.store import Store

N_DOCUMENTS, N_ENTITIES, N_MENTIONS, N_MOVED = 1_000_000, 200_000, 5_000_000, 50_000
MAY = datetime(2026, 5, 1, tzinfo=UTC)

SCAN = """
import json, resource, sys, time
from datetime import datetime
from crucible_batch.assemble.drift import scan_drift
from crucible_batch.store import Store

store, as_of = Store.open(sys.argv[1]), datetime.fromisoformat(sys.argv[2])
start = time.perf_counter()
scan = scan_drift(store, "default", as_of=as_of)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": seconds, "peak_mb": peak, "churn": scan.snapshot.row["doc_churn"]}))
"""


def corpus(folder: Path, first: int) -> Path:
    """Tables of one version: documents `first`, `first + 1`, …, and what they mention."""
    folder.mkdir(parents=True)
    n = pl.int_range(first, first + N_DOCUMENTS, eager=True).cast(pl.String).str.zfill(9)
    pl.DataFrame({"doc_id": "doc-" + n, "content_hash": n.str.pad_start(64, "a")}).with_columns(
        hash_version=pl.lit("v"), source_updated_at=pl.lit(MAY - timedelta(days=3))
    ).write_parquet(folder / "documents.parquet")
    entity = pl.int_range(0, N_ENTITIES, eager=True)
    pl.DataFrame(
        {
            "entity_id": "e" + entity.cast(pl.String),
            "entity_type": "t" + (entity % 50).cast(pl.String),
        }
    ).write_parquet(folder / "entities.parquet")
    mention = pl.int_range(0, N_MENTIONS, eager=True)
    pl.DataFrame(
        {
            "entity_id": "e" + (mention * 7_919 % N_ENTITIES).cast(pl.String),
            "doc_id": "doc-" + (first + mention % N_DOCUMENTS).cast(pl.String).str.zfill(9),
            "chunk_id": "c" + (mention // N_DOCUMENTS).cast(pl.String),
        }
    ).write_parquet(folder / "mentions.parquet")
    return folder


@pytest.mark.speed
def test_a_million_documents_are_scanned_in_time_and_memory(tmp_path: Path) -> None:
    store = Store.create(tmp_path / "store")
    for number, version in enumerate(("v1", "v2")):
        folder = corpus(tmp_path / version, number * N_MOVED)
        seen = MAY - timedelta(days=2 - number)
        load_corpus(store, [folder], corpus_version=version, observed_at=seen)
    command = [sys.executable, "-c", SCAN, str(store.root), MAY.isoformat()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    sys.stdout.write(f"\nscan: {found['seconds']:.1f} s, peak {found['peak_mb']:,.0f} MB\n")
    assert found["churn"] == 2 * N_MOVED
    assert found["seconds"] < 30
    assert found["peak_mb"] < 2_000
