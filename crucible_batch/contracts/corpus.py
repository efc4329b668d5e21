"""The corpus underneath, and the answer path around it."""

from __future__ import annotations

from crucible_batch.contracts import vocabulary as v
from crucible_batch.contracts.columns import (
    WORKSPACE,
    boolean,
    count,
    ident,
    integer,
    nonblank,
    share,
    time,
    word,
)
from crucible_batch.contracts.table import Role, Storage, Table

VERSION = ident(
    name="corpus_version", description="version of the corpus the row belongs to", filled=True
)

VERSIONS = Table(
    name="corpus_versions",
    description="A state of the corpus at one time.",
    key=("workspace_id", "corpus_version"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    subject="corpus_version",
    columns=(
        WORKSPACE,
        VERSION,
        integer(name="seq", description="load order, from 1", low=1, filled=True),
        time(name="observed_at", description="when the corpus was looked at", filled=True),
        boolean(name="complete", description="false: a partial listing", filled=True),
        count(name="n_documents", description="documents in it", filled=True),
        count(name="n_entities", description="entities in it", filled=True),
    ),
)

DOCUMENTS = Table(
    name="documents",
    description="Documents of a corpus version.",
    key=("workspace_id", "corpus_version", "doc_id"),
    storage=Storage.BULK,
    role=Role.INPUT,
    subject="corpus_version",
    columns=(
        WORKSPACE,
        VERSION,
        ident(name="doc_id", description="document"),
        ident(
            name="content_hash",
            description="SHA-256 of the canonical text (UTF-8 NFC, LF); no mtime, no ingest id",
        ),
        ident(name="hash_version", description="how the hash was made"),
        time(name="source_updated_at", description="source time", nullable=True),
        time(name="ingested_at", description="when it was ingested", nullable=True),
    ),
)

ENTITIES = Table(
    name="entities",
    description="Entities of a corpus version.",
    key=("workspace_id", "corpus_version", "entity_id"),
    storage=Storage.BULK,
    role=Role.INPUT,
    subject="corpus_version",
    columns=(
        WORKSPACE,
        VERSION,
        ident(name="entity_id", description="entity"),
        ident(name="entity_type", description="type of the entity"),
    ),
)

MENTIONS = Table(
    name="mentions",
    description="Where an entity is mentioned.",
    key=("workspace_id", "corpus_version", "entity_id", "doc_id", "chunk_id"),
    storage=Storage.BULK,
    role=Role.INPUT,
    subject="corpus_version",
    columns=(
        WORKSPACE,
        VERSION,
        ident(name="entity_id", description="entity"),
        ident(name="doc_id", description="document"),
        ident(name="chunk_id", description="chunk within the document", nullable=True),
    ),
)

POLICY = Table(
    name="policy_decisions",
    description="What an answer policy decided.",
    key=("workspace_id", "decision_id"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    columns=(
        WORKSPACE,
        ident(name="decision_id", description="decision"),
        ident(name="surface", description="where the policy runs"),
        nonblank(name="question", description="question decided on"),
        ident(name="verdict", description="what was decided"),
        share(name="confidence", description="stated confidence, 0 to 1", nullable=True),
        time(name="created_at", description="when it was decided"),
    ),
)

CACHE_ENTRIES = Table(
    name="cache_entries",
    description="Entries of the answer cache at one observation.",
    key=("workspace_id", "observed_at", "entry_id"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    columns=(
        WORKSPACE,
        time(name="observed_at", description="when the cache was looked at"),
        ident(name="entry_id", description="entry"),
        boolean(name="has_embedding", description="an embedding is stored"),
        time(name="invalidated_at", description="when it was invalidated", nullable=True),
        time(name="expires_at", description="when it expires", nullable=True),
    ),
)

CACHE_OBSERVATIONS = Table(
    name="cache_observations",
    description="Counters of the answer cache at one observation.",
    key=("workspace_id", "observed_at"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    columns=(
        WORKSPACE,
        time(name="observed_at", description="when the cache was looked at"),
        word(name="mode", description="how the cache runs", allowed=v.CACHE_MODES),
        count(name="lookups", description="look-ups so far"),
        count(name="hits", description="hits so far"),
        time(name="last_hit_at", description="last hit", nullable=True),
    ),
)

TABLES = (
    VERSIONS,
    DOCUMENTS,
    ENTITIES,
    MENTIONS,
    POLICY,
    CACHE_ENTRIES,
    CACHE_OBSERVATIONS,
)
