"""What stands beside a retrieval metric: how far its number can be trusted.

Per result and metric: how much of what it read was judged, and by whom; whether its cut fell into
a tie; how many repeats were dropped; and the value if nothing, or everything, unjudged within its
cut-off had the top grade.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from crucible_batch.exact import exact_mean
from crucible_batch.metrics.metric import Metric
from crucible_batch.metrics.ranking_frame import Rankings, columns_read
from crucible_batch.metrics.retrieval_terms import in_top
from crucible_batch.metrics.score import score_table

COMPANION_COLUMNS = ("n_retrieved", "n_dropped", "judged", "judged_by_llm", "tied")
"""The columns of the `ranking` grain that companions read."""

SCHEMA = {
    "judged_share": pl.Float64(),
    "llm_only_share": pl.Float64(),
    "n_tied_at_cut": pl.Int64(),
    "n_duplicates": pl.Int64(),
    "unjudged_low": pl.Float64(),
    "unjudged_high": pl.Float64(),
}
"""What `summarise` gives: columns of `run_metrics`."""

Cut = int | None
Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Depth:
    """What a cut-off took in, per result.

    Attributes:
        n_read: Documents within the cut-off.
        n_judged: Judged ones of these.
        n_by_llm: Those that only an llm judged.
        is_tied: Whether the cut fell into a tie; False for the whole ranking.
    """

    n_read: Counts
    n_judged: Counts
    n_by_llm: Counts
    is_tied: Flags


@dataclass(frozen=True, eq=False)
class Companions:
    """Companions of all retrieval metrics, in the order of the results.

    Attributes:
        n_dropped: Repeats dropped from each ranking.
        depths: What stands beside every metric of a cut-off.
        best: Values with the unjudged at the top grade, for metrics with bounds; NaN without one.
    """

    n_dropped: Counts
    depths: dict[Cut, Depth]
    best: dict[str, Floats]

    @classmethod
    def room(cls, metrics: Iterable[Metric], n_results: int) -> Companions:
        """Room for so many results, to be filled bucket by bucket."""
        asked = list(metrics)
        return cls(
            n_dropped=np.zeros(n_results, np.int32),
            depths={
                cut: Depth(
                    n_read=np.zeros(n_results, np.int32),
                    n_judged=np.zeros(n_results, np.int32),
                    n_by_llm=np.zeros(n_results, np.int32),
                    is_tied=np.zeros(n_results, np.bool_),
                )
                for cut in dict.fromkeys(metric.cut for metric in asked)
            },
            best={metric.name: np.empty(n_results) for metric in _bounded(asked)},
        )

    def put(self, start: int, part: Companions) -> None:
        """Write the companions of a bucket whose first result is number `start`."""
        stop = start + len(part.n_dropped)
        self.n_dropped[start:stop] = part.n_dropped
        for cut, depth in part.depths.items():
            for name, values in vars(depth).items():
                getattr(self.depths[cut], name)[start:stop] = values
        for metric, best in part.best.items():
            self.best[metric][start:stop] = best


@dataclass(frozen=True, eq=False)
class Beside:
    """Companions of one metric, for the results that carry it.

    Attributes:
        n_read: Documents within the cut-off.
        n_judged: Judged ones of these; None for a metric that rests on no judgments.
        n_by_llm: Those that only an llm judged; None likewise.
        is_tied: Whether the cut fell into a tie; None for a metric without a cut-off.
        n_dropped: Repeats dropped from the ranking.
        low: The smallest value the unjudged documents allow; None for counts too.
        high: The largest.
    """

    n_read: Counts
    n_judged: Counts | None
    n_by_llm: Counts | None
    is_tied: Flags | None
    n_dropped: Counts
    low: Floats | None
    high: Floats | None


def companions(rankings: Rankings, metrics: Iterable[Metric], key: Sequence[str]) -> Companions:
    """Gather what stands beside the scores of retrieval metrics.

    Args:
        rankings: What `result_rankings` built with `companions=True`, sorted by key.
        metrics: Retrieval metrics.
        key: Columns that name a result.
    """
    asked = list(metrics)
    cuts: list[Cut] = list(dict.fromkeys(metric.cut for metric in asked))
    columns = {f"{name}/{cut}": expr for cut in cuts for name, expr in _depth(cut).items()}
    frame = rankings.frame.lazy().select("n_dropped", **columns).collect(engine="in-memory")
    return Companions(
        n_dropped=frame["n_dropped"].cast(pl.Int32).to_numpy(),
        depths={
            cut: Depth(**{name: frame[f"{name}/{cut}"].to_numpy() for name in _depth(cut)})
            for cut in cuts
        },
        best=_optimistic(rankings, asked, key),
    )


def rests_on_judgments(metric: Metric) -> bool:
    """Whether a retrieval metric reads grades."""
    return "n_qrels" in columns_read([metric])


def beside(companions: Companions, metric: Metric, values: Floats, among: Places) -> Beside:
    """Companions of one metric.

    Args:
        companions: Those of all retrieval metrics.
        metric: One of these.
        values: Its scores in the order of the results, NaN where it is not carried.
        among: Which results are asked about.
    """
    carried = among[~np.isnan(values[among])]
    depth, judged = companions.depths[metric.cut], rests_on_judgments(metric)
    low = high = None
    if metric.name in companions.best:
        # As grade 0 an unjudged document counts as it does in the metric itself.
        value, best = values[carried], companions.best[metric.name][carried]
        low, high = np.fmin(value, best), np.fmax(value, best)
    return Beside(
        n_read=depth.n_read[carried],
        n_judged=depth.n_judged[carried] if judged else None,
        n_by_llm=depth.n_by_llm[carried] if judged else None,
        is_tied=None if metric.cut is None else depth.is_tied[carried],
        n_dropped=companions.n_dropped[carried],
        low=low,
        high=high,
    )


def summarise(rows: Beside) -> dict[str, float | int | None]:
    """Companions of a mean: shares over all documents read, counts, and mean bounds.

    Returns:
        Values for the columns of `SCHEMA`. A share without a denominator is null; without any
        result all are.
    """
    if not len(rows.n_read):
        return dict.fromkeys(SCHEMA)
    n_read = int(rows.n_read.sum(dtype=np.int64))
    judged = None if rows.n_judged is None else int(rows.n_judged.sum(dtype=np.int64))
    by_llm = None if rows.n_by_llm is None else int(rows.n_by_llm.sum(dtype=np.int64))
    return {
        "judged_share": judged / n_read if judged is not None and n_read else None,
        "llm_only_share": by_llm / judged if by_llm is not None and judged else None,
        "n_tied_at_cut": None if rows.is_tied is None else int(np.count_nonzero(rows.is_tied)),
        "n_duplicates": int(rows.n_dropped.sum(dtype=np.int64)),
        "unjudged_low": None if rows.low is None else exact_mean(rows.low),
        "unjudged_high": None if rows.high is None else exact_mean(rows.high),
    }


def _bounded(metrics: Iterable[Metric]) -> list[Metric]:
    """Metrics that unjudged documents may raise or lower; counts have no bounds."""
    return [m for m in metrics if rests_on_judgments(m) and m.unit != "count"]


def _depth(cut: Cut) -> dict[str, pl.Expr]:
    """The columns of `Depth`."""
    depth, tied = pl.col("n_retrieved"), pl.lit(value=False)
    if cut is not None:
        depth, tied = depth.clip(upper_bound=cut), pl.col("tied").list.contains(cut)
    return {
        "n_read": depth.cast(pl.Int32),
        "n_judged": in_top("judged", depth).cast(pl.Int32),
        "n_by_llm": in_top("judged_by_llm", depth).cast(pl.Int32),
        "is_tied": tied,
    }


def _optimistic(
    rankings: Rankings, metrics: Iterable[Metric], key: Sequence[str]
) -> dict[str, Floats]:
    """Values with the unjudged at the top grade, in the order of the results."""
    bounded = _bounded(metrics)
    found: dict[str, Floats] = {}
    for cut in dict.fromkeys(m.cut for m in bounded):
        group = [m for m in bounded if m.cut == cut]
        table = score_table({group[0].grain.name: rankings.optimistic[cut]}, group, key)
        found |= {m.name: table.values[:, place] for place, m in enumerate(group)}
    return found
