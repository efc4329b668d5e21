"""`crucible drift`: what it prints, its JSON, and its exit codes."""

from __future__ import annotations

import json

import pytest

CHURN = """\
[[thresholds]]
id = "churn"
metric = "doc_churn_ratio"
warn = {op = ">", value = 0.10, clear = 0.07}
"""


def documents(file, name, *hashes):
    rows = ({"doc_id": f"d{n}", "content_hash": h, "hash_version": "v"} for n, h in hashes)
    return file(name, *rows)


@pytest.fixture
def corpus(golden, crucible, file):
    """The store holds two versions of a corpus, observed on two days."""
    for version, hashes in (("v1", [(1, "a"), (2, "b")]), ("v2", [(1, "a"), (3, "c")])):
        path = documents(file, f"documents-{version}.jsonl", *hashes)
        done = crucible(
            "load", "corpus", path, "--corpus-version", version,
            "--observed-at", f"2026-04-0{version[1]}T00:00:00Z",
        )  # fmt: skip
        assert done.code == 0, done.err
    return golden


def test_a_scan_says_what_moved_and_a_replay_says_so(crucible, corpus):
    (corpus / "default" / "settings.toml").write_text(CHURN)
    done = crucible("drift", "scan", "--as-of", "2026-05-01")
    assert done.code == 0
    assert "corpus v2 as of 2026-05-02 00:00 UTC: 2 documents" in done.out
    assert "1 added, 1 removed, 0 changed (churn 66.7%)" in done.out
    assert "✕ churn: doc_churn_ratio is 0.666667, limit > 0.1: breach warn" in done.out
    assert "? document_age: document_age unknown (no_timestamps)" in done.out
    again = crucible("drift", "scan", "--as-of", "2026-05-01")
    assert (again.code, "nothing was written (no-op)" in again.out) == (0, True)


def test_explain_shows_every_rule_of_the_last_scan_by_then(crucible, corpus):
    assert crucible("drift", "explain").code == 3
    crucible("drift", "scan", "--as-of", "2026-04-01T12:00:00Z")
    crucible("drift", "scan", "--as-of", "2026-05-01")
    done = crucible("drift", "explain", "--as-of", "2026-04-30")
    assert done.code == 0
    assert "corpus v1 as of 2026-04-01 12:00 UTC" in done.out
    (row,) = (line for line in done.out.splitlines() if " documents-lost " in line)
    assert row.split() == [
        "?", "documents-lost", "—", "doc_count_change", "—", "<", "−0.1", "2",
        "unknown", "(first_snapshot)",
    ]  # fmt: skip


def test_json_is_one_object_per_line(crucible, corpus):
    done = crucible("drift", "scan", "--as-of", "2026-05-01", "--json")
    scan = json.loads(done.out)
    assert scan["created"] is True
    assert scan["snapshot"]["corpus_version"] == "v2"
    assert crucible("drift", "explain", "--json").json["evaluations"] == scan["evaluations"]


def test_without_a_corpus_there_is_nothing_to_judge(crucible, golden):
    done = crucible("drift", "scan")
    assert done.code == 3
    assert "has no complete corpus version" in done.out


def test_a_wrong_version_a_wrong_time_and_wrong_rules_are_usage_errors(crucible, corpus):
    assert crucible("drift", "scan", "--corpus-version", "v3").code == 2
    assert crucible("drift", "scan", "--as-of", "yesterday").code == 2
    (corpus / "default" / "settings.toml").write_text(CHURN.replace("doc_churn_ratio", "churn"))
    done = crucible("drift", "scan")
    assert done.code == 2
    assert "line 3: thresholds.1.metric: no such value (got 'churn')" in done.err
