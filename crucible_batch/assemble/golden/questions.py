"""Questions that are asked twice, word for word or nearly so."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import combinations

from crucible_batch.judges.lexical import content_words

ALIKE = 0.8
"""Share of common content words (Jaccard) from which two questions count as nearly the same."""

Pair = tuple[str, str]


def repeated(questions: Mapping[str, str]) -> list[Pair]:
    """Pairs of items whose questions are equal up to case, spaces and punctuation at the end."""
    same: defaultdict[str, list[str]] = defaultdict(list)
    for item_id, question in sorted(questions.items()):
        same[_plain(question)].append(item_id)
    return sorted(pair for ids in same.values() for pair in combinations(ids, 2))


def alike(questions: Mapping[str, str]) -> list[Pair]:
    """Pairs of items whose questions share most content words, but are not repeated ones.

    Only questions that share one of their rarest words are held against each other: sets of words
    with a Jaccard similarity of at least `ALIKE` cannot differ in all of these (prefix filter,
    Chaudhuri, Ganti & Kaushik 2006), so large sets need no comparison of everything with
    everything.
    """
    words = {item: content_words(question) for item, question in questions.items()}
    rarity = Counter(word for found in words.values() for word in found)
    shelves: defaultdict[str, list[str]] = defaultdict(list)
    for item, found in sorted(words.items()):
        rare_first = sorted(found, key=lambda word: (rarity[word], word))
        for word in rare_first[: len(found) - _least(len(found)) + 1]:
            shelves[word].append(item)
    candidates = {pair for ids in shelves.values() for pair in combinations(ids, 2)}
    again = set(repeated(questions))
    return sorted(
        (a, b)
        for a, b in candidates - again
        if len(words[a] & words[b]) >= ALIKE * len(words[a] | words[b])
    )


def _least(n: int) -> int:
    """Fewest common words of a set of n with any set it is alike to."""
    return math.ceil(ALIKE * n - 1e-9)


def _plain(question: str) -> str:
    folded = unicodedata.normalize("NFKC", question).casefold()
    return " ".join(folded.split()).rstrip("?!. ")
