"""The golden-set hash: which questions, assertions, concepts and citations a run is measured by.

Byte definition (CONTRACTS.md): an item's hash is SHA-256 of its canonical JSON; the set's hash is
`sha256:` + SHA-256 over the lines `item_id TAB item_hash LF` of the active items, ids bytewise.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
import pyarrow as pa
from polars.exceptions import PolarsError

from crucible_batch.contracts import TABLES, Table
from crucible_batch.contracts.ids import assertion_id
from crucible_batch.errors import ContractError, UsageError
from crucible_batch.store.fingerprint import canonical_json, text_sha256

_PLAIN = ("cluster_id", "dynamism", "ground_truth", "popularity", "question", "question_type")

Row = Mapping[str, Any]


def item_hash(
    item: Row,
    assertions: Iterable[Row] = (),
    concepts: Iterable[Row] = (),
    citations: Iterable[Row] = (),
) -> str:
    """Return SHA-256 of one item's canonical JSON, as 64 hex digits.

    Args:
        item: Row of `golden_items`; absent columns count as null.
        assertions: The item's rows of `golden_assertions`, in any order.
        concepts: The item's rows of `golden_concepts`, in any order.
        citations: The item's rows of `golden_citations`, in any order.
    """
    contexts = item.get("contexts")
    body: dict[str, object] = {name: _nfc(item.get(name)) for name in (*_PLAIN, "shape")}
    body["answerable"] = item["answerable"]
    body["assertions"] = _rows(assertions, "assertion_id", "level", "text", "concept_id", key=1)
    body["citations"] = _rows(citations, "doc_id", "chunk_id", "kind", key=3)
    body["concepts"] = _rows(concepts, "entity_id", "relevance", key=1)
    body["contexts"] = None if contexts is None else [_nfc(text) for text in contexts]
    body["tags"] = sorted({unicodedata.normalize("NFC", tag) for tag in item.get("tags") or ()})
    return text_sha256(canonical_json(body))


def item_hashes(
    items: object,
    assertions: object = None,
    concepts: object = None,
    citations: object = None,
    *,
    recorded: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Return the hash of every active item of one golden set.

    Active: the item's highest revision, unless that one is retired. Frames may be Polars (lazy
    too), pandas, Arrow or DuckDB relations; `workspace_id` and `revision` may be absent.

    Args:
        items: Rows of `golden_items`.
        assertions: Rows of `golden_assertions`.
        concepts: Rows of `golden_concepts`.
        citations: Rows of `golden_citations`.
        recorded: item_id, revision, item_hash of revisions whose hash is on record: it is taken
            from there. Revisions never change, but their texts may be redacted.

    Returns:
        item_id, revision, item_hash; sorted by item_id.

    Raises:
        UsageError: A column is missing, or the items belong to several sets or workspaces.
        ContractError: A frame is no table, a value is null or of another type, or a row stands
            twice; names it.
    """
    if items is None:
        raise UsageError("No golden items are given", fix="pass the rows of golden_items.")
    rows = _frame(items, "golden_items")
    for name in ("workspace_id", "golden_set"):
        found = rows[name].drop_nulls().unique().sort().to_list()
        if len(found) > 1:
            raise UsageError(
                f"golden_set_hash got items of {len(found)} values of {name}: {found[:5]}",
                fix=f"filter the items to one {name} first",
            )
    last = rows.filter(pl.col("revision") == pl.col("revision").max().over("item_id"))
    active = last.filter(~pl.col("retired")).sort("item_id")
    children = [
        _by_item(_frame(frame, name), active)
        for frame, name in (
            (assertions, "golden_assertions"),
            (concepts, "golden_concepts"),
            (citations, "golden_citations"),
        )
    ]
    known: dict[tuple[str, int], str] = {}
    if recorded is not None:
        on_record = recorded.select("item_id", "revision", "item_hash").iter_rows()
        known = {(item_id, revision): hashed for item_id, revision, hashed in on_record}
    hashes = [
        known.get((item["item_id"], item["revision"]))
        or item_hash(item, *(child[item["item_id"]] for child in children))
        for item in active.iter_rows(named=True)
    ]
    return active.select("item_id", "revision").with_columns(
        pl.Series("item_hash", hashes, dtype=pl.String)
    )


def golden_set_hash(
    items: object, assertions: object = None, concepts: object = None, citations: object = None
) -> str:
    """Return the hash that names one version of a golden set, `sha256:` + 64 hex digits.

    Takes the frames of `item_hashes`; two sets with equal hashes ask and expect the same.

    Raises:
        UsageError: A column is missing, or the items belong to several sets or workspaces.
        ContractError: A frame is no table, a value is null or of another type, or a row stands
            twice; names it.
    """
    return hash_of_items(item_hashes(items, assertions, concepts, citations))


