"""Loading what the answer path says of itself, and folders of texts, into a store."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import polars as pl
import pytest

from crucible_batch.assemble.load import load_cache, load_policy
from crucible_batch.errors import ConflictError

NOON = "2026-03-01T12:00:00Z"


def decision(number, **more):
    return {
        "decision_id": f"p{number}",
        "surface": "chat",
        "question": "Why?",
        "verdict": "answer",
        "created_at": NOON,
    } | more


@pytest.fixture
def policy(loads):
    def load(*rows, **options):
        paths = [loads.lines("decisions.jsonl", *rows)]
        return loads._checked(load_policy(loads.store, paths, **options))

    return load


def test_decisions_are_loaded_once(loads, policy, counted):
    report = policy(decision(1, confidence=0.5), decision(2), decision(2))
    assert counted(report, "policy_decisions") == (3, 2, 0, 1)
    assert loads.rows("policy_decisions", "decision_id", "confidence") == [
        ("p1", 0.5),
        ("p2", None),
    ]
    again = policy(decision(2), decision(3))
    assert counted(again, "policy_decisions") == (2, 1, 0, 1)
    assert not policy(decision(3), decision(2)).created


def test_bad_decisions_are_put_aside_and_the_good_ones_loaded(loads, policy, counted):
    report = policy(decision(1), decision(2, confidence=1.5), decision(3, created_at="2026-03-01"))
    assert counted(report, "policy_decisions") == (3, 1, 2, 0)
    assert sum("no time zone" in line for line in report.reasons) == 1


def test_what_two_bad_inputs_put_aside_stays_of_both(policy):
    """Their good rows are the same, none, so they are the same load; their bad rows are not."""
    first, second = (policy(decision(n, confidence=1.5 + n)) for n in (1, 2))
    aside = [pl.read_parquet(path) for path in (*first.quarantine, *second.quarantine)]
    assert [json.loads(frame["_row"].item())["decision_id"] for frame in aside] == ["p1", "p2"]


def test_a_decision_that_is_there_with_another_verdict_is_refused(policy):
    policy(decision(1))
    with pytest.raises(ConflictError, match=r"verdict is 'answer', the input says 'refuse'"):
        policy(decision(1, verdict="refuse"))


def test_a_dry_run_writes_nothing(loads, policy, counted):
    report = policy(decision(1), dry_run=True)
    assert counted(report, "policy_decisions") == (1, 1, 0, 0)
    assert loads.store.workspaces() == ()


def test_states_of_the_cache_are_loaded_with_their_entries(loads, counted):
    seen = loads.lines(
        "cache_observations.jsonl",
        {"observed_at": NOON, "mode": "shadow", "lookups": 8, "hits": 2},
    )
    entries = loads.lines(
        "cache_entries.jsonl", {"observed_at": NOON, "entry_id": "e", "has_embedding": True}
    )
    report = loads._checked(load_cache(loads.store, [seen, entries]))
    assert counted(report, "cache_observations") == counted(report, "cache_entries") == (1, 1, 0, 0)
    assert loads.rows("cache_observations", "observed_at", "hits") == [
        (datetime(2026, 3, 1, 12, tzinfo=UTC), 2)
    ]
    assert not load_cache(loads.store, [entries]).created


def test_an_observation_with_more_hits_than_lookups_is_put_aside(loads, counted):
    state = {"observed_at": NOON, "mode": "shadow", "lookups": 3}
    later = "2026-03-02T12:00:00Z"
    seen = loads.lines(
        "cache_observations.jsonl", state | {"hits": 5}, state | {"observed_at": later, "hits": 3}
    )
    report = loads._checked(load_cache(loads.store, [seen]))
    assert counted(report, "cache_observations") == (2, 1, 1, 0)
    assert "hits: more than lookups: 5 of 3" in report.reasons[0]


def test_a_state_of_the_cache_that_is_there_with_other_counters_is_named_by_its_time(loads):
    state = {"observed_at": NOON, "mode": "shadow", "lookups": 3, "hits": 0}
    load_cache(loads.store, [loads.lines("cache_observations.jsonl", state)])
    other = loads.lines("cache_observations.jsonl", state | {"hits": 1})
    with pytest.raises(ConflictError) as caught:
        load_cache(loads.store, [other])
    assert "observed_at 2026-03-01T12:00:00+00:00: hits is 0" in str(caught.value)


def test_a_folder_of_texts_is_a_corpus_version(loads, counted):
    loads.raw("corpus/a.md", b"One.\n")
    loads.raw("corpus/deep/b.txt", b"Two.\n")
    loads.raw("corpus/bad.md", b"---\nsource_updated_at: 2026-01-01\n---\nx\n")
    folder = loads.folder / "in" / "corpus"
    report = loads.corpus(folder, corpus_version="v1", observed_at=datetime(2026, 3, 1, tzinfo=UTC))
    assert counted(report, "documents") == (3, 2, 1, 0)
    assert loads.rows("documents", "doc_id") == ["a.md", "deep/b.txt"]
    assert loads.rows("corpus_versions", "complete", "n_documents") == [(False, 2)]
    assert "source_updated_at: no time zone: 2026-01-01" in report.reasons[0]
