"""The offline lexical judge: a heuristic over shared content words, not an understanding of text.

It sees whether the words of a statement stand together in a text. It cannot see paraphrase (it
misses support), nor who did what to whom (it grants support to a text that says the opposite in the
same words, unless a negation or a number gives it away). It never says `contradicted`: that cannot
be told from words alone. Its use is to be offline, free, instant and the same on every machine;
for decisions that matter, use a judge that reads, and measure both against people.

All functions are pure. The rules are data: `PROMPT_VERSION` is a hash of them, so a changed rule is
another judge.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

MODEL = "lexical"

_STOP_WORDS = """
a an and any are as at be been both but by can could did do does each for from had has have
how i if in into is it its may me my of on one only or our out over should so such than that
the their them then there these they this those to under until us was we were what when where
which while who whom whose why will with you your
"""
STOP_WORDS = tuple(_STOP_WORDS.split())
NEGATIONS = (
    *("cannot", "neither", "never", "no", "nobody"),
    *("none", "nor", "not", "nothing", "without"),
)
"""Words that turn a statement round; they are compared on their own, never as content."""

SUFFIXES = ("ings", "ing", "ed", "es", "ly", "s")
"""Endings taken off words of five letters or more, the first that fits, then a final e."""

SUPPORTED_FROM = 0.8
PARTIAL_FROM = 0.5
QUESTION_FROM = 0.6

TOKEN = re.compile(r"(?P<number>(?<![\w.,])[−-]?\d+(?:[.,]\d+)*(?![\w]))|(?P<word>\w+)")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n{2,}")
WHOLE_WORD = re.compile(r"(?<![\w-])\w+(?![\w-])")
"""A word that is no part of a compound: `no-op` negates nothing."""
CLAUSE_END = re.compile(r"[,;:–—]\s")

RULES = MappingProxyType(
    {
        "rules": 1,
        "patterns": [p.pattern for p in (TOKEN, SENTENCE_END, CLAUSE_END, WHOLE_WORD)],
        "stop_words": STOP_WORDS,
        "negations": NEGATIONS,
        "suffixes": SUFFIXES,
        "supported_from": SUPPORTED_FROM,
        "partial_from": PARTIAL_FROM,
        "question_from": QUESTION_FROM,
    }
)
"""Everything a verdict depends on. `rules` counts changes of the code that data cannot show."""

PROMPT_VERSION = hashlib.sha256(
    json.dumps(dict(RULES), sort_keys=True, separators=(",", ":")).encode()
).hexdigest()[:12]
JUDGE = f"{MODEL}@{PROMPT_VERSION}"
"""Text of the `judge` columns."""


@dataclass(frozen=True)
class Verdict:
    """What the judge says of one assertion.

    Attributes:
        verdict: supported, partial or missing.
        context_supported: The evidence supports the assertion; None when there is no evidence to
            look at because the run reports none.
    """

    verdict: str
    context_supported: bool | None


def judge_assertion(assertion: str, answer: str, evidence: Sequence[str] | None = None) -> Verdict:
    """Judge one assertion against an answer and, apart from it, against the evidence.

    Args:
        assertion: The statement.
        answer: The answer text; empty supports nothing.
        evidence: Retrieved texts, or None when the run reports none. An empty list supports
            nothing.
    """
    return Verdict(
        verdict=support(assertion, [answer]),
        context_supported=None if evidence is None else grounded(assertion, evidence),
    )


def grounded(statement: str, evidence: Iterable[str]) -> bool:
    """Whether the evidence supports a claim or assertion in full."""
    return support(statement, evidence) == "supported"


def support(statement: str, texts: Iterable[str]) -> str:
    """Say how far texts make a statement: supported, partial or missing.

    A statement of n sentences is looked for in every n neighbouring sentences of each text, and the
    best place counts. There the share of its content words must reach 0.8 for `supported` and 0.5
    for `partial`; a number of the statement that is absent, or a negation on one side only, leaves
    `partial` at best.
    """
    wanted = _Statement.read(statement)
    size = max(1, len(sentences(statement)))
    places = (place for text in texts for place in _windows(sentences(text), size))
    found = {wanted.verdict(place) for place in places}
    return next((word for word in ("supported", "partial") if word in found), "missing")


def grade(question: str, must: Sequence[str], should: Sequence[str], document: str) -> int | None:
    """Grade a document for a question, 0 to 3, by what of the expected answer it holds.

    3: every must assertion is supported. 2: some assertion is supported. 1: some assertion is
    partly supported, or the document has at least 0.6 of the content words of the question.
    0: otherwise. Without must assertions the should assertions serve as must.

    Returns:
        The grade, or None when there is no assertion: then nothing says what relevant would be.
    """
    if not must and not should:
        return None
    vital = [support(text, [document]) for text in (must or should)]
    other = [support(text, [document]) for text in should] if must else []
    if all(verdict == "supported" for verdict in vital):
        return 3
    if "supported" in (*vital, *other):
        return 2
    asked = content_words(question)
    shared = len(asked & content_words(document)) / len(asked) if asked else 0.0
    return int("partial" in (*vital, *other) or shared >= QUESTION_FROM)


def sentences(text: str) -> list[str]:
    """The sentences of a text; one ends at . ! ? before a space, and at a blank line."""
    return [sentence for sentence in SENTENCE_END.split(text.strip()) if sentence]


def content_words(text: str) -> frozenset[str]:
    """Stems of the words that are no stop word and no negation, numbers included."""
    return _tokens(text)[0]


@dataclass(frozen=True)
class _Statement:
    text: str
    stems: frozenset[str]
    numbers: frozenset[str]

    @classmethod
    def read(cls, text: str) -> _Statement:
        stems, numbers = _tokens(text)
        return cls(text, stems, numbers)

    def verdict(self, place: str) -> str:
        """The verdict if only this place of a text counted."""
        if not self.stems:
            return "missing"
        stems, numbers = _tokens(place)
        share = len(self.stems & stems) / len(self.stems)
        if share < PARTIAL_FROM:
            return "missing"
        agrees = self.numbers <= numbers and self._negated(self.text) == self._negated(place)
        return "supported" if share >= SUPPORTED_FROM and agrees else "partial"

    def _negated(self, text: str) -> bool:
        """Whether the clause that shares most words with the statement holds a negation."""
        clauses = CLAUSE_END.split(text)
        shared = [len(self.stems & _tokens(clause)[0]) for clause in clauses]
        closest = clauses[shared.index(max(shared))].casefold()
        return not set(NEGATIONS).isdisjoint(WHOLE_WORD.findall(closest))


def _windows(parts: Sequence[str], size: int) -> list[str]:
    """Every `size` neighbouring parts joined; all of them when there are fewer."""
    last = max(1, len(parts) - size + 1) if parts else 0
    return [" ".join(parts[at : at + size]) for at in range(last)]


@lru_cache(maxsize=1 << 16)
def _tokens(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Stems (numbers among them) and numbers of a text."""
    stems, numbers = set(), set()
    for match in TOKEN.finditer(text.casefold()):
        if match["number"]:
            numbers.add(match["number"].replace(",", "").replace("−", "-"))
        elif match["word"] not in STOP_WORDS and match["word"] not in NEGATIONS:
            stems.add(stem(match["word"]))
    return frozenset(stems | numbers), frozenset(numbers)


def stem(word: str) -> str:
    """A word without its most frequent English endings; `judged` and `judges` give `judg`."""
    if len(word) < 5 or not word.isalpha():
        return word
    cut = next((s for s in SUFFIXES if word.endswith(s) and not word.endswith("ss")), "")
    base = word.removesuffix(cut)
    if len(base) > 3 and base[-1] == base[-2] and cut in {"ing", "ings", "ed"}:
        base = base[:-1]
    return base.removesuffix("e") if len(base) > 3 else base
