"""Wide views for people: what an analyst would join by hand, one row per thing asked about.

They hold the headline metrics only, so that no view changes when a metric is added; every other
metric stands in `result_metrics` (a column each) and `run_metrics` (a row each). A view shows the
default evaluation of a run and the default comparison of a pair, never a variant, and only what was
there at the pin. What people look for stands first, what machines join by last.
"""

from __future__ import annotations

from collections.abc import Iterable

from crucible_batch.contracts import vocabulary as v
from crucible_batch.contracts.columns import (
    boolean,
    count,
    ident,
    integer,
    nonblank,
    number,
    share,
    text,
    time,
    word,
    words,
)
from crucible_batch.contracts.comparisons import COMPARISON, SLICES
from crucible_batch.contracts.comparisons import COMPARISONS as COMPARED
from crucible_batch.contracts.golden import ITEMS as GOLDEN_ITEMS
from crucible_batch.contracts.outputs import EVALUATION, METRIC_CATALOG, NIGHT
from crucible_batch.contracts.outputs import NIGHTLY as NIGHTS
from crucible_batch.contracts.outputs import RESULT_METRICS as MEASURED
from crucible_batch.contracts.outputs import RUN_METRICS as RUN_NUMBERS
from crucible_batch.contracts.qrels import QRELS
from crucible_batch.contracts.runs import RESULTS, RUNS
from crucible_batch.contracts.table import Column, Role, Storage, Table
from crucible_batch.contracts.trails import EVALUATIONS
from crucible_batch.contracts.watch import ALERTS as FOLDED
from crucible_batch.contracts.watch import EVALUATIONS as WATCHED
from crucible_batch.contracts.watch import SNAPSHOTS


def _of(table: Table, *names: str, maybe: bool = False) -> tuple[Column, ...]:
    """Columns as another table declares them; nullable too when `maybe` there is no row to join."""
    return tuple(
        Column(
            name=column.name,
            kind=column.kind,
            description=column.description,
            nullable=column.nullable or maybe,
            allowed=column.allowed,
            low=column.low,
            high=column.high,
        )
        for column in map(table.column, names)
    )


def _view(
    name: str, description: str, key: Iterable[str], over: Iterable[str], *columns: Column
) -> Table:
    return Table(
        name=name,
        description=description,
        key=("workspace_id", *key),
        storage=Storage.VIEW,
        role=Role.VIEW,
        over=tuple(over),
        columns=(*columns, ident(name="workspace_id", description="workspace of the row")),
    )


def _measured(metric: str) -> tuple[Column, Column, Column]:
    """A mean, what it rests on, and how much of what it could rest on."""
    return (
        number(
            name=metric,
            description=f"mean {metric} over the results that carry it; null: none does",
            nullable=True,
        ),
        count(name=f"n_{metric}", description=f"results that carry {metric}", nullable=True),
        share(
            name=f"coverage_{metric}",
            description=f"n_{metric} of the results {metric} applies to; null: it applies to none",
            nullable=True,
        ),
    )


LABEL = text(name="label", description="what people call the run", nullable=True)
QUESTION = nonblank(name="question", description="the question, as the run's golden set pins it")
TITLE = text(name="title", description="the metric's name for people", nullable=True)

RESULT_METRICS = _view(
    "v_result_metrics",
    "One row per expected result: question, answer, what became of it, headline metrics.",
    MEASURED.key[1:],
    (
        "evaluations",
        "golden_items",
        "golden_set_versions",
        "result_metrics",
        "results",
        "runs",
    ),
    ident(name="run_id", description="run that produced the result"),
    *_of(MEASURED, "item_id", "sample_index"),
    QUESTION,
    word(
        name="state",
        description="what became of the result; no_answer: retrieved only, no_result: no row",
        allowed=v.RESULT_STATES,
    ),
    *_of(MEASURED, "truthfulness_label", "error_class"),
    *(
        number(name=name, description=f"{name} of the result; null: not measured", nullable=True)
        for name in v.HEADLINE
    ),
    *_of(RESULTS, "answer", maybe=True),
    *_of(GOLDEN_ITEMS, "ground_truth"),
    *_of(RESULTS, "confidence", maybe=True),
    *_of(GOLDEN_ITEMS, "answerable", "question_type", "shape", "popularity", "dynamism"),
    *_of(GOLDEN_ITEMS, "cluster_id", "tags"),
    *_of(MEASURED, "error_rule"),
    *_of(RESULTS, "error", "latency_ms", "prompt_tokens", "completion_tokens", maybe=True),
    *_of(RESULTS, "cost_usd", maybe=True),
    LABEL,
    *_of(RUNS, "golden_set"),
    word(
        name="run_status",
        description="status of the run when it was scored",
        allowed=v.RUN_STATUSES,
    ),
    *_of(GOLDEN_ITEMS, "revision"),
    EVALUATION,
)

RUN_METRICS = _view(
    "v_run_metrics",
    "One row per run and slice: headline metrics, each with its denominator and coverage.",
    ("evaluation_id", "run_id", "slice_by", "slice"),
    ("evaluations", "run_metrics", "runs"),
    ident(name="run_id", description="run the numbers are of"),
    LABEL,
    *SLICES,
    *_of(RUN_NUMBERS, "n_expected"),
    *(column for name in v.HEADLINE for column in _measured(name)),
    *_of(RUN_NUMBERS, "status"),
    *_of(RUNS, "started_at", "golden_set"),
    *_of(EVALUATIONS, "judge", "qrel_source", "relevant_at", "granularity"),
    *_of(RUNS, "golden_set_hash"),
    *_of(RUN_NUMBERS, "ruler_hash"),
    EVALUATION,
)

