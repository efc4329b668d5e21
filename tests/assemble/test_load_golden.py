from __future__ import annotations

import json

import polars as pl
import pytest

from crucible_batch.errors import ConflictError, ContractError
from crucible_batch.store import golden_set_hash


def refused(loads, *rows, name="golden.jsonl", **options):
    with pytest.raises(ContractError) as caught:
        loads.golden(loads.lines(name, *rows), **options)
    return str(caught.value)


def test_items_and_their_children_are_stored_with_the_hash_of_the_set(loads, item, counted):
    report = loads.golden(
        loads.lines(
            "golden.jsonl",
            item(
                1,
                assertions=[{"level": "must", "text": "So."}],
                concepts=[{"entity_id": "e", "relevance": "required"}],
                citations=[{"doc_id": "d", "kind": "required"}],
            ),
            item(2),
        ),
        golden_set="faq",
    )
    assert counted(report, "golden_items") == (2, 2, 0, 0)
    assert report.facts["golden_set"] == "faq"
    tables = ("golden_items", "golden_assertions", "golden_concepts", "golden_citations")
    frames = [loads.store.table(name).collect() for name in tables]
    assert report.facts["golden_set_hash"] == golden_set_hash(*frames)
    assert loads.rows("golden_set_versions", "item_id", "golden_set") == [
        ("q1", "faq"),
        ("q2", "faq"),
    ]


def test_loading_the_same_file_again_is_a_no_op_that_says_so(loads, item, counted):
    path = loads.lines("golden.jsonl", item(1), item(2))
    first, again = loads.golden(path), loads.golden(path)
    assert (first.created, again.created, again.commit) == (True, False, first.commit)
    assert counted(again, "golden_items") == (2, 0, 0, 2)
    assert any("no-op" in message for message in again.messages)
    assert again.facts == first.facts


def test_the_same_items_split_over_files_are_a_no_op(loads, item):
    loads.golden(loads.lines("all.jsonl", item(1), item(2), item(3)))
    parts = loads.lines("b.jsonl", item(3), item(1)), loads.lines("a.jsonl", item(2))
    assert not loads.golden(*parts).created


def test_an_edited_answer_is_revision_2_and_the_old_hash_keeps_the_old_one(loads, item):
    first = loads.golden(loads.lines("a.jsonl", item(1, ground_truth="Old."), item(2)))
    second = loads.golden(loads.lines("b.jsonl", item(1, ground_truth="New."), item(2)))
    old, new = (report.facts["golden_set_hash"] for report in (first, second))
    assert old != new
    versions = loads.rows("golden_set_versions", "golden_set_hash", "item_id", "revision")
    assert {(h, i): r for h, i, r in versions} == {
        (old, "q1"): 1,
        (old, "q2"): 1,
        (new, "q1"): 2,
        (new, "q2"): 1,
    }
    assert loads.rows("golden_items", "item_id", "revision", "ground_truth") == [
        ("q1", 1, "Old."),
        ("q1", 2, "New."),
        ("q2", 1, None),
    ]


def test_an_edited_assertion_is_a_new_revision_with_all_its_children(loads, item):
    def assertions(text):
        return [{"assertion_id": "a", "level": "must", "text": text}]

    cite = [{"doc_id": "d", "kind": "required"}]
    loads.golden(loads.lines("a.jsonl", item(1, assertions=assertions("Old."), citations=cite)))
    loads.golden(loads.lines("b.jsonl", item(1, assertions=assertions("New."), citations=cite)))
    assert loads.rows("golden_assertions", "revision", "text") == [(1, "Old."), (2, "New.")]
    assert loads.rows("golden_citations", "revision", "doc_id") == [(1, "d"), (2, "d")]


def test_going_back_to_an_earlier_state_is_a_third_revision_with_the_first_hash(loads, item):
    a, b = (loads.lines(f"{t}.jsonl", item(1, ground_truth=t)) for t in "ab")
    reports = [loads.golden(path) for path in (a, b, a, b, b)]
    assert [report.created for report in reports] == [True, True, True, True, False]
    hashes = [report.facts["golden_set_hash"] for report in reports]
    assert hashes[0] == hashes[2] != hashes[1] == hashes[3] == hashes[4]
    assert loads.rows("golden_items", "revision", "ground_truth") == [
        (1, "a"),
        (2, "b"),
        (3, "a"),
        (4, "b"),
    ]


def test_a_retired_item_leaves_the_set_and_a_later_revision_brings_it_back(loads, item):
    both = loads.golden(loads.lines("a.jsonl", item(1), item(2)))
    one = loads.golden(loads.lines("b.jsonl", item(1), item(2, retired=True)))
    back = loads.golden(loads.lines("a.jsonl", item(1), item(2)))
    hashes = [report.facts["golden_set_hash"] for report in (both, one, back)]
    assert hashes[0] == hashes[2] != hashes[1]
    assert loads.rows("golden_items", "item_id", "revision", "retired")[1:] == [
        ("q2", 1, False),
        ("q2", 2, True),
        ("q2", 3, False),
    ]


