"""The example: two real runs of the embedded pipeline over a corpus and a golden set, rebuilt.

The corpus (`corpus/v1`, `corpus/v2`: Markdown and entities.toml) and `golden.jsonl` are written by
hand. The rest of the folder is derived here: corpus tables, `runs/*.jsonl` and `qrels.jsonl`.
The same bytes come out on every machine: no clock, no threads, every number rounded.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from crucible_batch.errors import ContractError
from crucible_batch.judges import lexical as judge
from crucible_batch.store.golden_hash import hash_of_items, item_hash
from crucible_batch.targets.corpus import (
    HASH_VERSION,
    Document,
    Entity,
    mentioned,
    read_documents,
    read_entities,
)
from crucible_batch.targets.lexical import PLAIN, REWRITE, Answer, Hit, LexicalConfig, LexicalTarget

GOLDEN_SET = "crucible-example"
AS_OF = "2026-03-02T00:00:00Z"
"""The one time of everything derived: the start and end of both runs, and of their judging."""

OBSERVED_AT = {"v1": "2026-02-07T00:00:00Z", "v2": "2026-03-01T00:00:00Z"}
"""When each corpus version was looked at; the runs read the last one."""

CURRENT = "v2"
SAMPLES_N = 2
POOL_DEPTH = 10
RUNS: Mapping[str, LexicalConfig] = {"baseline": PLAIN, "candidate": REWRITE}

Row = dict[str, Any]


@dataclass(frozen=True)
class Ran:
    """One sample of one item, answered."""

    item: Row
    sample_index: int
    answer: Answer


def example_dir() -> Path:
    """The folder of the example: inside the installed package, or `data/example` of a checkout.

    Raises:
        ContractError: It is in neither place.
    """
    package = Path(__file__).resolve().parents[1]
    places = (package / "example", package.parent / "data" / "example")
    for place in places:
        if (place / "golden.jsonl").is_file():
            return place
    raise ContractError(
        "The example data is not there",
        problems=[f"no golden.jsonl in {place}" for place in places],
        fix="install the package again, or run from a checkout",
    )


def rebuild(root: Path) -> list[str]:
    """Write every derived file anew; return the names of those that changed, sorted."""
    built = build(root)
    changed = differing(root, built)
    for name in changed:
        path = root / name
        if name in built:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(built[name])
        else:
            path.unlink()
    return changed


def differing(root: Path, built: Mapping[str, bytes]) -> list[str]:
    """Names of derived files that are absent, differ from what was built, or should not exist."""
    patterns = ("corpus/*/tables/*", "runs/*", "qrels.jsonl")
    there = {str(path.relative_to(root)) for pattern in patterns for path in root.glob(pattern)}
    stale = {name for name in built.keys() & there if (root / name).read_bytes() != built[name]}
    return sorted(stale | (built.keys() ^ there))


def build(root: Path) -> dict[str, bytes]:
    """Make every derived file from the hand-written ones; nothing is written.

    Returns:
        Path below `root`, with forward slashes, to content.
    """
    golden = read_golden(root)
    files: dict[str, bytes] = {}
    for version in OBSERVED_AT:
        documents, entities = read_corpus(root, version)
        for table, rows in corpus_tables(documents, entities).items():
            files[f"corpus/{version}/tables/{table}.jsonl"] = json_lines(rows)
    documents, entities = read_corpus(root, CURRENT)
    ran = {
        name: run_target(LexicalTarget(config, documents, entities), golden)
        for name, config in RUNS.items()
    }
    for name, config in RUNS.items():
        header = run_header(config, golden, documents)
        results = (result_row(one) for one in ran[name])
        files[f"runs/{name}.jsonl"] = json_lines([{"run": header}, *results])
    files["qrels.jsonl"] = json_lines(grade_pool(golden, ran.values(), documents))
    return files


def read_golden(root: Path) -> list[Row]:
    """The golden items as they stand in the file, sorted by item_id."""
    lines = (root / "golden.jsonl").read_text(encoding="utf-8").splitlines()
    return sorted((json.loads(line) for line in lines), key=lambda item: str(item["item_id"]))


def read_corpus(root: Path, version: str) -> tuple[list[Document], list[Entity]]:
    """Documents and entities of one frozen version."""
    folder = root / "corpus" / version
    return read_documents(folder), read_entities(folder / "entities.toml")


def corpus_tables(
    documents: Sequence[Document], entities: Sequence[Entity]
) -> dict[str, list[Row]]:
    """Rows of the contract tables documents, entities and mentions, sorted by key."""
    listed = [
        {
            "doc_id": document.doc_id,
            "content_hash": document.content_hash,
            "hash_version": HASH_VERSION,
            "source_updated_at": document.source_updated_at,
        }
        for document in documents
    ]
    mentions = sorted(
        (entity_id, document.doc_id)
        for document in documents
        for entity_id in mentioned((document.title, document.text), entities)
    )
    return {
        "documents": listed,
        "entities": [{"entity_id": e.entity_id, "entity_type": e.entity_type} for e in entities],
        "mentions": [{"entity_id": entity, "doc_id": doc} for entity, doc in mentions],
    }


def run_target(target: LexicalTarget, golden: Iterable[Row]) -> list[Ran]:
    """Ask the target every question, `SAMPLES_N` times."""
    return [
        Ran(item, sample, target.answer(item["item_id"], item["question"], sample))
        for item in golden
        for sample in range(SAMPLES_N)
    ]


def run_header(config: LexicalConfig, golden: Sequence[Row], documents: Sequence[Document]) -> Row:
    """What stands in the first line of a run: what was run, over what, judged by whom."""
    corpus = "".join(f"{doc.doc_id}\t{doc.content_hash}\n" for doc in documents)
    digest = hashlib.sha256(corpus.encode()).hexdigest()
    return {
        "run_id": config.name,
        "golden_set": GOLDEN_SET,
        "golden_set_hash": golden_hash(golden),
        "target": {
            "target": "lexical",
            **asdict(config),
            "corpus": {"version": CURRENT, "sha256": digest},
        },
        "judge": {"judge": judge.JUDGE, "model": judge.MODEL, **judge.RULES},
        "samples_n": SAMPLES_N,
        "top_k": config.top_k,
        "concepts_detected": True,
        "citations_reported": True,
        "retrieval_reported": True,
        "label": config.name,
        "started_at": AS_OF,
        "status": "succeeded",
        "reason": None,
        "occurred_at": AS_OF,
    }


def golden_hash(golden: Iterable[Row]) -> str:
    """The hash that names this version of the golden set."""
    children = ("assertions", "concepts", "citations")
    hashes = [
        (item["item_id"], item_hash(item, *(item[child] for child in children))) for item in golden
    ]
    return hash_of_items(pl.DataFrame(hashes, schema=["item_id", "item_hash"], orient="row"))


def result_row(ran: Ran) -> Row:
    """One line of a run: the answer, what it was taken from, and what the judge says of it."""
    answer = ran.answer
    said = "" if answer.abstained else answer.text
    evidence = [hit.chunk.text for hit in answer.evidence]
    return {
        "item_id": ran.item["item_id"],
        "sample_index": ran.sample_index,
        "answer": answer.text,
        "abstained": answer.abstained,
        "retrieval_ran": True,
        "confidence": answer.confidence,
        "retrievals": [_retrieval(hit, hit in answer.evidence) for hit in answer.hits],
        "citations": [
            {"ordinal": ordinal, "doc_id": chunk.document.doc_id, "chunk_id": chunk.chunk_id}
            for ordinal, chunk in enumerate(answer.cited, start=1)
        ],
        "concepts": [
            *({"entity_id": e, "place": "evidence"} for e in answer.evidence_concepts),
            *({"entity_id": e, "place": "answer"} for e in answer.answer_concepts),
        ],
        "verdicts": list(_verdicts(ran.item["assertions"], said, evidence)),
        "claims": [
            {"claim_id": f"c{n}", "text": claim, "grounded": judge.grounded(claim, evidence)}
            for n, claim in enumerate(judge.sentences(said), start=1)
        ],
    }


def _retrieval(hit: Hit, is_evidence: bool) -> Row:
    """A retrieved chunk; only what the answer was taken from carries its text."""
    document = hit.chunk.document
    row: Row = {
        "rank": hit.rank,
        "chunk_id": hit.chunk.chunk_id,
        "doc_id": document.doc_id,
        "score": hit.score,
        "doc_updated_at": document.source_updated_at,
        "superseded": document.superseded_by is not None,
    }
    return row | ({"text": hit.chunk.text} if is_evidence else {})


def _verdicts(assertions: Iterable[Row], said: str, evidence: Sequence[str]) -> Iterator[Row]:
    for assertion in assertions:
        found = judge.judge_assertion(assertion["text"], said, evidence)
        yield {
            "assertion_id": assertion["assertion_id"],
            "verdict": found.verdict,
            "context_supported": found.context_supported,
        }


def grade_pool(
    golden: Iterable[Row], runs: Iterable[Sequence[Ran]], documents: Iterable[Document]
) -> list[Row]:
    """Grade what any run has among its first `POOL_DEPTH` chunks for an item; rows of qrels.

    Items without assertions are left out: nothing says what a relevant document would hold.
    """
    texts = {document.doc_id: f"{document.title}\n\n{document.text}" for document in documents}
    pool: dict[str, set[str]] = {}
    for ran in (one for run in runs for one in run):
        found = {hit.chunk.document.doc_id for hit in ran.answer.hits[:POOL_DEPTH]}
        pool.setdefault(ran.item["item_id"], set()).update(found)
    rows = []
    for item in golden:
        must, should = (
            [a["text"] for a in item["assertions"] if a["level"] == level]
            for level in ("must", "should")
        )
        for doc_id in sorted(pool[item["item_id"]]):
            grade = judge.grade(item["question"], must, should, texts[doc_id])
            if grade is not None:
                rows.append(_qrel(item["item_id"], doc_id, grade))
    return rows


def _qrel(query_id: str, doc_id: str, grade: int) -> Row:
    return {
        "query_id": query_id,
        "doc_id": doc_id,
        "grade": grade,
        "source": "llm",
        "judge": judge.JUDGE,
        "judge_model": judge.MODEL,
        "prompt_version": judge.PROMPT_VERSION,
        "created_at": AS_OF,
    }


def json_lines(rows: Iterable[Row]) -> bytes:
    """One compact object per line, keys as written, UTF-8 kept as it is."""
    lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()
