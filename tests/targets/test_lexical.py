"""The embedded lexical pipeline."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.errors import UsageError
from crucible_batch.targets.corpus import Document, Entity
from crucible_batch.targets.lexical import ABSTENTION, PLAIN, REWRITE, LexicalTarget

DOCUMENTS = (
    Document(
        "tea",
        "Tea",
        "Green tea is steamed. Black tea is oxidised.\n\nTea grows on hills.",
        source_updated_at="2026-01-01T00:00:00Z",
    ),
    Document("coffee", "Coffee", "Coffee beans are roasted.\n\nArabica grows on hills."),
    Document("cocoa", "Cocoa", "Cocoa beans are fermented and roasted.", superseded_by="coffee"),
)
ENTITIES = (
    Entity("bean", "part", ("bean", "beans")),
    Entity("arabica", "sort", ("Arabica",)),
    Entity("hill", "place", ("hills",)),
)
TINY_PLAIN = replace(PLAIN, chunk_words=6)
TINY_REWRITE = replace(REWRITE, chunk_words=6)
PIPELINES = {c.name: LexicalTarget(c, DOCUMENTS, ENTITIES) for c in (TINY_PLAIN, TINY_REWRITE)}
plain = PIPELINES["lexical-plain"]

QUESTIONS = st.lists(
    st.sampled_from(
        ["tea", "coffee", "beans", "roasted", "hills", "passage", "wrong", "of", "the"]
    ),
    min_size=1,
    max_size=6,
).map(" ".join)


def test_the_best_sentence_is_quoted_with_its_document() -> None:
    answer = plain.answer("i", "Which tea is oxidised?")
    assert answer.text == "Black tea is oxidised."
    assert [chunk.document.doc_id for chunk in answer.cited] == ["tea"]
    assert not answer.abstained


def test_a_question_the_corpus_has_no_word_of_is_not_answered() -> None:
    answer = plain.answer("i", "Who won the football match?")
    assert (answer.abstained, answer.confidence, answer.text) == (True, 0.0, ABSTENTION)
    assert (answer.hits, answer.cited, answer.answer_concepts) == ((), (), ())


def test_the_pipeline_abstains_exactly_below_the_threshold() -> None:
    question = "Are roasted beans sold in Lisbon?"
    confidence = plain.answer("i", question).confidence
    assert 0 < confidence < 1
    at = LexicalTarget(replace(TINY_PLAIN, abstain_below=confidence), DOCUMENTS)
    above = LexicalTarget(
        replace(TINY_PLAIN, abstain_below=math.nextafter(confidence, 1)), DOCUMENTS
    )
    assert not at.answer("i", question).abstained
    assert above.answer("i", question).abstained


def test_confidence_is_one_when_one_chunk_has_every_word_of_the_question() -> None:
    assert plain.answer("i", "cocoa beans fermented").confidence == 1.0


def test_concepts_of_answer_and_evidence_are_told_apart() -> None:
    answer = plain.answer("i", "Where do Arabica beans grow?")
    assert answer.text == "Arabica grows on hills."
    assert answer.answer_concepts == ("arabica", "hill")
    assert answer.evidence_concepts == ("arabica", "bean", "hill")


def test_equal_scores_are_ranked_by_chunk_id_descending() -> None:
    twins = [Document(name, "Twin", "Same words here.") for name in ("a", "c", "b")]
    answer = LexicalTarget(PLAIN, twins).answer("i", "same words")
    assert [hit.chunk.chunk_id for hit in answer.hits] == ["c#0", "b#0", "a#0"]


def test_without_rewrites_samples_are_equal() -> None:
    assert plain.answer("i", "roasted beans", 0) == plain.answer("i", "roasted beans", 1)


def test_with_rewrites_samples_differ() -> None:
    rewriting = PIPELINES["lexical-rewrite"]
    lists = {rewriting.answer("i", "tea beans roasted hills", n).hits for n in range(8)}
    assert len(lists) > 1


def test_fused_scores_are_reciprocal_ranks_added_up() -> None:
    one_word = LexicalTarget(replace(TINY_REWRITE, rewrite_n=2), DOCUMENTS).answer("i", "fermented")
    assert [(hit.rank, hit.score) for hit in one_word.hits] == [(1, round(3 / 61, 6))]


@settings(max_examples=60)
@given(QUESTIONS, st.integers(0, 3), st.sampled_from(sorted(PIPELINES)))
def test_an_answer_keeps_its_promises(question: str, sample: int, name: str) -> None:
    pipeline = PIPELINES[name]
    answer = pipeline.answer("i", question, sample)
    assert answer == pipeline.answer("i", question, sample)
    assert 0.0 <= answer.confidence <= 1.0
    assert answer.abstained == (answer.confidence < pipeline.config.abstain_below)
    assert {c.chunk_id for c in answer.cited} <= {hit.chunk.chunk_id for hit in answer.evidence}
    assert answer.evidence == answer.hits[: pipeline.config.evidence_n]
    assert [hit.rank for hit in answer.hits] == list(range(1, len(answer.hits) + 1))
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)
    assert answer.abstained != bool(answer.cited)


def test_the_order_of_the_documents_does_not_matter() -> None:
    turned = LexicalTarget(TINY_REWRITE, DOCUMENTS[::-1], ENTITIES[::-1])
    for question in ("Which tea is oxidised?", "roasted beans on hills"):
        assert turned.answer("i", question, 1) == PIPELINES["lexical-rewrite"].answer(
            "i", question, 1
        )


def test_a_configuration_that_cannot_run_says_which_setting_is_wrong() -> None:
    with pytest.raises(UsageError, match="cannot run") as caught:
        replace(PLAIN, top_k=0, rewrite_n=-1)
    assert caught.value.problems == ("top_k = 0", "rewrite_n = -1")
