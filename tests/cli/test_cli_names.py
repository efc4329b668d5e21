"""Paths, names, streams and words that are wrong are told before any work, never as a fault."""

from __future__ import annotations

import subprocess
import sys

import pytest

GOOD = {"item_id": "q1", "answer": "It is so."}


def run_of(file, *rows):
    return "load", "run", file("run.jsonl", *rows), "--run", "r"


@pytest.mark.parametrize(
    "words",
    [
        ("init", ""),
        ("--root", "", "baseline", "list"),
        ("baseline", "list", "--root", " "),
        ("demo", "--root", ""),
    ],
)
def test_an_empty_path_is_not_the_current_folder(store, crucible, words):
    done = crucible(*words)
    assert done.code == 2
    assert "the path is empty" in done.err


def test_a_store_below_a_backslash_is_refused_before_anything_is_made(crucible, tmp_path):
    root = tmp_path / "a\\b" / "store"
    done = crucible("init", root)
    assert done.code == 2
    assert "backslash" in done.err
    assert not root.parent.exists()


def test_a_new_settings_file_beside_workspaces_says_which_are_there(golden, crucible):
    (golden / "crucible.toml").unlink()
    done = crucible("init", golden)
    assert done.code == 0
    assert "of the workspaces there: default" in done.out
    assert "empty" not in done.out


def test_a_stray_folder_with_a_huge_number_is_told_by_name(golden, crucible):
    (golden / "default" / "lake" / "c99999999").mkdir()
    done = crucible("baseline", "list")
    assert done.code == 4
    assert "c99999999 is no commit" in done.err
    looked = crucible("doctor")
    assert looked.code == 4
    assert "c99999999 is no commit: its number is far beyond the others" in looked.out
    assert "c00000002" not in looked.out


def test_the_same_lake_is_read_again_without_the_stray_folder(golden, crucible):
    stray = golden / "default" / "lake" / "c00000005"
    stray.mkdir()
    assert "lake/c00000002 to c00000004 are missing" in crucible("doctor").out
    stray.rmdir()
    assert crucible("doctor").code == 0


@pytest.mark.parametrize("query", ["\udcff\udcfe", "SELECT '\ud800'"])
def test_a_statement_that_is_no_text_exits_with_2(golden, crucible, query):
    done = crucible("sql", query)
    assert done.code == 2
    assert "no text" in done.err


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_changes_no_exit_code(golden, closed):
    for words, code in (("metrics mrr", 0), ("metrics nope", 2)):
        shell = (
            f"{sys.executable} -c 'from crucible_batch.cli import main; main()' {words} {closed}"
        )
        done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr + done.stdout


def test_an_unknown_facet_is_told_before_any_work(golden, crucible):
    done = crucible("compare", "nobody", "nothing", "--slice", "nope")
    assert done.code == 2
    assert "No facet is called 'nope'" in done.err


def test_a_mistyped_candidate_is_told_before_the_baseline_is_scored(golden, crucible, file):
    assert crucible(*run_of(file, GOOD)).code == 0
    done = crucible("compare", "r", "rr")
    assert done.code == 2
    assert "No run is called 'rr'" in done.err
    assert not (golden / "default" / "marts" / "scores" / "r.parquet").exists()


def test_score_says_which_judgments_it_used(golden, crucible, file):
    assert crucible(*run_of(file, GOOD)).code == 0
    assert "judgments: of all sources" in crucible("score", "r").out
    done = crucible("score", "r", "--qrel-source", "human", "--relevant-at", 3)
    assert "judgments: of people only, by document, relevant from grade 3" in done.out
