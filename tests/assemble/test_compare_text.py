"""What a comparison says to people at a terminal, and in the tables of other programs."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from bench import JUDGE, Bench, compared, item, result

from crucible_batch.assemble.compare.text import artifact_rows, compared_text, comparison_text

N = 24
IDS = [f"q{n:02}" for n in range(N)]


def results(n: int = N, *, ids=IDS) -> list[dict]:
    """The first so many results of a run whose answers are all right."""
    return [result(q, f"d-{q}", verdict="supported", judges=(JUDGE,)) for q in ids][:n]


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    """Runs whole, torn, unjudged; and one made for a golden set with one item changed."""
    bench = Bench(tmp_path_factory.mktemp("text"))
    bench.golden(*[item(q, must=1) for q in IDS])
    bench.qrels(*[(q, f"d-{q}", 3) for q in IDS])
    bench.run("whole", *results())
    bench.run("torn", *results(N - 3))
    bench.run("unjudged", *[result(q, f"d-{q}") for q in IDS], judge=None)
    bench.golden(item("q00", must=1) | {"question": "What of it now?"})
    bench.run("regrown", *results())
    return bench


def text_of(bench: Bench, *names: str, **options) -> str:
    return comparison_text(bench.compare(*names, **options))


def test_a_degraded_run_is_named_with_what_it_lost(bench):
    text = text_of(bench, "whole", "torn")
    assert "No verdict: torn is degraded (3 of 24 results errored or are missing)." in text
    assert "■ no verdict: torn is degraded" in text


def test_a_run_without_verdicts_is_said_to_have_none(bench):
    text = text_of(bench, "whole", "unjudged")
    assert "unjudged has no verdicts" in text.splitlines()[1]
    assert "■ no verdict: unjudged has no verdicts" in text
    assert "judge differs" not in text
    done = bench.compare("whole", "unjudged")
    assert compared(done, "accuracy")["blocked_reason"] == "judge_differs"
    words = {row["metric"]: row["verdict"] for row in artifact_rows(done)}
    assert words["accuracy"] == "no verdict: unjudged has no verdicts"


def test_another_golden_set_names_the_option_and_the_option_helps(bench):
    text = text_of(bench, "whole", "regrown")
    assert "No verdict: the golden set differs; --allow-golden-change pairs" in text
    allowed = text_of(bench, "whole", "regrown", allow_golden_change=True)
    assert "No verdict: the golden set" not in allowed
    assert "golden set changed: 1 item left out, 0 only in the baseline" in allowed


def test_the_text_counts_the_units_of_its_own_first_row(bench):
    done = bench.compare("whole", "whole")
    first = compared(done, "ndcg_at_10")
    rows = done.rows.with_columns(
        n_units=pl.when(pl.col("metric") == "ndcg_at_10").then(7).otherwise("n_units")
    )
    assert first["n_units"] == N
    assert "unit: item (7 of them behind the first row)" in comparison_text(
        replace(done, rows=rows.cast(done.rows.schema))
    )


def test_answers_that_nobody_judged_are_counted_with_the_command_that_judges_them(bench):
    hint = "no judge has seen the answers (24 of unjudged): crucible judge assertions unjudged"
    assert hint in text_of(bench, "whole", "unjudged").splitlines()
    assert "no judge has seen" not in text_of(bench, "whole", "torn")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (0.0, "on these accuracy did not change"),
        (0.25, "on these accuracy changed by +0.250, which is the judge's doing"),
    ],
)
def test_a_judge_is_blamed_only_for_a_change(bench, change, said):
    done = bench.compare("whole", "whole")
    rows = done.rows.with_columns(n_identical_answers=24, delta_identical_answers=pl.lit(change))
    text = comparison_text(replace(done, rows=rows))
    assert f"24 answers are the same in both runs; {said}" in text.splitlines()


def test_a_slice_of_all_the_pairs_is_not_told_as_one_that_changed(bench):
    done = bench.compare("whole", "whole")
    changed = pl.when(pl.col("slice_by") == "answerable").then(pl.lit("improved"))
    rows = done.rows.with_columns(verdict=changed.otherwise("verdict"))
    assert "slices that changed" not in compared_text(replace(done, rows=rows))
    fewer = rows.with_columns(
        n_pairs=pl.when(pl.col("slice_by") == "all").then(25).otherwise("n_pairs")
    )
    assert "  accuracy answerable=true" in compared_text(replace(done, rows=fewer))
