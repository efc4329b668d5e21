from __future__ import annotations

from datetime import UTC, datetime

import pytest

from crucible_batch.errors import ConflictError, ContractError, UsageError

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
THEN = datetime(2026, 1, 1, tzinfo=UTC)


def documents(loads, *names, **more):
    rows = [{"doc_id": n, "content_hash": f"h{n}", "hash_version": "1", **more} for n in names]
    return loads.parquet("documents.parquet", rows)


def entities(loads, *names):
    rows = [{"entity_id": name, "entity_type": "person"} for name in names]
    return loads.parquet("entities.parquet", rows)


def mentions(loads, *pairs):
    return loads.parquet("mentions.parquet", [{"entity_id": e, "doc_id": d} for e, d in pairs])


def test_a_version_is_stored_with_its_counts_and_its_place(loads, counted):
    report = loads.corpus(
        documents(loads, "a", "b"),
        entities(loads, "e"),
        mentions(loads, ("e", "a")),
        loads.parquet("chunks.parquet", [{"chunk_id": "c", "doc_id": "a"}]),
        corpus_version="v1",
        observed_at=THEN,
    )
    assert counted(report, "documents") == (2, 2, 0, 0)
    assert report.facts == {"corpus_version": "v1"}
    row = loads.rows("corpus_versions")[0]
    del row["workspace_id"]
    assert row == {
        "corpus_version": "v1",
        "seq": 1,
        "observed_at": THEN,
        "complete": True,
        "n_documents": 2,
        "n_entities": 1,
    }
    loads.corpus(documents(loads, "a"), corpus_version="v2")
    assert loads.rows("corpus_versions", "seq", "observed_at") == [(1, THEN), (2, NOON)]


def test_a_version_loaded_again_is_a_no_op_and_another_content_is_refused(loads):
    loads.corpus(documents(loads, "a", "b"), corpus_version="v1")
    assert not loads.corpus(documents(loads, "b", "a"), corpus_version="v1").created
    with pytest.raises(ConflictError, match="1 only in the input, 0 only in the store"):
        loads.corpus(documents(loads, "a", "b", "c"), corpus_version="v1")
    with pytest.raises(ConflictError, match="content_hash is 'ha', the input says 'x'"):
        loads.corpus(documents(loads, "a", "b", content_hash="x"), corpus_version="v1")
    with pytest.raises(ConflictError, match="observed_at"):
        loads.corpus(documents(loads, "a", "b"), corpus_version="v1", observed_at=THEN)


def test_mentions_of_unknown_entities_are_put_aside(loads, counted):
    report = loads.corpus(
        documents(loads, "a"),
        entities(loads, "e"),
        mentions(loads, ("e", "a"), ("ghost", "a")),
        corpus_version="v1",
    )
    assert counted(report, "mentions") == (2, 1, 1, 0)
    assert "unknown_entity: ghost" in report.reasons[0]


def test_mentions_may_follow_in_a_load_of_their_own(loads, counted):
    loads.corpus(documents(loads, "a"), entities(loads, "e"), corpus_version="v1")
    report = loads.corpus(mentions(loads, ("e", "a")), corpus_version="v1")
    assert counted(report, "mentions") == (1, 1, 0, 0)


def test_entities_that_would_change_the_counts_of_a_complete_version_are_refused(loads):
    loads.corpus(documents(loads, "a"), corpus_version="v1")
    with pytest.raises(ContractError, match="n_entities is 0, the input has 1"):
        loads.corpus(entities(loads, "e"), corpus_version="v1")


def test_a_version_with_bad_documents_counts_as_partial(loads, counted):
    bad = loads.lines(
        "documents.jsonl",
        {"doc_id": "a", "content_hash": "h", "hash_version": "1"},
        {"doc_id": "b", "content_hash": None, "hash_version": "1"},
    )
    report = loads.corpus(bad, corpus_version="v1")
    assert counted(report, "documents") == (2, 1, 1, 0)
    assert any("partial" in message for message in report.messages)
    assert loads.rows("corpus_versions", "complete", "n_documents") == [(False, 1)]
    assert not loads.corpus(bad, corpus_version="v1").created
    with pytest.raises(ContractError, match="said to be complete"):
        loads.corpus(
            bad,
            loads.parquet("corpus_versions.parquet", [{"corpus_version": "2", "complete": True}]),
        )


def test_a_version_without_one_good_document_is_refused(loads):
    bad = {"doc_id": "a", "content_hash": None, "hash_version": "1"}
    with pytest.raises(ContractError, match="1 of 1 rows"):
        loads.corpus(loads.lines("documents.jsonl", bad), corpus_version="v1")
    assert loads.rows("corpus_versions") == []


def test_the_version_must_be_clear(loads):
    with pytest.raises(UsageError, match="--corpus-version V"):
        loads.corpus(documents(loads, "a"))
    with pytest.raises(ContractError, match="corpus_version is 'v2'"):
        loads.corpus(documents(loads, "a", corpus_version="v2"), corpus_version="v1")
    loads.corpus(documents(loads, "a", corpus_version="v2"))
    assert loads.rows("corpus_versions", "corpus_version") == ["v2"]


def test_a_partial_listing_says_so(loads):
    loads.corpus(documents(loads, "a"), corpus_version="v1", partial=True)
    assert loads.rows("corpus_versions", "complete") == [False]


def test_stated_counts_must_be_true(loads):
    stated = [{"corpus_version": "v1", "n_documents": 3}]
    table = loads.parquet("corpus_versions.parquet", stated)
    with pytest.raises(ContractError, match="n_documents is 3, the input has 1"):
        loads.corpus(documents(loads, "a"), table)


def test_a_time_needs_a_zone(loads):
    with pytest.raises(UsageError, match="no time zone"):
        loads.corpus(
            documents(loads, "a"), corpus_version="v", observed_at=NOON.replace(tzinfo=None)
        )
