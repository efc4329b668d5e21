"""The items that moved most each way: question, both answers, what changed in the top k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from crucible_batch.report import words
from crucible_batch.report.facts import KPIS, Catalog
from crucible_batch.report.figures import Figure
from crucible_batch.report.focus import focus
from crucible_batch.report.inputs import ReportInputs
from crucible_batch.report.lines import Row
from crucible_batch.report.moved import changed_documents, grade_text, place_text

SHOWN = 10
"""Items listed each way."""

SHOWN_DOCUMENTS = 3
"""Documents listed of an item, those first that add or take most."""

LONGEST_QUESTION = 300
"""Characters of a question that are shown."""

LONGEST_ANSWERS = (1_000, 600, 400, 300, 200, 150)
"""Characters of an answer that are shown: the first that keep all answers within their room."""

ROOM = 6_000
"""Characters for all answers together, so that a page of long ones stays small."""


@dataclass(frozen=True)
class Place:
    """A document that changed its place; `part`: what it adds to the delta, where that is known."""

    doc_id: str
    place: str
    grade: str
    part: Figure | None


@dataclass(frozen=True)
class Moved:
    """An item whose focus metric moved.

    Attributes:
        also: How it moved on other KPIs, in words.
        documents: What changed in the top k, those first that did most.
        n_more_documents: Further ones.
    """

    item_id: str
    question: str | None
    baseline: Figure
    candidate: Figure
    delta: Figure
    also: str
    answer_baseline: str | None
    answer_candidate: str | None
    documents: tuple[Place, ...]
    n_more_documents: int


@dataclass(frozen=True)
class MovedItems:
    """The items that moved most each way on one metric."""

    metric: str
    title: str
    why: str
    n_better: int
    n_worse: int
    worse: tuple[Moved, ...]
    better: tuple[Moved, ...]


def moved_items(inputs: ReportInputs, catalog: Catalog) -> MovedItems | None:
    """The ten items that moved most each way on the focus metric, with what else moved."""
    chosen = focus(inputs.comparisons)
    if chosen is None:
        return None
    name, why = chosen
    items = inputs.comparison_items.filter(pl.col("metric") == name).sort("rank")
    gain = pl.col("delta") * (catalog.direction(name) or 1)
    better, worse = items.filter(gain > 0), items.filter(gain < 0)
    if better.is_empty() and worse.is_empty():
        return None
    worst, best = worse.head(SHOWN), better.head(SHOWN)
    texts = _Texts(inputs, catalog, name, pl.concat([worst["item_id"], best["item_id"]]))
    return MovedItems(
        metric=name,
        title=catalog.title(name),
        why=why,
        n_better=better.height,
        n_worse=worse.height,
        worse=tuple(map(texts.moved, worst.iter_rows(named=True))),
        better=tuple(map(texts.moved, best.iter_rows(named=True))),
    )


class _Texts:
    """Questions, answers and other moves of the items shown, looked up by id."""

    def __init__(
        self, inputs: ReportInputs, catalog: Catalog, focus_metric: str, shown: pl.Series
    ) -> None:
        self._inputs, self._catalog, self._focus = inputs, catalog, focus_metric
        is_shown = pl.col("item_id").is_in(shown.implode())
        golden = inputs.golden_items.filter(is_shown).sort("revision")
        self._questions = dict(golden.select("item_id", "question").iter_rows())
        items = inputs.comparison_items.filter(is_shown)
        self._deltas = {
            (metric, item_id): delta
            for metric, item_id, delta in items.select("metric", "item_id", "delta").iter_rows()
        }
        # Sorted downwards, so that the first sample is the one that stays.
        results = inputs.results.filter(is_shown).sort("sample_index", descending=True)
        self._results = {(r["run_id"], r["item_id"]): r for r in results.iter_rows(named=True)}
        # An answer that both runs gave is printed once.
        different = {(item_id, r["answer"]) for (_, item_id), r in self._results.items()}
        self._longest = _longest([answer or "" for _, answer in different])
        self._documents = inputs.comparison_documents.filter(
            is_shown, pl.col("metric") == focus_metric
        )

    def moved(self, row: Row) -> Moved:
        """An item of `comparison_items` with all that is known of it."""
        item_id = row["item_id"]
        question = self._questions.get(item_id)
        answers = [self._answer(item_id, run_id) for run_id in self._inputs.run_ids]
        changed = changed_documents(self._documents.filter(pl.col("item_id") == item_id))
        return Moved(
            item_id=item_id,
            question=question and words.shortened(question, LONGEST_QUESTION),
            baseline=self._catalog.figure(self._focus, row["baseline"]),
            candidate=self._catalog.figure(self._focus, row["candidate"]),
            delta=Figure(row["delta"], words.signed(row["delta"])),
            also=self._also(item_id),
            answer_baseline=answers[1] if len(answers) > 1 else None,
            answer_candidate=answers[0],
            documents=tuple(map(_place, changed.head(SHOWN_DOCUMENTS).iter_rows(named=True))),
            n_more_documents=max(0, changed.height - SHOWN_DOCUMENTS),
        )

    def _also(self, item_id: str) -> str:
        return ", ".join(
            f"{self._catalog.title(name)} {words.signed(delta, 2)}"
            for name in KPIS
            if name != self._focus and (delta := self._deltas.get((name, item_id)))
        )

    def _answer(self, item_id: str, run_id: str) -> str | None:
        row = self._results.get((run_id, item_id))
        if row is None:
            return None
        if row["error"] is not None:
            return f"[error] {words.shortened(row['error'])}"
        text = words.shortened(row["answer"] or "", self._longest)
        return f"[abstained] {text}".rstrip() if row["abstained"] else text or "[blank]"


def _longest(answers: Sequence[str]) -> int:
    """Characters of an answer that leave room for all of them."""
    for longest in LONGEST_ANSWERS:
        if len("".join(text[:longest] for text in answers)) <= ROOM:
            return longest
    return LONGEST_ANSWERS[-1]


def _place(row: Row) -> Place:
    part = row["contribution"]
    return Place(
        doc_id=row["doc_id"],
        place=place_text(row),
        grade=grade_text(row),
        part=Figure(part, words.signed(part)) if part else None,
    )
