"""The answer path in front of the pipeline: what its policy decided, what its cache did."""

from __future__ import annotations

from dataclasses import dataclass

from crucible_batch.report import words
from crucible_batch.report.facts import share
from crucible_batch.report.figures import Badge, Figure
from crucible_batch.report.inputs import ReportInputs
from crucible_batch.report.lines import Row

POSITIVE = ("answer", "proceed")
"""Verdicts that let a question through; those that begin with `abstain` stop it."""


@dataclass(frozen=True)
class Decision:
    """A verdict of the policy on a surface."""

    surface: str
    verdict: Badge
    n: Figure
    share: Figure
    confidence: Figure


@dataclass(frozen=True)
class CacheTile:
    """A number of the cache; a null one with its reason."""

    title: str
    figure: Figure
    note: str


@dataclass(frozen=True)
class Cache:
    """The cache at its latest observation."""

    observed_at: str
    mode: str
    tiles: tuple[CacheTile, ...]


@dataclass(frozen=True)
class AnswerPath:
    """Decisions and cache of the last scan; either may be missing."""

    decisions: tuple[Decision, ...]
    cache: Cache | None


def answer_path(inputs: ReportInputs) -> AnswerPath | None:
    """What the policy decided and the cache did; None where neither is recorded."""
    decided = inputs.policy_stats.sort("surface", "n", "verdict", descending=[False, True, False])
    if decided.is_empty() and inputs.cache_stats.is_empty():
        return None
    return AnswerPath(
        decisions=tuple(map(_decision, decided.iter_rows(named=True))),
        cache=None
        if inputs.cache_stats.is_empty()
        else _cache(inputs.cache_stats.row(0, named=True)),
    )


def _decision(row: Row) -> Decision:
    return Decision(
        surface=row["surface"],
        verdict=_verdict(row["verdict"]),
        n=Figure(row["n"], f"{row['n']:,}"),
        share=share(row["share"]),
        confidence=Figure(row["mean_confidence"], words.decimal(row["mean_confidence"], 2)),
    )


def _verdict(verdict: str) -> Badge:
    if verdict in POSITIVE:
        return Badge("✓", verdict, "good")
    if verdict.startswith("abstain"):
        return Badge("✕", verdict, "bad")
    return Badge("!", verdict, "warn")


def _cache(row: Row) -> Cache:
    rate, last = row["hit_rate"], row["last_hit_at"]
    hit = f"last hit {last:%Y-%m-%d %H:%M} UTC" if last else "no hit yet"
    counts = {
        "Active": ("active", "entries that can be hit"),
        "With embedding": ("with_embedding", "entries"),
        "Invalidated": ("invalidated", "entries"),
        "Expired": ("expired", "entries"),
    }
    return Cache(
        observed_at=f"{row['observed_at']:%Y-%m-%d %H:%M} UTC",
        mode=row["mode"],
        tiles=(
            CacheTile("Hit rate", share(rate), hit if rate is not None else "no look-ups"),
            *(
                CacheTile(title, Figure(row[name], f"{row[name]:,}"), note)
                for title, (name, note) in counts.items()
            ),
        ),
    )
