"""The numbers of a corpus, and of samples, before they are held against rules: on plain values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.assemble.drift import corpus_snapshot
from crucible_batch.assemble.drift.answer_path import cache_stats, policy_stats
from crucible_batch.assemble.drift.corpus import shifted
from crucible_batch.assemble.drift.distributions import binned
from crucible_batch.assemble.drift.measure import Before, corpus_measurements
from crucible_batch.contracts import TABLES
from crucible_batch.settings.watch import Staleness
from crucible_batch.sql import query

MAY = datetime(2026, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)

ROW = {
    "as_of": MAY,
    "doc_count": 90,
    "entity_count": 40,
    "doc_churn_ratio": 0.25,
    "orphan_rate": 0.1,
    "newest_document_at": MAY - DAY,
    "future_document_count": 2,
    "reason": None,
}


def measured(types=None, before_types=None, *, n_before=100, ever=(), min_count=10, **row):
    before = None
    if before_types is not None:
        before = Before(n_documents=n_before, observed_at=MAY - 3 * DAY, types=before_types)
    return corpus_measurements(
        ROW | row, types or {}, before, ever=ever, min_count=min_count, staleness=Staleness()
    )


def one(found, name):
    (only,) = found[name, None]
    return only


def by_type(found, name):
    return {m.labels["entity_type"]: m.value for m in found[name, "entity_type"]}


def test_levels_and_differences_of_documents():
    found = measured(before_types={})
    values = {name: m[0].value for (name, by), m in found.items() if by is None}
    assert values["doc_churn_ratio"] == 0.25
    assert values["doc_count_change"] == -0.1
    assert values["orphan_rate"] == 0.1
    assert values["future_document_count"] == 2.0
    assert (values["document_age"], values["snapshot_age"]) == (86_400, 3 * 86_400)
    change = one(found, "doc_count_change")
    assert (change.n_reference, change.n_current, change.support) == (100, 90, 100)


def test_without_a_version_before_every_difference_is_unknown_and_every_level_known():
    found = measured({"law": 40}, doc_churn_ratio=None, reason="first_snapshot")
    reasons = {key: [m.reason for m in group] for key, group in found.items()}
    for name in ("doc_churn_ratio", "doc_count_change", "entity_mix_tvd", "type_new"):
        assert reasons[name, None] == ["first_snapshot"]
    assert reasons["type_vanished", "entity_type"] == ["first_snapshot"]
    assert reasons["snapshot_age", None] == ["first_scan"]
    assert reasons["document_age", None] == reasons["orphan_rate", None] == [None]


def test_a_churn_that_is_not_measured_says_why():
    found = measured(before_types={}, doc_churn_ratio=None, reason="hash_version_changed")
    assert one(found, "doc_churn_ratio").reason == "hash_version_changed"
    empty = measured(before_types={}, doc_churn_ratio=None, doc_count=0, n_before=0)
    assert one(empty, "doc_churn_ratio").reason == "nothing_to_compare"


def test_types_that_come_and_go():
    found = measured({"law": 60, "new": 10, "few": 9}, {"law": 30, "old": 20, "rare": 3})
    assert by_type(found, "type_new") == {"law": 0, "new": 1, "few": 0, "old": 0, "rare": 0}
    assert by_type(found, "type_vanished") == {"law": 0, "new": 0, "few": 0, "old": 1, "rare": 0}
    assert (one(found, "type_new").value, one(found, "type_vanished").value) == (1.0, 1.0)
    assert by_type(found, "entity_count_change") == {
        "law": 1.0, "old": -1.0, "rare": -1.0, "new": None, "few": None,
    }  # fmt: skip
    assert one(found, "entity_count_change").value == (79 - 53) / 53
    each = {m.labels["entity_type"]: m for m in found["entity_count_change", "entity_type"]}
    assert each["new"].reason == "new_type"


def test_a_type_that_is_gone_for_good_has_not_moved():
    found = measured({"law": 9}, {"law": 9}, ever=["law", "gone"])
    assert by_type(found, "entity_count_change") == {"gone": 0.0, "law": 0.0}
    assert by_type(found, "type_vanished") == {"gone": 0.0, "law": 0.0}


def test_the_mix_of_entities_is_the_share_of_the_mass_that_moved():
    found = measured({"a": 45, "b": 30, "c": 25}, {"a": 60, "b": 30, "c": 10})
    mix = one(found, "entity_mix_tvd")
    assert (mix.value, mix.n_reference, mix.n_current, mix.critical) == (0.15, 100, 100, None)


def test_a_corpus_without_entities_has_no_mix_and_no_orphan_rate():
    found = measured({}, {}, entity_count=0, orphan_rate=None)
    assert one(found, "entity_mix_tvd").reason == "nothing_to_compare"
    assert one(found, "orphan_rate").reason == "no_entities"
    assert one(found, "entity_count_change").value == 0.0


def test_the_document_from_2099_counts_and_does_not_refresh():
    """Documents of 1 Apr and 1 Jan 2099 as of 1 May: 30 days old, one from the future."""
    times = [datetime(2026, 4, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC)]
    documents = pl.DataFrame(
        {"doc_id": ["a", "b"], "content_hash": ["x", "y"], "hash_version": "v"}
    ).with_columns(pl.Series("source_updated_at", times, pl.Datetime("us", "UTC")))
    none = pl.DataFrame(schema={"entity_id": pl.String, "entity_type": pl.String})
    row = corpus_snapshot(
        documents, None, none, none, workspace_id="w", corpus_version="v", as_of=MAY
    ).row
    found = corpus_measurements(row, {}, None, min_count=1, staleness=Staleness())
    assert one(found, "document_age").value == 30 * 86_400
    assert one(found, "future_document_count").value == 1.0


# --- confidences in bins of the reference


def test_confidences_fall_into_ten_bins_of_the_reference():
    reference = pl.Series([n / 100 for n in range(1, 101)])
    before, now = binned(reference, pl.Series([0.0, 0.05, 0.1, 0.100001, 0.95, 1.0]))
    assert list(before.values()) == [10] * 10
    assert now == {"00": 3, "01": 1, "09": 2}


def test_ties_of_the_reference_make_fewer_bins():
    before, now = binned(pl.Series([0.5] * 20), pl.Series([0.4, 0.5, 0.6]))
    assert (before, now) == ({"00": 20}, {"00": 2, "01": 1})


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=1, max_size=60),
    st.lists(st.floats(0, 1), max_size=20),
)
def test_bins_lose_no_value_and_agree_with_a_plain_loop(reference, current):
    before, now = binned(pl.Series(reference), pl.Series(current, dtype=pl.Float64))
    ordered = sorted(reference)
    edges = sorted({ordered[int(np.ceil(len(ordered) * j / 10)) - 1] for j in range(1, 10)})

    def plain(values):
        places = [f"{sum(edge < v for edge in edges):02}" for v in values]
        return {place: places.count(place) for place in set(places)}

    assert (before, now) == (plain(reference), plain(current))


# --- the answer path


def test_the_statistics_of_a_policy():
    decisions = pl.DataFrame(
        [("chat", "answer", 0.5), ("chat", "answer", None), ("chat", "refuse", None),
         ("mail", "answer", 0.1), ("chat", "answer", 0.7)],
        schema=["surface", "verdict", "confidence"], orient="row",
    )  # fmt: skip
    assert policy_stats(decisions).rows() == [
        ("chat", "answer", 3, 0.75, 0.6),
        ("chat", "refuse", 1, 0.25, None),
        ("mail", "answer", 1, 1.0, 0.1),
    ]


def at(minutes):
    return MAY + timedelta(minutes=minutes)


def cache(observations, entries, as_of=MAY):
    tables = (TABLES["cache_observations"], TABLES["cache_entries"])
    frames = [
        pl.DataFrame([dict.fromkeys(t.names) | row for row in rows], schema=t.schema)
        for t, rows in zip(tables, (observations, entries), strict=True)
    ]
    return cache_stats(*frames, as_of=as_of).to_dicts()


def test_the_statistics_of_a_cache_are_of_its_latest_observation():
    seen = {"mode": "enforce", "last_hit_at": at(-30)}
    observations = [
        {"observed_at": at(-60), "lookups": 10, "hits": 9, **seen},
        {"observed_at": at(-20), "lookups": 8, "hits": 2, **seen},
    ]
    entries = [
        {"observed_at": at(-60), "entry_id": "old", "has_embedding": True},
        {"observed_at": at(-20), "entry_id": "a", "has_embedding": True},
        {"observed_at": at(-20), "entry_id": "b", "has_embedding": False, "expires_at": MAY},
        {"observed_at": at(-20), "entry_id": "c", "has_embedding": True, "expires_at": at(1)},
        {"observed_at": at(-20), "entry_id": "d", "has_embedding": True, "invalidated_at": at(-21),
         "expires_at": at(-1)},
    ]  # fmt: skip
    (row,) = cache(observations, entries)
    assert row == {
        "observed_at": at(-20), "hit_rate": 0.25, "active": 2, "with_embedding": 3,
        "invalidated": 1, "expired": 2, "last_hit_at": at(-30), "mode": "enforce",
    }  # fmt: skip


def test_a_cache_without_look_ups_has_no_hit_rate_and_one_never_seen_no_row():
    observation = {"observed_at": at(-1), "mode": "off", "lookups": 0, "hits": 0}
    assert cache([observation], [])[0]["hit_rate"] is None
    assert cache([], []) == []


def test_a_delivery_is_dead_while_its_last_attempt_is():
    deliveries = pl.DataFrame(
        {"event_id": ["e1", "e2", "e1", "e3"], "endpoint": ["a", "a", "b", "c"]}
    )
    attempts = pl.DataFrame(
        [
            ("e1", "a", 1, "retry", at(-9)), ("e1", "a", 2, "dead", at(-8)),
            ("e2", "a", 1, "dead", at(-9)), ("e2", "a", 2, "ok", at(-1)),
            ("e1", "b", 1, "dead", at(1)),
        ],
        schema=["event_id", "endpoint", "n", "outcome", "started_at"], orient="row",
    )  # fmt: skip
    rows = query(
        "dead_deliveries", {"deliveries": deliveries, "attempts": attempts}, {"as_of": MAY}
    )
    assert rows.rows() == [("a", 2, 1), ("b", 1, 0), ("c", 1, 0)]


@pytest.mark.parametrize(
    ("days", "side"), [(0, "current"), (-6.9, "current"), (-7, "reference"), (-34.9, "reference"),
                       (-35, None), (0.1, None)],
)  # fmt: skip
def test_a_decision_counts_on_the_side_its_time_lies_on(days, side):
    decisions = pl.DataFrame(
        [("chat", "answer", MAY + days * DAY)],
        schema={"surface": pl.String, "verdict": pl.String, "created_at": pl.Datetime("us", "UTC")},
        orient="row",
    )
    times = {"as_of": MAY, "window_start": MAY - 7 * DAY, "reference_start": MAY - 35 * DAY}
    counts = query("policy_counts", {"decisions": decisions}, times)
    assert counts.rows() == ([] if side is None else [(side, "chat", "answer", 1)])


def test_a_window_that_begins_before_all_time_begins_with_time():
    early = datetime(1, 1, 2, tzinfo=UTC)
    assert shifted(early, -timedelta(days=35)) == datetime.min.replace(tzinfo=UTC)
    late = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert shifted(late, timedelta(minutes=5)) == datetime.max.replace(tzinfo=UTC)
    assert shifted(early, timedelta(days=1)) == datetime(1, 1, 3, tzinfo=UTC)
