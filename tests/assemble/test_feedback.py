"""A failure is corrected, promoted, and watched; nothing that was measured before changes."""

from __future__ import annotations

import json

import pytest
from bench import Bench, item, number, result

from crucible_batch.assemble.evaluate.feedback import feedback_id
from crucible_batch.assemble.feedback import (
    Corrected,
    correct_feedback,
    dismiss_feedback,
    list_feedback,
    promote_feedback,
    promoted_status,
)
from crucible_batch.assemble.gate import run_gate
from crucible_batch.assemble.golden.sets import item_detail, the_set
from crucible_batch.assemble.load import load_corpus
from crucible_batch.errors import UnknownNameError, UsageError

ITEMS = (
    item("q1", must=1, required=("d1",), tags=["deeds"]),
    item("q2", must=1, required=("d2",)),
)
FAILED = feedback_id("r1", "q1", 0)
RIGHT = Corrected(answer="The notary.", doc_ids=("d1", "d7"))


@pytest.fixture
def bench(tmp_path) -> Bench:
    """A store with a scored run that failed q1 and got q2 right."""
    bench = Bench(tmp_path)
    bench.golden(*ITEMS)
    bench.run("r1", result("q1", "d5", verdict="missing"), right("q2", "d2"))
    bench.score("r1")
    return bench


def right(item_id: str, doc: str, **more):
    return result(item_id, doc, verdict="supported", citations=[{"doc_id": doc}], **more)


def snapshot(bench: Bench):
    return bench.store.workspace("default").snapshot()


def correct(bench: Bench, corrected: Corrected = RIGHT, feedback: str = FAILED):
    return correct_feedback(bench.store, "default", feedback, corrected, author="ann")


def promote(bench: Bench, feedback: str = FAILED, **more):
    return promote_feedback(bench.store, "default", feedback, author="ann", **more)


def golden(bench: Bench, item_id: str):
    now = snapshot(bench)
    return item_detail(now, the_set(now, None).golden_set_hash, item_id)


def states(bench: Bench):
    opened = bench.store.workspace("default")
    return [
        (row["item_id"], row["run_id"], row["state"])
        for row in promoted_status(opened, opened.snapshot()).iter_rows(named=True)
    ]


def rerun(bench: Bench, run_id: str, verdict: str, score: bool = True) -> None:
    """A run over the present version, whose q1 got this verdict on its (only) assertion."""
    (assertion,) = golden(bench, "q1")["assertions"]
    row = result("q1", "d1")
    row["verdicts"] = [
        {"assertion_id": assertion["assertion_id"], "verdict": verdict, "judge": "judge@1"}
    ]
    bench.run(run_id, row, right("q2", "d2"))
    if score:
        bench.score(run_id)


# --- the documented walk ----------------------------------------------------------------------

GATE = """
[requirements]
min_pairs = 1
same_golden_set = false
[[rules]]
id = "stays caught"
kind = "must_pass"
tag = "regression"
"""


def outcome(bench: Bench, candidate: str) -> str:
    config = bench.folder / "gate.toml"
    config.write_text(GATE)
    done = run_gate(bench.store, "default", candidate, "r1", config)
    (rule,) = [one for one in done.verdict.results if one.rule_id == "stays caught"]
    return rule.outcome


def test_a_failure_becomes_a_test_that_later_runs_are_gated_by(bench):
    (failure,) = list_feedback(snapshot(bench), status="classified").to_dicts()
    assert (failure["feedback_id"], failure["item_id"]) == (FAILED, "q1")
    before = the_set(snapshot(bench), None).golden_set_hash
    old = bench.score("r1")
    stored, numbers = bench.files(), old.read("run_metrics")

    assert correct(bench).created
    promoted = promote(bench)

    after = the_set(snapshot(bench), None).golden_set_hash
    assert after == promoted.golden_set_hash != before
    assert bench.files() == stored

    rerun(bench, "r2", "missing")
    rerun(bench, "r3", "supported")
    rerun(bench, "r4", "supported", score=False)
    assert number(bench.score("r3"), "accuracy", "tag", "regression")["mean"] == 1.0
    assert states(bench) == [
        ("q1", "r4", "unscored"),
        ("q1", "r3", "kept"),
        ("q1", "r2", "broken"),
    ]
    assert (outcome(bench, "r2"), outcome(bench, "r3")) == ("fail", "pass")
    assert old.read("run_metrics").equals(numbers)  # although r1 was held against r2 and r3


