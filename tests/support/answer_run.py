"""Builds the contract tables of a small run from a few facts per item and result.

run = AnswerRun(relevant_at=2)
run.item("q1", must=["a1"], required=["d1"], grades={"d1": 3})
run.result("q1", verdicts={"a1": "supported"}, cites=["d1"], retrieved=["d1", "d2"])
run.value("citation_precision")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from crucible_batch.contracts import golden, runs, trails
from crucible_batch.metrics import catalog
from crucible_batch.metrics.answer_frames import answer_frame, outcome_frame
from crucible_batch.metrics.answer_grains import KEY
from crucible_batch.metrics.facts import Golden, RunFlags, RunRows, run_flags
from crucible_batch.metrics.metric import Metric, RunMetric
from crucible_batch.metrics.score import ScoreTable, score, score_table
from crucible_batch.metrics.taxonomy import classify

START = datetime(2024, 2, 29, tzinfo=UTC)


def _frame(table: Any, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows of a contract table; columns left out are null."""
    data = {name: [row.get(name) for row in rows] for name in table.names}
    return pl.DataFrame(data, schema=table.schema)


class AnswerRun:
    """A run and its golden set, row by row; everything left out is the dull default."""

    def __init__(self, *, relevant_at: int = 2, samples_n: int = 1, **flags: Any) -> None:
        self.relevant_at = relevant_at
        self.flags = {
            "samples_n": samples_n,
            "citations_reported": True,
            "retrieval_reported": True,
            "concepts_detected": False,
        } | flags
        self.pinned: str | None = "j@1"
        self.asked: str | None = None
        self.tables: dict[str, list[dict[str, Any]]] = {}

    def _add(self, table: str, **row: Any) -> None:
        self.tables.setdefault(table, []).append({"workspace_id": "w", "run_id": "r", **row})

    def item(
        self,
        item_id: str,
        *,
        must: Iterable[str] = (),
        should: Iterable[str] = (),
        anchors: Mapping[str, str] | None = None,
        concepts: Mapping[str, str] | None = None,
        required: Iterable[str] = (),
        forbidden: Iterable[str] = (),
        grades: Mapping[str, int] | None = None,
        **item: Any,
    ) -> AnswerRun:
        """Add a golden item; `anchors` maps an assertion to its concept."""
        facts = {"answerable": True, "tags": [], "question": "?", "revision": 1} | item
        self._add("items", item_id=item_id, **facts)
        for level, ids in (("must", must), ("should", should)):
            for name in ids:
                self._add(
                    "assertions",
                    item_id=item_id,
                    assertion_id=name,
                    level=level,
                    concept_id=(anchors or {}).get(name),
                )
        for entity, relevance in (concepts or {}).items():
            self._add("concepts", item_id=item_id, entity_id=entity, relevance=relevance)
        for kind, docs in (("required", required), ("forbidden", forbidden)):
            for doc in docs:
                self._add("citations", item_id=item_id, doc_id=doc, kind=kind)
        for doc, grade in (grades or {}).items():
            self._add("grades", item_id=item_id, doc_id=doc, grade=grade)
        return self

    def result(
        self,
        item_id: str,
        *,
        sample: int = 0,
        verdicts: Mapping[str, str] | None = None,
        in_context: Mapping[str, bool | None] | None = None,
        claims: Iterable[tuple[bool | None, bool | None]] = (),
        cites: Iterable[str] = (),
        retrieved: Iterable[str | dict[str, Any]] = (),
        detected: Iterable[tuple[str, str]] = (),
        checks: Mapping[str, bool | None] | None = None,
        payloads: Mapping[str, float] | None = None,
        judge: str = "j@1",
        **result: Any,
    ) -> AnswerRun:
        """Add a result; `retrieved` are documents in rank order, or rows of `retrievals`."""
        key = {"item_id": item_id, "sample_index": sample}
        facts = {"answer": "text", "abstained": False, "retrieval_ran": True}
        self._add("results", **key, **(facts | result))
        self.judged(item_id, sample=sample, verdicts=verdicts, in_context=in_context, judge=judge)
        for n, (grounded, correct) in enumerate(claims):
            judged = {"grounded": grounded, "correct": correct, "judge": judge}
            self._add("claims", **key, claim_id=f"c{n}", **judged)
        for n, doc in enumerate(cites):
            self._add("answer_citations", **key, ordinal=n, doc_id=doc)
        for n, doc in enumerate(retrieved, start=1):
            row = doc if isinstance(doc, dict) else {"doc_id": doc}
            self._add("retrievals", **key, rank=n, **row)
        for entity, place in detected:
            self._add("detected_concepts", **key, entity_id=entity, place=place)
        for check, passed in (checks or {}).items():
            self._add("checks", **key, check_id=check, passed=passed)
        for metric, value in (payloads or {}).items():
            self._add("external_scores", **key, metric=metric, value=value)
        return self

    def judged(
        self,
        item_id: str,
        *,
        sample: int = 0,
        verdicts: Mapping[str, str] | None = None,
        in_context: Mapping[str, bool | None] | None = None,
        judge: str = "j@1",
    ) -> AnswerRun:
        """Add one judge's verdicts on a result."""
        for name, verdict in (verdicts or {}).items():
            self._add(
                "assertion_verdicts",
                item_id=item_id,
                sample_index=sample,
                assertion_id=name,
                judge=judge,
                verdict=verdict,
                context_supported=(in_context or {}).get(name),
            )
        return self

    def override(self, table: str, column: str, target_key: str, new: str) -> AnswerRun:
        """Add an override; later ones are newer."""
        n = len(self.tables.get("overrides", []))
        self._add(
            "overrides",
            override_id=f"o{n}",
            target_table=table,
            target_column=column,
            target_key=target_key,
            new=new,
            created_at=START + timedelta(hours=n),
        )
        return self

    @property
    def golden(self) -> Golden:
        """The golden tables."""
        return Golden(
            items=self.table("items", golden.ITEMS),
            assertions=self.table("assertions", golden.ASSERTIONS),
            concepts=self.table("concepts", golden.CONCEPTS),
            citations=self.table("citations", golden.CITATIONS),
        )

    @property
    def rows(self) -> RunRows:
        """The run's tables."""
        return RunRows(
            results=self.table("results", runs.RESULTS),
            retrievals=self.table("retrievals", runs.RETRIEVALS),
            answer_citations=self.table("answer_citations", runs.CITATIONS),
            assertion_verdicts=self.table("assertion_verdicts", runs.VERDICTS),
            claims=self.table("claims", runs.CLAIMS),
            detected_concepts=self.table("detected_concepts", runs.DETECTED),
            checks=self.table("checks", runs.CHECKS),
            external_scores=self.table("external_scores", runs.SCORES),
            overrides=self.table("overrides", trails.OVERRIDES),
        )

    def table(self, name: str, contract: Any) -> pl.DataFrame:
        """The rows added to one table."""
        return _frame(contract, self.tables.get(name, []))

    @property
    def run_flags(self) -> RunFlags:
        """What holds for the whole run."""
        return run_flags(self.flags, self.rows, asked_judge=self.asked, pinned_judge=self.pinned)

    @property
    def grades(self) -> pl.DataFrame:
        """item_id, doc_id, grade."""
        schema = {"item_id": pl.String, "doc_id": pl.String, "grade": pl.Int64}
        rows = [{name: row[name] for name in schema} for row in self.tables.get("grades", [])]
        return pl.DataFrame(rows, schema=schema)

    @property
    def contexts(self) -> pl.DataFrame:
        """The facts of the rankings without blank texts, by plain loops."""
        ranked: dict[tuple[str, int], list[str]] = {}
        for row in sorted(self.tables.get("retrievals", []), key=lambda row: row["rank"]):
            text = row.get("text")
            docs = ranked.setdefault((row["item_id"], row["sample_index"]), [])
            if row["doc_id"] not in docs and (text is None or text.strip()):
                docs.append(row["doc_id"])
        out = []
        for item in self.tables.get("items", []):
            grades = {
                row["doc_id"]: row["grade"]
                for row in self.tables.get("grades", [])
                if row["item_id"] == item["item_id"]
            }
            relevant = {doc for doc, grade in grades.items() if grade >= self.relevant_at}
            for sample in range(self.flags["samples_n"]):
                docs = ranked.get((item["item_id"], sample), [])
                positions = [n for n, doc in enumerate(docs, start=1) if doc in relevant]
                counts = (len(grades), len(grades), len(relevant), len(docs))
                out.append((item["item_id"], sample, *counts, positions))
        schema = {
            "item_id": pl.String,
            "sample_index": pl.Int64,
            "n_qrels": pl.Int64,
            "n_placed": pl.Int64,
            "n_relevant": pl.Int64,
            "n_retrieved": pl.Int64,
            "relevant": pl.List(pl.Int64),
        }
        return pl.DataFrame(out, schema=schema, orient="row")

    def answers(self) -> pl.DataFrame:
        """The `answer` grain."""
        return answer_frame(
            self.golden,
            self.rows,
            self.run_flags,
            grades=self.grades,
            contexts=self.contexts,
            relevant_at=self.relevant_at,
        )

    def outcomes(self) -> pl.DataFrame:
        """The `outcome` grain."""
        return outcome_frame(self.answers())

    def frames(self) -> dict[str, pl.DataFrame]:
        """One frame per grain."""
        answers = self.answers()
        return {"answer": answers, "outcome": outcome_frame(answers)}

    def scores(self) -> pl.DataFrame:
        """Every answer-side metric of every expected result, long."""
        return self.score_table().long()

    def score_table(self) -> ScoreTable:
        """Every answer-side metric of every expected result."""
        return score_table(self.frames(), RESULT_METRICS, KEY)

    def value(self, metric: str, item_id: str | None = None, sample: int = 0) -> Any:
        """The value of a metric, or its null reason, for one result (the first item's)."""
        item_id = item_id or self.tables["items"][0]["item_id"]
        declared = catalog.find(metric)
        assert isinstance(declared, Metric)
        found = score(self.frames(), [declared], KEY).filter(
            (pl.col("item_id") == item_id) & (pl.col("sample_index") == sample)
        )
        row = found.row(0, named=True)
        return row["null_reason"] if row["value"] is None else row["value"]

    def number(self, metric: str) -> float | None:
        """The value of a run metric."""
        declared = catalog.find(metric)
        assert isinstance(declared, RunMetric)
        return declared.function(self.outcomes())

    def classes(self) -> pl.DataFrame:
        """Label, class and rule of every expected result."""
        answers = self.answers()
        return answers.select(KEY).hstack(classify(answers))

    def label(self) -> str | None:
        """The truthfulness label of the first result."""
        label: str | None = self.classes()["truthfulness_label"][0]
        return label


RESULT_METRICS = tuple(m for m in catalog.ANSWER_SIDE if isinstance(m, Metric))
RUN_METRICS = tuple(m for m in catalog.ANSWER_SIDE if isinstance(m, RunMetric))
