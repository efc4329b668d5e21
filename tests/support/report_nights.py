"""Builders of what a night adds to a report: charts, rules, alerts, notices, the answer path.

two_runs(**a_night(n_nights=12))     # a warmed-up chart whose last night is a drop
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import polars as pl
from report_tables import AS_OF, HEADLINE, frame, item

from crucible_batch.report.figures import Badge, GateRule, GateSummary, InputFile
from crucible_batch.report.inputs import DEAD_DELIVERIES

WINDOW = 8


def night_of(n_nights: int, number: int) -> datetime:
    """The as_of of the night of a number, from 0; the last one is that of the report."""
    return AS_OF - timedelta(days=n_nights - 1 - number)


def night_row(as_of: datetime, number: int, metric: str, **more: Any) -> dict[str, Any]:
    """A row of `nightly_metrics`; the charts run after the window."""
    charted = number >= WINDOW
    delta = (number % 3 - 1) / 100
    return {
        "as_of": as_of,
        "candidate_run_id": f"run-{number:02}",
        "metric": metric,
        "slice_by": "all",
        "slice": "all",
        "delta": delta,
        "ewma": delta / 5 if charted else None,
        "slide_limit": -0.012 if charted else None,
        "drop_limit": -0.04 if charted else None,
        "center": 0.001 if charted else None,
        "sigma": 0.0098 if charted else None,
        "lag1": -0.31 if charted else None,
        "n_baseline_nights": min(number + 1, WINDOW),
        "verdict": "ok" if charted else "warming_up",
        **more,
    }


def night_rows(n_nights: int, **last: Any) -> list[dict[str, Any]]:
    """Nights of every headline metric; `last` changes the last one."""
    return [
        night_row(
            night_of(n_nights, number),
            number,
            metric,
            **(last if number == n_nights - 1 else {}),
        )
        for number in range(n_nights)
        for metric in HEADLINE
    ]


def rule_row(rule_id: str, **more: Any) -> dict[str, Any]:
    """A row of `drift_evaluations`: a rule that holds."""
    return {
        "scan_id": "scan",
        "rule_id": rule_id,
        "labels": "{}",
        "as_of": AS_OF,
        "statistic": "doc_churn_ratio",
        "value": 0.125,
        "operator": ">",
        "threshold": 0.3,
        "n_reference": 40,
        "n_current": 44,
        "verdict": "ok",
        **more,
    }


def alert_row(fingerprint: str, **more: Any) -> dict[str, Any]:
    """A row of `alerts`: one that fires since a day."""
    return {
        "fingerprint": fingerprint,
        "rule_id": "churn",
        "labels": '{"entity_type":"person"}',
        "state": "firing",
        "severity": "warn",
        "episode": 1,
        "opened_at": AS_OF - timedelta(days=1),
        **more,
    }


def dead_row(event_id: str, **more: Any) -> dict[str, Any]:
    """A notice that was given up."""
    return {
        "event_id": event_id,
        "fingerprint": "f1",
        "kind": "opened",
        "severity": "warn",
        "endpoint": "ops",
        "state": "dead",
        "n_tries": 10,
        "last_at": AS_OF - timedelta(hours=2),
        "last_status": 500,
        "last_error": "HTTP 500",
        **more,
    }


def dead(*rows: dict[str, Any]) -> pl.DataFrame:
    """Notices that were given up, as a table."""
    return pl.DataFrame(rows, schema=DEAD_DELIVERIES)


def document_rows(metric: str, n_items: int, per_item: int = 6) -> list[dict[str, Any]]:
    """Rows of `comparison_documents`: of every item so many documents changed places."""
    return [
        {
            "comparison_id": "c" * 64,
            "metric": metric,
            "item_id": item(k),
            "doc_id": f"document-{d}",
            "rank_baseline": d + 1,
            "rank_candidate": d + 2,
            "grade": d % 4,
            "contribution": -(d + 1) / 100,
        }
        for k in range(n_items)
        for d in range(per_item)
    ]


def gate_summary(**more: Any) -> GateSummary:
    """A gate that passed, with a rule that warns."""
    rules = (
        GateRule("ranking", Badge("✓", "pass", "good"), "error", "no significant change"),
        GateRule("citations", Badge("✕", "fail", "bad"), "warn", "regressed: −0.080, n 60"),
    )
    facts = {"line": "gate PASS  exit 0  cand against base  2 rules", "rules": rules, **more}
    return GateSummary(outcome=Badge("✓", "pass", "good"), **facts)


def a_night(n_nights: int = 12, *, n_items: int = 60) -> dict[str, Any]:
    """What a whole night adds to the inputs of a report; its last night is a drop."""
    slices = [
        night_row(
            AS_OF,
            n_nights - 1,
            "ndcg_at_10",
            slice_by="tag",
            slice=f"tag-{k}",
            delta=-0.2 - k / 100,
            verdict="drop",
        )
        for k in range(8)
    ]
    return {
        "nightly_metrics": frame(
            "nightly_metrics", night_rows(n_nights, delta=-0.107, verdict="drop") + slices
        ),
        "charts_said": ("DROP: ndcg_at_10, since 2025-03-01, delta −0.107, limit −0.040",),
        "comparison_documents": frame(
            "comparison_documents", document_rows("recall_at_10", n_items)
        ),
        "drift_snapshots": frame(
            "drift_snapshots",
            [{"snapshot_id": "s", "corpus_version": "v2", "doc_count": 44, "entity_count": 10}],
        ),
        "drift_evaluations": frame(
            "drift_evaluations",
            [
                rule_row("churn"),
                rule_row(
                    "age",
                    statistic="document_age",
                    value=831_600.0,
                    threshold=604_800.0,
                    severity="warn",
                    verdict="breach",
                ),
                rule_row("lost", value=None, verdict="unknown", reason="first_snapshot"),
                rule_row("gone", value=0.9, severity="critical", verdict="breach"),
            ],
        ),
        "alerts": frame(
            "alerts",
            [
                alert_row("f1"),
                alert_row("f2", severity="critical", episode=2, acknowledged=True),
                alert_row("f3", state="resolved", resolved_at=AS_OF),
            ],
        ),
        "dead_deliveries": dead(
            dead_row("evt_1"), dead_row("evt_2", state="disabled", endpoint="b")
        ),
        "judge_drift": frame(
            "judge_drift",
            [
                {
                    "as_of": AS_OF,
                    "judge": "m@1",
                    "n_anchors": 30,
                    "n_flips": 1,
                    "f0": 0.02,
                    "p_flip": 0.45,
                    "e_value": 1.2345,
                    "attribution": "none",
                }
            ],
        ),
        "policy_stats": frame(
            "policy_stats",
            [
                {
                    "scan_id": "scan",
                    "surface": "chat",
                    "verdict": verdict,
                    "n": n,
                    "share": n / 2_000,
                    "mean_confidence": confidence,
                }
                for verdict, n, confidence in (
                    ("answer", 1_234, 0.81),
                    ("proceed", 600, 0.62),
                    ("abstain_low", 120, None),
                    ("clarify", 46, 0.4),
                )
            ],
        ),
        "cache_stats": frame(
            "cache_stats",
            [
                {
                    "scan_id": "scan",
                    "observed_at": AS_OF,
                    "hit_rate": 0.305,
                    "active": 1_040,
                    "with_embedding": 20,
                    "invalidated": 3,
                    "expired": 7,
                    "mode": "shadow",
                }
            ],
        ),
        "gate": gate_summary(notes=("dead deliveries: 1 notice to ops given up",)),
        "files": (InputFile("golden.jsonl", "golden set", "ab" * 32),),
    }
