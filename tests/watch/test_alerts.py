"""One alert per condition: what opens it, what ends it, and who is told."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta

import pytest
from alerting import BOTH, FIRST, Watch, measured, scan_of
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.watch.alert_fold import fold
from crucible_batch.watch.alert_model import Condition, Counts, Evaluation
from crucible_batch.watch.alert_payload import event_row, read_event
from crucible_batch.watch.alerts import acknowledge, snooze, transition

DAY = timedelta(days=1)
TWIN = Condition.of("w", "churn", {"state": "unknown"})


# --- the condition ----------------------------------------------------------------------------


def test_a_fingerprint_is_the_hash_of_version_workspace_rule_and_sorted_labels():
    text = '[1,"w","r",[["a","1"],["b","é"]]]'
    condition = Condition.of("w", "r", {"b": "é", "a": "1"})
    assert condition.fingerprint == hashlib.sha256(text.encode()).hexdigest()


def test_neither_value_nor_severity_nor_time_is_part_of_a_fingerprint():
    watch = Watch(BOTH).nights(0.12, 0.3, 0.01, 0.01, 0.5)
    assert len({e.condition.fingerprint for e in watch.events}) == 1


def test_workspace_rule_and_every_label_are_part_of_a_fingerprint():
    conditions = [
        Condition.of(*parts)
        for parts in (
            ("w", "r", {}),
            ("v", "r", {}),
            ("w", "s", {}),
            ("w", "r", {"a": "1"}),
            ("w", "r", {"a": "2"}),
            ("w", "r", {"b": "1"}),
        )
    ]
    assert len({condition.fingerprint for condition in conditions}) == len(conditions)


# --- the life of an alert ---------------------------------------------------------------------


def test_the_worked_sequence_opens_resolves_and_opens_again_and_does_nothing_else():
    watch = Watch().nights(0.05, 0.12, 0.09, 0.12, None, 0.06, 0.06, 0.11)
    assert watch.happened == [(2, "opened"), (7, "resolved"), (8, "opened")]
    assert [event.episode for event in watch.events] == [1, 1, 2]
    assert watch.told == watch.happened
    assert watch.churn.state == "firing"


@pytest.mark.parametrize(
    ("values", "counts", "expected"),
    [
        ((0.11, 0.11, 0.11), {}, [(1, "opened")]),
        ((0.10,), {}, []),
        ((0.12, 0.09, 0.12, 0.09), {}, [(1, "opened")]),
        (
            (0.2, 0.2, 0.0, 0.0, 0.2),
            {},
            [(1, "opened"), (4, "resolved"), (5, "opened")],
        ),
        # a value in the band is neither a breach nor recovered: it ends a row of either
        ((0.2, 0.0, 0.09, 0.0), {}, [(1, "opened")]),
        ((0.2, 0.0, None, 0.0), {}, [(1, "opened"), (4, "resolved")]),
        ((0.2, 0.0), {"clear_after": 1}, [(1, "opened"), (2, "resolved")]),
        ((0.2, 0.2, 0.2), {"raise_after": 3}, [(1, "pending"), (3, "opened")]),
        ((0.2, None, 0.2), {"raise_after": 2}, [(1, "pending"), (3, "opened")]),
        (
            (0.2, 0.09, 0.2, 0.2),
            {"raise_after": 2},
            [(1, "pending"), (2, "resolved"), (3, "pending"), (4, "opened")],
        ),
    ],
)
def test_what_opens_and_what_resolves(values, counts, expected):
    assert Watch(**counts).nights(*values).happened == expected


def test_a_pending_alert_that_is_not_confirmed_ends_and_nobody_is_told():
    watch = Watch(raise_after=2).nights(0.2, 0.0)
    assert watch.churn.resolve_reason == "not_confirmed"
    assert watch.told == []


def test_a_pending_alert_has_been_there_since_its_first_breach_and_opens_later():
    watch = Watch(raise_after=2).nights(0.2)
    assert (watch.churn.state, watch.churn.opened_at) == ("pending", FIRST)
    watch.night(0.2)
    assert (watch.churn.state, watch.churn.opened_at) == ("firing", FIRST + timedelta(days=1))


def test_a_higher_severity_is_told_and_a_lower_one_is_not():
    watch = Watch(BOTH).nights(0.12, 0.3, 0.14, 0.25)
    assert watch.happened == [
        (1, "opened"),
        (2, "escalated"),
        (3, "deescalated"),
        (4, "escalated"),
    ]
    assert watch.told == [(1, "opened"), (2, "escalated"), (4, "escalated")]
    assert [event.severity for event in watch.events] == ["warn", "critical", "warn", "critical"]


def test_a_value_between_the_critical_limit_and_its_clear_limit_stays_critical():
    watch = Watch(BOTH).nights(0.3, 0.18, 0.16)
    assert watch.happened == [(1, "opened")]
    assert watch.churn.severity == "critical"


def test_a_critical_alert_in_the_band_of_warn_becomes_a_warning():
    watch = Watch(BOTH).nights(0.3, 0.09)
    assert watch.happened == [(1, "opened"), (2, "deescalated")]


def test_without_a_warn_limit_nothing_deescalates():
    watch = Watch({"critical": (0.20, 0.15)}).nights(0.3, 0.18, 0.1, 0.1)
    assert watch.happened == [(1, "opened"), (4, "resolved")]


def test_an_end_is_told_with_the_highest_severity_of_its_episode():
    watch = Watch(BOTH).nights(0.3, 0.12, 0.0, 0.0)
    assert (watch.events[-1].kind, watch.events[-1].severity) == ("resolved", "warn")
    assert watch.events[-1].notify == "critical"


# --- unknown ----------------------------------------------------------------------------------


def test_unknown_verdicts_in_a_row_open_an_alert_of_their_own():
    watch = Watch().nights(None, None, None, None, 0.0)
    assert watch.happened == [(3, "opened"), (5, "resolved")]
    assert {e.condition for e in watch.events} == {TWIN}
    assert watch.events[0].severity == "warn"
    assert watch.unknown.resolve_reason == "known_again"


def test_a_known_verdict_begins_the_row_of_unknown_ones_anew():
    assert Watch().nights(None, None, 0.0, None, None).happened == []


def test_an_unknown_verdict_leaves_a_firing_alert_as_it_is_and_adds_its_own():
    watch = Watch(unknown_after=2).nights(0.2, None, None, 0.2)
    assert watch.happened == [(1, "opened"), (3, "opened"), (4, "resolved")]
    assert watch.churn.state == "firing"


def test_the_label_of_the_unknown_cannot_be_taken_by_a_rule():
    with pytest.raises(ValueError, match="reserved"):
        Watch().scan([measured(0.2, 1, labels={"state": "unknown"})])


# --- flapping, reminders ----------------------------------------------------------------------


def test_three_openings_in_ten_scans_are_marked_once():
    watch = Watch(clear_after=1).nights(*[0.2, 0.0] * 4)
    marked = [night for night, kind in watch.happened if kind == "flapping"]
    assert marked == [5]
    assert (5, "flapping") not in watch.told
    said = [json.loads(e.payload)["data"]["flapping"] for e in watch.events if e.kind == "opened"]
    assert said == [False, False, True, True]


@pytest.mark.parametrize(("gap", "flaps"), [(6, True), (7, False)])
def test_the_ten_scans_of_flapping_include_the_present_one(gap, flaps):
    watch = Watch(clear_after=1).nights(0.2, 0.0, 0.2, *[0.0] * gap, 0.2)
    assert (watch.n_nights == 10) is flaps
    assert ("flapping" in [kind for _, kind in watch.happened]) is flaps


def test_reminders_come_only_by_setting():
    assert Watch().nights(*[0.2] * 20).happened == [(1, "opened")]


def test_a_firing_alert_is_reminded_of_after_so_many_scans_without_a_notice():
    watch = Watch(BOTH, renotify_after=timedelta(days=3)).nights(
        0.12, 0.12, 0.3, 0.3, None, 0.3, 0.3, 0.3, 0.3
    )
    assert watch.told == [
        (1, "opened"),
        (3, "escalated"),
        (6, "reminder"),
        (9, "reminder"),
    ]


def test_the_time_to_a_reminder_is_that_of_scans_not_of_a_clock():
    watch = Watch(renotify_after=timedelta(days=13, hours=12)).nights(*[0.2] * 30)
    assert watch.told == [(1, "opened"), (15, "reminder"), (29, "reminder")]


# --- people -----------------------------------------------------------------------------------


def acked(watch: Watch) -> None:
    watch.person(acknowledge(watch.churn, author="ann", note=None, now=FIRST))


def snoozed(watch: Watch, nights: float) -> None:
    until = FIRST + timedelta(days=nights)
    watch.person(snooze(watch.churn, until=until, author="ann", note="moving", now=FIRST))


def test_an_acknowledged_alert_goes_on_being_watched_but_only_its_end_is_told():
    watch = Watch(BOTH, renotify_after=DAY).nights(0.12)
    acked(watch)
    watch.nights(0.3, 0.3, 0.0, 0.0)
    assert watch.happened == [(1, "opened"), (2, "escalated"), (5, "resolved")]
    assert watch.told == [(1, "opened"), (5, "resolved")]


def test_an_acknowledgement_ends_with_its_episode():
    watch = Watch().nights(0.2)
    acked(watch)
    watch.nights(0.0, 0.0, 0.2)
    assert watch.told[-1] == (4, "opened")
    assert not watch.churn.acknowledged


def test_a_snoozed_alert_is_told_again_when_the_snooze_is_over():
    watch = Watch(BOTH).nights(0.12)
    snoozed(watch, nights=3)
    watch.nights(0.3, 0.3, 0.3, 0.3)
    assert watch.happened == [(1, "opened"), (2, "escalated"), (4, "reminder")]
    assert watch.told == [(1, "opened"), (4, "reminder")]


def test_a_snooze_lasts_over_episodes_and_what_was_never_told_needs_no_end():
    watch = Watch(clear_after=1).nights(0.2)
    snoozed(watch, nights=10)
    watch.nights(0.0, 0.2, 0.0)
    assert watch.happened == [(1, "opened"), (2, "resolved"), (3, "opened"), (4, "resolved")]
    assert watch.told == [(1, "opened"), (2, "resolved")]


def test_the_same_said_twice_is_no_event():
    watch = Watch().nights(0.2)
    acked(watch)
    assert acknowledge(watch.churn, author="bob", note=None, now=FIRST) is None
    snoozed(watch, nights=2)
    until = FIRST + timedelta(days=2)
    assert snooze(watch.churn, until=until, author="bob", note=None, now=FIRST) is None


# --- rules that go, limits --------------------------------------------------------------------


def test_a_removed_rule_resolves_its_alerts_with_that_reason():
    watch = Watch().nights(0.2)
    watch.rules = set()
    watch.scan([])
    assert (watch.churn.state, watch.churn.resolve_reason) == ("resolved", "rule_removed")
    assert watch.told == [(1, "opened"), (2, "resolved")]


def test_a_subject_that_is_no_longer_there_resolves_its_alert():
    watch = Watch()
    watch.scan([measured(0.2, 1, labels={"entity_type": t}) for t in ("person", "place")])
    watch.scan([measured(0.2, 2, labels={"entity_type": "place"})])
    ends = [e for e in watch.events if e.kind == "resolved"]
    assert [(e.condition.labels, e.reason) for e in ends] == [
        ((("entity_type", "person"),), "subject_gone")
    ]


def test_a_rule_that_cannot_be_measured_at_all_leaves_what_it_fans_out_to_as_it_is():
    watch = Watch()
    watch.scan([measured(0.2, 1, labels={"judge": "a"})])
    for night in (2, 3, 4):
        watch.scan([measured(None, night)])
    assert watch.happened == [(1, "opened"), (4, "opened")]
    watch.scan([measured(0.2, 5, labels={"judge": "a"})])
    ends = [(e.condition.labels, e.reason) for e in watch.events if e.kind == "resolved"]
    assert ends == [((("state", "unknown"),), "subject_gone")]


def fanned(watch: Watch, **values: float | None) -> list[str]:
    """Types with an open alert after a night with a value per type."""
    watch.scan(
        measured(value, watch.n_nights + 1, labels={"t": t}, limits=BOTH, **watch.counts)
        for t, value in values.items()
    )
    return [dict(s.condition.labels)["t"] for s in watch.states.values() if s.is_open]


def test_a_rule_opens_no_more_alerts_than_its_limit_and_says_how_many_it_kept_back():
    watch = Watch(max_open=2, clear_after=1)
    assert sorted(fanned(watch, a=0.12, b=0.12, c=0.3, d=0.12)) == ["a", "c"]
    assert watch.withheld == [{"churn": 2}]


def test_a_breach_that_was_kept_back_opens_when_there_is_room():
    watch = Watch(max_open=1, clear_after=1)
    assert fanned(watch, a=0.12, b=0.12) == ["a"]
    assert fanned(watch, a=0.0, b=0.12) == ["b"]
    assert [(e.kind, dict(e.condition.labels)["t"]) for e in watch.events[1:]] in (
        [("resolved", "a"), ("opened", "b")],
        [("opened", "b"), ("resolved", "a")],
    )


def test_alerts_of_the_unknown_do_not_take_the_room_of_the_others():
    watch = Watch(max_open=1, unknown_after=1)
    assert sorted(fanned(watch, a=None, b=0.12)) == ["a", "b"]


# --- evaluations ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"verdict": "bad"}, "no verdict"),
        ({"verdict": "breach"}, "does not fit"),
        ({"verdict": "ok", "severity": "warn"}, "does not fit"),
        ({"verdict": "breach", "severity": "critical", "held": "warn"}, "clear limit"),
    ],
)
def test_an_evaluation_whose_parts_do_not_fit_is_refused(parts, said):
    with pytest.raises(ValueError, match=said):
        Evaluation(scan=scan_of(1), condition=Condition.of("w", "r", {}), **parts)


def test_a_count_of_no_scans_and_no_time_to_wait_are_refused():
    with pytest.raises(ValueError, match="clear_after is 0"):
        Counts(clear_after=0)
    with pytest.raises(ValueError, match="renotify_after"):
        Counts(renotify_after=timedelta(0))


# --- laws -------------------------------------------------------------------------------------

VALUES = st.lists(st.sampled_from([None, 0.0, 0.09, 0.12, 0.18, 0.3]), max_size=25)
COUNTS = st.fixed_dictionaries(
    {
        "raise_after": st.integers(1, 3),
        "clear_after": st.integers(1, 3),
        "unknown_after": st.integers(1, 3),
        "renotify_after": st.none() | st.integers(1, 12).map(lambda days: days * DAY),
    }
)
laws = settings(max_examples=60)


def textbook(values: list[float | None], raise_after: int, clear_after: int) -> list[bool]:
    """Whether the alert fires after each night, by looking back from every night."""
    firing, found = False, []
    for night in range(len(values)):
        known = [v for v in values[: night + 1] if v is not None]
        if values[night] is not None:
            tail = known[-(clear_after if firing else raise_after) :]
            enough = len(tail) == (clear_after if firing else raise_after)
            if firing:
                firing = not (enough and all(v <= 0.07 for v in tail))
            else:
                firing = enough and all(v > 0.10 for v in tail)
        found.append(firing)
    return found


@laws
@given(VALUES, COUNTS)
def test_an_alert_fires_exactly_when_the_textbook_says(values, counts):
    watch, found = Watch(BOTH, **counts), []
    for value in values:
        watch.night(value)
        found.append(watch.churn.state == "firing")
    assert found == textbook(values, counts["raise_after"], counts["clear_after"])


@laws
@given(VALUES, COUNTS)
def test_the_state_folded_from_what_is_stored_is_the_state_of_the_transitions(values, counts):
    watch = Watch(BOTH, **counts).nights(*values)
    for state in watch.states.values():
        twin = state.condition.is_about_the_unknown
        own = [e.of_the_unknown() if twin else e for e in watch.evaluations]
        stored = [read_event(event_row(e)) for e in watch.of(state.condition.fingerprint)]
        assert fold(state.condition, reversed(stored), own) == state


@laws
@given(VALUES, COUNTS)
def test_a_replay_makes_the_same_events_with_the_same_ids_and_bytes(values, counts):
    first, again = (Watch(BOTH, **counts).nights(*values) for _ in range(2))
    assert first.events == again.events
    ids = [event.event_id for event in first.events]
    assert len(ids) == len(set(ids))


@laws
@given(VALUES, COUNTS)
def test_what_opened_is_told_once_per_episode_and_so_is_its_end(values, counts):
    watch = Watch(BOTH, **counts).nights(*values)
    for state in watch.states.values():
        kinds = [(e.episode, e.kind) for e in watch.of(state.condition.fingerprint) if e.notify]
        for kind in ("opened", "resolved"):
            episodes = [episode for episode, k in kinds if k == kind]
            assert len(episodes) == len(set(episodes))
        assert {n for n, k in kinds if k == "resolved"} <= {n for n, k in kinds if k == "opened"}


@laws
@given(VALUES, COUNTS)
def test_events_of_an_alert_are_numbered_without_gaps(values, counts):
    watch = Watch(BOTH, **counts).nights(*values)
    for state in watch.states.values():
        own = [(e.episode, e.seq) for e in watch.of(state.condition.fingerprint)]
        episodes = sorted({episode for episode, _ in own})
        assert episodes == list(range(1, len(episodes) + 1))
        for episode in episodes:
            numbers = [seq for e, seq in own if e == episode]
            assert numbers == list(range(1, len(numbers) + 1))


# --- the notice -------------------------------------------------------------------------------


def test_a_notice_is_canonical_json_of_type_timestamp_and_data():
    _, (event,) = transition(Watch().nights(0.0).churn, measured(0.12, 2))
    content = json.loads(event.payload)
    assert event.payload == json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    assert content["type"] == "crucible.alert.opened"
    assert content["timestamp"] == "2026-05-02T00:00:00Z"
    data = content["data"]
    assert data["event_id"] == event.event_id
    assert (data["statistic"], data["value"], data["threshold"]) == ("doc_churn_ratio", 0.12, 0.1)
    assert (data["state"], data["severity"], data["episode"]) == ("firing", "warn", 1)


def test_an_event_id_has_no_full_stop_and_is_an_id():
    event_id = Watch().nights(0.2).events[0].event_id
    assert "." not in event_id
    assert event_id.isascii()
    assert len(event_id) == 36


def test_every_kind_of_notice_has_the_same_keys():
    watch = Watch(BOTH, renotify_after=DAY, clear_after=1).nights(0.12, 0.3, 0.3, 0.12, 0.0)
    acked(watch.nights(0.2))
    keys = {e.kind: tuple(json.loads(e.payload)["data"]) for e in watch.events}
    assert len(keys) >= 5
    assert len(set(keys.values())) == 1
