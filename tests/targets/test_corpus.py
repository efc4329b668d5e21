"""The corpus of an embedded target: front matter, content hash, chunks, mentions."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crucible_batch.errors import ContractError
from crucible_batch.targets.corpus import (
    Document,
    Entity,
    mentioned,
    parse_document,
    read_documents,
    read_entities,
    split_chunks,
)

GOOD = '---\ndoc_id: a\ntitle: "A: b"\n---\n\nFirst.\n\nSecond.\n'


def test_front_matter_and_text_are_read_apart() -> None:
    document = parse_document(GOOD, source="a.md")
    assert (document.doc_id, document.title, document.text) == ("a", "A: b", "First.\n\nSecond.")
    assert (document.source_updated_at, document.superseded_by) == (None, None)


def test_the_content_hash_is_that_of_title_and_text() -> None:
    assert (
        parse_document(GOOD, source="a.md").content_hash
        == sha256(b"A: b\n\nFirst.\n\nSecond.\n").hexdigest()
    )


def test_the_content_hash_knows_no_line_endings_and_no_spelling_of_an_accent() -> None:
    composed = GOOD.replace("First", "Caf\u00e9")
    decomposed = GOOD.replace("First", "Cafe\u0301").replace("\n", "\r\n")
    hashes = {parse_document(text, source="a.md").content_hash for text in (composed, decomposed)}
    assert len(hashes) == 1


def test_being_superseded_does_not_change_the_content_hash() -> None:
    marked = GOOD.replace("doc_id: a", "doc_id: a\nsuperseded_by: b")
    marked = parse_document(marked, source="a.md")
    assert marked.superseded_by == "b"
    assert marked.content_hash == parse_document(GOOD, source="a.md").content_hash


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("First.", "a.md has no front matter"),
        (GOOD.replace("title:", "titel:"), "not understood"),
        (GOOD.replace("doc_id: a\n", ""), "names no doc_id"),
    ],
)
def test_a_broken_front_matter_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        parse_document(text, source="a.md")


def test_a_document_named_by_two_files_is_refused(tmp_path: Path) -> None:
    for name in ("one.md", "two.md"):
        (tmp_path / name).write_text(GOOD)
    with pytest.raises(ContractError, match="names a document twice"):
        read_documents(tmp_path)


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match=r"has no \*\.md file"):
        read_documents(tmp_path)


def test_an_entity_without_names_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "entities.toml"
    path.write_text('[[entities]]\nid = "a"\ntype = "metric"\n')
    with pytest.raises(ContractError, match="not a list of entities"):
        read_entities(path)


def test_entities_are_found_as_whole_words_in_any_case() -> None:
    entities = [Entity("hit", "metric", ("hit",)), Entity("ndcg", "metric", ("nDCG", "gain"))]
    assert mentioned(["NDCG and white noise"], entities) == ["ndcg"]
    assert mentioned(["a hit", "no gain"], entities) == ["hit", "ndcg"]


def test_short_paragraphs_are_joined_and_long_ones_stay_whole() -> None:
    document = Document("d", "D", "one two\n\nthree\n\nfour five six seven")
    chunks = split_chunks([document], max_words=3)
    assert [(c.chunk_id, c.text) for c in chunks] == [
        ("d#0", "one two\n\nthree"),
        ("d#1", "four five six seven"),
    ]


@given(
    st.lists(st.text("ab ", min_size=1).filter(str.strip), min_size=1, max_size=8),
    st.integers(1, 9),
)
def test_chunks_put_together_are_the_document(paragraphs: list[str], max_words: int) -> None:
    document = Document("d", "D", "\n\n".join(paragraphs))
    chunks = split_chunks([document], max_words=max_words)
    assert "\n\n".join(chunk.text for chunk in chunks) == document.text
