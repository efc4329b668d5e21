"""Charts of a job's nights: what is said, since when, of which slice; made again, resumed."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import polars as pl
import pytest
from nights import Nights

from crucible_batch.assemble.baselines import pin_baseline
from crucible_batch.assemble.nightly import NightResult, do_night, parse_nights, steps, watching
from crucible_batch.assemble.nightly.series import nights_since_the_pin
from crucible_batch.store import pair_name

WINDOW = [9, 8, 9, 8, 9, 8, 9, 8]
"""Right answers of ten, night by night: a window that moves a little."""


class Watch:
    """A job with a run per day, the day of which is its id."""

    def __init__(self, folder, baseline: str = "base") -> None:
        self.nights = Nights(folder, n_items=10, baseline=baseline)
        self.nights.run("base", "2026-04-30T02:00", n_right=9)
        self.n = 0
        root = self.nights.night("2026-04-30").store.root
        (root / "crucible.toml").write_text("[charts]\nbaseline_nights = 8\n")

    def hand_in(self, *n_right: int) -> None:
        for n in n_right:
            self.n += 1
            self.nights.run(f"r{self.n:02}", f"2026-05-{self.n:02}T02:00", n_right=n)

    def load(self) -> None:
        """Load all that was handed in."""
        night = self.nights.night("2026-05-01")
        for number in range(len(night.config.inputs)):
            steps.load_input(night, number)

    def do(self, *n_right: int) -> NightResult:
        """Hand in runs, do their nights, and return the last."""
        first = self.n + 1
        self.hand_in(*n_right)
        return self.range(first, self.n)

    def range(self, first: int, last: int) -> NightResult:
        for at in parse_nights(f"2026-05-{first:02}..2026-05-{last:02}"):
            done = do_night(self.nights.night(at.isoformat()))
            self.nights.inputs = []  # they are loaded: spare the later nights finding that out
        return done

    def pin(self, run: str, reason: str) -> None:
        store = self.nights.night("2026-04-30").store
        pin_baseline(store, "default", "prod", run, reason=reason, author="me")

    def rows(self, table: str = "nightly_metrics") -> pl.DataFrame:
        store = self.nights.night("2026-04-30").store
        return store.table(table, "default").collect().sort("as_of")

    def marts(self) -> dict[str, bytes]:
        folder = self.nights.root / "default" / "marts"
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*.parquet"))
        }


@pytest.fixture(scope="module")
def dropped(tmp_path_factory) -> tuple[Watch, NightResult]:
    """Eight nights of a window, a usual one, and one with three right answers.

    Of all nights but the last only the steps are done that the charts need.
    """
    watch = Watch(tmp_path_factory.mktemp("dropped"))
    watch.hand_in(*WINDOW, 9, 3)
    watch.load()
    for number in range(1, 10):
        night, run = watch.nights.night(f"2026-05-{number:02}"), f"r{number:02}"
        steps.record(night, "base", run, None, watching.watch_night(night, "base", run))
    return watch, watch.range(10, 10)


@pytest.mark.slow  # a month of nights
def test_the_window_warms_up_then_the_charts_run(dropped):
    watch, _ = dropped
    assert watch.rows("nightly")["verdict"].to_list() == ["warming_up"] * 8 + ["ok", "drop"]
    hits = watch.rows().filter(pl.col("metric") == "ndcg_at_10", pl.col("slice") == "all")
    assert hits["n_baseline_nights"].to_list() == [1, 2, 3, 4, 5, 6, 7, 8, 8, 8]
    assert hits["delta"].to_list() == pytest.approx([0, -0.1] * 4 + [0, -0.6])
    assert hits["center"].null_count() == 7
    assert hits["center"][-1] == pytest.approx(-0.05)
    assert hits["sigma"][-1] == pytest.approx(0.05 * (8 / 7) ** 0.5)
    assert hits["lag1"][-1] == pytest.approx(-7 / 8)


@pytest.mark.slow  # a month of nights
def test_a_drop_says_since_when_what_and_which_items(dropped):
    _, done = dropped
    assert done.said.metric == "ndcg_at_10"
    assert done.said.since == datetime(2026, 5, 11, tzinfo=UTC)
    assert done.said.line.startswith("DROP: ndcg_at_10, since 2026-05-11, delta −0.600")
    (moved,) = done.said.more
    assert moved.startswith("moved most: q3 −1.000, q4 −1.000")
    assert json.loads(json.dumps(done.to_dict()))["watch"]["verdict"] == "drop"


@pytest.mark.slow  # a month of nights
def test_a_night_asked_for_again_says_the_same_word(dropped):
    watch, done = dropped
    again = watch.range(10, 10)
    assert again.is_repeat
    assert again.said[:5] == done.said[:5]
    assert again.said.line == "DROP: ndcg_at_10, since 2026-05-11"


@pytest.mark.slow  # a month of nights
def test_charting_a_night_again_writes_the_same_bytes_even_without_old_comparisons(dropped):
    watch, _ = dropped
    before = watch.marts()
    night = watch.nights.night("2026-05-10")
    night.opened().layout.mart("comparisons", pair_name("base", "r04")).unlink()
    for name in before:
        if name.startswith("nightly_metrics/20260511"):
            (watch.nights.root / "default" / "marts" / name).unlink()
    watching.watch_night(night, "base", "r10")
    assert watch.marts() == before


@pytest.mark.slow  # a month of nights
def test_metrics_without_a_direction_have_no_chart(dropped):
    watch, _ = dropped
    metrics = set(watch.rows()["metric"])
    assert "ndcg_at_10" in metrics
    assert "n_relevant" not in metrics


@pytest.mark.slow  # 15 s
def test_a_backfill_that_stopped_and_went_on_ends_in_the_same_bytes(tmp_path, dropped):
    whole, _ = dropped
    other = Watch(tmp_path)
    other.hand_in(*WINDOW, 9, 3)
    other.range(1, 6)
    assert other.range(1, 6).is_repeat
    assert not other.range(1, 10).is_repeat
    theirs, ours = whole.marts(), other.marts()
    assert ours.keys() == theirs.keys()
    assert [name for name in ours if ours[name] != theirs[name]] == []
    assert other.rows("nightly").drop("_commit").equals(whole.rows("nightly").drop("_commit"))


@pytest.mark.slow
def test_a_run_that_failed_is_a_night_that_is_not_comparable_and_in_no_window(tmp_path):
    watch = Watch(tmp_path)
    watch.do(9)
    watch.n += 1
    watch.nights.run("r02", "2026-05-02T02:00", status="failed")
    done = watch.range(2, 2)
    assert (done.said.verdict, done.said.line) == (
        "not_comparable",
        "charts: not comparable: failed",
    )
    assert watch.do(8).said.line == "charts: warming up: 2/8 comparable nights"


@pytest.fixture
def four(tmp_path) -> Watch:
    """Four runs, loaded; no night is done yet."""
    watch = Watch(tmp_path)
    watch.hand_in(9, 8, 9, 8)
    watch.load()
    return watch


def done(watch: Watch, day: int, baseline: str) -> None:
    """Write the row of a night."""
    steps.record(watch.nights.night(f"2026-05-0{day}"), baseline, f"r0{day}")


def window(watch: Watch, day: int, baseline: str) -> list[str]:
    """Candidates of the earlier nights that a night is charted with."""
    night = watch.nights.night(f"2026-05-0{day}")
    found = nights_since_the_pin(night, night.opened().snapshot(), baseline)
    return found["candidate_run_id"].to_list()


def test_a_new_pin_starts_a_new_window_even_of_the_same_run(four):
    done(four, 1, "base")
    four.nights.top["baseline"] = "pinned:prod"
    four.pin("base", "first")
    done(four, 2, "base")
    done(four, 3, "base")
    assert window(four, 4, "base") == ["r02", "r03"]
    four.pin("base", "the corpus is another one")
    assert window(four, 4, "base") == []


def test_another_baseline_starts_a_new_window_and_so_does_the_first_one_again(four):
    done(four, 1, "base")
    done(four, 2, "base")
    assert window(four, 3, "base") == ["r01", "r02"]
    assert window(four, 3, "r01") == []
    done(four, 3, "r01")
    assert window(four, 4, "base") == []


def test_nights_that_come_later_are_in_no_window(four):
    done(four, 1, "base")
    done(four, 3, "base")
    assert window(four, 2, "base") == ["r01"]


def test_against_the_latest_run_nothing_is_charted(tmp_path):
    watch = Watch(tmp_path, baseline="latest-succeeded")
    done = watch.do(9)
    assert (done.said.verdict, done.said.line) == (None, None)
    assert watch.rows().is_empty()
