"""Graded relevance judgments, append-only, and the chunk-to-document map."""

from __future__ import annotations

import polars as pl

from crucible_batch.contracts import vocabulary as v
from crucible_batch.contracts.columns import CREATED, WORKSPACE, ident, integer, text, word
from crucible_batch.contracts.table import Role, Rule, Storage, Table

LANE = ("workspace_id", "query_id", "target", "source", "judge")

QRELS = Table(
    name="qrels",
    description="One judgment of one target for one query in one lane; never edited in place.",
    key=LANE,
    storage=Storage.EVENT,
    role=Role.INPUT,
    columns=(
        WORKSPACE,
        ident(name="query_id", description="golden item judged (its item_id)"),
        ident(
            name="target",
            description="chunk_id, else `doc:` + doc_id",
            filled=True,
        ),
        word(
            name="source",
            description="who gave the grade, strongest first",
            allowed=v.SOURCES,
        ),
        ident(
            name="judge",
            description="author; else `human`, `provenance` or `model@prompt_version`",
            filled=True,
        ),
        ident(name="doc_id", description="document judged", nullable=True),
        ident(name="chunk_id", description="chunk judged", nullable=True),
        integer(
            name="grade",
            description="0 irrelevant, 1 marginal, 2 relevant, 3 perfect",
            low=0,
            high=3,
        ),
        ident(name="judge_model", description="model id; set exactly for llm", nullable=True),
        ident(name="prompt_version", description="prompt; set exactly for llm", nullable=True),
        ident(name="author", description="who wrote the judgment", nullable=True),
        text(name="rationale", description="why", nullable=True),
        ident(
            name="qrel_id",
            description="`q` + 26 hex of SHA-256 of the key",
            filled=True,
        ),
        CREATED,
    ),
    rules=(
        Rule(
            name="target_is_missing",
            column="doc_id",
            expr=pl.col("doc_id").is_not_null() | pl.col("chunk_id").is_not_null(),
            description="doc_id or chunk_id is given",
        ),
        Rule(
            name="judge_model_exactly_for_llm",
            column="judge_model",
            expr=(pl.col("source") == "llm") == pl.col("judge_model").is_not_null(),
            description="judge_model is set exactly when source is llm",
        ),
        Rule(
            name="prompt_version_exactly_for_llm",
            column="prompt_version",
            expr=(pl.col("source") == "llm") == pl.col("prompt_version").is_not_null(),
            description="prompt_version is set exactly when source is llm",
        ),
        Rule(
            name="target_is_not_its_chunk_or_document",
            column="target",
            expr=pl.col("target")
            == pl.coalesce("chunk_id", pl.concat_str(pl.lit("doc:"), "doc_id")),
            description="target is chunk_id, else `doc:` + doc_id",
        ),
    ),
)

CHUNKS = Table(
    name="chunks",
    description="Which document a chunk belongs to (also learnt from any retrieval row).",
    key=("workspace_id", "chunk_id"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    columns=(
        WORKSPACE,
        ident(name="chunk_id", description="chunk"),
        ident(name="doc_id", description="document the chunk belongs to"),
    ),
)

TABLES = (QRELS, CHUNKS)
