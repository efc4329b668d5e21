"""Wide views for people: what an analyst would join by hand, one row per thing asked about.

They hold the headline metrics only, so that no view changes when a metric is added; every other
metric stands in `result_metrics` (a column each) and `run_metrics` (a row each). A view shows the
default evaluation of a run and the default comparison of a pair, never a variant, and only what was
there at the pin.
"""

from __future__ import annotations

from collections.abc import Iterable

from crucible_batch.contracts import vocabulary as v
from crucible_batch.contracts.columns import (
    WORKSPACE,
    boolean,
    count,
    ident,
    integer,
    nonblank,
    number,
    text,
    time,
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
from crucible_batch.contracts.table import Column, Kind, Role, Storage, Table
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
        columns=(ident(name=WORKSPACE.name, description="workspace the row belongs to"), *columns),
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
    EVALUATION,
    ident(name="run_id", description="run that produced the result"),
    *_of(MEASURED, "item_id", "sample_index"),
    LABEL,
    *_of(RUNS, "golden_set"),
    Column(
        name="run_status",
        kind=Kind.WORD,
        description="status of the run when it was scored",
        allowed=v.RUN_STATUSES,
    ),
    *_of(GOLDEN_ITEMS, "revision"),
    QUESTION,
    *_of(GOLDEN_ITEMS, "ground_truth", "answerable", "question_type", "shape", "popularity"),
    *_of(GOLDEN_ITEMS, "dynamism", "cluster_id", "tags"),
    Column(
        name="state",
        kind=Kind.WORD,
        description="what became of the result; no_answer: retrieved only, no_result: no row",
        allowed=v.RESULT_STATES,
    ),
    *_of(RESULTS, "answer", "confidence", "error", maybe=True),
    *_of(MEASURED, "truthfulness_label", "error_class", "error_rule"),
    *(
        number(name=name, description=f"{name} of the result; null: not measured", nullable=True)
        for name in v.HEADLINE
    ),
    *_of(RESULTS, "latency_ms", "prompt_tokens", "completion_tokens", "cost_usd", maybe=True),
)

RUN_METRICS = _view(
    "v_run_metrics",
    "One row per run and slice: headline metrics, each with its denominator and coverage.",
    ("evaluation_id", "run_id", "slice_by", "slice"),
    ("evaluations", "run_metrics", "runs"),
    EVALUATION,
    ident(name="run_id", description="run the numbers are of"),
    LABEL,
    *_of(RUNS, "golden_set", "golden_set_hash"),
    *_of(RUN_NUMBERS, "status"),
    *_of(EVALUATIONS, "judge", "qrel_source", "relevant_at", "granularity"),
    *_of(RUNS, "started_at"),
    *SLICES,
    *_of(RUN_NUMBERS, "n_expected"),
    *(
        column
        for name in v.HEADLINE
        for column in (
            number(
                name=name,
                description=f"mean {name} over the results that carry it; null: none does",
                nullable=True,
            ),
            count(name=f"n_{name}", description=f"results that carry {name}", nullable=True),
            number(
                name=f"coverage_{name}",
                description=f"n_{name} of the results {name} applies to; null: it applies to none",
                nullable=True,
                low=0,
                high=1,
            ),
        )
    ),
    *_of(RUN_NUMBERS, "ruler_hash"),
)

COMPARISONS = _view(
    "v_comparisons",
    "One row per pair of runs, slice and metric: what changed, how sure that is, the verdict.",
    ("comparison_id", "slice_by", "slice", "metric"),
    ("comparisons", "metric_catalog", "plugin_metrics", "runs"),
    COMPARISON,
    *_of(COMPARED, "baseline_run_id"),
    text(name="baseline_label", description="what people call the baseline", nullable=True),
    *_of(COMPARED, "candidate_run_id"),
    text(name="candidate_label", description="what people call the candidate", nullable=True),
    *_of(RUNS, "golden_set"),
    *SLICES,
    *_of(COMPARED, "metric"),
    TITLE,
    *_of(METRIC_CATALOG, "metric_group", maybe=True),
    boolean(name="headline", description="one of the metrics that are shown first"),
    *_of(METRIC_CATALOG, "better", maybe=True),
    *_of(COMPARED, "mean_baseline", "mean_candidate", "delta", "ci_low", "ci_high", "ci_label"),
    *_of(COMPARED, "p_value", "p_adjusted", "family", "family_size"),
    *_of(COMPARED, "n_pairs", "n_missing_baseline", "n_missing_candidate"),
    *_of(COMPARED, "n_better", "n_same", "n_worse", "verdict", "blocked_reason"),
    *_of(COMPARED, "negligible", "unequal_judging", "golden_set_changed"),
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
    text(name="candidate_label", description="what people call the candidate", nullable=True),
    *_of(NIGHTS, "baseline_run_id"),
    text(name="baseline_label", description="what people call the baseline", nullable=True),
    *_of(NIGHTS, "verdict", "since", "metric"),
    TITLE,
    *_of(NIGHTS, "slice_by", "slice"),
    number(name="delta", description="mean paired delta of that metric", nullable=True),
    *_of(NIGHTS, "gate_id", "gate_outcome"),
    count(name="n_rules", description="rules of the gate", nullable=True),
    words(name="failed_rules", description="rules that failed the gate", nullable=True),
    words(name="warned_rules", description="failed rules that only warn", nullable=True),
    *_of(NIGHTS, "scan_id"),
    *_of(SNAPSHOTS, "corpus_version", "doc_count", "doc_churn_ratio", maybe=True),
    count(name="n_breaches", description="drift rules breached", nullable=True),
    count(name="n_unknown", description="drift rules that could not be measured", nullable=True),
)

ALERTS = _view(
    "v_alerts",
    "One row per alert as it stands: since when, how bad, and the number behind it.",
    ("fingerprint",),
    ("alert_events", "alerts", "drift_evaluations"),
    *_of(FOLDED, "fingerprint", "rule_id", "labels", "state"),
    boolean(name="is_open", description="pending or firing"),
    *_of(FOLDED, "severity", "acknowledged", "snoozed_until", "episode", "opened_at"),
    *_of(FOLDED, "resolved_at", "resolve_reason"),
    count(name="n_events", description="events of the episode"),
    Column(name="last_kind", kind=Kind.WORD, description="its last event", allowed=v.ALERT_KINDS),
    time(name="last_event_at", description="when that was"),
    text(name="author", description="who did it, for what a person did", nullable=True),
    text(name="note", description="what they said", nullable=True),
    ident(name="scan_id", description="last scan that evaluated the rule", nullable=True),
    time(name="as_of", description="time that scan speaks of", nullable=True),
    *_of(WATCHED, "statistic", "value", "operator", "threshold", "verdict", "reason", maybe=True),
)

QRELS_EFFECTIVE = _view(
    "v_qrels_effective",
    "One row per query and document: the grade that counts, and whose it is.",
    ("query_id", "doc_id"),
    ("golden_items", "judgment_overrides", "qrels"),
    *_of(QRELS, "query_id"),
    Column(
        name="question",
        kind=Kind.NONBLANK,
        description="the item's newest question; null: the query is no item",
        nullable=True,
    ),
    ident(name="doc_id", description="judged document; chunk judgments count for theirs"),
    integer(
        name="grade",
        description="human > provenance > llm, the maximum within the winner, after overrides",
        low=0,
        high=3,
    ),
    Column(name="source", kind=Kind.WORD, description="the source that won", allowed=v.SOURCES),
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
)

TABLES = (RESULT_METRICS, RUN_METRICS, COMPARISONS, NIGHTLY, ALERTS, QRELS_EFFECTIVE)
