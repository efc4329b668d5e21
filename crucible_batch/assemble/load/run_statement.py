"""What the command and the input say of a run: its row, its status, its configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import polars as pl

from crucible_batch.assemble.load import rows as steps
from crucible_batch.assemble.load.pieces import Spool
from crucible_batch.assemble.load.report import Tallies, Tally
from crucible_batch.assemble.load.snapshots import canonical_snapshots, snapshot_row
from crucible_batch.contracts import TABLES, Table
from crucible_batch.contracts.reasons import count_reasons, reason_lines
from crucible_batch.contracts.validate import split
from crucible_batch.contracts.vocabulary import RUN_STATUSES
from crucible_batch.errors import ContractError, UsageError
from crucible_batch.formats.cells import column_of
from crucible_batch.formats.chunk import Findings

RUNS, EVENTS, SNAPSHOTS = TABLES["runs"], TABLES["run_events"], TABLES["config_snapshots"]
STATUS_KEYS = ("status", "reason", "occurred_at")
PAYLOAD_KEYS = ("target", "judge")
COMMAND = "the command"
IN_TABLE = "_in_table"
"""Marks the rows that a table of the input holds: only those are counted."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command says of the run; None where it says nothing."""

    run_id: str | None = None
    golden_set: str | None = None
    status: str | None = None
    part: str | None = None

    def check(self) -> None:
        """Refuse options that could not be stored.

        Raises:
            UsageError: Names the option and its value.
        """
        if self.status is not None and self.status not in RUN_STATUSES:
            raise UsageError(
                f"No status is called {self.status!r}", fix=f"use one of {', '.join(RUN_STATUSES)}."
            )
        if self.part is not None and not (self.part.strip() and self.part.isprintable()):
            raise UsageError(f"{self.part!r} is no name of a part", fix="use letters or digits.")


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What is said of a run.

    Attributes:
        run: Stated columns of `runs`, `workspace_id` and `run_id` among them.
        events: Status events recorded in the input, `seq` null where it is not stated; with
            `_in_table`.
        status: Status the command gives the run from now on.
        snapshots: Configurations, canonical; with `_in_table`.
    """

    run: dict[str, Any]
    events: pl.DataFrame
    status: str | None
    snapshots: pl.DataFrame

    @property
    def run_id(self) -> str:
        """Id of the run."""
        return str(self.run["run_id"])


def read_statement(
    spool: Spool, findings: Findings, options: Options, workspace: str, tallies: Tallies
) -> Statement:
    """Gather everything that is said of the run; two voices may not contradict each other.

    Args:
        spool: The rows of the input.
        findings: Its header and run tags.
        options: What the command says.
        workspace: Workspace the rows go to.
        tallies: Learn the rows of the tables runs, run_events and config_snapshots.

    Raises:
        ContractError: A row or the header breaks its contract, or they contradict each other.
        UsageError: Nobody says which run it is, several runs are meant, or the command contradicts
            the input.
    """
    own = {
        table.name: _own_rows(table, spool.frames[table.name], workspace, tallies[table.name])
        for table in (RUNS, EVENTS, SNAPSHOTS)
        if table.name in spool.frames
    }
    header = read_header(findings.run or {}, findings.run_source or "the input", workspace)
    command = {"run_id": options.run_id, "golden_set": options.golden_set}
    stated = _agreed(
        [
            (RUNS.name, _only_run(own.get(RUNS.name, RUNS.empty()))),
            (f"the first line of {findings.run_source}", header.run),
            (COMMAND, {n: v for n, v in command.items() if v is not None}),
            (COMMAND, {"workspace_id": workspace}),
        ]
    )
    if "run_id" not in stated:
        stated["run_id"] = _run_id(spool, findings)
    events = _marked(own.get(EVENTS.name, EVENTS.empty()), header.events)
    snapshots = _marked(own.get(SNAPSHOTS.name, SNAPSHOTS.empty()), header.snapshots)
    return Statement(
        run=stated,
        events=events,
        status=options.status,
        snapshots=snapshots.unique("snapshot_id", keep="first", maintain_order=True),
    )


def _own_rows(table: Table, frame: pl.DataFrame, workspace: str, tally: Tally) -> pl.DataFrame:
    """Good rows of a table about the run itself; bad ones refuse the load."""
    frame = steps.fill_constant(frame, "workspace_id", workspace, option="--workspace")
    if table is SNAPSHOTS:
        frame = canonical_snapshots(frame)
    refuse_bad(table, frame)
    distinct = frame.unique(table.content, keep="first", maintain_order=True)
    tally.n_in = frame.height
    tally.n_already_there = frame.height - distinct.height
    return steps.contract_rows(table, distinct)


def _marked(in_table: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    return pl.concat(
        [
            in_table.with_columns(pl.lit(value=True).alias(IN_TABLE)),
            others.with_columns(pl.lit(value=False).alias(IN_TABLE)),
        ]
    )


def n_in_table(rows: pl.DataFrame) -> int:
    """How many of the rows a table of the input holds."""
    return rows.filter(IN_TABLE).height


def _only_run(runs: pl.DataFrame) -> dict[str, Any]:
    """The stated columns of a `runs` table, which may speak of one run only."""
    if runs.height > 1:
        raise UsageError(
            "The table runs of the input has several rows",
            problems=[f"run_id {row['run_id']!r}" for row in runs.iter_rows(named=True)],
            fix="load one run at a time, described once.",
        )
    rows = runs.to_dicts()
    return {name: value for name, value in rows[0].items() if value is not None} if rows else {}


def _agreed(said: Sequence[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """What all voices say together.

    Raises:
        UsageError: The command contradicts the input.
        ContractError: The input contradicts itself.
    """
    agreed: dict[str, Any] = {}
    voices: dict[str, str] = {}
    problems = []
    by_command = False
    for who, values in said:
        for name, value in values.items():
            if agreed.setdefault(name, value) != value:
                problems.append(
                    f"{name}: {voices[name]} says {agreed[name]!r}, {who} says {value!r}"
                )
                by_command = by_command or who == COMMAND
            voices.setdefault(name, who)
    if problems:
        raise (UsageError if by_command else ContractError)(
            "The run is described in two ways",
            problems=problems,
            fix="leave the option out, or correct the input.",
        )
    return agreed


def _run_id(spool: Spool, findings: Findings) -> str:
    """The one run that the rows, else the tags of TREC files, name."""
    found: set[str] = set()
    for name in spool.bulk_tables:
        found |= {str(value) for value in spool.values(name, "run_id")}
    for name, frame in spool.frames.items():
        if "run_id" in TABLES[name].names:
            found |= set(frame["run_id"].drop_nulls())
    found = found or findings.tags
    if len(found) != 1:
        raise UsageError(
            "The input does not say which run it is of"
            if not found
            else f"The input holds {len(found)} runs",
            problems=sorted(found),
            fix="name it: --run ID, run = ID of the input in nightly.toml, or on its first line."
            if not found
            else "load one run at a time; in nightly.toml, one [[inputs]] for each.",
        )
    return found.pop()


@dataclass(frozen=True, kw_only=True)
class Header:
    """The first line `{"run": {…}}` of a JSON Lines file."""

    run: dict[str, Any]
    events: pl.DataFrame
    snapshots: pl.DataFrame


def read_header(header: Mapping[str, Any], source: str, workspace: str) -> Header:
    """Read the object of a first line `{"run": {…}}`.

    Raises:
        ContractError: A key is unknown, or a value has another type than the contract says.
    """
    problems = [*_unknown_keys(header)]
    values: dict[str, Any] = {}
    for column in (*RUNS.columns, *EVENTS.columns):
        if header.get(column.name) is not None and column.name not in values:
            series, wrong = column_of(column, [header[column.name]])
            problems += wrong.values()
            values[column.name] = series[0] if series is not None else None
    payloads = {key: header[key] for key in PAYLOAD_KEYS if header.get(key) is not None}
    for key, payload in payloads.items():
        if not isinstance(payload, dict):
            problems.append(f"{key}: not an object: {payload!r}")
        if f"{key}_snapshot_id" in values:
            problems.append(f"{key}: stands beside {key}_snapshot_id; give one of them")
    if header.get("status") is None:
        problems += [
            f"{key}: speaks of a status, and there is none beside it"
            for key in ("reason", "occurred_at")
            if header.get(key) is not None
        ]
    if problems:
        raise ContractError(
            f'The first line of {source}, {{"run": …}}, cannot be used',
            problems=problems,
            fix="its keys are the columns of `crucible schema runs`, status, reason, occurred_at, "
            "target and judge (objects); reason and occurred_at belong to a status.",
        )
    snapshots = [snapshot_row(kind, payload, workspace) for kind, payload in payloads.items()]
    run = {name: values[name] for name in RUNS.names if name in values}
    for row in snapshots:
        run[f"{row['kind'][0]}_snapshot_id"] = row["snapshot_id"][0]
    event = {name: values.get(name) for name in STATUS_KEYS}
    events = [EVENTS.empty()]
    if event["status"] is not None:
        own = steps.with_meta(EVENTS, event | {"workspace_id": workspace}, source)
        refuse_bad(EVENTS, own)
        events.append(steps.contract_rows(EVENTS, own))
    return Header(
        run=run, events=pl.concat(events), snapshots=pl.concat([SNAPSHOTS.empty(), *snapshots])
    )


def _unknown_keys(header: Mapping[str, Any]) -> list[str]:
    known = (*RUNS.names, *STATUS_KEYS, *PAYLOAD_KEYS)
    problems = []
    for key in header:
        if key not in known:
            near = get_close_matches(key, known, n=1, cutoff=0.6)
            problems.append(f"unknown key {key!r}" + (f"; did you mean {near[0]}?" if near else ""))
    return problems


def refuse_bad(table: Table, frame: pl.DataFrame) -> None:
    """Refuse rows about the run itself that break their contract; they cannot be put aside.

    Raises:
        ContractError: Names row, column and value.
    """
    filled = [column.name for column in table.columns if column.filled]
    bad = split(table, frame, later=filled).quarantined
    if bad.height:
        raise ContractError(
            f"{bad.height:,} rows of {table.name} break their contract",
            problems=reason_lines([count_reasons(bad)]),
            fix=f"`crucible schema {table.name}` prints the contract.",
        )