# --- promotion --------------------------------------------------------------------------------


def test_promotion_writes_item_judgments_feedback_and_events_in_one_commit(bench):
    correct(bench)
    head = bench.head()
    promote(bench)
    assert bench.head() == head + 1
    now = bench.store.workspace("default").snapshot()

    def new(table: str):
        return now.read(table).collect().filter(_commit=head + 1).drop("_commit").to_dicts()

    (row,) = new("golden_items")
    assert (row["item_id"], row["revision"], row["ground_truth"]) == ("q1", 2, "The notary.")
    assert (row["tags"], row["promoted_from"], row["author"]) == (
        ["deeds", "regression"],
        FAILED,
        "ann",
    )
    (assertion,) = new("golden_assertions")
    assert (assertion["level"], assertion["text"]) == ("must", "The notary.")
    assert [(c["doc_id"], c["kind"]) for c in new("golden_citations")] == [
        ("d1", "required"),
        ("d7", "required"),
    ]
    (qrel,) = new("qrels")  # d1 has its provenance judgment since the load
    assert (qrel["doc_id"], qrel["grade"], qrel["source"]) == ("d7", 3, "provenance")
    actions = {event["action"]: event for event in new("audit_log")}
    assert set(actions) == {"qrel.author", "golden.promote"}
    assert json.loads(actions["golden.promote"]["detail"])["feedback_id"] == FAILED
    (event,) = new("eval_feedback")
    assert (event["kind"], event["promoted_item_id"], event["seq"]) == ("promoted", "q1", 3)
    assert new("golden_set_versions")


def test_promotion_is_idempotent(bench):
    correct(bench)
    first = promote(bench)
    head = bench.head()
    again = promote(bench)
    assert (again.created, again.item_id, again.revision) == (False, "q1", first.revision)
    assert promote(bench, item_id="other").item_id == "q1"
    assert bench.head() == head


def test_what_the_correction_leaves_out_stays_as_the_item_has_it(bench):
    bench.golden(
        {
            **ITEMS[0],
            "ground_truth": "Old.",
            "assertions": [
                {"assertion_id": "m", "level": "must", "text": "It is so.", "concept_id": "e"},
                {"assertion_id": "s", "level": "should", "text": "Nicely."},
            ],
            "concepts": [{"entity_id": "e", "relevance": "required"}],
            "citations": [
                {"doc_id": "d1", "kind": "required"},
                {"doc_id": "d7", "kind": "forbidden"},
                {"doc_id": "d8", "kind": "forbidden"},
            ],
        },
        ITEMS[1],
    )
    before = golden(bench, "q1")
    correct(bench, Corrected(doc_ids=("d7",)))
    promote(bench)
    after = golden(bench, "q1")
    for name in ("assertions", "concepts", "ground_truth", "question"):
        assert after[name] == before[name]
    assert [(c["doc_id"], c["kind"]) for c in after["citations"]] == [
        ("d7", "required"),
        ("d8", "forbidden"),
    ]


def test_a_corrected_assertion_that_the_item_has_keeps_its_id_and_concept(bench):
    correct(bench, Corrected(assertions=("Fact 0.", "And more.")))
    promote(bench)
    found = {a["text"]: a["assertion_id"] for a in golden(bench, "q1")["assertions"]}
    assert found["Fact 0."] == "a0"
    assert found["And more."].startswith("a-")


def test_a_new_item_stands_beside_the_one_that_failed(bench):
    correct(bench)
    done = promote(bench, item_id="q1-regression")
    assert (done.item_id, done.revision, done.golden_set) == ("q1-regression", 1, "g")
    assert golden(bench, "q1")["revision"] == 1
    assert golden(bench, "q1-regression")["question"] == golden(bench, "q1")["question"]
    assert states(bench) == [("q1-regression", None, None)]


