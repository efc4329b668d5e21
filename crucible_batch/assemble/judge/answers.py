"""What can be judged of the answers of a run: the assertions of its items, and its own claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from crucible_batch.assemble.evaluate.ruler import load_golden_set
from crucible_batch.assemble.evaluate.subject import Subject, load_subject
from crucible_batch.assemble.judge.target import ERRORED, Pool, Target
from crucible_batch.judges.lexical import sentences
from crucible_batch.judges.question import (
    AssertionQuestion,
    ClaimQuestion,
    Evidence,
    Judge,
    lane,
)
from crucible_batch.metrics.facts import Golden
from crucible_batch.store import Snapshot

KEY = ["item_id", "sample_index"]
NO_REFERENCE = "there is nothing to hold the claim against"
NO_CLAIM_TEXT = "the claim came without a text"


@dataclass(frozen=True, kw_only=True)
class Answered:
    """One result that is no provider error, with what belongs to it.

    Attributes:
        key: item_id and sample_index.
        item: Row of `golden_items`.
        assertions: Rows of `golden_assertions`, by id.
        said: The answer; empty when the system abstained or has no answer stage.
        evidence: Retrieved or given texts; None when the run does not report them.
    """

    key: tuple[str, int]
    item: dict[str, Any]
    assertions: Sequence[dict[str, Any]]
    said: str
    evidence: Evidence


def assertion_pool(snapshot: Snapshot, runs: Sequence[str], judge: Judge) -> Pool:
    """Every assertion of every result of some runs, in key order.

    An abstention is judged too: it makes no statement, but its evidence may support one.

    Raises:
        UnknownNameError: No such run.
    """
    targets = []
    for subject in (load_subject(snapshot, run) for run in sorted(set(runs))):
        for one in answered(subject):
            for assertion in one.assertions:
                question = AssertionQuestion(
                    question=one.item["question"],
                    assertion=assertion["text"],
                    answer=one.said,
                    evidence=one.evidence,
                )
                row = {
                    **_base(subject, one, judge, "assertion"),
                    "assertion_id": assertion["assertion_id"],
                    "judge_model": judge.model,
                    "prompt_version": judge.version("assertion"),
                }
                targets.append(Target(row=row, question=question))
    return Pool(targets=tuple(targets), left_out={})


def claim_pool(snapshot: Snapshot, runs: Sequence[str], judge: Judge) -> Pool:
    """The claims of every answer of some runs, in key order.

    They are those the run came with; an answer without any is cut into its sentences, c1, c2, ….

    Raises:
        UnknownNameError: No such run.
    """
    targets: list[Target] = []
    left_out: dict[tuple[Any, ...], str] = {}
    for subject in (load_subject(snapshot, run) for run in sorted(set(runs))):
        stated = _stated_claims(subject)
        for one in answered(subject):
            split = {f"c{n}": text for n, text in enumerate(sentences(one.said), start=1)}
            for claim_id, text in stated.get(one.key, split).items():
                question = ClaimQuestion(
                    question=one.item["question"],
                    claim=text or "",
                    evidence=one.evidence,
                    reference=_reference(one),
                )
                reason = None if text else NO_CLAIM_TEXT
                reason = reason or (None if judge.can_judge(question) else NO_REFERENCE)
                if reason:
                    left_out[subject.run_id, *one.key, claim_id] = reason
                    continue
                base = _base(subject, one, judge, "claim")
                row = {**base, "claim_id": claim_id, "text": text}
                targets.append(Target(row=row, question=question))
    return Pool(targets=tuple(targets), left_out=left_out)


def answered(subject: Subject) -> Iterator[Answered]:
    """The results of a run that are no provider errors, by key."""
    golden = load_golden_set(subject.snapshot, subject.row["golden_set_hash"])
    items = {row["item_id"]: row for row in golden.items.to_dicts()}
    assertions = _by_item(golden)
    retrieved = _evidence(subject)
    results = subject.scan("results").filter(~ERRORED).sort(KEY).collect()
    for row in results.iter_rows(named=True):
        item, key = items[row["item_id"]], (row["item_id"], row["sample_index"])
        yield Answered(
            key=key,
            item=item,
            assertions=assertions[row["item_id"]],
            said="" if row["abstained"] else (row["answer"] or "").strip(),
            evidence=_shown(subject, item, row, retrieved.get(key)),
        )


def _shown(
    subject: Subject, item: dict[str, Any], result: dict[str, Any], texts: list[str] | None
) -> Evidence:
    """The texts an answer rests on: the given contexts, else what was retrieved."""
    if not result["retrieval_ran"]:
        return None if item["contexts"] is None else tuple(item["contexts"])
    if texts is None:
        return () if subject.row["retrieval_reported"] else None
    # A ranking of bare ids says that something was retrieved, not what.
    return tuple(texts) or None


def _evidence(subject: Subject) -> dict[tuple[str, int], list[str]]:
    """Texts by result, in rank order; an empty list: only ids were retrieved."""
    rows = subject.scan("retrievals").select(*KEY, "rank", "text").sort(*KEY, "rank").collect()
    grouped = rows.group_by(KEY, maintain_order=True).agg(pl.col("text").drop_nulls())
    return {(item, sample): texts for item, sample, texts in grouped.iter_rows()}


def _stated_claims(subject: Subject) -> dict[tuple[str, int], dict[str, str | None]]:
    """Claims that are stored of a result: text by id; where judges differ, the first one's."""
    rows = subject.scan("claims").sort(*KEY, "claim_id", "judge").collect()
    stated: dict[tuple[str, int], dict[str, str | None]] = defaultdict(dict)
    for row in rows.iter_rows(named=True):
        claims = stated[row["item_id"], row["sample_index"]]
        claims[row["claim_id"]] = claims.get(row["claim_id"]) or row["text"]
    return dict(stated)


def _by_item(golden: Golden) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in golden.assertions.sort("item_id", "assertion_id").iter_rows(named=True):
        found[row["item_id"]].append(row)
    return found


def _reference(one: Answered) -> tuple[str, ...]:
    """What a right answer says: the reference answer, then the assertions."""
    texts = [one.item["ground_truth"], *(row["text"] for row in one.assertions)]
    return tuple(text for text in texts if text and text.strip())


def _base(subject: Subject, one: Answered, judge: Judge, kind: str) -> dict[str, object]:
    return {
        "workspace_id": subject.snapshot.workspace,
        "run_id": subject.run_id,
        "item_id": one.key[0],
        "sample_index": one.key[1],
        "judge": lane(judge, kind),
    }
