"""First screen of the report: who the runs are, seven tiles, abstention, risk over coverage."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

import polars as pl

from crucible_batch.report import words
from crucible_batch.report.facts import KPIS, RANKED_TO_10, Catalog, Metrics, badge, share
from crucible_batch.report.figures import Figure, Point, Tie
from crucible_batch.report.focus import compared_rows
from crucible_batch.report.inputs import ReportInputs
from crucible_batch.report.lines import Row
from crucible_batch.report.model import BadgeNumber, Bin, BinRow, Curve, CurveStep, RunHeader, Tile


def run_header(inputs: ReportInputs, run_id: str) -> RunHeader:
    """Name, status and counted line of a run."""
    run = inputs.of("runs", run_id).row(0, named=True)
    evaluation = inputs.of("evaluations", run_id).row(0, named=True)
    reason = evaluation["status_reason"]
    return RunHeader(
        run_id=run_id,
        label=_label(run),
        status=badge(words.STATUSES[evaluation["status"]]),
        status_reason=reason and words.shortened(reason),
        counted=words.counted_line(
            evaluation["n_expected"],
            evaluation["n_results"],
            evaluation["n_errored"],
            run["samples_n"],
        ),
        golden_set=run["golden_set"],
    )


def _label(run: Row) -> str | None:
    """The label of a run where it says more than the id beside it."""
    label = run["label"]
    return words.shortened(label) if label and label != run["run_id"] else None


def tiles(
    inputs: ReportInputs, catalog: Catalog, metrics: Metrics, baseline: Metrics | None
) -> tuple[Tile, ...]:
    """The seven KPIs, always all of them."""
    top_k = inputs.of("runs", inputs.run_id)["top_k"].item()
    paired = compared_rows(inputs.comparisons)
    return tuple(_tile(name, catalog, metrics, baseline, top_k, paired.get(name)) for name in KPIS)


def _tile(
    name: str,
    catalog: Catalog,
    metrics: Metrics,
    baseline: Metrics | None,
    top_k: int | None,
    paired: Row | None,
) -> Tile:
    row = metrics.row(name)
    mean = row["mean"] if row else None
    other = baseline.row(name) if baseline else None
    notes = [words.shortened(note) for note in row["notes"]] if row else []
    if name in RANKED_TO_10 and top_k is not None and top_k < 10:
        notes.append(f"the run retrieves {top_k} documents, not 10")
    if row and mean is not None and abs(row["item_mean"] - mean) > 1e-12:
        notes.append(f"mean of item means {words.decimal(row['item_mean'])}")
    return Tile(
        metric=name,
        title=catalog.title(name),
        percent=share(mean),
        fill=None if mean is None else round(100 * mean, 1),
        n_scored=row["n_scored"] if row else 0,
        n_items=row["n_items"] if row else 0,
        interval=_interval(row),
        label=row["ci_label"] if row and mean is not None and row["ci_label"] != "ok" else "",
        baseline=share(other["mean"] if other else None) if baseline else None,
        baseline_over=_behind_other(row, other),
        paired=_paired(row, other, paired),
        reason="" if mean is not None else metrics.why(name) or "no result",
        notes=tuple(notes),
    )


def _behind_other(row: Row | None, other: Row | None) -> str:
    """What the baseline's number is of, where that is not as much as in the run."""
    if other is None or other["mean"] is None:
        return ""
    if row and (row["n_scored"], row["n_items"]) == (other["n_scored"], other["n_items"]):
        return ""
    return f"{words.count(other['n_scored'], 'result')}, {words.count(other['n_items'], 'item')}"


def _paired(row: Row | None, other: Row | None, paired: Row | None) -> str:
    """The two means of the comparison where they are of other items than the tile's numbers.

    A comparison pairs the items that carry the metric in both runs; a key number is the mean over
    all results of its run that do.
    """
    if row is None or other is None or paired is None:
        return ""
    n = paired["n_pairs"]
    if n == row["n_items"] == other["n_items"]:
        return ""
    before, after = words.percent(paired["mean_baseline"]), words.percent(paired["mean_candidate"])
    return f"compared: {before} → {after} on the {words.count(n, 'item')} measured in both runs"


def _interval(row: Row | None) -> str:
    if row is None or row["ci_low"] is None:
        return ""
    low = words.percent(row["ci_low"]).removesuffix(f"{words.NBSP}%")
    return f"{low} to {words.percent(row['ci_high'])}"


class _Said(NamedTuple):
    """A number of one run and what it is of."""

    figure: Figure
    note: str


def badges(
    inputs: ReportInputs, metrics: Metrics, baseline: Metrics | None
) -> tuple[BadgeNumber, ...]:
    """Abstained, answered, abstention rate, mean truthfulness, AURC."""
    mine = _abstention(inputs, metrics)
    theirs = _abstention(inputs, baseline) if baseline else [None] * len(mine)
    about = (
        ("Abstained", ""),
        ("Answered", ""),
        ("Abstention rate", ""),
        ("Mean truthfulness", "from −1 to +1"),
        ("AURC", "lower is better"),
    )
    return tuple(
        BadgeNumber(
            title=title,
            figure=own.figure,
            baseline=other.figure if other else None,
            note=", ".join(filter(None, (scale if own.figure.value is not None else "", own.note))),
            baseline_note=other.note if other and other.note != own.note else "",
        )
        for (title, scale), own, other in zip(about, mine, theirs, strict=True)
    )


