from __future__ import annotations

import json

import polars as pl


def test_a_load_prints_where_every_row_went(store, crucible, file):
    row = {"item_id": "q1", "question": "Who?", "answerable": True}
    done = crucible("load", "golden", file("golden.jsonl", row, row), "--golden-set", "faq")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "load golden: committed as c00000001 in default"
    assert lines[1].split() == ["table", "in", "accepted", "quarantined", "already", "there"]
    assert lines[2].split() == ["golden_items", "2", "1", "0", "1"]
    assert "golden_set: faq" in lines
    assert any(line.startswith("golden_set_hash: sha256:") for line in lines)
    assert done.err == ""


def test_json_is_one_object_on_one_line(store, crucible, file):
    row = {"item_id": "q1", "question": "Who?", "answerable": True}
    done = crucible("load", "golden", file("golden.jsonl", row), "--json")
    assert done.out.count("\n") == 1
    report = json.loads(done.out)
    assert report["created"] is True
    assert report["commit"] == 1
    assert report["tables"][0]["n_accepted"] == 1
    assert report["golden_set_hash"].startswith("sha256:")


def test_the_same_load_again_says_so(golden, crucible, file):
    row = {"item_id": "q1", "answer": "So."}
    words = "load", "run", file("run.jsonl", row), "--run", "r"
    assert crucible(*words).code == 0
    again = crucible(*words)
    assert again.code == 0
    assert "load run: nothing to commit in default" in again.out
    assert "(no-op)" in again.out
    assert "run_id: r" in again.out


def test_a_stored_row_with_other_content_is_exit_code_4(golden, crucible, file):
    for answer, code in (("So.", 0), ("Not so.", 4)):
        path = file("run.jsonl", {"item_id": "q1", "answer": answer})
        done = crucible("load", "run", path, "--run", "r")
        assert done.code == code
    assert "item_id 'q1', sample_index 0: answer is 'So.', the input says 'Not so.'" in done.err


def test_a_dry_run_says_so_and_leaves_no_trace(store, crucible, file):
    before = sorted(store.rglob("*"))
    row = {"item_id": "q1", "question": "Who?", "answerable": True}
    done = crucible("load", "golden", file("golden.jsonl", row), "--dry-run")
    assert done.code == 0
    assert "dry run, nothing was written" in done.out
    assert sorted(store.rglob("*")) == before


def test_the_quarantine_file_is_named_and_holds_the_rows(golden, crucible, file):
    rows = [{"item_id": "q1"}, {"item_id": "ghost"}]
    done = crucible("load", "run", file("run.jsonl", *rows), "--run", "r")
    (path,) = [
        line.removeprefix("quarantine file: ")
        for line in done.out.splitlines()
        if line.startswith("quarantine file")
    ]
    assert pl.read_parquet(golden / path)["item_id"].to_list() == ["ghost"]


def test_root_and_workspace_may_stand_before_the_command_or_in_the_environment(
    store, crucible, file, tmp_path, monkeypatch
):
    path = file("golden.jsonl", {"item_id": "q1", "question": "Who?", "answerable": True})
    monkeypatch.chdir(tmp_path)
    first = crucible("--root", store, "--workspace", "a", "load", "golden", path)
    monkeypatch.setenv("CRUCIBLE_ROOT", str(store))
    monkeypatch.setenv("CRUCIBLE_WORKSPACE", "b")
    second = crucible("load", "golden", path)
    assert "in a\n" in first.out
    assert "in b\n" in second.out


def test_a_folder_names_the_files_it_leaves_aside(golden, crucible, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "run.jsonl").write_text('{"item_id": "q1"}\n')
    (folder / "notes.md").write_text("hello")
    done = crucible("load", "run", folder, "--run", "r")
    assert done.code == 0
    assert "left aside, no known format, no file, or beside tables: " in done.out
    assert "notes.md" in done.out


def test_corpus_versions_load_with_a_time(store, crucible, file):
    row = {"doc_id": "d", "content_hash": "h", "hash_version": "1"}
    path = file("documents.jsonl", row)
    options = ["--corpus-version", "v1", "--observed-at", "2026-05-01T00:00:00Z"]
    assert crucible("load", "corpus", path, *options).code == 0
    seen = crucible("sql", "SELECT observed_at, complete FROM corpus_versions", "--json")
    assert seen.json == {"observed_at": "2026-05-01 00:00:00+00:00", "complete": True}


def test_a_trec_run_and_its_judgments_load_by_their_columns(golden, crucible, file):
    run = file("bm25.run", b"q1 Q0 d1 1 0.5 bm25\nq2 Q0 d2 1 0.5 bm25\n")
    qrels = file("judged.txt", b"q1 0 d1 3\n")
    assert crucible("load", "run", run).code == 0
    assert crucible("load", "qrels", qrels, "--author", "ann").code == 0
    rows = crucible("sql", "SELECT actor, target FROM audit_log", "--json").json
    assert rows == {"actor": "ann", "target": "q1"}
