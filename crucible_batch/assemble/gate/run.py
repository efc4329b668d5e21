"""Hold a candidate against the rules of a gate, on a store: gather, judge, write `gate_results`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import polars as pl

from crucible_batch.assemble.baselines import LATEST, PINNED, finished_runs
from crucible_batch.assemble.compare import Comparison
from crucible_batch.assemble.gate.config import GateConfig, load_gate
from crucible_batch.assemble.gate.flaky import FlakyItem, load_flaky
from crucible_batch.assemble.gate.gather import Gathered, chosen_baseline, gather
from crucible_batch.assemble.gate.known import (
    Known,
    Resolved,
    check_flaky,
    known_names,
    resolve_rules,
)
from crucible_batch.assemble.gate.notices import dead_notices
from crucible_batch.assemble.gate.requirements import not_comparable
from crucible_batch.assemble.gate.rules import judge_all
from crucible_batch.assemble.gate.verdict import EXIT_CODES, GATE_RESULTS, GateVerdict, SetAside
from crucible_batch.assemble.progress import Progress, quiet
from crucible_batch.errors import UsageError
from crucible_batch.settings import Settings, load_settings
from crucible_batch.store import MartFile, Snapshot, Store, Workspace, combined_hash, file_name


class Told(NamedTuple):
    """A gate in a few words, as it can be read again from the store.

    Attributes:
        gate_id: Hash of the gate and what it judged.
        outcome: pass, fail or inconclusive.
        exit_code: 0 pass, 1 fail, 3 inconclusive, 4 not comparable.
        line: The gate in one line.
    """

    gate_id: str
    outcome: str
    exit_code: int
    line: str


@dataclass(frozen=True, kw_only=True, eq=False)
class GateRun:
    """A gate that was judged and written.

    Attributes:
        verdict: Every rule with its outcome; all texts and files are made of it.
        comparison: What the rules read; None when the runs could not be compared.
        path: The file of `gate_results`.
    """

    verdict: GateVerdict
    comparison: Comparison | None
    path: Path

    @property
    def gate_id(self) -> str:
        """Hash of the gate and what it judged."""
        return self.verdict.gate_id

    @property
    def outcome(self) -> str:
        """pass, fail or inconclusive."""
        return self.verdict.outcome

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 3 inconclusive, 4 not comparable."""
        return self.verdict.exit_code

    @property
    def line(self) -> str:
        """The gate in one line."""
        return self.verdict.line

    @property
    def told(self) -> Told:
        """The gate in a few words."""
        return Told(self.gate_id, self.outcome, self.exit_code, self.line)


@dataclass(frozen=True, kw_only=True, eq=False)
class Prepared:
    """A gate with all its names found, before anything is scored.

    Attributes:
        workspace: Where the runs are.
        settings: Its settings.
        snapshot: What was visible when the names were looked up.
        config: The gate.
        rules: Its rules with their metrics and items.
        known: The names there are.
        flaky: Items of the flaky file.
        candidate: Run judged.
        baseline: Run it is held against; None: there is none yet.
    """

    workspace: Workspace
    settings: Settings
    snapshot: Snapshot
    config: GateConfig
    rules: tuple[Resolved, ...]
    known: Known
    flaky: Sequence[SetAside]
    candidate: str
    baseline: str | None


def run_gate(
    store: Store,
    workspace: str,
    candidate: str,
    baseline: str,
    config_path: Path,
    *,
    as_of: datetime | None = None,
    compared: Comparison | None = None,
    progress: Progress = quiet,
) -> GateRun:
    """Judge a candidate and write what was found.

    Args:
        store: The store.
        workspace: Workspace of both runs.
        candidate: Run judged.
        baseline: A run id, `pinned:NAME` or `latest-succeeded`.
        config_path: The gate.toml.
        as_of: The night the gate speaks of, UTC; None: out of turn.
        compared: The default comparison of the two runs, where it was made already.
        progress: Is told how far it has come.

    Returns:
        The judged gate; the same gate over the same runs gives the same bytes.

    Raises:
        UsageError: The gate.toml cannot be used, or names what is not there.
        UnknownNameError: No such workspace, run or baseline.
        CrucibleError: What scoring and comparing raise.
    """
    ready = prepare(store, workspace, candidate, baseline, config_path, as_of=as_of)
    found = gather(store, ready.workspace, ready, as_of=as_of, compared=compared, progress=progress)
    verdict = GateVerdict(
        gate_id=_gate_id(ready, found, as_of),
        workspace=workspace,
        candidate=candidate,
        baseline=ready.baseline,
        results=tuple(judge_all(ready.rules, found.evidence, ready.config)),
        as_of=as_of,
        not_comparable=not_comparable(ready.rules, found.evidence, ready.config.requirements),
        flaky=ready.flaky,
        notices=dead_notices(ready.snapshot, as_of),
    )
    path = _write(ready, found, verdict)
    return GateRun(verdict=verdict, comparison=found.comparison, path=path)


