"""The closed vocabularies, lower case, in the order that carries meaning where one does."""

from __future__ import annotations

QUESTION_TYPES = (
    "simple",
    "simple_w_condition",
    "set",
    "comparison",
    "aggregation",
    "multi_hop",
    "post_processing",
    "false_premise",
)
POPULARITIES = ("head", "torso", "tail")
DYNAMISMS = ("static", "slow", "fast", "real_time")
SHAPES = ("lookup", "multi_hop", "paraphrase", "privacy")
LEVELS = ("must", "should")
CONCEPT_RELEVANCES = ("required", "acceptable", "irrelevant")
CITATION_KINDS = ("required", "forbidden")

SOURCES = ("human", "provenance", "llm")
"""Who gave a grade, strongest first: the order is the precedence rule."""

REDACTED = "[redacted]"
"""What stands where a text was taken out."""

RUN_STATUSES = ("running", "succeeded", "failed", "degraded")
SNAPSHOT_KINDS = ("target", "judge")
VERDICTS = ("supported", "partial", "missing", "contradicted", "malformed")
PLACES = ("evidence", "answer")
PAYLOADS = ("faithfulness", "answer_relevancy", "context_precision", "context_recall")
BETTER = ("higher", "lower", "none")
CACHE_MODES = ("off", "shadow", "enforce")

FEEDBACK_KINDS = ("classified", "corrected", "promoted", "dismissed")
CALL_KINDS = ("qrel", "assertion", "claim", "anchor")
CALL_STATUSES = ("ok", "malformed", "failed")
OVERRIDE_TABLES = ("qrels", "assertion_verdicts", "claims")
OVERRIDE_COLUMNS = ("grade", "verdict", "context_supported", "grounded", "correct")

QREL_SOURCES = ("human", "llm", "resolved")
GRANULARITIES = ("document", "chunk")
GRAINS = ("result", "run")
SCALES = ("linear", "log")
CI_METHODS = ("bca", "bca_analytic", "t_cr1")
CI_LABELS = ("insufficient items", "small sample", "ok")
UNITS = ("item", "cluster")
P_METHODS = ("exact", "monte_carlo")
ADJUST_METHODS = ("holm", "bh", "by")
FAMILIES = ("headline", "overall", "slices")
VERDICT_WORDS = (
    "insufficient_items",
    "improved",
    "regressed",
    "changed",
    "equivalent",
    "no_significant_change",
    "no_test",
)
BLOCKED_REASONS = ("judge_differs", "golden_set_differs", "running", "failed", "degraded")
ERROR_CLASSES = (
    "correct",
    "citation_error",
    "retrieval_miss",
    "stale",
    "conflict_mishandled",
    "incomplete",
    "hallucination",
)
RESULT_STATES = ("answered", "abstained", "no_answer", "errored", "no_result")
HEADLINE = (
    "accuracy",
    "groundedness",
    "citation_precision",
    "citation_recall",
    "retrieval_hit_rate",
    "recall_at_10",
    "ndcg_at_10",
    "mean_truthfulness",
)
"""The metrics that declare themselves headline, in the order they are shown to people."""

TRUTHFULNESS_LABELS = ("perfect", "acceptable", "missing", "incorrect")

RULE_KINDS = (
    "requirement",
    "regression",
    "non_inferiority",
    "max_drop",
    "floor",
    "must_pass",
    "no_open_alert",
)
OUTCOMES = ("pass", "fail", "inconclusive")
GATE_SEVERITIES = ("error", "warn")
CONFIRMATIONS = ("none", "suspected", "confirmed")
NIGHT_VERDICTS = ("ok", "slide", "drop", "judge_changed", "not_comparable", "warming_up")
CHART_VERDICTS = ("ok", "slide", "drop", "warming_up", "not_comparable")
ATTRIBUTIONS = ("system", "judge", "both", "none", "unattributed")

DOCUMENT_CHANGES = ("added", "removed", "changed")
DRIFT_VERDICTS = ("ok", "breach", "unknown")
ALERT_SEVERITIES = ("warn", "critical")
ALERT_KINDS = (
    "pending",
    "opened",
    "escalated",
    "deescalated",
    "reminder",
    "resolved",
    "acknowledged",
    "snoozed",
    "flapping",
)
ALERT_STATES = ("pending", "firing", "resolved")
DELIVERY_OUTCOMES = ("ok", "retry", "dead", "disabled")
