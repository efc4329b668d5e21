"""What a report of a store tells beside its runs: nights, alerts, notices, files, as of a time."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from nights import Nights

from crucible_batch.assemble.alerts import alerts_follow
from crucible_batch.assemble.drift import scan_drift
from crucible_batch.assemble.load import load_cache, load_policy
from crucible_batch.assemble.nightly import steps, watching
from crucible_batch.assemble.report import report_run
from crucible_batch.contracts import TABLES
from crucible_batch.report import Report
from crucible_batch.store import Plan, Store

MAY_3 = datetime(2026, 5, 3, tzinfo=UTC)


class Told:
    """A store with three nights, and reports of it."""

    def __init__(self, folder: Path) -> None:
        self.nights = Nights(folder, n_items=4)
        document = {"doc_id": "d0", "content_hash": "0" * 64, "hash_version": "v1"}
        self.nights.write(
            "corpus/documents.jsonl", {**document, "source_updated_at": "2026-01-01T00:00:00Z"}
        )
        self.nights.add("corpus", "corpus", corpus_version="v1", observed_at="2026-04-30T00:00:00Z")
        self.nights.run("base", "2026-04-30T02:00")
        for day in (1, 2, 3):
            self.nights.run(f"r{day}", f"2026-05-0{day}T02:00", n_right=4 - day % 2)
        self.nights.do("2026-05-01")
        self.nights.inputs = []
        for day in (2, 3):
            night = self.nights.night(f"2026-05-0{day}")
            watching.watch_night(night, "base", f"r{day}")
            steps.record(night, "base", f"r{day}")

    @property
    def store(self) -> Store:
        return self.nights.night("2026-05-01").store

    def report(self, run: str, **options: Any) -> Report:
        return report_run(self.store, "default", run, **options).report


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return Told(tmp_path_factory.mktemp("trail"))


@pytest.fixture
def copied(told, tmp_path) -> Store:
    """The same store, to be written to."""
    shutil.copytree(told.nights.root, tmp_path / "store")
    return Store.open(tmp_path / "store")


def test_nights_up_to_the_report_are_told_and_later_ones_are_not(told):
    second = told.report("r2", baseline="base", as_of=MAY_3)
    assert second.history is not None
    assert [row.run_id for row in second.history.rows] == ["r2", "r1"]
    whole = told.report("r3", baseline="base").history
    assert whole is not None
    assert [row.run_id for row in whole.rows] == ["r3", "r2", "r1"]


def test_nights_against_another_baseline_are_another_history(told):
    assert told.report("r3", baseline="r1").history is None


def test_a_run_alone_has_the_nights_of_the_newest_baseline(told):
    found = told.report("r3").history
    assert found is not None
    assert found.n_nights == 3


def test_the_last_scan_and_its_alerts_are_told_but_not_before_they_were(told):
    found = told.report("r1", baseline="base", as_of=datetime(2026, 5, 2, tzinfo=UTC)).watched
    assert found is not None
    (age,) = (rule for rule in found.rules if rule.rule_id == "document_age")
    assert (age.value.text, age.verdict.word) == ("121d", "breach, warn")
    assert [alert.rule_id for alert in found.alerts] == ["document_age"]
    before = told.report("r1", baseline="base", as_of=datetime(2026, 5, 1, tzinfo=UTC))
    assert before.watched is None
    assert before.corpus == ()


def test_files_are_named_with_their_hash_and_without_their_folder(told):
    facts = [
        f for f in told.report("r3", baseline="base").provenance if f.label.startswith("input")
    ]
    assert [(fact.label, fact.note) for fact in facts] == [
        ("input: golden set", "faq.jsonl"),
        ("input: run base", "base.jsonl"),
        ("input: run r3", "r3.jsonl"),
    ]
    assert all(len(fact.text.removeprefix("sha256:")) == 64 for fact in facts)


def test_the_page_of_a_night_says_what_its_charts_say(told):
    (page,) = (told.nights.root / "default" / "reports").iterdir()
    text = page.read_text(encoding="utf-8")
    assert "charts: warming up: 1/20 comparable nights" in text
    assert 'id="watch"' in text


def test_decisions_and_cache_of_the_scan_are_told(copied, tmp_path):
    at = "2026-05-02T00:00:00Z"
    decision = {
        "decision_id": "p",
        "surface": "chat",
        "question": "Why?",
        "verdict": "proceed",
        "created_at": at,
    }
    seen = {"observed_at": at, "mode": "shadow", "lookups": 4, "hits": 1}
    files = {"policy_decisions": decision, "cache_observations": seen}
    for name, row in files.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    load_policy(copied, [tmp_path / "policy_decisions.jsonl"])
    load_cache(copied, [tmp_path / "cache_observations.jsonl"])
    scan_drift(copied, "default", as_of=MAY_3, follow=alerts_follow(copied, "default"))
    found = report_run(copied, "default", "r3", baseline="base").report.answer_path
    assert found is not None
    assert [(one.verdict.word, one.n.text) for one in found.decisions] == [("proceed", "1")]
    assert found.cache is not None
    assert found.cache.tiles[0].figure.text == "25\xa0%"


def test_a_notice_is_dead_on_the_page_from_its_last_try_on(copied):
    event_id = copied.table("alert_events", "default").collect()["event_id"][0]
    died_at = MAY_3 + timedelta(hours=1)
    common = {"workspace_id": "default", "event_id": event_id, "endpoint": "ops"}
    tried = {"n": 1, "started_at": died_at, "status": 500, "error": "HTTP 500", "outcome": "dead"}
    rows = {
        "deliveries": {**common, "due_at": MAY_3, "created_at": MAY_3},
        "delivery_attempts": {**common, **tried},
    }
    plan = Plan(events={name: _frame(name, row) for name, row in rows.items()})
    copied.workspace("default").commit(lambda _: plan, kind="test", idempotency_key="dead")

    def dead(as_of: datetime | None) -> list[tuple[str, str, str]]:
        found = report_run(copied, "default", "r3", baseline="base", as_of=as_of).report.watched
        assert found is not None
        return [(one.endpoint, one.event, one.why) for one in found.dead]

    assert dead(None) == [("ops", "opened (warn) of document_age", "HTTP 500")]
    assert dead(died_at) == dead(None)
    assert dead(died_at - timedelta(seconds=1)) == []


def _frame(name: str, row: dict[str, Any]) -> pl.DataFrame:
    table = TABLES[name]
    return pl.DataFrame([dict.fromkeys(table.names) | row], schema=table.schema)
