"""The foot of the report: what its numbers depend on, and where their rows came from."""

from __future__ import annotations

from crucible_batch.report import words
from crucible_batch.report.figures import Fact
from crucible_batch.report.inputs import ReportInputs

MOST_FILES = 12
"""Input files that are named; a run may be loaded in hundreds of parts."""


def provenance(inputs: ReportInputs) -> tuple[Fact, ...]:
    """What the numbers depend on: hashes, ruler, judge, seeds, versions.

    A fact that both runs share is told once.
    """
    sides = [_run_facts(inputs, run_id) for run_id in inputs.run_ids]
    facts = []
    for same in zip(*sides, strict=True):
        if len(set(same)) == 1:
            facts.append(same[0])
            continue
        names = zip(("run", "baseline"), same, strict=False)
        facts += [Fact(f"{side} {fact.label}", fact.text, fact.note) for side, fact in names]
    if not inputs.comparisons.is_empty():
        row = inputs.comparisons.sort("slice_by", "slice", "metric").row(0, named=True)
        draws = f"{row['n_resamples']:,} resamples, stream version {row['stream_version']}"
        facts += [
            Fact("comparison_id", row["comparison_id"], f"unit {row['unit']}"),
            Fact("comparison ruler_hash", row["ruler_hash"]),
            Fact("seed", str(row["seed"]), draws),
        ]
    facts += _files(inputs)
    if inputs.package_version:
        facts.append(Fact("crucible-batch", inputs.package_version))
    return tuple(facts)


def _run_facts(inputs: ReportInputs, run_id: str) -> tuple[Fact, ...]:
    run = inputs.of("runs", run_id).row(0, named=True)
    made = inputs.of("evaluations", run_id).row(0, named=True)
    grades = f"{made['qrel_source']} grades, relevant at {made['relevant_at']}"
    return (
        Fact("workspace_id", made["workspace_id"]),
        Fact("run_id", run_id),
        Fact("evaluation_id", made["evaluation_id"]),
        Fact("golden_set_hash", made["golden_set_hash"], run["golden_set"]),
        Fact("ruler_hash", made["ruler_hash"], f"{grades}, per {made['granularity']}"),
        Fact("judge", made["judge"] or words.DASH, "" if made["judge"] else "no verdicts"),
        Fact(
            "judge_snapshot_id",
            run["judge_snapshot_id"] or words.DASH,
            "" if run["judge_snapshot_id"] else "the run states none",
        ),
        Fact("target_snapshot_id", run["target_snapshot_id"]),
        Fact("rows_hash", made["rows_hash"]),
        Fact("catalog_hash", made["catalog_hash"]),
        Fact("settings_hash", made["settings_hash"]),
    )


def _files(inputs: ReportInputs) -> list[Fact]:
    """The files that were loaded, with their hashes; further ones are counted."""
    facts = [
        Fact(f"input: {file.kind}", f"sha256:{file.sha256}", file.name)
        for file in inputs.files[:MOST_FILES]
    ]
    n_more = len(inputs.files) - MOST_FILES
    if n_more > 0:
        facts.append(Fact("input", words.count(n_more, "more file"), "named in commits"))
    return facts
