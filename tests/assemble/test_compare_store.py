"""Comparing runs of a store: what is blocked and why, pairing, placement, mirror, one ruler."""

from __future__ import annotations

import math

import polars as pl
import pytest
from bench import JUDGE, Bench, compared, item, result

from crucible_batch.assemble.compare.rows import is_comparable
from crucible_batch.assemble.evaluate import Options
from crucible_batch.errors import NotComparableError, UnknownNameError, UsageError

N = 24
IDS = [f"q{n:02}" for n in range(N)]


def results(n_right: int, *, ids=IDS, judge: str = JUDGE, doc: str = "d", **more) -> list[dict]:
    """The first so many items are answered rightly."""
    return [
        result(
            q,
            f"{doc}-{q}",
            verdict="supported" if n < n_right else "missing",
            judges=(judge,),
            **more,
        )
        for n, q in enumerate(ids)
    ]


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    """24 items; run `a` has 8 right, run `b` 16; all documents of `a` are judged relevant."""
    bench = Bench(tmp_path_factory.mktemp("compare"))
    bench.golden(
        *[item(q, must=1, shape="lookup" if n % 2 else "privacy") for n, q in enumerate(IDS)]
    )
    bench.qrels(*[(q, f"d-{q}", 3) for q in IDS])
    bench.run("a", *results(8, latency_ms=200.0))
    bench.run("b", *results(16, latency_ms=100.0))
    return bench


@pytest.fixture(scope="module")
def done(bench):
    return bench.compare("a", "b")


def test_delta_is_candidate_minus_baseline_per_item(done):
    row = compared(done, "accuracy")
    assert row["delta"] == pytest.approx(8 / 24, abs=1e-9)
    assert (row["n_pairs"], row["n_better"], row["n_same"], row["n_worse"]) == (24, 8, 16, 0)
    assert (row["p_value"], row["p_method"]) == (2 * 0.5**8, "exact")
    assert row["blocked_reason"] is None
    assert done.is_comparable


def test_the_default_comparison_stands_under_the_names_of_the_pair(done, bench):
    assert {path.relative_to(bench.root).as_posix() for path in done.paths.values()} == {
        "marts/comparisons/a~b.parquet",
        "marts/comparison_items/a~b.parquet",
        "marts/comparison_documents/a~b.parquet",
    }


def test_comparing_again_changes_nothing(done, bench):
    before, head = bench.files(), bench.head()
    again = bench.compare("a", "b")
    assert not again.created
    assert again.comparison_id == done.comparison_id
    assert (bench.files(), bench.head()) == (before, head)


def test_saying_the_default_is_the_default(done, bench):
    assert bench.compare("a", "b", adjust="holm").paths == done.paths


@pytest.mark.parametrize(
    "options", [{"adjust": "by"}, {"unit": "item"}, {"allow_golden_change": True}]
)
def test_other_options_write_a_variant_under_its_id(done, bench, options):
    other = bench.compare("a", "b", **options)
    assert other.comparison_id != done.comparison_id
    assert other.paths["comparisons"] == (
        bench.root / "variants" / "comparisons" / f"{other.comparison_id}.parquet"
    )


def test_the_other_way_round_is_the_exact_mirror(done, bench):
    back = bench.compare("b", "a").rows
    on = ["slice_by", "slice", "metric"]
    both = done.rows.join(back, on=on, suffix="_back", how="full", coalesce=True)
    assert both.height == done.rows.height == back.height
    for there, here, sign in (
        ("delta", "delta", -1),
        ("ci_low", "ci_high", -1),
        ("ci90_low", "ci90_high", -1),
        ("mean_baseline", "mean_candidate", 1),
        ("n_better", "n_worse", 1),
        ("p_value", "p_value", 1),
        ("p_adjusted", "p_adjusted", 1),
        ("sd_delta", "sd_delta", 1),
    ):
        mirrored = both.select(pl.col(f"{here}_back") * sign).to_series()
        assert both[there].equals(mirrored.alias(there)), there
    turned = {"improved": "regressed", "regressed": "improved"}
    assert both["verdict"].to_list() == [turned.get(v, v) for v in both["verdict_back"]]


def test_items_add_up_to_the_delta_and_are_ranked_by_size(done):
    for metric, rows in done.items.partition_by("metric", as_dict=True).items():
        row = compared(done, str(metric[0]))
        assert rows.height == row["n_pairs"]
        largest = max(abs(delta) for delta in rows["delta"])
        mean = math.fsum(rows["delta"]) / rows.height
        assert row["delta"] == pytest.approx(mean, abs=1e-9 * largest)
        ordered = rows.sort(pl.col("delta").abs(), "item_id", descending=[True, False])
        assert ordered["rank"].to_list() == list(range(1, rows.height + 1))


