"""Derived tables: scores, run metrics, comparisons, the gate and the nightly watch."""

from __future__ import annotations

from crucible_batch.contracts import vocabulary as v
from crucible_batch.contracts.columns import (
    RESULT_COLUMNS,
    RUN,
    WORKSPACE,
    boolean,
    count,
    ident,
    integer,
    number,
    share,
    text,
    time,
    word,
    words,
)
from crucible_batch.contracts.comparisons import METRIC, SLICES
from crucible_batch.contracts.comparisons import TABLES as COMPARISON_TABLES
from crucible_batch.contracts.table import Role, Storage, Table

EVALUATION = ident(name="evaluation_id", description="evaluation the row belongs to")
NIGHT = (
    time(name="as_of", description="the night"),
    ident(name="candidate_run_id", description="run of the night"),
)

SCORES = Table(
    name="scores",
    description="Every metric of every expected result, long.",
    key=("workspace_id", "evaluation_id", "run_id", "item_id", "sample_index", "metric"),
    storage=Storage.MART,
    role=Role.OUTPUT,
    subject="run_id",
    columns=(
        WORKSPACE,
        EVALUATION,
        *RESULT_COLUMNS[1:],
        METRIC,
        number(name="value", description="the score; null: not measured", nullable=True),
        ident(name="null_reason", description="why it is null", nullable=True),
    ),
)

RESULT_METRICS = Table(
    name="result_metrics",
    description="One row per result for people; a column per first-party metric is added.",
    key=("workspace_id", "evaluation_id", "run_id", "item_id", "sample_index"),
    storage=Storage.MART,
    grows=True,
    role=Role.OUTPUT,
    subject="run_id",
    columns=(
        WORKSPACE,
        EVALUATION,
        *RESULT_COLUMNS[1:],
        word(
            name="truthfulness_label",
            description="CRAG's label",
            nullable=True,
            allowed=v.TRUTHFULNESS_LABELS,
        ),
        word(
            name="error_class",
            description="class of the error taxonomy",
            nullable=True,
            allowed=v.ERROR_CLASSES,
        ),
        text(name="error_rule", description="rule that fired", nullable=True),
        boolean(name="errored", description="a provider error, or no result at all"),
        ident(name="evidence_hash", description="SHA-256 of the evidence", nullable=True),
    ),
)

RUN_METRICS = Table(
    name="run_metrics",
    description="Every metric of a run, overall and per slice, with its denominator.",
    key=("workspace_id", "evaluation_id", "run_id", "slice_by", "slice", "metric"),
    storage=Storage.MART,
    role=Role.OUTPUT,
    subject="run_id",
    columns=(
        WORKSPACE,
        EVALUATION,
        RUN,
        *SLICES,
        METRIC,
        number(name="mean", description="mean over results that carry it", nullable=True),
        number(
            name="item_mean",
            description="mean of per-item means: the number comparison uses",
            nullable=True,
        ),
        count(name="n_expected", description="results expected"),
        count(name="n_scored", description="results that carry the metric"),
        count(name="n_items", description="items that carry the metric"),
        count(name="n_not_applicable", description="results it does not apply to"),
        count(name="n_missing", description="results where it could not be measured"),
        count(name="n_errored", description="errored results, part of n_missing"),
        share(name="coverage", description="n_scored of those it applies to", nullable=True),
        number(name="worst_case", description="mean if all missing were worst", nullable=True),
        number(name="best_case", description="mean if all missing were best", nullable=True),
        number(name="std_error", description="standard error of the mean", nullable=True),
        number(name="ci_low", description="lower end of the 95 % interval", nullable=True),
        number(name="ci_high", description="upper end of the 95 % interval", nullable=True),
        word(
            name="ci_method",
            description="how the interval was made",
            nullable=True,
            allowed=v.CI_METHODS,
        ),
        word(name="ci_label", description="how far to trust it", allowed=v.CI_LABELS),
        share(name="judged_share", description="judged among the first k", nullable=True),
        share(
            name="llm_only_share",
            description="judged by an llm alone among the judged",
            nullable=True,
        ),
        count(name="n_tied_at_cut", description="results with a tie at the cut", nullable=True),
        count(name="n_duplicates", description="duplicates dropped", nullable=True),
        number(name="unjudged_low", description="mean with unjudged as grade 0", nullable=True),
        number(name="unjudged_high", description="mean with unjudged at the top", nullable=True),
        words(name="notes", description="what to know when reading the number"),
        word(name="status", description="status of the run", allowed=v.RUN_STATUSES),
        ident(name="ruler_hash", description="ruler the run was scored with"),
    ),
)

