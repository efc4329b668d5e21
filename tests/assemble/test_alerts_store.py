"""Alerts in a store: one commit per scan, a fold that anybody can make, and what people do."""

from __future__ import annotations

import json
from datetime import timedelta

import duckdb
import polars as pl
import pytest
from alerting import BOTH, FIRST, Watch, measured
from hypothesis import given, settings
from hypothesis import strategies as st
from outboxes import CrashError, Nights

from crucible_batch.assemble.alerts import (
    acknowledge_alert,
    alert_history,
    fold_alerts,
    kept_back,
    list_alerts,
    show_alert,
    snooze_alert,
)
from crucible_batch.assemble.alerts.scan import recent_evaluations
from crucible_batch.assemble.gate.gather import open_alerts
from crucible_batch.contracts import TABLES
from crucible_batch.errors import UnknownNameError, UsageError
from crucible_batch.store import catalog
from crucible_batch.watch.alert_fold import fold, reach
from crucible_batch.watch.alerts import transition

SEQUENCE = (0.05, 0.12, 0.09, 0.12, None, 0.06, 0.06, 0.11)


@pytest.fixture(autouse=True)
def _no_catalog(monkeypatch) -> None:
    monkeypatch.setattr("crucible_batch.store.catalog.is_current", lambda *_: True)


@pytest.fixture
def nights(tmp_path) -> Nights:
    return Nights(tmp_path)


def happened(nights: Nights) -> list[tuple[str, str]]:
    rows = nights.rows("alert_events", "occurred_at", "episode", "seq", "kind")
    return [(f"{when:%d}", kind) for when, _, _, kind in sorted(rows)]


def fingerprint(nights: Nights) -> str:
    return str(list_alerts(nights.snapshot, resolved=True)["fingerprint"][0])


def test_the_worked_sequence_holds_on_disk(nights):
    nights.nights(*SEQUENCE)
    assert happened(nights) == [("02", "opened"), ("07", "resolved"), ("08", "opened")]
    (alert,) = list_alerts(nights.snapshot).to_dicts()
    assert (alert["state"], alert["episode"], alert["severity"]) == ("firing", 2, "warn")
    assert alert["opened_at"] == FIRST + timedelta(days=7)
    assert alert["resolved_at"] is None


def test_the_rows_keep_their_contracts(nights):
    nights.nights(*SEQUENCE)
    alerts = fold_alerts(nights.snapshot.read("alert_events").collect())
    assert alerts.schema == TABLES["alerts"].schema
    for name, frame in (("alerts", alerts), ("alert_events", nights.snapshot.read("alert_events"))):
        needed = [c.name for c in TABLES[name].columns if not c.nullable]
        assert frame.lazy().select(needed).null_count().collect().sum_horizontal().item() == 0


def test_a_fold_of_the_events_in_any_order_is_the_same(nights):
    nights.nights(*SEQUENCE)
    events = nights.snapshot.read("alert_events").collect()
    assert fold_alerts(events.reverse()).equals(fold_alerts(events))


def test_the_view_in_sql_is_the_fold(nights):
    nights.night(by={"a": 0.12, "é": 0.3, "c": None})
    key = list_alerts(nights.snapshot)["fingerprint"][1]
    acknowledge_alert(nights.store, "w", key, author="ann")
    snooze_alert(nights.store, "w", key, until=FIRST + timedelta(days=2.5), author="ann")
    for value in (0.3, 0.0, 0.0, 0.12):
        nights.night(by={"a": 0.12, "é": value, "c": None})
    events = nights.snapshot.read("alert_events")
    expected = fold_alerts(events.collect())
    assert nights.store.table("alerts", "w").collect().equals(expected)
    said = nights.store.sql("SELECT fingerprint, state FROM alerts ORDER BY 1", "w")
    assert said.equals(expected.select("fingerprint", "state"))
    pin = nights.snapshot.seq - 3
    before = fold_alerts(events.filter(pl.col("_commit") <= pin).collect())
    assert nights.store.table("alerts", "w", pin).collect().equals(before)
    assert not before.equals(expected)


@pytest.mark.parametrize("from_text", [False, True])
def test_the_catalogue_shows_alerts_to_any_duckdb(nights, from_text):
    nights.night(by={"a": 0.12, "b": 0.3})
    folder = nights.store.root / "w"
    catalog.rebuild(nights.store.workspace("w").layout, TABLES)
    with duckdb.connect() if from_text else duckdb.connect(folder / "catalog.duckdb") as shell:
        if from_text:
            shell.execute((folder / "views.sql").read_text())
        found = shell.execute("SELECT severity, state FROM alerts ORDER BY ALL").fetchall()
    assert found == [("critical", "firing"), ("warn", "firing")]


def test_a_scan_that_is_done_again_writes_nothing(nights):
    nights.nights(0.05, 0.12)
    before = nights.snapshot.seq
    assert not nights.scan(2, 0.12).created
    assert nights.snapshot.seq == before


