"""Drift snapshots and evaluations, alerts as events, deliveries, answer-path statistics."""

from __future__ import annotations

from crucible_batch.contracts import vocabulary as v
from crucible_batch.contracts.columns import (
    WORKSPACE,
    boolean,
    count,
    ident,
    integer,
    json_text,
    number,
    share,
    text,
    time,
    word,
)
from crucible_batch.contracts.table import Role, Storage, Table

SNAPSHOT = ident(name="snapshot_id", description="hash of corpus_version, as_of and digest")
SCAN = ident(name="scan_id", description="scan the row belongs to")
AS_OF = time(name="as_of", description="time the scan speaks of")
LABELS = json_text(name="labels", description="canonical JSON, e.g. the entity type")

SNAPSHOTS = Table(
    name="drift_snapshots",
    description="Fingerprint of a complete corpus version, with churn since the previous one.",
    key=("workspace_id", "snapshot_id"),
    storage=Storage.EVENT,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        SNAPSHOT,
        ident(name="corpus_version", description="corpus version"),
        AS_OF,
        ident(name="previous_snapshot_id", description="the one before", nullable=True),
        count(name="doc_count", description="documents"),
        count(name="entity_count", description="entities"),
        count(name="doc_added", description="documents added", nullable=True),
        count(name="doc_removed", description="documents removed", nullable=True),
        count(name="doc_changed", description="documents changed", nullable=True),
        count(name="doc_churn", description="added + removed + changed", nullable=True),
        share(name="doc_churn_ratio", description="churn of the union", nullable=True),
        count(name="doc_moved", description="removed and added with one hash", nullable=True),
        count(name="orphan_count", description="entities without a mention"),
        share(name="orphan_rate", description="orphans of the entities", nullable=True),
        time(
            name="newest_document_at",
            description="newest source time not in the future",
            nullable=True,
        ),
        count(name="future_document_count", description="documents from the future"),
        ident(name="digest", description="SHA-256 of the content"),
        text(name="reason", description="what could not be measured", nullable=True),
    ),
)

ENTITY_COUNTS = Table(
    name="drift_entity_counts",
    description="Entities per type of a snapshot.",
    key=("workspace_id", "snapshot_id", "entity_type"),
    storage=Storage.EVENT,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        SNAPSHOT,
        ident(name="entity_type", description="type"),
        count(name="n", description="entities of the type"),
    ),
)

DOCUMENTS = Table(
    name="drift_documents",
    description="Documents that changed between two snapshots.",
    key=("workspace_id", "snapshot_id", "doc_id"),
    storage=Storage.EVENT,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        SNAPSHOT,
        ident(name="doc_id", description="document"),
        word(name="change", description="what happened", allowed=v.DOCUMENT_CHANGES),
        ident(name="moved_from", description="document with the same hash", nullable=True),
    ),
)

EVALUATIONS = Table(
    name="drift_evaluations",
    description="Statistic, operator, threshold and verdict of every rule, stored together.",
    key=("workspace_id", "scan_id", "rule_id", "labels"),
    storage=Storage.EVENT,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        SCAN,
        ident(name="rule_id", description="rule"),
        LABELS,
        SNAPSHOT,
        AS_OF,
        ident(name="statistic", description="what was measured"),
        number(name="value", description="its value", nullable=True),
        ident(name="operator", description="how it is compared"),
        number(name="threshold", description="configured limit", nullable=True),
        number(name="critical", description="limit that sampling noise needs", nullable=True),
        count(name="n_reference", description="size of the reference", nullable=True),
        count(name="n_current", description="size of the current sample", nullable=True),
        word(
            name="severity",
            description="severity of a breach",
            nullable=True,
            allowed=v.ALERT_SEVERITIES,
        ),
        word(name="verdict", description="verdict", allowed=v.DRIFT_VERDICTS),
        text(name="reason", description="why unknown", nullable=True),
    ),
)

