"""One contender scores one data set and prints what it took: run in a process of its own.

python tests/speed/contenders.py NAME FOLDER

Time runs from the first byte read to per-query values of nDCG@10, recall@10, P@10, RR and hit@10
(relevant at 2), imports excluded, as are the means that show that all computed the same. Peak
memory is that of the process.
"""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

NAMES = ("ndcg_at_10", "recall_at_10", "precision_at_10", "mrr", "hit_at_10")
Means = dict[str, float]
Scored = Callable[[], Means]
"""Values are there; means of them on demand."""


def crucible(
    folder: Path, run: str = "run.parquet", qrels: str = "qrels.parquet", **options: str
) -> Callable[[], Scored]:
    import polars as pl

    from crucible_batch.metrics.retrieval_scores import retrieval_scores

    def score() -> Scored:
        scores = retrieval_scores(
            pl.scan_parquet(folder / run),
            pl.scan_parquet(folder / qrels),
            NAMES,
            trec_compat=True,
            **options,
        )
        return lambda: _means(scores)

    return score


def _means(scores: pl.DataFrame) -> Means:
    import polars as pl

    return dict(scores.group_by("metric").agg(pl.col("value").mean()).iter_rows())


def crucible_coded(folder: Path) -> Callable[[], Scored]:
    """LZ4, and query ids as categories: larger and quicker to read, its fastest Parquet."""
    return crucible(folder, "run-coded.parquet", "qrels-coded.parquet")


def crucible_fourfold(folder: Path) -> Callable[[], Scored]:
    """The run four times, three of them under ids that nobody judged."""
    import polars as pl

    from crucible_batch.metrics.retrieval_scores import retrieval_scores

    def score() -> Scored:
        run, qrels = (pl.scan_parquet(folder / f"{name}.parquet") for name in ("run", "qrels"))
        others = [run.with_columns(query_id=pl.format(f"{n}.{{}}", "query_id")) for n in range(3)]
        scores = retrieval_scores(pl.concat([run, *others]), qrels, NAMES, trec_compat=True)
        return lambda: _means(scores)

    return score


def crucible_arrow(folder: Path) -> Callable[[], Scored]:
    """An Arrow file is mapped, not read: the fastest of all, five times as large as LZ4 Parquet."""
    import pyarrow as pa
    import pyarrow.ipc

    from crucible_batch.metrics.retrieval_scores import retrieval_scores

    def mapped(name: str) -> pa.Table:
        return pa.ipc.open_file(pa.memory_map(str(folder / name))).read_all()

    def score() -> Scored:
        run, qrels = mapped("run.arrow"), mapped("qrels.arrow")
        scores = retrieval_scores(run, qrels, NAMES, trec_compat=True)
        return lambda: _means(scores)

    return score


def crucible_rank(folder: Path) -> Callable[[], Scored]:
    return crucible(folder, order="rank")


def crucible_shuffled(folder: Path) -> Callable[[], Scored]:
    return crucible(folder, "shuffled.parquet")


def _evaluate(run: dict[str, dict[str, float]], qrels: dict[str, dict[str, int]]) -> Scored:
    import pytrec_eval

    measures = ("ndcg_cut_10", "recall_10", "P_10", "recip_rank", "success_10")
    asked = {"ndcg_cut.10", "recall.10", "P.10", "recip_rank", "success.10"}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, asked, relevance_level=2)
    found = evaluator.evaluate(run)
    return lambda: {
        ours: sum(values[theirs] for values in found.values()) / len(found)
        for ours, theirs in zip(NAMES, measures, strict=True)
    }


def pytrec_eval_pickle(folder: Path) -> Callable[[], Scored]:
    import pytrec_eval  # noqa: F401

    return lambda: _evaluate(
        pickle.loads((folder / "run.pickle").read_bytes()),
        pickle.loads((folder / "qrels.pickle").read_bytes()),
    )


def pytrec_eval_parquet(folder: Path) -> Callable[[], Scored]:
    import polars as pl
    import pytrec_eval  # noqa: F401

    def nested(name: str, value: str) -> dict[str, dict[str, float]]:
        frame = pl.read_parquet(folder / name, columns=["query_id", "doc_id", value])
        groups = frame.group_by("query_id", maintain_order=True).agg("doc_id", value)
        return {query: dict(zip(d, v, strict=True)) for query, d, v in groups.iter_rows()}

    return lambda: _evaluate(nested("run.parquet", "score"), nested("qrels.parquet", "grade"))