def test_a_scan_that_crashed_before_its_commit_makes_the_same_events_again(nights, tmp_path):
    nights.night(0.05)

    def crash() -> None:
        raise CrashError

    for _ in range(2):
        with pytest.raises(CrashError):
            nights.scan(2, 0.12, crash=crash)
    nights.scan(2, 0.12)
    peaceful = Nights(tmp_path / "peaceful").nights(0.05, 0.12)
    assert nights.rows("alert_events") == peaceful.rows("alert_events")


def test_a_scan_that_loses_the_race_decides_again_and_one_alert_is_open(nights):
    raced = []

    def race() -> None:
        if not raced:
            raced.append(nights.scan(1, 0.12))

    nights.scan(2, 0.12, crash=race)
    assert happened(nights) == [("01", "opened")]
    assert list_alerts(nights.snapshot).height == 1


def test_a_scan_of_an_earlier_time_moves_no_alert_and_says_so(nights):
    nights.scan(1, 0.05)
    nights.scan(5, 0.12)
    done = nights.scan(3, 0.0)
    assert "alerts stay as they are" in done.messages[0]
    assert happened(nights) == [("05", "opened")]
    assert len(nights.rows("drift_evaluations")) == 3


def test_a_night_that_was_caught_up_counts_for_the_nights_after_it(tmp_path):
    nights = Nights(tmp_path, raise_after=3)
    nights.scan(1, 0.12)
    nights.scan(3, 0.12)
    nights.scan(2, 0.0)
    nights.scan(4, 0.12)
    assert "opened" not in [kind for _, kind in happened(nights)]


def test_a_row_of_breaches_goes_on_after_a_long_time_of_unknown_verdicts(tmp_path):
    nights = Nights(tmp_path, raise_after=2, unknown_after=99)
    nights.nights(0.12, *[None] * 12)
    assert list_alerts(nights.snapshot)["state"].to_list() == ["pending"]
    nights.night(0.12)
    assert list_alerts(nights.snapshot)["state"].to_list() == ["firing"]


NIGHTS = st.lists(st.sampled_from([None, 0.0, 0.09, 0.12, 0.3]), min_size=1, max_size=40)


@settings(max_examples=40)
@given(NIGHTS, st.integers(1, 12), st.integers(1, 12))
def test_what_is_read_of_the_past_is_enough(values, in_a_row, unknown):
    counts = {"raise_after": in_a_row, "clear_after": in_a_row, "unknown_after": unknown}
    watch = Watch(BOTH, **counts).nights(*values[:-1])
    last = measured(values[-1], len(values), limits=BOTH, **counts)
    past = pl.DataFrame(
        [
            {"scan_id": e.scan.scan_id, "as_of": e.scan.as_of, "verdict": e.verdict}
            for e in watch.evaluations
        ],
        schema={"scan_id": pl.String, "as_of": pl.Datetime("us", "UTC"), "verdict": pl.String},
    ).with_columns(rule_id=pl.lit("churn"), labels=pl.lit("{}"), _commit=pl.lit(1))
    shuffled = past.with_row_index().sample(fraction=1, shuffle=True, seed=1)
    found = recent_evaluations(shuffled.lazy(), [last.condition], reach(last.counts))
    kept = found["index"].to_list()
    recent = [watch.evaluations[n] for n in kept]
    for state in watch.states.values():
        twin = state.condition.is_about_the_unknown
        own = [e.of_the_unknown() if twin else e for e in recent]
        short = fold(state.condition, watch.of(state.condition.fingerprint), own)
        one = last.of_the_unknown() if twin else last
        assert transition(short, one)[1] == transition(state, one)[1]


def test_of_a_long_past_only_what_matters_is_read():
    """A known condition and one that is never known, every night; one that was there long ago."""
    rows = [
        {"as_of": FIRST + timedelta(days=night), "labels": labels, "verdict": verdict}
        for night in range(400)
        for labels, verdict in (('{"type":"a"}', "ok"), ('{"type":"b"}', "unknown"))
    ]
    rows += [{"as_of": FIRST, "labels": '{"type":"c"}', "verdict": "breach"}]
    schema = {"as_of": pl.Datetime("us", "UTC"), "labels": pl.String, "verdict": pl.String}
    stored = pl.DataFrame(rows, schema=schema).with_columns(
        rule_id=pl.lit("churn"), _commit=pl.lit(1), scan_id=pl.col("as_of").cast(pl.String)
    )
    conditions = [measured(0.0, 401, labels={"type": t}).condition for t in "abc"]
    found = recent_evaluations(stored.lazy(), conditions, 10)
    assert dict(found.group_by("labels").len().iter_rows()) == {
        '{"type":"a"}': 10,
        '{"type":"b"}': 10,
        '{"type":"c"}': 1,
    }


def test_what_max_open_keeps_back_is_said(tmp_path):
    nights = Nights(tmp_path, max_open=1)
    done = nights.night(by={"a": 0.12, "b": 0.12, "c": 0.3})
    assert done.messages == (
        "rule churn: 2 more in breach, without an alert of their own (max_open)",
    )
    (alert,) = list_alerts(nights.snapshot).to_dicts()
    assert json.loads(alert["labels"]) == {"type": "c"}
    assert kept_back(nights.snapshot) == done.messages
    nights.night(by={"a": 0.12, "b": 0.0, "c": 0.3})
    assert kept_back(nights.snapshot)[0].startswith("rule churn: 1 more in breach")
    nights.night(by={"a": 0.0, "b": 0.0, "c": 0.3})
    assert kept_back(nights.snapshot) == ()


