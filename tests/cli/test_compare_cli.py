"""`crucible compare` as a shell sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

N = 24


def run_lines(run: str, n_right: int, first: str) -> list[dict]:
    rows = [
        {
            "item_id": f"q{n:02}",
            "answer": f"{run} says so.",
            "retrievals": [{"doc_id": first}, {"doc_id": "good"}],
            "verdicts": [
                {"assertion_id": "a", "verdict": "supported" if n < n_right else "missing"}
            ],
        }
        for n in range(N)
    ]
    return [{"run": {"run_id": run, "golden_set": "faq", "judge": {"judge": "j@1"}}}, *rows]


@pytest.fixture
def runs(store, crucible, file) -> Path:
    """`old` (20 of 24 right, the good document first) and `new` (5 right, behind another)."""
    items = [
        {
            "item_id": f"q{n:02}",
            "question": f"Question {n}?",
            "answerable": True,
            "shape": "lookup" if n < N - 1 else "multi_hop",
            "assertions": [{"assertion_id": "a", "level": "must", "text": "So."}],
        }
        for n in range(N)
    ]
    qrels = [
        {"query_id": f"q{n:02}", "doc_id": doc, "grade": grade, "source": "human"}
        for n in range(N)
        for doc, grade in (("good", 3), ("bad", 0), ("side", 1))
    ]
    assert crucible("load", "golden", file("g.jsonl", *items), "--golden-set", "faq").code == 0
    assert crucible("load", "qrels", file("q.jsonl", *qrels)).code == 0
    for run, n_right, first in (("old", 20, "side"), ("new", 5, "bad")):
        lines = file(f"{run}.jsonl", *run_lines(run, n_right, first))
        assert crucible("load", "run", lines).code == 0
    (store / "crucible.toml").write_text("[scoring]\nks = [10]\n[statistics]\nn_resamples = 1000\n")
    return store


def test_it_prints_a_line_per_metric_the_slices_that_changed_and_what_moved(runs, crucible):
    done = crucible("compare", "old", "new")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "old → new"
    accuracy = next(line for line in lines if line.startswith("accuracy  "))
    assert accuracy.startswith("accuracy  0.833 → 0.208  −0.625 [")
    assert accuracy.endswith("0 better / 9 same / 15 worse  n 24  REGRESSED (small sample)")
    assert any(line.startswith("  accuracy shape=lookup  0.870 → 0.217") for line in lines)
    assert "answerable=true" not in done.out  # all 24 of them: the line of accuracy again
    assert "items that moved most on accuracy (it regressed):" in lines
    assert "      side  left from 1  grade 1" in lines
    assert "      bad  entered at 1  grade 0" in lines
    for table in ("comparisons", "comparison_items", "comparison_documents"):
        path = runs / "default" / "marts" / table / "old~new.parquet"
        assert f"{table}: {path}" in lines
        assert path.is_file()


def test_json_is_a_row_per_line_and_a_format_is_a_table_and_nothing_else(runs, crucible):
    rows = [
        json.loads(line) for line in crucible("compare", "old", "new", "--json").out.splitlines()
    ]
    accuracy = next(r for r in rows if (r["metric"], r["slice_by"]) == ("accuracy", "all"))
    assert accuracy["verdict"] == "regressed"
    latex = crucible("compare", "old", "new", "--format", "latex", "--slice", "shape").out
    assert latex.splitlines()[1] == r"\begin{tabular}{lrrrrrrl}"
    assert latex.splitlines()[-1] == r"\end{tabular}"
    assert "Accuracy & 0.833 & 0.208 & $-$0.625" in latex
    assert "Accuracy (shape = lookup) & 0.870" in latex
    markdown = crucible("compare", "old", "new", "--format", "markdown").out
    assert "| Accuracy | 0.833 | 0.208 | −0.625 |" in markdown
    assert "Accuracy (shape" not in markdown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--format", "latx"), "Did you mean latex?"),
        (("--format", "latex", "--json"), "leave one of them out"),
        (("--slice", "shap"), "Did you mean shape?"),
    ],
)
def test_a_wrong_form_exits_2_with_the_fix(runs, crucible, words, said):
    done = crucible("compare", "old", "new", *words)
    assert done.code == 2
    assert said in done.err
