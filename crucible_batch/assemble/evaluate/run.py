"""Score a run of a store: evaluations, marts, and the events that follow from them.

Marts are pure functions of the lake, the settings and the code: scoring again writes nothing when
nothing differs, and the same bytes after a crash. Order: stage the files, commit the `evaluations`
row with their hashes, rename them into place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from crucible_batch.ahead import in_order
from crucible_batch.assemble.evaluate.collect import Collection
from crucible_batch.assemble.evaluate.files import mart_files, write_catalog
from crucible_batch.assemble.evaluate.heap import give_back, give_back_between
from crucible_batch.assemble.evaluate.options import Options
from crucible_batch.assemble.evaluate.record import newest, record
from crucible_batch.assemble.evaluate.ruler import Rulers
from crucible_batch.assemble.evaluate.scoring import How, Scored, score_bucket
from crucible_batch.assemble.evaluate.subject import Bucket, buckets
from crucible_batch.assemble.evaluate.work import Work, is_plugin, prepare
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.contracts import TABLES
from crucible_batch.metrics import catalog
from crucible_batch.metrics.results import RunCounts
from crucible_batch.settings import Settings, load_settings
from crucible_batch.store import Snapshot, Store, Workspace, file_name


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
        """A mart of this evaluation, also when another one has taken its place since."""
        return pl.read_parquet(self._where(table), glob=False, hive_partitioning=False)

    def scan(self, table: str) -> pl.LazyFrame:
        """A mart of this evaluation, lazily."""
        return pl.scan_parquet(self._where(table), glob=False, hive_partitioning=False)

    def _where(self, table: str) -> Path:
        path, own = self.paths[table], self.row["evaluation_id"]
        if _is_of(path, own):
            return path
        return path.parents[2] / "variants" / table / f"{file_name(own)}.parquet"


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
        pin: The store as of this commit, written to `variants/`; the newest when None.
        as_variant: Write to `variants/` although the options are the default ones.
        progress: Is told how far it has come.

    Returns:
        The evaluation; an unchanged one is found again and nothing is written.

    Raises:
        UnknownNameError: No such workspace, run or judge.
        UsageError: Several judges and none chosen, or no such commit.
        ContractError: A value breaks the declaration of its metric; names the result.
    """
    opened = store.workspace(workspace)
    settings = load_settings(store.root, workspace)
    chosen = options or Options()
    return evaluate_at(
        opened,
        opened.snapshot(pin),
        run_id,
        chosen,
        settings,
        default=pin is None and not as_variant and chosen.is_default(settings),
        progress=progress,
    )


def evaluate_runs(
    store: Store,
    workspace: str,
    run_ids: Sequence[str],
    *,
    options: Options | None = None,
    progress: Progress = quiet,
) -> list[Evaluation]:
    """Score many runs with what one snapshot shows; what they share is gathered once.

    Args:
        store: The store.
        workspace: Workspace of the runs.
        run_ids: The runs.
        options: As of `evaluate_run`.
        progress: Is told how far it has come.

    Raises:
        UnknownNameError: No such workspace, run or judge.
        UsageError: Several judges and none chosen.
        ContractError: A value breaks the declaration of its metric; names the result.
    """
    opened, chosen = store.workspace(workspace), options or Options()
    settings, snapshot = load_settings(store.root, workspace), opened.snapshot()
    rulers = Rulers(snapshot, chosen.grading(settings))
    _make_ready(opened, settings)
    scored = []
    for place, run_id in enumerate(run_ids, start=1):
        progress(f"scoring {run_id}, {place} of {len(run_ids)}")
        default = chosen.is_default(settings)
        scored.append(
            evaluate_at(opened, snapshot, run_id, chosen, settings, default=default, rulers=rulers)
        )
    return scored


