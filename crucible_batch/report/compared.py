"""Run against baseline: the comparison table, the chart of all items, the items that moved most."""

from __future__ import annotations

import polars as pl

from crucible_batch.report import words
from crucible_batch.report.blocked import Reasons, mark
from crucible_batch.report.facts import KPIS, Catalog, badge
from crucible_batch.report.figures import Figure, Pair
from crucible_batch.report.inputs import ReportInputs
from crucible_batch.report.lines import (
    Row,
    comparison_line,
    counts_text,
    delta_text,
    digits,
    has_too_few,
    interval_text,
    is_of_run,
    remarks,
    shown_p,
)
from crucible_batch.report.model import Compared, HeadToHead, Moved, MovedItems
from crucible_batch.report.verdicts import headline_rows

SHOWN = 10
"""Items listed each way."""

LONGEST_ANSWER = 1_000
"""Characters of an answer or a question that are shown."""


def compared(inputs: ReportInputs, catalog: Catalog, blocked: Reasons) -> tuple[Compared, ...]:
    """The headline rows over all items, in the order of the tiles."""
    rows = headline_rows(inputs.comparisons, catalog.frame)
    rows.sort(key=lambda row: KPIS.index(row["metric"]) if row["metric"] in KPIS else len(KPIS))
    return tuple(_compared(row, catalog, blocked) for row in rows)


def compared_more(inputs: ReportInputs, catalog: Catalog, blocked: Reasons) -> tuple[Compared, ...]:
    """The other overall rows that have a delta, in catalog order."""
    overall = inputs.comparisons.filter(pl.col("slice_by") == "all", pl.col("delta").is_not_null())
    rows = [r for r in overall.iter_rows(named=True) if not catalog[r["metric"]]["headline"]]
    rows.sort(key=lambda row: (catalog.order(row["metric"]), row["metric"]))
    return tuple(_compared(row, catalog, blocked) for row in rows)


def _compared(row: Row, catalog: Catalog, blocked: Reasons) -> Compared:
    metric = catalog[row["metric"]]
    method = words.CI_METHODS.get(row["ci_method"] or "", "")
    return Compared(
        metric=row["metric"],
        title=str(metric["title"]),
        baseline=catalog.figure(row["metric"], row["mean_baseline"], digits(row)),
        candidate=catalog.figure(row["metric"], row["mean_candidate"], digits(row)),
        delta=Figure(row["delta"], delta_text(row, metric)),
        ci_low=row["ci_low"],
        ci_high=row["ci_high"],
        interval=interval_text(row, metric),
        method=method,
        p_adjusted=Figure(shown_p(row), words.probability(shown_p(row))),
        p_note=_p_note(row),
        n_pairs=row["n_pairs"],
        n_units=row["n_units"],
        unit=row["unit"],
        counts=counts_text(row, spaced=False),
        verdict=badge(mark(row, blocked)),
        remarks=tuple(remarks(row)),
        is_dim=row["ci_label"] == "insufficient items" and not is_of_run(row),
        line=comparison_line(row, catalog.frame, blocked),
    )


def _p_note(row: Row) -> str:
    if row["p_value"] is None or has_too_few(row):
        return ""
    raw = f"raw {words.probability(row['p_value'])} {words.P_METHODS[row['p_method']]}"
    if row["adjust_method"] is None or row["family_size"] is None:
        return raw
    return f"{raw}, {words.ADJUSTED[row['adjust_method']]} of {row['family_size']}"


def focus(comparisons: pl.DataFrame) -> tuple[str, str] | None:
    """The metric whose items are shown, and why this one.

    The first KPI that regressed, else the first that improved, else the one on which most items
    moved; None when no item has a headline metric in both runs.
    """
    rows = compared_rows(comparisons)
    for verdict, why in (("regressed", "it regressed"), ("improved", "it improved")):
        for name in KPIS:
            if name in rows and rows[name]["verdict"] == verdict:
                return name, why
    moved = {name: rows[name]["n_nonzero"] or 0 for name in KPIS if name in rows}
    most = max(moved, key=lambda name: moved[name], default=None)
    if most is None or not moved[most]:
        return None
    return most, "most items moved on it"


def compared_rows(comparisons: pl.DataFrame) -> dict[str, Row]:
    """The overall rows with pairs by metric."""
    overall = comparisons.filter(pl.col("slice_by") == "all", pl.col("n_pairs") > 0)
    return {row["metric"]: row for row in overall.iter_rows(named=True)}


