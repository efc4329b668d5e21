"""Comparison of two runs: the verdict rows, the items behind them, the documents behind those."""

from __future__ import annotations

from crucible_batch.contracts import vocabulary as v
from crucible_batch.contracts.columns import (
    ITEM,
    WORKSPACE,
    boolean,
    count,
    ident,
    integer,
    number,
    share,
    word,
)
from crucible_batch.contracts.table import Role, Storage, Table

COMPARISON = ident(name="comparison_id", description="hash of all that the comparison depends on")
METRIC = ident(name="metric", description="metric")
SLICES = (
    ident(name="slice_by", description="facet; `all` for the whole set"),
    ident(name="slice", description="facet value; `(none)` where the facet is null"),
)

COMPARISONS = Table(
    name="comparisons",
    description="Signed delta of a metric between two runs, with interval, p and verdict.",
    key=("workspace_id", "comparison_id", "slice_by", "slice", "metric"),
    storage=Storage.MART,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        COMPARISON,
        ident(name="baseline_run_id", description="run compared with"),
        ident(name="candidate_run_id", description="run compared"),
        *SLICES,
        METRIC,
        word(name="unit", description="what is resampled", allowed=v.UNITS),
        count(name="n_pairs", description="items with the metric on both sides"),
        count(name="n_units", description="items or clusters resampled"),
        count(name="n_only_baseline", description="items only in the baseline"),
        count(name="n_only_candidate", description="items only in the candidate"),
        count(name="n_missing_baseline", description="items the baseline does not carry"),
        count(name="n_missing_candidate", description="items the candidate does not carry"),
        number(name="mean_baseline", description="mean of the pairs", nullable=True),
        number(name="mean_candidate", description="mean of the pairs", nullable=True),
        number(name="delta", description="mean of candidate − baseline per item", nullable=True),
        number(name="rel_delta", description="delta relative to the baseline", nullable=True),
        number(name="ci_low", description="lower end of the 95 % interval", nullable=True),
        number(name="ci_high", description="upper end of the 95 % interval", nullable=True),
        number(name="ci90_low", description="lower end of the 90 % interval", nullable=True),
        number(name="ci90_high", description="upper end of the 90 % interval", nullable=True),
        share(name="ci_level", description="level of ci_low and ci_high"),
        word(
            name="ci_method",
            description="how the interval was made",
            nullable=True,
            allowed=v.CI_METHODS,
        ),
        word(name="ci_label", description="how far to trust it", allowed=v.CI_LABELS),
        share(name="p_value", description="two-sided sign-flip p", nullable=True),
        word(name="p_method", description="how p was made", nullable=True, allowed=v.P_METHODS),
        share(name="p_min_attainable", description="smallest p possible here", nullable=True),
        share(name="p_adjusted", description="p adjusted in its family", nullable=True),
        word(
            name="adjust_method",
            description="how it was adjusted",
            nullable=True,
            allowed=v.ADJUST_METHODS,
        ),
        word(name="family", description="family of p's", nullable=True, allowed=v.FAMILIES),
        count(name="family_size", description="p's in the family", nullable=True),
        count(name="n_better", description="items that got better", nullable=True),
        count(name="n_same", description="items that stayed", nullable=True),
        count(name="n_worse", description="items that got worse", nullable=True),
        count(name="n_nonzero", description="items that moved", nullable=True),
        number(name="sd_delta", description="sd of the deltas (ddof 1)", nullable=True, low=0),
        number(name="effect_dz", description="delta / sd_delta", nullable=True),
        number(name="mde80", description="smallest drop found in 80 %", nullable=True, low=0),
        count(name="n_needed", description="items to find the margin in 80 %", nullable=True),
        number(
            name="within_item_share",
            description="share of the variance that is sampling noise within items",
            nullable=True,
        ),
        number(name="margin", description="margin asked for", nullable=True, low=0),
        word(
            name="verdict",
            description="what the row says; null when blocked",
            nullable=True,
            allowed=v.VERDICT_WORDS,
        ),
        boolean(name="negligible", description="significant, but inside the margin"),
        boolean(name="ci_p_disagree", description="interval and raw p say different things"),
        boolean(name="degenerate", description="all deltas are equal"),
        share(name="judged_at_k_baseline", description="judged share", nullable=True),
        share(name="judged_at_k_candidate", description="judged share", nullable=True),
        number(
            name="delta_judged_only",
            description="delta with unjudged documents removed from both",
            nullable=True,
        ),
        boolean(name="unequal_judging", description="a regression that may be unequal judging"),
        count(name="n_identical_answers", description="items answered alike", nullable=True),
        number(
            name="delta_identical_answers",
            description="verdict change on identical answers: the judge's",
            nullable=True,
        ),
        boolean(name="golden_set_changed", description="the two runs pin different sets"),
        count(name="n_content_changed", description="items left out because they changed"),
        word(
            name="blocked_reason",
            description="why there is no verdict",
            nullable=True,
            allowed=v.BLOCKED_REASONS,
        ),
        ident(name="ruler_hash", description="the one ruler of both sides"),
        integer(name="seed", description="root seed", low=0),
        count(name="n_resamples", description="resamples and sign flips"),
        integer(name="stream_version", description="version of the random streams", low=1),
    ),
)

ITEMS = Table(
    name="comparison_items",
    description="Every pair behind an overall row.",
    key=("workspace_id", "comparison_id", "metric", "item_id"),
    storage=Storage.MART,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        COMPARISON,
        METRIC,
        ITEM,
        number(name="baseline", description="value of the baseline"),
        number(name="candidate", description="value of the candidate"),
        number(name="delta", description="candidate − baseline"),
        integer(name="rank", description="by |delta|, ties by item_id, from 1", low=1),
    ),
)

DOCUMENTS = Table(
    name="comparison_documents",
    description="Documents that explain the delta of the 50 items that moved most on a metric.",
    key=("workspace_id", "comparison_id", "metric", "item_id", "doc_id"),
    storage=Storage.MART,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        COMPARISON,
        METRIC,
        ITEM,
        ident(name="doc_id", description="document"),
        integer(
            name="rank_baseline",
            description="best rank over the samples in the baseline; null: not retrieved",
            nullable=True,
            low=1,
        ),
        integer(
            name="rank_candidate",
            description="best rank over the samples in the candidate; null: not retrieved",
            nullable=True,
            low=1,
        ),
        integer(name="grade", description="effective grade", nullable=True),
        number(
            name="contribution",
            description="its part of the item's delta; null: the metric is no sum over documents",
            nullable=True,
        ),
    ),
)

TABLES = (COMPARISONS, ITEMS, DOCUMENTS)
