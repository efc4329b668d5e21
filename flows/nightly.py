"""The nightly job: load, score, compare with the baseline, hold against the gate, watch, report.

Ids and paths go between tasks, never frames. Every step finds what is done already, so a flow run
that died is simply run again. `crucible nightly` runs the same steps without a server.

    python -m flows.nightly                         the example, in a temporary store
    python -m flows.nightly --root STORE --config nightly.toml --as-of 2026-05-01
"""

# Annotations are no text here: Prefect pickles a served flow for its process, and text could not be
# resolved there.
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from prefect import flow, unmapped
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.client.schemas.objects import State
from prefect.exceptions import FailedRun
from prefect.runtime import flow_run
from prefect.states import Failed

from crucible_batch.assemble.compare.text import artifact_rows, comparison_text
from crucible_batch.assemble.example import AS_OF, example_dir
from crucible_batch.assemble.gate import Told, gate_markdown, gate_words
from crucible_batch.assemble.nightly import (
    Night,
    alone,
    corpus,
    judging,
    open_night,
    parse_as_of,
    steps,
    watching,
)
from crucible_batch.assemble.nightly.corpus import Scanned
from crucible_batch.assemble.nightly.run import NOT_COMPARABLE, NOTHING_TO_JUDGE
from crucible_batch.assemble.nightly.said import Said
from crucible_batch.errors import CrucibleError
from crucible_batch.report import to_markdown
from flows.retries import TWO_AT_ONCE, retried


@retried
def load_input(root: Path, config: Path, as_of: str, number: int) -> str:
    """Load one input; says where its rows went."""
    report = steps.load_input(_night(root, config, as_of), number)
    accepted = sum(table.n_accepted for table in report.tables)
    return f"{report.kind}: {accepted:,} rows accepted, {report.n_quarantined:,} quarantined"


@retried
def score_run(root: Path, config: Path, as_of: str, run_id: str) -> bool:
    """Score one run; False if its evaluation is current."""
    return steps.score(_night(root, config, as_of), run_id)


@retried
def scan_corpus(root: Path, config: Path, as_of: str) -> Scanned | None:
    """Hold the newest complete corpus version against the rules; moves alerts."""
    return corpus.scan_corpus(_night(root, config, as_of))


@retried
def send_notices(root: Path, config: Path, as_of: str) -> tuple[str, ...]:
    """Send the notices that are due."""
    return corpus.send_notices(_night(root, config, as_of))


@retried
def compare(root: Path, config: Path, as_of: str, baseline: str, candidate: str) -> str:
    """Compare the candidate with the baseline; publishes the table; returns the verdict."""
    done = judging.compare(_night(root, config, as_of), baseline, candidate)
    create_table_artifact(key="comparison", table=artifact_rows(done))
    return comparison_text(done)


@retried
def gate(root: Path, config: Path, as_of: str, baseline: str, candidate: str) -> Told | None:
    """Hold the candidate against the gate and publish what it says; None without a gate."""
    done = judging.judge(_night(root, config, as_of), baseline, candidate)
    if done is None:
        return None
    create_markdown_artifact(key="gate", markdown=gate_markdown(done.verdict))
    print(gate_words(done.verdict))
    return done.told


@retried
def judge_anchors(root: Path, config: Path, as_of: str) -> list[str]:
    """Ask the judge about the anchors again, if there are any."""
    return watching.anchors_again(_night(root, config, as_of))


@retried
def watch(root: Path, config: Path, as_of: str, baseline: str, candidate: str) -> Said:
    """Chart the night and say who moved."""
    return watching.watch_night(_night(root, config, as_of), baseline, candidate)


@retried
def report(root: Path, config: Path, as_of: str, baseline: str, candidate: str, said: Said) -> Path:
    """Write the page of the night and publish it as Markdown."""
    night = _night(root, config, as_of)
    compared = judging.compare(night, baseline, candidate)
    held = judging.judge(night, baseline, candidate, compared=compared)
    made = judging.report(night, baseline, candidate, compared, held, said)
    page = judging.write_page(night, candidate, made)
    create_markdown_artifact(key="report", markdown=to_markdown(made))
    return page


@retried
def record(
    root: Path,
    config: Path,
    as_of: str,
    baseline: str,
    candidate: str,
    told: Told | None,
    said: Said,
    scan_id: str | None,
) -> None:
    """Write the row of the night, its last step."""
    steps.record(_night(root, config, as_of), baseline, candidate, told, said, scan_id)


