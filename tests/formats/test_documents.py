"""Folders of texts as documents: what their content is, their ids, and their source times."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime

import pytest

from crucible_batch.assemble.example import example_dir
from crucible_batch.formats import documents
from crucible_batch.formats.documents import parse_document
from crucible_batch.formats.sources import find
from crucible_batch.formats.texts import read_texts
from crucible_batch.formats.verbs import Verb

COLUMNS = ("doc_id", "content_hash", "source_updated_at")


@pytest.fixture
def folder(tmp_path):
    """Write files below a folder: name to bytes or text."""

    def make(**files):
        for name, content in files.items():
            path = tmp_path / "corpus" / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / "corpus"

    return make


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_plain_text_is_hashed_as_it_stands(folder, load):
    found = load(folder(a_txt="\nOne.\n\nTwo.\n"), "corpus")
    assert found.rows("documents", *COLUMNS) == [("a.txt", sha("\nOne.\n\nTwo.\n"), None)]
    assert found["documents"]["hash_version"].to_list() == ["sha256-nfc-lf-1"]


@pytest.mark.parametrize(
    "same", ["Caf\u00e9\nx\n", "Cafe\u0301\r\nx\r\n", "\ufeffCaf\u00e9\nx\n", "Caf\u00e9\rx\r"]
)
def test_the_same_text_in_other_bytes_has_the_same_hash(folder, load, same):
    found = load(folder(a_md=same), "corpus")
    assert found["documents"]["content_hash"].item() == sha("Caf\u00e9\nx\n")


def test_ids_are_paths_below_the_folder_wherever_it_lies(folder, load, monkeypatch):
    root = folder(a_md="x", deep__b_md="y", deep__er__c_txt="z", deep__d_markdown="w")
    wanted = ["a.md", "deep/b.md", "deep/d.markdown", "deep/er/c.txt"]
    assert sorted(load(root, "corpus")["documents"]["doc_id"]) == wanted
    monkeypatch.chdir(root.parent)
    assert sorted(load("corpus", "corpus")["documents"]["doc_id"]) == wanted
    monkeypatch.chdir(root)
    assert sorted(load(".", "corpus")["documents"]["doc_id"]) == wanted
    assert sorted(load(str(root / "**" / "*.md"), "corpus")["documents"]["doc_id"]) == [
        "a.md", "deep/b.md",
    ]  # fmt: skip
    assert load(root / "deep" / "b.md", "corpus")["documents"]["doc_id"].item() == "b.md"


def test_front_matter_gives_id_title_and_time_and_is_no_content(folder, load):
    text = (
        '---\nlayout: page\ndoc_id: deed-law\ntitle: "The deed"\n'
        "source_updated_at: 2026-02-01T10:00:00+01:00\ntags: [a, b]\n---\n\nIt is signed.\n\n"
    )
    found = load(folder(x_md=text), "corpus")
    assert found.rows("documents", *COLUMNS) == [
        ("deed-law", sha("The deed\n\nIt is signed.\n"), datetime(2026, 2, 1, 9, tzinfo=UTC))
    ]


def test_other_front_matter_changes_no_hash_and_another_title_does():
    def hashed(head):
        return parse_document(f"---\n{head}---\nText.\n", name="n").content_hash

    assert hashed("tags: a\n") == hashed("tags: b\nsource_updated_at: 2026-01-01T00:00:00Z\n")
    assert hashed("tags: a\n") == hashed("") == sha("Text.\n")
    assert hashed("title: A\n") != hashed("title: B\n")


def test_lines_that_only_look_like_front_matter_are_text():
    for text in ("---\ntitle: A\nno end\n", "a\n---\ntitle: A\n---\n", "--- x\ntitle: A\n---\n"):
        found = parse_document(text, name="n")
        assert (found.doc_id, found.text) == ("n", text)


def test_the_date_of_the_file_is_no_source_time(folder, load):
    root = folder(a_md="x")
    os.utime(root / "a.md", (0, 0))
    before = load(root, "corpus").rows("documents", *COLUMNS)
    os.utime(root / "a.md", (10**9, 10**9))
    assert load(root, "corpus").rows("documents", *COLUMNS) == before
    assert before[0][2] is None


@pytest.mark.parametrize(
    ("time", "problem"),
    [
        ("2026-02-01T10:00:00", "source_updated_at: no time zone: 2026-02-01T10:00:00"),
        ("2026-02-01", "source_updated_at: no time zone: 2026-02-01"),
        ("yesterday", "source_updated_at: not an ISO 8601 time: yesterday"),
    ],
)
def test_a_source_time_without_a_zone_is_refused(folder, load, time, problem):
    found = load(folder(a_md=f"---\nsource_updated_at: {time}\n---\nx", b_md="y"), "corpus")
    assert found.reasons("documents") == [[problem], []]
    assert [name.rsplit("/", 1)[1] for name in found["documents"]["_source_file"]] == [
        "a.md", "b.md",
    ]  # fmt: skip


def test_a_file_that_is_no_utf_8_is_a_row_with_a_reason(folder, load):
    found = load(folder(a_md=b"caf\xe9", b_md="ok"), "corpus")
    assert found.problems("documents") == ["text: not UTF-8 (byte 4): caf\ufffd"]


def test_an_empty_file_is_a_document(folder, load):
    assert load(folder(a_md=b""), "corpus")["documents"]["content_hash"].item() == sha("")


def test_beside_a_table_of_documents_a_text_is_a_readme(folder, load):
    row = {"doc_id": "d", "content_hash": "h", "hash_version": "v"}
    root = folder(README_md="Read me.", documents_jsonl=json.dumps(row) + "\n")
    assert load(root, "corpus")["documents"]["doc_id"].to_list() == ["d"]
    assert [path.name for path in find([root], Verb.CORPUS)[1]] == ["README.md"]


def test_entities_may_lie_beside_the_texts(folder, load):
    row = {"entity_id": "e", "entity_type": "law"}
    found = load(folder(a_md="x", entities_jsonl=json.dumps(row) + "\n"), "corpus")
    assert set(found.tables) == {"documents", "entities"}


def test_chunks_are_bounded(folder, load, monkeypatch):
    monkeypatch.setattr(documents, "CHUNK_FILES", 2)
    found = load(folder(a_md="x", b_md="y", c_md="z"), "corpus")
    assert found.heights["documents"] == [2, 1]


def test_the_texts_of_a_folder_are_known_by_the_same_ids(folder):
    root = folder(a_md="x\n", deep__b_md="---\ndoc_id: b\ntitle: T\n---\ny\n")
    assert read_texts([root]) == {"a.md": "x\n", "b": "T\n\ny\n"}


def test_the_texts_of_the_example_have_the_hashes_of_its_tables(load):
    version = example_dir() / "corpus" / "v2"
    lines = (version / "tables" / "documents.jsonl").read_text(encoding="utf-8").splitlines()
    wanted = {row["doc_id"]: row["content_hash"] for row in map(json.loads, lines)}
    found = load(str(version / "*.md"), "corpus")
    assert dict(found.rows("documents", "doc_id", "content_hash")) == wanted
