"""Tables in, one model out."""

from __future__ import annotations

from crucible_batch.report import compared, detail, overview, words
from crucible_batch.report.blocked import UNNAMED, Reasons, reasons
from crucible_batch.report.decisions import answer_path
from crucible_batch.report.facts import Catalog, Metrics
from crucible_batch.report.history import history
from crucible_batch.report.inputs import ReportInputs
from crucible_batch.report.model import Report
from crucible_batch.report.moved_items import moved_items
from crucible_batch.report.provenance import provenance
from crucible_batch.report.verdicts import verdict_sentence
from crucible_batch.report.watched import watched


def build_report(inputs: ReportInputs) -> Report:
    """Make the model of a report: of one run, or of a run against its baseline.

    Numbers are taken from the tables as they are and only formatted; nothing is measured here.

    Args:
        inputs: The tables, in the shape of their contracts.

    Returns:
        The model that `to_html`, `to_markdown` and `to_json` print.
    """
    catalog = Catalog(inputs.metric_catalog)
    metrics = Metrics(inputs, inputs.run_id)
    base_id = inputs.baseline_run_id
    baseline = Metrics(inputs, base_id) if base_id else None
    blocked = _blocked(inputs)
    found = [overview.curve(inputs, side) for side in (metrics, baseline) if side]
    curves = tuple(curve for curve in found if curve)
    others = compared.others(inputs, catalog, blocked)
    title = f"Run {inputs.run_id}"
    return Report(
        title=f"{title} against {base_id}" if base_id else title,
        run=overview.run_header(inputs, inputs.run_id),
        baseline=overview.run_header(inputs, base_id) if base_id else None,
        as_of=inputs.as_of.strftime("%Y-%m-%dT%H:%M:%SZ") if inputs.as_of else None,
        commit=None if inputs.as_of else inputs.commit,
        verdict=verdict_sentence(inputs.comparisons, catalog.frame, blocked)
        if base_id
        else _alone(catalog, metrics),
        gate=inputs.gate,
        tiles=overview.tiles(inputs, catalog, metrics, baseline),
        badges=overview.badges(inputs, metrics, baseline),
        curves=curves,
        curve_steps=overview.curve_steps(curves),
        bins=overview.bins(inputs),
        compared=compared.compared(inputs, catalog, blocked),
        compared_more=others.told,
        compared_quiet=others.quiet,
        head_to_head=compared.head_to_head(inputs, catalog),
        slices=detail.slices(inputs, catalog, metrics),
        errors=detail.errors(inputs),
        moved=moved_items(inputs, catalog),
        history=history(inputs, catalog),
        corpus=detail.corpus(inputs),
        watched=watched(inputs),
        coverage=detail.coverage(catalog, metrics),
        unmeasured=detail.unmeasured(catalog, metrics),
        answer_path=answer_path(inputs),
        provenance=provenance(inputs),
    )


def _blocked(inputs: ReportInputs) -> Reasons:
    """Words for what stands between the two runs."""
    if inputs.baseline_run_id is None:
        return UNNAMED
    candidate, baseline = (
        inputs.of("evaluations", run_id).row(0, named=True) for run_id in inputs.run_ids
    )
    return reasons(baseline, candidate)


def _alone(catalog: Catalog, metrics: Metrics) -> str:
    """What one run says by itself: its accuracy, else its nDCG, and that nothing is compared."""
    for name in ("accuracy", "ndcg_at_10"):
        row = metrics.row(name)
        if row and row["mean"] is not None:
            over = (
                f"{words.count(row['n_scored'], 'result')} of {words.count(row['n_items'], 'item')}"
            )
            return (
                f"{catalog.title(name)} is {words.percent(row['mean'])} over {over}; no baseline."
            )
    return "Neither accuracy nor nDCG@10 could be measured; no baseline."
