"""Append-only trails: who did what, what was judged, what was committed."""

from __future__ import annotations

from crucible_batch.contracts import vocabulary as v
from crucible_batch.contracts.columns import (
    ITEM,
    RUN,
    SAMPLE,
    WORKSPACE,
    amount,
    count,
    ident,
    integer,
    json_text,
    nonblank,
    text,
    time,
    word,
    words,
)
from crucible_batch.contracts.table import Role, Storage, Table

CREATED = time(name="created_at", description="when the row was written")
AUTHOR = text(name="author", description="who did it")

FEEDBACK = Table(
    name="eval_feedback",
    description="The life of a failure: classified, corrected, promoted or dismissed.",
    key=("workspace_id", "feedback_id", "seq"),
    storage=Storage.EVENT,
    role=Role.TRAIL,
    columns=(
        WORKSPACE,
        ident(name="feedback_id", description="hash of run_id, item_id and sample_index"),
        integer(name="seq", description="order of the event, from 1", low=1),
        word(name="kind", description="what happened", allowed=v.FEEDBACK_KINDS),
        RUN,
        ITEM,
        SAMPLE,
        word(name="error_class", description="class of the result", allowed=v.ERROR_CLASSES),
        text(name="error_rule", description="rule of the taxonomy that fired"),
        text(name="corrected_answer", description="the right answer", nullable=True),
        words(name="corrected_assertions", description="the right assertions", nullable=True),
        words(name="corrected_doc_ids", description="the right documents", nullable=True),
        ident(name="promoted_item_id", description="golden item made from it", nullable=True),
        text(name="note", description="remark", nullable=True),
        AUTHOR,
        CREATED,
    ),
)

JUDGE_CALLS = Table(
    name="judge_calls",
    description="Every call of a judge, so that none is paid for twice.",
    key=("workspace_id", "call_id"),
    storage=Storage.EVENT,
    role=Role.TRAIL,
    columns=(
        WORKSPACE,
        ident(name="call_id", description="hash of judge, kind, target_key and input_hash"),
        word(name="kind", description="what was judged", allowed=v.CALL_KINDS),
        json_text(name="target_key", description="key of what was judged"),
        ident(name="judge", description="model@prompt_version"),
        ident(name="input_hash", description="SHA-256 of the prompt's input"),
        word(name="status", description="how the call ended", allowed=v.CALL_STATUSES),
        text(name="raw", description="the judge's text", nullable=True),
        count(name="prompt_tokens", description="tokens in", nullable=True),
        count(name="completion_tokens", description="tokens out", nullable=True),
        amount(name="cost_usd", description="US dollars; unknown is null", nullable=True),
        CREATED,
    ),
)

OVERRIDES = Table(
    name="judgment_overrides",
    description="Corrections of single judgments; the newest replaces its value at read time.",
    key=("workspace_id", "override_id"),
    storage=Storage.EVENT,
    role=Role.TRAIL,
    columns=(
        WORKSPACE,
        ident(name="override_id", description="override"),
        word(name="target_table", description="table corrected", allowed=v.OVERRIDE_TABLES),
        word(name="target_column", description="column corrected", allowed=v.OVERRIDE_COLUMNS),
        json_text(name="target_key", description="JSON list of the key without workspace_id"),
        text(name="old", description="value before"),
        text(name="new", description="value from now on"),
        AUTHOR,
        nonblank(name="reason", description="why"),
        CREATED,
    ),
)

AUDIT = Table(
    name="audit_log",
    description="Who did what to what; written in the commit of the deed.",
    key=("workspace_id", "event_id"),
    storage=Storage.EVENT,
    role=Role.TRAIL,
    columns=(
        WORKSPACE,
        ident(name="event_id", description="event"),
        ident(name="action", description="e.g. qrel.author, golden.promote, baseline.pin"),
        text(name="target", description="what it was done to; of qrel.author the query_id"),
        text(name="actor", description="who did it"),
        time(name="occurred_at", description="when"),
        json_text(name="detail", description="canonical JSON"),
    ),
)

BASELINES = Table(
    name="baselines",
    description="Which run a name stands for; pinning again is one more row.",
    key=("workspace_id", "name", "seq"),
    storage=Storage.EVENT,
    role=Role.TRAIL,
    columns=(
        WORKSPACE,
        ident(name="name", description="name of the baseline"),
        integer(name="seq", description="order, from 1", low=1),
        ident(name="run_id", description="run it stands for"),
        nonblank(name="reason", description="why"),
        AUTHOR,
        CREATED,
    ),
)