def test_items_of_a_linear_metric_hold_the_difference(done):
    rows = done.items.filter(pl.col("metric") == "accuracy")
    assert (rows["candidate"] - rows["baseline"]).to_list() == rows["delta"].to_list()


def test_items_of_a_log_metric_hold_the_values_and_the_log_ratio(done):
    rows = done.items.filter(pl.col("metric") == "latency_ms")
    assert set(rows.select("baseline", "candidate").rows()) == {(200.0, 100.0)}
    assert rows["delta"].to_list() == [pytest.approx(math.log(0.5))] * N
    assert compared(done, "latency_ms")["rel_delta"] == pytest.approx(-0.5)


def test_a_zero_leaves_the_pairing_of_a_log_metric_and_counts_as_missing(bench):
    free = results(8, latency_ms=100.0)
    free[0]["latency_ms"] = 0.0
    bench.run("free", *free)
    done = bench.compare("a", "free")
    row = compared(done, "latency_ms")
    assert (row["n_pairs"], row["n_missing_candidate"]) == (N - 1, 1)
    assert done.items.filter(pl.col("metric") == "latency_ms").height == N - 1


def test_a_changed_judge_blocks_what_a_judge_decides_and_nothing_else(bench):
    bench.run("other judge", *results(16, judge="other@2"), judge="other@2")
    done = bench.compare("a", "other judge")
    accuracy, recall = compared(done, "accuracy"), compared(done, "recall_at_10")
    assert accuracy["blocked_reason"] == "judge_differs"
    assert (accuracy["verdict"], accuracy["p_value"], accuracy["family"]) == (None, None, None)
    assert accuracy["delta"] is not None
    assert accuracy["ci_low"] is not None
    assert recall["blocked_reason"] is None
    assert recall["family_size"] == compared(done, "ndcg_at_10")["family_size"] == 2
    assert done.is_comparable


def test_no_judge_against_a_judge_is_a_changed_judge_and_none_against_none_is_not(bench):
    plain = [result(q, f"d-{q}") for q in IDS]
    bench.run("unjudged", *plain, judge=None)
    bench.run("unjudged too", *plain, judge=None)
    assert compared(bench.compare("a", "unjudged"), "accuracy")["blocked_reason"] == "judge_differs"
    done = bench.compare("unjudged", "unjudged too")
    assert compared(done, "accuracy")["blocked_reason"] is None


@pytest.mark.parametrize("status", ["running", "failed", "degraded"])
def test_a_run_that_is_not_whole_blocks_everything(bench, status):
    bench.run(f"is {status}", *results(16), status=status)
    done = bench.compare("a", f"is {status}")
    assert set(done.rows["blocked_reason"]) == {status}
    assert not done.is_comparable
    assert set(done.rows["verdict"]) == {None}


def test_a_run_that_lost_too_many_results_blocks_everything(bench):
    bench.run("torn", *results(16)[:-2])
    assert set(bench.compare("a", "torn").rows["blocked_reason"]) == {"degraded"}


def test_a_metric_only_one_run_carries_has_no_pairs_and_no_verdict(bench):
    scored = [one | {"scores": [{"metric": "plugin.x.y", "value": 1.0}]} for one in results(16)]
    bench.run("plugged", *scored)
    row = compared(bench.compare("a", "plugged"), "plugin.x.y")
    assert (row["n_pairs"], row["n_missing_baseline"]) == (0, N)
    assert (row["delta"], row["p_value"], row["family"]) == (None, None, None)


def test_a_plugin_metric_nobody_declared_never_gets_a_verdict(bench):
    for name, value in (("p0", 0.0), ("p1", 1.0)):
        scores = [{"metric": "plugin.x.y", "value": value}]
        bench.run(name, *[one | {"scores": scores} for one in results(8)])
    done = bench.compare("p0", "p1")
    row = compared(done, "plugin.x.y")
    assert (row["delta"], row["p_value"], row["verdict"]) == (1.0, None, "no_test")
    assert is_comparable(done.rows.filter(pl.col("metric") == "plugin.x.y"))


def test_runs_that_share_no_measurement_are_not_comparable(bench):
    bench.run("errors", *[result(q, error="down", answer=None) for q in IDS])
    done = bench.compare("errors", "a")
    assert not done.is_comparable


def test_counts_of_the_golden_set_alone_make_no_comparison(bench):
    """Both runs carry n_relevant whatever they did: it says nothing of either."""
    empty = [{"item_id": q, "answer": None} for q in IDS]
    bench.run("silent", *empty)
    bench.run("silent too", *empty)
    done = bench.compare("silent", "silent too")
    assert compared(done, "n_relevant")["n_pairs"] == N
    assert not done.is_comparable


