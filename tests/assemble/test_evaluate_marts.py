"""What the marts of an evaluation hold beside numbers: footers, notes, feedback, the catalog."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib.metadata import version

import polars as pl
import pytest
from bench import Bench, item, number, result

from crucible_batch.assemble.evaluate.feedback import classified_events, feedback_id
from crucible_batch.assemble.load import load_corpus
from crucible_batch.contracts import TABLES
from crucible_batch.metrics import catalog
from crucible_batch.store.doctor import diagnose

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    """Run r: q1 right, q2 and q3 wrong; it retrieved at most 3 documents."""
    bench = Bench(tmp_path_factory.mktemp("marts"))
    bench.golden(*[item(f"q{n}", must=1) for n in (1, 2, 3)])
    bench.qrels(("q1", "d1", 3), ("q2", "d1", 2), ("q2", "never seen", 1))
    bench.run(
        "r",
        result("q1", "d1", verdict="supported", confidence=0.9),
        result("q2", "d2", verdict="missing", confidence=0.4),
        result("q3", "d3", verdict="contradicted", confidence=0.2),
        top_k=3,
    )
    corpus = bench.folder / "documents.jsonl"
    corpus.write_text('{"doc_id": "d1", "content_hash": "x", "hash_version": "1"}\n')
    load_corpus(bench.store, [corpus], corpus_version="v1", observed_at=NOW)
    return bench


@pytest.fixture(scope="module")
def done(bench):
    return bench.score("r")


def test_every_footer_names_contract_package_ruler_settings_golden_set_and_inputs(done):
    for table, path in done.paths.items():
        footer = pl.read_parquet_metadata(path)
        assert footer["crucible.table"] == table
        assert footer["crucible.version"] == str(TABLES[table].version)
        assert footer["crucible.package"] == version("crucible-batch")
        for name in (
            "evaluation_id",
            "ruler_hash",
            "settings_hash",
            "golden_set_hash",
            "rows_hash",
        ):
            assert footer[f"crucible.{name}"] == done.row[name]
        prints = {name for name in footer if name.startswith("crucible.fingerprint.")}
        assert len(prints) == 9
        own = [text for name, text in footer.items() if name.startswith("crucible.")]
        assert not any("/" in text or text.startswith("c0") for text in own)


def test_every_mart_keeps_its_contract(done):
    for table, path in done.paths.items():
        frame = pl.read_parquet(path)
        assert {name: frame.schema[name] for name in TABLES[table].names} == TABLES[table].schema
        assert not frame.select(TABLES[table].key).is_duplicated().any()


def test_no_number_is_nan(done):
    for table in done.paths:
        floats = done.read(table).select(pl.selectors.float())
        assert not floats.select(pl.any_horizontal(pl.all().is_nan().any())).to_series().any()


def test_counts_add_up_for_every_metric_and_slice(done):
    rows = done.read("run_metrics")
    total = pl.col("n_scored") + pl.col("n_not_applicable") + pl.col("n_missing")
    assert rows.filter(total != pl.col("n_expected")).is_empty()


def test_a_cut_off_deeper_than_the_run_retrieved_is_noted(done):
    assert number(done, "recall_at_10")["notes"] == ["top_k 3 < 10"]
    assert number(done, "recall_at_5")["notes"] == ["top_k 3 < 5"]
    assert number(done, "mrr")["notes"] == []


def test_grades_of_documents_that_nothing_knows_are_counted(done):
    assert done.row["n_unknown_judgments"] == 1


def test_the_evaluation_row_names_every_file_and_its_hash(bench, done):
    files = bench.files("marts")
    named = dict(zip(done.row["mart_paths"], done.row["mart_sha256"], strict=True))
    assert {path: files[path] for path in named} == named
    assert [finding.level for finding in diagnose(bench.store.workspace("default"))] == ["ok"]


def test_the_metric_catalog_is_the_declarations_and_of_no_evaluation(bench, done):
    path = bench.root / "marts/metric_catalog/catalog.parquet"
    rows = pl.read_parquet(path)
    declared = catalog.to_frame().sort("metric")
    assert rows.drop("workspace_id").equals(declared)
    assert not any("metric_catalog" in path for path in done.row["mart_paths"])


def test_the_metric_catalog_is_written_when_it_changed_and_only_then(bench, done):
    path = bench.root / "marts/metric_catalog/catalog.parquet"
    first, written = path.read_bytes(), path.stat().st_mtime_ns
    bench.score("r")
    assert path.stat().st_mtime_ns == written
    bench.settings("[scoring]\nks = [3]\n")
    bench.score("r")
    assert "recall_at_3" in pl.read_parquet(path)["metric"].to_list()
    bench.settings("")
    path.unlink()
    bench.score("r")
    assert path.read_bytes() == first


def test_the_default_scoring_classifies_every_failure_once(bench, done):
    events = bench.rows("eval_feedback")
    assert [(row["item_id"], row["seq"], row["kind"], row["error_class"]) for row in events] == [
        ("q2", 1, "classified", "hallucination"),
        ("q3", 1, "classified", "hallucination"),
    ]
    bench.score("r")
    assert bench.rows("eval_feedback") == events


def test_a_variant_classifies_nothing(bench, done):
    before = bench.rows("eval_feedback")
    bench.override("assertion_verdicts", "verdict", ["r", "q1", 0, "a0", "judge@1"], "missing")
    bench.score("r", relevant_at=3)
    assert bench.rows("eval_feedback") == before


def _classes(**classes: str | None) -> pl.DataFrame:
    rows = [(name, 0, found, f"{found} rule") for name, found in classes.items()]
    schema = ["item_id", "sample_index", "error_class", "error_rule"]
    return pl.DataFrame(rows, schema=schema, orient="row").cast({"sample_index": pl.Int64})


def _after(stored: pl.DataFrame, **classes: str | None) -> pl.DataFrame:
    events = classified_events(_classes(**classes), stored, workspace="w", run_id="r", now=NOW)
    return pl.concat([stored, events])


NONE = TABLES["eval_feedback"].empty()


def test_correct_and_unlabelled_results_get_no_event():
    assert _after(NONE, q1="correct", q2=None).is_empty()


def test_the_same_class_again_is_a_no_op_and_another_one_is_appended():
    once = _after(NONE, q1="stale")
    assert _after(once, q1="stale").equals(once)
    twice = _after(once, q1="incomplete")
    assert twice.select("seq", "error_class").rows() == [(1, "stale"), (2, "incomplete")]


def test_a_class_that_comes_back_is_appended_again():
    events = _after(_after(_after(NONE, q1="stale"), q1="incomplete"), q1="stale")
    assert events["error_class"].to_list() == ["stale", "incomplete", "stale"]


@pytest.mark.parametrize("kind", ["promoted", "dismissed"])
def test_a_closed_failure_stays_closed(kind):
    once = _after(NONE, q1="stale")
    closing = once.with_columns(seq=pl.lit(2, pl.Int64), kind=pl.lit(kind))
    closed = pl.concat([once, closing])
    assert _after(closed, q1="incomplete").equals(closed)


def test_a_correction_keeps_the_failure_open_for_another_class():
    once = _after(NONE, q1="stale")
    corrected = once.with_columns(seq=pl.lit(2, pl.Int64), kind=pl.lit("corrected"))
    both = pl.concat([once, corrected])
    assert _after(both, q1="stale").equals(both)
    assert _after(both, q1="incomplete")["seq"].to_list() == [1, 2, 3]


def test_the_id_of_a_failure_is_that_of_its_result():
    assert feedback_id("r", "q1", 0) == feedback_id("r", "q1", 0)
    assert (
        len({feedback_id("r", "q1", 0), feedback_id("r", "q1", 1), feedback_id("r2", "q1", 0)}) == 3
    )