def test_missing_items_stay_unless_they_are_to_be_retired(loads, item):
    full = loads.golden(loads.lines("a.jsonl", item(1, ground_truth="Kept."), item(2)))
    part = loads.lines("b.jsonl", item(2))
    assert loads.golden(part).facts == full.facts
    report = loads.golden(part, retire_missing=True)
    assert "1 retired" in report.messages[0]
    assert report.facts["golden_set_hash"] != full.facts["golden_set_hash"]
    assert loads.rows("golden_items", "item_id", "retired", "ground_truth")[1] == (
        "q1",
        True,
        "Kept.",
    )
    assert not loads.golden(part, retire_missing=True).created


def test_retiring_what_is_missing_needs_every_item_readable(loads, item):
    loads.golden(loads.lines("a.jsonl", item(1), item(2)))
    bad = loads.lines("b.jsonl", item(1), item(2, question=" "))
    with pytest.raises(ContractError, match="cannot be told"):
        loads.golden(bad, lenient=True, retire_missing=True)
    assert loads.rows("golden_items", "retired") == [False, False]


def test_a_stated_revision_is_kept_and_may_not_change(loads, item):
    loads.golden(loads.lines("a.jsonl", item(1, revision=3)))
    assert loads.rows("golden_items", "revision") == [3]
    assert not loads.golden(loads.lines("a.jsonl", item(1, revision=3))).created
    with pytest.raises(ConflictError, match="revision 3 is stored with other content"):
        loads.golden(loads.lines("b.jsonl", item(1, revision=3, ground_truth="Other.")))
    with pytest.raises(ConflictError, match="revision 2 is older than the stored 3"):
        loads.golden(loads.lines("c.jsonl", item(1, revision=2, ground_truth="Other.")))


def test_children_in_a_table_of_their_own_follow_the_one_revision_of_their_item(loads):
    item = {"item_id": "q1", "revision": 2, "question": "Q?", "answerable": True}
    items = loads.parquet("golden_items.parquet", [item, item])
    children = [{"item_id": "q1", "level": "must", "text": "So."}]
    report = loads.golden(items, loads.parquet("golden_assertions.parquet", children))
    assert report.n_quarantined == 0
    assert loads.rows("golden_assertions", "revision") == [2]


def test_required_citations_become_provenance_judgments_with_audit_events(loads, item):
    cited = [
        {"doc_id": "d1", "kind": "required"},
        {"doc_id": "d1", "chunk_id": "c1", "kind": "required"},
        {"doc_id": "d2", "kind": "forbidden"},
    ]
    report = loads.golden(loads.lines("a.jsonl", item(1, citations=cited), item(2)))
    assert loads.rows("qrels", "query_id", "target", "source", "judge", "grade") == [
        ("q1", "doc:d1", "provenance", "provenance", 3)
    ]
    assert loads.rows("audit_log", "action", "target") == [("qrel.author", "q1")]
    tables = loads.rows("commits")[-1]["tables"]
    assert {"golden_items", "qrels", "audit_log"} <= set(tables)
    assert report.commit == 1


def test_a_provenance_judgment_of_another_grade_is_kept_and_told(loads, item):
    judgment = {"query_id": "q1", "doc_id": "d1", "grade": 1, "source": "provenance"}
    loads.qrels(loads.lines("qrels.jsonl", judgment))
    cited = [{"doc_id": "d1", "kind": "required"}]
    report = loads.golden(loads.lines("a.jsonl", item(1, citations=cited)))
    assert any("kept grade 1, offered 3" in message for message in report.messages)


def test_a_bad_row_refuses_the_set_and_names_file_row_and_value(loads, item):
    text = refused(loads, item(1), item(2, popularity="huge"))
    assert "1 of 2 rows" in text
    assert "popularity: not one of head, torso, tail: huge" in text
    assert "golden.jsonl row 2" in text
    assert "--lenient" in text
    assert loads.rows("golden_items") == []
    assert len(list(loads.store.root.glob("default/quarantine/*/golden_items.parquet"))) == 1


def test_lenient_loads_the_good_rows_and_puts_the_bad_aside_whole(loads, item, counted):
    path = loads.lines("golden.jsonl", item(1), item(2, popularity="huge"))
    report = loads.golden(path, lenient=True)
    assert counted(report, "golden_items") == (2, 1, 1, 0)
    row = pl.read_parquet(report.quarantine[0]).to_dicts()[0]
    assert row["_reasons"] == ["popularity: not one of head, torso, tail: huge"]
    assert (row["_source_file"], row["_source_row"]) == (str(path), 2)
    assert json.loads(row["_row"])["popularity"] == "huge"


def test_one_document_cannot_be_required_and_forbidden(loads, item):
    both = [
        {"doc_id": "d1", "kind": "required"},
        {"doc_id": "d1", "chunk_id": "c", "kind": "forbidden"},
    ]
    text = refused(loads, item(1, citations=both))
    assert "kind: required_and_forbidden: d1 (2 rows" in text