RISK_COVERAGE = Table(
    name="risk_coverage",
    description="Risk at every coverage, one point per answered result.",
    key=("workspace_id", "evaluation_id", "point"),
    storage=Storage.MART,
    role=Role.OUTPUT,
    subject="run_id",
    columns=(
        WORKSPACE,
        EVALUATION,
        *RESULT_COLUMNS[1:],
        integer(name="point", description="position by confidence, from 1", low=1),
        share(name="coverage", description="position of n_pairs"),
        share(name="risk", description="expected error rate among the first"),
        share(name="confidence", description="confidence of the result"),
        count(name="n_pairs", description="answered, labelled results with a confidence"),
        count(name="n_results", description="results of the run"),
    ),
)

RELIABILITY = Table(
    name="reliability_bins",
    description="Confidence against accuracy in equal-mass bins.",
    key=("workspace_id", "evaluation_id", "bin"),
    storage=Storage.MART,
    role=Role.OUTPUT,
    subject="run_id",
    columns=(
        WORKSPACE,
        EVALUATION,
        RUN,
        integer(name="bin", description="bin, from 0", low=0),
        count(name="n", description="results in the bin"),
        share(name="mean_confidence", description="mean confidence"),
        share(name="accuracy", description="share correct"),
    ),
)

ERROR_CLASSES = Table(
    name="error_classes",
    description="Results per error class, overall and per slice.",
    key=("workspace_id", "evaluation_id", "slice_by", "slice", "error_class"),
    storage=Storage.MART,
    role=Role.OUTPUT,
    subject="run_id",
    columns=(
        WORKSPACE,
        EVALUATION,
        RUN,
        *SLICES,
        word(name="error_class", description="class", allowed=v.ERROR_CLASSES),
        count(name="n", description="results of the class"),
        share(name="share", description="n of the classified results"),
    ),
)

GATE_RESULTS = Table(
    name="gate_results",
    description="Every rule of a gate with its outcome.",
    key=("workspace_id", "gate_id", "rule_id"),
    storage=Storage.MART,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        ident(name="gate_id", description="hash of the gate and what it judged"),
        ident(name="rule_id", description="rule"),
        ident(name="baseline_run_id", description="baseline", nullable=True),
        ident(name="candidate_run_id", description="candidate"),
        word(name="kind", description="kind of the rule", allowed=v.RULE_KINDS),
        ident(name="comparison_id", description="comparison it read", nullable=True),
        share(name="p_adjusted", description="p adjusted over the gate", nullable=True),
        count(name="family_size", description="p's adjusted together", nullable=True),
        ident(name="metric", description="metric", nullable=True),
        ident(name="slice_by", description="facet", nullable=True),
        ident(name="slice", description="facet value", nullable=True),
        number(name="threshold", description="limit of the rule", nullable=True),
        number(name="margin", description="margin of the rule", nullable=True),
        number(name="observed", description="number it judged", nullable=True),
        word(name="outcome", description="outcome", allowed=v.OUTCOMES),
        word(name="severity", description="whether it counts", allowed=v.GATE_SEVERITIES),
        word(name="confirmation", description="seen the night before", allowed=v.CONFIRMATIONS),
        text(name="reason", description="why, in words"),
    ),
)