def head_to_head(inputs: ReportInputs, catalog: Catalog) -> HeadToHead | None:
    """Every item on nDCG@10, which tells more than two values apart; else on the focus metric."""
    rows = compared_rows(inputs.comparisons)
    chosen = focus(inputs.comparisons)
    name = "ndcg_at_10" if "ndcg_at_10" in rows else chosen[0] if chosen else None
    if name is None:
        return None
    items = inputs.comparison_items.filter(pl.col("metric") == name).sort("item_id")
    if items.is_empty():
        return None
    pairs = tuple(Pair(*row) for row in items.select("item_id", "baseline", "candidate").rows())
    values = [value for pair in pairs for value in pair[1:]]
    low, high = catalog[name].get("low"), catalog[name].get("high")
    direction = catalog.direction(name)
    return HeadToHead(
        metric=name,
        title=catalog.title(name),
        counts=counts_text(rows[name], spaced=True) if name in rows else "",
        low=min(values) if low is None else low,
        high=max(values) if high is None else high,
        higher_is_better=direction > 0 if direction else None,
        pairs=pairs,
    )


def moved(inputs: ReportInputs, catalog: Catalog) -> MovedItems | None:
    """The ten items that moved most each way on the focus metric, with what else moved."""
    chosen = focus(inputs.comparisons)
    if chosen is None:
        return None
    name, why = chosen
    items = inputs.comparison_items.filter(pl.col("metric") == name).sort("rank")
    gain = pl.col("delta") * (catalog.direction(name) or 1)
    better, worse = items.filter(gain > 0), items.filter(gain < 0)
    if better.is_empty() and worse.is_empty():
        return None
    worst, best = worse.head(SHOWN), better.head(SHOWN)
    texts = _Texts(inputs, catalog, name, pl.concat([worst["item_id"], best["item_id"]]))
    return MovedItems(
        metric=name,
        title=catalog.title(name),
        why=why,
        n_better=better.height,
        n_worse=worse.height,
        worse=tuple(map(texts.moved, worst.iter_rows(named=True))),
        better=tuple(map(texts.moved, best.iter_rows(named=True))),
    )


class _Texts:
    """Questions, answers and other moves of the items shown, looked up by id."""

    def __init__(
        self, inputs: ReportInputs, catalog: Catalog, focus_metric: str, shown: pl.Series
    ) -> None:
        self._inputs, self._catalog, self._focus = inputs, catalog, focus_metric
        is_shown = pl.col("item_id").is_in(shown.implode())
        golden = inputs.golden_items.filter(is_shown).sort("revision")
        self._questions = dict(golden.select("item_id", "question").iter_rows())
        items = inputs.comparison_items.filter(is_shown)
        self._deltas = {
            (metric, item_id): delta
            for metric, item_id, delta in items.select("metric", "item_id", "delta").iter_rows()
        }
        # Sorted downwards, so that the first sample is the one that stays.
        results = inputs.results.filter(is_shown).sort("sample_index", descending=True)
        self._results = {(r["run_id"], r["item_id"]): r for r in results.iter_rows(named=True)}

    def moved(self, row: Row) -> Moved:
        """An item of `comparison_items` with all that is known of it."""
        item_id = row["item_id"]
        question = self._questions.get(item_id)
        answers = [self._answer(item_id, run_id) for run_id in self._inputs.run_ids]
        return Moved(
            item_id=item_id,
            question=question and words.shortened(question, LONGEST_ANSWER),
            baseline=self._catalog.figure(self._focus, row["baseline"]),
            candidate=self._catalog.figure(self._focus, row["candidate"]),
            delta=Figure(row["delta"], words.signed(row["delta"])),
            also=self._also(item_id),
            answer_baseline=answers[1] if len(answers) > 1 else None,
            answer_candidate=answers[0],
        )

    def _also(self, item_id: str) -> str:
        return ", ".join(
            f"{self._catalog.title(name)} {words.signed(delta, 2)}"
            for name in KPIS
            if name != self._focus and (delta := self._deltas.get((name, item_id)))
        )

    def _answer(self, item_id: str, run_id: str) -> str | None:
        row = self._results.get((run_id, item_id))
        if row is None:
            return None
        if row["error"] is not None:
            return f"[error] {words.shortened(row['error'])}"
        text = words.shortened(row["answer"] or "", LONGEST_ANSWER)
        return f"[abstained] {text}".rstrip() if row["abstained"] else text or "[blank]"
