"""Every answer metric against a plain loop over the facts it is defined on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from answer_run import RESULT_METRICS, RUN_METRICS
from hypothesis import given, settings
from random_runs import built, runs

SCORE = {"supported": 1.0, "partial": 0.5, "missing": 0.0, "contradicted": 0.0}


class Case:
    """One expected result with its item and run, and the plain definitions over it."""

    def __init__(self, run: dict[str, Any], item_id: str, sample: int) -> None:
        self.run, self.item = run, run["items"][item_id]
        self.result = run["results"][item_id, sample]
        self.flags = run["flags"]
        present = [r for r in run["results"].values() if r]
        self.claims_reported = any(r["claims"] for r in present)
        self.places = {place for r in present for _, place in r["detected"]}
        self.gives = {name for r in present for name in r["payloads"]}

    def fact(self, name: str) -> Any:
        return self.result[name]

    @property
    def place(self) -> str:
        return "answer" if "answer" in self.places else "evidence"

    def detected(self, place: str) -> set[str]:
        return {entity for entity, where in self.fact("detected") if where == place}

    def verdict(self, name: str) -> str:
        found = self.fact("verdicts").get(name, "unjudged") if self.result else "unjudged"
        anchor = self.item["anchors"].get(name)
        if self.flags["concepts_detected"] and anchor and self.result:
            lost = anchor not in self.detected(self.place)
            if lost and found in ("supported", "partial"):
                return "missing"
        return found

    def verdicts(self, *levels: str) -> list[str]:
        return [self.verdict(name) for level in levels for name in self.item[level]]

    @property
    def result_reason(self) -> str | None:
        if self.result is None:
            return "no_result"
        return "errored" if self.fact("error") else None

    @property
    def stage_reason(self) -> str | None:
        if self.fact("answer") is None and not self.fact("abstained"):
            return "no_answer_stage"
        return None

    @property
    def answer_reason(self) -> str | None:
        return (
            self.result_reason
            or self.stage_reason
            or ("abstained" if self.fact("abstained") else None)
        )

    @property
    def label(self) -> str:
        """The label, or why there is none."""
        must = self.verdicts("must") or self.verdicts("should")
        should = self.verdicts("should")
        if reason := self.result_reason or self.stage_reason:
            return reason
        if self.fact("abstained") or not self.fact("answer").strip():
            return "missing"
        return self.plain(must, should) if self.item["answerable"] else self.trap(must)

    def plain(self, must: list[str], should: list[str]) -> str:
        if not must:
            return "no_assertions"
        if "contradicted" in must or "missing" in must:
            return "incorrect"
        if "unjudged" in must:
            return "not_judged"
        if "malformed" in must:
            return "malformed_verdict"
        return "perfect" if set(must + should) == {"supported"} else "acceptable"

    def trap(self, must: list[str]) -> str:
        rejected = self.fact("premise_rejected")
        if rejected or (must and set(must) == {"supported"}):
            return "perfect"
        nothing_known = not self.fact("verdicts") and rejected is None
        simple = self.item["question_type"] != "false_premise"
        wrong = {"partial", "missing", "contradicted"} & set(must)
        if rejected is False or wrong or (nothing_known and simple):
            return "incorrect"
        return "not_judged"

    @property
    def ranking(self) -> list[str]:
        texts = [
            row for row in self.fact("retrieved") if row["text"] is None or row["text"].strip()
        ]
        return list(dict.fromkeys(row["doc_id"] for row in texts))


def lost(verdicts: list[str]) -> str | None:
    if "unjudged" in verdicts:
        return "not_judged"
    return "malformed_verdict" if "malformed" in verdicts else None


def asserted(score: Callable[[Case], float], *levels: str) -> Callable[[Case], float | str]:
    def value(case: Case) -> float | str:
        verdicts = case.verdicts(*levels)
        if not verdicts:
            return "no_assertions"
        return case.answer_reason or lost(verdicts) or score(case)

    return value


def assertion_score(case: Case) -> float:
    must, should = case.verdicts("must"), case.verdicts("should")
    points = sum(SCORE[v] for v in must) + 0.5 * sum(SCORE[v] for v in should)
    return points / (len(must) + 0.5 * len(should))


def share(verdicts: list[str], wanted: str) -> float:
    return verdicts.count(wanted) / len(verdicts)


def claimed(count: Callable[[Any, Any], bool], *columns: int) -> Callable[[Case], float | str]:
    def value(case: Case) -> float | str:
        if reason := case.answer_reason:
            return reason
        if not case.claims_reported:
            return "not_reported"
        claims = case.fact("claims")
        if not claims:
            return "no_claims"
        if any(claim[column] is None for claim in claims for column in columns):
            return "not_judged"
        return sum(count(*claim) for claim in claims) / len(claims)

    return value


PRECISION = claimed(lambda _, correct: correct, 1)
GROUNDED = claimed(lambda grounded, _: grounded, 0)


def factual_recall(case: Case) -> float:
    return share(case.verdicts("must", "should"), "supported")


def factual_f1(case: Case) -> float | str:
    verdicts = case.verdicts("must", "should")
    if not verdicts:
        return "no_assertions"
    precision = PRECISION(case)
    if isinstance(precision, str):
        return precision
    if reason := lost(verdicts):
        return reason
    recall = factual_recall(case)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def cited(
    count: Callable[[Case, list[str]], float | str], *, graded: bool = False
) -> Callable[[Case], float | str]:
    def value(case: Case) -> float | str:
        if graded and not case.item["answerable"] and not case.item["grades"]:
            return "unanswerable"
        if reason := case.answer_reason:
            return reason
        if not case.flags["citations_reported"]:
            return "not_reported"
        docs = sorted(set(case.fact("cites")))
        if not docs:
            return "no_citations"
        if graded and not case.item["grades"]:
            return "no_qrels"
        return count(case, docs)

    return value


def good(case: Case, doc: str) -> bool:
    return case.item["grades"].get(doc, 0) >= 2 and doc not in case.item["forbidden"]


def judged_precision(case: Case, docs: list[str]) -> float | str:
    judged = [doc for doc in docs if doc in case.item["grades"]]
    return sum(good(case, doc) for doc in judged) / len(judged) if judged else "not_judged"


def dangling(case: Case) -> float | str:
    if reason := case.answer_reason:
        return reason
    if not case.fact("retrieval_ran"):
        return "contexts_provided"
    if not case.flags["retrieval_reported"]:
        return "not_reported"
    there = {row["doc_id"] for row in case.fact("retrieved")}
    return cited(lambda _, docs: sum(doc not in there for doc in docs) / len(docs))(case)


def citation_recall(case: Case) -> float | str:
    required = case.item["required"]
    if not required:
        return "no_required_citations"
    if reason := case.answer_reason:
        return reason
    if not case.flags["citations_reported"]:
        return "not_reported"
    return len(set(required) & set(case.fact("cites"))) / len(required)


def listed(case: Case, relevance: str) -> list[str]:
    return [entity for entity, kind in case.item["concepts"].items() if kind == relevance]


def concept_recall(case: Case) -> float | str:
    required = listed(case, "required")
    if not required:
        return "no_concepts"
    if reason := (case.answer_reason if "answer" in case.places else case.result_reason):
        return reason
    if not case.flags["concepts_detected"]:
        return "not_reported"
    return len(set(required) & case.detected(case.place)) / len(required)


def near_misses(case: Case) -> float | str:
    irrelevant = listed(case, "irrelevant")
    if not irrelevant:
        return "no_concepts"
    if reason := case.result_reason:
        return reason
    if not case.flags["concepts_detected"] or case.places == {"answer"}:
        return "not_reported"
    return len(set(irrelevant) & case.detected("evidence")) / len(irrelevant)


def payload(
    name: str, item: Callable[[Case], str | None], derived: Callable[[Case], float | str]
) -> Callable[[Case], float | str]:
    def value(case: Case) -> float | str:
        given = case.fact("payloads").get(name) if case.result else None
        inapplicable = item(case) if given is None else None
        if inapplicable and name not in case.gives:
            return inapplicable
        if reason := case.result_reason:
            return reason
        if given is not None:
            return float(given)
        return "not_reported" if inapplicable else derived(case)

    return value


def context_recall(case: Case) -> float | str:
    if not case.fact("retrieval_ran"):
        return "contexts_provided"
    names = [*case.item["must"], *case.item["should"]]
    supported = [case.fact("in_context").get(name) for name in names]
    if None in supported:
        return "not_judged"
    if reason := lost(case.verdicts("must", "should")):
        return reason
    if case.flags["retrieval_reported"] and not case.ranking:
        return 0.0
    return sum(map(bool, supported)) / len(names)


def unrankable(case: Case) -> str | None:
    grades = case.item["grades"]
    if not grades:
        return None if case.item["answerable"] else "unanswerable"
    return None if max(grades.values()) >= 2 else "no_relevant_judged"


def context_precision(case: Case) -> float | str:
    if not case.fact("retrieval_ran"):
        return "contexts_provided"
    if not case.flags["retrieval_reported"]:
        return "not_reported"
    if not case.item["grades"]:
        return "no_qrels"
    relevant = [case.item["grades"].get(doc, 0) >= 2 for doc in case.ranking]
    at = [sum(relevant[:k]) / k for k in range(1, len(relevant) + 1)]
    found = sum(relevant)
    return sum(p for p, v in zip(at, relevant, strict=True) if v) / found if found else 0.0


def checks(case: Case) -> float | str:
    if reason := case.result_reason:
        return reason
    passed = list(case.fact("checks").values())
    if not passed:
        return "not_reported"
    return "not_judged" if None in passed else sum(passed) / len(passed)


def reported(name: str) -> Callable[[Case], float | str]:
    def value(case: Case) -> float | str:
        if reason := case.result_reason:
            return reason
        found = case.result.get(name)
        return "not_reported" if found is None else float(found)

    return value


SIGNED = {"perfect": 1.0, "acceptable": 0.5, "missing": 0.0, "incorrect": -1.0}


def labelled(value: Callable[[Case, str], float]) -> Callable[[Case], float | str]:
    return lambda case: value(case, case.label) if case.label in SIGNED else case.label


def is_correct(case: Case, label: str) -> float:
    declined = bool(case.fact("abstained")) and not case.item["answerable"]
    return float(SIGNED[label] >= 0.5 or declined)


def brier(case: Case) -> float | str:
    if case.label == "no_assertions":
        return "no_assertions"
    if reason := case.answer_reason:
        return reason
    if case.fact("confidence") is None:
        return "no_confidence"
    squared = labelled(lambda c, label: (c.fact("confidence") - is_correct(c, label)) ** 2)
    return squared(case)


TEXTBOOK: dict[str, Callable[[Case], float | str]] = {
    "mean_truthfulness": labelled(lambda _, label: SIGNED[label]),
    "perfect_rate": labelled(lambda _, label: label == "perfect"),
    "acceptable_rate": labelled(lambda _, label: label == "acceptable"),
    "missing_rate": labelled(lambda _, label: label == "missing"),
    "incorrect_rate": labelled(lambda _, label: label == "incorrect"),
    "accuracy": labelled(is_correct),
    "must_recall": asserted(
        lambda c: sum(SCORE[v] for v in c.verdicts("must")) / len(c.verdicts("must")), "must"
    ),
    "must_recall_strict": asserted(lambda c: share(c.verdicts("must"), "supported"), "must"),
    "must_pass_all": asserted(lambda c: set(c.verdicts("must")) == {"supported"}, "must"),
    "assertion_score": asserted(assertion_score, "must", "should"),
    "groundedness": GROUNDED,
    "factual_precision": PRECISION,
    "factual_recall": asserted(factual_recall, "must", "should"),
    "factual_f1": factual_f1,
    "hallucinated_claim_rate": claimed(lambda g, c: not g and not c, 0, 1),
    "self_knowledge_rate": claimed(lambda g, c: c and not g, 0, 1),
    "citation_precision": cited(
        lambda c, docs: sum(good(c, doc) for doc in docs) / len(docs), graded=True
    ),
    "citation_precision_judged": cited(judged_precision, graded=True),
    "citation_judged_share": cited(
        lambda c, docs: sum(doc in c.item["grades"] for doc in docs) / len(docs), graded=True
    ),
    "citation_recall": citation_recall,
    "forbidden_citation_rate": cited(
        lambda c, docs: sum(doc in c.item["forbidden"] for doc in docs) / len(docs)
    ),
    "dangling_citation_rate": dangling,
    "concept_recall": concept_recall,
    "concept_near_miss_rate": near_misses,
    "answer_relevancy": lambda c: c.answer_reason or "not_reported",
    "faithfulness": payload("faithfulness", lambda _: None, GROUNDED),
    "context_recall": payload(
        "context_recall",
        lambda c: None if c.verdicts("must", "should") else "no_assertions",
        context_recall,
    ),
    "context_precision": payload("context_precision", unrankable, context_precision),
    "check_pass_rate": checks,
    "latency_ms": reported("latency_ms"),
    "prompt_tokens": reported("prompt_tokens"),
    "completion_tokens": reported("completion_tokens"),
    "cost_usd": reported("cost_usd"),
    "brier": brier,
}
"""One plain loop per metric. A new metric without one fails below, by name."""

INFINITE = float("inf")
BOUNDS = {
    m.name: (-INFINITE if m.low is None else m.low, INFINITE if m.high is None else m.high)
    for m in RESULT_METRICS
}


def test_every_answer_metric_has_a_textbook_loop() -> None:
    assert set(TEXTBOOK) == {metric.name for metric in RESULT_METRICS}


@settings(max_examples=25, deadline=None)
@given(runs())
def test_every_value_and_reason_is_that_of_the_plain_loop(run: dict[str, Any]) -> None:
    for item_id, sample, metric, value, reason in built(run).scores().iter_rows():
        expected = TEXTBOOK[metric](Case(run, item_id, sample))
        found = value if reason is None else reason
        where = (metric, item_id, sample)
        if isinstance(expected, str) or reason is not None:
            assert (*where, found) == (*where, expected)
        else:
            low, high = BOUNDS[metric]
            assert low <= value <= high, where
            # Sums of a few halves and thirds: the order of adding moves the last bit only.
            assert value == pytest.approx(float(expected), abs=1e-12), where


def cases_of(run: dict[str, Any]) -> list[Case]:
    found = [Case(run, item_id, sample) for item_id, sample in run["results"]]
    return [case for case in found if not case.result_reason and not case.stage_reason]


def ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@settings(max_examples=15, deadline=None)
@given(runs())
def test_abstention_is_counted_as_a_confusion_matrix(run: dict[str, Any]) -> None:
    told = [case for case in cases_of(run) if case.fact("abstained") is not None]
    pairs = [(not case.item["answerable"], bool(case.fact("abstained"))) for case in told]
    tp, fp, fn, tn = (
        pairs.count(pair) for pair in [(True, True), (False, True), (True, False), (False, False)]
    )
    expected = {
        "abstention_precision": ratio(tp, tp + fp),
        "abstention_recall": ratio(tp, tp + fn),
        "abstention_f1": ratio(2 * tp, 2 * tp + fp + fn),
        "over_refusal": ratio(fp, fp + tn),
        "false_answer": ratio(fn, fn + tp),
        "abstention_rate": ratio(tp + fp, len(pairs)),
    }
    labels = [(c, c.label) for c in cases_of(run) if not c.item["answerable"]]
    labels = [(case, label) for case, label in labels if label in SIGNED]
    handled = sum(bool(c.fact("abstained")) or SIGNED[label] > 0 for c, label in labels)
    expected["unanswerable_handled"] = ratio(handled, len(labels))
    outcomes = built(run).outcomes()
    found = {m.name: m.function(outcomes) for m in RUN_METRICS if m.name in expected}
    assert found == pytest.approx(expected)