def _abstention(inputs: ReportInputs, metrics: Metrics) -> list[_Said]:
    """The badges of one run; who does not report abstention is in no rate, and that is said."""
    evaluation = inputs.of("evaluations", metrics.run_id).row(0, named=True)
    rows = [metrics.row(name) for name in ("abstention_rate", "mean_truthfulness", "aurc")]
    rate, truthfulness, aurc = (row["mean"] if row else None for row in rows)
    n_reported, n_labelled, n_curve = (row["n_scored"] if row else 0 for row in rows)
    # A run that reports no abstention did not abstain zero times: it was not measured.
    abstained = None if rate is None else evaluation["n_abstained"]
    n_silent = evaluation["n_answered"] + evaluation["n_abstained"] - n_reported
    answered = evaluation["n_answered"]
    if rate is None and not answered:
        answered = None
    reporting = f"of {words.count(n_reported, 'result')} that {_report(n_reported)} it"
    silent = f"; {n_silent:,} of them do not say whether they abstained" if n_silent > 0 else ""
    said = [
        ("abstention_rate", Figure(abstained, words.decimal(abstained, 0)), reporting),
        ("abstention_rate", Figure(answered, words.decimal(answered, 0)), f"results{silent}"),
        ("abstention_rate", share(rate), reporting),
        (
            "mean_truthfulness",
            Figure(truthfulness, words.signed(truthfulness, 2)),
            _over(n_labelled),
        ),
        ("aurc", Figure(aurc, words.decimal(aurc, 4)), _over(n_curve)),
    ]
    return [
        _Said(figure, note if figure.value is not None else _missing(metrics, name))
        for name, figure, note in said
    ]


def _missing(metrics: Metrics, metric: str) -> str:
    return f"not measured: {metrics.why(metric) or 'no result'}"


def _report(n: int) -> str:
    return "reports" if n == 1 else "report"


def _over(n: int) -> str:
    return f"over {words.count(n, 'result')}"


def curve(inputs: ReportInputs, metrics: Metrics) -> Curve | None:
    """The risk-coverage curve of a run; None when no answered result has a confidence."""
    frame = inputs.of("risk_coverage", metrics.run_id).sort("point")
    if frame.is_empty():
        return None
    columns = ("coverage", "risk", "confidence", "item_id", "sample_index")
    points = tuple(Point(*row) for row in frame.select(columns).iter_rows())
    aurc = metrics.row("aurc")
    value = aurc["mean"] if aurc else None
    return Curve(
        run_id=metrics.run_id,
        is_baseline=metrics.run_id == inputs.baseline_run_id,
        n_pairs=frame["n_pairs"].item(0),
        n_results=frame["n_results"].item(0),
        aurc=Figure(value, words.decimal(value, 4)),
        points=points,
        ties=_ties(points),
    )


def _ties(points: tuple[Point, ...]) -> tuple[Tie, ...]:
    ties = []
    numbered = enumerate(points, start=1)
    for confidence, block in groupby(numbered, key=lambda numbered: numbered[1].confidence):
        positions = [position for position, _ in block]
        if len(positions) > 1:
            ties.append(Tie(positions[0], positions[-1], confidence))
    return tuple(ties)


def curve_steps(curves: tuple[Curve, ...]) -> tuple[CurveStep, ...]:
    """Every curve at each tenth of its coverage: the first point that reaches it."""
    steps = []
    for tenth in range(1, 11):
        # Whole numbers: the smallest position with position / n >= tenth / 10.
        places = [-(-tenth * len(curve.points) // 10) - 1 for curve in curves]
        risks = [curve.points[at].risk for curve, at in zip(curves, places, strict=True)]
        risk_figures = tuple(Figure(risk, words.decimal(risk)) for risk in risks)
        steps.append(CurveStep(words.percent(tenth / 10), risk_figures))
    return tuple(steps) if curves else ()


def bins(inputs: ReportInputs) -> tuple[BinRow, ...]:
    """Reliability bins of the runs side by side, the run first."""
    sides = [_bins(inputs, run_id) for run_id in inputs.run_ids]
    found = sorted({number for side in sides for number in side})
    return tuple(BinRow(number, tuple(side.get(number) for side in sides)) for number in found)


def _bins(inputs: ReportInputs, run_id: str) -> dict[int, Bin]:
    rows = inputs.of("reliability_bins", run_id).filter(pl.col("n") > 0)
    return {
        row["bin"]: Bin(
            n=row["n"],
            confidence=Figure(row["mean_confidence"], words.decimal(row["mean_confidence"])),
            accuracy=Figure(row["accuracy"], words.decimal(row["accuracy"])),
        )
        for row in rows.iter_rows(named=True)
    }