def evaluate_at(
    workspace: Workspace,
    snapshot: Snapshot,
    run_id: str,
    options: Options,
    settings: Settings,
    *,
    default: bool,
    rulers: Rulers | None = None,
    progress: Progress = quiet,
) -> Evaluation:
    """Score a run with what a snapshot shows; see `evaluate_run`.

    Args:
        workspace: Workspace of the run.
        snapshot: Rows, judgments and overrides: one for all runs that share a ruler.
        run_id: The run.
        options: Which judgments count.
        settings: Settings of the workspace.
        default: Whether the marts stand in `marts/`.
        rulers: Rulers of the snapshot and the options, where other runs needed them too: then the
            workspace is ready.
        progress: Is told how far it has come.
    """
    if rulers is None:
        _make_ready(workspace, settings)
    work = prepare(workspace, snapshot, run_id, options, settings, rulers)
    return _found(work, default=default) or _scored(work, default=default, progress=progress)


def _found(work: Work, *, default: bool) -> Evaluation | None:
    """The same evaluation, if it stands where it is wanted and nothing about it differs."""
    row = newest(work.workspace.snapshot(), work.evaluation_id)
    if row is None or row["n_unplaced_judgments"] != work.ruler.n_unplaced:
        return None
    counts = RunCounts(**{name: row[name] for name in RunCounts.__dataclass_fields__})
    if (row["status"], row["status_reason"]) != work.status(counts):
        return None
    if default and not row["mart_paths"][0].startswith("marts/"):
        return None
    paths = _paths(work.workspace, row)
    if not all(_is_current(path, name, work.evaluation_id) for name, path in paths.items()):
        return None
    return Evaluation(row=row, samples_n=work.flags.samples_n, created=False, paths=paths)


def _is_of(path: Path, evaluation_id: str) -> bool:
    """Whether a file is there and of this evaluation."""
    if not path.is_file():
        return False
    return pl.read_parquet_metadata(path).get("crucible.evaluation_id") == evaluation_id


def _is_current(path: Path, table: str, evaluation_id: str) -> bool:
    """Whether a file is of this evaluation, by the present contract and the present code.

    Runs scored by two versions of a formula would be held against two rulers.
    """
    if not _is_of(path, evaluation_id):
        return False
    footer = pl.read_parquet_metadata(path)
    made_by = (footer.get("crucible.version"), footer.get("crucible.package"))
    return made_by == (str(TABLES[table].version), _own_version())


def _make_ready(workspace: Workspace, settings: Settings) -> None:
    """Finish what a crash left open, and say what the marts mean; once for many runs."""
    workspace.finish_moves()
    write_catalog(workspace, catalog.for_ks(settings.scoring.ks))


@cache
def _own_version() -> str:
    return version("crucible-batch")


def _paths(workspace: Workspace, row: Mapping[str, Any]) -> dict[str, Path]:
    return {path.split("/")[1]: workspace.layout.root / path for path in row["mart_paths"]}


def _scored(work: Work, *, default: bool, progress: Progress) -> Evaluation:
    """Score everything, stage the marts, commit, publish."""
    how = How(
        metrics=work.metrics,
        flags=work.flags,
        relevant_at=work.identity["relevant_at"],
        granularity=work.options.granularity,
    )
    own = [metric.name for metric in work.metrics if not is_plugin(metric.name)]
    with work.workspace.staging.folder() as folder:
        n_results = work.ruler.golden.items.height * work.flags.samples_n
        collection = Collection(folder, work.metrics, n_results)

        def score(read: Callable[[], Bucket]) -> Scored:
            return score_bucket(read(), work.ruler, how, in_wide=own)

        waiting = buckets(work.subject, work.ruler, work.settings.machine.bucket_rows)
        for scored in in_order(score, waiting):
            collection.add(scored)
            give_back_between()
            progress(f"{collection.counts.n_expected:,} results scored")
        give_back()
        staged = work.workspace.stage_marts(
            mart_files(work, collection, default=default), recorded=True
        )
        try:
            row = record(work, collection, staged, default=default)
        except BaseException:
            work.workspace.discard_marts(staged)
            raise
        # From here on the moves are owed: what breaks off now, the next command finishes.
        work.workspace.publish_marts(staged)
    return Evaluation(
        row=row,
        samples_n=work.flags.samples_n,
        created=True,
        paths=_paths(work.workspace, row),
    )
