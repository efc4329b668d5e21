"""Compare two runs of a store: one ruler, pairs by item, verdicts by family.

`comparisons` and `comparison_items` are pure functions of the two evaluations and the settings, so
comparing again writes the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from crucible_batch.assemble.compare.rows import OVERALL, Cell, direction, with_verdicts
from crucible_batch.assemble.compare.sides import Matched, Side, blocked_reason, match, side
from crucible_batch.assemble.compare.values import ItemValues, item_values
from crucible_batch.assemble.evaluate import Options, evaluate_run
from crucible_batch.assemble.evaluate.ruler import load_golden_set
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.vocabulary import ADJUST_METHODS, UNITS
from crucible_batch.errors import NotComparableError, UsageError, suggestion
from crucible_batch.metrics import catalog
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.plugins import plugin_metrics
from crucible_batch.settings import Settings, load_settings
from crucible_batch.sql import query
from crucible_batch.stats.comparison import MetricValues, PairedComparison
from crucible_batch.stats.comparison import Settings as HowToTest
from crucible_batch.stats.paired import paired_many
from crucible_batch.store import (
    MartFile,
    Snapshot,
    Store,
    Workspace,
    combined_hash,
    file_name,
    pair_name,
)

COMPARISONS, ITEMS = TABLES["comparisons"], TABLES["comparison_items"]


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Choices of one comparison.

    Attributes:
        unit: What is resampled: auto, item or cluster.
        adjust: How the p's of headline metrics are adjusted; the setting when None.
        judge: Whose verdicts count on both sides.
        allow_golden_change: Pair the items of identical content of two golden-set versions.
    """

    unit: str = "auto"
    adjust: str | None = None
    judge: str | None = None
    allow_golden_change: bool = False

    def __post_init__(self) -> None:
        for name, value, known in (
            ("unit", self.unit, ("auto", *UNITS)),
            ("adjust", self.adjust or "holm", ADJUST_METHODS),
        ):
            if value not in known:
                raise UsageError(f"{name} is {value!r}", fix=suggestion(value, known))


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """Two runs, compared.

    Attributes:
        comparison_id: Hash of all that the numbers depend on.
        baseline: Run compared with.
        candidate: Run compared.
        rows: `comparisons`: every metric overall and per slice.
        items: `comparison_items`: the pairs behind the overall rows.
        paths: Mart to file.
        created: Whether the files were written now.
    """

    comparison_id: str
    baseline: Side
    candidate: Side
    rows: pl.DataFrame
    items: pl.DataFrame
    paths: Mapping[str, Path]
    created: bool

    @property
    def is_comparable(self) -> bool:
        """Whether any row may have a verdict."""
        return self.rows["blocked_reason"].is_null().any()


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
        pin: Judgments and overrides as of this commit; the newest when None.
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
    at = opened.snapshot(pin).seq
    sides = []
    for name in (baseline, candidate):
        progress(f"scoring {name}")
        scored = evaluate_run(
            store,
            workspace,
            name,
            options=Options(judge=chosen.judge),
            pin=at if pin is not None else None,
            as_variant=_has_mart(opened, name),
        )
        sides.append(side(opened.snapshot(), scored))
    progress("comparing")
    return _compare(opened, sides[0], sides[1], chosen, settings, is_pinned=pin is not None)


def _has_mart(workspace: Workspace, run_id: str) -> bool:
    """A comparison never replaces a run's own numbers; the first scoring of a run makes them."""
    return workspace.layout.mart("scores", file_name(run_id)).is_file()


def _compare(
    workspace: Workspace,
    baseline: Side,
    candidate: Side,
    options: CompareOptions,
    settings: Settings,
    *,
    is_pinned: bool,
) -> Comparison:
    matched = match(baseline, candidate)
    if matched.items.is_empty() or not (matched.in_baseline & matched.in_candidate).any():
        raise NotComparableError(
            f"{baseline.row['run_id']} and {candidate.row['run_id']} share no golden item",
            problems=[
                f"golden_set_hash: {s.row['golden_set_hash']}" for s in (baseline, candidate)
            ],
            fix="compare runs of one golden set; --allow-golden-change pairs unchanged items.",
        )
    snapshot = workspace.snapshot()
    work = _Work(snapshot, baseline, candidate, matched, options, settings)
    cells = with_verdicts(
        work.cells(),
        adjust=options.adjust or settings.statistics.adjust,
        min_items=settings.statistics.min_items,
    )
    rows, items = work.table(cells), work.items()
    default = options == CompareOptions() and not is_pinned
    name = (
        pair_name(baseline.row["run_id"], candidate.row["run_id"])
        if default
        else work.comparison_id
    )
    files = [
        MartFile(
            table=table,
            name=name,
            rows=frame,
            about=work.about(),
            variant=not default,
            archive=_archived(workspace, table, name, work.comparison_id) if default else None,
        )
        for table, frame in (("comparisons", rows), ("comparison_items", items))
    ]
    staged = workspace.stage_marts(files)
    paths = {path.split("/")[1]: workspace.layout.root / path for path in staged.paths}
    unchanged = all(move.sha256 == move.replaces for move in staged.moves)
    workspace.publish_marts(staged)
    return Comparison(
        comparison_id=work.comparison_id,
        baseline=baseline,
        candidate=candidate,
        rows=rows,
        items=items,
        paths=paths,
        created=not unchanged,
    )


