"""Random items and results of a run, as plain dicts that textbook loops can read."""

from __future__ import annotations

from typing import Any

from answer_run import AnswerRun
from hypothesis import strategies as st

DOCS = ["d1", "d2", "d3", "d4"]
ENTITIES = ["e1", "e2", "e3"]
VERDICTS = ["supported", "partial", "missing", "contradicted", "malformed", "-"]
MAYBE = st.sampled_from([True, False, None])


def few(values: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), unique=True)


@st.composite
def items(draw: st.DrawFn) -> dict[str, Any]:
    """A golden item."""
    answerable = draw(st.booleans() | st.just(True))
    kinds = draw(st.lists(st.sampled_from(["required", "forbidden", "-"]), min_size=4, max_size=4))
    types = ["simple", None] if answerable else ["simple", None, "false_premise"]
    relevances = ["required", "acceptable", "irrelevant", None]
    concepts = {entity: draw(st.sampled_from(relevances)) for entity in ENTITIES}
    return {
        "answerable": answerable,
        "question_type": draw(st.sampled_from(types)),
        "must": draw(few(["m1", "m2"])),
        "should": draw(few(["s1", "s2"])),
        "anchors": {"m1": draw(st.sampled_from([None, "e1"])), "s1": "e2"},
        "concepts": {entity: kind for entity, kind in concepts.items() if kind},
        "required": [d for d, kind in zip(DOCS, kinds, strict=True) if kind == "required"],
        "forbidden": [d for d, kind in zip(DOCS, kinds, strict=True) if kind == "forbidden"],
        "grades": draw(st.dictionaries(st.sampled_from(DOCS), st.integers(0, 3))),
    }


@st.composite
def results(draw: st.DrawFn, item: dict[str, Any]) -> dict[str, Any] | None:
    """A result to `item`, or None for no row."""
    if draw(st.integers(0, 9)) == 0:
        return None
    asserted = [*item["must"], *item["should"]]
    verdicts = {name: draw(st.sampled_from(VERDICTS[:3] * 3 + VERDICTS)) for name in asserted}
    verdicts = {name: verdict for name, verdict in verdicts.items() if verdict != "-"}
    number = st.none() | st.floats(0, 1, allow_subnormal=False)
    texts = st.sampled_from([None, "text", "text", " "])
    docs = draw(st.lists(st.sampled_from(DOCS), max_size=5))
    return {
        "error": draw(st.sampled_from([None] * 9 + ["boom"])),
        "answer": draw(st.sampled_from(["yes"] * 6 + ["", " ", None])),
        "abstained": draw(st.sampled_from([False] * 6 + [True, None])),
        "premise_rejected": draw(MAYBE),
        "retrieval_ran": draw(st.sampled_from([True] * 4 + [False])),
        "confidence": draw(number),
        "latency_ms": draw(number),
        "verdicts": verdicts,
        "in_context": {name: draw(MAYBE) for name in verdicts},
        "claims": draw(st.lists(st.tuples(MAYBE, MAYBE) | st.just((True, True)), max_size=3)),
        "cites": draw(st.lists(st.sampled_from(DOCS), max_size=4)),
        "retrieved": [{"doc_id": doc, "text": draw(texts)} for doc in docs],
        "detected": [
            (entity, place)
            for entity in draw(few(ENTITIES))
            for place in draw(few(["answer", "evidence"]))
        ],
        "checks": draw(st.dictionaries(st.sampled_from(["k1", "k2"]), MAYBE)),
        "payloads": draw(
            st.dictionaries(
                st.sampled_from(["faithfulness", "context_recall", "context_precision"]),
                st.floats(0, 1, allow_subnormal=False),
                max_size=1,
            )
        ),
    }


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    """Flags, items and one result (or None) per item and sample."""
    samples_n = draw(st.integers(1, 2))
    drawn = draw(st.lists(items(), min_size=1, max_size=5))
    flags = ("citations_reported", "retrieval_reported", "concepts_detected")
    return {
        "flags": {flag: draw(st.sampled_from([True, True, True, False])) for flag in flags},
        "samples_n": samples_n,
        "items": {f"q{n}": item for n, item in enumerate(drawn)},
        "results": {
            (f"q{n}", sample): draw(results(item))
            for n, item in enumerate(drawn)
            for sample in range(samples_n)
        },
    }


def built(run: dict[str, Any]) -> AnswerRun:
    """The contract tables of a random run."""
    tables = AnswerRun(samples_n=run["samples_n"], **run["flags"])
    for item_id, item in run["items"].items():
        tables.item(item_id, **item)
    for (item_id, sample), result in run["results"].items():
        if result is not None:
            tables.result(item_id, sample=sample, **result)
    return tables
