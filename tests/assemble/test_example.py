"""The example: what the golden set must hold, and that the derived files are really derived."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from crucible_batch.assemble import example
from crucible_batch.contracts import TABLES
from crucible_batch.contracts import vocabulary as v
from crucible_batch.errors import ContractError
from crucible_batch.formats.read import read
from crucible_batch.formats.sources import find
from crucible_batch.formats.verbs import Verb
from crucible_batch.judges import lexical as judge
from crucible_batch.store.golden_hash import golden_set_hash
from crucible_batch.targets.corpus import Document

ROOT = example.example_dir()
GOLDEN = example.read_golden(ROOT)
CORPUS = {version: example.read_corpus(ROOT, version) for version in example.OBSERVED_AT}
DOCUMENTS: dict[str, Document] = {d.doc_id: d for d in CORPUS[example.CURRENT][0]}

Rows = list[dict[str, Any]]


def lines(name: str) -> Rows:
    return [json.loads(line) for line in (ROOT / name).read_text(encoding="utf-8").splitlines()]


def cited(item: dict[str, Any], kind: str) -> list[str]:
    return [c["doc_id"] for c in item["citations"] if c["kind"] == kind]


def results(name: str) -> Rows:
    return lines(f"runs/{name}.jsonl")[1:]


# --- rebuilding


def test_a_rebuild_gives_the_committed_files_byte_for_byte() -> None:
    assert example.differing(ROOT, example.build(ROOT)) == []


def test_a_rebuild_in_another_process_with_another_hash_seed_gives_the_same_bytes() -> None:
    script = [sys.executable, str(ROOT / "rebuild.py"), "--check"]
    environment = {"PYTHONHASHSEED": "4711", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"}
    done = subprocess.run(script, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "0 files differ\n"), done.stderr


def test_changed_lost_and_left_over_files_are_named(tmp_path: Path) -> None:
    built = {"runs/a.jsonl": b"1\n", "qrels.jsonl": b"2\n"}
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "a.jsonl").write_bytes(b"0\n")
    (tmp_path / "runs" / "old.jsonl").write_bytes(b"0\n")
    names = ["qrels.jsonl", "runs/a.jsonl", "runs/old.jsonl"]
    assert example.differing(tmp_path, built) == names


def test_a_rebuild_restores_the_derived_files_and_then_has_nothing_to_do(tmp_path: Path) -> None:
    copy = tmp_path / "example"
    shutil.copytree(ROOT, copy)
    (copy / "qrels.jsonl").unlink()
    (copy / "runs" / "old.jsonl").write_bytes(b"0\n")
    assert example.rebuild(copy) == ["qrels.jsonl", "runs/old.jsonl"]
    assert not (copy / "runs" / "old.jsonl").exists()
    assert (copy / "qrels.jsonl").read_bytes() == (ROOT / "qrels.jsonl").read_bytes()


def test_the_example_is_small_enough_to_read() -> None:
    assert sum(path.stat().st_size for path in ROOT.rglob("*") if path.is_file()) < 3_000_000


# --- the corpus


@pytest.mark.parametrize("version", sorted(CORPUS))
def test_the_corpus_has_at_least_40_short_documents_with_times(version: str) -> None:
    documents, _ = CORPUS[version]
    assert len(documents) >= 40
    assert all(80 <= len(document.text.split()) <= 250 for document in documents)
    times = [document.source_updated_at or "9" for document in documents]
    assert max(times) < example.OBSERVED_AT[version] < example.AS_OF


def test_documents_were_added_removed_edited_moved_and_superseded() -> None:
    old, new = (
        {document.doc_id: document for document in CORPUS[version][0]} for version in ("v1", "v2")
    )
    hashes = [{d.content_hash for d in side.values()} for side in (old, new)]
    added, removed = new.keys() - old.keys(), old.keys() - new.keys()
    assert len(added) >= 5
    assert len(removed) >= 3
    assert sum(old[d].content_hash != new[d].content_hash for d in old.keys() & new.keys()) >= 4
    assert [d for d in sorted(added) if new[d].content_hash in hashes[0]] == ["mrr"]
    freshly = [d for d in new if new[d].superseded_by and not old[d].superseded_by]
    assert len(freshly) >= 3


@pytest.mark.parametrize("version", sorted(CORPUS))
def test_a_superseding_document_is_there(version: str) -> None:
    documents = {d.doc_id: d for d in CORPUS[version][0]}
    for document in documents.values():
        assert document.superseded_by is None or document.superseded_by in documents


def test_only_entities_that_lost_their_documents_are_orphans() -> None:
    orphans = {}
    for version in CORPUS:
        mentioned = {row["entity_id"] for row in lines(f"corpus/{version}/tables/mentions.jsonl")}
        entities = {row["entity_id"] for row in lines(f"corpus/{version}/tables/entities.jsonl")}
        orphans[version] = sorted(entities - mentioned)
    assert orphans == {"v1": [], "v2": ["shared-mailbox", "spreadsheet"]}


# --- the golden set


def test_the_golden_set_has_at_least_60_items_each_once() -> None:
    ids = [item["item_id"] for item in GOLDEN]
    assert len(ids) == len(set(ids)) >= 60
    assert {item["golden_set"] for item in GOLDEN} == {example.GOLDEN_SET}


def test_at_least_8_items_are_unanswerable_and_4_have_a_false_premise() -> None:
    false_premise = [i for i in GOLDEN if i["question_type"] == "false_premise"]
    unanswerable = [i for i in GOLDEN if not i["answerable"] and i not in false_premise]
    assert len(unanswerable) >= 8
    assert len(false_premise) >= 4
    assert not any(item["answerable"] for item in false_premise)


@pytest.mark.parametrize(
    ("facet", "values", "least"),
    [
        ("shape", v.SHAPES, 5),
        ("popularity", v.POPULARITIES, 15),
        ("dynamism", ("static", "slow", "fast"), 8),
        ("question_type", v.QUESTION_TYPES, 3),
    ],
)
def test_every_facet_is_spread(facet: str, values: tuple[str, ...], least: int) -> None:
    found = Counter(item[facet] for item in GOLDEN)
    assert set(found) == set(values)
    assert min(found.values()) >= least


def test_paraphrases_share_a_cluster_and_what_they_require() -> None:
    clusters: dict[str, Rows] = {}
    for item in GOLDEN:
        if item["cluster_id"]:
            clusters.setdefault(item["cluster_id"], []).append(item)
    assert len(clusters) >= 5
    for members in clusters.values():
        assert 2 <= len(members) <= 3
        assert len({tuple(cited(item, "required")) for item in members}) == 1


def test_answerable_items_have_an_answer_a_must_and_a_required_document() -> None:
    for item in GOLDEN:
        if item["answerable"]:
            assert item["ground_truth"]
            assert any(a["level"] == "must" for a in item["assertions"])
            assert cited(item, "required")


def test_unanswerable_items_require_nothing_unless_a_premise_is_to_be_corrected() -> None:
    for item in GOLDEN:
        if not item["answerable"] and item["question_type"] != "false_premise":
            assert (item["ground_truth"], item["assertions"], item["citations"]) == (None, [], [])


def test_forbidden_documents_are_superseded_and_required_ones_are_current() -> None:
    forbidden = [doc for item in GOLDEN for doc in cited(item, "forbidden")]
    required = [doc for item in GOLDEN for doc in cited(item, "required")]
    assert len(forbidden) >= 8
    assert all(DOCUMENTS[doc].superseded_by for doc in forbidden)
    assert not any(DOCUMENTS[doc].superseded_by for doc in required)


def test_concepts_are_entities_of_the_corpus_and_near_misses_are_listed() -> None:
    known = {entity.entity_id for entity in CORPUS[example.CURRENT][1]}
    found = Counter()
    for item in GOLDEN:
        listed = {c["entity_id"]: c["relevance"] for c in item["concepts"]}
        assert len(listed) == len(item["concepts"])
        assert listed.keys() <= known
        assert {a.get("concept_id") for a in item["assertions"]} <= {None, *listed}
        found.update(listed.values())
    assert set(found) == set(v.CONCEPT_RELEVANCES)
    assert found["irrelevant"] >= 30


def test_assertions_are_single_sentences_that_the_required_documents_make() -> None:
    for item in GOLDEN:
        texts = [DOCUMENTS[doc].text for doc in cited(item, "required")]
        for assertion in item["assertions"]:
            assert len(judge.sentences(assertion["text"])) == 1
            if assertion["level"] == "must":
                assert judge.support(assertion["text"], texts) != "missing", assertion["text"]


def test_the_keys_of_the_golden_file_are_contract_columns() -> None:
    children = {
        "assertions": "golden_assertions",
        "concepts": "golden_concepts",
        "citations": "golden_citations",
    }
    for item in GOLDEN:
        assert item.keys() - children.keys() <= set(TABLES["golden_items"].names)
        for child, table in children.items():
            assert all(row.keys() <= set(TABLES[table].names) for row in item[child])


def test_the_pinned_hash_is_the_one_the_store_gives_this_golden_set() -> None:
    items = pl.DataFrame(
        [{k: i[k] for k in i if k in TABLES["golden_items"].names} for i in GOLDEN],
        schema_overrides={"cluster_id": pl.String, "tags": pl.List(pl.String)},
        infer_schema_length=None,
    )
    children = [
        pl.DataFrame(
            [{"item_id": i["item_id"], **row} for i in GOLDEN for row in i[child]],
            infer_schema_length=None,
        )
        for child in ("assertions", "concepts", "citations")
    ]
    assert golden_set_hash(items, *children) == example.golden_hash(GOLDEN)


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        (Verb.GOLDEN, "golden.jsonl"),
        (Verb.QRELS, "qrels.jsonl"),
        (Verb.RUN, "runs/baseline.jsonl"),
        (Verb.RUN, "runs/candidate.jsonl"),
        (Verb.CORPUS, "corpus/v1/tables"),
        (Verb.CORPUS, "corpus/v2/tables"),
    ],
)
def test_the_readers_take_every_row_without_a_complaint(verb: Verb, name: str) -> None:
    sources, skipped = find([ROOT / name], verb)
    reading = read(sources, verb)
    complaints = [r for chunk in reading.chunks for r in chunk.frame["_reasons"].to_list() if r]
    assert complaints == []
    assert skipped == ()
    assert sum(reading.findings.n_rows.values()) > 70


# --- the runs


@pytest.mark.parametrize("name", sorted(example.RUNS))
def test_a_run_has_every_item_in_two_samples(name: str) -> None:
    keys = {(row["item_id"], row["sample_index"]) for row in results(name)}
    assert len(keys) == len(results(name)) == 2 * len(GOLDEN)


@pytest.mark.parametrize("name", sorted(example.RUNS))
def test_cited_documents_were_retrieved(name: str) -> None:
    for row in results(name):
        chunks = {hit["chunk_id"] for hit in row["retrievals"]}
        assert {c["chunk_id"] for c in row["citations"]} <= chunks
        assert row["abstained"] != bool(row["citations"])


@pytest.mark.parametrize("name", sorted(example.RUNS))
def test_nothing_that_was_not_measured_is_reported(name: str) -> None:
    measured = {"latency_ms", "prompt_tokens", "completion_tokens", "cost_usd", "answered_at"}
    assert not any(measured & row.keys() for row in results(name))


@pytest.mark.parametrize("name", sorted(example.RUNS))
def test_superseded_documents_are_flagged_where_they_were_retrieved(name: str) -> None:
    hits = [hit for row in results(name) for hit in row["retrievals"]]
    assert any(hit["superseded"] for hit in hits)
    for hit in hits:
        assert hit["superseded"] == (DOCUMENTS[hit["doc_id"]].superseded_by is not None)


@pytest.mark.parametrize("name", sorted(example.RUNS))
def test_every_assertion_is_judged_and_an_abstention_supports_nothing(name: str) -> None:
    assertions = {i["item_id"]: [a["assertion_id"] for a in i["assertions"]] for i in GOLDEN}
    for row in results(name):
        assert [x["assertion_id"] for x in row["verdicts"]] == assertions[row["item_id"]]
        if row["abstained"]:
            assert {x["verdict"] for x in row["verdicts"]} <= {"missing"}
            assert row["claims"] == []


def test_both_runs_pin_the_same_golden_set_and_judge() -> None:
    headers = [lines(f"runs/{name}.jsonl")[0]["run"] for name in example.RUNS]
    assert [header["run_id"] for header in headers] == ["lexical-plain", "lexical-rewrite"]
    assert headers[0]["golden_set_hash"] == headers[1]["golden_set_hash"]
    assert headers[0]["judge"] == headers[1]["judge"]
    assert headers[0]["judge"]["judge"] == judge.JUDGE
    assert headers[0]["target"]["corpus"] == headers[1]["target"]["corpus"]


def test_every_time_of_a_run_is_the_fixed_one() -> None:
    stamp = re.compile(r'"(?:started_at|occurred_at|created_at)":"([^"]+)"')
    for name in ("runs/baseline.jsonl", "runs/candidate.jsonl", "qrels.jsonl"):
        assert set(stamp.findall((ROOT / name).read_text(encoding="utf-8"))) == {example.AS_OF}


# --- the pool


def test_the_pool_is_what_either_run_retrieved_for_items_with_assertions() -> None:
    with_assertions = {item["item_id"] for item in GOLDEN if item["assertions"]}
    pool = {
        (row["item_id"], hit["doc_id"])
        for name in example.RUNS
        for row in results(name)
        for hit in row["retrievals"][: example.POOL_DEPTH]
        if row["item_id"] in with_assertions
    }
    graded = [(row["query_id"], row["doc_id"]) for row in lines("qrels.jsonl")]
    assert len(graded) == len(set(graded))
    assert set(graded) == pool


def test_grades_are_those_of_the_lexical_judge_in_its_own_lane() -> None:
    rows = lines("qrels.jsonl")
    assert {row["grade"] for row in rows} == {0, 1, 2, 3}
    assert {(row["source"], row["judge"]) for row in rows} == {("llm", judge.JUDGE)}


def test_a_package_without_the_example_says_where_it_looked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(example, "__file__", str(tmp_path / "crucible_batch" / "a" / "example.py"))
    with pytest.raises(ContractError, match="example data is not there"):
        example.example_dir()
