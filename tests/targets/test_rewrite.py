"""Words and seeded rewrites of a query."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crucible_batch.targets.rewrite import STOP_WORDS, SYNONYMS, rewrites, singular, words

QUERIES = st.lists(st.sampled_from(["pipeline", "mark", "passage", "ndcg", "wrong"]), min_size=1)


def test_words_leave_out_how_something_is_asked() -> None:
    assert words("What do the grades of nDCG@10 mean?") == ["grade", "ndcg", "10", "mean"]


def test_a_plural_is_its_singular_and_other_endings_stay() -> None:
    read = [singular(word) for word in ("queries", "items", "class", "status", "is", "bias")]
    assert read == ["query", "item", "class", "status", "is", "bia"]


@given(QUERIES, st.integers(0, 6), st.text(max_size=9))
def test_the_same_seed_gives_the_same_rewrites(query: list[str], n: int, seed: str) -> None:
    assert rewrites(query, n, seed=seed) == rewrites(query, n, seed=seed)
    assert len(rewrites(query, n, seed=seed)) == n


@given(QUERIES, st.integers(1, 6), st.text(max_size=9))
def test_asking_for_more_rewrites_keeps_the_first_ones(query: list[str], n: int, seed: str) -> None:
    assert rewrites(query, n + 1, seed=seed)[:n] == rewrites(query, n, seed=seed)


@given(QUERIES, st.text(max_size=9))
def test_a_rewrite_adds_a_synonym_or_drops_one_word(query: list[str], seed: str) -> None:
    for rewrite in rewrites(query, 4, seed=seed):
        added = rewrite[len(query) :]
        if added:
            assert list(rewrite[: len(query)]) == query
            assert set(added) <= {word for asked in query for word in SYNONYMS.get(asked, ())}
        else:
            assert len(rewrite) == max(1, len(query) - 1)
            assert set(rewrite) <= set(query)


def test_two_samples_are_rewritten_differently() -> None:
    query = ["ndcg", "ideal", "ranking", "document"]
    assert rewrites(query, 4, seed="item/0") != rewrites(query, 4, seed="item/1")


def test_every_synonym_is_a_word_that_the_index_can_hold() -> None:
    for word, others in SYNONYMS.items():
        assert words(word) == [word]
        assert [words(other) for other in others] == [[other] for other in others]
        assert not STOP_WORDS.intersection(others)
