"""What is measured against: golden items with their assertions, concepts and citations."""

from __future__ import annotations

import polars as pl

from crucible_batch.contracts import vocabulary as v
from crucible_batch.contracts.columns import (
    ITEM,
    WORKSPACE,
    boolean,
    ident,
    integer,
    nonblank,
    text,
    time,
    word,
    words,
)
from crucible_batch.contracts.table import Role, Rule, Storage, Table

REVISION = integer(
    name="revision",
    description="revision of the item, from 1; the loader appends last + 1 when absent",
    low=1,
    filled=True,
)
ITEM_KEY = ("workspace_id", "item_id", "revision")

ITEMS = Table(
    name="golden_items",
    description="One golden question per item and revision; the highest revision is its state.",
    key=ITEM_KEY,
    storage=Storage.EVENT,
    role=Role.INPUT,
    columns=(
        WORKSPACE,
        ITEM,
        REVISION,
        ident(name="golden_set", description="golden set the item belongs to", filled=True),
        nonblank(name="question", description="the question as asked"),
        text(name="ground_truth", description="reference answer", nullable=True),
        boolean(name="answerable", description="false: the right reaction is to abstain"),
        word(
            name="question_type",
            description="kind of question (CRAG)",
            nullable=True,
            allowed=v.QUESTION_TYPES,
        ),
        word(
            name="popularity",
            description="how often the subject is asked about",
            nullable=True,
            allowed=v.POPULARITIES,
        ),
        word(
            name="dynamism",
            description="how fast the right answer changes",
            nullable=True,
            allowed=v.DYNAMISMS,
        ),
        word(
            name="shape",
            description="which layer the item probes",
            nullable=True,
            allowed=v.SHAPES,
        ),
        ident(
            name="cluster_id",
            description="items that stand or fall together, e.g. paraphrases",
            nullable=True,
        ),
        words(name="tags", description="free labels to slice by", default=()),
        words(
            name="contexts",
            description="given contexts, in order; only synthesis is scored then",
            nullable=True,
        ),
        boolean(name="retired", description="the item is out of the set", default=False),
        text(name="author", description="who wrote the revision", nullable=True),
        text(name="promoted_from", description="feedback the item came from", nullable=True),
        time(name="created_at", description="when the revision was written", nullable=True),
    ),
    rules=(
        Rule(
            name="false_premise_is_unanswerable",
            column="answerable",
            expr=~((pl.col("question_type") == "false_premise") & pl.col("answerable")).fill_null(
                value=False
            ),
            description="a false_premise item has answerable = false",
        ),
    ),
)

ASSERTIONS = Table(
    name="golden_assertions",
    description="Atomic statements a right answer must or should make.",
    key=(*ITEM_KEY, "assertion_id"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    columns=(
        WORKSPACE,
        ITEM,
        REVISION,
        ident(
            name="assertion_id",
            description="id within the item; absent: `a-` + 12 hex of SHA-256 of level and text",
            filled=True,
        ),
        word(name="level", description="must or should", allowed=v.LEVELS),
        nonblank(name="text", description="the statement"),
        ident(name="concept_id", description="entity the statement is about", nullable=True),
    ),
)

CONCEPTS = Table(
    name="golden_concepts",
    description="Entities that retrieval and answer should, may or should not touch.",
    key=(*ITEM_KEY, "entity_id"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    columns=(
        WORKSPACE,
        ITEM,
        REVISION,
        ident(name="entity_id", description="entity"),
        word(
            name="relevance",
            description="required, acceptable, or a known near-miss (irrelevant)",
            allowed=v.CONCEPT_RELEVANCES,
        ),
    ),
)

CITATIONS = Table(
    name="golden_citations",
    description="Documents an answer must or must not rest on.",
    key=(*ITEM_KEY, "doc_id", "chunk_id", "kind"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    columns=(
        WORKSPACE,
        ITEM,
        REVISION,
        ident(name="doc_id", description="document"),
        ident(name="chunk_id", description="chunk within the document", nullable=True),
        word(
            name="kind",
            description="required or forbidden; one document cannot be both",
            allowed=v.CITATION_KINDS,
        ),
    ),
)

VERSIONS = Table(
    name="golden_set_versions",
    description="Which revisions of which items a golden-set hash stands for.",
    key=("workspace_id", "golden_set_hash", "item_id"),
    storage=Storage.EVENT,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        ident(name="golden_set_hash", description="`sha256:` + hash of the active items"),
        ITEM,
        ident(name="golden_set", description="golden set"),
        integer(name="revision", description="revision of the item in this version", low=1),
        ident(name="item_hash", description="SHA-256 of the item's canonical JSON"),
    ),
)

TABLES = (ITEMS, ASSERTIONS, CONCEPTS, CITATIONS, VERSIONS)
