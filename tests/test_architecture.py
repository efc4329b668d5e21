"""The rules of the house, each shown to fail on a planted breach and to hold for the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import source_rules as rules

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "crucible_batch"


SOURCES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
IN_ROOMS = {name: path for name, path in SOURCES.items() if name != "crucible_batch"}
SQL_FILES = sorted(PACKAGE.rglob("*.sql"))

LONG_FILES = {
    "crucible_batch/contracts/outputs.py": "one declaration per output table",
    "crucible_batch/contracts/runs.py": "one declaration per table of a run",
    "crucible_batch/metrics/retrieval.py": "one declaration per retrieval metric",
}
"""Files that may be longer than 300 lines, and why."""

CONDITIONS = "conditions or whole numbers"
IN_ORDER = "inside one result, in rank order"
BELOW_2_53 = "whole numbers below 2^53 in float64, which holds them exactly"
EXACT_SUMS = {
    ("crucible_batch.assemble.compare.values", "_noise"): "samples of one item, in their order",
    ("crucible_batch.assemble.judge.session", "_total"): CONDITIONS,
    ("crucible_batch.cli.layout", "_total"): CONDITIONS,
    ("crucible_batch.formats.parquet", "_batch_rows"): CONDITIONS,
    ("crucible_batch.metrics.abstention", "number"): CONDITIONS,
    ("crucible_batch.metrics.answer_frames", "_assertions"): CONDITIONS,
    ("crucible_batch.metrics.answer_frames", "_checks"): CONDITIONS,
    ("crucible_batch.metrics.answer_frames", "_claims"): CONDITIONS,
    ("crucible_batch.metrics.calibration", "_bins"): CONDITIONS,
    ("crucible_batch.metrics.calibration", "calibration_error"): CONDITIONS,
    ("crucible_batch.metrics.retrieval", "bpref"): IN_ORDER,
    ("crucible_batch.metrics.retrieval_terms", "discounted"): IN_ORDER,
    ("crucible_batch.metrics.retrieval_terms", "in_top"): CONDITIONS,
    ("crucible_batch.metrics.retrieval_terms", "precisions_at"): IN_ORDER,
    ("crucible_batch.stats.agreement", "_alpha"): CONDITIONS,
    ("crucible_batch.stats.agreement", "_kappa"): CONDITIONS,
    ("crucible_batch.stats.agreement", "_mean_distance"): CONDITIONS,
    ("crucible_batch.stats.agreement", "between"): "whole and half numbers",
    ("crucible_batch.stats.agreement", "_totals"): CONDITIONS,
    ("crucible_batch.stats.agreement", "agreement"): CONDITIONS,
    ("crucible_batch.stats.agreement", "ranking_tau"): CONDITIONS,
    ("crucible_batch.stats.grid", "smallest_weights"): "a bound, never published",
    ("crucible_batch.stats.paired", "_sign_flips"): CONDITIONS,
    ("crucible_batch.stats.signflip", "lattice_p"): "a bound of the array's length",
    ("crucible_batch.stats.sign_products", "count_by_product"): BELOW_2_53,
    ("crucible_batch.stats.signflip", "_count_by_lookup"): BELOW_2_53,
    ("crucible_batch.stats.signflip", "monte_carlo_p"): BELOW_2_53,
}
"""Sums that are exact although their form does not show it, and why."""

SQL_SUMS = {"text_size.sql": "bytes, whole numbers"}


def breaches(rule, sources, *more):
    return [
        found
        for name, path in sources.items()
        for found in rule(path.read_text(encoding="utf-8"), name, *more)
    ]


# --- imports go down --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("crucible_batch.metrics.x", "from crucible_batch.store import Store"),
        ("crucible_batch.metrics.x", "import crucible_batch.assemble.load"),
        ("crucible_batch.metrics.x", "from crucible_batch import cli"),
        ("crucible_batch.metrics.x", "def f():\n    from crucible_batch.stats import bca"),
        ("crucible_batch.store.x", "from ..metrics import catalog"),
        ("crucible_batch.contracts.x", "from crucible_batch.formats.chunk import Chunk"),
        ("crucible_batch.errors", "from crucible_batch.settings import Settings"),
        ("crucible_batch.assemble.x", "if TYPE_CHECKING:\n    from crucible_batch.cli import app"),
        ("crucible_batch.attic.x", "import json"),
    ],
)
def test_an_import_that_goes_up_or_sideways_is_found(module, source):
    assert len(rules.wrong_imports(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("crucible_batch.metrics.x", "from crucible_batch.contracts import TABLES"),
        ("crucible_batch.metrics.x", "from crucible_batch.metrics.names import K"),
        ("crucible_batch.store.x", "from .layout import Layout"),
        ("crucible_batch.cli.x", "from crucible_batch.assemble.load import load_run"),
        ("crucible_batch.settings", "from crucible_batch.errors import UsageError"),
        ("crucible_batch.metrics.x", "import polars as pl"),
    ],
)
def test_an_import_that_goes_down_or_stays_is_fine(module, source):
    assert rules.wrong_imports(source, module) == []


def test_imports_of_the_package_only_go_down():
    assert breaches(rules.wrong_imports, IN_ROOMS) == []


# --- prefect ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    ["import prefect", "from prefect.cache_policies import NO_CACHE", "def f():\n  import prefect"],
)
def test_an_import_of_prefect_is_found(source):
    assert len(rules.foreign_imports(source, "crucible_batch.assemble.x", "prefect")) == 1


def test_the_package_does_not_import_prefect():
    assert breaches(rules.foreign_imports, SOURCES, "prefect") == []


def test_no_module_and_no_command_loads_prefect(tmp_path):
    program = (
        "import importlib, sys\n"
        f"for name in {sorted(SOURCES)!r}:\n    importlib.import_module(name)\n"
        "from crucible_batch.cli import main\n"
        f"sys.argv = ['crucible', 'init', {str(tmp_path / 's')!r}]\n"
        "main_ended = None\n"
        "try:\n    main()\nexcept SystemExit as end:\n    main_ended = end.code\n"
        "assert not main_ended, main_ended\n"
        "print('LOADED', [m for m in sys.modules if m.split('.')[0] == 'prefect'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "LOADED []"


# --- SQL in files -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        'q = "SELECT a FROM t"',
        'q = f"select {x}\\nfrom {t}"',
        'q = "with x as (select 1) " + y',
        'q = "INSERT INTO t VALUES (1)"',
        'q = "create or replace view v as " + q',
        "q = f\"COPY t TO '{path}'\"",
        "def f():\n    run('delete from t')",
    ],
)
def test_sql_in_a_string_is_found(source):
    assert len(rules.sql_in_strings(source, "m")) >= 1


@pytest.mark.parametrize(
    "source",
    [
        '"""Rows one may SELECT from a table."""',
        'def f():\n    """SELECT a FROM t."""',
        'help = "One SELECT; without it, an interactive prompt."',
        'fix = "take it from the store"',
    ],
)
def test_words_for_people_are_no_sql(source):
    assert rules.sql_in_strings(source, "m") == []


def test_sql_lives_only_in_sql_files():
    assert breaches(rules.sql_in_strings, SOURCES) == []


def test_templates_that_are_no_queries_stand_only_in_the_store():
    others = [path for path in SQL_FILES if path.parent.name not in {"sql", "store"}]
    assert others == []


# --- sums -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "x = frame.group_by('q').agg(pl.col('value').mean())",
        "x = pl.mean('value')",
        "x = np.mean(values)",
        "x = statistics.fmean(values)",
        "x = np.nanmean(values)",
        "x = frame['value'].sum()",
        "x = pl.col('value').sum()",
        "x = pl.sum('value')",
        "x = np.sum(values)",
        "x = sum(values) / len(values)",
        "x = sum(row['value'] for row in rows)",
        "x = (pl.col('n_a') / pl.col('n_b')).sum()",
    ],
)
def test_a_mean_or_a_sum_that_may_be_of_floats_is_found(source):
    assert len(rules.float_sums(source, "m", {})) == 1


@pytest.mark.parametrize(
    "source",
    [
        "x = pl.col('value').is_null().sum()",
        "x = (grade >= 2).sum()",
        "x = (~passed & known).sum()",
        "x = pl.col('n_items').sum()",
        "x = pl.col('is_relevant', 'n_read').sum()",
        "x = int(values.sum())",
        "x = frame.agg(n_right=pl.col('correct').sum())",
        "x = sum(tally.n_in for tally in tallies)",
        "x = sum(row['verdict'] == 'improved' for row in rows)",
        "x = sum(len(part) for part in parts)",
    ],
)
def test_a_sum_that_is_evidently_a_count_is_fine(source):
    assert rules.float_sums(source, "m", {}) == []


def test_every_allowed_sum_is_still_needed():
    found = " ".join(breaches(rules.float_sums, SOURCES, {}))
    assert [
        f for module, f in EXACT_SUMS if f"{module} " not in found or f"{f}()" not in found
    ] == []


def test_an_allowed_sum_is_allowed_only_in_its_function():
    source = "def f():\n    return sum(x)\ndef g():\n    return sum(x)"
    assert rules.float_sums(source, "m", {("m", "f"): "whole numbers"}) == [
        "m line 4: sum in g() may be of floats"
    ]


def test_floats_are_summed_only_by_exact():
    sources = {name: path for name, path in SOURCES.items() if name != "crucible_batch.exact"}
    assert breaches(rules.float_sums, sources, EXACT_SUMS) == []


@pytest.mark.parametrize("text", ["SELECT avg(x)", "select SUM (x)", "SELECT favg(x)"])
def test_a_sum_or_mean_in_sql_is_found(text):
    assert len(rules.sums_in_sql(text, "q.sql", {})) == 1


def test_a_comment_in_sql_is_no_sum():
    assert rules.sums_in_sql("-- sum(x) would be inexact\nSELECT x", "q.sql", {}) == []


def test_sql_files_sum_no_floats():
    found = [
        breach
        for path in SQL_FILES
        for breach in rules.sums_in_sql(path.read_text(encoding="utf-8"), path.name, SQL_SUMS)
    ]
    assert found == []


# --- the rest ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "try:\n  f()\nexcept Exception:\n  pass",
        "try:\n  f()\nexcept:\n  x = 1",
        "try:\n  f()\nexcept (ValueError, BaseException):\n  x = 1",
    ],
)
def test_a_handler_of_everything_is_found(source):
    assert len(rules.catch_alls(source, "m")) == 1


def test_only_the_command_line_catches_everything():
    found = breaches(rules.catch_alls, SOURCES)
    assert [breach.split(" ")[0] for breach in found] in ([], ["crucible_batch.cli"])


def test_a_read_that_loses_an_error_is_found():
    assert (
        len(rules.reads_that_end_early("for rows in lazy.collect_batches():\n  f(rows)", "m")) == 1
    )


def test_no_read_loses_an_error():
    assert breaches(rules.reads_that_end_early, SOURCES) == []


def test_files_are_short_enough_to_read():
    long = {
        str(path.relative_to(ROOT)): n
        for path in SOURCES.values()
        if (n := len(path.read_text(encoding="utf-8").splitlines())) > 300
    }
    assert {name: n for name, n in long.items() if name not in LONG_FILES} == {}
    assert set(LONG_FILES) <= set(long), "an exception that is no longer needed"


def test_the_project_does_not_speak_of_the_machine_it_was_written_on():
    words = ("/work/", "/home/", "/tmp/", "localhost:")
    found = [
        f"{path.relative_to(ROOT)}: {word}"
        for path in [*SOURCES.values(), *SQL_FILES, *PACKAGE.rglob("*.md")]
        for word in words
        if word in path.read_text(encoding="utf-8")
    ]
    assert found == []
