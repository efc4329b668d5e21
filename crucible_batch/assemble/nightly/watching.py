"""Watching night after night: anchors judged again, metrics charted against the pinned baseline.

The charts are a function of the comparisons of the nights since the pin, so they can be made again
for any night; a comparison that is no longer there is made again first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import polars as pl

from crucible_batch.assemble.anchors import AnchorOptions, judge_anchors, judged_lines, standings
from crucible_batch.assemble.anchors.standing import write_drift
from crucible_batch.assemble.baselines import LATEST
from crucible_batch.assemble.judge import JudgeOptions
from crucible_batch.assemble.judge.options import find_endpoint
from crucible_batch.assemble.nightly.night import Night
from crucible_batch.assemble.nightly.regraded import still_worse
from crucible_batch.assemble.nightly.said import NOTHING_SAID, Said
from crucible_batch.assemble.nightly.series import Compared, series_of, what_is_watched
from crucible_batch.assemble.nightly.wording import Judges, moved, said, said_of_judges
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.contracts import TABLES
from crucible_batch.judges.lexical import MODEL
from crucible_batch.settings import load_settings
from crucible_batch.store import MartFile, Snapshot, file_name
from crucible_batch.watch.charts import Point
from crucible_batch.watch.judge_drift import attribute
from crucible_batch.watch.night import Cell, Watched, chart_tonight, decide, is_headline

NIGHTLY_METRICS = TABLES["nightly_metrics"]


def check_judge(night: Night) -> None:
    """Refuse a judge of anchors whose endpoint is not known, before anything is loaded.

    Raises:
        UsageError: The settings name such a judge, and there are anchors.
    """
    settings = load_settings(night.store.root, night.workspace).judge
    if settings.model != MODEL and _has_anchors(night):
        find_endpoint(JudgeOptions(), settings)


def anchors_again(night: Night, *, progress: Progress = quiet) -> list[str]:
    """Ask the judge about the anchors, if there are any; says what it did, in words.

    An endpoint that refuses every call is a night of failed calls: it does not end the night.

    Raises:
        UsageError: The settings name a judge whose endpoint is not known.
        ContractError: Anchors are not what they were when the judge was calibrated.
    """
    if not _has_anchors(night):
        return []
    progress("judging the anchors")
    done = judge_anchors(
        night.store, night.workspace, as_of=night.as_of, options=AnchorOptions(tolerant=True)
    )
    return judged_lines(done)


def watch_night(night: Night, baseline: str, candidate: str, *, progress: Progress = quiet) -> Said:
    """Chart the night, say who moved, write `nightly_metrics` and `judge_drift`.

    Without a fixed baseline (`latest-succeeded`) there is nothing to chart against.

    Args:
        night: The night.
        baseline: Run compared with.
        candidate: Run judged; the two are compared already.
        progress: Is told how far it has come.

    Returns:
        What the night says.
    """
    progress("charting the nights")
    snapshot = night.opened().snapshot()
    settings = load_settings(night.store.root, night.workspace)
    watched = what_is_watched(snapshot, settings)
    judges = _judges(snapshot, night.as_of)
    if night.config.baseline == LATEST:
        _attribute(night, judges, {}, watched)
        return said_of_judges(judges) or NOTHING_SAID
    series = series_of(night, snapshot, baseline, candidate)
    n_nights = settings.charts.baseline_nights
    points = chart_tonight([one.comparable for one in series], watched, baseline_nights=n_nights)
    _write(night, series, points, n_nights)
    _attribute(night, judges, points, watched, series[-1])
    verdict = decide(
        points,
        watched,
        judge_moved=bool(moved(judges)),
        judge_differs="judge_differs" in series[-1].reasons(watched),
    )
    return said(night, verdict, points, watched, series, judges, baseline_nights=n_nights)


def _has_anchors(night: Night) -> bool:
    return bool(night.opened().snapshot().read("anchors").head(1).collect().height)


def _write(
    night: Night,
    series: Sequence[Compared],
    points: Mapping[Cell, Point],
    baseline_nights: int,
) -> None:
    """Write the night's file of `nightly_metrics`."""
    tonight = series[-1]
    rows = [
        {
            "workspace_id": night.workspace,
            "as_of": night.as_of,
            "candidate_run_id": tonight.candidate,
            **cell._asdict(),
            "delta": tonight.rows[cell],
            "ewma": point.ewma,
            "slide_limit": point.slide_limit,
            "drop_limit": point.drop_limit,
            "center": point.center and point.center.mean,
            "sigma": point.center and point.center.sigma,
            "n_baseline_nights": point.n_baseline_nights,
            "lag1": point.center and point.center.lag1,
            "verdict": point.verdict,
        }
        for cell, point in points.items()
    ]
    file = MartFile(
        table=NIGHTLY_METRICS.name,
        name=file_name(f"{night.as_of:%Y%m%dT%H%M%S.%fZ}-{tonight.candidate}"),
        rows=pl.DataFrame(rows, schema=NIGHTLY_METRICS.schema),
        about={
            "crucible.baseline_run_id": tonight.baseline,
            "crucible.baseline_nights": str(baseline_nights),
            "crucible.first_night": series[0].as_of.isoformat(),
        },
    )
    opened = night.opened()
    opened.publish_marts(opened.stage_marts([file]))


def _judges(snapshot: Snapshot, as_of: datetime) -> Judges:
    """The judges that were asked about the anchors in this night."""
    found = standings(snapshot, as_of=as_of)
    return [(one, drift) for one in found if (drift := one.at(as_of)) is not None]


def _attribute(
    night: Night,
    judges: Judges,
    points: Mapping[Cell, Point],
    watched: Watched,
    tonight: Compared | None = None,
) -> None:
    """Say who moved, for every judge."""
    worse = {c: p for c, p in points.items() if is_headline(c, watched) and p.is_alarm}
    judged = {cell: point for cell, point in worse.items() if cell.metric in watched.judged}
    doubted = {standing.judge for standing, drift in judges if drift.moved}
    still_moved = None
    if doubted and judged and tonight is not None:
        still_moved = still_worse(night, tonight, judged, watched, doubted)
    for standing, drift in judges:
        who = attribute(
            drift,
            judged_moved=bool(judged),
            free_moved=len(judged) < len(worse),
            still_moved=still_moved,
        )
        write_drift(night.opened(), standing, night.as_of, who)
