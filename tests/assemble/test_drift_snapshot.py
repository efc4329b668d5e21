"""Snapshots of the corpus: the worked examples of the definitions, and what a store keeps."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta, timezone

import polars as pl
import pytest

from crucible_batch.assemble.drift import corpus_snapshot, snapshot_corpus, why_no_snapshot
from crucible_batch.assemble.example import OBSERVED_AT, example_dir
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.validate import pandera_schema
from crucible_batch.errors import ContractError, UnknownNameError, UsageError

DAY = timedelta(days=1)
NIGHT = datetime(2026, 5, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
TABLE_NAMES = ("drift_snapshots", "drift_entity_counts", "drift_documents")

DOCUMENT = {
    "doc_id": pl.String(),
    "content_hash": pl.String(),
    "hash_version": pl.String(),
    "source_updated_at": pl.Datetime("us", "UTC"),
}


def documents(text, *times, version="v"):
    """`d1:h1 d2:h2`: documents and their hashes; source times in the same order."""
    pairs = [word.split(":") for word in text.split()]
    return pl.DataFrame(
        {
            "doc_id": [doc_id for doc_id, _ in pairs],
            "content_hash": [content_hash for _, content_hash in pairs],
            "hash_version": version,
            "source_updated_at": [*times, *[None] * (len(pairs) - len(times))],
        },
        schema=DOCUMENT,
    )


def entities(**types):
    schema = {"entity_id": pl.String, "entity_type": pl.String}
    return pl.DataFrame(list(types.items()), schema=schema, orient="row")


def mentions(*names):
    return pl.DataFrame({"entity_id": names}, schema={"entity_id": pl.String})


def taken(now, before=None, *, entity=None, mention=None, **options):
    given = {"workspace_id": "w", "corpus_version": "v2", "as_of": NIGHT} | options
    return corpus_snapshot(
        now,
        before,
        entities() if entity is None else entity,
        mentions() if mention is None else mention,
        **given,
    )


def counts(found):
    names = ("added", "removed", "changed", "churn", "churn_ratio", "moved")
    return tuple(found.row[f"doc_{name}"] for name in names)


# --- the definitions, on frames


def test_the_worked_example_of_churn():
    before = documents("d1:h1 d2:h2 d3:h3 d4:h4")
    found = taken(documents("d2:h2 d3:h3x d4:h4 d5:h5 d6:h6"), before)
    assert counts(found) == (2, 1, 1, 4, 4 / 6, 0)
    assert round(found.row["doc_churn_ratio"], 4) == 0.6667
    assert (found.row["doc_count"], found.row["reason"]) == (5, None)
    assert found.documents.select("doc_id", "change", "moved_from").rows() == [
        ("d1", "removed", None),
        ("d3", "changed", None),
        ("d5", "added", None),
        ("d6", "added", None),
    ]


def test_a_first_snapshot_has_no_churn_and_no_documents_and_says_why():
    found = taken(documents("d1:h1"))
    assert counts(found) == (None,) * 6
    assert found.row["reason"] == "first_snapshot"
    assert found.documents.is_empty()


def test_a_previous_version_without_documents_is_not_a_first_snapshot():
    assert counts(taken(documents("d1:h1"), documents(""))) == (1, 0, 0, 1, 1.0, 0)


def test_two_empty_versions_have_a_churn_of_zero_and_no_ratio():
    assert counts(taken(documents(""), documents(""))) == (0, 0, 0, 0, None, 0)


def test_a_moved_document_stays_inside_added_and_removed():
    found = taken(documents("new:h1 d2:h2"), documents("old:h1 d2:h2"))
    assert counts(found) == (1, 1, 0, 2, 2 / 3, 1)
    assert found.documents.select("doc_id", "change", "moved_from").rows() == [
        ("new", "added", "old"),
        ("old", "removed", None),
    ]


def test_a_changed_hash_version_is_never_churn():
    before = documents("d1:h1 d2:h2 d3:h3", version="v")
    found = taken(documents("d2:x2 d3:x3 d4:x4", version="w"), before)
    assert counts(found) == (1, 1, None, None, None, None)
    assert found.row["reason"] == "hash_version_changed"
    assert found.documents["change"].to_list() == ["removed", "added"]


def test_changes_that_are_certain_are_listed_although_their_number_is_not_known():
    before = documents("d1:h1 d2:h2")
    now = pl.concat([documents("d1:x1"), documents("d2:x2", version="w")])
    found = taken(now, before)
    assert found.row["doc_changed"] is None
    assert found.documents.select("doc_id", "change").rows() == [("d1", "changed")]


def test_orphans_are_entities_without_a_mention():
    listed = entities(a="tool", b="person", c="tool")
    found = taken(documents("d:h"), entity=listed, mention=mentions("a", "a", "ghost"))
    row = found.row
    assert (row["entity_count"], row["orphan_count"], row["orphan_rate"]) == (3, 2, 2 / 3)
    assert found.entity_counts.select("entity_type", "n").rows() == [("person", 1), ("tool", 2)]


def test_without_entities_the_orphan_rate_is_null_and_not_zero():
    row = taken(documents("d:h")).row
    assert (row["entity_count"], row["orphan_count"], row["orphan_rate"]) == (0, 0, None)


@pytest.mark.parametrize(
    ("times", "newest", "n_future"),
    [
        ((NIGHT - 30 * DAY, datetime(2099, 1, 1, tzinfo=UTC)), NIGHT - 30 * DAY, 1),
        ((NIGHT + 3 * MINUTE,), NIGHT + 3 * MINUTE, 0),
        ((NIGHT + 5 * MINUTE,), NIGHT + 5 * MINUTE, 0),
        ((NIGHT - DAY, NIGHT + 5 * MINUTE + timedelta(microseconds=1)), NIGHT - DAY, 1),
        ((NIGHT + DAY,), None, 1),
        ((None, NIGHT), NIGHT, 0),
        ((None, None), None, 0),
        ((), None, 0),
    ],
)
def test_the_newest_time_is_not_in_the_future_and_later_ones_are_counted(times, newest, n_future):
    text = " ".join(f"d{number}:h" for number in range(len(times)))
    row = taken(documents(text, *times)).row
    assert (row["newest_document_at"], row["future_document_count"]) == (newest, n_future)


def test_the_skew_of_clocks_can_be_chosen():
    now = documents("d:h", NIGHT + MINUTE)
    assert taken(now, clock_skew=timedelta(0)).row["future_document_count"] == 1
    with pytest.raises(UsageError, match="clock_skew is -1 day"):
        taken(now, clock_skew=-DAY)


def test_naive_times_are_refused():
    with pytest.raises(UsageError, match=r"as_of 2026-05-01T00:00:00 has no time zone[^$]*Fix"):
        taken(documents("d:h"), as_of=NIGHT.replace(tzinfo=None))
    naive = documents("d:h", NIGHT).with_columns(
        pl.col("source_updated_at").dt.replace_time_zone(None)
    )
    with pytest.raises(UsageError, match="source_updated_at has no time zone"):
        taken(naive)


def test_the_digest_is_of_the_sorted_lines_of_what_is_there():
    now = documents("é:h2 d:h1")
    found = taken(now, entity=entities(b="tool", a="tool"), mention=mentions("b"))
    lines = "document\td\th1\ndocument\té\th2\ntype\ttool\t2\nentity\ta\tfalse\nentity\tb\ttrue\n"
    assert found.row["digest"] == hashlib.sha256(lines.encode()).hexdigest()


@pytest.mark.parametrize(
    "other",
    [
        {"now": documents("d:other")},
        {"now": documents("e:h")},
        {"entity": entities(a="person")},
        {"entity": entities(b="tool")},
        {"mention": mentions()},
    ],
)
def test_the_digest_changes_with_whatever_it_speaks_of(other):
    given = {"now": documents("d:h"), "entity": entities(a="tool"), "mention": mentions("a")}
    assert taken(**given).row["digest"] != taken(**(given | other)).row["digest"]


def test_the_digest_knows_of_no_time_and_no_previous_version():
    found = taken(documents("d:h"))
    later = taken(documents("d:h", NIGHT), documents("e:h"), as_of=NIGHT + DAY)
    assert found.row["digest"] == later.row["digest"]


def test_the_id_is_of_version_time_and_digest():
    now = documents("d:h")
    ids = {
        taken(now).row["snapshot_id"],
        taken(now, as_of=NIGHT + MINUTE).row["snapshot_id"],
        taken(now, corpus_version="v3").row["snapshot_id"],
        taken(documents("d:x")).row["snapshot_id"],
    }
    assert len(ids) == 4
    same_moment = NIGHT.astimezone(timezone(timedelta(hours=2)))
    again = taken(now, documents("e:h"), as_of=same_moment, workspace_id="other")
    assert again.row["snapshot_id"] == taken(now).row["snapshot_id"]
    assert again.row["as_of"].utcoffset() == timedelta(0)


def test_the_rows_keep_their_contracts():
    before = documents("old:h1 d2:h2 d3:h3")
    found = taken(documents("new:h1 d2:x", NIGHT), before, entity=entities(a="tool"))
    for name, frame in found.events().items():
        assert frame.height, name
        pandera_schema(TABLES[name]).validate(frame, lazy=True)


# --- the store


def load(loads, version, text, *, seen=NIGHT - DAY, listed=None, mentioned=(), **options):
    rows = documents(text, *options.pop("times", ())).to_dicts()
    paths = [loads.parquet("documents.parquet", rows)]
    if listed:
        listed_rows = [{"entity_id": name, "entity_type": kind} for name, kind in listed.items()]
        paths.append(loads.parquet("entities.parquet", listed_rows))
    if mentioned:
        named = [{"entity_id": name, "doc_id": "d", "chunk_id": chunk} for name, chunk in mentioned]
        paths.append(loads.parquet("mentions.parquet", named))
    return loads.corpus(*paths, corpus_version=version, observed_at=seen, **options)


def commits(loads, workspace="default"):
    return loads.store.table("commits", workspace).collect().height


def test_a_snapshot_of_a_store_is_one_commit_of_all_three_tables(loads):
    load(loads, "v1", "d1:h1 d2:h2 d3:h3 d4:h4", seen=NIGHT - 2 * DAY)
    listed, mentioned = {"a": "tool", "b": "tool"}, [("a", "c1"), ("a", None)]
    load(loads, "v2", "d2:h2 d3:h3x d4:h4 d5:h5 d6:h1", listed=listed, mentioned=mentioned)
    before = commits(loads)
    found = snapshot_corpus(loads.store, "default", as_of=NIGHT)
    assert found.created
    assert commits(loads) == before + 1
    assert loads.rows("commits")[-1]["tables"] == sorted(TABLE_NAMES)
    assert loads.rows("drift_snapshots") == [found.row]
    assert counts(found) == (2, 1, 1, 4, 4 / 6, 1)
    assert (found.row["corpus_version"], found.row["as_of"]) == ("v2", NIGHT)
    assert (found.row["orphan_count"], found.row["orphan_rate"]) == (1, 0.5)
    assert loads.rows("drift_entity_counts", "entity_type", "n") == [("tool", 2)]
    assert loads.rows("drift_documents", "doc_id", "change", "moved_from") == [
        ("d1", "removed", None),
        ("d3", "changed", None),
        ("d5", "added", None),
        ("d6", "added", "d1"),
    ]


def test_a_replay_writes_nothing_and_finds_the_stored_rows(loads):
    load(loads, "v1", "d1:h1", seen=NIGHT - 2 * DAY)
    load(loads, "v2", "d2:h1 d3:h3", listed={"a": "tool"})
    first = snapshot_corpus(loads.store, "default", as_of=NIGHT)
    before = commits(loads)
    again = snapshot_corpus(loads.store, "default", as_of=NIGHT)
    assert (first.created, again.created) == (True, False)
    assert commits(loads) == before
    assert again.row == first.row
    assert again.entity_counts.equals(first.entity_counts)
    assert again.documents.equals(first.documents)


def test_a_stored_snapshot_stands_whatever_is_asked_later(loads):
    load(loads, "v1", "d:h", times=(NIGHT + MINUTE,))
    first = snapshot_corpus(loads.store, "default", as_of=NIGHT)
    again = snapshot_corpus(loads.store, "default", as_of=NIGHT, clock_skew=timedelta(0))
    assert again.row == first.row
    assert again.row["future_document_count"] == 0


def test_a_new_time_writes_its_row_also_when_the_digest_is_equal(loads):
    load(loads, "v1", "d:h")
    for night in range(3):
        assert snapshot_corpus(loads.store, "default", as_of=NIGHT + night * DAY).created
    rows = loads.rows("drift_snapshots")
    assert {row["as_of"] for row in rows} == {NIGHT + night * DAY for night in range(3)}
    assert len({row["digest"] for row in rows}) == 1


def test_the_version_observed_last_is_taken_and_later_ones_do_not_exist_yet(loads):
    load(loads, "v1", "a:h", seen=NIGHT - 2 * DAY)
    load(loads, "v2", "b:h", seen=NIGHT)
    load(loads, "v3", "c:h", seen=NIGHT + MINUTE)
    found = snapshot_corpus(loads.store, "default", as_of=NIGHT)
    assert found.row["corpus_version"] == "v2"


def test_partial_versions_are_skipped_as_current_and_as_previous(loads):
    load(loads, "v1", "a:h b:h", seen=NIGHT - 4 * DAY)
    load(loads, "half", "a:h", seen=NIGHT - 3 * DAY, partial=True)
    load(loads, "v2", "a:h c:k", seen=NIGHT - 2 * DAY)
    load(loads, "rest", "a:h", seen=NIGHT - DAY, partial=True)
    found = snapshot_corpus(loads.store, "default", as_of=NIGHT)
    assert found.row["corpus_version"] == "v2"
    assert counts(found) == (1, 1, 0, 2, 2 / 3, 0)


def test_previous_is_the_highest_lower_seq(loads):
    load(loads, "v1", "a:h")
    load(loads, "v2", "b:h")
    load(loads, "v3", "b:h c:k")
    found = snapshot_corpus(loads.store, "default", as_of=NIGHT, corpus_version="v3")
    assert counts(found) == (1, 0, 0, 1, 1 / 2, 0)
    found = snapshot_corpus(loads.store, "default", as_of=NIGHT, corpus_version="v1")
    assert found.row["reason"] == "first_snapshot"


def test_a_snapshot_is_linked_to_the_last_one_of_the_previous_version(loads):
    load(loads, "v1", "a:h", seen=NIGHT - 9 * DAY)
    load(loads, "v2", "b:h", seen=NIGHT - DAY)
    alone = snapshot_corpus(loads.store, "default", as_of=NIGHT)
    assert alone.row["previous_snapshot_id"] is None
    last, *_ = (
        snapshot_corpus(loads.store, "default", as_of=NIGHT - days * DAY, corpus_version="v1")
        for days in (2, 5, -3)
    )
    linked = snapshot_corpus(loads.store, "default", as_of=NIGHT + DAY)
    assert linked.row["previous_snapshot_id"] == last.row["snapshot_id"]
    assert last.row["previous_snapshot_id"] is None
    again = snapshot_corpus(loads.store, "default", as_of=NIGHT)
    assert again.row["previous_snapshot_id"] is None


def test_two_workspaces_never_mix(loads):
    load(loads, "v1", "a:h", workspace="one", seen=NIGHT - 2 * DAY)
    load(loads, "v2", "b:h", workspace="two")
    found = snapshot_corpus(loads.store, "two", as_of=NIGHT)
    assert found.row["reason"] == "first_snapshot"
    assert found.row["workspace_id"] == "two"
    assert loads.rows("drift_snapshots", workspace="one") == []
    with pytest.raises(UnknownNameError, match="No corpus version is called 'v1'"):
        snapshot_corpus(loads.store, "two", as_of=NIGHT, corpus_version="v1")


def test_the_same_version_in_two_workspaces_is_stored_in_both(loads):
    for workspace in ("one", "two"):
        load(loads, "v1", "a:h", workspace=workspace)
        assert snapshot_corpus(loads.store, workspace, as_of=NIGHT).created


def test_without_a_version_there_is_no_snapshot_and_a_reason(loads):
    load(loads, "half", "a:h", partial=True)
    load(loads, "v1", "a:h", seen=NIGHT + DAY)
    before = commits(loads)
    assert snapshot_corpus(loads.store, "default", as_of=NIGHT) is None
    assert commits(loads) == before
    assert why_no_snapshot(loads.store, "default", as_of=NIGHT) == (
        "Workspace default has no complete corpus version observed by 2026-05-01T00:00:00+00:00 "
        "(1 observed later, 1 partial): there is no corpus to snapshot."
    )


def test_a_named_version_must_be_there_complete_and_observed(loads):
    load(loads, "half", "a:h", partial=True)
    load(loads, "v2", "a:h", seen=NIGHT + DAY)
    ask = {"as_of": NIGHT, "corpus_version": "v3"}
    with pytest.raises(UnknownNameError, match=r"'v3'[^$]*Did you mean v2"):
        snapshot_corpus(loads.store, "default", **ask)
    with pytest.raises(UsageError, match="'half' is partial"):
        snapshot_corpus(loads.store, "default", **ask | {"corpus_version": "half"})
    late = "'v2' was observed at 2026-05-02T00:00:00+00:00, after 2026-05-01T00:00:00+00:00"
    with pytest.raises(UsageError, match=re.escape(late)):
        snapshot_corpus(loads.store, "default", **ask | {"corpus_version": "v2"})


def test_a_naive_time_is_refused_before_the_store_is_looked_at(loads):
    with pytest.raises(UsageError, match="has no time zone"):
        snapshot_corpus(loads.store, "absent", as_of=NIGHT.replace(tzinfo=None))


def test_a_complete_version_without_its_rows_is_an_error_and_not_a_loss(loads):
    stated = [{"corpus_version": "v1", "complete": True, "n_documents": 3, "n_entities": 0}]
    versions = loads.parquet("corpus_versions.parquet", stated)
    loads.corpus(versions, corpus_version="v1", observed_at=NIGHT - DAY)
    missing = r"'v1' says it is complete with 3 documents; 0 are stored[^$]*Fix: load its documents"
    with pytest.raises(ContractError, match=missing):
        snapshot_corpus(loads.store, "default", as_of=NIGHT)
    load(loads, "v2", "a:h", seen=NIGHT)
    with pytest.raises(ContractError, match=missing):
        snapshot_corpus(loads.store, "default", as_of=NIGHT)


# --- the example


@pytest.fixture
def with_example(loads):
    for version, observed_at in OBSERVED_AT.items():
        loads.corpus(
            example_dir() / "corpus" / version / "tables",
            corpus_version=version,
            observed_at=datetime.fromisoformat(observed_at),
        )
    return loads


def test_the_example_has_its_known_snapshot(with_example):
    found = snapshot_corpus(with_example.store, "default", as_of=NIGHT)
    row = found.row
    assert row["corpus_version"] == "v2"
    assert counts(found) == (8, 4, 5, 17, 17 / 69, 1)
    assert (row["doc_count"], row["entity_count"]) == (65, 84)
    assert (row["orphan_count"], row["orphan_rate"]) == (2, 2 / 84)
    assert row["newest_document_at"] == datetime(2026, 2, 20, 9, tzinfo=UTC)
    assert (row["future_document_count"], row["reason"]) == (0, None)
    moved = found.documents.drop_nulls("moved_from")
    assert moved.select("doc_id", "moved_from").rows() == [("mrr", "reciprocal-rank")]
    types = dict(found.entity_counts.select("entity_type", "n").iter_rows())
    assert types == {
        "metric": 26,
        "object": 22,
        "method": 10,
        "setting": 7,
        "state": 7,
        "tool": 6,
        "shape": 4,
        "source": 2,
    }


def test_the_example_before_its_second_version_is_a_first_snapshot(with_example):
    found = snapshot_corpus(with_example.store, "default", as_of=datetime(2026, 2, 8, tzinfo=UTC))
    row = found.row
    assert (row["corpus_version"], row["doc_count"]) == ("v1", 61)
    assert (row["doc_churn"], row["orphan_rate"]) == (None, 0.0)
    second = snapshot_corpus(with_example.store, "default", as_of=NIGHT)
    assert second.row["previous_snapshot_id"] == row["snapshot_id"]


def test_the_example_agrees_with_its_files(with_example):
    found = snapshot_corpus(with_example.store, "default", as_of=NIGHT)
    sides = []
    for version in ("v1", "v2"):
        path = example_dir() / "corpus" / version / "tables" / "documents.jsonl"
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        sides.append({line["doc_id"]: line["content_hash"] for line in lines})
    old, new = sides
    expected = dict.fromkeys(new.keys() - old.keys(), "added")
    expected |= dict.fromkeys(old.keys() - new.keys(), "removed")
    expected |= {d: "changed" for d in old.keys() & new.keys() if old[d] != new[d]}
    assert dict(found.documents.select("doc_id", "change").iter_rows()) == expected
