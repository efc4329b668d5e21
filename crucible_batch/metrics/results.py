"""What is said of results beside their scores: the wide table for people, counts, notes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from crucible_batch.metrics.answer_grains import KEY
from crucible_batch.metrics.facts import Golden, RunFlags
from crucible_batch.metrics.metric import AnyMetric

CONCEPT_UNCHECKED = "concept_unchecked"
"""Assertions hang on concepts, and the run looked for none: their plain verdicts count."""

_GROUPS = {"answers", "abstention", "selective", "calibration"}
_NAMES = {"factual_recall", "factual_f1"}


def wide_results(
    scores: pl.DataFrame, answers: pl.DataFrame, classes: pl.DataFrame, evidence: pl.DataFrame
) -> pl.DataFrame:
    """The table of results for people.

    Args:
        scores: item_id, sample_index and a column per metric, for every expected result
            (`ScoreTable.wide`).
        answers: The `answer` grain with its key.
        classes: Label, class and rule, one row per row of `answers` (`taxonomy.classify`).
        evidence: item_id, sample_index, evidence_hash (`facts.evidence_hashes`).

    Returns:
        item_id, sample_index, truthfulness_label, error_class, error_rule, errored (or no result
        at all), evidence_hash, then the metrics of `scores`; by key.
    """
    said = answers.select(*KEY, errored=pl.col("errored") | ~pl.col("has_result"))
    return (
        said.select(KEY)
        .hstack(classes)
        .hstack(said.select("errored"))
        .join(evidence, on=list(KEY), how="left", maintain_order="left")
        .join(scores, on=list(KEY), how="left", maintain_order="left")
        .sort(KEY)
    )


@dataclass(frozen=True)
class RunCounts:
    """How many results a run has, by what became of them; these add up over buckets."""

    n_expected: int
    n_results: int
    n_errored: int
    n_blank_answers: int
    n_abstained: int
    n_answered: int

    def __add__(self, other: RunCounts) -> RunCounts:
        """The counts of two buckets."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return RunCounts(*(mine + theirs for mine, theirs in pairs))

    def is_degraded(self, threshold: float) -> bool:
        """Whether more than this share of the expected results errored or have no row."""
        lost = self.n_errored + self.n_expected - self.n_results
        return self.n_expected > 0 and lost / self.n_expected > threshold


def run_counts(answers: pl.DataFrame) -> RunCounts:
    """Count the rows of the `answer` grain."""
    fine = pl.col("has_result") & ~pl.col("errored")
    abstained = fine & pl.col("abstained").fill_null(value=False)
    counts = answers.select(
        n_expected=pl.len(),
        n_results=pl.col("has_result").sum(),
        n_errored=pl.col("errored").sum(),
        n_blank_answers=(fine & pl.col("blank")).sum(),
        n_abstained=abstained.sum(),
        n_answered=(fine & pl.col("has_answer_stage") & ~abstained).sum(),
    )
    return RunCounts(*counts.row(0))


def notes(
    golden: Golden, flags: RunFlags, metrics: Iterable[AnyMetric]
) -> dict[str, tuple[str, ...]]:
    """What to know when reading the answer metrics of a run.

    Returns:
        Metric to notes, for the metrics that have any. `concept_unchecked`: assertions hang on
        concepts and detection did not run, so plain verdicts counted.
    """
    if flags.concepts_detected or not golden.assertions["concept_id"].is_not_null().any():
        return {}
    noted = [m.name for m in metrics if m.uses_judge and (m.group in _GROUPS or m.name in _NAMES)]
    return dict.fromkeys(noted, (CONCEPT_UNCHECKED,))
