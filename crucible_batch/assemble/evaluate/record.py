"""The `evaluations` row of a scoring, and the feedback events that follow from it."""

from __future__ import annotations

from typing import Any

import polars as pl

from crucible_batch.assemble.evaluate.collect import Collection
from crucible_batch.assemble.evaluate.feedback import classified_events
from crucible_batch.assemble.evaluate.work import Work
from crucible_batch.contracts import TABLES
from crucible_batch.store import About, Plan, Snapshot, StagedMarts, Workspace, combined_hash

EVALUATIONS = TABLES["evaluations"]
_FEEDBACK = ("item_id", "sample_index", "error_class", "error_rule")


def newest(snapshot: Snapshot, evaluation_id: str) -> dict[str, Any] | None:
    """The row of an evaluation that counts: its highest seq; None without any."""
    rows = snapshot.read("evaluations").drop("_commit")
    own = rows.filter(pl.col("evaluation_id") == evaluation_id).sort("seq").collect()
    return own.row(-1, named=True) if own.height else None


def standing(snapshot: Snapshot, run_id: str) -> str | None:
    """The evaluation that was last recorded for `marts/` under the run's name."""
    in_marts = pl.col("mart_paths").list.first().str.starts_with("marts/")
    rows = (
        snapshot.read("evaluations")
        .filter((pl.col("run_id") == run_id) & in_marts)
        .sort("_commit")
        .select("evaluation_id")
        .collect()
    )
    return str(rows["evaluation_id"][-1]) if rows.height else None


def standing_mart(
    workspace: Workspace, snapshot: Snapshot, run_id: str, table: str
) -> pl.LazyFrame | None:
    """A mart of the evaluation that stands under the run's name; None when the run has none."""
    evaluation = standing(snapshot, run_id)
    row = None if evaluation is None else newest(snapshot, evaluation)
    if row is None:
        return None
    paths = [path for path in row["mart_paths"] if path.startswith(f"marts/{table}/")]
    files = [path for place in paths if (path := workspace.layout.root / place).is_file()]
    return pl.scan_parquet(files[0], glob=False, hive_partitioning=False) if files else None


def record(
    work: Work, collection: Collection, staged: StagedMarts, *, default: bool
) -> dict[str, Any]:
    """Commit the row of a scoring, and (default only) a `classified` event per new failure.

    Nothing is written when nothing differs from the newest row of the evaluation, unless another
    evaluation has stood in `marts/` since.

    Returns:
        The row that counts now.
    """
    row = _row(work, collection, staged)
    classes = collection.wide().select(*_FEEDBACK).collect() if default else None

    def decide(snapshot: Snapshot) -> Plan:
        last = newest(snapshot, work.evaluation_id)
        row["seq"] = last["seq"] if last else 0
        displaced = default and standing(snapshot, work.subject.run_id) != work.evaluation_id
        events: dict[str, pl.DataFrame] = {}
        if last != row or displaced:
            row["seq"] += 1
            events["evaluations"] = pl.DataFrame([row], schema=EVALUATIONS.schema)
        if classes is not None:
            feedback = snapshot.read("eval_feedback").drop("_commit")
            events["eval_feedback"] = classified_events(
                classes,
                feedback.filter(pl.col("run_id") == work.subject.run_id).collect(),
                workspace=work.workspace.name,
                run_id=work.subject.run_id,
                now=work.workspace.now(),
            )
        return Plan(events=events)

    facts = {name: value for name, value in row.items() if name != "seq"}
    key = combined_hash({**facts, "at": work.workspace.snapshot().seq})
    work.workspace.commit(
        decide,
        kind="score",
        idempotency_key=f"score-{key[:24]}",
        about=About(
            settings_hash=work.settings.hash,
            seed=work.settings.statistics.seed,
            subject=work.subject.run_id,
        ),
    )
    return newest(work.workspace.snapshot(), work.evaluation_id) or row


def _row(work: Work, collection: Collection, staged: StagedMarts) -> dict[str, Any]:
    status, reason = work.status(collection.counts)
    row: dict[str, Any] = {
        "workspace_id": work.workspace.name,
        "evaluation_id": work.evaluation_id,
        "seq": 0,
        **work.identity,
        "status": status,
        "status_reason": reason,
        **vars(collection.counts),
        "n_unplaced_judgments": work.ruler.n_unplaced,
        "n_unknown_judgments": _n_unknown(work),
        "n_blank_contexts": collection.n_blank_contexts,
        "mart_paths": staged.paths,
        "mart_sha256": staged.sha256,
    }
    return {name: row[name] for name in EVALUATIONS.names}


def _n_unknown(work: Work) -> int:
    """Effective grades of documents that neither a corpus nor the run's retrieval knows.

    Without a corpus nobody can say which documents there are: 0.
    """
    snapshot = work.subject.snapshot
    corpus = snapshot.read("documents").select("doc_id")
    if corpus.head(1).collect().is_empty():
        return 0
    known = [corpus, work.subject.scan("retrievals").select("doc_id")]
    judged = work.ruler.document_grades.select("doc_id")
    # Few of the rows are of judged documents: those are kept before they are compared.
    wanted = judged.unique().lazy()
    seen = [rows.join(wanted, on="doc_id", how="semi").unique() for rows in known]
    unknown = judged.lazy().join(pl.concat(seen), on="doc_id", how="anti")
    return int(unknown.select(pl.len()).collect().item())
