"""The readiness report names what a golden set lacks, and says nothing where all is well."""

from __future__ import annotations

import json
import math

import pytest
from bench import Bench, item, result

from crucible_batch.assemble.example import example_dir
from crucible_batch.assemble.golden import check_set
from crucible_batch.assemble.golden.material import STATUSES
from crucible_batch.assemble.golden.questions import ALIKE, alike, repeated
from crucible_batch.assemble.golden.text import readiness_markdown, readiness_text
from crucible_batch.assemble.load import load_golden
from crucible_batch.contracts.vocabulary import POPULARITIES, QUESTION_TYPES, SHAPES
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.judges.lexical import content_words

THINGS = (
    *("anchor", "bridge", "candle", "drum", "engine", "ferry"),
    *("garden", "hammer", "island", "jacket", "kettle", "lantern"),
)


@pytest.fixture
def bench(tmp_path) -> Bench:
    return Bench(tmp_path)


def report(bench: Bench):
    return check_set(bench.store, "default")


def lines(bench: Bench):
    return {line.check: line for line in report(bench).lines}


def poor(n: int = 12) -> list[dict]:
    """A head-only, all-answerable set that nobody thought about."""
    return [
        item(f"q{k:02d}", popularity="head", question_type="simple", shape="lookup")
        | {"question": f"What colour has the {THINGS[k]} here?"}
        for k in range(n)
    ]


def rich(n: int = 60) -> list[dict]:
    """A set that has everything."""
    rows = []
    for k in range(n):
        kind = QUESTION_TYPES[k % 8]
        row = item(
            f"q{k:02d}",
            required=() if kind in {"false_premise", "set"} else (f"d{k}",),
            popularity=POPULARITIES[k % 3],
            question_type=kind,
            shape=SHAPES[k % 4],
            cluster_id=f"c{k}",
        )
        row["answerable"] = kind not in {"false_premise", "set"}
        row["question"] = f"Which {THINGS[k % 12]}{k} goes with {THINGS[k // 12]}{k * 7}?"
        row["ground_truth"] = f"Number {k}."
        text = f"The tally of it reads {k}."
        row["assertions"] = [
            {"assertion_id": "a0", "level": "must", "text": text, "concept_id": "e"}
        ]
        rows.append(row)
    return rows


def test_a_small_head_only_answerable_set_is_told_each_lack(bench):
    bench.golden(*poor())
    found = lines(bench)
    assert {check: line.status for check, line in found.items()} == {
        "items": "missing",
        "question_type": "missing",
        "popularity": "missing",
        "shape": "missing",
        "unanswerable": "missing",
        "false_premise": "missing",
        "assertions": "missing",
        "assertion_echo": "ok",
        "ground_truth": "missing",
        "duplicates": "ok",
        "clusters": "ok",
        "concept_anchors": "missing",
        "provenance": "missing",
        "judged_pool": "missing",
        "significance": "missing",
    }
    assert "12 active items; 20 are the least" in found["items"].what
    assert "none is torso, tail" in found["popularity"].what
    assert "none is multi_hop, paraphrase, privacy" in found["shape"].what
    assert found["provenance"].items == tuple(f"q{k:02d}" for k in range(12))
    for line in found.values():
        assert bool(line.help) == (line.status != "ok")


def test_a_set_that_has_everything_is_ok_before_any_run(bench):
    bench.golden(*rich())
    statuses = {check: line.status for check, line in lines(bench).items()}
    waits = {"judged_pool", "significance"}
    assert {c for c, status in statuses.items() if status != "ok"} == waits
    bench.run("r", result("q00", "d0"))
    assert lines(bench)["significance"].help == "crucible score r"


def test_citations_without_judgments_ask_for_seeding(bench):
    bench.golden(item("q1"))
    row = {"item_id": "q1", "revision": 1, "doc_id": "d1", "kind": "required"}
    bench.append("golden_citations", row)
    assert lines(bench)["provenance"].help == "crucible qrels seed"


@pytest.mark.parametrize(
    ("n_judged", "status"), [(0, "missing"), (1, "warn"), (8, "warn"), (9, "ok"), (10, "ok")]
)
def test_the_judged_share_is_that_of_the_first_ten_documents(bench, n_judged, status):
    bench.golden(item("q1"))
    docs = [f"d{k}" for k in range(12)]
    bench.run("r", result("q1", *docs))
    judged = [("q1", doc, 0) for doc in (*docs[:n_judged], *docs[10:])]
    bench.qrels(*judged)
    line = lines(bench)["judged_pool"]
    assert line.status == status
    assert line.what.startswith(f"{n_judged} of 10 retrieved documents are judged")
    assert line.items == (() if status == "ok" else ("q1",))
    assert line.help == ("" if status == "ok" else "crucible qrels judge r")


def test_the_pool_is_that_of_the_two_latest_runs(bench):
    bench.golden(item("q1"))
    for run, doc in [("a", "d1"), ("b", "d2"), ("c", "d3")]:  # of one instant: by id
        bench.run(run, result("q1", doc))
    bench.qrels(("q1", "d1", 0))
    line = lines(bench)["judged_pool"]
    assert line.what == "0 of 2 retrieved documents are judged (0.0%), in c and b"


