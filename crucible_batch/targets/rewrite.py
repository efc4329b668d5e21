"""Words of a text, and seeded rewrites of a query: all choices come from SHA-256, never a clock."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

T = TypeVar("T")

WORD = re.compile(r"\w+")

_STOP_WORDS = """
a an and any are as at be been but by can could did do does for from had has have how i if in
into is it its me my no not of off on one or our out should so such than that the their them
then there these they this those to until up was we were what when where which while who whom
whose why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Function and question words: they say how something is asked, not what is asked about."""

SYNONYMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "build": ("run",),
        "call": ("result",),
        "calculate": ("compute",),
        "chatbot": ("pipeline",),
        "corrected": ("override",),
        "cost": ("price",),
        "delete": ("remove", "redaction"),
        "error": ("errored",),
        "fail": ("errored",),
        "failed": ("errored", "fail"),
        "file": ("document", "parquet"),
        "fresh": ("stale", "age"),
        "hit": ("document", "relevant"),
        "judge": ("judgment", "verdict"),
        "launch": ("run", "start"),
        "mark": ("grade",),
        "mean": ("average",),
        "minimum": ("threshold",),
        "model": ("llm", "pipeline"),
        "night": ("nightly",),
        "old": ("superseded",),
        "passage": ("document", "chunk"),
        "price": ("cost",),
        "proof": ("evidence",),
        "rating": ("judgment", "grade"),
        "refuse": ("abstain",),
        "retriever": ("pipeline", "retrieval"),
        "safe": ("idempotent",),
        "score": ("metric", "value"),
        "searcher": ("pipeline", "retrieval"),
        "silence": ("abstention",),
        "status": ("code",),
        "task": ("job",),
        "text": ("document",),
        "twice": ("second", "already"),
        "useful": ("relevant",),
        "write": ("append", "load"),
        "wrong": ("incorrect",),
        "zero": ("null",),
    }
)
"""What a searcher's word may be called in a handbook; general words, in their singular."""


def words(text: str) -> list[str]:
    """The content words of a text: lower case, plural `s` removed, stop words left out."""
    found = (singular(word) for word in WORD.findall(text.lower()) if word not in STOP_WORDS)
    return [word for word in found if word]


def singular(word: str) -> str:
    """The word without a plural ending; short words and words in -ss, -us, -is stay."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def rewrites(query: Sequence[str], n: int, *, seed: str) -> list[tuple[str, ...]]:
    """Other ways to ask a query, in the order they are made.

    A rewrite puts a synonym beside every word that has one (even numbers, if there is any) or
    drops one word (odd numbers, or when there is no synonym), chosen by SHA-256 of seed and number.

    Args:
        query: Content words of the question.
        n: How many rewrites to make, at least 0.
        seed: Names the item and sample, so that two samples differ and a re-run does not.

    Returns:
        `n` word tuples; a query of one word is never emptied.
    """
    return [_rewrite(tuple(query), f"{seed}/{number}", number % 2 == 0) for number in range(n)]


def _rewrite(query: tuple[str, ...], seed: str, widen: bool) -> tuple[str, ...]:
    if widen and any(word in SYNONYMS for word in query):
        added = tuple(pick(SYNONYMS[word], f"{seed}/{word}") for word in query if word in SYNONYMS)
        return query + added
    if len(query) < 2:
        return query
    dropped = pick(range(len(query)), seed)
    return query[:dropped] + query[dropped + 1 :]


def pick(options: Sequence[T], seed: str) -> T:
    """One of the options, by SHA-256 of the seed."""
    digest = hashlib.sha256(seed.encode()).digest()
    return options[int.from_bytes(digest[:8], "big") % len(options)]
