"""Nested JSON Lines: golden items and run results with their child rows, or one flat table.

A missing key is not reported, an empty list is reported and empty. Every line is a row of the main
table, a broken one too, so that rows in = accepted + quarantined + already there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.contracts.conform import META
from crucible_batch.contracts.table import Table
from crucible_batch.errors import ContractError
from crucible_batch.formats.cells import MISSING, column_of
from crucible_batch.formats.chunk import Chunk, Findings, meta_columns, reason
from crucible_batch.formats.lines import LineError, decode, numbered_lines, row_text
from crucible_batch.formats.sources import Source
from crucible_batch.formats.verbs import (
    CHILDREN,
    MAIN,
    PARENT_KEYS,
    Verb,
    choose_table,
    undecided,
)

CHUNK_LINES = 20_000
CHUNK_BYTES = 1 << 26

POSITIONS = {"retrievals": "rank", "answer_citations": "ordinal"}
"""Columns that a child row takes from its position in the list, from 1, when it does not say."""


@dataclass
class Rows:
    """Rows of one table on their way into a frame; the lists run side by side."""

    table: Table
    rows: list[dict[str, Any]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    reasons: dict[int, list[str]] = field(default_factory=dict)
    raw: dict[int, str] = field(default_factory=dict)

    def add(self, row: dict[str, Any], number: int, *problems: str) -> None:
        """Append a row that stood on line `number`."""
        if problems:
            self.reasons[len(self.rows)] = list(problems)
        self.rows.append(row)
        self.numbers.append(number)

    def add_broken(self, text: str, number: int, problem: str) -> None:
        """Append a row that could not be read at all."""
        self.raw[len(self.rows)] = text
        self.add({}, number, problem)

    def frame(self, source: str) -> pl.DataFrame:
        """The rows as a frame of contract columns and meta columns."""
        columns = []
        for column in self.table.columns:
            name = column.name
            series, problems = column_of(column, [row.get(name, MISSING) for row in self.rows])
            if series is not None:
                columns.append(series)
            for at, problem in problems.items():
                self.reasons.setdefault(at, []).append(problem)
        return pl.DataFrame([*columns, *self._meta(source)])

    def _meta(self, source: str) -> list[pl.Series]:
        if not self.reasons:
            return meta_columns(source, self.numbers)
        reasons = [self.reasons.get(at, []) for at in range(len(self.rows))]
        texts = [
            (self.raw[at] if at in self.raw else row_text(row)) if at in self.reasons else None
            for at, row in enumerate(self.rows)
        ]
        return meta_columns(source, self.numbers, reasons, texts)


def read_jsonl(source: Source, verb: Verb, findings: Findings) -> Iterator[Chunk]:
    """Read one JSON Lines file, gzip and the like included.

    Args:
        source: The file.
        verb: What is loaded; says which table a line is a row of where the name does not.
        findings: Receives the run header, the reported tables, and the counts.

    Yields:
        Chunks of at most `CHUNK_LINES` lines: the main table first, then its children.

    Raises:
        ContractError: The table cannot be told, the run header is no object, another file's
            header says something else, or the file is damaged.
    """
    lines = numbered_lines(source)
    first = next(lines, None)
    if first is None:
        return
    header = _run_header(first[1]) if verb is Verb.RUN else None
    if header is not None:
        _take_header(header, source, findings)
        first = next(lines, None)
        if first is None:
            return
    table = _table_of(source, verb, first[1])
    findings.reported.add(table)
    batch = Batch(table, findings)
    n_bytes = 0
    for n_lines, (number, raw) in enumerate(_chain(first, lines), start=1):
        batch.take(number, raw)
        n_bytes += len(raw)
        if n_lines % CHUNK_LINES == 0 or n_bytes >= CHUNK_BYTES:
            yield from batch.chunks(source.name)
            batch, n_bytes = Batch(table, findings), 0
    yield from batch.chunks(source.name)


def _chain(
    first: tuple[int, bytes], rest: Iterator[tuple[int, bytes]]
) -> Iterator[tuple[int, bytes]]:
    yield first
    yield from rest


def _run_header(raw: bytes) -> object | None:
    """What stands under `run` if the line is `{"run": …}` and nothing else."""
    try:
        found, _ = decode(raw)
    except LineError:
        return None
    return found["run"] if found.keys() == {"run"} else None


def _take_header(header: object, source: Source, findings: Findings) -> None:
    if not isinstance(header, dict):
        raise ContractError(
            f"{source.name} begins with a run that is no object",
            problems=[reason("run", "not an object", header)],
            fix='write {"run": {"run_id": …, "golden_set": …}} on the first line',
        )
    if findings.run is not None and findings.run != header:
        raise ContractError(
            f"{source.name} and {findings.run_source} describe different runs",
            problems=[
                reason("run", "differs", {k: findings.run.get(k), f"{k} here": header.get(k)})
                for k in sorted(findings.run.keys() | header.keys())
                if findings.run.get(k) != header.get(k)
            ],
            fix="load one run at a time",
        )
    findings.run, findings.run_source = header, source.name


def _table_of(source: Source, verb: Verb, raw: bytes) -> str:
    """The table of a file by its name, else by the keys of its first row, else by the verb."""
    try:
        keys = set(decode(raw)[0])
    except LineError:
        keys = set()
    children = CHILDREN.get(MAIN.get(verb, ""), {})
    if keys & set(children):
        return MAIN[verb]
    found = choose_table(source.path, verb, keys) or MAIN.get(verb)
    if found is None:
        raise undecided(source.name, verb, sorted(keys))
    return found


class Batch:
    """Rows of the main table and its children, for one chunk."""

    def __init__(self, table: str, findings: Findings) -> None:
        self.main = Rows(TABLES[table])
        self.children = CHILDREN.get(table, {})
        self.parts = {name: Rows(TABLES[name]) for name in self.children.values()}
        self.inherited = PARENT_KEYS.get(table, ())
        self.known = {*self.main.table.names, *self.children, "_commit", *META}
        self.findings = findings

    def chunks(self, source: str) -> Iterator[Chunk]:
        """Frames of the tables that have rows."""
        for rows in (self.main, *self.parts.values()):
            if rows.rows:
                yield Chunk(rows.table.name, rows.frame(source))

    def take(self, number: int, raw: bytes) -> None:
        """Add one line."""
        try:
            row, n_replaced = decode(raw)
        except LineError as error:
            self.main.add_broken(error.text, number, reason("line", error.check, error.text))
            return
        self.findings.n_replaced_surrogates += n_replaced
        self.take_row(number, row)

    def take_row(self, number: int, row: dict[str, Any]) -> None:
        """Add one object: a row of the main table, and the rows under it."""
        problems = [] if row.keys() <= self.known else self._unknown(row)
        keys = {name: row[name] for name in self.inherited if name in row}
        if not self.children.keys().isdisjoint(row):
            problems += self._take_lists(row, keys, number)
        self.main.add(row, number, *problems)

    def _take_lists(self, row: dict[str, Any], keys: dict[str, Any], number: int) -> list[str]:
        """Move the child rows out of `row`; what is no list stays, and is a problem of the row."""
        problems = []
        for name in self.children.keys() & row.keys():
            under = row[name]
            if under is not None and not isinstance(under, list):
                problems.append(reason(name, "not a list", under))
                continue
            del row[name]
            if under is not None:
                self._take_children(self.children[name], under, keys, number)
        return sorted(problems)

    def _unknown(self, row: dict[str, Any]) -> list[str]:
        if row.keys() == {"run"}:
            return [reason("run", "only the first line of a file gives the run", row["run"])]
        return unknown_keys(row, self.known)

    def _take_children(
        self, table: str, under: list[Any], keys: dict[str, Any], number: int
    ) -> None:
        self.findings.reported.add(table)
        rows, position = self.parts[table], POSITIONS.get(table)
        known = rows.table.names
        for at, child in enumerate(under, start=1):
            if not isinstance(child, dict):
                rows.add(
                    {**keys, table: child}, number, reason(f"{table}[{at}]", "not an object", child)
                )
                continue
            row = {**keys, **child}
            problems = [] if row.keys() <= set(known) else unknown_keys(row, known)
            problems += [
                reason(name, "differs from the row it stands under", child[name])
                for name in keys.keys() & child.keys()
                if child[name] != keys[name]
            ]
            if position is not None:
                row.setdefault(position, at)
            rows.add(row, number, *problems)


def unknown_keys(row: dict[str, Any], known: Any) -> list[str]:
    """Reasons for keys that no column has, with the nearest name that one has."""
    reasons = []
    for name in row.keys() - set(known):
        near = get_close_matches(name, sorted(known), n=1, cutoff=0.5)
        hint = f", did you mean {near[0]}?" if near else ""
        reasons.append(reason(name, f"unknown key{hint}", row[name]))
    return sorted(reasons)