def _archived(workspace: Workspace, table: str, name: str, comparison_id: str) -> str | None:
    """Name under which the comparison that stands in `marts/` now is kept."""
    path = workspace.layout.mart(table, name)
    if not path.is_file():
        return None
    other = pl.read_parquet_metadata(path).get("crucible.comparison_id")
    return file_name(other) if other and other != comparison_id else None


class _Work:
    """The numbers of one comparison."""

    def __init__(
        self,
        snapshot: Snapshot,
        baseline: Side,
        candidate: Side,
        matched: Matched,
        options: CompareOptions,
        settings: Settings,
    ) -> None:
        self.baseline, self.candidate, self.matched = baseline, candidate, matched
        self.options, self.settings = options, settings
        self.golden = self._golden(snapshot)
        self.metrics = self._metrics(snapshot)
        self.identity = self._identity()
        self.comparison_id = combined_hash(self.identity)[:32]
        self.values = self._values()

    def _golden(self, snapshot: Snapshot) -> pl.DataFrame:
        """Items of either side; the candidate's version says cluster and facets."""
        parts = [
            load_golden_set(snapshot, one.row["golden_set_hash"]).items
            for one in (self.candidate, self.baseline)
        ]
        known = self.matched.items.to_frame("item_id")
        return (
            pl.concat(parts)
            .unique("item_id", keep="first", maintain_order=True)
            .join(known, on="item_id", how="semi")
            .sort("item_id")
        )

    def _metrics(self, snapshot: Snapshot) -> dict[str, Metric]:
        names = {
            name
            for one in (self.baseline, self.candidate)
            for name in one.evaluation.scan("scores").select("metric").unique().collect()["metric"]
        }
        declared = snapshot.read("plugin_metrics").drop("_commit").collect()
        plugins = plugin_metrics(pl.DataFrame({"metric": sorted(names)}), declared)
        known = catalog.for_ks(self.settings.scoring.ks)
        every = (*catalog.result_metrics(known), *plugins)
        return {m.name: m for m in sorted(every, key=lambda m: m.name) if m.name in names}

    def _identity(self) -> dict[str, Any]:
        statistics = self.settings.statistics
        return {
            "baseline": self.baseline.row["evaluation_id"],
            "candidate": self.candidate.row["evaluation_id"],
            "unit": self.options.unit,
            "adjust": self.options.adjust or statistics.adjust,
            "min_items": statistics.min_items,
            "small_sample": statistics.small_sample,
            "margins": {},
            "ci_method": "auto",
            "allow_golden_change": self.options.allow_golden_change,
            "seed": statistics.seed,
            "n_resamples": statistics.n_resamples,
        }

    def about(self) -> dict[str, str]:
        """Footer of the files."""
        named = {
            "comparison_id": self.comparison_id,
            "baseline_evaluation_id": self.baseline.row["evaluation_id"],
            "candidate_evaluation_id": self.candidate.row["evaluation_id"],
            "ruler_hash": self.ruler_hash,
            "golden_set_hash": self.candidate.row["golden_set_hash"],
            "settings_hash": self.settings.hash,
        }
        return {f"crucible.{name}": text for name, text in named.items()}

    @property
    def ruler_hash(self) -> str:
        """The ruler of both sides; of two versions, a hash of both."""
        rulers = [one.row["ruler_hash"] for one in (self.baseline, self.candidate)]
        return rulers[0] if rulers[0] == rulers[1] else combined_hash({"rulers": rulers})

    def _values(self) -> dict[str, MetricValues]:
        items = self.matched.items
        sides = [
            dict(item_values(one.evaluation.scan("scores"), items))
            for one in (self.baseline, self.candidate)
        ]
        absent = ItemValues(np.full(len(items), np.nan), np.full(len(items), np.nan))
        values = {}
        for name, metric in self.metrics.items():
            old, new = (one.get(name, absent) for one in sides)
            values[name] = MetricValues(
                old.mean,
                new.mean,
                direction(metric),
                scale=metric.scale,
                sampling_variance=old.noise + new.noise,
            )
        return values

    def cells(self) -> list[Cell]:
        """Every metric overall, and in every slice where it has pairs."""
        overall = self._tested(np.arange(len(self.matched.items)), self.options.unit)
        unit = next(iter(overall.values())).unit
        cells = [self._cell(OVERALL, name, one) for name, one in overall.items()]
        place = {item: number for number, item in enumerate(self.matched.items)}
        slices = query("slices", {"items": self.golden}).filter(pl.col("slice_by") != "all")
        groups = slices.group_by("slice_by", "slice", maintain_order=True).agg("item_id")
        for by, name, items in groups.iter_rows():
            inside = np.array([place[item] for item in items], dtype=np.intp)
            tested = self._tested(inside, unit)
            cells += [
                self._cell((by, name), metric, one) for metric, one in tested.items() if one.n_pairs
            ]
        return cells

    def _cell(self, slice_name: tuple[str, str], name: str, tested: PairedComparison) -> Cell:
        metric = self.metrics[name]
        return Cell(
            slice_name=slice_name,
            metric=metric,
            tested=tested,
            blocked=blocked_reason(
                self.baseline,
                self.candidate,
                metric,
                allow_golden_change=self.options.allow_golden_change,
            ),
        )

    def _tested(self, places: np.ndarray, unit: str) -> dict[str, PairedComparison]:
        """Test every metric over some of the items."""
        statistics = self.settings.statistics
        where = pl.Series(places)
        subset = {
            name: MetricValues(
                one.baseline[places],
                one.candidate[places],
                one.higher_is_better,
                scale=one.scale,
                sampling_variance=one.sampling_variance[places],
            )
            for name, one in self.values.items()
        }
        return paired_many(
            self.matched.items.gather(where).to_list(),
            subset,
            clusters=self.golden["cluster_id"].gather(where).to_list(),
            in_baseline=self.matched.in_baseline.gather(where).to_numpy(),
            in_candidate=self.matched.in_candidate.gather(where).to_numpy(),
            settings=HowToTest(
                seed=statistics.seed,
                n_resamples=statistics.n_resamples,
                min_items=statistics.min_items,
                small_sample=statistics.small_sample,
                unit=unit,
            ),
        )

    def table(self, cells: list[Cell]) -> pl.DataFrame:
        """Rows of `comparisons`."""
        judged = {
            f"judged_at_k_{which}": _judged_shares(one)
            for which, one in (("baseline", self.baseline), ("candidate", self.candidate))
        }
        names = [field.name for field in fields(PairedComparison)]
        rows = []
        for cell in cells:
            row: dict[str, Any] = {name: getattr(cell.tested, name) for name in names}
            row |= {
                "workspace_id": self.baseline.row["workspace_id"],
                "comparison_id": self.comparison_id,
                "baseline_run_id": self.baseline.row["run_id"],
                "candidate_run_id": self.candidate.row["run_id"],
                "slice_by": cell.slice_name[0],
                "slice": cell.slice_name[1],
                "metric": cell.metric.name,
                "unequal_judging": False,
                "golden_set_changed": self.matched.golden_set_changed,
                "n_content_changed": self.matched.n_content_changed,
                "blocked_reason": cell.blocked,
                "ruler_hash": self.ruler_hash,
            }
            row |= {
                name: shares.get((*cell.slice_name, cell.metric.name))
                for name, shares in judged.items()
            }
            rows.append(row)
        return pl.DataFrame(rows, schema=COMPARISONS.schema)

    def items(self) -> pl.DataFrame:
        """Rows of `comparison_items`: every pair of every metric."""
        both = (self.matched.in_baseline & self.matched.in_candidate).to_numpy()
        parts = []
        for name, one in self.values.items():
            paired = both & ~np.isnan(one.baseline) & ~np.isnan(one.candidate)
            frame = pl.DataFrame(
                {
                    "item_id": self.matched.items.filter(pl.Series(paired)),
                    "baseline": one.baseline[paired],
                    "candidate": one.candidate[paired],
                }
            ).with_columns(
                workspace_id=pl.lit(self.baseline.row["workspace_id"]),
                comparison_id=pl.lit(self.comparison_id),
                metric=pl.lit(name),
                delta=pl.col("candidate") - pl.col("baseline"),
            )
            ordered = frame.sort(pl.col("delta").abs(), "item_id", descending=[True, False])
            parts.append(ordered.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64)))
        return pl.concat(parts).select(ITEMS.names)


def _judged_shares(one: Side) -> dict[tuple[str, str, str], float | None]:
    """Judged share beside every retrieval metric, by slice."""
    columns = ("slice_by", "slice", "metric", "judged_share")
    rows = one.evaluation.read("run_metrics").select(columns)
    return {(by, name, metric): share for by, name, metric, share in rows.iter_rows()}
