"""Laws of a corpus snapshot, and a plain loop as a second opinion."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from crucible_batch.assemble.drift import CorpusSnapshot, corpus_snapshot

AS_OF = datetime(2026, 5, 1, tzinfo=UTC)
COUNTS = ("doc_added", "doc_removed", "doc_changed", "doc_churn", "doc_churn_ratio", "doc_moved")
UTC_TIME = pl.Datetime("us", "UTC")

Corpus = dict[str, tuple[str, str]]

ids = st.integers(0, 30).map("d{}".format)
hashes = st.integers(0, 12).map("h{}".format)
one_way = st.dictionaries(ids, st.tuples(hashes, st.just("v1")), max_size=30)
two_ways = st.dictionaries(ids, st.tuples(hashes, st.sampled_from(["v1", "v2"])), max_size=6)
corpora = one_way | two_ways
entity_types = st.dictionaries(st.sampled_from("pqrsé"), st.sampled_from(["person", "tool"]))
mentioned_names = st.lists(st.sampled_from("pqrstu"), max_size=8)
moments = st.none() | st.integers(-20, 20).map(lambda minutes: AS_OF + timedelta(minutes=minutes))


def frame(corpus: Corpus, times: Any = None) -> pl.DataFrame:
    schema = {n: pl.String() for n in ("doc_id", "content_hash", "hash_version")}
    rows = [(doc, *hashed) for doc, hashed in corpus.items()]
    base = pl.DataFrame(rows, schema=schema, orient="row")
    return base.with_columns(pl.Series("source_updated_at", times or [None] * len(rows), UTC_TIME))


def entity_frame(types: dict[str, str]) -> pl.DataFrame:
    schema = {"entity_id": pl.String(), "entity_type": pl.String()}
    return pl.DataFrame(list(types.items()), schema=schema, orient="row")


def mention_frame(names: list[str]) -> pl.DataFrame:
    return pl.DataFrame({"entity_id": names}, schema={"entity_id": pl.String()})


def snapshot(now: pl.DataFrame, before: pl.DataFrame | None, **more: Any) -> CorpusSnapshot:
    given_frames = {"entities": entity_frame({}), "mentions": mention_frame([])} | more
    return corpus_snapshot(
        now, before, **given_frames, workspace_id="w", corpus_version="v", as_of=AS_OF
    )


def churn(before: Corpus, now: Corpus) -> tuple[Any, ...]:
    row = snapshot(frame(now), frame(before)).row
    return tuple(row[name] for name in COUNTS)


def textbook(before: Corpus, now: Corpus) -> tuple[Any, ...]:
    """The counts by their definitions, with sets and loops."""
    added, removed = now.keys() - before.keys(), before.keys() - now.keys()
    both = now.keys() & before.keys()
    rehashed = [d for d in both if before[d][1] != now[d][1]]
    changed = None if rehashed else sum(before[d][0] != now[d][0] for d in both)
    gone, new = Counter(before[d] for d in removed), Counter(now[d] for d in added)
    ways = {before[d][1] for d in removed} | {now[d][1] for d in added}
    unsure = bool(rehashed) or (len(ways) > 1 and bool(added) and bool(removed))
    moved = None if unsure else (gone & new).total()
    total = None if changed is None else len(added) + len(removed) + changed
    union = len(before.keys() | now.keys())
    ratio = None if total is None or union == 0 else total / union
    return len(added), len(removed), changed, total, ratio, moved


@settings(deadline=None, max_examples=15)
@given(corpora, corpora)
def test_the_counts_are_those_of_a_plain_loop(before: Corpus, now: Corpus) -> None:
    assert churn(before, now) == textbook(before, now)


@settings(deadline=None, max_examples=4)
@given(corpora)
def test_a_version_against_itself_has_no_churn(corpus: Corpus) -> None:
    assert churn(corpus, corpus) == (0, 0, 0, 0, 0.0 if corpus else None, 0)


@settings(deadline=None, max_examples=5)
@given(corpora, corpora)
def test_swapping_the_versions_swaps_added_and_removed_only(before: Corpus, now: Corpus) -> None:
    added, removed, *rest = churn(before, now)
    assert churn(now, before) == (removed, added, *rest)


@settings(deadline=None, max_examples=8)
@given(one_way, one_way)
def test_the_ratio_is_a_share_and_the_listed_documents_are_the_counted_ones(
    before: Corpus, now: Corpus
) -> None:
    found = snapshot(frame(now), frame(before))
    counts, listed = found.row, Counter(found.documents["change"])
    if counts["doc_churn_ratio"] is None:
        assert not before
        assert not now
    else:
        assert 0.0 <= counts["doc_churn_ratio"] <= 1.0
    for change in ("added", "removed", "changed"):
        assert listed[change] == counts[f"doc_{change}"]
    moves = found.documents.drop_nulls("moved_from").select("doc_id", "moved_from").rows()
    assert len(moves) == counts["doc_moved"] == len({source for _, source in moves})
    assert all(now[doc] == before[source] for doc, source in moves)


@settings(deadline=None, max_examples=4)
@given(
    one_way,
    one_way,
    st.lists(moments, min_size=30, max_size=30),
    entity_types,
    mentioned_names,
    st.randoms(use_true_random=False),
)
def test_the_order_of_rows_never_matters(
    before: Corpus,
    now: Corpus,
    times: list[Any],
    types: dict[str, str],
    names: list[str],
    shuffle: random.Random,
) -> None:
    frames = [
        frame(now, times[: len(now)]),
        frame(before),
        entity_frame(types),
        mention_frame(names),
    ]
    shuffled = [f[shuffle.sample(range(f.height), f.height)] for f in frames]
    first, again = (snapshot(d, b, entities=e, mentions=m) for d, b, e, m in (frames, shuffled))
    assert first.row == again.row
    assert first.entity_counts.equals(again.entity_counts)
    assert first.documents.equals(again.documents)


@settings(deadline=None, max_examples=12)
@given(entity_types, mentioned_names, st.lists(moments, max_size=6))
def test_entities_and_times_are_those_of_a_plain_loop(
    types: dict[str, str], names: list[str], times: list[datetime | None]
) -> None:
    corpus = {f"d{k}": ("h", "v1") for k in range(len(times))}
    more = {"entities": entity_frame(types), "mentions": mention_frame(names)}
    found = snapshot(frame(corpus, times), None, **more)
    orphans = [entity for entity in types if entity not in names]
    assert found.row["entity_count"] == len(types)
    assert found.row["orphan_count"] == len(orphans)
    assert found.row["orphan_rate"] == (len(orphans) / len(types) if types else None)
    counts = found.entity_counts.select("entity_type", "n").rows()
    assert counts == sorted(Counter(types.values()).items())
    limit = AS_OF + timedelta(minutes=5)
    past = [time for time in times if time is not None and time <= limit]
    assert found.row["newest_document_at"] == max(past, default=None)
    assert found.row["future_document_count"] == sum(t is not None and t > limit for t in times)