def test_the_smallest_drop_follows_from_the_spread_of_the_last_scored_run(bench):
    bench.golden(*(item(f"q{k:02d}", must=1) for k in range(24)))
    verdicts = ["supported", "supported", "missing"] * 8
    bench.run("r", *(result(f"q{k:02d}", verdict=v) for k, v in enumerate(verdicts)))
    bench.score("r")
    line = lines(bench)["significance"]
    mean = 16 / 24
    sd = math.sqrt((16 * (1 - mean) ** 2 + 8 * mean**2) / 23)
    drop = (1.959963984540054 + 0.8416212335729143) * math.sqrt(2) * sd / math.sqrt(24)
    assert line.status == "warn"
    assert f"accuracy {drop:.3f}" in line.what
    assert "ndcg_at_10" not in line.what


def test_a_metric_measured_on_too_few_items_gets_no_smallest_drop(bench):
    bench.golden(*(item(f"q{k:02d}", must=1, required=(f"d{k}",)) for k in range(24)))
    answers = [result(f"q{k:02d}", f"d{k}", verdict="missing") for k in range(4)]
    answers += [result(f"q{k:02d}", f"d{k}") for k in range(4, 24)]
    bench.run("r", *answers)
    bench.score("r")
    what = lines(bench)["significance"].what
    assert "recall_at_10 0.000" in what
    assert what.endswith(
        "; no verdict on fewer than 20 measured items: mean_truthfulness 4, accuracy 4"
    )


def test_questions_asked_twice_are_named_unless_they_share_a_cluster(bench):
    asked = {
        "q1": "Who signs the deed of the old house?",
        "q2": "who signs the DEED of the old house",
        "q3": "Who signs the deed of the old house now, then?",
        "q4": "Where does the ferry land?",
    }
    together = [
        item(i, cluster_id="deed" if i != "q4" else None) | {"question": q}
        for i, q in asked.items()
    ]
    bench.golden(*together)
    line = lines(bench)["duplicates"]
    assert line.items == ("q1", "q2")
    apart = [{**row, "cluster_id": None} for row in together]
    bench.golden(*apart)
    assert lines(bench)["duplicates"].items == ("q1", "q2", "q3")


def test_alike_questions_are_those_that_a_comparison_of_all_finds():
    texts = {
        f"q{n}": " ".join(f"word{(n * k * k + k) % 9}" for k in range(3 + n % 5)) for n in range(60)
    }
    words = {i: content_words(t) for i, t in texts.items()}
    found = set(alike(texts)) | set(repeated(texts))
    slow = {
        (a, b)
        for a in texts
        for b in texts
        if a < b and len(words[a] & words[b]) >= ALIKE * len(words[a] | words[b])
    }
    assert found >= slow
    assert set(alike(texts)) <= slow
    assert slow


def test_echoing_assertions_and_bad_ground_truths_are_named(bench):
    rows = rich(20)
    rows[0]["assertions"][0]["text"] = "anchor0 goes with anchor0."
    rows[1]["ground_truth"] = "  "
    rows[3]["ground_truth"] = "word " * 101
    bench.golden(*rows)
    found = lines(bench)
    assert found["assertion_echo"].items == ("q00",)
    assert found["ground_truth"].items == ("q01", "q03")
    assert "1 answerable items have no ground truth, 1 one of more" in found["ground_truth"].what


def test_paraphrases_without_a_cluster_are_named(bench):
    bench.golden(item("q1", shape="paraphrase"), item("q2", shape="paraphrase", cluster_id="c"))
    assert lines(bench)["clusters"].items == ("q1",)


def test_text_json_and_markdown_say_the_same(bench):
    bench.golden(*poor())
    found = report(bench)
    text, markdown, plain = readiness_text(found), readiness_markdown(found), found.to_dict()
    json.dumps(plain)
    assert plain["status"] == "missing"
    for line in found.lines:
        assert f"{line.status:<7}  {line.check}" in text
        assert f"{line.status} | {line.check} |" in markdown
        assert line.what in text
    assert "3 ok, 0 warn, 12 missing" in text
    assert "3 ok, 0 warn, 12 missing" in markdown
    assert {line["status"] for line in plain["lines"]} <= set(STATUSES)


def test_the_example_is_ready_or_honestly_warned_of(bench):
    folder = example_dir()
    load_golden(bench.store, [folder / "golden.jsonl"])
    found = lines(bench)
    missing = {check for check, line in found.items() if line.status == "missing"}
    assert missing == {"judged_pool", "significance"}  # no run is loaded here


def test_a_set_that_is_not_there_is_not_checked(bench):
    bench.golden(item("q1"))
    with pytest.raises(UnknownNameError):
        check_set(bench.store, "default", "h")
    bench.store.workspace("empty", create=True)
    with pytest.raises(UsageError, match="no golden set yet"):
        check_set(bench.store, "empty")
