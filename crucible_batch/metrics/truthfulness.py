"""Truthfulness: CRAG's signed label of a result, and the shares made from it.

Without must assertions the should assertions serve as must. The rules are tried in the order of
METRICS.md; the first that holds decides.
"""

from __future__ import annotations

import polars as pl

from crucible_batch.metrics.answer_grains import OUTCOME, STANDINGS
from crucible_batch.metrics.answer_nulls import NO_ANSWER_STAGE, holds
from crucible_batch.metrics.answers import standing, total
from crucible_batch.metrics.metric import Better, Example, Metric
from crucible_batch.metrics.nulls import RESULT_NULLS, Null

SIGNED = {"perfect": 1.0, "acceptable": 0.5, "missing": 0.0, "incorrect": -1.0}
"""CRAG's value of each label."""

RIGHT_FROM = 0.5
"""Truthfulness from which an answer counts as correct."""


def key(which: str) -> pl.Expr:
    """Must assertions that stand as `which`; should assertions where there is no must."""
    no_must = total("must") == 0
    return pl.when(no_must).then(pl.col(f"should_{which}")).otherwise(pl.col(f"must_{which}"))


N_KEY = pl.when(total("must") == 0).then(total("should")).otherwise(total("must"))
ABSTAINED = pl.col("abstained").fill_null(value=False)
DECLINED = ABSTAINED | pl.col("blank")
"""The result says nothing: it abstained, or its answer is blank."""

_WRONG = key("contradicted") + key("missing") > 0
_LOST = key("malformed") + key("unjudged") > 0
_ALL_KEY_SUPPORTED = (N_KEY > 0) & (key("supported") == N_KEY)
_N_VERDICTS = pl.sum_horizontal(standing(s) for s in STANDINGS if s != "unjudged")
_REJECTED, _ACCEPTED = pl.col("premise_rejected"), ~pl.col("premise_rejected")

_TRAP_AVOIDED = _REJECTED.fill_null(value=False) | _ALL_KEY_SUPPORTED
_TRAPPED = (
    _ACCEPTED.fill_null(value=False)
    | (key("partial") + key("missing") + key("contradicted") > 0)
    | (~pl.col("false_premise") & _REJECTED.is_null() & (_N_VERDICTS == 0))
)

ANSWERED = ~holds((*RESULT_NULLS, NO_ANSWER_STAGE)) & ~DECLINED
"""The result says something."""

UNLABELLED = (
    # Only an answer needs assertions to be labelled, so an error stays missing, never "n/a".
    Null("no_assertions", ANSWERED & pl.col("answerable") & (N_KEY == 0)),
    *RESULT_NULLS,
    NO_ANSWER_STAGE,
    Null("not_judged", ~DECLINED & ~pl.col("answerable") & ~_TRAP_AVOIDED & ~_TRAPPED),
    Null("not_judged", ~DECLINED & pl.col("answerable") & ~_WRONG & (key("unjudged") > 0)),
    Null("malformed_verdict", ~DECLINED & pl.col("answerable") & ~_WRONG & _LOST),
)
"""Why a result has no label, over the `answer` grain."""


def _decided() -> pl.Expr:
    """The label, wherever `NULLS` allows one."""
    unanswerable = pl.when(_TRAP_AVOIDED).then(pl.lit("perfect")).otherwise(pl.lit("incorrect"))
    all_supported = _ALL_KEY_SUPPORTED & (pl.col("should_supported") == total("should"))
    return (
        pl.when(DECLINED)
        .then(pl.lit("missing"))
        .when(~pl.col("answerable"))
        .then(unanswerable)
        .when(_WRONG)
        .then(pl.lit("incorrect"))
        .when(all_supported)
        .then(pl.lit("perfect"))
        .otherwise(pl.lit("acceptable"))
    )


LABEL = pl.when(~holds(UNLABELLED)).then(_decided())
"""The truthfulness label, null exactly where one of `UNLABELLED` holds."""

CORRECT = pl.col("label").is_in([name for name, value in SIGNED.items() if value >= RIGHT_FROM]) | (
    ABSTAINED & ~pl.col("answerable")
)
"""Whether the reaction is right, wherever there is a label."""


def without_label(reason: str) -> Null:
    """The result has no label for this reason, over the `outcome` grain."""
    return Null(reason, pl.col("label_reason") == reason)


NULLS = (
    without_label("no_assertions"),
    *RESULT_NULLS,
    NO_ANSWER_STAGE,
    without_label("not_judged"),
    without_label("malformed_verdict"),
)
"""The null rules of everything that reads the label."""


def mean_truthfulness() -> Metric:
    """CRAG's signed truthfulness."""
    return Metric(
        name="mean_truthfulness",
        title="Truthfulness",
        group="answers",
        grain=OUTCOME,
        expr=pl.col("label").replace_strict(SIGNED, return_dtype=pl.Float64),
        nulls=NULLS,
        unit="signed",
        low=-1.0,
        headline=True,
        uses_judge=True,
        summary="1 perfect, 0.5 acceptable, 0 missing, -1 incorrect; never a percentage.",
        formula="1 for perfect, 0.5 for acceptable, 0 for missing, −1 for incorrect",
        source="CRAG, Yang et al. 2024",
        example=Example.of(-1.0, label="incorrect"),
    )


def label_rate(label: str, better: Better) -> Metric:
    """Share of results with one label."""
    return Metric(
        name=f"{label}_rate",
        title=f"{label.capitalize()} rate",
        group="answers",
        grain=OUTCOME,
        expr=pl.col("label") == label,
        nulls=NULLS,
        better=better,
        uses_judge=True,
        summary=f"Share of labelled results that are {label}.",
        formula=f"1 if the label is {label}, else 0",
        source="CRAG, Yang et al. 2024",
        example=Example.of(1.0, label=label),
    )


def accuracy() -> Metric:
    """Share of results whose reaction is right."""
    return Metric(
        name="accuracy",
        title="Accuracy",
        group="answers",
        grain=OUTCOME,
        expr=pl.col("correct"),
        nulls=NULLS,
        headline=True,
        uses_judge=True,
        summary="Share of results that are at least acceptable, or abstain where they should.",
        formula="1 if truthfulness is 0.5 or more, or the result abstains on an unanswerable item,"
        " else 0",
        source="CRAG, Yang et al. 2024; Crucible, abstention on unanswerable items",
        example=Example.of(1.0, label="perfect", correct=True),
    )


METRICS = (
    mean_truthfulness(),
    label_rate("perfect", "higher"),
    # More acceptable or missing answers are good or bad depending on what they replace.
    label_rate("acceptable", "none"),
    label_rate("missing", "none"),
    label_rate("incorrect", "lower"),
    accuracy(),
)
"""The truthfulness metrics."""
