"""Through the loaders and the store: a refused row of a result never raises a score unseen."""

from __future__ import annotations

import itertools
import math

import polars as pl
import pytest
from bench import Bench
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from whole_run import KEYS, assert_nothing_rose, measured, numbers, whole

from crucible_batch.assemble.load import load_run
from crucible_batch.contracts import TABLES
from crucible_batch.formats.verbs import CHILDREN

ON = ["item_id", "sample_index", "metric"]
POSITIONS = {"retrievals": "rank", "citations": "ordinal"}
RUN_NUMBERS = itertools.count()
FEW = settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)

BAD = {
    "retrievals": [
        {"score": math.nan},
        {"doc_id": " "},
        {"rank": 0},
        {"rank": 2},
        {"sample_index": -1},
    ],
    "citations": [{"doc_id": ""}, {"ordinal": -1}],
    "verdicts": [{"verdict": "right"}, {"assertion_id": ""}, {"assertion_id": "a1"}],
    "claims": [{"claim_id": ""}, {"claim_id": "c1"}],
    "concepts": [{"place": "nowhere"}, {"entity_id": "\n"}],
    "checks": [{"check_id": ""}, {"check_id": "c1"}],
    "scores": [
        {"value": math.inf},
        {"metric": "plugin.a.b", "value": 1e200},
        {"value": 2.0},
        {"metric": "oops"},
    ],
}
"""What a first child row may become, of any format."""

BAD_JSON = BAD | {
    "retrievals": [*BAD["retrievals"], {"score": "0.5"}, {"titel": "x"}, {"item_id": "q9"}],
    "claims": [*BAD["claims"], {"grounded": "no"}, {"item_id": 7}],
    "checks": [*BAD["checks"], {"passed": "no"}],
    "citations": [*BAD["citations"], {"doc_id": 7}],
}
"""What it may become on a JSON line besides."""


def corruptions(bad):
    """Result, kind of child and change: of each result one row at most."""
    change = st.sampled_from(
        [(kind, change) for kind, several in bad.items() for change in several]
    )
    return st.dictionaries(st.sampled_from(KEYS), change, min_size=1, max_size=6)


def corrupted(key, harm):
    """The result of `key`, its first child row of one kind changed as `harm` says."""
    row = whole(*key)
    if key in harm:
        kind, change = harm[key]
        first, *rest = row[kind]
        row = row | {kind: [first | change, *rest]}
    return row


def header(run_id):
    run = {"run_id": run_id, "golden_set": "g", "samples_n": 2, "judge": {"judge": "judge@1"}}
    flags = ("retrieval_reported", "citations_reported", "concepts_detected")
    return {"run": run | dict.fromkeys(flags, True)}


def as_parquet(folder, rows):
    """One file per table, the children with the keys of their results."""
    folder.mkdir()
    kinds = CHILDREN["results"]
    tables = {"results": [{k: v for k, v in row.items() if k not in kinds} for row in rows]}
    for row, (kind, table) in itertools.product(rows, kinds.items()):
        key = {name: row[name] for name in ("item_id", "sample_index")}
        for at, child in enumerate(row[kind], start=1):
            place = {POSITIONS[kind]: at} if kind in POSITIONS else {}
            tables.setdefault(table, []).append(key | place | child)
    for table, flat in tables.items():
        names = {name for row in flat for name in row}
        schema = {n: kind for n, kind in TABLES[table].schema.items() if n in names}
        pl.DataFrame(flat, schema=schema).write_parquet(folder / f"{table}.parquet")
    return folder


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Bench:
    return measured(Bench(tmp_path_factory.mktemp("refused")))


@pytest.fixture(scope="module")
def old(bench):
    """The numbers of the run without a bad row."""
    return numbers(bench, "whole")


