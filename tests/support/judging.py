"""A store with a run that nobody judged, a chat judge to ask, and its tables read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from bench import Bench, Row, item, result
from judge_server import JudgeServer

from crucible_batch.assemble.judge import (
    Judged,
    JudgeOptions,
    judge_assertions,
    judge_claims,
    judge_qrels,
)
from crucible_batch.contracts import TABLES

SETTINGS = """
[judge]
model = "m"
base_url = "{url}"
timeout_seconds = 5
max_attempts = 2
backoff_seconds = 0.01
usd_per_million_tokens = [1.0, 2.0]
"""
UNLIKE = ("created_at", "occurred_at", "_commit")
"""What may differ between two stores that hold the same: when it was written, and where."""


class Judging:
    """A bench whose settings name the test's judge."""

    def __init__(self, folder: Path, server: JudgeServer | None = None) -> None:
        self.bench = Bench(folder)
        self.server = server
        if server is not None:
            self.settings(SETTINGS.format(url=server.base_url))

    def settings(self, text: str) -> None:
        (self.bench.store.root / "crucible.toml").write_text(text)

    def golden(self, n_items: int = 2, *, must: int = 2, **more: Any) -> None:
        rows = [item(f"q{n}", must=must, ground_truth=f"So {n}.", **more) for n in range(n_items)]
        self.bench.golden(*rows)

    def run(self, run_id: str, *results: Row, **header: Any) -> None:
        self.bench.run(run_id, *results, judge=None, **header)

    def qrels(self, *runs: str, depth: int | None = None, texts: Any = (), **o: Any) -> Judged:
        options = JudgeOptions(**o)
        return judge_qrels(
            self.bench.store, "default", runs, depth=depth, texts=texts, options=options
        )

    def assertions(self, *runs: str, **options: Any) -> Judged:
        return judge_assertions(self.bench.store, "default", runs, options=JudgeOptions(**options))

    def claims(self, *runs: str, **options: Any) -> Judged:
        return judge_claims(self.bench.store, "default", runs, options=JudgeOptions(**options))

    def table(self, name: str, *columns: str) -> pl.DataFrame:
        """A lake table, by key."""
        rows = self.bench.store.workspace().snapshot().read(name).sort(TABLES[name].key).collect()
        return rows.select(columns) if columns else rows

    def rows(self, name: str, *columns: str) -> list[tuple[Any, ...]]:
        return self.table(name, *columns).rows()

    @property
    def n_commits(self) -> int:
        return self.bench.store.workspace().snapshot().seq

    def judged_tables(self) -> dict[str, pl.DataFrame]:
        """All that judging writes, without what may differ between two stores."""
        names = (
            *("qrels", "audit_log", "assertion_verdicts", "claims"),
            *("judge_calls", "judgment_overrides"),
        )
        return {name: self.table(name).drop(UNLIKE, strict=False) for name in names}


__all__ = ["UNLIKE", "Judging", "item", "result"]
