"""Alerts of real scans: one commit with the evaluations, by the rules as they are now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from crucible_batch.assemble.alerts import alerts_follow, list_alerts
from crucible_batch.assemble.alerts.follow import _understood
from crucible_batch.assemble.drift import scan_drift
from crucible_batch.settings.thresholds import Limit, Threshold

MAY = datetime(2026, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)
CHURN = '[staleness]\nmax_document_age = "never"\n[[thresholds]]\nid = "churn"\n'
CHURN += 'metric = "doc_churn_ratio"\nwarn = {op = ">", value = 0.10, clear = 0.07}\n'
OTHER = CHURN.replace('"churn"', '"other"').replace("0.10", "0.90")
OPS = '[[webhooks]]\nname = "ops"\nurl = "https://hooks.example/x"\nsecret_env = "OPS"\n'


@pytest.fixture
def watched(loads, monkeypatch):
    """Two versions of a corpus whose documents changed by half, and a rule on that."""
    monkeypatch.setattr("crucible_batch.store.catalog.is_current", lambda *_: True)
    loads.store.workspace("default", create=True)
    settings(loads, CHURN + OPS)
    corpus(loads, "v1", "abcd", MAY - 2 * DAY)
    corpus(loads, "v2", "abef", MAY - DAY)
    return loads


def settings(loads, text):
    (loads.store.root / "default" / "settings.toml").write_text(text, encoding="utf-8")


def corpus(loads, version, names, seen):
    rows = [{"doc_id": n, "content_hash": n * 64, "hash_version": "v"} for n in names]
    path = loads.parquet("documents.parquet", rows)
    loads.corpus(path, corpus_version=version, observed_at=seen)


def scan(loads, night):
    return scan_drift(
        loads.store,
        "default",
        as_of=MAY + night * DAY,
        follow=alerts_follow(loads.store, "default"),
    )


def test_alerts_of_a_corpus_open_stay_and_end(watched):
    for night in (0, 1):
        assert scan(watched, night).created
    corpus(watched, "v3", "abef", MAY + 1.5 * DAY)
    for night in (2, 3):
        scan(watched, night)
    kinds = watched.rows("alert_events", "occurred_at", "kind")
    assert sorted(kinds) == [(MAY, "opened"), (MAY + 3 * DAY, "resolved")]
    assert len(watched.rows("deliveries")) == 2


def test_evaluations_events_and_deliveries_are_one_commit_and_a_replay_writes_nothing(watched):
    done = scan(watched, 0)
    tables = ("drift_evaluations", "alert_events", "deliveries")
    snapshot = watched.store.workspace("default").snapshot()
    for table in tables:
        assert set(snapshot.read(table).collect()["_commit"]) == {done.commit}
    assert not scan(watched, 0).created
    assert watched.store.workspace("default").snapshot().seq == done.commit


def test_a_rule_that_is_taken_out_ends_its_alert(watched):
    scan(watched, 0)
    settings(watched, OTHER)
    scan(watched, 1)
    assert list_alerts(watched.store.workspace("default").snapshot()).is_empty()
    (_, reason), *_ = watched.store.sql("SELECT rule_id, resolve_reason FROM alerts").rows()
    assert reason == "rule_removed"


RULE = Threshold(
    id="r",
    metric="doc_churn_ratio",
    warn=Limit(op=">", value=0.1, clear=0.07),
    critical=Limit(op=">", value=0.2, clear=0.15),
    raise_after=2,
    renotify_after=DAY,
)


def row(value, verdict, severity=None, **more):
    return {
        "workspace_id": "w",
        "scan_id": "s",
        "rule_id": "r",
        "labels": '{"t":"x"}',
        "as_of": MAY,
        "statistic": "doc_churn_ratio",
        "value": value,
        "operator": ">",
        "threshold": 0.1,
        "critical": None,
        "severity": severity,
        "verdict": verdict,
        "reason": None,
    } | more


@pytest.mark.parametrize(
    ("stored", "held"),
    [
        (row(0.30, "breach", "critical"), "critical"),
        (row(0.18, "breach", "warn"), "critical"),
        (row(0.12, "breach", "warn"), "warn"),
        (row(0.09, "ok"), "warn"),
        (row(0.07, "ok"), None),
        (row(0.01, "ok"), None),
        (row(None, "unknown"), None),
        (row(0.30, "ok", reason="within_noise", critical=0.4), None),
        (row(0.05, "breach", "critical"), "critical"),  # by a limit that was stricter then
    ],
)
def test_a_stored_evaluation_is_read_by_the_limits_of_now(stored, held):
    found = _understood(stored, RULE)
    assert found is not None
    assert (found.held, found.verdict) == (held, stored["verdict"])
    assert (found.counts.raise_after, found.counts.renotify_after) == (2, DAY)
    assert found.condition.labels == (("t", "x"),)


def test_a_stored_evaluation_of_something_else_is_not_read():
    assert _understood(row(0.3, "ok"), None) is None
    assert _understood(row(0.3, "ok", statistic="orphan_rate"), RULE) is None
