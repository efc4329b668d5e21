"""The pool: every (query, document) that runs retrieved among their first k."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from crucible_batch.assemble.evaluate.ruler import load_golden_set
from crucible_batch.assemble.evaluate.subject import Subject, load_subject
from crucible_batch.assemble.judge.target import ERRORED, Pool, Target
from crucible_batch.judges.question import GradeQuestion, Judge, lane
from crucible_batch.report import words
from crucible_batch.store import Snapshot

NO_TEXT = "no text is known of the document: give --texts"
NOT_IN_TEXTS = "no such document in --texts, whose ids are like {}"
NOTHING_TO_GO_BY = "the judge has nothing to go by: no assertion says what relevant would be"
RESULT = ["item_id", "sample_index"]


def document_pool(
    snapshot: Snapshot, runs: Sequence[str], judge: Judge, depth: int, texts: Mapping[str, str]
) -> Pool:
    """Gather the pool of some runs.

    Args:
        snapshot: What is visible.
        runs: Ids of the runs.
        judge: Who will be asked.
        depth: How many documents of each ranking; chunks count for their document, once.
        texts: Text of a document by doc_id. Without one, the texts the runs retrieved of it for
            the query, by chunk.

    Returns:
        One target per (query, document), by key.

    Raises:
        UnknownNameError: No such run.
    """
    subjects = [load_subject(snapshot, run) for run in runs]
    pairs = pl.concat([first_documents(subject, depth) for subject in subjects]).unique()
    pairs = pairs.sort("item_id", "doc_id")
    seen = _retrieved_texts(subjects, pairs, texts)
    items = _questions(snapshot, subjects)
    targets: list[Target] = []
    left_out: dict[tuple[Any, ...], str] = {}
    absent = NOT_IN_TEXTS.format(words.one_line(min(texts))) if texts else NO_TEXT
    for item_id, doc_id in pairs.iter_rows():
        text = texts.get(doc_id) or seen.get((item_id, doc_id))
        if not (text and text.strip()):
            left_out[item_id, doc_id] = NO_TEXT if doc_id in texts else absent
            continue
        question, must, should = items[item_id]
        asked = GradeQuestion(question=question, document=text, must=must, should=should)
        if judge.can_judge(asked):
            row = _row(snapshot.workspace, item_id, doc_id, judge)
            targets.append(Target(row=row, question=asked))
        else:
            left_out[item_id, doc_id] = NOTHING_TO_GO_BY
    return Pool(targets=tuple(targets), left_out=left_out)


def first_documents(subject: Subject, depth: int) -> pl.DataFrame:
    """The first documents of every ranking of a run: item_id, doc_id, each pair once.

    A document stands where it occurs first and the ranking closes up behind later chunks of it, as
    in the retrieval metrics. Provider errors are no rankings.
    """
    errored = subject.scan("results").filter(ERRORED).select(RESULT)
    return (
        subject.scan("retrievals")
        .join(errored, on=RESULT, how="anti")
        .group_by(*RESULT, "doc_id")
        .agg(pl.col("rank").min())
        .filter(pl.col("rank").rank("ordinal").over(RESULT) <= depth)
        .select("item_id", "doc_id")
        .unique()
        .collect()
    )


def _retrieved_texts(
    subjects: Iterable[Subject], pairs: pl.DataFrame, known: Mapping[str, str]
) -> dict[tuple[str, str], str]:
    """Text of a document as retrieved for an item: its chunks by id, blank line between."""
    wanted = pairs.filter(~pl.col("doc_id").is_in(list(known)))
    found = [
        subject.scan("retrievals")
        .filter(pl.col("text").str.strip_chars() != "")
        .join(wanted.lazy(), on=["item_id", "doc_id"], how="semi")
        .select("item_id", "doc_id", "chunk_id", "text")
        .unique()
        .collect()
        for subject in subjects
    ]
    rows = pl.concat(found).unique().sort("item_id", "doc_id", "chunk_id", "text")
    grouped = rows.group_by("item_id", "doc_id", maintain_order=True).agg("text")
    return {(item, doc): "\n\n".join(texts) for item, doc, texts in grouped.iter_rows()}


def _questions(
    snapshot: Snapshot, subjects: Sequence[Subject]
) -> dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Question, must and should assertions by item; the newest revision that a run pins."""
    hashes = sorted({subject.row["golden_set_hash"] for subject in subjects})
    sets = [load_golden_set(snapshot, pinned) for pinned in hashes]
    items = pl.concat([golden.items for golden in sets]).sort("item_id", "revision")
    newest = items.unique("item_id", keep="last", maintain_order=True)
    on = ["item_id", "revision"]
    assertions = pl.concat([golden.assertions for golden in sets]).unique()
    said: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in assertions.join(newest, on=on, how="semi").sort(*on, "assertion_id").to_dicts():
        said[row["item_id"], row["level"]].append(row["text"])
    return {
        row["item_id"]: (
            row["question"],
            tuple(said[row["item_id"], "must"]),
            tuple(said[row["item_id"], "should"]),
        )
        for row in newest.to_dicts()
    }


def _row(workspace: str, item_id: str, doc_id: str, judge: Judge) -> dict[str, object]:
    return {
        "workspace_id": workspace,
        "query_id": item_id,
        "target": f"doc:{doc_id}",
        "source": "llm",
        "judge": lane(judge, "qrel"),
        "doc_id": doc_id,
        "judge_model": judge.model,
        "prompt_version": judge.version("qrel"),
    }
