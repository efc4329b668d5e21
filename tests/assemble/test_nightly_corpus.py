"""A night watches the corpus: one scan, its alerts, the notices owed; also without a new run."""

from __future__ import annotations

import polars as pl
import pytest
from nights import Nights
from outboxes import SECRET
from receiver import Receiver

from crucible_batch.assemble.nightly import do_night, judging
from crucible_batch.store import Store

FIRST, SECOND = "2026-05-02T00:00:00Z", "2026-05-03T00:00:00Z"


@pytest.fixture
def nights(tmp_path) -> Nights:
    """A corpus whose only document is old, and a baseline."""
    nights = Nights(tmp_path, n_items=1)
    hashed = {"content_hash": "0" * 64, "hash_version": "v1"}
    old = {"doc_id": "d0", "source_updated_at": "2026-01-01T00:00:00Z", **hashed}
    nights.write("corpus/documents.jsonl", old)
    nights.add("corpus", "corpus", corpus_version="v1", observed_at="2026-05-01T00:00:00Z")
    nights.run("base", "01:00")
    return nights


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


def events(nights: Nights) -> list[str]:
    table = nights.night(FIRST).opened().table("alert_events").collect()
    return table.sort("seq")["kind"].to_list()


def test_a_night_without_a_new_run_scans_the_corpus(nights):
    done = nights.do(FIRST)
    assert (done.candidate, done.exit_code) == (None, 3)
    assert done.scan.lines[0].startswith("corpus v1 as of 2026-05-02 00:00 UTC: 1 documents")
    assert any("document_age" in line and "breach" in line for line in done.watch_lines)
    assert "opened" in events(nights)


def test_the_same_night_again_moves_no_alert(nights):
    nights.do(FIRST)
    before = events(nights)
    nights.do(FIRST)
    assert events(nights) == before


def test_the_row_of_a_night_names_its_scan_and_the_page_tells_of_it(nights):
    nights.run("new", "02:00")
    done = nights.do(FIRST)
    (row,) = nights.night(FIRST).opened().table("nightly").collect().iter_rows(named=True)
    assert row["scan_id"] == done.scan.scan_id
    evaluations = nights.night(FIRST).opened().table("drift_evaluations").collect()
    assert set(evaluations["scan_id"]) == {done.scan.scan_id}
    assert "v1" in done.report.read_text(encoding="utf-8")
    again = nights.do(FIRST)
    assert again.is_repeat
    assert again.scan is None


def test_notices_go_out_after_the_night_and_an_endpoint_without_secret_does_not_end_it(
    nights, receiver, monkeypatch
):
    Store.create(nights.root).workspace("default", create=True)
    (nights.root / "default" / "settings.toml").write_text(
        "[[webhooks]]\n"
        f'name = "a"\nurl = "{receiver.url("/a")}"\nsecret_env = "HOOK_SECRET"\n'
        'allow = ["127.0.0.1"]\nallow_http = true\n',
        encoding="utf-8",
    )
    done = nights.do(FIRST)
    assert done.exit_code == 3
    assert any("HOOK_SECRET" in line for line in done.notices)
    assert receiver.came("/a") == []
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    done = nights.do(SECOND)
    assert done.notices[0].startswith("1 delivered")
    assert [came.kind for came in receiver.came("/a")] == ["opened"]


def test_without_endpoints_nothing_is_said_of_notices(nights):
    done = nights.do(FIRST)
    assert done.notices == ()
    assert not any(line.startswith("notices") for line in done.watch_lines)
    table = nights.night(FIRST).opened().table("deliveries").select(pl.len()).collect()
    assert table.item() == 0


def test_a_gate_is_held_against_the_alerts_of_earlier_nights_whenever_it_is_asked(nights):
    nights.gate('[[rules]]\nid = "no-alerts"\nkind = "no_open_alert"\n')
    nights.run("new", "02:00")
    night = nights.night(FIRST)
    done = do_night(night)
    assert (done.gate_told.outcome, done.exit_code) == ("pass", 0)
    assert "opened" in events(nights)
    again = judging.judge(night, "base", "new")
    assert again.told == done.gate_told
    nights.run("newer", "2026-05-02T12:00")
    assert nights.do(SECOND).exit_code == 1
