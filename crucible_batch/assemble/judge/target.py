"""What has to be judged: a row that lacks its judgment, and the question that gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.judges.question import Question
from crucible_batch.metrics.judgments import CLAIM_KEY, VERDICT_KEY
from crucible_batch.store import canonical_json

QREL_KEY = ("query_id", "target", "source", "judge")

ERRORED = pl.col("error").is_not_null() | pl.col("error_kind").is_not_null()
"""A result that is a provider error: there is nothing of it to judge."""


@dataclass(frozen=True, kw_only=True)
class Judgment:
    """Where the judgments of a kind stand.

    Attributes:
        kind: Of `judge_calls`.
        table: Its table.
        key: The table's key without workspace_id: what target keys list.
        lane_key: What makes two rows of one lane the same judgment.
        values: The columns a judge fills.
    """

    kind: str
    table: str
    key: tuple[str, ...]
    lane_key: tuple[str, ...]
    values: tuple[str, ...]


JUDGMENTS = {
    "qrel": Judgment(
        kind="qrel",
        table="qrels",
        key=QREL_KEY,
        lane_key=("query_id", "doc_id"),  # a grade of a chunk counts for its document
        values=("grade",),
    ),
    "assertion": Judgment(
        kind="assertion",
        table="assertion_verdicts",
        key=VERDICT_KEY,
        lane_key=VERDICT_KEY[:-1],
        values=("verdict", "context_supported"),
    ),
    "claim": Judgment(
        kind="claim",
        table="claims",
        key=CLAIM_KEY,
        lane_key=CLAIM_KEY[:-1],
        values=("grounded", "correct"),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Target:
    """One row to judge.

    Attributes:
        row: The row of its table; the columns a judge fills are absent.
        question: What the judge is asked.
    """

    row: Mapping[str, object]
    question: Question

    @property
    def judgment(self) -> Judgment:
        """Where the row belongs."""
        return JUDGMENTS[self.question.kind]

    @property
    def key(self) -> str:
        """Its key as canonical JSON, without workspace_id."""
        return canonical_json([self.row[name] for name in self.judgment.key])

    @property
    def lane_key(self) -> tuple[Any, ...]:
        """What it is within its lane."""
        return tuple(self.row[name] for name in self.judgment.lane_key)


@dataclass(frozen=True, kw_only=True)
class Pool:
    """All there is to judge, judged already or not.

    Attributes:
        targets: Rows the judge can be asked about, in key order.
        left_out: Why the others cannot be judged, by `lane_key`.
    """

    targets: tuple[Target, ...]
    left_out: Mapping[tuple[Any, ...], str]

    def __len__(self) -> int:
        """How many rows there are, those that cannot be judged included."""
        return len(self.targets) + len(self.left_out)


def frame(table: str, rows: list[dict[str, object]]) -> pl.DataFrame:
    """Rows of a contract table; columns that are absent are null."""
    spec = TABLES[table]
    data = {name: [row.get(name) for row in rows] for name in spec.names}
    return pl.DataFrame(data, schema=spec.schema)