NIGHTLY = Table(
    name="nightly",
    description="One row per night: its candidate and its one-line verdict.",
    key=("workspace_id", "as_of", "candidate_run_id"),
    storage=Storage.EVENT,
    role=Role.OUTPUT,
    version=2,  # slice_by
    columns=(
        WORKSPACE,
        *NIGHT,
        ident(name="baseline_run_id", description="baseline", nullable=True),
        word(
            name="verdict",
            description="what the night says",
            nullable=True,
            allowed=v.NIGHT_VERDICTS,
        ),
        time(name="since", description="since when", nullable=True),
        ident(name="metric", description="metric concerned", nullable=True),
        ident(name="slice_by", description="facet of the slice concerned", nullable=True),
        ident(name="slice", description="slice concerned", nullable=True),
        ident(name="gate_id", description="gate of the night", nullable=True),
        word(
            name="gate_outcome",
            description="its outcome",
            nullable=True,
            allowed=v.OUTCOMES,
        ),
        ident(name="scan_id", description="drift scan of the night", nullable=True),
    ),
)

NIGHTLY_METRICS = Table(
    name="nightly_metrics",
    description="Control charts of the paired delta to the pinned baseline.",
    key=("workspace_id", "as_of", "candidate_run_id", "metric", "slice_by", "slice"),
    storage=Storage.MART,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        *NIGHT,
        METRIC,
        *SLICES,
        number(name="delta", description="mean paired delta", nullable=True),
        number(name="ewma", description="exponentially weighted mean", nullable=True),
        number(name="slide_limit", description="limit of the slide", nullable=True),
        number(name="drop_limit", description="limit of the drop", nullable=True),
        number(name="center", description="mean of the baseline nights", nullable=True),
        number(name="sigma", description="sd of the baseline nights", nullable=True),
        count(name="n_baseline_nights", description="nights in the window"),
        number(name="lag1", description="lag-1 autocorrelation", nullable=True),
        word(name="verdict", description="what the chart says", allowed=v.CHART_VERDICTS),
    ),
)

JUDGE_DRIFT = Table(
    name="judge_drift",
    description="Whether the judge moved, night by night.",
    key=("workspace_id", "as_of", "judge"),
    storage=Storage.MART,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        time(name="as_of", description="the night"),
        ident(name="judge", description="model@prompt_version"),
        count(name="n_anchors", description="anchors judged"),
        count(name="n_failed", description="calls that failed"),
        count(name="n_flips", description="verdicts that differ from the pinned ones"),
        share(name="f0", description="noise floor", nullable=True),
        share(name="p_flip", description="chance of so many flips", nullable=True),
        number(name="e_value", description="evidence against no drift", nullable=True, low=0),
        boolean(name="alarm", description="the judge moved"),
        word(name="attribution", description="who moved", allowed=v.ATTRIBUTIONS),
    ),
)

METRIC_CATALOG = Table(
    name="metric_catalog",
    description="Every first-party metric: unit, range, direction, null rule, source.",
    key=("workspace_id", "metric"),
    storage=Storage.MART,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        METRIC,
        text(name="title", description="name for people"),
        text(name="metric_group", description="family"),
        word(name="grain", description="per result or per run", allowed=v.GRAINS),
        text(name="unit", description="unit"),
        word(name="scale", description="scale of comparison", allowed=v.SCALES),
        number(name="low", description="smallest possible value", nullable=True),
        number(name="high", description="largest possible value", nullable=True),
        word(name="better", description="direction", allowed=v.BETTER),
        boolean(name="headline", description="one of the seven KPIs or mean_truthfulness"),
        boolean(name="uses_judge", description="a changed judge blocks its comparison"),
        text(name="null_rule", description="when it is not measured"),
        text(name="source", description="where the formula comes from"),
    ),
)

TABLES = (
    SCORES,
    RESULT_METRICS,
    RUN_METRICS,
    RISK_COVERAGE,
    RELIABILITY,
    ERROR_CLASSES,
    *COMPARISON_TABLES,
    GATE_RESULTS,
    NIGHTLY,
    NIGHTLY_METRICS,
    JUDGE_DRIFT,
    METRIC_CATALOG,
)
