"""The sections of a night as Markdown: charts, corpus, alerts, notices, the answer path."""

from __future__ import annotations

from collections.abc import Sequence

from crucible_batch.report import words
from crucible_batch.report.figures import Figure
from crucible_batch.report.history import History, NightCell
from crucible_batch.report.markdown_text import mark, plain, table
from crucible_batch.report.model import Report
from crucible_batch.report.watched import Watched


def history(report: Report) -> str:
    """The nights: what is said, where each metric stands, the newest deltas."""
    found = report.history
    if found is None:
        return ""
    parts = ["## Night after night", *map(plain, found.said)]
    parts.append(f"{words.count(found.n_nights, 'night')} against this baseline.")
    if found.never:
        parts.append(f"No night could compare: {plain(found.never)}.")
    if found.standings:
        parts.append(_standings(found))
    if found.n_left_out:
        parts.append(f"{words.count(found.n_left_out, 'more slice')} in alarm.")
    if len(found.rows) > 1:
        header = ["As of", "Run", *found.titles]
        rows = [[row.as_of, plain(row.run_id), *map(_cell, row.cells)] for row in found.rows]
        parts += [f"### The last {words.count(len(rows), 'night')}"]
        parts.append(table(header, rows, text_columns=2))
    return "\n\n".join(parts)


def _standings(found: History) -> str:
    header = ["Metric", "Verdict", "Delta", "Limit of a night", "Moving average"]
    header += ["Limit of a slide", "Mean of the window", "Sigma", "Lag-1", "Nights in the window"]
    rows = [
        [
            plain(f"{row.title} ({row.where})" if row.where else row.title),
            mark(row.verdict),
            *_texts(row.delta, row.drop_limit, row.ewma, row.slide_limit),
            *_texts(row.center, row.sigma, row.lag1),
            str(row.n_baseline_nights),
        ]
        for row in found.standings
    ]
    return table(header, rows, text_columns=2)


def _cell(cell: NightCell) -> str:
    return f"{cell.delta.text} {mark(cell.alarm)}" if cell.alarm else cell.delta.text


def watch(report: Report) -> str:
    """The corpus, the rules of the scan, judges, open alerts, dead deliveries."""
    parts = []
    if report.corpus:
        facts = [[fact.label, plain(fact.text), plain(fact.note)] for fact in report.corpus]
        parts.append(table(["Fact", "Value", "Remark"], facts))
    if report.watched:
        parts += _watched(report.watched)
    return "\n\n".join(["## Corpus and alerts", *parts]) if parts else ""


def _watched(found: Watched) -> list[str]:
    parts = []
    if found.rules:
        parts += ["### Rules of the drift scan", f"{plain(found.scan)}.", _rules(found)]
    if found.judges:
        parts += ["### Judges on their anchors", _judges(found)]
    parts.append("### Open alerts")
    parts += _listed(found.n_alerts, len(found.alerts), "open alert", _alerts(found))
    parts.append("### Dead deliveries")
    parts += _listed(found.n_dead, len(found.dead), "notice given up", _dead(found))
    return parts


def _listed(n: int, n_shown: int, what: str, rows: str) -> list[str]:
    if not n:
        return ["✓ no alert is open" if what == "open alert" else "✓ no delivery is dead"]
    one, _, rest = what.partition(" ")
    counted = words.count(n, what) if what == "open alert" else f"{words.count(n, one)} {rest}"
    return [counted + (f", the first {n_shown} are listed." if n > n_shown else "."), rows]


def _rules(found: Watched) -> str:
    header = ["Rule", "Verdict", "Measured", "Limit", "Why", "Value", "Support"]
    rows = [
        [
            plain(f"{row.rule_id} ({row.about})" if row.about else row.rule_id),
            mark(row.verdict),
            plain(row.statistic),
            plain(row.limit),
            plain(row.reason) or words.DASH,
            row.value.text,
            row.support,
        ]
        for row in found.rules
    ]
    return table(header, rows, text_columns=5)


def _judges(found: Watched) -> str:
    header = ["Judge", "Verdict", "As of", "Anchors", "Failed calls", "Flips", "p of the flips"]
    rows = [
        [
            plain(row.judge),
            mark(row.verdict),
            row.as_of,
            *_texts(row.n_anchors, row.n_failed, row.n_flips, row.p_flip, row.e_value),
        ]
        for row in found.judges
    ]
    return table([*header, "e-value"], rows, text_columns=3)


def _alerts(found: Watched) -> str:
    rows = [
        [
            row.alert,
            mark(row.severity),
            row.state,
            plain(f"{row.rule_id} ({row.labels})" if row.labels else row.rule_id),
            row.opened,
            row.quiet or words.DASH,
        ]
        for row in found.alerts
    ]
    return table(
        ["Alert", "Severity", "State", "Rule", "Open since", "Quiet"], rows, text_columns=6
    )


def _dead(found: Watched) -> str:
    header = ["Endpoint", "State", "Notice", "Event", "Last try", "Why", "Tries"]
    rows = [
        [
            plain(row.endpoint),
            mark(row.state),
            plain(row.event),
            plain(row.event_id),
            row.last_at,
            plain(row.why) or words.DASH,
            row.n_tries.text,
        ]
        for row in found.dead
    ]
    return table(header, rows, text_columns=6)


def answer_path(report: Report) -> str:
    """Decisions of the policy and the state of the cache."""
    found = report.answer_path
    if found is None:
        return ""
    parts = ["## Answer policy and cache"]
    if found.decisions:
        rows = [
            [
                plain(row.surface),
                plain(mark(row.verdict)),
                *_texts(row.n, row.share, row.confidence),
            ]
            for row in found.decisions
        ]
        header = ["Surface", "Decision", "Times", "Share", "Mean confidence"]
        parts.append(table(header, rows, text_columns=2))
    if found.cache:
        head = f"Cache, mode {found.cache.mode}, observed {found.cache.observed_at}"
        tiles = [[one.title, one.figure.text, plain(one.note)] for one in found.cache.tiles]
        parts += [f"### {head}", table(["Cache", "Value", "Remark"], tiles)]
    return "\n\n".join(parts)


def _texts(*figures: Figure) -> Sequence[str]:
    return [figure.text for figure in figures]
