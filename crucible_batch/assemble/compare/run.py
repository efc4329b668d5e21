"""Compare two runs of a store: score both with one ruler, test, write.

`comparisons`, `comparison_items` and `comparison_documents` are pure functions of the two
evaluations and the settings, so comparing again writes the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from crucible_batch.assemble.compare.documents import documents
from crucible_batch.assemble.compare.options import CompareOptions
from crucible_batch.assemble.compare.rows import is_comparable
from crucible_batch.assemble.compare.sides import Side, match, side
from crucible_batch.assemble.compare.work import Work
from crucible_batch.assemble.evaluate import Options, evaluate_at
from crucible_batch.assemble.evaluate.subject import load_subject
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.errors import NotComparableError
from crucible_batch.settings import load_settings
from crucible_batch.store import MartFile, Snapshot, Store, Workspace, file_name, pair_name


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """Two runs, compared.

    Attributes:
        comparison_id: Hash of all that the numbers depend on.
        baseline: Run compared with.
        candidate: Run compared.
        rows: `comparisons`: every metric overall and per slice.
        items: `comparison_items`: the pairs behind the overall rows.
        documents: `comparison_documents`: what moved the items that moved most.
        paths: Mart to file.
        created: Whether the files were written now.
    """

    comparison_id: str
    baseline: Side
    candidate: Side
    rows: pl.DataFrame
    items: pl.DataFrame
    documents: pl.DataFrame
    paths: Mapping[str, Path]
    created: bool

    @property
    def is_comparable(self) -> bool:
        """Whether any metric that says how good a run is can be compared."""
        return is_comparable(self.rows)


def compare_runs(
    store: Store,
    workspace: str,
    baseline: str,
    candidate: str,
    *,
    options: CompareOptions | None = None,
    pin: int | None = None,
    progress: Progress = quiet,
) -> Comparison:
    """Compare two runs item by item and write the comparison.

    Args:
        store: The store.
        workspace: Workspace of both runs.
        baseline: Run compared with.
        candidate: Run compared.
        options: Unit, adjustment, judge, golden-set change.
        pin: The store as of this commit; the newest when None.
        progress: Is told how far it has come.

    Returns:
        The comparison. Delta is candidate minus baseline, per item, over the items both carry.

    Raises:
        UnknownNameError: No such run, workspace or judge.
        NotComparableError: The sides share no item.
    """
    opened = store.workspace(workspace)
    chosen = options or CompareOptions()
    settings = load_settings(store.root, workspace)
    snapshot = opened.snapshot(pin)  # one for both sides: judgments may arrive meanwhile
    scoring = Options(judge=chosen.judge)
    is_free = pin is None and scoring.is_default(settings)
    for name in (baseline, candidate):
        load_subject(snapshot, name)  # a name that is not there is told before the other is scored
    sides = []
    for name in (baseline, candidate):
        progress(f"scoring {name}")
        scored = evaluate_at(
            opened,
            snapshot,
            name,
            scoring,
            settings,
            default=is_free and not _has_mart(opened, name),
        )
        sides.append(side(snapshot, scored))
    progress("comparing")
    matched = match(sides[0], sides[1])
    if not matched.n_paired:
        raise NotComparableError(
            f"{baseline} and {candidate} share no golden item",
            problems=[f"golden_set_hash: {one.row['golden_set_hash']}" for one in sides],
            fix="compare runs of one golden set; --allow-golden-change pairs unchanged items.",
        )
    work = Work(snapshot, sides[0], sides[1], matched, chosen, settings)
    default = pin is None and chosen.is_default(settings)
    return _written(opened, snapshot, work, default=default)


def _has_mart(workspace: Workspace, run_id: str) -> bool:
    """A comparison never replaces a run's own numbers; the first scoring of a run makes them."""
    return workspace.layout.mart("scores", file_name(run_id)).is_file()


def _written(workspace: Workspace, snapshot: Snapshot, work: Work, *, default: bool) -> Comparison:
    rows, items = work.rows(), work.items()
    moved = documents(snapshot, work, items)
    name = work.comparison_id
    if default:
        name = pair_name(work.baseline.row["run_id"], work.candidate.row["run_id"])
    files = [
        MartFile(
            table=table,
            name=name,
            rows=frame,
            about=work.about(),
            variant=not default,
            archive=_archived(workspace, table, name, work.comparison_id) if default else None,
        )
        for table, frame in (
            ("comparisons", rows),
            ("comparison_items", items),
            ("comparison_documents", moved),
        )
    ]
    staged = workspace.stage_marts(files)
    unchanged = all(move.sha256 == move.replaces for move in staged.moves)
    workspace.publish_marts(staged)
    return Comparison(
        comparison_id=work.comparison_id,
        baseline=work.baseline,
        candidate=work.candidate,
        rows=rows,
        items=items,
        documents=moved,
        paths={path.split("/")[1]: workspace.layout.root / path for path in staged.paths},
        created=not unchanged,
    )


def _archived(workspace: Workspace, table: str, name: str, comparison_id: str) -> str | None:
    """Name under which the comparison that stands in `marts/` now is kept."""
    path = workspace.layout.mart(table, name)
    if not path.is_file():
        return None
    other = pl.read_parquet_metadata(path).get("crucible.comparison_id")
    return file_name(other) if other and other != comparison_id else None