@flow(name="nightly", task_runner=TWO_AT_ONCE, log_prints=True)
def nightly(
    root: Path, config: Path, as_of: str | None = None
) -> dict[str, Any] | State[dict[str, Any]]:
    """Do a night, once: a second run of it is a no-op that says so.

    The flow run fails when the gate does not pass; the line of the gate is its message.

    Args:
        root: Folder of the store; made if it is not there.
        config: The nightly.toml.
        as_of: A date (its end) or an instant with a zone; the scheduled start if absent.

    Returns:
        as_of, baseline, candidate, gate and report; candidate is null when there was no new run.
    """
    instant = parse_as_of(as_of or _scheduled_start())
    night = open_night(root, config, instant)
    with alone(night):
        steps.finish_open_moves(night)
        if row := steps.done_already(night):
            candidate = row["candidate_run_id"]
            print(f"the night of {instant} is done already: {candidate} (no-op)")
            told = judging.told_before(night, row)
            return _outcome(night, row["baseline_run_id"], candidate, told)
        return _steps(night, root, config)


def _steps(night: Night, root: Path, config: Path) -> dict[str, Any] | State[dict[str, Any]]:
    as_of = night.as_of.isoformat()
    steps.check_names(night, before_loads=True)
    watching.check_judge(night)
    for number in range(len(night.config.inputs)):  # in order: later inputs rest on earlier ones
        print(load_input(root, config, as_of, number))
    steps.check_names(night)
    runs = steps.runs_to_score(night)
    score_run.map(unmapped(root), unmapped(config), unmapped(as_of), runs).result()
    baseline, candidate = steps.choose_runs(night)
    if baseline is None or candidate is None:
        print(steps.why_not_judged(night, candidate))
        _watch_corpus(root, config, as_of)
        _send(root, config, as_of)
        return _outcome(night, baseline, None)
    print(compare(root, config, as_of, baseline, candidate))
    told = gate(root, config, as_of, baseline, candidate)
    for line in judge_anchors(root, config, as_of):
        print(f"anchors: {line}")
    said = watch(root, config, as_of, baseline, candidate)
    if said.line is not None:
        print("\n".join((said.line, *said.more)))
    scan_id = _watch_corpus(root, config, as_of)
    print(f"report: {report(root, config, as_of, baseline, candidate, said)}")
    record(root, config, as_of, baseline, candidate, told, said, scan_id)
    _send(root, config, as_of)
    return _outcome(night, baseline, candidate, told)


def _watch_corpus(root: Path, config: Path, as_of: str) -> str | None:
    scanned = scan_corpus(root, config, as_of)
    if scanned is None:
        return None
    print("\n".join(scanned.lines))
    return scanned.scan_id


def _send(root: Path, config: Path, as_of: str) -> None:
    for line in send_notices(root, config, as_of):
        print(f"notices: {line}")


def _night(root: Path, config: Path, as_of: str) -> Night:
    return open_night(root, config, parse_as_of(as_of))


def _scheduled_start() -> str:
    """As text: Prefect's times are of a class of their own."""
    start: datetime = flow_run.scheduled_start_time or datetime.now(UTC)
    return start.isoformat()


def _outcome(
    night: Night, baseline: str | None, candidate: str | None, told: Told | None = None
) -> dict[str, Any] | State[dict[str, Any]]:
    """What became of the night: a failed state when its gate does not pass.

    Without a gate, when nothing about the two runs could be compared.
    """
    if told is not None and told.exit_code:
        return Failed(message=told.line)
    runs = None if baseline is None or candidate is None else (baseline, candidate)
    if told is None and runs is not None and not judging.was_comparable(night, *runs):
        return Failed(message=f"{baseline} and {candidate} cannot be compared in any metric")
    return {
        "as_of": night.as_of.isoformat(),
        "baseline": baseline,
        "candidate": candidate,
        "gate": None if told is None else told.outcome,
        "report": None if candidate is None else str(night.report_path(candidate)),
    }


def _code_of(root: Path, config: Path, as_of: str) -> int:
    """Exit code of the gate of a night that is done."""
    night = _night(root, config, as_of)
    row = steps.done_already(night)
    if row is None:
        return 70
    told = judging.told_before(night, row)
    return NOT_COMPARABLE if told is None else told.exit_code


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
def main(
    root: Annotated[
        Path | None,
        typer.Option(help="Folder of the store, made where absent; a temporary one if not given."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="The nightly.toml; the example's if not given.")
    ] = None,
    as_of: Annotated[
        str | None,
        typer.Option(help="A date (its end) or an instant with a zone; now if not given."),
    ] = None,
) -> None:
    """Run the flow once; without a configuration on the example, without a root in a new store."""
    if config is None:
        config, as_of = example_dir() / "nightly.toml", as_of or AS_OF
    root = root or Path(tempfile.mkdtemp(prefix="crucible-nightly-"))
    as_of = as_of or datetime.now(UTC).isoformat()
    try:
        outcome = nightly(root, config, as_of)
    except FailedRun:  # the gate has said why
        raise typer.Exit(_code_of(root, config, as_of)) from None
    except CrucibleError as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(error.exit_code) from None
    if isinstance(outcome, dict) and outcome["candidate"] is None:
        raise typer.Exit(NOTHING_TO_JUDGE)


if __name__ == "__main__":
    app()
