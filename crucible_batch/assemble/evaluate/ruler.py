"""The ruler of a run: pinned golden revisions, effective grades and overrides at one lake pin.

Grades are resolved when they are read, never by changing rows; what a run was measured with is
named by `ruler_hash`, so that two runs can be held against one ruler.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from crucible_batch.contracts import TABLES
from crucible_batch.contracts.vocabulary import SOURCES
from crucible_batch.errors import ContractError
from crucible_batch.metrics.facts import Golden
from crucible_batch.metrics.grades import resolve_grades
from crucible_batch.metrics.judgments import overridden
from crucible_batch.store import Snapshot, combined_hash, content_fingerprint, frame_fingerprint

QREL_KEY = ("query_id", "target", "source", "judge")
UNREAD = (
    "workspace_id",
    "golden_set",
    "question",
    "ground_truth",
    "contexts",
    "retired",
    "author",
    "promoted_from",
    "created_at",
)
"""Columns of golden items that no metric and no slice reads."""
CHILDREN = ("golden_assertions", "golden_concepts", "golden_citations")


@dataclass(frozen=True, kw_only=True)
class Grading:
    """Which judgments count.

    Attributes:
        qrel_source: human or llm alone, or all of them resolved.
        granularity: document or chunk.
        llm_lanes: llm judges whose grades count, or all.
    """

    qrel_source: str = "resolved"
    granularity: str = "document"
    llm_lanes: tuple[str, ...] | str = "all"


@dataclass(frozen=True, kw_only=True, eq=False)
class Ruler:
    """What a run is measured with.

    Attributes:
        golden_set_hash: Version of the golden set.
        golden: Pinned revisions of its items, without `UNREAD`, and their children.
        grades: Effective grades at the asked granularity: query_id, doc_id, chunk_id (chunk
            granularity only), grade (Int8), source (an Enum).
        document_grades: Effective grades per document: query_id, doc_id, grade, source.
        judged: Per item with any judgment: query_id, n_qrels, n_placed.
        overrides: Overrides of verdicts and claims that apply to the items.
        n_unplaced: Chunk judgments without a known document.
        hash: The ruler's name.
    """

    golden_set_hash: str
    golden: Golden
    grades: pl.DataFrame
    document_grades: pl.DataFrame
    judged: pl.DataFrame
    overrides: pl.DataFrame
    n_unplaced: int
    hash: str


def load_ruler(snapshot: Snapshot, golden_set_hash: str, grading: Grading) -> Ruler:
    """Gather the ruler of a golden-set hash as of a snapshot.

    Raises:
        ContractError: The hash is unknown, or an override cannot be read.
    """
    golden = load_golden_set(snapshot, golden_set_hash, without=UNREAD)
    ids = golden.items.select("item_id")
    overrides = snapshot.read("judgment_overrides").drop("_commit").collect()
    qrels = judgments(snapshot, overrides, grading, ids)
    on_target = "doc_id" if grading.granularity == "document" else "chunk_id"
    counted = (
        qrels.lazy()
        .group_by("query_id")
        .agg(
            n_qrels=pl.len().cast(pl.Int64),
            n_placed=pl.col(on_target).is_not_null().sum().cast(pl.Int64),
        )
        # In memory, the rows of every group would be listed: half a gigabyte for ten million.
        .collect(engine="streaming")
    )
    n_unplaced = int(qrels["doc_id"].null_count())
    document = grades = _compact(resolve_grades(qrels))
    if grading.granularity != "document":
        grades = _compact(resolve_grades(qrels, granularity=grading.granularity))
    # Judgments may be many: their rows go before what follows takes room.
    del qrels
    applying = _of_items(overrides.filter(pl.col("target_table") != "qrels"), ids)
    return Ruler(
        golden_set_hash=golden_set_hash,
        golden=golden,
        grades=grades,
        document_grades=document,
        judged=counted.sort("query_id"),
        overrides=applying,
        n_unplaced=n_unplaced,
        hash=ruler_hash(grades, document, applying),
    )


def _compact(grades: pl.DataFrame) -> pl.DataFrame:
    """Grades in two bytes: all of them are kept while a run is scored."""
    return grades.cast({"grade": pl.Int8, "source": pl.Enum(SOURCES)})


class Rulers:
    """The rulers of one snapshot, each gathered once: many runs are measured with the same."""

    def __init__(self, snapshot: Snapshot, grading: Grading) -> None:
        self._snapshot, self._grading = snapshot, grading
        self._found: dict[str, Ruler] = {}

    def of(self, golden_set_hash: str) -> Ruler:
        """The ruler of a golden-set hash; see `load_ruler`."""
        if golden_set_hash not in self._found:
            self._found[golden_set_hash] = load_ruler(
                self._snapshot, golden_set_hash, self._grading
            )
        return self._found[golden_set_hash]


def load_golden_set(
    snapshot: Snapshot, golden_set_hash: str, *, without: Collection[str] = ()
) -> Golden:
    """The pinned revision of every item of a golden-set hash, with its children.

    Args:
        snapshot: What is visible.
        golden_set_hash: Version of the golden set.
        without: Columns of the items that are not read.

    Raises:
        ContractError: The hash is unknown in this workspace.
    """
    on = ["item_id", "revision"]
    versions = snapshot.read("golden_set_versions")
    pinned = versions.filter(pl.col("golden_set_hash") == golden_set_hash).select(on).collect()
    if pinned.is_empty():
        raise ContractError(
            f"No golden set of this workspace has the hash {golden_set_hash}",
            fix="load the golden items the run was made for.",
        )
    items, assertions, concepts, citations = (
        snapshot.read(name)
        .drop("_commit")
        .join(pinned.lazy(), on=on, how="semi")
        .sort(TABLES[name].key)
        .drop(without if name == "golden_items" else ())
        .collect()
        for name in ("golden_items", *CHILDREN)
    )
    return Golden(items=items, assertions=assertions, concepts=concepts, citations=citations)


def ruler_hash(grades: pl.DataFrame, document_grades: pl.DataFrame, overrides: pl.DataFrame) -> str:
    """SHA-256 over the sorted effective grades and the overrides that apply to the items.

    With granularity chunk the grades of documents count too: citations are judged by them. Grades
    come from `resolve_grades`, which sorts them by their key.
    """
    frames = [grades] if "chunk_id" not in grades.columns else [grades, document_grades]
    return combined_hash(
        {
            "grades": [frame_fingerprint(frame) for frame in frames],
            "overrides": content_fingerprint(overrides, TABLES["judgment_overrides"]),
        }
    )


def hash_over(ruler: Ruler, ids: pl.Series) -> str:
    """The name of the part of a ruler that measures some of its items."""
    wanted = pl.col("query_id").is_in(ids.implode())
    return ruler_hash(
        ruler.grades.filter(wanted),
        ruler.document_grades.filter(wanted),
        _of_items(ruler.overrides, ids.to_frame("item_id")),
    )


def judgments(
    snapshot: Snapshot,
    overrides: pl.DataFrame,
    grading: Grading,
    ids: pl.DataFrame | None = None,
    *,
    with_lanes: bool = False,
) -> pl.DataFrame:
    """Judgments that count, with their newest overrides; one row per lane, in no order.

    Args:
        snapshot: What is visible.
        overrides: `judgment_overrides`.
        grading: Which judgments count.
        ids: item_id of the items wanted; all queries when None.
        with_lanes: Give target and judge too, whether or not an override speaks of them.
    """
    # The whole key is read only where an override speaks of it: it is half of the bytes.
    corrected = overrides.filter(pl.col("target_table") == "qrels").height > 0
    key = QREL_KEY if corrected or with_lanes else ("query_id", "source")
    rows = snapshot.read("qrels")
    if grading.qrel_source != "resolved":
        rows = rows.filter(pl.col("source") == grading.qrel_source)
    if grading.llm_lanes != "all":
        lanes = list(grading.llm_lanes)
        rows = rows.filter((pl.col("source") != "llm") | pl.col("judge").is_in(lanes))
    if ids is not None:
        queries = ids.lazy().select(query_id="item_id")
        # In their order, which is often that of the key, they need not be sorted again.
        rows = rows.join(queries, on="query_id", how="semi", maintain_order="left")
    found = rows.select(*key, "doc_id", "chunk_id", "grade").collect()
    return overridden(found, overrides, "qrels", "grade", QREL_KEY, _grade)


def _grade(text: str) -> int:
    """A grade of the scale; anything else is refused, never clamped."""
    grade = int(text)
    if not 0 <= grade <= 3:
        raise ValueError(text)
    return grade


def _of_items(overrides: pl.DataFrame, ids: pl.DataFrame) -> pl.DataFrame:
    """Overrides of verdicts and claims whose key (run_id, item_id, …) names one of the items."""
    item = pl.col("target_key").str.json_path_match("$[1]")
    return overrides.filter(item.is_in(ids["item_id"].implode()))