def test_one_item_with_two_contents_is_refused(loads, item):
    text = refused(loads, item(1), item(1, ground_truth="Other."))
    assert "duplicate_key" in text
    assert "q1" in text


def test_an_item_given_twice_word_for_word_counts_once(loads, item, counted):
    same = item(1, assertions=[{"level": "must", "text": "So."}])
    report = loads.golden(loads.lines("golden.jsonl", same, same))
    assert counted(report, "golden_items") == (2, 1, 0, 1)
    assert counted(report, "golden_assertions") == (2, 1, 0, 1)


def test_an_item_given_twice_with_other_assertions_is_refused_not_mixed(loads, item):
    first = item(1, assertions=[{"level": "must", "text": "So."}])
    second = item(1, assertions=[{"level": "must", "text": "Not so."}])
    text = refused(loads, first, second)
    assert "duplicate_key: q1 (2 rows" in text


def test_an_id_of_another_set_with_another_question_is_refused(loads, item):
    loads.golden(loads.lines("a.jsonl", item(1)), golden_set="a")
    with pytest.raises(ConflictError, match=r"b.jsonl row 1: item 'q1' is in golden set 'a'"):
        loads.golden(loads.lines("b.jsonl", item(1, question="Else?")), golden_set="b")


def test_a_set_can_be_renamed_and_runs_find_it_under_both_hash_and_name(loads, item, result):
    old = loads.golden(loads.lines("a.jsonl", item(1)), golden_set="a")
    new = loads.golden(loads.lines("a.jsonl", item(1)), golden_set="b")
    assert new.facts["golden_set_hash of b"] == old.facts["golden_set_hash"]
    report = loads.run(loads.lines("r.jsonl", result(1)), run="r", golden_set="b")
    assert report.facts["golden_set_hash"] == old.facts["golden_set_hash"]
    with pytest.raises(ContractError, match="'a' has no active item"):
        loads.run(loads.lines("r.jsonl", result(1)), run="r2", golden_set="a")


def test_children_without_an_item_in_the_input_are_refused(loads):
    items = loads.parquet(
        "golden_items.parquet", [{"item_id": "q1", "question": "Q?", "answerable": True}]
    )
    orphan = [{"item_id": "q9", "level": "must", "text": "So."}]
    with pytest.raises(ContractError, match="unknown_item: q9"):
        loads.golden(items, loads.parquet("golden_assertions.parquet", orphan))
    with pytest.raises(ContractError, match="no golden items"):
        loads.golden(loads.folder / "in" / "golden_assertions.parquet")


def test_children_of_a_quarantined_item_go_with_it(loads, item, counted):
    bad = item(1, question="", assertions=[{"level": "must", "text": "So."}])
    report = loads.golden(loads.lines("golden.jsonl", bad, item(2)), lenient=True)
    assert counted(report, "golden_assertions") == (1, 0, 1, 0)
    assert any("parent_quarantined: q1" in reason for reason in report.reasons)


def test_two_workspaces_in_one_file_are_refused(loads, item):
    rows = item(1, workspace_id="default"), item(2, workspace_id="other")
    text = refused(loads, *rows)
    assert "golden.jsonl row 2: workspace_id is 'other'" in text
    assert "--workspace other" in text


def test_rows_of_the_named_workspace_go_there_and_nowhere_else(loads, item):
    path = loads.lines("golden.jsonl", item(1, workspace_id="other"))
    loads.golden(path, workspace="other")
    assert loads.store.workspaces() == ("other",)
    assert loads.rows("golden_items", "workspace_id", workspace="other") == ["other"]


def test_a_dry_run_says_what_would_happen_and_writes_nothing(loads, item, counted):
    path = loads.lines("golden.jsonl", item(1))
    report = loads.golden(path, dry_run=True)
    assert (report.dry_run, report.created, report.commit) == (True, False, None)
    assert counted(report, "golden_items") == (1, 1, 0, 0)
    assert loads.store.workspaces() == ()
    loads.golden(path)
    before = sorted(loads.store.root.rglob("*"))
    edited = loads.lines("golden.jsonl", item(1, ground_truth="New."), item(2, question=" "))
    report = loads.golden(edited, dry_run=True, lenient=True)
    assert counted(report, "golden_items") == (2, 1, 1, 0)
    assert sorted(loads.store.root.rglob("*")) == before


def test_a_gold_set_json_gives_items_assertions_and_a_target(loads):
    pair = {"question": "Who?", "ground_truth": "Ann.", "contexts": ["Ann did."]}
    path = loads.lines("set.json", {"pairs": [pair], "rewrite_n": 3, "top_k": 5})
    report = loads.golden(path)
    (payload,) = loads.rows("config_snapshots", "payload")
    assert json.loads(payload) == {"rewrite_n": 3, "top_k": 5}
    assert loads.rows("config_snapshots", "snapshot_id") == [report.facts["target_snapshot_id"]]
    assert loads.rows("golden_assertions", "level", "text") == [("must", "Ann.")]
    assert loads.rows("golden_items", "answerable", "contexts") == [(True, ["Ann did."])]
    assert not loads.golden(path).created
