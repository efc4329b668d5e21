"""What a run produced: results and everything keyed by a result."""

from __future__ import annotations

import polars as pl

from crucible_batch.contracts import vocabulary as v
from crucible_batch.contracts.columns import (
    RESULT_COLUMNS,
    RESULT_KEY,
    RUN,
    WORKSPACE,
    amount,
    boolean,
    count,
    ident,
    integer,
    json_text,
    measured,
    number,
    share,
    text,
    time,
    word,
)
from crucible_batch.contracts.table import Role, Rule, Storage, Table

PLUGIN = r"^plugin\.[A-Za-z0-9_]+\.[A-Za-z0-9_]+$"
"""Plugin metrics are namespaced, so that they can never overwrite a first-party number."""

RUNS = Table(
    name="runs",
    description="A run, frozen when first written: what it was run against and how.",
    key=("workspace_id", "run_id"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    subject="run_id",
    columns=(
        WORKSPACE,
        RUN,
        ident(name="golden_set", description="golden set the run answers", filled=True),
        ident(
            name="golden_set_hash",
            description="version it is measured against; absent: the current one",
            filled=True,
        ),
        ident(
            name="target_snapshot_id",
            description="config_snapshots row of the pipeline",
            filled=True,
        ),
        ident(
            name="judge_snapshot_id",
            description="config_snapshots row of the pinned judge",
            nullable=True,
        ),
        integer(name="samples_n", description="samples per item", low=1, high=10_000, filled=True),
        integer(name="top_k", description="depth of retrieval", nullable=True, low=1),
        boolean(name="concepts_detected", description="concept detection ran", filled=True),
        boolean(name="citations_reported", description="citations are reported", filled=True),
        boolean(name="retrieval_reported", description="retrieval is reported", filled=True),
        text(name="label", description="name for people", nullable=True),
        time(name="started_at", description="when the run started", nullable=True),
    ),
)

EVENTS = Table(
    name="run_events",
    description="Status changes of a run; its status is the last event.",
    key=("workspace_id", "run_id", "seq"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    subject="run_id",
    columns=(
        WORKSPACE,
        RUN,
        integer(name="seq", description="order of the event, from 1", low=1, filled=True),
        word(name="status", description="status from now on", allowed=v.RUN_STATUSES),
        text(name="reason", description="why", nullable=True),
        time(name="occurred_at", description="when it happened", nullable=True),
    ),
)

SNAPSHOTS = Table(
    name="config_snapshots",
    description="A frozen configuration of a pipeline or a judge.",
    key=("workspace_id", "snapshot_id"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    columns=(
        WORKSPACE,
        ident(name="snapshot_id", description="SHA-256 of the payload", filled=True),
        word(name="kind", description="what is configured", allowed=v.SNAPSHOT_KINDS),
        json_text(
            name="payload",
            description="canonical JSON; of a judge it has the key `judge`",
        ),
    ),
    rules=(
        Rule(
            name="judge_payload_names_its_judge",
            column="payload",
            expr=(pl.col("kind") != "judge")
            | pl.col("payload").str.contains(r'"judge":\s*"[^"]+@[^"]+"'),
            description="a judge's payload has `judge` = model@prompt_version",
        ),
    ),
)

RESULTS = Table(
    name="results",
    description="The answer of one run to one item, one sample.",
    key=RESULT_KEY,
    storage=Storage.BULK,
    role=Role.INPUT,
    subject="run_id",
    columns=(
        *RESULT_COLUMNS,
        text(name="answer", description="answer text; null: no answer stage", nullable=True),
        boolean(name="abstained", description="the pipeline declined to answer", nullable=True),
        boolean(
            name="premise_rejected",
            description="the answer rejects the question's premise",
            nullable=True,
        ),
        boolean(
            name="retrieval_ran",
            description="false: contexts were given; absent: true unless the item gives them",
            filled=True,
        ),
        share(name="confidence", description="stated confidence, 0 to 1", nullable=True),
        text(name="error", description="provider error; excluded from means", nullable=True),
        ident(name="error_kind", description="kind of the error", nullable=True),
        amount(name="latency_ms", description="milliseconds", nullable=True),
        count(name="prompt_tokens", description="tokens in", nullable=True),
        count(name="completion_tokens", description="tokens out", nullable=True),
        amount(
            name="cost_usd",
            description="US dollars; unknown is null, never 0",
            nullable=True,
        ),
        time(name="answered_at", description="when it was answered", nullable=True),
    ),
)

RETRIEVALS = Table(
    name="retrievals",
    description="The ranked list of a result; rows with text are its evidence.",
    key=(*RESULT_KEY, "rank"),
    storage=Storage.BULK,
    role=Role.INPUT,
    subject="run_id",
    columns=(
        *RESULT_COLUMNS,
        integer(name="rank", description="position, from 1; gaps are harmless", low=1),
        ident(name="chunk_id", description="chunk", nullable=True),
        ident(name="doc_id", description="document"),
        number(name="score", description="retrieval score; it only orders", nullable=True),
        text(name="text", description="evidence text", nullable=True),
        time(name="doc_updated_at", description="source time of the document", nullable=True),
        boolean(name="superseded", description="a newer version exists", nullable=True),
        ident(name="conflicts_with", description="document it contradicts", nullable=True),
    ),
)

CITATIONS = Table(
    name="answer_citations",
    description="Documents the answer cites, in order.",
    key=(*RESULT_KEY, "ordinal"),
    storage=Storage.BULK,
    role=Role.INPUT,
    subject="run_id",
    columns=(
        *RESULT_COLUMNS,
        integer(name="ordinal", description="position of the citation in the answer", low=0),
        ident(name="doc_id", description="document cited"),
        ident(name="chunk_id", description="chunk cited", nullable=True),
    ),
)

VERDICTS = Table(
    name="assertion_verdicts",
    description="What a judge says of one assertion of one result.",
    key=(*RESULT_KEY, "assertion_id", "judge"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    columns=(
        *RESULT_COLUMNS,
        ident(name="assertion_id", description="assertion of the item's pinned revision"),
        ident(
            name="judge",
            description="model@prompt_version; absent: the run's pinned judge, else `unknown`",
            filled=True,
        ),
        word(name="verdict", description="the verdict", allowed=v.VERDICTS),
        boolean(
            name="context_supported",
            description="the retrieved evidence supports the assertion",
            nullable=True,
        ),
        ident(name="judge_model", description="model id", nullable=True),
        ident(name="prompt_version", description="prompt", nullable=True),
        text(name="raw", description="the judge's text", nullable=True),
    ),
)

CLAIMS = Table(
    name="claims",
    description="Atomic claims of an answer, judged against evidence and reference.",
    key=(*RESULT_KEY, "claim_id", "judge"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    columns=(
        *RESULT_COLUMNS,
        ident(name="claim_id", description="claim within the answer"),
        ident(
            name="judge",
            description="model@prompt_version; absent: the run's pinned judge, else `unknown`",
            filled=True,
        ),
        text(name="text", description="the claim", nullable=True),
        boolean(name="grounded", description="entailed by the evidence", nullable=True),
        boolean(name="correct", description="agrees with the reference", nullable=True),
    ),
)

DETECTED = Table(
    name="detected_concepts",
    description="Entities found in the evidence or the answer.",
    key=(*RESULT_KEY, "entity_id", "place"),
    storage=Storage.BULK,
    role=Role.INPUT,
    subject="run_id",
    columns=(
        *RESULT_COLUMNS,
        ident(name="entity_id", description="entity"),
        word(name="place", description="where it was found", allowed=v.PLACES),
    ),
)

CHECKS = Table(
    name="checks",
    description="Deterministic checks of the runner.",
    key=(*RESULT_KEY, "check_id"),
    storage=Storage.BULK,
    role=Role.INPUT,
    subject="run_id",
    columns=(
        *RESULT_COLUMNS,
        ident(name="check_id", description="check"),
        boolean(name="passed", description="null: the check could not run", nullable=True),
        json_text(name="detail", description="canonical JSON", nullable=True),
    ),
)

SCORES = Table(
    name="external_scores",
    description="Scores computed elsewhere: payload metrics and plugin metrics.",
    key=(*RESULT_KEY, "metric"),
    storage=Storage.BULK,
    role=Role.INPUT,
    subject="run_id",
    columns=(
        *RESULT_COLUMNS,
        ident(name="metric", description="a payload name or plugin.<namespace>.<name>"),
        measured(name="value", description="the score"),
    ),
    rules=(
        Rule(
            name="not_a_payload_or_plugin_name",
            column="metric",
            expr=pl.col("metric").is_in(v.PAYLOADS) | pl.col("metric").str.contains(PLUGIN),
            description="metric is " + ", ".join(v.PAYLOADS) + " or plugin.<namespace>.<name>",
        ),
        Rule(
            name="payload_out_of_range",
            column="value",
            expr=~pl.col("metric").is_in(v.PAYLOADS) | pl.col("value").is_between(0.0, 1.0),
            description="a payload score lies in 0..1",
        ),
    ),
)

RUN_METRICS = Table(
    name="external_run_metrics",
    description="Plugin numbers about a whole run.",
    key=("workspace_id", "run_id", "metric"),
    storage=Storage.BULK,
    role=Role.INPUT,
    subject="run_id",
    columns=(
        WORKSPACE,
        RUN,
        ident(name="metric", description="plugin.<namespace>.<name>"),
        measured(name="value", description="the number"),
    ),
    rules=(
        Rule(
            name="not_a_plugin_name",
            column="metric",
            expr=pl.col("metric").str.contains(PLUGIN),
            description="metric is plugin.<namespace>.<name>",
        ),
    ),
)

PLUGINS = Table(
    name="plugin_metrics",
    description="Declarations of plugin metrics; undeclared ones never get a verdict.",
    key=("workspace_id", "metric"),
    storage=Storage.EVENT,
    role=Role.INPUT,
    columns=(
        WORKSPACE,
        ident(name="metric", description="plugin.<namespace>.<name>"),
        text(name="title", description="name for people"),
        text(name="unit", description="unit"),
        measured(name="low", description="smallest possible value", nullable=True),
        measured(name="high", description="largest possible value", nullable=True),
        word(name="better", description="direction", allowed=v.BETTER),
    ),
    rules=(
        Rule(
            name="not_a_plugin_name",
            column="metric",
            expr=pl.col("metric").str.contains(PLUGIN),
            description="metric is plugin.<namespace>.<name>",
        ),
        Rule(
            name="low_above_high",
            column="low",
            expr=(pl.col("low") <= pl.col("high")).fill_null(value=True),
            description="low is not above high",
        ),
    ),
)

TABLES = (
    RUNS,
    EVENTS,
    SNAPSHOTS,
    RESULTS,
    RETRIEVALS,
    CITATIONS,
    VERDICTS,
    CLAIMS,
    DETECTED,
    CHECKS,
    SCORES,
    RUN_METRICS,
    PLUGINS,
)