COMPARISONS = _view(
    "v_comparisons",
    "One row per pair of runs, slice and metric: what changed, how sure that is, the verdict.",
    ("comparison_id", "slice_by", "slice", "metric"),
    ("comparisons", "metric_catalog", "plugin_metrics", "runs"),
    *_of(COMPARED, "baseline_run_id", "candidate_run_id"),
    *SLICES,
    *_of(COMPARED, "metric"),
    TITLE,
    *_of(COMPARED, "verdict", "delta", "ci_low", "ci_high", "p_adjusted", "n_pairs"),
    *_of(COMPARED, "mean_baseline", "mean_candidate", "n_better", "n_same", "n_worse"),
    *_of(COMPARED, "ci_label", "p_value", "family", "family_size"),
    *_of(COMPARED, "n_missing_baseline", "n_missing_candidate", "blocked_reason"),
    *_of(COMPARED, "negligible", "unequal_judging", "golden_set_changed"),
    boolean(name="headline", description="one of the metrics that are shown first"),
    *_of(METRIC_CATALOG, "metric_group", "better", maybe=True),
    text(name="baseline_label", description="what people call the baseline", nullable=True),
    text(name="candidate_label", description="what people call the candidate", nullable=True),
    *_of(RUNS, "golden_set"),
    COMPARISON,
)

NIGHTLY = _view(
    "v_nightly",
    "One row per night: its verdict, its gate with the rules that failed, its drift scan.",
    NIGHTS.key[1:],
    (
        "drift_evaluations",
        "drift_snapshots",
        "gate_results",
        "metric_catalog",
        "nightly",
        "nightly_metrics",
        "runs",
    ),
    *NIGHT,
    *_of(NIGHTS, "baseline_run_id", "verdict", "gate_outcome"),
    words(name="failed_rules", description="rules that failed the gate", nullable=True),
    words(name="warned_rules", description="failed rules that only warn", nullable=True),
    count(name="n_rules", description="rules of the gate", nullable=True),
    *_of(NIGHTS, "since", "metric"),
    TITLE,
    *_of(NIGHTS, "slice_by", "slice"),
    number(name="delta", description="mean paired delta of that metric", nullable=True),
    *_of(SNAPSHOTS, "corpus_version", "doc_count", "doc_churn_ratio", maybe=True),
    count(name="n_breaches", description="drift rules breached", nullable=True),
    count(name="n_unknown", description="drift rules that could not be measured", nullable=True),
    text(name="candidate_label", description="what people call the candidate", nullable=True),
    text(name="baseline_label", description="what people call the baseline", nullable=True),
    *_of(NIGHTS, "gate_id", "scan_id"),
)

ALERTS = _view(
    "v_alerts",
    "One row per alert as it stands: since when, how bad, and the number behind it.",
    ("fingerprint",),
    ("alert_events", "alerts", "drift_evaluations"),
    *_of(FOLDED, "rule_id", "labels", "state"),
    boolean(name="is_open", description="pending or firing"),
    *_of(FOLDED, "severity", "opened_at"),
    *_of(WATCHED, "statistic", "value", "operator", "threshold", "verdict", "reason", maybe=True),
    time(name="as_of", description="time the last scan speaks of", nullable=True),
    *_of(FOLDED, "acknowledged", "snoozed_until", "resolved_at", "resolve_reason", "episode"),
    count(name="n_events", description="events of the episode"),
    word(name="last_kind", description="its last event", allowed=v.ALERT_KINDS),
    time(name="last_event_at", description="when that was"),
    text(name="author", description="who did it, for what a person did", nullable=True),
    text(name="note", description="what they said", nullable=True),
    ident(name="scan_id", description="last scan that evaluated the rule", nullable=True),
    *_of(FOLDED, "fingerprint"),
)

QRELS_EFFECTIVE = _view(
    "v_qrels_effective",
    "One row per query and document: the grade that counts, and whose it is.",
    ("query_id", "doc_id"),
    ("golden_items", "judgment_overrides", "qrels"),
    *_of(QRELS, "query_id"),
    ident(name="doc_id", description="judged document; chunk judgments count for theirs"),
    integer(
        name="grade",
        description="human > provenance > llm, the maximum within the winner, after overrides",
        low=0,
        high=3,
    ),
    word(name="source", description="the source that won", allowed=v.SOURCES),
    *(
        integer(
            name=f"grade_{source}",
            description=f"highest grade of source {source}; null: it did not judge",
            nullable=True,
            low=0,
            high=3,
        )
        for source in v.SOURCES
    ),
    count(name="n_judgments", description="judgments of the document for the query"),
    words(name="judges", description="who judged, sorted"),
    count(name="n_overridden", description="judgments whose grade an override replaced"),
    nonblank(
        name="question",
        description="the item's newest question; null: the query is no item",
        nullable=True,
    ),
)

TABLES = (RESULT_METRICS, RUN_METRICS, COMPARISONS, NIGHTLY, ALERTS, QRELS_EFFECTIVE)
