"""The embedded lexical pipeline: BM25 over chunks, an extractive answer, and a way to abstain.

It is small enough to understand in one reading and needs no model, no key and no network. It is no
strong pipeline and does not try to be: it exists so that two configurations of something real can
be compared. Everything it does is a function of the corpus, its configuration, the item id and the
sample number: no clock, no threads, no `hash()`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crucible_batch.errors import UsageError
from crucible_batch.exact import exact_sum
from crucible_batch.targets.corpus import Chunk, Document, Entity, mentioned, split_chunks
from crucible_batch.targets.rewrite import rewrites, words

if TYPE_CHECKING:
    import bm25s

DIGITS = 6
"""Decimals of every published number; also where equal scores begin, on any machine."""

FUSION_K = 60
"""Constant of reciprocal rank fusion (Cormack, Clarke & Buettcher 2009)."""

SENTENCE_END = re.compile(r"(?<=[.!?])\s+")

ABSTENTION = "The documents do not answer this question."


@dataclass(frozen=True, kw_only=True)
class LexicalConfig:
    """What can be set; this is the payload of the target's snapshot.

    Attributes:
        name: Name of the configuration.
        rewrite_n: Rewrites asked beside the question itself.
        top_k: Chunks retrieved and reported.
        evidence_n: Chunks, from the top, that the answer is taken from.
        sentences_n: Sentences an answer has at most.
        abstain_below: Confidence under which the pipeline abstains.
        chunk_words: Words a chunk has at most, unless one paragraph is longer.
        k1: BM25 term frequency saturation.
        b: BM25 length normalisation.
    """

    name: str
    rewrite_n: int
    evidence_n: int
    sentences_n: int
    top_k: int = 10
    abstain_below: float = 0.25
    chunk_words: int = 60
    k1: float = 1.2
    b: float = 0.75

    def __post_init__(self) -> None:
        """Refuse settings that cannot be run."""
        counts = {"top_k": self.top_k, "evidence_n": self.evidence_n}
        counts |= {"sentences_n": self.sentences_n, "chunk_words": self.chunk_words}
        wrong = [f"{name} = {value}" for name, value in counts.items() if value < 1]
        wrong += [f"rewrite_n = {self.rewrite_n}"] if self.rewrite_n < 0 else []
        if wrong:
            raise UsageError(
                f"The lexical target {self.name!r} cannot run",
                problems=wrong,
                fix="counts are at least 1, rewrite_n at least 0",
            )


PLAIN = LexicalConfig(name="lexical-plain", rewrite_n=0, evidence_n=3, sentences_n=1)
"""The question as it was asked, the best sentence of three chunks."""

REWRITE = LexicalConfig(name="lexical-rewrite", rewrite_n=4, evidence_n=5, sentences_n=3)
"""Four rewrites fused with the question, the best three sentences of five chunks."""


@dataclass(frozen=True)
class Hit:
    """A retrieved chunk; `score` is BM25, or the fused score when there are rewrites."""

    rank: int
    chunk: Chunk
    score: float


@dataclass(frozen=True)
class Answer:
    """What the pipeline gives for one question.

    Attributes:
        text: The answer; `ABSTENTION` when it abstained.
        hits: The ranked list, best first.
        evidence: The first hits, which the answer was taken from.
        cited: Chunks of the sentences in the answer, each once, in the order of the answer.
        confidence: Share of the question's words, weighted by rarity, in the best chunk of the
            evidence; 0 to 1.
        answer_concepts: Entities that the answer names, by id.
        evidence_concepts: Entities that the evidence names, by id.
    """

    text: str
    abstained: bool
    confidence: float
    hits: tuple[Hit, ...]
    evidence: tuple[Hit, ...]
    cited: tuple[Chunk, ...]
    answer_concepts: tuple[str, ...]
    evidence_concepts: tuple[str, ...]


class LexicalTarget:
    """A configured pipeline over one corpus."""

    def __init__(
        self,
        config: LexicalConfig,
        documents: Sequence[Document],
        entities: Sequence[Entity] = (),
    ) -> None:
        self.config = config
        self.entities = tuple(sorted(entities, key=lambda entity: entity.entity_id))
        ordered = sorted(documents, key=lambda document: document.doc_id)
        self.chunks = split_chunks(ordered, max_words=config.chunk_words)
        read = [words(f"{chunk.document.title}\n{chunk.text}") for chunk in self.chunks]
        self._words = {
            chunk.chunk_id: frozenset(found) for chunk, found in zip(self.chunks, read, strict=True)
        }
        self._frequency = Counter(word for found in self._words.values() for word in found)
        self._index = _build_index(read, config)

    def answer(self, item_id: str, question: str, sample_index: int = 0) -> Answer:
        """Answer a question.

        Args:
            item_id: Seeds the rewrites, together with the sample.
            question: The question as asked.
            sample_index: Number of the sample; samples differ through their rewrites.
        """
        asked = list(dict.fromkeys(words(question)))
        hits = self._retrieve(asked, f"{item_id}/{sample_index}")
        evidence = hits[: self.config.evidence_n]
        confidence = self._confidence(asked, evidence)
        abstained = confidence < self.config.abstain_below
        chosen = [] if abstained else self._best_sentences(asked, evidence)
        texts = [sentence for _, sentence in chosen]
        return Answer(
            text=" ".join(texts) if chosen else ABSTENTION,
            abstained=abstained,
            confidence=confidence,
            hits=tuple(hits),
            evidence=tuple(evidence),
            cited=tuple(dict.fromkeys(chunk for chunk, _ in chosen)),
            answer_concepts=tuple(mentioned(texts, self.entities)),
            evidence_concepts=tuple(mentioned((h.chunk.text for h in evidence), self.entities)),
        )

    def _retrieve(self, asked: list[str], seed: str) -> list[Hit]:
        queries = [tuple(asked), *rewrites(asked, self.config.rewrite_n, seed=seed)]
        rankings = [self._rank(query) for query in queries]
        scores = rankings[0] if len(rankings) == 1 else _fused(rankings, self.chunks)
        return [
            Hit(rank, self.chunks[at], scores[at])
            for rank, at in enumerate(_order(scores, self.chunks)[: self.config.top_k], start=1)
        ]

    def _rank(self, query: Iterable[str]) -> dict[int, float]:
        """BM25 score by chunk position, for the chunks that have any word of the query."""
        known = [word for word in query if word in self._frequency]
        if not known:
            return {}
        scores = self._index.get_scores(known).tolist()
        return {at: round(score, DIGITS) for at, score in enumerate(scores) if score > 0}

    def _confidence(self, asked: list[str], evidence: Sequence[Hit]) -> float:
        """Share of the question, weighted by rarity, that the best chunk of the evidence covers."""
        shares = [self._coverage(asked, self._words[hit.chunk.chunk_id]) for hit in evidence]
        return max(shares, default=0.0)

    def _coverage(self, asked: Iterable[str], found: frozenset[str]) -> float:
        """Share of `asked`, weighted by rarity in the corpus, that is among the words found."""
        weights = {word: self._rarity(word) for word in asked}
        total = exact_sum(weights.values())
        covered = exact_sum(weight for word, weight in weights.items() if word in found)
        return round(covered / total, DIGITS) if total else 0.0

    def _rarity(self, word: str) -> float:
        """Inverse document frequency as in Lucene; a word the corpus never uses weighs most."""
        frequency = self._frequency[word]
        return math.log(1 + (len(self.chunks) - frequency + 0.5) / (frequency + 0.5))

    def _best_sentences(self, asked: list[str], evidence: Sequence[Hit]) -> list[tuple[Chunk, str]]:
        """The sentences that cover the question best, in the order they stand in the evidence."""
        found = [
            (hit.chunk, sentence)
            for hit in evidence
            for sentence in SENTENCE_END.split(hit.chunk.text.replace("\n\n", " "))
        ]
        covers = [self._coverage(asked, frozenset(words(sentence))) for _, sentence in found]
        best = sorted(range(len(found)), key=lambda at: (-covers[at], at))
        chosen = sorted(at for at in best[: self.config.sentences_n] if covers[at] > 0)
        return [found[at] for at in chosen]


def _build_index(read: Sequence[Sequence[str]], config: LexicalConfig) -> bm25s.BM25:
    """Index the chunks: sorted words, float64 and plain NumPy, so that every build is the same."""
    import bm25s

    vocabulary = {word: at for at, word in enumerate(sorted({w for found in read for w in found}))}
    index = bm25s.BM25(
        k1=config.k1,
        b=config.b,
        method="lucene",
        dtype="float64",
        backend="numpy",
    )
    ids = [[vocabulary[word] for word in found] for found in read]
    index.index((ids, vocabulary), show_progress=False)
    return index


def _order(scores: dict[int, float], chunks: Sequence[Chunk]) -> list[int]:
    """Positions by score descending, then chunk id descending, which is trec_eval's order."""
    by_id = sorted(scores, key=lambda at: chunks[at].chunk_id, reverse=True)
    return sorted(by_id, key=lambda at: -scores[at])


def _fused(rankings: Sequence[dict[int, float]], chunks: Sequence[Chunk]) -> dict[int, float]:
    """Reciprocal rank fusion: the sum of 1 / (60 + rank) over the rankings that have the chunk."""
    terms: dict[int, list[float]] = {}
    for ranking in rankings:
        for rank, at in enumerate(_order(ranking, chunks), start=1):
            terms.setdefault(at, []).append(1 / (FUSION_K + rank))
    return {at: round(exact_sum(values), DIGITS) for at, values in terms.items()}
