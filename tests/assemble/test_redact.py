"""Texts are taken out of committed files; keys, grades, hashes and numbers stay."""

from __future__ import annotations

import json

import polars as pl
import pytest
from bench import JUDGE, Bench, item, number, result

from crucible_batch.assemble.golden.sets import the_set
from crucible_batch.assemble.redact import redact
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.store import Store, redaction
from crucible_batch.store.doctor import diagnose

SECRET = "Jane Roe lives here"


def secret_result(item_id: str, **more):
    row = result(item_id, "d1", verdict="supported", **more)
    row["answer"] = f"{SECRET}, says {item_id}."
    row["retrievals"][0]["text"] = SECRET
    row["claims"] = [{"claim_id": "c1", "text": SECRET, "grounded": True, "judge": JUDGE}]
    row["verdicts"][0]["raw"] = f"yes: {SECRET}"
    row["checks"] = [{"check_id": "k", "passed": True, "detail": json.dumps(SECRET)}]
    return row


@pytest.fixture
def bench(tmp_path) -> Bench:
    bench = Bench(tmp_path)
    private = item("q1", must=1) | {"question": f"Is it true that {SECRET}?", "contexts": [SECRET]}
    private["assertions"][0]["text"] = SECRET
    bench.golden(private, item("q2", must=1))
    bench.qrels(("q1", "d1", 3), rationale=SECRET)
    bench.run("r", secret_result("q1"), secret_result("q2"))
    return bench


def take_out(bench: Bench, **what):
    said = {"author": "ann", "reason": "asked to"} | what
    return redact(bench.store, "default", **said)


def files_with(bench: Bench, text: str) -> set[str]:
    """Tables of the lake in which a text stands in any row of any file."""
    found = set()
    for path in (bench.root / "lake").glob("*/*.parquet"):
        rows = pl.read_parquet(path)
        if any(text in str(row) for row in rows.iter_rows()):
            found.add(path.stem)
    return found


def levels(bench: Bench) -> list[str]:
    return [one.level for one in diagnose(bench.store.workspace("default"))]


def test_the_texts_of_an_item_go_and_its_hash_and_judgments_stay(bench):
    snapshot = bench.store.workspace("default").snapshot()
    before = the_set(snapshot, "g").golden_set_hash
    done = take_out(bench, items=["q1"])
    assert done.rows == {"golden_items": 1, "golden_assertions": 1, "qrels": 1}
    left = {"results", "retrievals", "claims", "assertion_verdicts", "checks"}
    assert files_with(bench, SECRET) == left
    (row,) = [r for r in bench.rows("golden_items") if r["item_id"] == "q1"]
    assert (row["question"], row["contexts"], row["ground_truth"]) == (
        "[redacted]",
        ["[redacted]"],
        None,
    )
    assert bench.rows("qrels")[0]["grade"] == 3
    fresh = Store.open(bench.store.root).workspace("default").snapshot()
    assert the_set(fresh, "g").golden_set_hash == before
    assert bench.run("s", result("q1")).facts["golden_set_hash"] == before
    later = bench.golden(item("q3"))
    assert later.facts["golden_set_hash"] != before
    new = the_set(bench.store.workspace("default").snapshot(), "g")
    recorded = bench.rows("golden_set_versions")
    hashes = {v["item_hash"] for v in recorded if v["item_id"] == "q1"}
    assert (new.n_items, len(hashes)) == (3, 1)


def test_the_texts_of_a_run_go_and_its_numbers_stay(bench):
    before = bench.score("r")
    old = {name: number(before, name)["mean"] for name in ("accuracy", "ndcg_at_10")}
    done = take_out(bench, run_id="r")
    assert done.rows == dict.fromkeys(
        ("results", "retrievals", "claims", "assertion_verdicts", "checks"), 2
    )
    assert files_with(bench, SECRET) == {"golden_items", "golden_assertions", "qrels"}
    after = bench.score("r")
    assert {name: number(after, name)["mean"] for name in old} == old
    assert after.read("result_metrics")["evidence_hash"].null_count() == 2
    assert before.row["rows_hash"]


