"""The streams are a promise: the same seed gives the same resamples, for ever."""

import hashlib

import numpy as np
import pytest

from crucible_batch.stats.streams import (
    BLOCK,
    BOOTSTRAP,
    SIGN_FLIPS,
    index_blocks,
    raw_words,
    sign_words,
)


def test_the_first_words_of_a_stream_never_change() -> None:
    # Recorded with numpy 2.4.6. If this fails, STREAM_VERSION must go up.
    words = raw_words(7, BOOTSTRAP, 0, 3).tolist()
    assert words == [16561503111162991593, 14361309281221497269, 2080446697510719102]


def test_the_first_draws_never_change() -> None:
    drawn = np.concatenate([block.copy() for block in index_blocks(50, 2_000, seed=7)])
    digest = hashlib.sha256(drawn.astype("<i8").tobytes()).hexdigest()
    assert digest[:16] == "75015b1b8b82b1e2"


@pytest.mark.parametrize("purpose", [BOOTSTRAP, SIGN_FLIPS])
def test_every_block_has_a_stream_of_its_own(purpose: int) -> None:
    first = {raw_words(7, purpose, block, 1)[0] for block in range(50)}
    other = {raw_words(7, 1 - purpose, block, 1)[0] for block in range(50)}
    assert len(first | other) == 100


@pytest.mark.parametrize("n_items", [1, 2, 7, 50, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3])
def test_a_resample_draws_as_many_items_as_there_are(n_items: int) -> None:
    drawn = np.concatenate([block.copy() for block in index_blocks(n_items, 3, seed=1)])
    assert drawn.shape == (3, n_items)
    assert drawn.min() >= 0
    assert drawn.max() < n_items


def test_more_resamples_keep_the_earlier_ones() -> None:
    few = np.concatenate([block.copy() for block in index_blocks(70, 1_500, seed=3)])
    many = np.concatenate([block.copy() for block in index_blocks(70, 4_000, seed=3)])
    assert np.array_equal(few, many[:1_500])


def test_every_item_is_drawn_equally_often() -> None:
    drawn = np.concatenate([block.copy() for block in index_blocks(20, 10_000, seed=5)])
    counts = np.bincount(drawn.ravel(), minlength=20)
    assert np.abs(counts - 10_000).max() < 5 * np.sqrt(10_000)


def test_places_within_a_resample_are_independent() -> None:
    drawn = np.concatenate([block.copy() for block in index_blocks(4, 40_000, seed=5)])
    pairs = np.bincount(drawn[:, 0] * 4 + drawn[:, 1], minlength=16)
    assert np.abs(pairs - 2_500).max() < 5 * np.sqrt(2_500)


@pytest.mark.parametrize("n_resamples", [10, 10_000, BLOCK + 10])
def test_every_resample_has_a_word_of_signs(n_resamples: int) -> None:
    assert sign_words(2, n_resamples, seed=1).shape == (n_resamples,)


def test_half_of_the_signs_are_plus() -> None:
    words = sign_words(0, 10_000, seed=1)
    for bit in range(64):
        plus = int(np.count_nonzero(words >> np.uint64(bit) & np.uint64(1)))
        assert abs(plus - 5_000) < 5 * 50


def test_more_resamples_than_a_block_share_no_words_between_groups() -> None:
    first, second = (sign_words(group, BLOCK + 5, seed=1) for group in (0, 1))
    assert not set(first[BLOCK:].tolist()) & set(second[:5].tolist())