def hash_of_items(hashes: pl.DataFrame) -> str:
    """Return the golden-set hash of item hashes (item_id, item_hash), in any order."""
    digest = hashlib.sha256()
    for item, hashed in sorted(hashes.select("item_id", "item_hash").iter_rows()):
        digest.update(f"{item}\t{hashed}\n".encode())
    return "sha256:" + digest.hexdigest()


def _nfc(value: str | None) -> str | None:
    return None if value is None else unicodedata.normalize("NFC", value)


def _rows(rows: Iterable[Row], *names: str, key: int) -> list[list[str | None]]:
    """Return rows as lists of NFC texts, sorted by their first `key` values, nulls first."""
    listed = [[_nfc(row.get(name)) for name in names] for row in rows]
    return sorted(listed, key=lambda row: [(value is not None, value or "") for value in row[:key]])


def _by_item(children: pl.DataFrame, active: pl.DataFrame) -> dict[str, list[Row]]:
    """Group the children of the active revisions by item."""
    kept = children.join(active.select("item_id", "revision"), on=["item_id", "revision"])
    grouped: defaultdict[str, list[Row]] = defaultdict(list)
    for row in kept.iter_rows(named=True):
        grouped[row["item_id"]].append(row)
    return grouped


def _frame(rows: object, name: str) -> pl.DataFrame:
    """Return any frame as Polars with the contract's columns and types."""
    table = TABLES[name]
    if rows is None:
        return table.empty()
    frame = _polars(rows, name)
    missing = [c.name for c in table.columns if not c.optional and c.name not in frame.columns]
    if missing:
        raise UsageError(
            f"{name} has no column {', '.join(missing)}",
            fix=f"crucible schema {name} lists the columns",
        )
    absent = [
        pl.lit(None, dtype).alias(column)
        for column, dtype in table.schema.items()
        if column not in frame.columns
    ]
    full = frame.with_columns(absent)
    columns = [_cast(full[column], dtype, name) for column, dtype in table.schema.items()]
    return _checked(_derived(pl.DataFrame(columns)), table)


def _cast(column: pl.Series, dtype: pl.DataType, name: str) -> pl.Series:
    try:
        return column.cast(dtype)
    except PolarsError as error:
        raise ContractError(
            f"{name}.{column.name} has type {column.dtype}, it must be {dtype}",
            problems=[str(error).partition("\n")[0]],
            fix=f"crucible schema {name} lists the columns and their types.",
        ) from error


def _polars(rows: object, name: str) -> pl.DataFrame:
    if isinstance(rows, pl.LazyFrame):
        return rows.collect()
    try:
        return pl.DataFrame(rows)  # type: ignore[arg-type]
    except (PolarsError, pa.ArrowException, TypeError, ValueError) as error:
        raise ContractError(
            f"{name} cannot be read as a table",
            problems=[f"{type(error).__name__}: {error}"],
            fix="Pass a Polars, pandas or Arrow table, or a DuckDB relation.",
        ) from error


def _checked(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """The frame, if every row says what its contract needs and stands once.

    Raises:
        ContractError: A null where none may be, or a repeated key: both would have a hash of
            their own, which no loaded set could ever have.
    """
    needed = [column.name for column in table.columns if not column.optional]
    problems = [
        f"{column} is null in row {row + 1}"
        for column in needed
        for row in frame[column].is_null().arg_true()
    ]
    key = list(table.key)
    twice = frame.filter(pl.struct(key).is_duplicated()).select(key).unique().sort(key)
    problems += [
        "twice: "
        + ", ".join(f"{name} {value!r}" for name, value in row.items() if value is not None)
        for row in twice.iter_rows(named=True)
    ]
    if problems:
        raise ContractError(
            f"{table.name} cannot be hashed",
            problems=problems,
            fix="Fill the nulls and leave out the repeats.",
        )
    return frame


def _derived(frame: pl.DataFrame) -> pl.DataFrame:
    """Fill in what an input may leave out: revision 1, not retired, the ids of assertions."""
    if "retired" in frame.columns:
        frame = frame.with_columns(pl.col("retired").fill_null(value=False))
    if "assertion_id" in frame.columns and frame["assertion_id"].null_count():
        derived = [
            given or assertion_id(level, text)
            for given, level, text in frame.select("assertion_id", "level", "text").iter_rows()
        ]
        frame = frame.with_columns(pl.Series("assertion_id", derived, dtype=pl.String))
    return frame.with_columns(pl.col("revision").fill_null(1))