def pytrec_eval_trec(folder: Path) -> Callable[[], Scored]:
    import pytrec_eval

    def score() -> Scored:
        with (folder / "run.trec").open() as run, (folder / "qrels.txt").open() as qrels:
            return _evaluate(pytrec_eval.parse_run(run), pytrec_eval.parse_qrel(qrels))

    return score


def crucible_score(folder: Path) -> Callable[[], Scored]:
    """`crucible score`: every metric, slices, companions, marts; `folder` holds a loaded store."""
    from crucible_batch.cli import main

    workspace = folder / "store" / "default"

    def score() -> Scored:
        for derived in ("marts", "variants"):
            shutil.rmtree(workspace / derived, ignore_errors=True)
        sys.argv = ["crucible", "--root", str(folder / "store"), "score", "big"]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main()
        return overall

    def overall() -> Means:
        import polars as pl

        rows = pl.read_parquet(workspace / "marts" / "run_metrics" / "big.parquet")
        rows = rows.filter(pl.col("slice_by") == "all", pl.col("metric").is_in(NAMES))
        return dict(rows.select("metric", "mean").iter_rows())

    return score


def ranx(folder: Path) -> Callable[[], Scored]:
    import pandas as pd
    from ranx import Qrels, Run, evaluate

    names = ("ndcg@10", "recall@10-l2", "precision@10-l2", "mrr-l2", "hit_rate@10-l2")
    # Compiled before the clock starts.
    few = {f"q{n}": {"a": 1.0, "b": 0.5} for n in range(12)}
    evaluate(Qrels({q: {"a": 2} for q in few}), Run(few), list(names), return_mean=False)

    def score() -> Scored:
        frames = [pd.read_parquet(folder / name) for name in ("qrels.parquet", "run.parquet")]
        ids = ["query_id", "doc_id"]
        frames = [frame.astype(dict.fromkeys(ids, object)) for frame in frames]
        qrels = Qrels.from_df(frames[0], "query_id", "doc_id", "grade")
        run = Run.from_df(frames[1], "query_id", "doc_id", "score")
        found = evaluate(qrels, run, list(names), return_mean=False)
        return lambda: {
            ours: float(found[theirs].mean()) for ours, theirs in zip(NAMES, names, strict=True)
        }

    return score


def ir_measures(folder: Path) -> Callable[[], Scored]:
    import ir_measures as irm
    from ir_measures import RR, P, R, Success, nDCG

    asked = (nDCG @ 10, R(rel=2) @ 10, P(rel=2) @ 10, RR(rel=2), Success(rel=2) @ 10)

    def score() -> Scored:
        run = pickle.loads((folder / "run.pickle").read_bytes())
        qrels = pickle.loads((folder / "qrels.pickle").read_bytes())
        values = list(irm.iter_calc(asked, qrels, run))
        return lambda: means(values, len(qrels))

    def means(values: list[irm.measures.Metric], n_queries: int) -> Means:
        sums = dict.fromkeys(asked, 0.0)
        for value in values:
            sums[value.measure] += value.value
        return {ours: sums[m] / n_queries for ours, m in zip(NAMES, asked, strict=True)}

    return score


CONTENDERS = {
    f.__name__: f
    for f in (
        crucible,
        crucible_coded,
        crucible_fourfold,
        crucible_arrow,
        crucible_rank,
        crucible_shuffled,
        pytrec_eval_pickle,
        pytrec_eval_parquet,
        pytrec_eval_trec,
        crucible_score,
        ranx,
        ir_measures,
    )
}


def peak_mb() -> float:
    """Peak resident memory of this process; getrusage would count the parent it was forked from."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def main() -> None:
    score = CONTENDERS[sys.argv[1]](Path(sys.argv[2]))
    before, cpu = time.perf_counter(), time.process_time()
    means = score()
    report = {
        "seconds": time.perf_counter() - before,
        "cpu": time.process_time() - cpu,
        "peak_mb": peak_mb(),
        "means": means(),
    }
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
