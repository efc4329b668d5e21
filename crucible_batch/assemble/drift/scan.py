"""One scan of the watch: snapshot, measure, judge; one commit, and a replay writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import polars as pl

from crucible_batch.assemble.drift import answer_path
from crucible_batch.assemble.drift.choose import Versions, choose_versions
from crucible_batch.assemble.drift.corpus import ENTITY_COUNTS, SNAPSHOTS, CorpusSnapshot, instant
from crucible_batch.assemble.drift.distributions import Distributions
from crucible_batch.assemble.drift.measure import Before, corpus_measurements
from crucible_batch.assemble.drift.run import (
    is_stored,
    linked_to_previous,
    stored_snapshot,
    take_snapshot,
)
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.contracts import TABLES
from crucible_batch.settings import Settings, load_settings
from crucible_batch.store import About, Plan, Snapshot, Store, Workspace, combined_hash
from crucible_batch.watch.measured import Measured, Measurements
from crucible_batch.watch.thresholds import Evaluation, evaluate

EVALUATIONS = TABLES["drift_evaluations"]


@dataclass(frozen=True, kw_only=True)
class ScanFacts:
    """What a scan is about.

    Attributes:
        scan_id: Hash of workspace, as_of, settings of the watch and snapshot.
        as_of: The time it speaks of.
        snapshot_id: The snapshot it looked at.
    """

    workspace: str
    scan_id: str
    as_of: datetime
    snapshot_id: str

    def rows(self, evaluations: Sequence[Evaluation]) -> list[dict[str, Any]]:
        """Evaluations as rows of `drift_evaluations`."""
        return [
            one.row(
                workspace_id=self.workspace,
                scan_id=self.scan_id,
                snapshot_id=self.snapshot_id,
                as_of=self.as_of,
            )
            for one in evaluations
        ]


Follow = Callable[[Snapshot, ScanFacts, Sequence[Evaluation]], Plan]
"""What follows from the evaluations: rows of further event tables, for the same commit, and what a
person should know of it.

