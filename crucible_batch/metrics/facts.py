"""What is known of a run before its answers are scored: tables, flags, expected results."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import polars as pl

from crucible_batch.contracts.vocabulary import PAYLOADS, REDACTED
from crucible_batch.metrics.answer_grains import KEY
from crucible_batch.metrics.judgments import check_judge, choose_judge


@dataclass(frozen=True, kw_only=True, eq=False)
class Golden:
    """The golden set a run is pinned to: the pinned revision of every active item, no other.

    Attributes:
        items: `golden_items`, one row per item.
        assertions: `golden_assertions` of these revisions.
        concepts: `golden_concepts` of these revisions.
        citations: `golden_citations` of these revisions.
    """

    items: pl.DataFrame
    assertions: pl.DataFrame
    concepts: pl.DataFrame
    citations: pl.DataFrame


@dataclass(frozen=True, kw_only=True, eq=False)
class RunRows:
    """The rows of one run, as their contracts have them; `retrievals.text` is never read.

    `overrides` are `judgment_overrides` of the workspace, None without any.
    """

    results: pl.DataFrame
    retrievals: pl.DataFrame
    answer_citations: pl.DataFrame
    assertion_verdicts: pl.DataFrame
    claims: pl.DataFrame
    detected_concepts: pl.DataFrame
    checks: pl.DataFrame
    external_scores: pl.DataFrame
    overrides: pl.DataFrame | None = None


@dataclass(frozen=True, kw_only=True)
class RunFlags:
    """What holds for the whole run, found once and used for every bucket of its items.

    Attributes:
        samples_n: Samples per item.
        citations_reported: As `runs` says.
        retrieval_reported: As `runs` says.
        concepts_detected: As `runs` says.
        claims_reported: The run has any claim.
        concept_places: Places in which the run detected any concept.
        payloads: Payload metrics the run gives for any result.
        verdict_judge: Whose verdicts count, None when nobody judged.
        claim_judge: Whose claims count, None when nobody judged.
    """

    samples_n: int
    citations_reported: bool
    retrieval_reported: bool
    concepts_detected: bool
    claims_reported: bool
    concept_places: frozenset[str]
    payloads: frozenset[str]
    verdict_judge: str | None
    claim_judge: str | None

    @property
    def judge(self) -> str | None:
        """The judge of the evaluation, both when verdicts and claims have different ones."""
        names = {name for name in (self.verdict_judge, self.claim_judge) if name is not None}
        return " + ".join(sorted(names)) or None


def run_flags(
    run: dict[str, Any],
    rows: RunRows,
    *,
    asked_judge: str | None = None,
    pinned_judge: str | None = None,
) -> RunFlags:
    """Find what holds for a whole run.

    Args:
        run: Its row of `runs`.
        rows: All its rows.
        asked_judge: What `--judge` names.
        pinned_judge: The `judge` in the payload of its judge snapshot.

    Raises:
        UsageError: Several judges judged the run and nothing says whose verdicts count.
        UnknownNameError: The judge asked for judged nothing of the run.
    """
    verdict_judges = rows.assertion_verdicts["judge"].unique().to_list()
    claim_judges = rows.claims["judge"].unique().to_list()
    check_judge(asked_judge, {*verdict_judges, *claim_judges})
    metrics = set(rows.external_scores["metric"].unique().to_list())
    return RunFlags(
        samples_n=run["samples_n"],
        citations_reported=run["citations_reported"],
        retrieval_reported=run["retrieval_reported"],
        concepts_detected=run["concepts_detected"],
        claims_reported=rows.claims.height > 0,
        concept_places=frozenset(rows.detected_concepts["place"].unique().to_list()),
        payloads=frozenset(metrics.intersection(PAYLOADS)),
        verdict_judge=choose_judge(verdict_judges, asked=asked_judge, pinned=pinned_judge),
        claim_judge=choose_judge(claim_judges, asked=asked_judge, pinned=pinned_judge),
    )


def expected_results(items: pl.DataFrame, results: pl.DataFrame, samples_n: int) -> pl.DataFrame:
    """Every result the run should have, with its row where there is one.

    Args:
        items: `golden_items`, one row per active item.
        results: `results` of one run; other columns than the key are kept.
        samples_n: Samples per item.

    Returns:
        item_id, sample_index, has_result, errored, answerable, question_type and the columns of
        `results`, items × samples rows sorted by key.
    """
    samples = pl.DataFrame({"sample_index": range(samples_n)}, schema={"sample_index": pl.Int64})
    expected = items.select("item_id", "answerable", "question_type").join(samples, how="cross")
    found = results.drop("workspace_id", "run_id", strict=False).with_columns(
        has_result=pl.lit(value=True)
    )
    joined = expected.join(found, on=list(KEY), how="left").sort(KEY)
    failed = pl.col("error").is_not_null() | pl.col("error_kind").is_not_null()
    return joined.with_columns(
        pl.col("has_result").fill_null(value=False), errored=failed.fill_null(value=False)
    )


def is_blank(text: str) -> pl.Expr:
    """Whether a text column holds nothing but whitespace; null stays null."""
    return pl.col(text).str.strip_chars() == ""


def evidence_hashes(retrievals: pl.DataFrame) -> pl.DataFrame:
    """Fingerprint the evidence of every result.

    The evidence is the retrieval rows that hold a text (a blank one too). Its hash is SHA-256, in
    hex, over the canonical JSON list of {chunk_id, doc_id, rank, text} in rank order:
    `json.dumps(sort_keys=True, separators=(",", ":"), ensure_ascii=False)` in UTF-8.

    Args:
        retrievals: item_id, sample_index, rank, chunk_id, doc_id, text of one run.

    Returns:
        item_id, sample_index, evidence_hash, sorted by key; results without any text, or with a
        redacted one, have no row: what the evidence was is not known any more.
    """
    fields = ("chunk_id", "doc_id", "rank", "text")
    redacted = retrievals.filter(pl.col("text") == REDACTED).select(KEY)
    lists = (
        retrievals.filter(pl.col("text").is_not_null())
        .join(redacted, on=KEY, how="anti")
        .sort(*KEY, "rank")
        .group_by(KEY, maintain_order=True)
        .agg(evidence=pl.struct(fields))
    )
    hashes = [_fingerprint(evidence) for evidence in lists["evidence"]]
    return lists.select(KEY).with_columns(evidence_hash=pl.Series(hashes, dtype=pl.String))


def _fingerprint(evidence: pl.Series) -> str:
    """SHA-256 of one result's evidence."""
    text = json.dumps(evidence.to_list(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
