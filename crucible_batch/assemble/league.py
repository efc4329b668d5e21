"""Many runs on one page, each against a baseline if there is one, from the tables of a store."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import polars as pl

from crucible_batch.assemble.compare import CompareOptions, compare_runs
from crucible_batch.assemble.evaluate import Evaluation, Options, evaluate_runs
from crucible_batch.assemble.evaluate.subject import load_subject
from crucible_batch.assemble.outputs import write_output
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.assemble.report import check_report_path
from crucible_batch.contracts import TABLES
from crucible_batch.errors import NotComparableError
from crucible_batch.metrics import catalog
from crucible_batch.report import (
    League,
    LeagueInputs,
    build_league,
    league_html,
    league_markdown,
    to_json,
)
from crucible_batch.settings import load_settings
from crucible_batch.store import Store

WRITERS = {".html": league_html, ".md": league_markdown, ".json": to_json}
"""File suffix to the rendering of the one model."""

OVERALL = pl.col("slice_by") == "all"


def report_league(
    store: Store,
    workspace: str,
    run_ids: Sequence[str],
    *,
    baseline: str | None = None,
    options: CompareOptions | None = None,
    progress: Progress = quiet,
) -> League:
    """Put runs into one table; each is scored, and compared, where that is not done yet.

    Args:
        store: The store.
        workspace: Workspace of the runs.
        run_ids: The runs, in any order; one named twice counts once.
        baseline: The run that the others are compared with; it gets a row too.
        options: Whose verdicts count, and how runs are compared.
        progress: Is told how far it has come.

    Raises:
        UnknownNameError: No such run, workspace or judge.
    """
    named = tuple(dict.fromkeys([*run_ids, *([baseline] if baseline else [])]))
    snapshot = store.workspace(workspace).snapshot()
    runs = snapshot.read("runs").drop("_commit").filter(pl.col("run_id").is_in(named)).collect()
    for absent in [run_id for run_id in named if run_id not in set(runs["run_id"])]:
        load_subject(snapshot, absent)  # a wrong name is told before any run is scored
    chosen = options or CompareOptions()
    scored = evaluate_runs(
        store, workspace, named, options=Options(judge=chosen.judge), progress=progress
    )
    compared = []
    for run_id in named if baseline else ():
        progress(f"comparing {run_id}")
        compared += _compared(store, workspace, str(baseline), run_id, chosen)
    ks = load_settings(store.root, workspace).scoring.ks
    metrics = catalog.to_frame(catalog.for_ks(ks))
    return build_league(_inputs(runs, scored, baseline, compared, metrics))


def write_league(league: League, path: Path) -> Path:
    """Write a league page in the format its suffix names.

    Raises:
        UsageError: The suffix is none of .html, .md and .json.
        CrucibleError: The file cannot be written.
    """
    return write_output(path, WRITERS[check_report_path(path).suffix](league))


def _compared(
    store: Store, workspace: str, baseline: str, run_id: str, options: CompareOptions
) -> list[pl.DataFrame]:
    """Overall rows of a comparison; none of the baseline itself, or where no item is shared."""
    if run_id == baseline:
        return []
    try:
        done = compare_runs(store, workspace, baseline, run_id, options=options)
    except NotComparableError:
        return []
    return [done.rows.filter(OVERALL)]


def _inputs(
    runs: pl.DataFrame,
    scored: Sequence[Evaluation],
    baseline: str | None,
    compared: Sequence[pl.DataFrame],
    metric_catalog: pl.DataFrame,
) -> LeagueInputs:
    rows = [one.row for one in scored]
    numbers = [one.scan("run_metrics").filter(OVERALL) for one in scored]
    return LeagueInputs(
        run_ids=tuple(row["run_id"] for row in rows),
        baseline_run_id=baseline,
        runs=runs,
        evaluations=pl.DataFrame(rows, schema=TABLES["evaluations"].schema),
        metric_catalog=metric_catalog,
        run_metrics=pl.concat(pl.collect_all(numbers), how="diagonal"),
        comparisons=pl.concat([TABLES["comparisons"].empty(), *compared], how="diagonal"),
        package_version=version("crucible-batch"),
    )