It is given the lake as it is right before the commit, and asked again whenever another writer was
faster; so what it folds from earlier events is never out of date. It must not write anything.
"""


@dataclass(frozen=True, kw_only=True)
class DriftScan:
    """A scan, as it is stored.

    Attributes:
        facts: Its id, and what it is about.
        snapshot: The snapshot of the corpus.
        evaluations: Its rows of `drift_evaluations`, by rule and labels.
        created: False: the scan was there already, and nothing was written.
        commit: Number of its commit.
        messages: What a person should know of what follows from it; none of one that was there.
    """

    facts: ScanFacts
    snapshot: CorpusSnapshot
    evaluations: pl.DataFrame
    created: bool
    commit: int
    messages: tuple[str, ...] = ()


def scan_drift(
    store: Store,
    workspace: str,
    *,
    as_of: datetime,
    corpus_version: str | None = None,
    follow: Follow | None = None,
    progress: Progress = quiet,
) -> DriftScan | None:
    """Look at the newest complete corpus version, hold it against the rules, and write it down.

    Snapshot rows, evaluations and what follows from them are one commit. The scan id stands for
    (workspace, as_of, settings of the watch, snapshot): the same scan again writes nothing. A new
    as_of always writes, also for an unchanged corpus, because ages grow.

    Args:
        store: The store.
        workspace: Workspace; no other one is read.
        as_of: The time it speaks of, with a time zone; what is later does not exist yet.
        corpus_version: Look at this complete version instead.
        follow: What else is committed with the evaluations.
        progress: Is told how far the scan has come.

    Returns:
        The scan; None when no complete version was observed by then: `why_no_snapshot` says which
        there are.

    Raises:
        UnknownNameError: No such workspace, corpus version, or baseline of the settings.
        UsageError: as_of has no time zone, the named version is partial or observed later, or a
            settings file cannot be used.
        ContractError: A complete version lacks rows that it says it has.
    """
    as_of = instant(as_of)
    opened, settings = store.workspace(workspace), load_settings(store.root, workspace)
    lake = opened.snapshot()
    versions = choose_versions(lake, as_of, corpus_version)
    if versions is None:
        return None
    progress(f"corpus {versions.name}")
    skew = settings.staleness.clock_skew
    corpus = take_snapshot(lake, versions, as_of=as_of, clock_skew=skew)
    facts = ScanFacts(
        workspace=workspace,
        scan_id=_scan_id(workspace, as_of, settings, corpus.row["snapshot_id"]),
        as_of=as_of,
        snapshot_id=corpus.row["snapshot_id"],
    )
    messages: tuple[str, ...] = ()
    if (seq := opened.committed(_key(facts))) is None:
        progress("rules")
        evaluations = evaluate(
            settings.rules, _measurements(opened, lake, settings, versions, corpus)
        )
        decide = _decision(facts, corpus, versions, evaluations, follow)
        about = About(settings_hash=settings.watch_hash, seed=settings.statistics.seed)
        done = opened.commit(decide, kind="drift.scan", idempotency_key=_key(facts), about=about)
        seq, created = done.seq, done.created
        messages = done.messages if created else ()
    else:
        created = False
    _write_stats(opened, facts, seq, settings)
    return replace(_read(opened, facts, seq, created=created), messages=messages)


def latest_scan(store: Store, workspace: str, *, as_of: datetime) -> DriftScan | None:
    """The last scan that is not later than a time (of several the one committed last).

    Raises:
        UnknownNameError: No such workspace.
        UsageError: as_of has no time zone.
    """
    opened = store.workspace(workspace)
    rows = opened.snapshot().read(EVALUATIONS.name).filter(pl.col("as_of") <= instant(as_of))
    last = rows.sort("as_of", "_commit", "scan_id").tail(1).collect()
    if last.is_empty():
        return None
    row = last.row(0, named=True)
    facts = ScanFacts(
        workspace=workspace,
        scan_id=row["scan_id"],
        as_of=row["as_of"],
        snapshot_id=row["snapshot_id"],
    )
    return _read(opened, facts, row["_commit"], created=False)


def _scan_id(workspace: str, as_of: datetime, settings: Settings, snapshot_id: str) -> str:
    parts = {
        "workspace": workspace,
        "as_of": as_of.isoformat(),
        "settings": settings.watch_hash,
        "snapshot": snapshot_id,
    }
    return combined_hash(parts)[:32]


def _key(facts: ScanFacts) -> str:
    return f"scan-{facts.scan_id}"


def _decision(
    facts: ScanFacts,
    corpus: CorpusSnapshot,
    versions: Versions,
    evaluations: Sequence[Evaluation],
    follow: Follow | None,
) -> Callable[[Snapshot], Plan]:
    rows = pl.DataFrame(facts.rows(evaluations), schema=EVALUATIONS.schema)

    def decide(lake: Snapshot) -> Plan:
        # The same corpus may have been looked at as of this time under other settings.
        events: dict[str, pl.DataFrame] = {}
        if not is_stored(lake, facts.snapshot_id):
            events |= linked_to_previous(lake, corpus, versions.previous_name).events()
        events[EVALUATIONS.name] = rows
        more = Plan() if follow is None else follow(lake, facts, evaluations)
        return Plan(events={**events, **more.events}, messages=more.messages)

    return decide


def _measurements(
    workspace: Workspace,
    lake: Snapshot,
    settings: Settings,
    versions: Versions,
    corpus: CorpusSnapshot,
) -> Measurements:
    """Everything the rules ask for; what none of them asks for is not read."""
    as_of = corpus.row["as_of"]
    asked = {rule.metric for rule in settings.rules}
    found: dict[tuple[str, str | None], Sequence[Measured]] = {
        **corpus_measurements(
            corpus.row,
            dict(corpus.entity_counts.select("entity_type", "n").iter_rows()),
            _before(lake, versions),
            ever=_types_ever(lake, as_of),
            min_count=settings.drift.min_count,
            staleness=settings.staleness,
        )
    }
    distributions = Distributions(workspace, lake, settings, as_of)
    for rule in settings.rules:
        if rule.metric == "distribution" and (rule.statistic, rule.by) not in found:
            found[rule.statistic, rule.by] = distributions.measure(rule)
    if "webhook_dead" in asked:
        found["webhook_dead", None] = answer_path.dead_webhooks(lake, as_of)
    if asked & {"judge_flip", "judge_e"}:
        judges = answer_path.judge_measurements(workspace, as_of)
        found |= {(metric, None): measured for metric, measured in judges.items()}
    if "judge_model_changed" in asked and (models := answer_path.changed_models(lake, as_of)):
        found["judge_model_changed", None] = models
    return found


def _before(lake: Snapshot, versions: Versions) -> Before | None:
    if versions.previous is None:
        return None
    types = (
        lake.read("entities", subject=versions.previous_name)
        .group_by("entity_type")
        .agg(n=pl.len().cast(pl.Int64))
        .sort("entity_type")
        .collect()
    )
    return Before(
        n_documents=versions.previous["n_documents"],
        observed_at=versions.previous["observed_at"],
        types=dict(types.iter_rows()),
    )


def _types_ever(lake: Snapshot, as_of: datetime) -> list[str]:
    """Entity types of the snapshots up to a time."""
    known = lake.read(SNAPSHOTS.name).filter(pl.col("as_of") <= as_of).select("snapshot_id")
    types = lake.read(ENTITY_COUNTS.name).join(known, on="snapshot_id", how="semi")
    return types.select(pl.col("entity_type").unique().sort()).collect()["entity_type"].to_list()


def _write_stats(workspace: Workspace, facts: ScanFacts, seq: int, settings: Settings) -> None:
    """Write the marts of a scan that are not there, from the lake as its commit left it."""
    files = answer_path.stats_files(
        workspace.snapshot(seq),
        facts.scan_id,
        as_of=facts.as_of,
        window_days=settings.drift.window_days,
    )
    absent = [f for f in files if not workspace.layout.mart(f.table, f.name).exists()]
    if absent:
        workspace.publish_marts(workspace.stage_marts(absent))


def _read(workspace: Workspace, facts: ScanFacts, seq: int, *, created: bool) -> DriftScan:
    lake = workspace.snapshot(seq)
    rows = lake.read(EVALUATIONS.name).filter(pl.col("scan_id") == facts.scan_id)
    return DriftScan(
        facts=facts,
        snapshot=stored_snapshot(lake, facts.snapshot_id),
        evaluations=rows.select(EVALUATIONS.names).sort(EVALUATIONS.key).collect(),
        created=created,
        commit=seq,
    )