def test_both_sides_are_scored_with_the_judgments_of_one_moment(bench, monkeypatch):
    """A judgment that arrives between the two scorings counts for neither side."""
    from crucible_batch.assemble.compare import run as module

    scored = module.evaluate_at
    arrivals = iter([[("q00", "x1", 3)], [("q00", "x2", 3)]])

    def interrupted(*args, **kwargs):
        done = scored(*args, **kwargs)
        bench.qrels(*next(arrivals))
        return done

    bench.qrels(("q01", "x0", 1))
    monkeypatch.setattr(module, "evaluate_at", interrupted)
    done = bench.compare("a", "b")
    assert done.baseline.row["ruler_hash"] == done.candidate.row["ruler_hash"]
    assert compared(done, "recall_at_10")["delta"] == 0.0


def test_a_comparison_never_replaces_the_numbers_of_a_run(bench):
    bench.score("a")
    before = bench.files("marts/scores", "marts/run_metrics")
    bench.qrels(("q02", "x9", 3))
    done = bench.compare("a", "b")
    assert bench.files("marts/scores", "marts/run_metrics") == before
    assert done.baseline.evaluation.paths["scores"].parts[-3] == "variants"


def test_a_pinned_comparison_is_a_variant_with_the_grades_of_that_commit(bench):
    pin = bench.head()
    then = compared(bench.compare("a", "b", pin=pin), "recall_at_10")
    bench.qrels(("q03", "x9", 3))
    done = bench.compare("a", "b", pin=pin)
    assert done.paths["comparisons"].parts[-3] == "variants"
    now = compared(bench.compare("a", "b"), "recall_at_10")
    assert compared(done, "recall_at_10")["mean_baseline"] == then["mean_baseline"]
    assert now["mean_baseline"] < then["mean_baseline"]


def test_a_replaced_comparison_is_kept_under_its_id(bench):
    old = bench.compare("a", "b")
    content = old.paths["comparisons"].read_bytes()
    bench.qrels(("q04", "x9", 3))
    new = bench.compare("a", "b")
    assert new.comparison_id != old.comparison_id
    kept = bench.root / "variants" / "comparisons" / f"{old.comparison_id}.parquet"
    assert kept.read_bytes() == content


@pytest.mark.parametrize(("baseline", "candidate"), [("a", "nobody"), ("nobody", "a")])
def test_an_unknown_run_is_a_wrong_name(bench, baseline, candidate):
    with pytest.raises(UnknownNameError) as raised:
        bench.compare(baseline, candidate)
    assert raised.value.exit_code == 2


def test_an_unknown_option_is_refused_before_anything_is_scored():
    from crucible_batch.assemble.compare import CompareOptions

    with pytest.raises(UsageError, match="unit"):
        CompareOptions(unit="person")
    with pytest.raises(UsageError, match="adjust"):
        CompareOptions(adjust="bonferroni")
    with pytest.raises(UsageError, match="qrel_source"):
        Options(qrel_source="people")


@pytest.fixture(scope="module")
def grown(tmp_path_factory) -> Bench:
    """Run `old` has q00 to q23; for `new` q00 changed, q23 went and q24 came."""
    bench = Bench(tmp_path_factory.mktemp("grown"))
    bench.golden(*[item(q, must=1) for q in IDS])
    bench.qrels(*[(q, f"d-{q}", 3) for q in IDS])
    bench.run("old", *results(8))
    bench.golden(
        item("q00", must=1) | {"question": "What of it now?"},
        item("q23", must=1, retired=True),
        item("q24", must=1),
    )
    bench.run("new", *results(16, ids=[*IDS[:-1], "q24"]))
    return bench


def test_another_golden_set_blocks_everything(grown):
    done = grown.compare("old", "new")
    assert set(done.rows["blocked_reason"]) == {"golden_set_differs"}
    assert not done.is_comparable


def test_a_golden_change_that_is_allowed_pairs_the_unchanged_items_and_counts_the_rest(grown):
    row = compared(grown.compare("old", "new", allow_golden_change=True), "accuracy")
    assert row["blocked_reason"] is None
    assert row["golden_set_changed"]
    assert (row["n_pairs"], row["n_content_changed"]) == (N - 2, 1)
    assert (row["n_only_baseline"], row["n_only_candidate"]) == (1, 1)
    assert row["delta"] == pytest.approx(8 / 22, abs=1e-9)


def test_the_ruler_of_an_allowed_change_covers_the_paired_items_only(grown):
    def ruler():
        done = grown.compare("old", "new", allow_golden_change=True)
        return compared(done, "accuracy")["ruler_hash"]

    before = ruler()
    grown.qrels(("q24", "x", 3))  # only the candidate has it
    assert ruler() == before
    grown.qrels(("q05", "x", 3))
    assert ruler() != before


def test_runs_of_two_sets_without_a_common_item_are_refused(grown):
    grown.golden(item("z", must=1), golden_set="elsewhere")
    grown.run("far", result("z"), golden_set="elsewhere")
    with pytest.raises(NotComparableError) as raised:
        grown.compare("old", "far")
    assert raised.value.exit_code == 4
