"""`crucible alerts …` as a shell sees it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from outboxes import SECRET, Nights
from receiver import Receiver


@pytest.fixture(scope="module")
def listening() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


@pytest.fixture
def receiver(listening) -> Receiver:
    listening.forget()
    return listening


@pytest.fixture
def nights(crucible, receiver, tmp_path, monkeypatch) -> Nights:
    """A store with one alert that fires; it is where the commands look."""
    monkeypatch.setattr("crucible_batch.store.catalog.is_current", lambda *_: True)
    found = Nights(tmp_path / "nights")
    found.webhooks(receiver, "ops")
    monkeypatch.setenv("CRUCIBLE_ROOT", str(found.store.root))
    monkeypatch.setenv("CRUCIBLE_WORKSPACE", "w")
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    found.night(by={"person": 0.12})
    return found


def lines(done) -> list[dict]:
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


@pytest.fixture
def alert(crucible, nights) -> str:
    (row,) = lines(crucible("alerts", "list", "--json"))
    return row["fingerprint"]


def test_the_list_shows_what_is_open(crucible, nights, alert):
    out = crucible("alerts", "list").out
    assert alert[:12] in out
    assert "firing  warn      churn  type=person" in out


def test_the_list_ends_with_what_has_no_alert_of_its_own(crucible, nights):
    nights.counts["max_open"] = 1
    nights.night(by={"law": 0.12, "person": 0.12})
    assert crucible("alerts", "list").out.splitlines()[-1] == (
        "rule churn: 1 more in breach, without an alert of their own (max_open)"
    )


def test_the_list_says_when_nothing_is_wrong(crucible, nights):
    for _ in range(2):
        nights.night(by={"person": 0.0})
    assert crucible("alerts", "list").out == "no alert is open\n"
    (row,) = lines(crucible("alerts", "list", "--all", "--json"))
    assert (row["state"], row["resolve_reason"]) == ("resolved", "recovered")


def test_an_alert_is_shown_with_its_events_and_deliveries(crucible, alert):
    out = crucible("alerts", "show", alert[:8]).out
    assert "opened" in out
    assert "ops" in out
    shown = crucible("alerts", "show", alert, "--json").json
    assert shown["alert"]["fingerprint"] == alert
    assert [event["kind"] for event in shown["events"]] == ["opened"]
    assert [row["state"] for row in shown["deliveries"]] == ["due"]


def test_an_alert_is_taken_once(crucible, alert):
    assert crucible("alerts", "ack", alert, "--note", "on it").out.startswith("acknowledged")
    assert "nothing to do" in crucible("alerts", "ack", alert).out
    assert "acknowledged" in crucible("alerts", "list").out


def test_an_alert_is_quietened_until_the_end_of_a_day(crucible, alert):
    done = crucible("alerts", "snooze", alert, "--until", "2027-01-01")
    assert done.out.startswith("snoozed until 2027-01-02T00:00:00+00:00")
    assert "2027-01-02" in crucible("alerts", "list").out
    wrong = crucible("alerts", "snooze", alert, "--until", "tomorrow")
    assert (wrong.code, "no date" in wrong.err) == (2, True)


def test_a_past_time_ends_a_snooze_and_says_so(crucible, alert):
    crucible("alerts", "snooze", alert, "--until", "9999-12-30")
    done = crucible("alerts", "snooze", alert, "--until", "2020-01-01")
    assert done.out.startswith("not snoozed: 2020-01-02T00:00:00+00:00 is past (commit ")


def test_an_alert_that_is_not_there_is_a_usage_error(crucible, alert):
    done = crucible("alerts", "ack", "ffffffffff")
    assert done.code == 2
    assert "crucible alerts list --all" in done.err


def test_the_history_tells_who_did_what(crucible, alert):
    crucible("alerts", "ack", alert, "--author", "ann", "--note", "on it")
    rows = lines(crucible("alerts", "history", alert[:10], "--json"))
    assert {(row["kind"], row["author"]) for row in rows} == {
        ("opened", None),
        ("acknowledged", "ann"),
    }
    assert "on it" in crucible("alerts", "history").out


def test_due_notices_are_delivered_and_counted(crucible, alert, receiver):
    assert crucible("alerts", "deliver").out == (
        "1 delivered, 0 to be tried again, 0 given up; 0 waiting\n"
    )
    assert [came.kind for came in receiver.came()] == ["opened"]
    assert crucible("alerts", "deliver", "--json").json["outcomes"] == {}


def test_what_was_given_up_is_told_and_can_be_sent_again(crucible, alert, receiver):
    receiver.script("/ops", "410")
    out = crucible("alerts", "deliver").out
    assert "given up (disabled): opened evt_" in out
    armed = crucible("alerts", "redeliver", "--endpoint", "ops")
    assert armed.out.startswith("due again: evt_")
    assert "1 delivered" in crucible("alerts", "deliver").out
    assert "nothing to do" in crucible("alerts", "redeliver", "--endpoint", "ops").out


def test_a_missing_secret_is_a_usage_error_that_names_the_variable(crucible, alert, monkeypatch):
    monkeypatch.delenv("HOOK_SECRET")
    done = crucible("alerts", "deliver")
    assert done.code == 2
    assert "ops: HOOK_SECRET holds no secret" in done.err
    assert "1 waiting" in done.out
