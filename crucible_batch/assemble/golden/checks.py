"""Checks of what a golden set holds: its size, its spread, its questions and its answers."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from crucible_batch.assemble.golden.material import MISSING, OK, WARN, Line, Material, graded
from crucible_batch.assemble.golden.questions import Pair, alike, repeated
from crucible_batch.contracts import vocabulary as v
from crucible_batch.judges.lexical import content_words

FEWEST, ENOUGH = 20, 50
"""Items: below 20 no verdict is given (STATISTICS.md), from 50 on a set is comfortable."""

HANDFUL = 5
"""Items of a kind from which its slice says anything."""

LONG = 100
"""Words of a ground truth beyond which it should be split into assertions and shortened."""

WRITE = "crucible load golden FILE"


def size(material: Material) -> Line:
    """Whether there are 20 to 50 items or more."""
    n = material.n
    status = OK if n >= ENOUGH else WARN if n >= FEWEST else MISSING
    want = "" if n >= ENOUGH else f"; {FEWEST} are the least, {ENOUGH} or more are better"
    return Line(
        check="items", status=status, what=f"{n:,} active items{want}", help=_unless_ok(status)
    )


def question_types(material: Material) -> Line:
    """Whether the questions are of many kinds; false premises are a line of their own."""
    kinds = [kind for kind in v.QUESTION_TYPES if kind != "false_premise"]
    return _spread(material, "question_type", kinds, least=4)


def popularity(material: Material) -> Line:
    """Whether the subjects are head, torso and tail."""
    return _spread(material, "popularity", list(v.POPULARITIES), least=len(v.POPULARITIES))


def shapes(material: Material) -> Line:
    """Whether each of the four shapes has a handful of items."""
    return _spread(material, "shape", list(v.SHAPES), least=len(v.SHAPES), each=HANDFUL)


def unanswerable(material: Material) -> Line:
    """Whether there are questions to abstain from."""
    return _some(
        "unanswerable", material.golden.items.filter(~pl.col("answerable")), "unanswerable items"
    )


def false_premise(material: Material) -> Line:
    """Whether there are questions that assume what is not so."""
    found = material.golden.items.filter(pl.col("question_type") == "false_premise")
    return _some("false_premise", found, "items with a false premise")


def assertions(material: Material) -> Line:
    """Whether every answerable item says what a right answer must state."""
    must = material.golden.assertions.filter(pl.col("level") == "must")
    without = material.answerable.join(must, on="item_id", how="anti")["item_id"]
    return graded(
        "assertions",
        without,
        material.answerable.height,
        fine="every answerable item has a must assertion",
        lacking="have no must assertion, so their answers get no label",
        fix=WRITE,
    )


def repeated_question(material: Material) -> Line:
    """Assertions that an answer passes by echoing the question: all their words stand in it."""
    asked = dict(material.golden.items.select("item_id", "question").iter_rows())
    echoes = [
        item_id
        for item_id, text in material.golden.assertions.select("item_id", "text").iter_rows()
        if (said := content_words(text)) and said <= content_words(asked[item_id])
    ]
    items = tuple(sorted(set(echoes)))
    if not items:
        return Line(
            check="assertion_echo", status=OK, what="no assertion only repeats its question"
        )
    return Line(
        check="assertion_echo",
        status=WARN,
        what=f"{len(echoes):,} assertions only repeat the question",
        items=items,
        help=WRITE,
    )


def ground_truths(material: Material) -> Line:
    """Ground truths that are empty, or too long to be one."""
    rows = material.answerable.select("item_id", pl.col("ground_truth").fill_null(""))
    empty = [item for item, text in rows.iter_rows() if not text.strip()]
    long = [item for item, text in rows.iter_rows() if len(text.split()) > LONG]
    if not empty and not long:
        what = f"every answerable item has a ground truth of at most {LONG} words"
        return Line(check="ground_truth", status=OK, what=what)
    return Line(
        check="ground_truth",
        status=MISSING if len(empty) == rows.height else WARN,
        what=f"{len(empty):,} answerable items have no ground truth, "
        f"{len(long):,} one of more than {LONG} words",
        items=tuple(sorted({*empty, *long})),
        help=WRITE,
    )


def duplicates(material: Material) -> Line:
    """Questions that are asked twice; paraphrases on purpose share a cluster_id."""
    items = material.golden.items
    questions = dict(items.select("item_id", "question").iter_rows())
    clusters = dict(items.select("item_id", "cluster_id").iter_rows())
    same = repeated(questions)
    near = [
        (a, b) for a, b in alike(questions) if clusters[a] is None or clusters[a] != clusters[b]
    ]
    if not same and not near:
        return Line(check="duplicates", status=OK, what="no question is asked twice")
    return Line(
        check="duplicates",
        status=WARN,
        what=f"{_pairs(same, 'equal')}; {_pairs(near, 'nearly equal')} without a common cluster_id",
        items=tuple(sorted({item for pair in (*same, *near) for item in pair})),
        help=WRITE,
    )


def clusters(material: Material) -> Line:
    """Whether paraphrases are marked as belonging together, and enough clusters are left."""
    items = material.golden.items
    alone = items.filter((pl.col("shape") == "paraphrase") & pl.col("cluster_id").is_null())
    n_units = items["cluster_id"].drop_nulls().n_unique() + items["cluster_id"].null_count()
    repeats = items["cluster_id"].drop_nulls().is_duplicated().any()
    if alone.height:
        return Line(
            check="clusters",
            status=WARN if repeats else MISSING,
            what=f"{alone.height:,} paraphrases have no cluster_id, so they count as independent",
            items=tuple(alone["item_id"].sort()),
            help=WRITE,
        )
    if repeats and n_units < FEWEST:
        what = f"{items.height:,} items are only {n_units:,} independent clusters"
        return Line(check="clusters", status=WARN, what=what, help=WRITE)
    told = f"{n_units:,} independent clusters" if repeats else "every item stands for itself"
    return Line(check="clusters", status=OK, what=told)


def anchors(material: Material) -> Line:
    """Whether assertions are tied to the concept they are about."""
    tied = material.golden.assertions.filter(pl.col("concept_id").is_not_null())
    return graded(
        "concept_anchors",
        material.answerable.join(tied, on="item_id", how="anti")["item_id"],
        material.answerable.height,
        fine="every answerable item has an assertion with a concept_id",
        lacking="have no assertion with a concept_id",
        fix=WRITE,
    )


def _spread(
    material: Material, facet: str, values: Sequence[str], *, least: int, each: int = 1
) -> Line:
    """Whether the items cover a facet: at least `least` of its values, each `each` times."""
    items = material.golden.items
    counts = dict(items[facet].drop_nulls().value_counts().iter_rows())
    absent = [value for value in values if not counts.get(value)]
    few = [f"{value} {n}" for value in values if 0 < (n := counts.get(value, 0)) < each]
    n_there = len(values) - len(absent)
    unset = items.filter(pl.col(facet).is_null())["item_id"].sort()
    status = MISSING if n_there < least else WARN if few or len(unset) else OK
    parts = [", ".join(f"{value} {counts.get(value, 0)}" for value in values)]
    parts += [f"none is {', '.join(absent)}"] if absent else []
    parts += [f"fewer than {each}: {', '.join(few)}"] if few else []
    parts += [f"{len(unset):,} without a value"] if len(unset) else []
    return Line(
        check=facet,
        status=status,
        what="; ".join(parts),
        items=tuple(unset),
        help=_unless_ok(status),
    )


def _some(check: str, found: pl.DataFrame, what: str) -> Line:
    n = found.height
    status = OK if n >= HANDFUL else WARN if n else MISSING
    return Line(
        check=check,
        status=status,
        what=f"{n:,} {what}" + ("" if status == OK else f"; {HANDFUL} or more say something"),
        items=() if status == OK else tuple(found["item_id"].sort()),
        help=_unless_ok(status),
    )


def _unless_ok(status: str) -> str:
    return "" if status == OK else WRITE


def _pairs(pairs: Sequence[Pair], what: str) -> str:
    return f"{len(pairs):,} pair{'' if len(pairs) == 1 else 's'} of {what} questions"


CHECKS = (
    size,
    question_types,
    popularity,
    shapes,
    unanswerable,
    false_premise,
    assertions,
    repeated_question,
    ground_truths,
    duplicates,
    clusters,
    anchors,
)
