"""Numbers others published, from their labels through the frames and metrics of this package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from answer_run import AnswerRun

from crucible_batch.exact import exact_mean

PERCENT = 100


def mean(run: AnswerRun, metric: str) -> float | None:
    values = run.scores().filter(metric=metric)["value"].drop_nulls()
    return exact_mean(values.to_list())


def ragchecker(cases: Path) -> AnswerRun:
    """Entailment labels as verdicts: `answer2response` says which claims are correct,
    `response2answer` which reference claims the answer makes, `retrieved2…` what the evidence says.
    """
    text = (cases / "data/ragchecker/checking_outputs.json").read_text(encoding="utf-8")
    run = AnswerRun()
    for query in json.loads(text)["results"]:

        def entailed(labels: list[Any]) -> list[bool]:
            return [
                "Entailment" in label if isinstance(label, list) else label == "Entailment"
                for label in labels
            ]

        made = entailed(query["response2answer"])
        names = [f"a{n}" for n in range(len(made))]
        grounded = entailed(query["retrieved2response"])
        in_evidence = entailed(query["retrieved2answer"])
        run.item(query["query_id"], must=names).result(
            query["query_id"],
            claims=zip(grounded, entailed(query["answer2response"]), strict=True),
            verdicts={n: "supported" if m else "missing" for n, m in zip(names, made, strict=True)},
            in_context=dict(zip(names, in_evidence, strict=True)),
            retrieved=[row["doc_id"] for row in query["retrieved_context"]],
        )
    return run


@pytest.mark.parametrize(
    ("metric", "percent"),
    [
        ("factual_precision", 76.4),
        ("factual_recall", 62.5),
        ("factual_f1", 68.3),
        ("groundedness", 68.2),
        ("hallucinated_claim_rate", 4.5),
        ("self_knowledge_rate", 27.3),
        ("context_recall", 61.4),
    ],
)
def test_ragchecker_prints_the_same_overall_metrics(
    cases: Path, metric: str, percent: float
) -> None:
    found = mean(ragchecker(cases), metric)
    assert found is not None
    # Published to one decimal.
    assert round(PERCENT * found, 1) == percent


@pytest.mark.parametrize(
    ("model", "percent"), [("InstructGPT", 99.5), ("ChatGPT", 85.8), ("PerplexityAI", 90.7)]
)
def test_factscore_publishes_the_same_share_of_responses(
    cases: Path, model: str, percent: float
) -> None:
    path = cases / f"data/factscore_human/{model}.jsonl"
    run = AnswerRun()
    for line in path.read_text(encoding="utf-8").splitlines():
        biography = json.loads(line)
        run.item(biography["topic"])
        run.result(
            biography["topic"],
            answer=biography["output"],
            # Annotators labelled no fact where the model did not respond.
            abstained=biography["annotations"] is None,
        )
    abstained = run.number("abstention_rate")
    assert abstained is not None
    assert round(PERCENT * (1 - abstained), 1) == percent


@pytest.fixture(scope="module")
def command_r_plus(cases: Path) -> pl.DataFrame:
    """Scores of command-r-plus on the 89 of 301 topics with human judgments of segments."""
    folder = cases / "data/trec_rag24"
    run = AnswerRun()
    qrels = (folder / "qrels.rag24.test.txt").read_text(encoding="utf-8").splitlines()
    run.tables["grades"] = [
        {"item_id": topic, "doc_id": segment, "grade": int(grade)}
        for topic, _, segment, grade in map(str.split, qrels)
    ]
    judged = {row["item_id"] for row in run.tables["grades"]}
    name = "baseline_rag24.test_command-r-plus_top20.jsonl"
    for topic in map(json.loads, (folder / name).read_text(encoding="utf-8").splitlines()):
        if topic["topic_id"] in judged:
            cited = [n for sentence in topic["answer"] for n in sentence["citations"]]
            run.item(topic["topic_id"])
            run.result(topic["topic_id"], cites=[topic["references"][n] for n in cited])
    return run.scores()


@pytest.mark.parametrize(
    ("metric", "value", "n_scored", "n_null"),
    [("citation_precision", 0.5721, 88, 1), ("citation_precision_judged", 0.5961, 87, 2)],
)
def test_trec_rag_citation_precision_of_command_r_plus(
    command_r_plus: pl.DataFrame, metric: str, value: float, n_scored: int, n_null: int
) -> None:
    scores = command_r_plus.filter(metric=metric)["value"]
    values = scores.drop_nulls()
    found = exact_mean(values.to_list())
    assert found is not None
    assert (len(values), scores.null_count()) == (n_scored, n_null)
    assert round(found, 4) == value
