"""What a load did, in counts that always add up, for the command line and for scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from crucible_batch.contracts.conform import META
from crucible_batch.contracts.reasons import count_reasons, reason_lines
from crucible_batch.errors import ContractError
from crucible_batch.store.plan import Counts

KEPT_ROWS = 100_000
"""Rows a quarantine holds in memory; further ones wait on disk."""


@dataclass
class Tally:
    """Where the rows of one table went: n_in = n_accepted + n_quarantined + n_already_there.

    Attributes:
        spill: Folder for rows put aside beyond `KEPT_ROWS`; None keeps all of them in memory.
        n_in: Rows handed in.
        n_accepted: Good and new rows.
        n_already_there: Rows that are stored, or stand in the input, already.
        n_quarantined: Rows put aside with reasons.
        pieces: The rows put aside.
        copies: Later copies of identical rows of the input; they go where the first one goes.
        reasons: How often each reason occurs, per piece.
    """

    spill: Path | None = None
    n_in: int = 0
    n_accepted: int = 0
    n_already_there: int = 0
    n_quarantined: int = 0
    pieces: list[pl.LazyFrame] = field(default_factory=list)
    copies: list[pl.LazyFrame] = field(default_factory=list)
    reasons: list[pl.DataFrame] = field(default_factory=list)

    @property
    def n_good(self) -> int:
        """Rows that were neither put aside nor found to be there already."""
        return self.n_in - self.n_quarantined - self.n_already_there

    def put_aside(self, frame: pl.DataFrame) -> None:
        """Count rows of a quarantine."""
        if frame.is_empty():
            return
        noted = [n for n in frame.columns if n.startswith("_") and n not in META]
        frame = frame.drop(noted)  # what the load notes beside a row is not part of it
        self.n_quarantined += frame.height
        self.reasons.append(count_reasons(frame))
        name = f"aside-{len(self.pieces):06d}"
        self.pieces.append(self._held(frame, self.n_quarantined, name))

    def note_copies(self, frame: pl.DataFrame | None) -> None:
        """Count later copies of identical rows as already there, and remember them."""
        if frame is None or frame.is_empty():
            return
        self.n_already_there += frame.height
        name = f"copies-{len(self.copies):06d}-{self.n_already_there}"
        self.copies.append(self._held(frame, self.n_already_there, name))

    def recall_copies(
        self, keys: pl.DataFrame, on: list[str], *, how: Literal["semi", "anti"]
    ) -> list[pl.DataFrame]:
        """Take back copies whose key is among `keys` (semi) or is not (anti): uncounted again."""
        if not self.copies:
            return []
        every, known = pl.concat(self.copies), keys.lazy()
        back = every.join(known, on=on, how=how, nulls_equal=True, maintain_order="left").collect()
        if back.height:
            taken = back.lazy().select(on).unique()
            self.copies = [every.join(taken, on=on, how="anti", nulls_equal=True)]
            self.n_already_there -= back.height
        return [back]

    def _held(self, frame: pl.DataFrame, n_held: int, name: str) -> pl.LazyFrame:
        """The frame, in memory as long as no more than `KEPT_ROWS` rows are held, else on disk."""
        if self.spill is None or n_held <= KEPT_ROWS:
            return frame.lazy()
        path = self.spill / f"{id(self):x}-{name}.arrow"
        frame.write_ipc(path, compression="lz4")
        return pl.scan_ipc(path, glob=False)

    def all_quarantined(self) -> pl.LazyFrame:
        """The rows put aside; in the order of their sources if memory holds them."""
        rows = pl.concat(self.pieces, how="diagonal")
        if self.spill is not None and self.n_quarantined > KEPT_ROWS:
            return rows
        return rows.sort("_source_file", "_source_row", maintain_order=True)


Tallies = dict[str, Tally]


def counts(tallies: Mapping[str, Tally], n_replaced_surrogates: int) -> Counts:
    """Sum the tallies of all tables for the `commits` row."""
    return Counts(
        n_rows_in=sum(tally.n_in for tally in tallies.values()),
        n_accepted=sum(tally.n_accepted for tally in tallies.values()),
        n_quarantined=sum(tally.n_quarantined for tally in tallies.values()),
        n_already_there=sum(tally.n_already_there for tally in tallies.values()),
        n_replaced_surrogates=n_replaced_surrogates,
    )


@dataclass(frozen=True, kw_only=True)
class TableReport:
    """Rows of one table: n_in = n_accepted + n_quarantined + n_already_there."""

    table: str
    n_in: int
    n_accepted: int
    n_quarantined: int
    n_already_there: int


@dataclass(frozen=True, kw_only=True)
class LoadReport:
    """What a load did.

    Attributes:
        kind: What was loaded, e.g. `golden`.
        workspace: Where it went.
        commit: Number of the commit that holds the rows; None for a dry run.
        created: Whether this load wrote that commit.
        dry_run: Nothing was written.
        tables: Where the rows of each table went.
        reasons: Why rows were put aside, table by table, most frequent first.
        quarantine: Files that hold them.
        messages: What the person should know.
        facts: Ids and hashes of what was loaded, e.g. `golden_set_hash`.
        n_replaced_surrogates: Lone surrogates replaced by U+FFFD.
    """

    kind: str
    workspace: str
    commit: int | None
    created: bool
    dry_run: bool = False
    tables: tuple[TableReport, ...]
    reasons: tuple[str, ...] = ()
    quarantine: tuple[Path, ...] = ()
    messages: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    n_replaced_surrogates: int = 0

    @property
    def n_quarantined(self) -> int:
        """Rows put aside in all tables."""
        return sum(table.n_quarantined for table in self.tables)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values for JSON."""
        return {
            "kind": self.kind,
            "workspace": self.workspace,
            "commit": self.commit,
            "created": self.created,
            "dry_run": self.dry_run,
            **self.facts,
            "tables": [vars(table) for table in self.tables],
            "reasons": list(self.reasons),
            "quarantine": [str(path) for path in self.quarantine],
            "n_replaced_surrogates": self.n_replaced_surrogates,
            "messages": list(self.messages),
        }


def table_reports(tallies: Mapping[str, Tally]) -> tuple[TableReport, ...]:
    """The tallies as they are reported, tables in contract order."""
    return tuple(
        TableReport(
            table=name,
            n_in=tally.n_in,
            n_accepted=tally.n_accepted,
            n_quarantined=tally.n_quarantined,
            n_already_there=tally.n_already_there,
        )
        for name, tally in tallies.items()
    )


def all_reasons(tallies: Mapping[str, Tally]) -> tuple[str, ...]:
    """Why rows were put aside, table by table."""
    return tuple(
        f"{name}.{line}" for name, tally in tallies.items() for line in reason_lines(tally.reasons)
    )


def refusal(
    kind: str, tallies: Mapping[str, Tally], files: Iterable[Path], *, lenient: bool = True
) -> ContractError:
    """The error of a load of which nothing is taken.

    Args:
        kind: What was to be loaded.
        tallies: Where the rows went.
        files: Quarantine files that were written.
        lenient: Whether --lenient would help.
    """
    n_bad = sum(tally.n_quarantined for tally in tallies.values())
    n_in = sum(tally.n_in for tally in tallies.values())
    where = ", ".join(str(path) for path in files)
    return ContractError(
        f"{n_bad:,} of {n_in:,} rows break their contract; nothing of the {kind} was loaded",
        problems=all_reasons(tallies),
        fix="correct the rows"
        + (f" (they are in {where}, each with its reasons)" if where else "")
        + (", or take the good ones with `crucible load … --lenient`." if lenient else "."),
    )
