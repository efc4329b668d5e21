"""Scans of a store: one commit, replays that write nothing, and what is said of the last one."""

from __future__ import annotations

import polars as pl
import pytest
from drift_scans import CHURN, DAY, MAY, corpus, n_commits, rules, two_versions, verdicts

from crucible_batch.assemble.drift import (
    latest_scan,
    scan_drift,
    scan_json,
    scan_lines,
    scan_text,
    snapshot_corpus,
)
from crucible_batch.contracts import TABLES
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.store import Plan

# --- one commit


def test_a_scan_is_one_commit_of_snapshot_and_evaluations(watched):
    two_versions(watched)
    rules(watched, CHURN)
    before = n_commits(watched)
    scan = scan_drift(watched.store, "default", as_of=MAY)
    assert scan.created
    assert n_commits(watched) == before + 1
    commit = watched.rows("commits")[-1]
    assert commit["tables"] == ["drift_documents", "drift_evaluations", "drift_snapshots"]
    assert (commit["kind"], commit["idempotency_key"]) == (
        "drift.scan", f"scan-{scan.facts.scan_id}",
    )  # fmt: skip
    (row,) = watched.rows("drift_evaluations")
    assert row | {"value": None} == {
        "workspace_id": "default", "scan_id": scan.facts.scan_id, "rule_id": "churn",
        "labels": "{}", "snapshot_id": scan.snapshot.row["snapshot_id"], "as_of": MAY,
        "statistic": "doc_churn_ratio", "value": None, "operator": ">", "threshold": 0.10,
        "critical": None, "n_reference": 10, "n_current": 10, "severity": "warn",
        "verdict": "breach", "reason": None,
    }  # fmt: skip
    assert row["value"] == 4 / 12


def test_a_replay_writes_nothing_and_says_so(watched):
    two_versions(watched)
    rules(watched, CHURN)
    first = scan_drift(watched.store, "default", as_of=MAY)
    before = n_commits(watched)
    again = scan_drift(watched.store, "default", as_of=MAY)
    assert (again.created, again.commit, n_commits(watched)) == (False, first.commit, before)
    assert again.evaluations.equals(first.evaluations)
    assert again.facts == first.facts
    assert "nothing was written (no-op)" in scan_text(again)
    assert "no-op" not in scan_text(first)


def test_a_new_time_always_writes_its_row_and_evaluations(watched):
    corpus(watched, "v1", "abc", seen=MAY - DAY)
    for night in range(3):
        assert scan_drift(watched.store, "default", as_of=MAY + night * DAY).created
    ages = pl.DataFrame(watched.rows("drift_evaluations")).filter(rule_id="document_age")
    assert ages.sort("as_of")["value"].to_list() == [86_400, 2 * 86_400, 3 * 86_400]


def test_other_rules_are_another_scan_of_the_same_snapshot(watched):
    two_versions(watched)
    rules(watched, CHURN)
    first = scan_drift(watched.store, "default", as_of=MAY)
    rules(watched, CHURN.replace("0.10", "0.40"))
    other = scan_drift(watched.store, "default", as_of=MAY)
    assert other.created
    assert other.facts.scan_id != first.facts.scan_id
    assert other.facts.snapshot_id == first.facts.snapshot_id
    assert len(watched.rows("drift_snapshots")) == 1
    assert (verdicts(first), verdicts(other)) == ({"churn": "breach"}, {"churn": "ok"})


def test_a_snapshot_that_is_there_is_not_written_again(watched):
    two_versions(watched)
    taken = snapshot_corpus(watched.store, "default", as_of=MAY)
    scan = scan_drift(watched.store, "default", as_of=MAY)
    assert scan.created
    assert scan.snapshot.row == taken.row


def test_what_follows_is_in_the_same_commit_and_sees_the_lake_before_it(watched):
    two_versions(watched)
    rules(watched, CHURN)
    seen = []

    def follow(lake, facts, evaluations):
        seen.append((lake.seq, facts.scan_id, [one.verdict for one in evaluations]))
        event = dict.fromkeys(TABLES["audit_log"].names) | {
            "workspace_id": "default", "event_id": facts.scan_id, "action": "drift.alert",
            "target": "churn", "actor": "watch", "occurred_at": facts.as_of, "detail": "{}",
        }  # fmt: skip
        frame = pl.DataFrame([event], schema=TABLES["audit_log"].schema)
        return Plan(events={"audit_log": frame}, messages=("said once",))

    before = watched.store.workspace("default").snapshot().seq
    scan = scan_drift(watched.store, "default", as_of=MAY, follow=follow)
    assert seen == [(before, scan.facts.scan_id, ["breach"])]
    assert "audit_log" in watched.rows("commits")[-1]["tables"]
    assert scan_lines(scan)[-1] == "said once"
    assert scan_json(scan)["messages"] == ["said once"]
    again = scan_drift(watched.store, "default", as_of=MAY, follow=follow)
    assert again.messages == ()
    assert len(seen) == 1


def test_a_writer_that_was_faster_makes_what_follows_be_asked_again(watched):
    two_versions(watched)
    rules(watched, CHURN)
    seqs = []

    def follow(lake, facts, evaluations):
        seqs.append(lake.seq)
        if len(seqs) == 1:
            corpus(watched, "v3", "x", seen=MAY + DAY)
        return Plan()

    assert scan_drift(watched.store, "default", as_of=MAY, follow=follow).created
    assert len(seqs) == 2
    assert seqs[1] > seqs[0]


def test_without_a_complete_version_there_is_no_scan(watched):
    corpus(watched, "half", "ab", seen=MAY - DAY, partial=True)
    before = n_commits(watched)
    assert scan_drift(watched.store, "default", as_of=MAY) is None
    assert n_commits(watched) == before


def test_wrong_names_and_times_are_refused(watched):
    two_versions(watched)
    with pytest.raises(UsageError, match="has no time zone"):
        scan_drift(watched.store, "default", as_of=MAY.replace(tzinfo=None))
    with pytest.raises(UnknownNameError, match="No corpus version is called 'v9'"):
        scan_drift(watched.store, "default", as_of=MAY, corpus_version="v9")


# --- what is said


def test_the_last_scan_by_then_is_found_and_printed_as_json(watched):
    corpus(watched, "v1", "abc", seen=MAY - DAY)
    assert latest_scan(watched.store, "default", as_of=MAY) is None
    first = scan_drift(watched.store, "default", as_of=MAY)
    scan_drift(watched.store, "default", as_of=MAY + 2 * DAY)
    found = latest_scan(watched.store, "default", as_of=MAY + DAY)
    assert found.facts == first.facts
    content = scan_json(found)
    assert content["snapshot"]["as_of"] == "2026-05-01T00:00:00+00:00"
    assert {row["rule_id"] for row in content["evaluations"]} >= {"churn", "document_age"}
    assert all(row["labels"] == {} for row in content["evaluations"])
