"""The marts of a scoring: tables in contract columns, with a footer that says what they are of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from crucible_batch.assemble.evaluate.collect import Collection
from crucible_batch.assemble.evaluate.numbers import run_numbers
from crucible_batch.assemble.evaluate.subject import KEY
from crucible_batch.assemble.evaluate.work import Work
from crucible_batch.contracts import TABLES
from crucible_batch.contracts.vocabulary import ERROR_CLASSES
from crucible_batch.metrics import calibration, catalog, results, selective, taxonomy
from crucible_batch.metrics.grid import Grid
from crucible_batch.metrics.metric import AnyMetric
from crucible_batch.sql import query
from crucible_batch.store import MartFile, Workspace, combined_hash, file_name

SLICED = 100_000
"""Items whose slices are found at a time."""

CATALOG, CATALOG_FILE = TABLES["metric_catalog"], "catalog"


def mart_files(work: Work, collection: Collection, *, default: bool) -> Iterator[MartFile]:
    """Every mart of an evaluation, the long ones first: they are written while others are made.

    Args:
        work: What was scored.
        collection: Its scores.
        default: Whether they stand in `marts/` under the run's name, or in `variants/`.
    """
    key = {
        "workspace_id": work.workspace.name,
        "evaluation_id": work.evaluation_id,
        "run_id": work.subject.run_id,
    }
    constants = [pl.lit(value).alias(name) for name, value in key.items()]
    for name, frame in _tables(work, collection):
        yield MartFile(
            table=name,
            name=file_name(work.subject.run_id if default else work.evaluation_id),
            rows=_in_order(frame.with_columns(constants), name),
            about=_about(work),
            variant=not default,
            archive=_archived(work, name) if default else None,
        )


def _tables(
    work: Work, collection: Collection
) -> Iterator[tuple[str, pl.DataFrame | pl.LazyFrame]]:
    yield "scores", collection.scores()
    yield "result_metrics", collection.wide()
    grid = _grid(work)
    numbers = run_numbers(
        collection,
        grid,
        work.run_metrics,
        work.plugin_runs,
        work.settings,
    )
    every: tuple[AnyMetric, ...] = (*work.metrics, *work.run_metrics)
    notes = results.notes(work.ruler.golden, work.flags, every)
    noted = _with_notes(numbers, notes, _depths(work))
    status, _ = work.status(collection.counts)
    yield (
        "run_metrics",
        noted.with_columns(status=pl.lit(status), ruler_hash=pl.lit(work.ruler.hash)),
    )
    curve = selective.curve_of_results(collection.outcomes)
    yield "risk_coverage", curve
    pairs = collection.outcomes.join(curve, on=KEY, how="semi")
    bins = calibration.reliability_bins(pairs["confidence"], pairs["correct"])
    yield "reliability_bins", bins
    yield "error_classes", taxonomy.error_classes(collection.classes, grid, ERROR_CLASSES)


def _grid(work: Work) -> Grid:
    """The expected results and slices of the run."""
    items = work.ruler.golden.items.sort("item_id")
    # Numbers instead of ids, and not all at once: sorting millions of texts takes half a gigabyte.
    numbered = items.with_columns(item_id=pl.int_range(pl.len(), dtype=pl.UInt32))
    pieces = (query("slices", {"items": piece}) for piece in numbered.iter_slices(SLICED))
    slices = (piece.rename({"item_id": "item"}) for piece in pieces)
    return Grid.of(items, slices, work.flags.samples_n)


def _about(work: Work) -> dict[str, str]:
    """Footer: the identity, and the fingerprints of the rows that were read."""
    about = {name: str(value) for name, value in work.identity.items() if value is not None}
    prints = {f"fingerprint.{name}": text for name, text in work.subject.fingerprints.items()}
    named = about | prints | {"evaluation_id": work.evaluation_id}
    return {f"crucible.{name}": text for name, text in named.items()}


def _archived(work: Work, table: str) -> str | None:
    """Name under which the evaluation that stands in `marts/` now is kept."""
    path = work.workspace.layout.mart(table, file_name(work.subject.run_id))
    if not path.is_file():
        return None
    other = pl.read_parquet_metadata(path).get("crucible.evaluation_id")
    return file_name(other) if other and other != work.evaluation_id else None


def _depths(work: Work) -> dict[str, str]:
    """Metrics whose cut-off is deeper than the run retrieved."""
    depth = work.subject.row["top_k"]
    if depth is None:
        return {}
    return {m.name: f"top_k {depth} < {m.cut}" for m in work.metrics if m.cut and m.cut > depth}


def _with_notes(
    numbers: pl.DataFrame, notes: Mapping[str, tuple[str, ...]], depths: Mapping[str, str]
) -> pl.DataFrame:
    """Numbers with what to know when reading them."""
    texts = [
        [*notes.get(name, ()), *([depths[name]] if name in depths else [])]
        for name in numbers["metric"]
    ]
    return numbers.with_columns(pl.Series("notes", texts, dtype=pl.List(pl.String)))


def _in_order(frame: pl.DataFrame | pl.LazyFrame, table: str) -> pl.DataFrame | pl.LazyFrame:
    """Contract columns in published order, then what the table has beyond them."""
    names = TABLES[table].names
    known = frame.collect_schema().names()
    return frame.select(*names, *[name for name in known if name not in names])


def write_catalog(workspace: Workspace, metrics: tuple[AnyMetric, ...]) -> bool:
    """Write `metric_catalog` if it is absent or another one; return whether it was written.

    It says what the columns and rows of the other marts mean, and is of no single evaluation.
    """
    rows = catalog.to_frame(metrics).with_columns(workspace_id=pl.lit(workspace.name))
    about = {"crucible.catalog_hash": combined_hash({"catalog": rows.sort("metric").rows()})}
    path = workspace.layout.mart(CATALOG.name, CATALOG_FILE)
    wanted = about | {"crucible.version": str(CATALOG.version)}
    if path.is_file() and wanted.items() <= pl.read_parquet_metadata(path).items():
        return False
    file = MartFile(
        table=CATALOG.name, name=CATALOG_FILE, rows=rows.select(CATALOG.names), about=about
    )
    workspace.publish_marts(workspace.stage_marts([file]))
    return True
