"""The numbers of a corpus that rules are held against: counts, shares and ages, all of a census."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from crucible_batch.assemble.drift.corpus import FIRST
from crucible_batch.settings.watch import Staleness
from crucible_batch.stats.distances import total_variation
from crucible_batch.watch.measured import Measured, Measurements, census
from crucible_batch.watch.staleness import document_age, snapshot_age

NEW_TYPE = "new_type"
"""Why a type has no relative change: it had no entity before. `type_new` judges it."""

EMPTY = "nothing_to_compare"
"""Why a share or a distance is not measured: one side is empty."""


@dataclass(frozen=True, kw_only=True)
class Before:
    """The complete corpus version before the one that is looked at.

    Attributes:
        n_documents: Documents in it.
        observed_at: When it was looked at.
        types: Entities of every type.
    """

    n_documents: int
    observed_at: datetime
    types: Mapping[str, int]


def corpus_measurements(
    row: Mapping[str, Any],
    types: Mapping[str, int],
    before: Before | None,
    *,
    ever: Iterable[str] = (),
    min_count: int,
    staleness: Staleness,
) -> Measurements:
    """Measure a snapshot, by statistic and by what it is fanned out by.

    Args:
        row: Its row of `drift_snapshots`.
        types: Its entities of every type.
        before: The version before; None for the first one, and every difference is unknown.
        ever: Types of earlier snapshots. One that is gone from both sides has not moved: an alert
            on its loss can be resolved.
        min_count: Entities that make a type new, or its absence a loss.
        staleness: Ages and clock skew.
    """
    n_documents = row["doc_count"]
    n_before = None if before is None else before.n_documents
    n_entities = row["entity_count"]
    age = document_age(
        as_of=row["as_of"],
        newest=row["newest_document_at"],
        n_documents=n_documents,
        n_future=row["future_document_count"],
        staleness=staleness,
    )
    observed = None if before is None else before.observed_at
    single = {
        "doc_churn_ratio": census(
            row["doc_churn_ratio"], n_before, n_documents, reason=_why_no_churn(row)
        ),
        "doc_count_change": _change(n_before, n_documents),
        "orphan_rate": census(
            row["orphan_rate"],
            None,
            n_entities,
            reason=None if n_entities else "no_entities",
        ),
        "future_document_count": Measured(
            value=float(row["future_document_count"]), n_current=n_documents
        ),
        "document_age": age,
        "snapshot_age": snapshot_age(
            as_of=row["as_of"], previous=observed, n_documents=n_documents
        ),
    }
    return {
        **{(name, None): [measured] for name, measured in single.items()},
        **_type_measurements(types, None if before is None else before.types, ever, min_count),
    }


def _why_no_churn(row: Mapping[str, Any]) -> str | None:
    return None if row["doc_churn_ratio"] is not None else row["reason"] or EMPTY


def _change(before: int | None, now: int, *, labels: Mapping[str, str] | None = None) -> Measured:
    """Relative change of a count: -1 when all of it is gone, 0 when there was and is nothing."""
    if before is None:
        return census(None, None, now, reason=FIRST, labels=labels)
    if before == 0 and now > 0:
        return census(None, 0, now, reason=NEW_TYPE if labels else EMPTY, labels=labels)
    return census((now - before) / before if before else 0.0, before, now, labels=labels)


def _type_measurements(
    now: Mapping[str, int],
    before: Mapping[str, int] | None,
    ever: Iterable[str],
    min_count: int,
) -> Measurements:
    old = before or {}
    names = sorted({*now, *old, *ever})
    sides = [[side.get(name, 0) for name in names] for side in (old, now)]
    n_before, n_now = (int(sum(side)) for side in sides)
    mix = None if before is None else total_variation(*sides)
    why = FIRST if before is None else EMPTY
    reference = None if before is None else n_before
    new, gone = (
        [_appearance(name, before, now, min_count, is_new=is_new) for name in names]
        for is_new in (True, False)
    )
    return {
        ("entity_mix_tvd", None): [
            census(mix, reference, n_now, reason=why if mix is None else None)
        ],
        ("entity_count_change", None): [_change(reference, n_now)],
        ("entity_count_change", "entity_type"): [
            _change(
                None if before is None else old.get(name, 0),
                now.get(name, 0),
                labels={"entity_type": name},
            )
            for name in names
        ],
        ("type_new", None): [_all_of(new, reference, n_now)],
        ("type_new", "entity_type"): new,
        ("type_vanished", None): [_all_of(gone, reference, n_now)],
        ("type_vanished", "entity_type"): gone,
    }


def _appearance(
    name: str,
    before: Mapping[str, int] | None,
    now: Mapping[str, int],
    min_count: int,
    *,
    is_new: bool,
) -> Measured:
    """1 when a type has at least `min_count` entities on one side and none on the other, else 0.

    `min_count` is its support: a type is either large enough, or neither new nor lost.
    """
    labels = {"entity_type": name}
    if before is None:
        return Measured(value=None, labels=labels, n_current=now.get(name, 0), reason=FIRST)
    old, new = before.get(name, 0), now.get(name, 0)
    here, there = (new, old) if is_new else (old, new)
    return Measured(
        value=float(here >= min_count and there == 0),
        labels=labels,
        n_reference=old,
        n_current=new,
    )


def _all_of(each: Sequence[Measured], n_before: int | None, n_now: int) -> Measured:
    """How many types are 1."""
    if n_before is None:
        return Measured(value=None, n_current=n_now, reason=FIRST)
    n_types = len([one for one in each if one.value])
    return Measured(value=float(n_types), n_reference=n_before, n_current=n_now)
