"""The steps of a night, each a function of ids and paths, safe to run again.

Every step finds what is done already: a night that was killed goes on where it stopped, and a night
that is done is a no-op.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from crucible_batch.assemble.baselines import finished_runs, resolve_baseline
from crucible_batch.assemble.compare import Comparison, compare_runs
from crucible_batch.assemble.drift import snapshot_corpus
from crucible_batch.assemble.evaluate import evaluate_run
from crucible_batch.assemble.load import (
    LoadReport,
    load_corpus,
    load_golden,
    load_qrels,
    load_run,
)
from crucible_batch.assemble.nightly.config import Input, NightlyConfig
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.assemble.report import report_run, write_report
from crucible_batch.contracts import TABLES
from crucible_batch.errors import UsageError
from crucible_batch.report import to_markdown
from crucible_batch.store import Plan, Snapshot, Store, combined_hash, file_name

NIGHTLY = TABLES["nightly"]


@dataclass(frozen=True, kw_only=True)
class Night:
    """A night to be done.

    Attributes:
        store: The store.
        config: What to do.
        folder: Folder that paths of the configuration are relative to.
        as_of: The instant the night speaks of, UTC.
    """

    store: Store
    config: NightlyConfig
    folder: Path
    as_of: datetime

    @property
    def workspace(self) -> str:
        """Where it happens."""
        return self.config.workspace


def parse_as_of(text: str) -> datetime:
    """Read an instant; a date means its end, 00:00 UTC of the next day.

    Raises:
        UsageError: It is neither, or has no time zone.
    """
    try:
        if len(text) == len("2026-01-31"):
            next_day = date.fromisoformat(text) + timedelta(days=1)
            return datetime(next_day.year, next_day.month, next_day.day, tzinfo=UTC)
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{text!r} is no date and no instant",
            fix="write it as 2026-05-01 or 2026-05-01T03:00:00Z.",
        ) from None
    if instant.tzinfo is None:
        raise UsageError(f"{text!r} has no time zone", fix=f"write it as {text}Z.")
    return instant.astimezone(UTC)


def finish_open_moves(night: Night) -> tuple[str, ...]:
    """Publish marts that a crash left between their commit and their rename."""
    if night.workspace not in night.store.workspaces():
        return ()
    return night.store.workspace(night.workspace).finish_moves()


def load_input(night: Night, number: int, *, progress: Progress = quiet) -> LoadReport:
    """Load the input of this number."""
    source: Input = night.config.inputs[number]
    common: dict[str, Any] = {
        "workspace": night.workspace,
        "format": source.format,
        "progress": progress,
    }
    paths = [night.folder / path for path in source.paths]
    golden_set = night.config.golden_set
    loads: dict[str, Callable[[], LoadReport]] = {
        "golden": lambda: load_golden(night.store, paths, golden_set=golden_set, **common),
        "qrels": lambda: load_qrels(night.store, paths, **common),
        "run": lambda: load_run(
            night.store, paths, run=source.run, golden_set=golden_set, **common
        ),
        "corpus": lambda: load_corpus(
            night.store,
            paths,
            corpus_version=source.corpus_version,
            observed_at=None if source.observed_at is None else parse_as_of(source.observed_at),
            **common,
        ),
    }
    return loads[source.kind]()


def runs_to_score(night: Night) -> list[str]:
    """Every run of the workspace that is not running or failed, oldest first."""
    runs = finished_runs(_snapshot(night))
    return runs.filter(~pl.col("status").is_in(["running", "failed"]))["run_id"].to_list()[::-1]


def score(night: Night, run_id: str, *, progress: Progress = quiet) -> bool:
    """Score a run; False if its evaluation is current."""
    return evaluate_run(night.store, night.workspace, run_id, progress=progress).created


def done_already(night: Night) -> dict[str, Any] | None:
    """The `nightly` row of this night, if it is done."""
    if night.workspace not in night.store.workspaces():
        return None
    rows = _nights(night).filter(pl.col("as_of") == night.as_of)
    return rows.row(0, named=True) if rows.height else None


def baseline_run(night: Night) -> str:
    """The run the night is compared with."""
    return resolve_baseline(
        _snapshot(night),
        night.config.baseline,
        golden_set=night.config.golden_set,
        candidate="",
        as_of=night.as_of,
    )


def candidate_run(night: Night, baseline: str) -> str | None:
    """The newest run of the golden set by as_of that no earlier night has judged; None: none."""
    earlier = _nights(night).filter(pl.col("as_of") < night.as_of)["candidate_run_id"]
    runs = finished_runs(_snapshot(night), night.config.golden_set).filter(
        pl.col("finished_at") <= night.as_of,
        ~pl.col("run_id").is_in([baseline, *earlier]),
    )
    return str(runs["run_id"][0]) if runs.height else None


def compare(
    night: Night, baseline: str, candidate: str, *, progress: Progress = quiet
) -> Comparison:
    """Compare the candidate with the baseline."""
    return compare_runs(night.store, night.workspace, baseline, candidate, progress=progress)


def snapshot_corpus_of(night: Night) -> str | None:
    """Fingerprint the newest complete corpus version, and say how it moved; None without one."""
    found = snapshot_corpus(night.store, night.workspace, as_of=night.as_of)
    if found is None:
        return None
    row = found.row
    head = f"corpus {row['corpus_version']}: {row['doc_count']:,} documents"
    if row["doc_churn"] is None:
        return f"{head}, churn not measured ({row['reason'] or 'no version before it'})"
    return (
        f"{head}, {row['doc_added']:,} added, {row['doc_removed']:,} removed, "
        f"{row['doc_changed']:,} changed since the version before "
        f"(churn {row['doc_churn_ratio']:.1%} of the union)"
    )


def write_reports(night: Night, baseline: str, candidate: str) -> Path:
    """Write the report of the night as a page."""
    done = report_run(night.store, night.workspace, candidate, baseline=baseline, as_of=night.as_of)
    name = f"{night.as_of:%Y%m%dT%H%M%SZ}-{file_name(candidate)}.html"
    return write_report(done.report, night.folder / night.config.report_dir / name)


def record(night: Night, baseline: str, candidate: str) -> dict[str, Any]:
    """Write the row of the night: its last step, so that a row means a whole night."""
    row: dict[str, Any] = dict.fromkeys(NIGHTLY.names)
    row |= {
        "workspace_id": night.workspace,
        "as_of": night.as_of,
        "candidate_run_id": candidate,
        "baseline_run_id": baseline,
    }

    def decide(snapshot: Snapshot) -> Plan:
        rows = snapshot.read("nightly").filter(pl.col("as_of") == night.as_of).collect()
        if rows.height:
            return Plan()
        return Plan(events={"nightly": pl.DataFrame([row], schema=NIGHTLY.schema)})

    key = combined_hash({"night": night.as_of.isoformat(), "candidate": candidate})
    night.store.workspace(night.workspace).commit(
        decide, kind="nightly", idempotency_key=f"nightly-{key[:24]}"
    )
    return row


def _snapshot(night: Night) -> Snapshot:
    return night.store.workspace(night.workspace).snapshot()


def _nights(night: Night) -> pl.DataFrame:
    return _snapshot(night).read("nightly").drop("_commit").sort("as_of").collect()


def report_markdown(night: Night, baseline: str, candidate: str) -> str:
    """The report of the night as Markdown."""
    done = report_run(night.store, night.workspace, candidate, baseline=baseline, as_of=night.as_of)
    return to_markdown(done.report)
