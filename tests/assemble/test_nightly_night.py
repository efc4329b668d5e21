"""A whole night: what it leaves behind, and that it is done once."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import polars as pl
import pytest
from nights import Nights

from crucible_batch.assemble.nightly import NightResult, alone, do_night
from crucible_batch.errors import CrucibleError

FIRST, SECOND = "2026-05-01", "2026-05-02"


@pytest.fixture(scope="module")
def two_nights(tmp_path_factory) -> tuple[Nights, NightResult, NightResult]:
    """A night, and a second one with a new run."""
    nights = Nights(tmp_path_factory.mktemp("nights"))
    nights.run("base", "01:00", n_right=1)
    nights.run("first", "02:00")
    one = nights.do(FIRST)
    nights.run("second", "13:00", n_right=0)
    nights.inputs[-1]["run"] = "second"
    return nights, one, nights.do(SECOND)


def rows(nights: Nights, table: str) -> pl.DataFrame:
    return nights.night(FIRST).store.table(table, "default").collect()


def files(nights: Nights) -> dict[str, bytes]:
    """Every file of the store but the lock and the views."""
    return {
        str(path.relative_to(nights.root)): path.read_bytes()
        for path in sorted(nights.root.rglob("*"))
        if path.is_file() and path.name != "catalog.duckdb"
    }


def test_every_night_judges_its_new_run(two_nights):
    nights, one, two = two_nights
    assert (one.baseline, one.candidate, one.exit_code) == ("base", "first", 0)
    assert (two.baseline, two.candidate, two.exit_code) == ("base", "second", 0)
    assert sorted(one.scored) == ["base", "first"]
    assert two.scored == ("second",)
    recorded = rows(nights, "nightly").sort("as_of")
    assert recorded.select("candidate_run_id", "baseline_run_id").rows() == [
        ("first", "base"),
        ("second", "base"),
    ]
    assert recorded["as_of"].to_list() == [one.as_of, two.as_of]
    assert recorded["verdict"].to_list() == ["warming_up", "warming_up"]
    said = ("workspace_id", "as_of", "candidate_run_id", "baseline_run_id", "verdict", "_commit")
    unset = recorded.drop(said)
    assert unset.null_count().row(0) == (2,) * unset.width


def test_the_page_of_a_night_is_named_after_it(two_nights):
    nights, one, two = two_nights
    folder = nights.root / "default" / "reports"
    assert one.report == folder / "20260502T000000Z-first.html"
    assert two.report == folder / "20260503T000000Z-second.html"
    assert sorted(folder.iterdir()) == [one.report, two.report]
    assert "first" in one.report.read_text(encoding="utf-8")


def test_a_second_run_of_a_night_writes_nothing_and_says_so(two_nights):
    nights, one, _ = two_nights
    before = files(nights)
    again = nights.do(FIRST)
    assert again.is_repeat
    assert (again.baseline, again.candidate) == ("base", "first")
    assert again.report == one.report
    assert again.loads == ()
    assert files(nights) == before


def test_a_night_without_a_new_run_ends_with_3_and_leaves_no_row(two_nights):
    nights, *_ = two_nights
    before = files(nights)
    done = nights.do("2026-05-03")
    assert (done.candidate, done.exit_code, done.report) == (None, 3, None)
    assert done.why_none is not None
    assert not any(load.created for load in done.loads)
    assert files(nights) == before


def test_the_result_is_plain_json(two_nights):
    _, one, _ = two_nights
    told = json.loads(json.dumps(one.to_dict(), allow_nan=False))
    assert told["candidate"] == "first"
    assert told["comparison_id"] == one.comparison.comparison_id
    assert [load["kind"] for load in told["loads"]] == ["golden", "run", "run"]


def test_two_golden_sets_have_nights_of_their_own(tmp_path):
    one, two = Nights(tmp_path), Nights(tmp_path, golden_set="other", baseline="other-base")
    one.run("base", "01:00")
    one.run("new", "02:00")
    assert one.do(FIRST).candidate == "new"
    two.run("other-base", "01:00")
    two.run("other-new", "02:00")
    done = two.do(FIRST)
    assert (done.is_repeat, done.candidate) == (False, "other-new")
    assert one.do(FIRST).is_repeat


def test_a_run_without_a_finish_time_is_judged_by_the_night_that_loads_it(tmp_path):
    nights = Nights(tmp_path)
    nights.run("base", "01:00")
    nights.run("silent", None)
    night = nights.night("2026-05-01T12:00:00Z")
    done = do_night(night, until_now=True)
    assert done.candidate == "silent"
    assert done.as_of > night.as_of


def test_a_night_waits_for_another_and_finds_it_done(tmp_path):
    nights = Nights(tmp_path)
    nights.run("base", "01:00")
    nights.run("new", "02:00")
    results: list[NightResult] = []
    others = [nights.night(FIRST), nights.night(FIRST)]
    with alone(nights.night(FIRST)):
        threads = [
            threading.Thread(target=lambda n=night: results.append(do_night(n))) for night in others
        ]
        for thread in threads:
            thread.start()
        threads[0].join(timeout=0.2)
        assert results == []
    for thread in threads:
        thread.join()
    assert sorted(done.is_repeat for done in results) == [False, True]
    assert rows(nights, "nightly").height == 1


def test_a_night_that_broke_goes_on_when_the_input_is_mended(tmp_path):
    nights = Nights(tmp_path)
    nights.run("base", "01:00")
    nights.run("new", "02:00")
    good = (tmp_path / "runs/new.jsonl").read_bytes()
    (tmp_path / "runs/new.jsonl").write_bytes(b"not json\n")
    with pytest.raises(CrucibleError):
        nights.do(FIRST)
    (tmp_path / "runs/new.jsonl").write_bytes(good)
    done = nights.do(FIRST)
    assert done.candidate == "new"
    assert [load.created for load in done.loads] == [False, False, True]


def test_paths_are_relative_absolute_or_patterns_wherever_the_file_lies(tmp_path):
    folder = tmp_path / "jobs [a*]"
    nights = Nights(folder)
    nights.root = tmp_path / "store"
    nights.run("base", "01:00")
    nights.run("new", "02:00")
    nights.inputs[0]["paths"] = ["f*q.jsonl"]
    nights.inputs[1]["paths"] = [str(folder / "runs" / "base.jsonl")]
    nights.inputs[2]["paths"] = [f"{tmp_path}/jobs*/runs/n?w.jsonl"]
    nights.top["report_dir"] = str(tmp_path / "pages")
    done = nights.do(FIRST)
    assert done.candidate == "new"
    assert done.report == tmp_path / "pages" / "20260502T000000Z-new.html"
    assert done.report.is_file()


def test_a_report_dir_is_relative_to_its_file(tmp_path):
    nights = Nights(tmp_path / "job")
    nights.top["report_dir"] = "../pages"
    assert nights.night(FIRST).report_path("r").parent.resolve() == tmp_path / "pages"


def test_inputs_say_what_their_files_do_not(tmp_path):
    nights = Nights(tmp_path)
    nights.run("base", "01:00")
    (tmp_path / "judged.trec").write_text("q0 0 d0 3\nq1 0 d1 2\n", encoding="utf-8")
    nights.add("qrels", "judged.trec", source="llm", judge="m@p1")
    document = {"doc_id": "d0", "content_hash": "0" * 64, "hash_version": "sha256"}
    nights.write("corpus/documents.jsonl", document)
    nights.add(
        "corpus", "corpus", corpus_version="v1", observed_at="2026-05-01T00:00:00Z", partial=True
    )
    done = nights.do(FIRST)
    judged = rows(nights, "qrels").filter(pl.col("source") == "llm")
    assert judged["judge"].to_list() == ["m@p1", "m@p1"]
    assert rows(nights, "corpus_versions").select("corpus_version", "complete").rows() == [
        ("v1", False)
    ]
    assert done.scan is None  # a partial listing is not scanned
    assert Path(nights.root / "default" / "lake").is_dir()