ALERT_EVENTS = Table(
    name="alert_events",
    description="What happened to an alert; its state is a fold over these.",
    key=("workspace_id", "event_id"),
    storage=Storage.EVENT,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        ident(name="event_id", description="event"),
        ident(name="fingerprint", description="the open condition"),
        integer(name="episode", description="episode of the condition, from 1", low=1),
        integer(name="seq", description="order within the episode, from 1", low=1),
        word(name="kind", description="what happened", allowed=v.ALERT_KINDS),
        word(name="severity", description="severity", allowed=v.ALERT_SEVERITIES),
        ident(name="scan_id", description="scan that caused it", nullable=True),
        json_text(name="payload", description="body of the notification, frozen"),
        time(name="occurred_at", description="when"),
    ),
)

ALERTS = Table(
    name="alerts",
    description="Current state of every alert, folded from alert_events.",
    key=("workspace_id", "fingerprint"),
    storage=Storage.FOLD,
    over=("alert_events",),
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        ident(name="fingerprint", description="the condition"),
        ident(name="rule_id", description="rule"),
        LABELS,
        word(name="state", description="state", allowed=v.ALERT_STATES),
        word(name="severity", description="severity", allowed=v.ALERT_SEVERITIES),
        boolean(name="acknowledged", description="someone has it"),
        integer(name="episode", description="episode", low=1),
        time(name="opened_at", description="when it opened"),
        time(name="resolved_at", description="when it was resolved", nullable=True),
        text(name="resolve_reason", description="why it was resolved", nullable=True),
        time(name="snoozed_until", description="quiet until then", nullable=True),
    ),
)

DELIVERIES = Table(
    name="deliveries",
    description="One notification owed to one endpoint.",
    key=("workspace_id", "event_id", "endpoint"),
    storage=Storage.EVENT,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        ident(name="event_id", description="alert event"),
        ident(name="endpoint", description="endpoint"),
        time(name="due_at", description="when it is due"),
        time(name="created_at", description="when it was written"),
    ),
)

ATTEMPTS = Table(
    name="delivery_attempts",
    description="Every try of a delivery.",
    key=("workspace_id", "event_id", "endpoint", "n"),
    storage=Storage.EVENT,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        ident(name="event_id", description="alert event"),
        ident(name="endpoint", description="endpoint"),
        integer(name="n", description="try, from 1", low=1),
        time(name="started_at", description="when it started"),
        integer(name="status", description="HTTP status", nullable=True),
        text(name="error", description="what went wrong", nullable=True),
        word(name="outcome", description="outcome", allowed=v.DELIVERY_OUTCOMES),
        time(name="next_at", description="when to try again", nullable=True),
    ),
)

POLICY_STATS = Table(
    name="policy_stats",
    description="Verdicts of the answer policy in the window of a scan.",
    key=("workspace_id", "scan_id", "surface", "verdict"),
    storage=Storage.MART,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        SCAN,
        ident(name="surface", description="where the policy runs"),
        ident(name="verdict", description="what was decided"),
        count(name="n", description="decisions"),
        share(name="share", description="n of the surface's decisions"),
        share(name="mean_confidence", description="mean stated confidence", nullable=True),
    ),
)

CACHE_STATS = Table(
    name="cache_stats",
    description="State of the answer cache at the latest observation.",
    key=("workspace_id", "scan_id"),
    storage=Storage.MART,
    role=Role.OUTPUT,
    columns=(
        WORKSPACE,
        SCAN,
        time(name="observed_at", description="when the cache was looked at"),
        share(name="hit_rate", description="hits of look-ups; null at 0", nullable=True),
        count(name="active", description="entries that can be hit"),
        count(name="with_embedding", description="entries with an embedding"),
        count(name="invalidated", description="entries invalidated"),
        count(name="expired", description="entries with expires_at ≤ as_of"),
        time(name="last_hit_at", description="last hit", nullable=True),
        word(name="mode", description="how the cache runs", allowed=v.CACHE_MODES),
    ),
)

TABLES = (
    SNAPSHOTS,
    ENTITY_COUNTS,
    DOCUMENTS,
    EVALUATIONS,
    ALERT_EVENTS,
    ALERTS,
    DELIVERIES,
    ATTEMPTS,
    POLICY_STATS,
    CACHE_STATS,
)
