"""Makes a run and judgments of any size, the same for the same arguments.

python tests/speed/make_data.py FOLDER --queries 50000 --depth 100
"""

from __future__ import annotations

import argparse
import pickle
from pathlib import Path

import numpy as np
import polars as pl

CORPUS = 8_841_823
"""Documents to draw from: as many as MS MARCO passages."""


def make_run(queries: int, depth: int, rng: np.random.Generator) -> pl.DataFrame:
    """Rankings sorted by query and score, as retrievers write them; scores tie now and then.

    Returns:
        query_id, doc_id, score, rank: queries x depth rows.
    """
    start = rng.integers(0, CORPUS, (queries, 1))
    # Steps of a number coprime to the corpus: no document twice in a ranking.
    docs = (start + rng.permuted(np.tile(np.arange(depth), (queries, 1)), axis=1) * 7919) % CORPUS
    scores = np.round(-np.sort(-rng.normal(10, 3, (queries, depth)), axis=1), 4)
    run = pl.DataFrame(
        {
            "query": np.repeat(np.arange(queries), depth),
            "doc": docs.ravel(),
            "score": scores.ravel(),
        }
    ).select(
        query_id=pl.format("q{}", pl.col("query").cast(pl.String).str.zfill(7)),
        doc_id=pl.format("msmarco_passage_{}", "doc"),
        score="score",
    )
    ordered = run.sort("query_id", "score", "doc_id", descending=[False, True, True])
    return ordered.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id"))


def make_qrels(run: pl.DataFrame, judged: int, rng: np.random.Generator) -> pl.DataFrame:
    """Judge some documents of every query, half of them retrieved, half not.

    Returns:
        query_id, doc_id, grade (0 to 3), no document twice.
    """
    depth = run.group_by("query_id").len()["len"].max()
    assert isinstance(depth, int)
    n = run.height // depth
    picks = np.argsort(rng.random((n, depth)), axis=1)[:, : judged // 2]
    found = run[(picks + np.arange(n)[:, None] * depth).ravel()].select("query_id", "doc_id")
    missed = found.with_columns(doc_id=pl.col("doc_id") + "_missed")
    both = pl.concat([found, missed]).sort("query_id", "doc_id")
    return both.with_columns(grade=pl.Series(rng.integers(0, 4, both.height)))


def nested(frame: pl.DataFrame, value: str) -> dict[str, dict[str, float]]:
    """pytrec_eval's dict of dicts."""
    groups = frame.group_by("query_id", maintain_order=True).agg("doc_id", value)
    return {query: dict(zip(d, v, strict=True)) for query, d, v in groups.iter_rows()}


def write(folder: Path, queries: int, depth: int, judged: int = 20, seed: int = 7) -> Path:
    """Write run and qrels in the formats of the contenders, and the run shuffled, into `folder`."""
    if (folder / "done").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    run = make_run(queries, depth, rng)
    qrels = make_qrels(run, judged, rng)
    run.write_parquet(folder / "run.parquet", compression="zstd")
    qrels.write_parquet(folder / "qrels.parquet", compression="zstd")
    for name, frame in (("run", run), ("qrels", qrels)):
        coded = frame.with_columns(pl.col("query_id").cast(pl.Categorical))
        coded.write_parquet(folder / f"{name}-coded.parquet", compression="lz4")
    for name, frame in (("run", run), ("qrels", qrels)):
        frame.write_ipc(folder / f"{name}.arrow", record_batch_size=frame.height)
    run.sample(fraction=1, shuffle=True, seed=seed).write_parquet(folder / "shuffled.parquet")
    (folder / "run.pickle").write_bytes(pickle.dumps(nested(run, "score"), protocol=5))
    (folder / "qrels.pickle").write_bytes(pickle.dumps(nested(qrels, "grade"), protocol=5))
    (folder / "done").touch()
    return folder


def write_texts(folder: Path, *, parts: int = 1, shuffled: bool = False) -> None:
    """Write topics, judgments and the run of `write` as text, `parts` times under other query ids.

    Args:
        folder: Where `write` wrote, and where topics.tsv, qrels.txt and run.trec go.
        parts: How often; the rows of the parts take turns in blocks.
        shuffled: Write the rows of the run in no order.
    """
    run = pl.read_parquet(folder / ("shuffled.parquet" if shuffled else "run.parquet"))
    qrels = pl.read_parquet(folder / "qrels.parquet")
    prefix = [f"p{part}." if parts > 1 else "" for part in range(parts)]

    def named(name: str) -> pl.Expr:
        return (pl.lit(name) + pl.col("query_id")).alias("query_id")

    with (
        (folder / "topics.tsv").open("wb") as topics,
        (folder / "qrels.txt").open("wb") as judged,
        (folder / "run.trec").open("wb") as ranked,
    ):
        for name in prefix:
            queries = run.select(named(name).unique(maintain_order=True))
            questions = queries.with_columns(question=pl.format("Question {}?", "query_id"))
            questions.write_csv(topics, separator="\t", include_header=False)
            grades = qrels.select(named(name), pl.lit(0).alias("zero"), "doc_id", "grade")
            grades.write_csv(judged, separator=" ", include_header=False)
        for block in run.iter_slices(100_000):
            for name in prefix:
                lines = block.select(
                    named(name),
                    pl.lit("Q0").alias("q0"),
                    "doc_id",
                    "rank",
                    "score",
                    tag=pl.lit("t"),
                )
                lines.write_csv(ranked, separator=" ", include_header=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=int, default=50_000)
    parser.add_argument("--depth", type=int, default=100)
    given = parser.parse_args()
    write(given.folder, given.queries, given.depth)
