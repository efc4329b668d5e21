"""`crucible score`, `compare` and `qrels export`: what they print, and their exit codes."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def runs(golden, crucible, file):
    """Loads a run of the items q1 and q2."""

    def load(run_id: str, *verdicts: str, judge: str = "j@1", **header) -> None:
        rows = [
            {
                "item_id": f"q{n}",
                "answer": "So.",
                "retrievals": [{"doc_id": f"d{n}"}],
                "verdicts": [{"assertion_id": "a", "verdict": verdict, "judge": judge}],
            }
            for n, verdict in enumerate(verdicts, start=1)
        ]
        head = {"run": {"run_id": run_id, "judge": {"judge": judge}, **header}}
        path = file(f"{run_id}.jsonl", head, *rows)
        assert crucible("load", "run", path, "--golden-set", "faq").code == 0

    return load


def test_score_prints_the_counted_line_and_where_the_files_are(runs, crucible):
    runs("r", "supported", "missing")
    done = crucible("score", "r")
    assert done.code == 0
    assert "2 of 2 results counted (2 items × 1 sample)" in done.out
    assert "marts/scores/r.parquet" in done.out
    assert "accuracy" in done.out


def test_scoring_again_says_that_there_is_nothing_to_do(runs, crucible):
    runs("r", "supported", "missing")
    crucible("score", "r")
    assert "nothing to do" in crucible("score", "r").out


def test_score_as_json_is_one_object_of_scores_and_aggregate(runs, crucible):
    runs("r", "supported", "missing")
    said = crucible("score", "r", "--json").json
    assert {"evaluation", "scores", "aggregate"} <= said.keys()
    (accuracy,) = (
        row for row in said["aggregate"] if (row["slice_by"], row["metric"]) == ("all", "accuracy")
    )
    assert accuracy["mean"] == 0.5


@pytest.mark.parametrize(
    "words",
    [
        ("score", "nobody"),
        ("score", "r", "--judge", "nobody@1"),
        ("score", "r", "--qrel-source", "people"),
        ("score", "r", "--granularity", "page"),
        ("score", "r", "--relevant-at", "4"),
        ("score", "r", "--pin", "999"),
        ("compare", "r", "nobody"),
        ("compare", "r", "r", "--unit", "person"),
        ("compare", "r", "r", "--slice", "colour"),
        ("qrels", "export", "-o", "x", "--source", "people"),
    ],
)
def test_a_name_that_nobody_knows_is_exit_code_2(runs, crucible, words):
    runs("r", "supported", "missing")
    done = crucible(*words)
    assert done.code == 2
    assert "Fix: " in done.err


def test_compare_exits_0_when_rows_are_comparable(runs, crucible):
    runs("r", "supported", "missing")
    runs("s", "supported", "supported")
    done = crucible("compare", "r", "s")
    assert done.code == 0
    assert "r → s" in done.out
    rows = [json.loads(line) for line in crucible("compare", "r", "s", "--json").out.splitlines()]
    (accuracy,) = (row for row in rows if (row["slice_by"], row["metric"]) == ("all", "accuracy"))
    assert (accuracy["delta"], accuracy["verdict"]) == (0.5, "insufficient_items")


def test_compare_exits_4_when_everything_is_blocked_and_still_shows_the_rows(runs, crucible):
    runs("r", "supported", "missing")
    runs("half", "supported")  # one of two results is missing: degraded
    done = crucible("compare", "r", "half")
    assert done.code == 4
    assert "degraded" in done.out


def test_compare_prints_a_facet_when_asked(runs, crucible):
    runs("r", "supported", "missing")
    runs("s", "supported", "supported")
    assert "true" in crucible("compare", "r", "s", "--slice", "answerable").out


def test_qrels_export_says_how_many_it_wrote(golden, crucible, file, tmp_path):
    lines = file("qrels.jsonl", {"query_id": "q1", "doc_id": "d1", "grade": 2, "source": "human"})
    assert crucible("load", "qrels", lines).code == 0
    done = crucible("qrels", "export", "--format", "trec", "-o", tmp_path / "out.txt")
    assert (done.code, done.out) == (0, f"wrote 1 judgment to {tmp_path / 'out.txt'}\n")
    assert (tmp_path / "out.txt").read_text() == "q1 0 d1 2\n"
