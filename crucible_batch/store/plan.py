"""What a transaction appends, what it says of itself, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from crucible_batch.store.snapshot import Snapshot
from crucible_batch.store.staging import BulkFile


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Where the rows handed in went; rows in = accepted + quarantined + already there."""

    n_rows_in: int = 0
    n_accepted: int = 0
    n_quarantined: int = 0
    n_already_there: int = 0
    n_replaced_surrogates: int = 0


@dataclass(frozen=True, kw_only=True)
class About:
    """What a commit says of its inputs.

    Attributes:
        input_paths: Input files.
        input_sha256: Their SHA-256, in the same order.
        contract_versions: `table:version` of what was read; None: of the tables written.
        settings_hash: SHA-256 of the settings.
        seed: Seed, where one was used.
        subject: run_id or corpus_version of the bulk files.
        part: Part of the subject.
    """

    input_paths: Sequence[str] = ()
    input_sha256: Sequence[str] = ()
    contract_versions: Sequence[str] | None = None
    settings_hash: str = ""
    seed: int | None = None
    subject: str | None = None
    part: str | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What one transaction appends.

    Attributes:
        events: Rows of event tables with the contract's columns, in any order.
        bulk: Staged files.
        messages: What the person should know.
        counts: Rows in, and where they went.
    """

    events: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    bulk: Sequence[BulkFile] = ()
    messages: tuple[str, ...] = ()
    counts: Counts = field(default_factory=Counts)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to append."""
        return not self.bulk and not any(len(frame) for frame in self.events.values())


@dataclass(frozen=True, kw_only=True)
class Committed:
    """What became of a transaction.

    Attributes:
        seq: Number of the commit; of the newest one when nothing was appended.
        created: False: nothing was written, everything was there already.
        plan: What was decided; None when the idempotency key was there already.
    """

    seq: int
    created: bool
    plan: Plan | None
    counts: Counts
    messages: tuple[str, ...]


Decide = Callable[[Snapshot], Plan]
