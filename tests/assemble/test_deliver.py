"""Deliveries against a receiver that really listens: order, retries, dead ends, nothing hidden."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from filelock import FileLock
from outboxes import ENVIRON, SECRET, Nights
from receiver import Came, Receiver
from standardwebhooks import Webhook

from crucible_batch.assemble.alerts import list_alerts, snooze_alert
from crucible_batch.assemble.deliver import (
    dead_deliveries,
    deliver,
    redeliver,
)
from crucible_batch.assemble.drift.answer_path import dead_webhooks
from crucible_batch.assemble.gate.notices import dead_notices
from crucible_batch.contracts import TABLES
from crucible_batch.delivery.schedule import WAITS
from crucible_batch.delivery.webhook import Answer
from crucible_batch.errors import UnknownNameError, UsageError


@pytest.fixture(scope="module")
def listening() -> Iterator[Receiver]:
    found = Receiver()
    yield found
    found.close()


@pytest.fixture
def receiver(listening) -> Receiver:
    """A receiver that has seen nothing yet."""
    listening.forget()
    return listening


@pytest.fixture
def nights(tmp_path, receiver, monkeypatch) -> Nights:
    monkeypatch.setattr("crucible_batch.store.catalog.is_current", lambda *_: True)
    found = Nights(tmp_path)
    found.webhooks(receiver, "a", "b")
    return found


def kinds(came: list[Came]) -> list[str]:
    return [one.kind for one in came]


def firsts(came: list[Came]) -> list[Came]:
    """What came, without what came again: a receiver that de-duplicates on `webhook-id`."""
    return list({one.message_id: one for one in reversed(came)}.values())[::-1]


# --- fan-out ----------------------------------------------------------------------------------


def test_every_endpoint_gets_every_notice_once(nights, receiver):
    nights.nights(0.12, 0.0, 0.0)
    done = nights.deliver()
    assert done.outcomes == {"ok": 4}
    for name in ("a", "b"):
        assert kinds(receiver.came(f"/{name}")) == ["opened", "resolved"]
    assert nights.deliver().n_tried == 0


def test_what_is_sent_is_the_stored_payload_signed_with_the_event_id(nights, receiver):
    nights.night(0.12)
    nights.deliver()
    ((event_id, payload),) = nights.rows("alert_events", "event_id", "payload")
    for came in receiver.came():
        assert (came.message_id, came.body) == (event_id, payload.encode())
        assert int(came.headers["webhook-timestamp"]) == int(nights.clock.time.timestamp())
        expected = Webhook(SECRET).sign(event_id, nights.clock.time, payload)
        assert came.headers["webhook-signature"] == expected


def test_an_endpoint_is_told_what_it_asked_for(nights, receiver):
    nights.webhooks(
        receiver, "a", "b", "c", a={"events": ["resolved"]}, b={"min_severity": "critical"}
    )
    nights.night(by={"x": 0.12, "y": 0.3})
    for _ in range(2):
        nights.night(by={"x": 0.0, "y": 0.0})
    nights.deliver()
    assert kinds(receiver.came("/a")) == ["resolved"] * 2
    assert sorted(kinds(receiver.came("/b"))) == ["opened", "resolved"]
    assert len(receiver.came("/c")) == 4


def test_a_snoozed_alert_owes_nothing_to_anybody(nights):
    nights.night(0.12)
    alert = list_alerts(nights.snapshot)["fingerprint"][0]
    until = nights.clock.time + timedelta(days=99)
    snooze_alert(nights.store, "w", alert, until=until, author="ann")
    nights.night(0.3)
    assert [kind for (kind,) in nights.rows("alert_events", "kind")].count("escalated") == 1
    assert set(nights.outbox()["kind"]) == {"opened"}


def test_an_alert_about_an_endpoint_is_told_to_the_others(nights, receiver):
    nights.scan(1, 0.12, rule="dead", labels={"endpoint": "a"})
    nights.deliver()
    assert [came.path for came in receiver.came()] == ["/b"]


def test_without_endpoints_nothing_is_owed(nights):
    (nights.store.root / "w" / "settings.toml").write_text("")
    nights.night(0.12)
    assert nights.outbox().is_empty()
    assert nights.deliver().n_tried == 0


# --- tries ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "status", "said"),
    [
        ("500", 500, "HTTP 500"),
        ("301", 301, "redirects are not followed"),
        ("429:3600", 429, "HTTP 429"),
        ("drop", None, "RemoteProtocolError"),
    ],
)
def test_a_failure_is_tried_again_later_and_kept_on_record(nights, receiver, step, status, said):
    receiver.script("/a", step)
    nights.night(0.12)
    assert nights.deliver().outcomes == {"retry": 1, "ok": 1}
    nights.drain()
    first, second = [row for row in nights.rows("delivery_attempts") if row["endpoint"] == "a"]
    assert (first["n"], first["status"], first["outcome"]) == (1, status, "retry")
    assert said in first["error"]
    assert (second["n"], second["outcome"], second["next_at"]) == (2, "ok", None)
    assert len({came.message_id for came in receiver.came("/a")}) == 1
    assert len(receiver.came("/a")) == 2


def test_success_at_one_endpoint_does_not_hide_failure_at_another(nights, receiver):
    receiver.always["/b"] = "500"
    nights.night(0.12)
    nights.deliver()
    assert nights.states() == {"a": "delivered", "b": "due"}
    nights.drain()
    assert nights.states() == {"a": "delivered", "b": "dead"}
    assert len(receiver.came("/a")) == 1


def test_a_receiver_that_hangs_does_not_keep_the_others_waiting(nights, receiver):
    nights.webhooks(receiver, "a", "b", timeout_seconds=0.2)
    receiver.always["/a"] = "hang"
    nights.night(by={"x": 0.12, "y": 0.12})
    assert nights.deliver().outcomes == {"retry": 1, "ok": 2}
    assert len(receiver.came("/a")) == 1, "one try a pass while it hangs"


def test_retry_after_is_honoured(nights, receiver):
    receiver.script("/a", "429:3600")
    nights.night(0.12)
    nights.deliver()
    nights.clock.wait(minutes=59)
    assert nights.deliver().n_tried == 0
    nights.clock.wait(minutes=1)
    assert nights.deliver().outcomes == {"ok": 1}


def test_tries_follow_the_schedule_and_end_with_a_dead_delivery(nights, receiver):
    nights.webhooks(receiver, "a")
    receiver.always["/a"] = "500"
    nights.night(0.12)
    nights.drain()
    rows = nights.rows("delivery_attempts")
    assert [row["outcome"] for row in rows] == ["retry"] * 9 + ["dead"]
    for wait, (row, following) in zip(WAITS[1:], pairwise(rows), strict=True):
        assert 0.8 * wait <= row["next_at"] - row["started_at"] <= 1.2 * wait
        assert following["started_at"] >= row["next_at"]
    (dead,) = dead_deliveries(nights.snapshot).to_dicts()
    assert (dead["endpoint"], dead["n_tries"], dead["last_status"]) == ("a", 10, 500)
    assert nights.deliver().n_tried == 0


def test_an_endpoint_that_is_down_has_a_dead_delivery_after_four_days_however_much_it_is_owed(
    nights,
):
    def sender(endpoint, message_id, body, *, now):
        is_down = endpoint.name == "a"
        return Answer(error="down", is_resting=True) if is_down else Answer(status=200)

    nights.night(by={f"t{n:02d}": 0.12 for n in range(30)})
    for _ in range(48):
        nights.deliver(sender=sender)
        nights.clock.wait(hours=2)
    assert dead_deliveries(nights.snapshot).height >= 1
    assert set(nights.outbox().filter(endpoint="b")["state"]) == {"delivered"}


def test_a_gate_tells_of_dead_deliveries_once_they_are_dead(nights, receiver):
    receiver.always["/a"] = "500"
    nights.night(0.12)
    assert dead_notices(nights.snapshot, None) == ()
    nights.drain()
    (line,) = dead_notices(nights.snapshot, None)
    assert line.startswith("dead deliveries: 1 notice to a given up; crucible alerts redeliver")
    (died_at,) = dead_deliveries(nights.snapshot)["last_at"]
    assert dead_notices(nights.snapshot, died_at) == (line,)
    assert dead_notices(nights.snapshot, died_at - timedelta(seconds=1)) == ()


def test_a_pass_that_gives_a_delivery_up_says_so(nights, receiver):
    receiver.always["/a"] = "500"
    nights.night(0.12)
    told = []
    while not told:
        told = list(nights.deliver().dead)
        nights.clock.wait(days=2)
    assert [(row["endpoint"], row["kind"]) for row in told] == [("a", "opened")]


# --- order ------------------------------------------------------------------------------------


def test_a_later_notice_of_an_alert_waits_for_the_earlier_one(nights, receiver):
    receiver.script("/a", "500", "503")
    nights.nights(0.12, 0.3, 0.0, 0.0)
    nights.drain()
    kinds_at_a = kinds(receiver.came("/a"))
    assert kinds_at_a == ["opened", "opened", "opened", "escalated", "resolved"]
    assert kinds(receiver.came("/b")) == ["opened", "escalated", "resolved"]


def test_another_alert_does_not_wait(nights, receiver):
    receiver.always["/a"] = "500"
    nights.night(by={"x": 0.12})
    nights.deliver()
    receiver.always["/a"] = "200"
    nights.night(by={"x": 0.12, "y": 0.12})
    nights.deliver()
    labels = [came.content["data"]["labels"]["type"] for came in receiver.came("/a")]
    assert labels == ["x", "y"]


def test_what_follows_a_dead_notice_is_sent(nights, receiver):
    nights.webhooks(receiver, "a")
    receiver.script("/a", *["500"] * 10)
    nights.nights(0.12, 0.0, 0.0)
    nights.drain()
    assert nights.states() == {"a": "dead delivered"}
    assert kinds(receiver.came("/a")) == ["opened"] * 10 + ["resolved"]


# --- gone, dead, again ------------------------------------------------------------------------


def test_a_receiver_that_is_gone_is_sent_nothing_more(nights, receiver):
    receiver.script("/a", "410")
    nights.night(0.12)
    assert nights.deliver().outcomes == {"disabled": 1, "ok": 1}
    nights.night(0.3)
    nights.drain_but("a")
    assert kinds(receiver.came("/a")) == ["opened"]
    assert kinds(receiver.came("/b")) == ["opened", "escalated"]
    assert nights.states()["a"] == "disabled due"
    (line,) = nights.deliver().held
    assert line.startswith("a answered 410 and is sent nothing, 1 waiting;")


def test_an_endpoint_that_is_armed_again_gets_all_it_missed_in_order(nights, receiver):
    receiver.script("/a", "410")
    nights.night(0.12)
    nights.deliver()
    nights.night(0.3)
    armed = redeliver(nights.store, "w", author="ann", endpoint="a")
    assert len(armed.deliveries) == 1
    nights.drain()
    assert kinds(receiver.came("/a")) == ["opened", "opened", "escalated"]
    assert nights.states()["a"] == "delivered delivered"


def test_a_dead_delivery_that_is_armed_again_has_all_its_tries_before_it(nights, receiver):
    nights.webhooks(receiver, "a")
    receiver.always["/a"] = "500"
    nights.night(0.12)
    nights.drain()
    (event_id,) = nights.outbox()["event_id"]
    redeliver(nights.store, "w", author="ann", event=event_id[:12])
    nights.drain()
    tries = [row for row in nights.rows("delivery_attempts") if row["error"]]
    assert len(tries) == 20
    (audit,) = [row for row in nights.rows("audit_log") if row["action"] == "alert.redeliver"]
    assert (audit["target"], audit["actor"]) == (event_id, "ann")


def test_a_delivered_notice_can_be_sent_again_under_the_same_id(nights, receiver):
    nights.night(0.12)
    nights.deliver()
    (event_id,) = set(nights.outbox()["event_id"])
    redeliver(nights.store, "w", author="ann", event=event_id, endpoint="b")
    assert nights.deliver().outcomes == {"ok": 1}
    assert [came.message_id for came in receiver.came("/b")] == [event_id] * 2
    assert len(receiver.came("/a")) == 1


def test_one_that_is_sent_again_does_not_hold_up_the_others(nights, receiver):
    nights.webhooks(receiver, "a")
    nights.night(0.12)
    nights.deliver()
    receiver.script("/a", "500")
    redeliver(nights.store, "w", author="ann", event=nights.outbox()["event_id"][0])
    nights.deliver()
    nights.night(0.3)
    assert nights.deliver().outcomes == {"ok": 1}
    assert kinds(receiver.came("/a")) == ["opened", "opened", "escalated"]


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        ({}, UsageError, "Nothing is named"),
        ({"event": "evt_nothing"}, UnknownNameError, "No delivery of an event"),
        ({"endpoint": "nobody"}, UnknownNameError, "Did you|There is a, b"),
    ],
)
def test_what_is_not_owed_cannot_be_sent_again(nights, words, error, said):
    nights.night(0.12)
    with pytest.raises(error, match=said):
        redeliver(nights.store, "w", author="ann", **words)


def n_dead(nights: Nights) -> dict[str, float | None]:
    """The measurement `webhook_dead`, by endpoint."""
    found = dead_webhooks(nights.snapshot, nights.clock.time)
    return {one.labels["endpoint"]: one.value for one in found}


def test_a_dead_delivery_is_measured_until_it_is_armed_again(nights, receiver):
    receiver.always["/a"] = "500"
    nights.night(0.12)
    assert n_dead(nights) == {"a": 0, "b": 0}
    nights.drain()
    assert n_dead(nights) == {"a": 1, "b": 0}
    nights.clock.wait(minutes=1)
    redeliver(nights.store, "w", author="ann", endpoint="a")
    assert n_dead(nights) == {"a": 0, "b": 0}


# --- settings, locks --------------------------------------------------------------------------


def test_an_endpoint_without_its_secret_waits_and_the_others_do_not(nights, receiver):
    nights.webhooks(receiver, "a", "b", b={"secret_env": "OTHER_SECRET"})
    nights.night(0.12)
    done = nights.deliver()
    assert done.outcomes == {"ok": 1}
    assert done.problems == ("b: OTHER_SECRET holds no secret: it is empty",)
    assert deliver(nights.store, "w", environ=ENVIRON | {"OTHER_SECRET": SECRET}).n_tried == 1


def test_what_is_owed_to_an_endpoint_that_was_taken_out_waits_and_is_told(nights, receiver):
    nights.night(0.12)
    nights.webhooks(receiver, "b")
    done = nights.deliver()
    assert done.held == ("a: 1 waiting, and the settings name no such endpoint any more",)
    assert (done.outcomes, done.n_waiting, done.problems) == ({"ok": 1}, 1, ())


def test_an_address_inside_is_an_error_on_record_that_does_not_tell_the_address(nights, receiver):
    nights.webhooks(receiver, "a", allow=[])
    nights.night(0.12)
    nights.deliver()
    (row,) = nights.rows("delivery_attempts")
    assert row["error"] == "127.0.0.1 leads to a loopback address, which is not allowed"
    assert receiver.came() == []


def test_a_second_dispatcher_does_nothing(nights):
    nights.night(0.12)
    with FileLock(nights.store.root / "w" / ".deliver.lock"):
        assert nights.deliver().busy
    assert nights.deliver().n_tried == 2


def test_one_who_arms_a_delivery_while_it_is_sent_gets_in_nobodys_way(nights):
    nights.night(0.12)
    event_id = nights.outbox()["event_id"][0]

    def sender(endpoint, message_id, body, *, now):
        if not armed:
            armed.append(redeliver(nights.store, "w", author="ann", event=event_id, endpoint="a"))
        return Answer(status=200)

    armed: list[object] = []
    nights.deliver(sender=sender)
    rows = nights.rows("delivery_attempts", "endpoint", "n", "outcome")
    assert rows == [("a", 1, "retry"), ("a", 2, "ok"), ("b", 1, "ok")]


def test_an_interrupted_pass_remembers_what_it_sent(nights):
    nights.night(by={"x": 0.12, "y": 0.12})
    sent = []

    def sender(endpoint, message_id, body, *, now):
        if len(sent) == 3:
            raise KeyboardInterrupt
        sent.append((message_id, endpoint.name))
        return Answer(status=200)

    with pytest.raises(KeyboardInterrupt):
        nights.deliver(sender=sender)
    assert sorted(sent) == nights.rows("delivery_attempts", "event_id", "endpoint")


def test_many_notices_are_committed_a_few_at_a_time(nights, receiver):
    nights.webhooks(receiver, "a")
    nights.night(by={f"t{n:02d}": 0.12 for n in range(45)})
    before = nights.snapshot.seq
    assert nights.deliver().outcomes == {"ok": 45}
    assert nights.snapshot.seq - before == 3


def test_attempts_keep_their_contract_and_hold_no_secret(nights, receiver):
    receiver.script("/a", "500")
    nights.night(0.12)
    nights.drain()
    frame = nights.snapshot.read("delivery_attempts").collect()
    needed = [c.name for c in TABLES["delivery_attempts"].columns if not c.nullable]
    assert frame.select(needed).null_count().sum_horizontal().item() == 0
    stored = b"".join(p.read_bytes() for p in nights.store.root.glob("w/lake/*/*.parquet"))
    assert SECRET.removeprefix("whsec_").encode() not in stored
    assert f":{receiver.port}/a".encode() not in stored


def test_all_notices_arrive_in_order_whatever_the_receivers_do(nights, receiver):
    receiver.script("/a", "500", "drop", "200", "301", "429:60", "200", "500")
    receiver.script("/b", "200", "503", "200", "drop", "drop")
    for value in (0.12, 0.3, 0.0, 0.0, 0.3, 0.0, 0.0):
        nights.night(by={"x": value, "y": value})
        nights.deliver()
        nights.clock.wait(minutes=2)
    nights.drain()
    events = {row["event_id"] for row in nights.rows("alert_events")}
    for path in ("/a", "/b"):
        came = firsts(receiver.came(path))
        assert {one.message_id for one in came} <= events
        for fingerprint in {one.seq[0] for one in came}:
            own = [one.seq for one in came if one.seq[0] == fingerprint]
            assert own == sorted(own)
        assert len(came) == 10


def is_signed(came: Came) -> bool:
    """Whether the public library makes the same signature of what came, at the time it says."""
    moment = datetime.fromtimestamp(int(came.headers["webhook-timestamp"]), UTC)
    expected = Webhook(SECRET).sign(came.message_id, moment, came.body.decode())
    return came.headers["webhook-signature"] == expected


def test_one_endpoint_that_does_everything_wrong_changes_nothing_for_the_others(nights, receiver):
    nights.webhooks(receiver, "a", "b", "c", timeout_seconds=0.3)
    receiver.script("/a", "500", "hang", "301", "429:-5", "drop", "429:" + "9" * 30, "endless")
    receiver.script("/c", "410")
    for value in (0.12, 0.3, 0.0, 0.0):
        nights.night(value)
        nights.deliver()
    nights.drain_but("c")
    assert nights.states() == {
        "a": "delivered delivered delivered",
        "b": "delivered delivered delivered",
        "c": "disabled due due",
    }
    assert all(is_signed(came) for came in receiver.came())
    assert [kinds(firsts(receiver.came(path))) for path in ("/a", "/b", "/c")] == [
        ["opened", "escalated", "resolved"],
        ["opened", "escalated", "resolved"],
        ["opened"],
    ]
    assert len(receiver.came("/a")) == 9
    assert len({came.message_id for came in receiver.came("/a")}) == 3
    assert receiver.came("/elsewhere") == []


@pytest.mark.parametrize("said", ["Fri, 01 May 99999999999999999999 12:30:00 GMT", "-1", "x" * 999])
def test_a_retry_after_that_says_nothing_does_not_stop_the_dispatcher(nights, receiver, said):
    receiver.script("/a", f"503:{said}")
    nights.night(0.12)
    assert nights.deliver().outcomes == {"retry": 1, "ok": 1}
    nights.drain()
    assert nights.states() == {"a": "delivered", "b": "delivered"}