def test_a_taken_id_and_an_uncorrected_failure_are_refused(bench):
    with pytest.raises(UsageError, match="is not corrected"):
        promote(bench)
    correct(bench)
    with pytest.raises(UsageError, match="item 'q2' already"):
        promote(bench, item_id="q2")
    assert list_feedback(snapshot(bench))["status"].to_list() == ["corrected"]


def test_a_retired_item_comes_back_when_it_is_promoted(bench):
    bench.golden(ITEMS[1], retire_missing=True)
    correct(bench)
    promote(bench)
    assert golden(bench, "q1")["revision"] == 3


def test_two_samples_of_one_item_are_promoted_one_after_the_other(tmp_path):
    bench = Bench(tmp_path)
    bench.golden(*ITEMS)
    rows = [result("q1", "d5", verdict="missing", sample_index=n) for n in (0, 1)]
    bench.run("r1", *rows, samples_n=2)
    bench.score("r1")
    failures = list_feedback(snapshot(bench))["feedback_id"].to_list()
    for place, one in enumerate(failures):
        correct(bench, Corrected(answer=f"Answer {place}."), one)
        assert promote(bench, one).revision == 2 + place
    assert sorted(s[0] for s in states(bench)) == ["q1", "q1"]


# --- events -----------------------------------------------------------------------------------


def test_a_correction_says_something_and_only_once(bench):
    assert correct(bench).created
    assert not correct(bench).created
    assert correct(bench, Corrected(answer="Another.")).created
    assert correct(bench).created
    kinds = [row["kind"] for row in bench.rows("eval_feedback")]
    assert kinds == ["classified", "corrected", "corrected", "corrected"]
    for nothing in (Corrected(), Corrected(answer=" "), Corrected(doc_ids=("",))):
        with pytest.raises(UsageError, match=r"Nothing is corrected|is blank"):
            correct(bench, nothing)


def test_a_document_of_a_correction_is_one_there_is_once_a_corpus_is_loaded(bench, tmp_path):
    path = tmp_path / "documents.jsonl"
    path.write_text('{"doc_id": "d7", "content_hash": "h", "hash_version": "v"}\n')
    load_corpus(bench.store, [path], corpus_version="v1")
    with pytest.raises(UnknownNameError, match="No document is called 'd77'"):
        correct(bench, Corrected(doc_ids=("d7", "d5", "d77")))
    assert correct(bench, Corrected(doc_ids=("d7", "d5"))).created, "d5 was retrieved"


def test_a_promoted_failure_is_closed_to_corrections(bench):
    correct(bench)
    promote(bench)
    with pytest.raises(UsageError, match="is promoted: item q1 tests it"):
        correct(bench, Corrected(answer="Other."))
    with pytest.raises(UsageError, match="is promoted"):
        dismiss_feedback(bench.store, "default", FAILED, author="ann", note="no")


def test_a_dismissed_failure_is_listed_as_such_with_its_reason(bench):
    done = dismiss_feedback(bench.store, "default", FAILED, author="ann", note="asked wrongly")
    assert done.created
    (row,) = list_feedback(snapshot(bench), status="dismissed").to_dicts()
    assert (row["note"], row["author"]) == ("asked wrongly", "ann")
    bench.score("r1")
    assert [r["kind"] for r in bench.rows("eval_feedback")] == ["classified", "dismissed"]


def test_failures_are_named_by_the_beginning_of_their_id(bench):
    assert correct(bench, RIGHT, FAILED[:8]).created
    for name in (FAILED[:3], "f00000000"):
        with pytest.raises(UnknownNameError, match="feedback list"):
            correct(bench, RIGHT, name)


def test_the_list_is_filtered_by_run_status_and_class(bench):
    now = snapshot(bench)
    (row,) = list_feedback(now, run_id="r1").to_dicts()
    assert list_feedback(now, error_class=row["error_class"]).height == 1
    assert list_feedback(now, run_id="r2").is_empty()
    assert list_feedback(now, status="promoted").is_empty()
    for wrong in ({"status": "open"}, {"error_class": "wrong"}):
        with pytest.raises(UsageError):
            list_feedback(now, **wrong)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "n" * 257])
def test_a_promotion_to_what_is_no_id_is_a_slip_of_the_command(bench, name):
    with pytest.raises(UsageError, match="is no id of an item"):
        promote(bench, item_id=name)
