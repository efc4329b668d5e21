"""Means over public runs against an independent float64 reference and trec_eval's printout."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import polars as pl
import pytest
from trec_files import read_qrels, read_run

from crucible_batch.exact import exact_mean, exact_sum
from crucible_batch.metrics.retrieval_scores import retrieval_scores

FAMILY = {
    "ap": "average_precision",
    "rr": "mrr",
    "p": "precision",
    "rprec": "r_precision",
    "num_ret": "n_retrieved",
    "num_rel": "n_relevant",
    "num_rel_ret": "n_relevant_retrieved",
}


def canonical(measure: str) -> str:
    family, _, k = measure.partition("@")
    return FAMILY.get(family, family) + (f"@{k}" if k else "")


def files(cases: Path, dataset: str, run: str) -> tuple[Path, Path]:
    data = cases / "data"
    if dataset == "trec_eval/test":
        return data / "trec_eval" / "qrels.test", data / "trec_eval" / "results.test"
    folder = data / "dl_passage"
    plain = folder / f"run.{run}.dl19.trec"
    path = plain if plain.exists() else folder / "rerank" / f"run.{run}.dl19.trec.gz"
    return folder / "qrels.dl19-passage.txt", path


Block = dict[str, tuple[float, float | None]]


def blocks(cases: Path) -> dict[tuple[str, str, int], Block]:
    """measure → (reference, trec_eval's four decimals), per data set, run and threshold."""
    found: dict[tuple[str, str, int], Block] = defaultdict(dict)
    with (cases / "retrieval_aggregate.csv").open() as handle:
        for row in csv.DictReader(handle):
            printed = row["trec_eval_10_4dp"]
            key = (row["dataset"], row["run"], int(row["rel"]))
            found[key][row["measure"]] = (float(row["ref"]), float(printed) if printed else None)
    return found


def means(
    cases: Path, block: tuple[str, str, int], asked: Block, **options: bool
) -> dict[str, float]:
    dataset, run, rel = block
    qrels, ranking = files(cases, dataset, run)
    names = {canonical(measure): measure for measure in asked}
    scores = retrieval_scores(
        read_run(ranking), read_qrels(qrels), list(names), relevant_at=rel, **options
    )
    out = {}
    for (metric,), frame in scores.partition_by("metric", as_dict=True).items():
        measure = next(m for n, m in names.items() if n.replace("@", "_at_") == metric)
        values = frame["value"].drop_nulls().to_list()
        mean = exact_sum(values) if measure.startswith("num_") else exact_mean(values)
        assert mean is not None
        out[measure] = mean
    return out


@pytest.mark.parametrize("number", range(11))
def test_means_over_public_runs_equal_the_float64_reference(cases: Path, number: int) -> None:
    block, expected = list(blocks(cases).items())[number]
    found = means(cases, block, expected)
    assert found == {m: pytest.approx(ref, abs=1e-9, rel=0) for m, (ref, _) in expected.items()}


@pytest.mark.parametrize("number", range(11))
def test_trec_compat_prints_what_trec_eval_prints(cases: Path, number: int) -> None:
    block, expected = list(blocks(cases).items())[number]
    found = means(cases, block, expected, trec_compat=True)
    printed = {m: four for m, (_, four) in expected.items() if four is not None}
    assert printed
    assert {m: round(found[m], 4) for m in printed} == printed


PRINTED_NAMES = {
    "num_ret": "n_retrieved",
    "num_rel": "n_relevant",
    "num_rel_ret": "n_relevant_retrieved",
    "map": "average_precision",
    "Rprec": "r_precision",
    "bpref": "bpref",
    "recip_rank": "mrr",
    "ndcg": "ndcg",
    "P": "precision",
    "recall": "recall",
    "ndcg_cut": "ndcg",
    "map_cut": "average_precision",
    "success": "hit",
}


def canonical_printed(name: str) -> str | None:
    """trec_eval's `P_5` is ours `precision_at_5`; None for a measure we do not have."""
    family, _, cut = name.rpartition("_")
    if cut.isdigit() and family in PRINTED_NAMES:
        return f"{PRINTED_NAMES[family]}_at_{cut}"
    return PRINTED_NAMES.get(name)


@pytest.mark.parametrize("flags", ["aq", "aqc", "aql"])
def test_every_query_equals_the_official_trec_eval_output(cases: Path, flags: str) -> None:
    folder = cases / "data" / "trec_eval"
    qrels = read_qrels(folder / ("qrels.rel_level" if flags == "aql" else "qrels.test"))
    ranking = read_run(folder / ("results.trunc" if flags == "aqc" else "results.test"))
    printed = {}
    for line in (folder / f"out.test.{flags}").read_text().splitlines():
        name, query, value = line.split()
        metric = canonical_printed(name)
        if metric is not None and query != "all":
            printed[query, metric] = float(value)
    assert len(printed) > 100
    scores = retrieval_scores(
        ranking,
        qrels,
        sorted({metric for _, metric in printed}),
        relevant_at=2 if flags == "aql" else 1,
        trec_compat=True,
    )
    found = {
        (query, metric): round(value, 4)
        for query, metric, value in scores.select("query_id", "metric", "value").iter_rows()
    }
    assert found == pytest.approx(printed, abs=1e-9)
    assert isinstance(scores, pl.DataFrame)
