"""How old a corpus is: every row of the list of staleness."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from crucible_batch.errors import UsageError
from crucible_batch.settings import Settings
from crucible_batch.settings.watch import Staleness
from crucible_batch.watch.staleness import document_age, snapshot_age
from crucible_batch.watch.thresholds import evaluate

MAY = datetime(2026, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def documents(newest, *, n_documents=3, n_future=0, as_of=MAY, **settings):
    staleness = Staleness(**settings)
    measured = document_age(
        as_of=as_of,
        newest=newest,
        n_documents=n_documents,
        n_future=n_future,
        staleness=staleness,
    )
    rules = Settings(thresholds=(), staleness=staleness).rules
    (found,) = evaluate(rules, {("document_age", None): [measured]})
    return found


def versions(previous, **settings):
    staleness = Staleness(max_document_age="never", max_snapshot_age="7d", **settings)
    measured = snapshot_age(as_of=MAY, previous=previous, n_documents=3)
    (found,) = evaluate(
        Settings(thresholds=(), staleness=staleness).rules, {("snapshot_age", None): [measured]}
    )
    return found


def said(found):
    return found.verdict, found.value, found.reason


def test_an_age_of_exactly_the_window_is_fresh():
    assert said(documents(MAY - 7 * DAY)) == ("ok", 7 * 86_400, None)


def test_one_second_more_is_stale():
    found = documents(MAY - 7 * DAY - timedelta(seconds=1))
    assert said(found) == ("breach", 7 * 86_400 + 1, None)
    assert (found.severity, found.limit.op, found.limit.number) == ("warn", ">", 7 * 86_400)


def test_a_source_whose_clock_is_ahead_is_fresh_with_age_zero():
    assert said(documents(MAY + timedelta(minutes=3))) == ("ok", 0.0, None)


def test_a_document_from_the_future_does_not_make_a_stale_corpus_fresh():
    found = documents(datetime(2026, 4, 1, tzinfo=UTC), n_future=1)
    assert said(found) == ("breach", 30 * 86_400, None)


@pytest.mark.parametrize("verdict", ["breach", "unknown", "ok"])
def test_a_corpus_without_documents_is_judged_as_settings_say(verdict):
    found = documents(None, n_documents=0, on_empty=verdict)
    assert said(found) == (verdict, None, "no_documents")
    assert found.severity == ("warn" if verdict == "breach" else None)


def test_a_corpus_without_source_times_is_unknown_and_says_so():
    assert said(documents(None)) == ("unknown", None, "no_timestamps")


def test_a_corpus_with_none_but_future_times_is_unknown_and_says_so():
    assert said(documents(None, n_future=3)) == ("unknown", None, "only_future_timestamps")


def test_the_first_scan_has_no_version_before_it():
    assert said(versions(None)) == ("unknown", None, "first_scan")


def test_the_age_of_the_version_before_is_judged():
    assert said(versions(MAY - DAY)) == ("ok", 86_400, None)
    assert said(versions(MAY - 8 * DAY)) == ("breach", 8 * 86_400, None)


def test_ages_are_the_same_in_every_time_zone():
    east = timezone(timedelta(hours=9))
    found = documents((MAY - DAY).astimezone(east), as_of=MAY.astimezone(east))
    assert found.value == 86_400


@pytest.mark.parametrize(
    ("as_of", "newest"), [(MAY.replace(tzinfo=None), MAY), (MAY, MAY.replace(tzinfo=None))]
)
def test_a_time_without_a_zone_is_refused(as_of, newest):
    with pytest.raises(UsageError, match="has no time zone: no age"):
        documents(newest, as_of=as_of)