ANCHORS = Table(
    name="anchors",
    description="Frozen examples with a human verdict, judged again to see whether a judge moved.",
    key=("workspace_id", "anchor_id"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    columns=(
        WORKSPACE,
        ident(name="anchor_id", description="anchor"),
        nonblank(name="question", description="question"),
        text(name="evidence", description="evidence shown to the judge"),
        text(name="answer", description="answer shown to the judge"),
        text(name="human_verdict", description="what a person says"),
        text(name="scale", description="scale of the verdict"),
    ),
)

ANCHOR_VERDICTS = Table(
    name="anchor_verdicts",
    description="What a judge said of an anchor, night by night.",
    key=("workspace_id", "anchor_id", "judge", "as_of", "repeat"),
    storage=Storage.EVENT,
    role=Role.TRAIL,
    columns=(
        WORKSPACE,
        ident(name="anchor_id", description="anchor"),
        ident(name="judge", description="model@prompt_version"),
        time(name="as_of", description="night"),
        integer(name="repeat", description="repetition within the night, from 0", low=0),
        text(name="verdict", description="the verdict; null: the call failed", nullable=True),
        text(name="judge_model", description="model string returned", nullable=True),
    ),
)

COMMITS = Table(
    name="commits",
    description="One row per transaction: what went in, what came out.",
    key=("workspace_id", "seq"),
    storage=Storage.EVENT,
    role=Role.TRAIL,
    columns=(
        WORKSPACE,
        integer(name="seq", description="commit number, as in the folder name", low=0),
        ident(name="kind", description="what the commit is"),
        ident(name="idempotency_key", description="the same key commits once"),
        words(name="tables", description="tables with rows in this commit"),
        ident(name="subject", description="run_id or corpus_version", nullable=True),
        ident(name="part", description="part of the subject", nullable=True),
        words(name="input_paths", description="input files"),
        words(name="input_sha256", description="their SHA-256"),
        count(name="n_rows_in", description="rows handed in"),
        count(name="n_accepted", description="rows written"),
        count(name="n_quarantined", description="rows put aside with reasons"),
        count(name="n_already_there", description="rows that were already stored"),
        count(name="n_replaced_surrogates", description="lone surrogates replaced by U+FFFD"),
        words(name="contract_versions", description="table:version of every table written"),
        text(name="package_version", description="version that wrote the commit"),
        text(name="settings_hash", description="SHA-256 of the settings"),
        integer(name="seed", description="seed, where one was used", nullable=True),
        CREATED,
    ),
)

EVALUATIONS = Table(
    name="evaluations",
    description="One row per scoring of a run; the highest seq counts.",
    key=("workspace_id", "evaluation_id", "seq"),
    storage=Storage.EVENT,
    role=Role.TRAIL,
    columns=(
        WORKSPACE,
        ident(name="evaluation_id", description="hash of all that the numbers depend on"),
        integer(name="seq", description="order, from 1", low=1),
        ident(name="run_id", description="run scored"),
        ident(name="rows_hash", description="SHA-256 over the run's rows at the pin"),
        ident(name="golden_set_hash", description="version of the golden set"),
        ident(name="ruler_hash", description="SHA-256 of effective grades and overrides"),
        ident(name="judge", description="judge whose verdicts count", nullable=True),
        word(name="qrel_source", description="grades used", allowed=v.QREL_SOURCES),
        integer(name="relevant_at", description="smallest relevant grade"),
        word(name="granularity", description="document or chunk", allowed=v.GRANULARITIES),
        ident(name="catalog_hash", description="SHA-256 of the metric declarations"),
        ident(name="settings_hash", description="SHA-256 of the settings scoring reads"),
        word(name="status", description="status of the run", allowed=v.RUN_STATUSES),
        text(name="status_reason", description="why", nullable=True),
        count(name="n_expected", description="active items times samples"),
        count(name="n_results", description="results with a row"),
        count(name="n_errored", description="errored results"),
        count(name="n_unplaced_judgments", description="chunk judgments without a document"),
        count(
            name="n_unknown_judgments",
            description="judgments of documents that a loaded corpus does not hold",
        ),
        count(name="n_blank_answers", description="blank answers"),
        count(name="n_blank_contexts", description="blank contexts"),
        count(name="n_abstained", description="abstained results"),
        count(name="n_answered", description="answered results"),
        words(name="mart_paths", description="files written, relative to the workspace"),
        words(name="mart_sha256", description="their SHA-256"),
    ),
)

TABLES = (
    FEEDBACK,
    JUDGE_CALLS,
    OVERRIDES,
    AUDIT,
    BASELINES,
    ANCHORS,
    ANCHOR_VERDICTS,
    COMMITS,
    EVALUATIONS,
)