def prepare(
    store: Store,
    workspace: str,
    candidate: str,
    baseline: str,
    config_path: Path,
    *,
    as_of: datetime | None = None,
) -> Prepared:
    """Read a gate and find everything it names; see `run_gate`."""
    config = load_gate(config_path)
    check_baseline(config, baseline)
    opened = store.workspace(workspace)
    settings = load_settings(store.root, workspace)
    snapshot = opened.snapshot()
    runs = finished_runs(snapshot)
    chosen = chosen_baseline(store, workspace, snapshot, candidate, baseline, as_of=as_of)
    known = known_names(
        snapshot,
        chosen.golden_set_hash,
        [candidate, *([] if chosen.run_id is None else [chosen.run_id])],
        settings,
    )
    own = runs.filter(runs["run_id"] == candidate)["finished_at"]
    finished = own[0] if len(own) else None
    instant = as_of or finished or datetime.max.replace(tzinfo=UTC)
    flaky = _flaky(config, known, instant)
    aside = [one.item for one in flaky if one.is_active]
    return Prepared(
        workspace=opened,
        settings=settings,
        snapshot=snapshot,
        config=config,
        rules=resolve_rules(config, known, aside),
        known=known,
        flaky=flaky,
        candidate=candidate,
        baseline=chosen.run_id,
    )


def told(workspace: Workspace, gate_id: str, outcome: str) -> Told:
    """What a gate said that was judged before.

    Args:
        workspace: Where it was judged.
        gate_id: Its id.
        outcome: Its outcome, for a store whose marts were cleared.
    """
    path = workspace.layout.mart(GATE_RESULTS.name, file_name(gate_id))
    if not path.is_file():
        line = f"gate {outcome.upper()}  exit {EXIT_CODES[outcome]}  its rules are not in the store"
        return Told(gate_id, outcome, EXIT_CODES[outcome], line)
    about = pl.read_parquet_metadata(path)
    return Told(gate_id, outcome, int(about["crucible.exit_code"]), about["crucible.line"])


def check_baseline(config: GateConfig, baseline: str) -> None:
    """Refuse to confirm over nights against a baseline that changes every night.

    Raises:
        UsageError: `confirm_runs` = 2 and the baseline is `latest-succeeded`.
    """
    if config.gate.confirm_runs > 1 and baseline == LATEST:
        raise UsageError(
            f"{config.path}: confirm_runs = {config.gate.confirm_runs} needs a baseline that stays",
            problems=[f"{LATEST} is another run every night"],
            fix=f"name a run, or {PINNED}NAME after `crucible baseline pin NAME RUN`.",
        )


def _flaky(config: GateConfig, known: Known, instant: datetime) -> tuple[SetAside, ...]:
    items: tuple[FlakyItem, ...] = load_flaky(
        config.flaky_path, fix=f"correct gate.flaky in {config.path}."
    )
    check_flaky(items, known, config.flaky_path)
    return tuple(SetAside(item=item, is_active=item.is_set_aside(instant)) for item in items)


def _gate_id(ready: Prepared, found: Gathered, as_of: datetime | None) -> str:
    return combined_hash(
        {
            "gate": ready.config.content_hash,
            "candidate": ready.candidate,
            "baseline": ready.baseline,
            "comparisons": list(found.read_ids),
            "as_of": None if as_of is None else as_of.isoformat(),
        }
    )[:32]


def _write(ready: Prepared, found: Gathered, verdict: GateVerdict) -> Path:
    about = {
        "crucible.gate_id": verdict.gate_id,
        "crucible.gate_sha256": ready.config.content_hash,
        "crucible.read": ",".join(found.read_ids),
        "crucible.exit_code": str(verdict.exit_code),
        "crucible.line": verdict.line,
        "crucible.settings_hash": ready.settings.hash,
    }
    file = MartFile(
        table=GATE_RESULTS.name,
        name=file_name(verdict.gate_id),
        rows=verdict.frame(),
        about=about,
    )
    staged = ready.workspace.stage_marts([file])
    ready.workspace.publish_marts(staged)
    return ready.workspace.layout.root / staged.paths[0]
