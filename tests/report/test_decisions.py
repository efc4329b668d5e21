"""What the answer policy decided, and the tiles of the cache."""

from __future__ import annotations

from page import Page
from report_nights import a_night
from report_tables import AS_OF, frame, one_run, two_runs

from crucible_batch.report import build_report, to_html, to_markdown

STATS = a_night()


def test_without_decisions_and_cache_there_is_no_section() -> None:
    report = build_report(two_runs())
    assert report.answer_path is None
    assert 'id="answer-path"' not in to_html(report)
    assert "Answer policy" not in to_markdown(report)


def test_answers_are_positive_abstentions_critical_and_the_rest_a_warning() -> None:
    found = build_report(one_run(policy_stats=STATS["policy_stats"])).answer_path
    assert found is not None
    assert [(one.verdict.word, one.verdict.glyph, one.verdict.tone) for one in found.decisions] == [
        ("answer", "✓", "good"),
        ("proceed", "✓", "good"),
        ("abstain_low", "✕", "bad"),
        ("clarify", "!", "warn"),
    ]
    assert found.cache is None


def test_decisions_are_counted_with_share_and_confidence_and_a_null_says_why() -> None:
    page = Page.of(to_html(build_report(one_run(policy_stats=STATS["policy_stats"]))))
    rows = [tag.text for tag in page.all("tr") if tag.text.startswith("chat")]
    assert rows[0] == "chat✓\xa0answer1,23462\xa0%0.81"
    assert rows[2] == "chat✕\xa0abstain_low1206\xa0%—none is stated"


def test_the_cache_has_five_tiles_and_its_mode() -> None:
    page = Page.of(to_html(build_report(one_run(cache_stats=STATS["cache_stats"]))))
    tiles = [tag.text for tag in page.all("div", class_="value")]
    assert tiles[-5:] == ["31\xa0%", "1,040", "20", "3", "7"]
    assert "Cache, mode shadow" in page.all("main")[0].text


def test_a_cache_that_nobody_asked_has_no_hit_rate_and_says_why() -> None:
    row = {"scan_id": "s", "observed_at": AS_OF, "hit_rate": None, "mode": "off"}
    found = build_report(one_run(cache_stats=frame("cache_stats", [row]))).answer_path
    assert found is not None
    assert found.cache is not None
    assert (found.cache.tiles[0].figure.text, found.cache.tiles[0].note) == ("—", "no look-ups")
