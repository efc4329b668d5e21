"""A small store with a golden set, judgments and runs, built in a few lines, and its files read.

bench = Bench(tmp_path)
bench.golden(item("q1", must=1), item("q2"))
bench.run("r", result("q1", supported=True), result("q2"))
bench.score("r").read("run_metrics")
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from crucible_batch.assemble.compare import CompareOptions, Comparison, compare_runs
from crucible_batch.assemble.evaluate import Evaluation, Options, evaluate_run
from crucible_batch.assemble.load import LoadReport, load_golden, load_qrels, load_run
from crucible_batch.contracts import TABLES
from crucible_batch.store import Plan, Store, canonical_json, text_sha256

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
JUDGE = "judge@1"
Row = dict[str, Any]


def item(item_id: str, *, must: int = 0, required: tuple[str, ...] = (), **more: Any) -> Row:
    """A golden item with so many must assertions and these required documents."""
    row: Row = {"item_id": item_id, "question": f"What of {item_id}?", "answerable": True, **more}
    if must:
        row["assertions"] = [
            {"assertion_id": f"a{n}", "level": "must", "text": f"Fact {n}."} for n in range(must)
        ]
    if required:
        row["citations"] = [{"doc_id": doc, "kind": "required"} for doc in required]
    return row


def result(
    item_id: str,
    *docs: str,
    verdict: str | None = None,
    judges: tuple[str, ...] = (JUDGE,),
    **more: Any,
) -> Row:
    """A result that retrieved these documents; its assertion a0 got this verdict of each judge."""
    row: Row = {"item_id": item_id, "answer": f"So it is with {item_id}.", **more}
    if docs:
        row["retrievals"] = [
            {"doc_id": doc, "text": f"Text of {doc}.", "score": float(-n)}
            for n, doc in enumerate(docs)
        ]
    if verdict is not None:
        row["verdicts"] = [{"assertion_id": "a0", "verdict": verdict, "judge": j} for j in judges]
    return row


class Bench:
    """A store in a folder of its own."""

    def __init__(self, folder: Path, template: Path | None = None) -> None:
        """Make a store, or copy the one under `template`."""
        self.folder = folder
        if template is None:
            self.store = Store.create(folder / "store", now=lambda: NOON)
        else:
            shutil.copytree(template, folder / "store")
            self.store = Store.open(folder / "store", now=lambda: NOON)
        self._n_files = 0

    @property
    def root(self) -> Path:
        """The folder of its workspace."""
        return self.store.root / "default"

    def file(self, *rows: Row | str) -> Path:
        """Rows as JSON lines, text as it is."""
        self._n_files += 1
        path = self.folder / f"in-{self._n_files}.jsonl"
        texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        return path

    def golden(self, *items: Row, **options: Any) -> LoadReport:
        return load_golden(self.store, [self.file(*items)], **({"golden_set": "g"} | options))

    def qrels(self, *rows: tuple[str, str, int], source: str = "human", **more: Any) -> LoadReport:
        """Judgments as (query, document, grade)."""
        if source == "llm":
            more = {"judge": "m@1", "judge_model": "m", "prompt_version": "1"} | more
        lines = [
            {"query_id": q, "doc_id": d, "grade": g, "source": source} | more for q, d, g in rows
        ]
        return load_qrels(self.store, [self.file(*lines)])

    def run(
        self, run_id: str, *results: Row, judge: str | None = JUDGE, **header: Any
    ) -> LoadReport:
        """Load a run; a header key `status` gives its status."""
        status = header.pop("status", None)
        run: Row = {"run_id": run_id, "golden_set": "g", **header}
        if judge is not None:
            run["judge"] = {"judge": judge}
        return load_run(self.store, [self.file({"run": run}, *results)], status=status)

    def score(self, run_id: str, *, pin: int | None = None, **options: Any) -> Evaluation:
        return evaluate_run(
            self.store, "default", run_id, options=Options(**options) if options else None, pin=pin
        )

    def compare(
        self, baseline: str, candidate: str, *, pin: int | None = None, **options: Any
    ) -> Comparison:
        chosen = CompareOptions(**options) if options else None
        return compare_runs(self.store, "default", baseline, candidate, options=chosen, pin=pin)

    def append(self, table: str, *rows: Row) -> None:
        """Append rows to an event table; columns left out are null."""
        spec = TABLES[table]
        full = [dict.fromkeys(spec.names) | {"workspace_id": "default"} | row for row in rows]
        frame = pl.DataFrame(full, schema=spec.schema)
        key = text_sha256(canonical_json([table, str(full)]))
        self.store.workspace("default").commit(
            lambda _: Plan(events={table: frame}), kind="test", idempotency_key=key
        )

    def override(self, table: str, column: str, key: list[Any], new: str, number: int = 1) -> None:
        """Override one value."""
        self.append(
            "judgment_overrides",
            {
                "override_id": f"o{number}",
                "target_table": table,
                "target_column": column,
                "target_key": canonical_json(key),
                "old": "?",
                "new": new,
                "author": "ann",
                "reason": "looked",
                "created_at": NOON,
            },
        )

    def rows(self, table: str) -> list[Row]:
        """Rows of a lake table by key."""
        frame = self.store.table(table).collect()
        return frame.drop("_commit", strict=False).sort(TABLES[table].key).to_dicts()

    def head(self) -> int:
        """Number of the newest commit."""
        return self.store.workspace("default").snapshot().seq

    def settings(self, text: str) -> None:
        """Write the settings of the workspace."""
        (self.root / "settings.toml").write_text(text, encoding="utf-8")

    def files(self, *folders: str) -> dict[str, str]:
        """SHA-256 of every derived file, by its path in the workspace."""
        return derived(self.root, *folders)


def derived(root: Path, *folders: str) -> dict[str, str]:
    """SHA-256 of every file under `marts/` and `variants/` of a workspace."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in folders or ("marts", "variants")
        for path in sorted((root / folder).rglob("*.parquet"))
        if not path.name.startswith("_")
    }


def number(evaluation: Evaluation, metric: str, *by: str) -> Mapping[str, Any]:
    """The row of `run_metrics` of one metric, overall or in a slice (facet, value)."""
    slice_by, name = by or ("all", "all")
    rows = evaluation.read("run_metrics").filter(
        pl.col("metric") == metric, pl.col("slice_by") == slice_by, pl.col("slice") == name
    )
    return rows.row(0, named=True)


def compared(done: Comparison, metric: str, *by: str) -> Mapping[str, Any]:
    """The row of `comparisons` of one metric, overall or in a slice."""
    slice_by, name = by or ("all", "all")
    rows = done.rows.filter(
        pl.col("metric") == metric, pl.col("slice_by") == slice_by, pl.col("slice") == name
    )
    return rows.row(0, named=True)


def score_of(evaluation: Evaluation, metric: str, item_id: str, sample: int = 0) -> tuple[Any, Any]:
    """(value, null_reason) of one score."""
    rows = evaluation.read("scores").filter(
        pl.col("metric") == metric, pl.col("item_id") == item_id, pl.col("sample_index") == sample
    )
    return rows.select("value", "null_reason").row(0)