def test_the_gate_sees_the_alerts_that_are_open(nights):
    nights.night(by={"a": 0.12, "b": 0.3, "c": 0.0})
    events = nights.snapshot.read("alert_events").collect()
    rows = list_alerts(nights.snapshot).select("severity", "fingerprint").rows()
    assert set(open_alerts(events)) == set(rows)


# --- lists ------------------------------------------------------------------------------------


def test_critical_alerts_come_first_and_those_that_are_over_last(nights):
    nights.night(by={"a": 0.12, "b": 0.3, "c": 0.12})
    for _ in range(2):
        nights.night(by={"a": 0.12, "b": 0.3, "c": 0.0})
    shown = list_alerts(nights.snapshot, resolved=True)
    assert shown["severity"].to_list() == ["critical", "warn", "warn"]
    assert shown["state"].to_list() == ["firing", "firing", "resolved"]
    assert list_alerts(nights.snapshot).height == 2


def test_one_alert_is_shown_by_the_beginning_of_its_fingerprint(nights):
    nights.night(0.12)
    key = fingerprint(nights)
    found = show_alert(nights.snapshot, key[:8])
    assert found.alert["fingerprint"] == key
    assert found.events["kind"].to_list() == ["opened"]
    assert found.deliveries.is_empty()


def test_an_alert_that_is_not_there_is_not_found(nights):
    nights.night(0.12)
    for wrong in ("zzzzzz", fingerprint(nights)[:3]):
        with pytest.raises(UnknownNameError, match="No alert"):
            show_alert(nights.snapshot, wrong)


def test_the_history_tells_what_happened_who_did_what_and_why(nights):
    nights.night(0.12)
    acknowledge_alert(nights.store, "w", fingerprint(nights), author="ann", note="on it")
    nights.nights(0.0, 0.0)
    rows = alert_history(nights.snapshot).sort("episode", "seq")
    assert rows["kind"].to_list() == ["opened", "acknowledged", "resolved"]
    assert rows["author"].to_list() == [None, "ann", None]
    assert rows["note"].to_list() == [None, "on it", None]
    assert rows["reason"].to_list() == [None, None, "recovered"]
    assert set(rows["rule_id"]) == {"churn"}
    assert alert_history(nights.snapshot, fingerprint(nights)).height == 3


# --- people -----------------------------------------------------------------------------------


def test_an_acknowledged_alert_says_so_until_its_episode_ends(nights):
    nights.night(0.12)
    assert acknowledge_alert(nights.store, "w", fingerprint(nights), author="ann").created
    assert list_alerts(nights.snapshot)["acknowledged"].to_list() == [True]
    nights.nights(0.0, 0.0, 0.12)
    assert list_alerts(nights.snapshot)["acknowledged"].to_list() == [False]


def test_the_same_said_twice_is_no_commit(nights):
    nights.night(0.12)
    key, until = fingerprint(nights), FIRST + timedelta(days=9)
    for again in (False, True):
        nights.clock.wait(minutes=1)
        assert acknowledge_alert(nights.store, "w", key, author="ann").created is not again
        done = snooze_alert(nights.store, "w", key, until=until, author="ann")
        assert done.created is not again
    (alert,) = list_alerts(nights.snapshot).to_dicts()
    assert alert["snoozed_until"] == until


def test_what_is_over_can_be_neither_taken_nor_quietened(nights):
    nights.nights(0.12, 0.0, 0.0)
    with pytest.raises(UsageError, match="is over"):
        acknowledge_alert(nights.store, "w", fingerprint(nights), author="ann")


@pytest.mark.parametrize(
    ("author", "note", "said"),
    [
        (" ", None, "the author is blank"),
        ("ann", " ", "the note is blank"),
        ("ann", "x" * 2_001, "more than 2,000"),
    ],
)
def test_a_deed_with_a_text_that_cannot_be_used_is_refused(nights, author, note, said):
    nights.night(0.12)
    with pytest.raises(UsageError, match=said):
        acknowledge_alert(nights.store, "w", fingerprint(nights), author=author, note=note)


def test_a_deed_between_two_scans_keeps_the_count_of_breaches(tmp_path):
    nights = Nights(tmp_path, raise_after=3)
    nights.nights(0.12, 0.12)
    acknowledge_alert(nights.store, "w", fingerprint(nights), author="ann")
    nights.night(0.12)
    assert [kind for _, kind in happened(nights)] == ["pending", "opened", "acknowledged"]
    assert list_alerts(nights.snapshot)["acknowledged"].to_list() == [True]


def test_no_workspace_sees_the_alerts_of_another(nights):
    nights.night(0.12)
    other = nights.store.workspace("other", create=True)
    assert list_alerts(other.snapshot()).is_empty()
    assert isinstance(list_alerts(other.snapshot()), pl.DataFrame)
