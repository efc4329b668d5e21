"""Free anchors: results whose answer is the same, byte for byte, in both runs.

What changed in the verdicts on them the answers did not change: it is the judge's own change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crucible_batch.assemble.compare.sides import Side
from crucible_batch.store import Snapshot

KEY = ["item_id", "sample_index"]


class Anchors(NamedTuple):
    """One metric on the results answered alike.

    Attributes:
        place: Place of the item of each result in the list of items; shape (n,).
        baseline: Value in the baseline; shape (n,).
        candidate: Value in the candidate; shape (n,).
    """

    place: NDArray[np.int64]
    baseline: NDArray[np.float64]
    candidate: NDArray[np.float64]


def anchors(
    snapshot: Snapshot,
    baseline: Side,
    candidate: Side,
    items: pl.Series,
    metrics: Collection[str],
) -> Mapping[str, Anchors]:
    """Values of some metrics on the results that both runs answered with the same text.

    Args:
        snapshot: What both sides were scored with.
        baseline: One run.
        candidate: The other.
        items: The items that are compared, each once.
        metrics: Metrics that rest on a judge's verdicts.

    Returns:
        By metric, the results that carry it in both runs, by item and sample; metrics without any
        are left out.
    """
    # Hashes stand for the texts, which need not fit into memory; they are held against each other
    # result by result, so that a chance agreement has one in 2^64.
    answers = [
        snapshot.read("results", subject=one.row["run_id"])
        .filter(pl.col("answer").is_not_null())
        .select(*KEY, pl.col("answer").hash())
        for one in (baseline, candidate)
    ]
    places = items.to_frame("item_id").with_row_index("place").lazy()
    alike = answers[0].join(answers[1], on=[*KEY, "answer"]).select(KEY).join(places, on="item_id")
    values = [
        one.evaluation.scan("scores")
        .filter(pl.col("metric").is_in(list(metrics)), pl.col("value").is_not_null())
        .select(*KEY, "metric", "value")
        for one in (baseline, candidate)
    ]
    both = (
        values[0]
        .join(values[1], on=[*KEY, "metric"], suffix="_candidate")
        .join(alike, on=KEY)
        .sort("metric", *KEY)
        .collect()
    )
    return {
        str(name): Anchors(
            part["place"].cast(pl.Int64).to_numpy(),
            part["value"].to_numpy(),
            part["value_candidate"].to_numpy(),
        )
        for (name,), part in both.partition_by("metric", as_dict=True).items()
    }
