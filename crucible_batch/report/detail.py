"""The lower half of the report: slices, error classes, the corpus, what could not be measured."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from crucible_batch.contracts import vocabulary
from crucible_batch.report import words
from crucible_batch.report.facts import KPIS, Catalog, Metrics, badge, share
from crucible_batch.report.figures import Fact, Figure
from crucible_batch.report.inputs import ReportInputs
from crucible_batch.report.lines import Row
from crucible_batch.report.model import (
    Coverage,
    ErrorClass,
    ErrorClasses,
    Flow,
    SliceCell,
    SliceRow,
    SliceTable,
    Unmeasured,
)

FACETS = {
    "question_type": vocabulary.QUESTION_TYPES,
    "popularity": vocabulary.POPULARITIES,
    "dynamism": vocabulary.DYNAMISMS,
    "answerable": ("true", "false"),
    "shape": vocabulary.SHAPES,
    "tag": (),
}
"""Facets and their values in the order that carries meaning."""

MOST_SLICES = 20
"""Slices shown, those of most items; a golden set may have hundreds of tags."""

HEATS = 5
"""Levels of the heat table."""

DECIDED = ("improved", "regressed", "changed", "equivalent")
"""Verdicts worth a mark in a crowded table."""


def slices(inputs: ReportInputs, catalog: Catalog, metrics: Metrics) -> SliceTable | None:
    """The seven KPIs on every slice of the run, with the delta to the baseline."""
    found = sorted(metrics.slices(), key=_slice_order)
    if not found:
        return None
    sizes = {name: max(_n_items(metrics, name, kpi) for kpi in KPIS) for name in found}
    hidden = set(sorted(found, key=lambda name: -sizes[name])[MOST_SLICES:])
    sliced = inputs.comparisons.filter(pl.col("slice_by") != "all").iter_rows(named=True)
    deltas: dict[tuple[str, str, str], Row] = {
        (row["slice_by"], row["slice"], row["metric"]): row for row in sliced
    }
    rows = [
        SliceRow(*name, tuple(_cell(name, kpi, metrics, deltas) for kpi in KPIS))
        for name in found
        if name not in hidden
    ]
    return SliceTable(tuple(map(catalog.title, KPIS)), tuple(rows), len(hidden))


def _slice_order(name: tuple[str, str]) -> tuple[int, str, int, str]:
    slice_by, value = name
    facets = list(FACETS)
    values = FACETS.get(slice_by, ())
    place = facets.index(slice_by) if slice_by in facets else len(facets)
    return place, slice_by, values.index(value) if value in values else len(values), value


def _n_items(metrics: Metrics, name: tuple[str, str], metric: str) -> int:
    row = metrics.row(metric, *name)
    return row["n_items"] if row else 0


def _cell(
    name: tuple[str, str],
    metric: str,
    metrics: Metrics,
    deltas: Mapping[tuple[str, str, str], Row],
) -> SliceCell:
    row, paired = metrics.row(metric, *name), deltas.get((*name, metric))
    mean = row["mean"] if row else None
    decided = paired["verdict"] if paired and paired["verdict"] in DECIDED else None
    return SliceCell(
        metric=metric,
        value=share(mean),
        n_items=_n_items(metrics, name, metric),
        heat=0 if mean is None else min(HEATS - 1, int(HEATS * mean)),
        delta=_slice_delta(paired) if paired and paired["delta"] is not None else None,
        verdict=badge(words.VERDICTS[decided]) if decided else None,
    )


def _slice_delta(paired: Row) -> Figure:
    """The delta on a slice; in parentheses with too few items."""
    text = words.signed(paired["delta"], 2)
    few = paired["ci_label"] == "insufficient items"
    return Figure(paired["delta"], f"({text})" if few else text)


def errors(inputs: ReportInputs) -> ErrorClasses | None:
    """Error classes of both runs over all items, and the flow between them."""
    counts = [_classes(inputs, run_id) for run_id in inputs.run_ids]
    if not any(counts):
        return None
    rows = tuple(_error_class(name, counts) for name in vocabulary.ERROR_CLASSES)
    flows, n_unchanged = _flows(inputs)
    return ErrorClasses(inputs.run_ids, rows, flows, n_unchanged)


def _error_class(name: str, counts: list[dict[str, tuple[int, float]]]) -> ErrorClass:
    """One class in every run; a run without classified results has no numbers, not zeros."""
    found = [side.get(name, (0, 0.0)) if side else (None, None) for side in counts]
    return ErrorClass(
        name,
        tuple(Figure(n, words.decimal(n, 0)) for n, _ in found),
        tuple(share(part) for _, part in found),
    )


def _classes(inputs: ReportInputs, run_id: str) -> dict[str, tuple[int, float]]:
    overall = inputs.of("error_classes", run_id).filter(pl.col("slice_by") == "all")
    return {
        name: (n, part) for name, n, part in overall.select("error_class", "n", "share").iter_rows()
    }


def _flows(inputs: ReportInputs) -> tuple[tuple[Flow, ...], int | None]:
    """What became of each class, largest first; None unchanged when results are not given."""
    if inputs.baseline_run_id is None:
        return (), None
    key = ("item_id", "sample_index")
    after, before = (
        inputs.of("result_metrics", run_id).select(*key, "error_class").drop_nulls()
        for run_id in inputs.run_ids
    )
    both = before.join(after, on=key, suffix="_after")
    if both.is_empty():
        return (), None
    counted = both.group_by("error_class", "error_class_after").len()
    order = vocabulary.ERROR_CLASSES.index
    rows = sorted(counted.iter_rows(), key=lambda row: (-row[2], order(row[0]), order(row[1])))
    unchanged = sum(n for old, new, n in rows if old == new)
    return tuple(Flow(*row) for row in rows if row[0] != row[1]), unchanged


def coverage(catalog: Catalog, metrics: Metrics) -> tuple[Coverage, ...]:
    """How much of each headline metric could be measured, with worst and best case."""
    return tuple(
        Coverage(
            metric=row["metric"],
            title=catalog.title(row["metric"]),
            n_expected=row["n_expected"],
            n_scored=row["n_scored"],
            n_not_applicable=row["n_not_applicable"],
            n_missing=row["n_missing"],
            n_errored=row["n_errored"],
            coverage=share(row["coverage"]),
            mean=catalog.figure(row["metric"], row["mean"]),
            worst=catalog.figure(row["metric"], row["worst_case"]),
            best=catalog.figure(row["metric"], row["best_case"]),
            why=metrics.why(row["metric"]),
        )
        for name in (*KPIS, "mean_truthfulness")
        if (row := metrics.row(name)) is not None
    )


def unmeasured(catalog: Catalog, metrics: Metrics) -> tuple[Unmeasured, ...]:
    """Other metrics with missing values; metrics with the same gap share a row."""
    gaps: dict[tuple[int, int, int, str], list[str]] = {}
    for row in sorted(metrics.overall(), key=lambda row: catalog.order(row["metric"])):
        if catalog[row["metric"]]["headline"] or not (row["n_missing"] or row["mean"] is None):
            continue
        counts = (row["n_scored"], row["n_not_applicable"], row["n_missing"])
        gaps.setdefault((*counts, metrics.why(row["metric"])), []).append(row["metric"])
    return tuple(
        Unmeasured(catalog.titles(names), scored, not_applicable, missing, why)
        for (scored, not_applicable, missing, why), names in gaps.items()
    )


def corpus(inputs: ReportInputs) -> tuple[Fact, ...]:
    """The newest corpus snapshot and what changed since the one before."""
    if inputs.drift_snapshots.is_empty():
        return ()
    row = inputs.drift_snapshots.sort("as_of", "snapshot_id").row(-1, named=True)
    changes = [
        (row[f"doc_{change}"], change) for change in ("added", "removed", "changed", "moved")
    ]
    changed = ", ".join(f"{n:,} {change}" for n, change in changes if n is not None)
    newest = row["newest_document_at"]
    orphans = f"{row['orphan_count']:,} of {row['entity_count']:,} without a mention"
    unmeasured = "no documents" if changed else "no earlier snapshot"
    churn = "of all documents" if row["doc_churn_ratio"] is not None else unmeasured
    return (
        Fact("Corpus version", row["corpus_version"], f"as of {row['as_of']:%Y-%m-%d %H:%M} UTC"),
        Fact("Documents", f"{row['doc_count']:,}", changed or "no earlier snapshot"),
        Fact("Churn", words.percent(row["doc_churn_ratio"]), row["reason"] or churn),
        Fact(
            "Orphaned entities",
            words.percent(row["orphan_rate"]),
            orphans if row["entity_count"] else "no entities",
        ),
        Fact(
            "Newest document",
            newest.date().isoformat() if newest else words.DASH,
            "" if newest else "no document has a time",
        ),
    )
