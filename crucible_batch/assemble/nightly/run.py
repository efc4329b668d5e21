"""A whole night without a Prefect server: the steps in order, and what they said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from crucible_batch.assemble.compare import Comparison
from crucible_batch.assemble.gate import GateRun, Told
from crucible_batch.assemble.load import LoadReport
from crucible_batch.assemble.nightly import corpus, judging, steps, watching
from crucible_batch.assemble.nightly.corpus import Scanned
from crucible_batch.assemble.nightly.night import Night, alone
from crucible_batch.assemble.nightly.said import NOTHING_SAID, Said
from crucible_batch.assemble.progress import Progress, quiet

NOTHING_TO_JUDGE = 3
"""Exit code of a night without a candidate: inconclusive."""

NOT_COMPARABLE = 4
"""Exit code of a night whose two runs cannot be compared in any metric."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NightResult:
    """What became of a night.

    Attributes:
        as_of: The instant it speaks of.
        is_repeat: It was done before; nothing was written.
        loads: What was loaded.
        scored: Runs that were scored now.
        baseline: Run compared with.
        candidate: Run judged; None: there was no new one.
        why_none: Why there is no candidate, in words.
        comparison: The comparison of the two; None for a repeat.
        gate: The gate, judged; None without one and for a repeat.
        gate_told: What the gate says, also of a repeat; None without one.
        anchors: What judging the anchors again did, in words; empty without anchors.
        said: What the charts and the anchors say.
        scan: The drift scan; None without a complete corpus version and for a repeat.
        notices: What sending notices did, in words; empty without endpoints.
        report: The page, if it is there.
        exit_code: The gate's. Without a gate 0, 4 when nothing about the two runs is comparable;
            3 without a candidate.
    """

    as_of: datetime
    is_repeat: bool = False
    loads: tuple[LoadReport, ...] = ()
    scored: tuple[str, ...] = ()
    baseline: str | None = None
    candidate: str | None = None
    why_none: str | None = None
    comparison: Comparison | None = None
    gate: GateRun | None = None
    gate_told: Told | None = None
    anchors: tuple[str, ...] = ()
    said: Said = NOTHING_SAID
    scan: Scanned | None = None
    notices: tuple[str, ...] = ()
    report: Path | None = None
    exit_code: int = 0

    @property
    def watch_lines(self) -> tuple[str, ...]:
        """What the anchors, the charts, the scan and the dispatcher say, for people."""
        lines = [f"anchors: {line}" for line in self.anchors]
        if self.said.line is not None:
            lines += [self.said.line, *self.said.more]
        if self.scan is not None:
            lines += self.scan.lines
        return (*lines, *(f"notices: {line}" for line in self.notices))

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values for JSON."""
        return {
            "as_of": self.as_of.isoformat(),
            "is_repeat": self.is_repeat,
            "loads": [load.to_dict() for load in self.loads],
            "scored": list(self.scored),
            "baseline": self.baseline,
            "candidate": self.candidate,
            "why_none": self.why_none,
            "comparison_id": None if self.comparison is None else self.comparison.comparison_id,
            "scan": None if self.scan is None else self.scan._asdict(),
            "notices": list(self.notices),
            "gate": None if self.gate_told is None else self.gate_told._asdict(),
            "watch": None if self.said.verdict is None else self.said.to_dict(),
            "report": None if self.report is None else str(self.report),
            "exit_code": self.exit_code,
        }


def do_night(night: Night, *, until_now: bool = False, progress: Progress = quiet) -> NightResult:
    """Do a night, or find that it is done.

    Args:
        night: The night.
        until_now: It speaks of the moment after its inputs are loaded instead of `as_of`, so that
            a run that does not say when it finished is judged by the night that loads it.
        progress: Is told how far it has come.

    Raises:
        CrucibleError: What any step raises; the night can be started again.
    """
    with alone(night, progress):
        steps.finish_open_moves(night)
        if row := steps.done_already(night):
            return repeated(night, row)
        steps.check_names(night, before_loads=True)
        watching.check_judge(night)
        return _do(night, until_now=until_now, progress=progress)


def repeated(night: Night, row: Mapping[str, Any]) -> NightResult:
    """The result of a night that was done before, from its row; the exit code is the same."""
    baseline, candidate = row["baseline_run_id"], row["candidate_run_id"]
    page = night.report_path(candidate)
    told = judging.told_before(night, row)
    return NightResult(
        as_of=night.as_of,
        is_repeat=True,
        baseline=baseline,
        candidate=candidate,
        gate_told=told,
        said=Said.of_row(row),
        report=page if page.is_file() else None,
        exit_code=_code(told, lambda: judging.was_comparable(night, baseline, candidate)),
    )


def _do(night: Night, *, until_now: bool, progress: Progress) -> NightResult:
    loads = tuple(
        steps.load_input(night, number, progress=progress)
        for number in range(len(night.config.inputs))
    )
    steps.check_names(night)
    if until_now:
        night = replace(night, as_of=night.opened().now())
    runs = steps.runs_to_score(night)
    scored = tuple(run for run in runs if steps.score(night, run, progress=progress))
    baseline, candidate = steps.choose_runs(night)
    done: dict[str, Any] = {
        "as_of": night.as_of,
        "loads": loads,
        "scored": scored,
        "baseline": baseline,
    }
    if baseline is None or candidate is None:
        return NightResult(
            **done,
            why_none=steps.why_not_judged(night, candidate),
            scan=corpus.scan_corpus(night, progress=progress),
            notices=corpus.send_notices(night, progress=progress),
            exit_code=NOTHING_TO_JUDGE,
        )
    compared = judging.compare(night, baseline, candidate, progress=progress)
    gate = judging.judge(night, baseline, candidate, compared=compared, progress=progress)
    anchors = watching.anchors_again(night, progress=progress)
    said = watching.watch_night(night, baseline, candidate, progress=progress)
    scan = corpus.scan_corpus(night, progress=progress)
    progress("writing the report")
    made = judging.report(night, baseline, candidate, compared, gate, said, progress=progress)
    page = judging.write_page(night, candidate, made)
    told = None if gate is None else gate.told
    steps.record(night, baseline, candidate, told, said, scan and scan.scan_id)
    return NightResult(
        **done,
        candidate=candidate,
        comparison=compared,
        gate=gate,
        gate_told=told,
        anchors=tuple(anchors),
        said=said,
        scan=scan,
        notices=corpus.send_notices(night, progress=progress),
        report=page,
        exit_code=_code(told, lambda: compared.is_comparable),
    )


def _code(told: Told | None, is_comparable: Callable[[], bool]) -> int:
    """The gate decides; without one, whether there was anything to compare."""
    if told is not None:
        return told.exit_code
    return 0 if is_comparable() else NOT_COMPARABLE