def check(bench, old, run_id, report, harm):
    """The harmed results are refused whole, and no number hides it."""
    children = {table.table: table for table in report.tables}
    assert children["results"].n_quarantined == len(harm)
    assert children["results"].n_accepted == len(KEYS) - len(harm)
    (aside,) = [path for path in report.quarantine if path.stem == "results"]
    refused = pl.read_parquet(aside, glob=False).rows_by_key(
        ["item_id", "sample_index"], named=True
    )
    for key, (kind, _) in harm.items():
        ((row,), table) = refused[key], CHILDREN["results"][kind]
        assert row["_reasons"][0].startswith(f"item_id: child_quarantined: {table} of ")
        assert children[table].n_in == children[table].n_accepted + children[table].n_quarantined
    (before, old_scores), (after, new_scores) = old, numbers(bench, run_id)
    assert_nothing_rose(before, after)
    both = old_scores.join(new_scores, on=ON, suffix="_new")
    assert both.height == old_scores.height == new_scores.height
    harmed = pl.DataFrame(list(harm), schema=["item_id", "sample_index"], orient="row")
    lost = both.join(harmed, on=["item_id", "sample_index"], how="semi")
    kept = both.join(harmed, on=["item_id", "sample_index"], how="anti")
    assert lost["value_new"].null_count() == lost.height
    assert kept["value"].equals(kept["value_new"])


@pytest.mark.slow  # many stores
@FEW
@given(harm=corruptions(BAD_JSON))
def test_a_refused_child_on_a_json_line_takes_its_result_with_it(bench, old, harm):
    run_id = f"json-{next(RUN_NUMBERS)}"
    path = bench.file(header(run_id), *[corrupted(key, harm) for key in KEYS])
    check(bench, old, run_id, load_run(bench.store, [path]), harm)


@pytest.mark.slow  # many stores
@FEW
@given(harm=corruptions(BAD))
def test_a_refused_child_in_parquet_takes_its_result_with_it(bench, old, harm):
    run_id = f"parquet-{next(RUN_NUMBERS)}"
    harm = {  # a bad sample number is of both samples of its item
        (item, n): harm[item, sample]
        for item, sample in sorted(harm)
        for n in ([0, 1] if "sample_index" in harm[item, sample][1] else [sample])
    }
    folder = as_parquet(bench.folder / run_id, [corrupted(key, harm) for key in KEYS])
    report = load_run(bench.store, [bench.file(header(run_id)), folder])
    check(bench, old, run_id, report, harm)


LINES = [("q0", "d0"), ("q0", "d1"), ("q0", "d9"), ("q1", "d2"), ("q1", "d9"), ("q2", "d1")]
BROKEN = [
    "{q} Q0 {d} 1 nan t",
    "{q} Q0 {d} 1 1e999 t",
    "{q} Q0 {d} 1 high t",
    "{q} {d} 1 0.5 t",
    "{q} Q0 {d} 1 0.5 t more",
]


@FEW
@given(
    harm=st.dictionaries(
        st.integers(0, len(LINES) - 1), st.sampled_from(BROKEN), min_size=1, max_size=3
    )
)
def test_a_bad_line_of_a_trec_run_takes_its_query_with_it(bench, harm):
    number = next(RUN_NUMBERS)
    good = "{q} Q0 {d} 1 0.5 t"
    for run_id, broken in ((f"good-{number}", {}), (f"bad-{number}", harm)):
        path = bench.folder / f"{run_id}.trec"
        lines = [broken.get(at, good).format(q=q, d=d) for at, (q, d) in enumerate(LINES)]
        path.write_text("".join(f"{line}\n" for line in [*lines, "q3 Q0 d3 1 0.5 t"]))
        load_run(bench.store, [path], run=run_id, golden_set="g")
    (old, old_scores), (new, new_scores) = (
        numbers(bench, f"{kind}-{number}") for kind in ("good", "bad")
    )
    assert_nothing_rose(old, new)
    both = old_scores.join(new_scores, on=ON, suffix="_new")
    harmed = {LINES[at][0] for at in harm}
    lost = both.filter(pl.col("item_id").is_in(harmed))
    assert lost["value_new"].null_count() == lost.height
    assert set(lost["null_reason_new"]) <= {"no_result", "unanswerable"}
    kept = both.filter(~pl.col("item_id").is_in(harmed))
    assert kept["value"].equals(kept["value_new"])
