"""Score a run of a store: evaluations, marts, and the events that follow from them.

Marts are pure functions of the lake, the settings and the code: scoring again writes nothing when
nothing differs, and the same bytes after a crash. Order: stage the files, commit the `evaluations`
row with their hashes, rename them into place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from crucible_batch.assemble.evaluate.collect import Collection
from crucible_batch.assemble.evaluate.feedback import classified_events
from crucible_batch.assemble.evaluate.numbers import run_numbers
from crucible_batch.assemble.evaluate.options import Options
from crucible_batch.assemble.evaluate.ruler import Ruler, load_ruler
from crucible_batch.assemble.evaluate.scoring import How, score_bucket
from crucible_batch.assemble.evaluate.subject import KEY, Subject, buckets, load_subject
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.vocabulary import ERROR_CLASSES
from crucible_batch.metrics import aggregate, calibration, catalog, results, selective
from crucible_batch.metrics.facts import RunFlags, RunRows, run_flags
from crucible_batch.metrics.grid import Grid
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.plugins import plugin_metrics, plugin_run_metrics
from crucible_batch.metrics.results import RunCounts
from crucible_batch.settings import Settings, load_settings
from crucible_batch.sql import query
from crucible_batch.store import (
    About,
    MartFile,
    Plan,
    Snapshot,
    StagedMarts,
    Store,
    Workspace,
    combined_hash,
    file_name,
)

EVALUATIONS = TABLES["evaluations"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """A scored run.

    Attributes:
        row: Its row of `evaluations`.
        samples_n: Samples per item of the run.
        created: Whether it was scored now; False: it was there already, unchanged.
        paths: Mart to file.
    """

    row: dict[str, Any]
    samples_n: int
    created: bool
    paths: Mapping[str, Path]

    def read(self, table: str) -> pl.DataFrame:
        """A mart of this evaluation."""
        return pl.read_parquet(self.paths[table], glob=False, hive_partitioning=False)

    def scan(self, table: str) -> pl.LazyFrame:
        """A mart of this evaluation, lazily."""
        return pl.scan_parquet(self.paths[table], glob=False, hive_partitioning=False)


def evaluate_run(
    store: Store,
    workspace: str,
    run_id: str,
    *,
    options: Options | None = None,
    pin: int | None = None,
    as_variant: bool = False,
    progress: Progress = quiet,
) -> Evaluation:
    """Score a run with every metric and write its marts.

    Args:
        store: The store.
        workspace: Workspace of the run.
        run_id: The run.
        options: Which judgments count, and from which grade on; the defaults stand in `marts/`,
            others in `variants/`.
        pin: Judgments and overrides as of this commit; the newest when None.
        as_variant: Write to `variants/` although the options are the default ones: a comparison
            never replaces a run's own numbers.
        progress: Is told how far it has come.

    Returns:
        The evaluation; an unchanged one is found again and nothing is written.

    Raises:
        UnknownNameError: No such workspace, run or judge.
        UsageError: Several judges and none chosen.
        ContractError: A value breaks the declaration of its metric; names the result.
    """
    opened = store.workspace(workspace)
    scoring = _Scoring(opened, opened.snapshot(pin), run_id, options or Options(), store.root)
    default = scoring.options.is_default(scoring.settings) and pin is None and not as_variant
    found = scoring.find(default=default)
    if found is not None:
        return found
    return scoring.write(default=default, progress=progress)


class _Scoring:
    """One run with one ruler and one set of options."""

    def __init__(
        self, workspace: Workspace, snapshot: Snapshot, run_id: str, options: Options, root: Path
    ) -> None:
        self.workspace, self.snapshot, self.options = workspace, snapshot, options
        self.settings: Settings = load_settings(root, workspace.name)
        self.subject: Subject = load_subject(snapshot, run_id)
        self.ruler: Ruler = load_ruler(
            snapshot, self.subject.row["golden_set_hash"], options.grading(self.settings)
        )
        self.first_party = catalog.for_ks(self.settings.scoring.ks)
        self.declared = snapshot.read("plugin_metrics").drop("_commit").collect()
        self.flags: RunFlags = self._flags()
        self.identity = self._identity()
        self.evaluation_id = combined_hash(self.identity)[:32]

    def _flags(self) -> RunFlags:
        scan = self.subject.scan
        few = {
            "assertion_verdicts": ["judge"],
            "claims": ["judge"],
            "external_scores": ["metric"],
            "detected_concepts": ["place"],
        }
        frames = {
            name: scan(name).select(few[name]).unique().collect()
            if name in few
            else TABLES[name].empty()
            for name in RunRows.__dataclass_fields__
            if name != "overrides"
        }
        return run_flags(
            self.subject.row,
            RunRows(**frames),
            asked_judge=self.options.judge,
            pinned_judge=self.subject.judge,
        )

    def _identity(self) -> dict[str, Any]:
        return {
            "run_id": self.subject.run_id,
            "rows_hash": self.subject.rows_hash,
            "golden_set_hash": self.ruler.golden_set_hash,
            "ruler_hash": self.ruler.hash,
            "judge": self.flags.judge,
            "qrel_source": self.options.qrel_source,
            "relevant_at": self.options.threshold(self.settings),
            "granularity": self.options.granularity,
            "catalog_hash": combined_hash(
                {"catalog": catalog.to_frame(self.first_party).rows(), "plugins": self.plugins()}
            ),
            "settings_hash": self.settings.scoring_hash,
        }

    def plugins(self) -> list[tuple[Any, ...]]:
        """Declarations of plugin metrics, sorted; they say ranges and directions."""
        return self.declared.sort("metric").rows()

    def find(self, *, default: bool) -> Evaluation | None:
        """The same evaluation, if it stands where it is wanted and nothing about it differs."""
        rows = self.snapshot.read("evaluations").drop("_commit")
        own = rows.filter(pl.col("evaluation_id") == self.evaluation_id).sort("seq").collect()
        if own.is_empty():
            return None
        row = own.row(-1, named=True)
        counts = RunCounts(**{name: row[name] for name in RunCounts.__dataclass_fields__})
        paths = self._paths(row["mart_paths"])
        stands = all(path.is_file() and self._is_own(path) for path in paths.values())
        placed = {path.split("/")[0] for path in row["mart_paths"]}
        same_status = (row["status"], row["status_reason"]) == self._status(counts)
        if not (stands and same_status) or (default and "marts" not in placed):
            return None
        return Evaluation(row=row, samples_n=self.flags.samples_n, created=False, paths=paths)

    def _is_own(self, path: Path) -> bool:
        return pl.read_parquet_metadata(path).get("crucible.evaluation_id") == self.evaluation_id

    def _paths(self, relative: list[str]) -> dict[str, Path]:
        return {path.split("/")[1]: self.workspace.layout.root / path for path in relative}

    def write(self, *, default: bool, progress: Progress) -> Evaluation:
        """Score everything, stage the marts, commit, publish."""
        rows = self.subject.scan("external_scores").select("metric").unique().collect()
        plugins = plugin_metrics(rows, self.declared)
        metrics = sorted(
            (*catalog.result_metrics(self.first_party), *plugins), key=lambda metric: metric.name
        )
        how = How(
            metrics=tuple(metrics),
            flags=self.flags,
            relevant_at=self.identity["relevant_at"],
            granularity=self.options.granularity,
        )
        with self.workspace.staging.folder() as folder:
            collection = Collection(folder, metrics)
            bucket_rows = self.settings.machine.bucket_rows
            for bucket in buckets(self.subject, self.ruler, bucket_rows):
                collection.add(score_bucket(bucket, self.ruler, how))
                progress(f"{collection.counts.n_expected:,} results scored")
            staged = self.workspace.stage_marts(
                self._files(collection, metrics, default=default), recorded=True
            )
            try:
                row = self._commit(collection, staged, default=default)
                self.workspace.publish_marts(staged)
            except BaseException:
                self.workspace.discard_marts(staged)
                raise
        return Evaluation(
            row=row,
            samples_n=self.flags.samples_n,
            created=True,
            paths=self._paths(row["mart_paths"]),
        )

    def _files(
        self, collection: Collection, metrics: list[Metric], *, default: bool
    ) -> list[MartFile]:
        items = self.ruler.golden.items
        slices = query("slices", {"items": items})
        grid = Grid.of(items, slices, self.flags.samples_n)
        run_metrics = catalog.run_metrics(self.first_party)
        external = self.subject.scan("external_run_metrics").collect()
        numbers = run_numbers(
            collection,
            grid,
            slices,
            run_metrics,
            plugin_run_metrics(external, self.declared),
            self.settings,
        )
        notes = results.notes(self.ruler.golden, self.flags, [*metrics, *run_metrics])
        status, _ = self._status(collection.counts)
        curve = selective.curve_of_results(collection.outcomes)
        pairs = collection.outcomes.join(curve, on=KEY, how="semi")
        key = {
            "workspace_id": self.workspace.name,
            "evaluation_id": self.evaluation_id,
            "run_id": self.subject.run_id,
        }
        tables: dict[str, pl.DataFrame | pl.LazyFrame] = {
            "scores": collection.scores(),
            "result_metrics": collection.wide(),
            "run_metrics": _with_notes(numbers, notes, self._k_note(metrics)).with_columns(
                status=pl.lit(status), ruler_hash=pl.lit(self.ruler.hash)
            ),
            "risk_coverage": curve,
            "reliability_bins": calibration.reliability_bins(pairs["confidence"], pairs["correct"]),
            "error_classes": aggregate.error_classes(collection.classes, slices, ERROR_CLASSES),
        }
        constants = [pl.lit(value).alias(name) for name, value in key.items()]
        return [
            MartFile(
                table=name,
                name=file_name(self.subject.run_id if default else self.evaluation_id),
                rows=_in_order(frame.with_columns(constants), name),
                about=self._about(),
                variant=not default,
                archive=self._archived(name) if default else None,
            )
            for name, frame in tables.items()
        ]

    def _about(self) -> dict[str, str]:
        about = {name: str(value) for name, value in self.identity.items() if value is not None}
        prints = {f"fingerprint.{name}": text for name, text in self.subject.fingerprints.items()}
        named = about | prints | {"evaluation_id": self.evaluation_id}
        return {f"crucible.{name}": text for name, text in named.items()}

    def _archived(self, table: str) -> str | None:
        """Name under which the evaluation that stands in `marts/` now is kept."""
        path = self.workspace.layout.mart(table, file_name(self.subject.run_id))
        if not path.is_file():
            return None
        other = pl.read_parquet_metadata(path).get("crucible.evaluation_id")
        return file_name(other) if other and other != self.evaluation_id else None

    def _k_note(self, metrics: list[Metric]) -> dict[str, str]:
        """Metrics whose cut-off is deeper than the run retrieved."""
        depth = self.subject.row["top_k"]
        if depth is None:
            return {}
        return {m.name: f"top_k {depth} < {m.cut}" for m in metrics if m.cut and m.cut > depth}

    def _status(self, counts: RunCounts) -> tuple[str, str | None]:
        """Status of the evaluation: a run that lost too many results is degraded."""
        threshold = self.settings.scoring.error_threshold
        if self.subject.status == "succeeded" and counts.is_degraded(threshold):
            lost = counts.n_errored + counts.n_expected - counts.n_results
            reason = f"{lost:,} of {counts.n_expected:,} results errored or are missing"
            return "degraded", reason
        return self.subject.status, self.subject.status_reason

    def _commit(
        self, collection: Collection, staged: StagedMarts, *, default: bool
    ) -> dict[str, Any]:
        status, reason = self._status(collection.counts)
        counts = vars(collection.counts)
        row: dict[str, Any] = {
            "workspace_id": self.workspace.name,
            "evaluation_id": self.evaluation_id,
            **self.identity,
            "status": status,
            "status_reason": reason,
            **counts,
            "n_unplaced_judgments": self.ruler.n_unplaced,
            "n_unknown_judgments": self._n_unknown(),
            "n_blank_contexts": collection.n_blank_contexts,
            "mart_paths": staged.paths,
            "mart_sha256": staged.sha256,
        }
        frame = collection.wide().select(*_FEEDBACK).collect() if default else None

        def decide(snapshot: Snapshot) -> Plan:
            rows = snapshot.read("evaluations").drop("_commit")
            own = rows.filter(pl.col("evaluation_id") == self.evaluation_id).sort("seq").collect()
            last = own.row(-1, named=True) if own.height else None
            row["seq"] = (last["seq"] if last else 0) + 1
            events: dict[str, pl.DataFrame] = {}
            if last is None or {**last, "seq": row["seq"]} != {n: row[n] for n in last}:
                events["evaluations"] = pl.DataFrame([row], schema=EVALUATIONS.schema)
            else:
                row["seq"] = last["seq"]
            if frame is not None:
                feedback = snapshot.read("eval_feedback").drop("_commit")
                stored = feedback.filter(pl.col("run_id") == self.subject.run_id).collect()
                events["eval_feedback"] = classified_events(
                    frame,
                    stored,
                    workspace=self.workspace.name,
                    run_id=self.subject.run_id,
                    now=self.workspace.now(),
                )
            return Plan(events=events)

        content = {"files": staged.sha256, "paths": staged.paths, "status": [status, reason]}
        key = combined_hash({"evaluation": self.evaluation_id, "at": self.snapshot.seq, **content})
        self.workspace.commit(
            decide,
            kind="score",
            idempotency_key=f"score-{key[:24]}",
            about=About(
                settings_hash=self.settings.hash,
                seed=self.settings.statistics.seed,
                subject=self.subject.run_id,
            ),
        )
        return row

    def _n_unknown(self) -> int:
        """Judgments of documents that the run never retrieved."""
        seen = self.subject.scan("retrievals").select("doc_id").unique()
        judged = self.ruler.document_grades.select("doc_id").lazy()
        unknown = judged.join(seen, on="doc_id", how="anti").select(pl.len()).collect()
        return int(unknown.item())


_FEEDBACK = ("item_id", "sample_index", "error_class", "error_rule")


def _with_notes(
    numbers: pl.DataFrame, notes: Mapping[str, tuple[str, ...]], depths: Mapping[str, str]
) -> pl.DataFrame:
    """Numbers with what to know when reading them."""
    texts = [
        [*notes.get(name, ()), *([depths[name]] if name in depths else [])]
        for name in numbers["metric"]
    ]
    return numbers.with_columns(pl.Series("notes", texts, dtype=pl.List(pl.String)))


def _in_order(frame: pl.DataFrame | pl.LazyFrame, table: str) -> pl.DataFrame | pl.LazyFrame:
    """Contract columns in published order, then what the table has beyond them."""
    names = TABLES[table].names
    known = frame.collect_schema().names()
    return frame.select(*names, *[name for name in known if name not in names])