def test_only_the_results_that_are_named_lose_their_texts(tmp_path):
    bench = Bench(tmp_path)
    bench.golden(item("q1", must=1), item("q2", must=1))
    rows = [secret_result(i, sample_index=n) for i in ("q1", "q2") for n in (0, 1)]
    bench.run("r", *rows, samples_n=2)
    take_out(bench, run_id="r", items=["q1"], sample_index=1)
    answers = {(r["item_id"], r["sample_index"]): r["answer"] for r in bench.rows("results")}
    assert [key for key, text in answers.items() if text == "[redacted]"] == [("q1", 1)]


def test_an_audit_event_says_who_what_and_why_and_again_is_a_no_op(bench):
    assert take_out(bench, items=["q1"]).created
    (event,) = [e for e in bench.rows("audit_log") if e["action"] == "text.redact"]
    assert (event["target"], event["actor"]) == ("q1", "ann")
    detail = json.loads(event["detail"])
    assert (detail["reason"], detail["rows"]["golden_items"]) == ("asked to", 1)
    head = bench.head()
    again = take_out(bench, items=["q1"])
    assert (again.created, again.rows, bench.head()) == (False, {}, head)


def test_the_doctor_calls_redacted_files_redacted_not_damaged(bench):
    take_out(bench, run_id="r")
    found = diagnose(bench.store.workspace("default"))
    assert {one.level for one in found} == {"ok"}
    assert any("results.parquet: 2 rows are redacted" in one.what for one in found)
    for path in (bench.root / "lake").glob("*/*.parquet"):
        assert path.stat().st_mode & 0o777 == 0o444


def test_rows_order_and_footers_of_a_redacted_file_are_those_of_before(bench):
    _, path = sorted((bench.root / "lake").glob("*/retrievals.parquet"))  # the first is empty
    before, footer = pl.read_parquet(path), pl.read_parquet_metadata(path)
    take_out(bench, run_id="r")
    after = pl.read_parquet(path)
    assert after.drop("text").equals(before.drop("text"))
    assert after.schema == before.schema
    named = [name for name in footer if name.startswith("crucible.")]
    assert {n: pl.read_parquet_metadata(path)[n] for n in named} == {n: footer[n] for n in named}


def test_a_redaction_that_was_stopped_is_told_from_damage_and_can_be_finished(bench, monkeypatch):
    replace = redaction.durable.replace

    def stop(source, target):
        if target.name == "results.parquet":
            raise KeyboardInterrupt
        replace(source, target)

    monkeypatch.setattr(redaction.durable, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        take_out(bench, run_id="r")
    monkeypatch.undo()
    found = diagnose(bench.store.workspace("default"))
    assert any("only half redacted" in one.what for one in found)
    assert take_out(bench, run_id="r").created
    assert set(levels(bench)) == {"ok"}
    assert "results" not in files_with(bench, SECRET)


def test_the_rows_put_aside_are_told_with_their_folder(bench):
    aside = bench.root / "quarantine" / "load" / "results.parquet"
    aside.parent.mkdir(parents=True)
    aside.touch()
    (note,) = take_out(bench, items=["q1"]).notes
    assert note.startswith("1 quarantine file holds rows as they were handed in: look into ")
    assert str(bench.root / "quarantine") in note


def test_null_and_blank_texts_stay_what_they_are(tmp_path):
    bench = Bench(tmp_path)
    bench.golden(item("q1", must=1))
    bench.run("r", {"item_id": "q1", "answer": " "})
    assert not take_out(bench, run_id="r").created
    assert bench.rows("results")[0]["answer"] == " "


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ({"items": ["q9"]}, UnknownNameError),
        ({"run_id": "x"}, UnknownNameError),
        ({}, UsageError),
        ({"items": ["q1"], "reason": " "}, UsageError),
    ],
)
def test_what_is_not_named_or_not_there_is_refused(bench, what, error):
    with pytest.raises(error):
        take_out(bench, **what)


@pytest.mark.parametrize(
    "what", [{"run_id": "r", "sample_index": 1}, {"items": ["q1"], "sample_index": 0}]
)
def test_a_sample_that_no_run_has_is_refused_and_not_called_gone(bench, what):
    with pytest.raises(UsageError, match="sample"):
        take_out(bench, **what)
