"""The error taxonomy: one class per labelled result, and the rule that decided.

Deterministic: the rules are tried in order, the first that holds decides. What a run does not
report is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.metrics.grid import Grid
from crucible_batch.metrics.truthfulness import ABSTAINED, CORRECT, LABEL, key

CITATIONS, RETRIEVAL = pl.col("citations_reported"), pl.col("retrieval_reported")
RETRIEVED = RETRIEVAL & pl.col("retrieval_ran")
FORBIDDEN = CITATIONS & (pl.col("cited_forbidden") > 0)
DANGLING = CITATIONS & RETRIEVED & (pl.col("cited_not_retrieved") > 0)
UNCITED = CITATIONS & (pl.col("n_required") > 0) & (pl.col("cited_required") == 0) & ~ABSTAINED
SOME_RIGHT = (key("contradicted") == 0) & (key("supported") + key("partial") > 0)


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule of the taxonomy: where `expr` holds, the result is of `error_class`."""

    name: str
    error_class: str
    expr: pl.Expr


RULES = (
    Rule("correct", "correct", CORRECT & ~FORBIDDEN & ~DANGLING & ~UNCITED),
    Rule("forbidden_citation", "citation_error", CORRECT & FORBIDDEN),
    Rule("dangling_citation", "citation_error", CORRECT & DANGLING),
    Rule("no_required_citation", "citation_error", CORRECT),
    Rule(
        "no_required_document_retrieved",
        "retrieval_miss",
        RETRIEVED & (pl.col("n_required") > 0) & (pl.col("required_retrieved") == 0),
    ),
    Rule("superseded_document", "stale", RETRIEVAL & pl.col("superseded")),
    Rule("conflicting_evidence", "conflict_mishandled", RETRIEVAL & pl.col("conflicting")),
    Rule("abstained", "incomplete", pl.col("answerable") & ABSTAINED),
    Rule("blank_answer", "incomplete", pl.col("answerable") & pl.col("blank")),
    Rule("only_part_of_musts", "incomplete", pl.col("answerable") & SOME_RIGHT),
    Rule("unsupported_answer", "hallucination", pl.lit(value=True)),
)
"""The rules in the order they are tried."""


def classify(answers: pl.DataFrame) -> pl.DataFrame:
    """Label and class of every result.

    Args:
        answers: The `answer` grain, with any key columns.

    Returns:
        One row per row of `answers`, in its order: truthfulness_label, error_class, error_rule;
        all null for a result without a label.
    """
    error_class: pl.Expr = pl.lit(None, dtype=pl.String)
    error_rule: pl.Expr = pl.lit(None, dtype=pl.String)
    for rule in reversed(RULES):
        error_class = pl.when(rule.expr).then(pl.lit(rule.error_class)).otherwise(error_class)
        error_rule = pl.when(rule.expr).then(pl.lit(rule.name)).otherwise(error_rule)
    labelled = pl.col("label").is_not_null()
    return answers.with_columns(label=LABEL).select(
        truthfulness_label="label",
        error_class=pl.when(labelled).then(error_class),
        error_rule=pl.when(labelled).then(error_rule),
    )


_COUNTED = ("slice_by", "slice", "error_class", "n", "share")


def error_classes(classes: pl.Series, grid: Grid, names: Sequence[str]) -> pl.DataFrame:
    """Count error classes over every slice.

    Args:
        classes: The error class of every expected result, in their order; null is no class.
        grid: The expected results and their slices.
        names: The classes; one without a result is counted 0.

    Returns:
        slice_by, slice, error_class, n, share (of the classified results), by slice and in the
        order of `names`; a slice without any classified result has no rows.
    """
    codes = classes.cast(pl.Enum(names)).to_physical().cast(pl.Int64)
    code = codes.fill_null(len(names)).to_numpy()
    rows: list[tuple[str, str, str, int, float]] = []
    for (slice_by, name), items in grid.slices.items():
        counts = np.bincount(code[grid.results(items)], minlength=len(names))[: len(names)]
        total = int(counts.sum())
        if total:
            counted = zip(names, counts.tolist(), strict=True)
            rows += [(slice_by, name, one, n, n / total) for one, n in counted]
    contract = TABLES["error_classes"].schema
    return pl.DataFrame(rows, schema={name: contract[name] for name in _COUNTED}, orient="row")
