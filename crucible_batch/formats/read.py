"""Read any mix of inputs of one verb into chunks of contract tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from crucible_batch.errors import SHOWN, ContractError
from crucible_batch.formats.chunk import Chunk, Findings, Reading
from crucible_batch.formats.documents import read_documents
from crucible_batch.formats.goldset import read_goldset
from crucible_batch.formats.ids import with_assertion_ids
from crucible_batch.formats.jsonl import read_jsonl
from crucible_batch.formats.parquet import read_parquet
from crucible_batch.formats.sources import Format, Source
from crucible_batch.formats.topics import read_topics
from crucible_batch.formats.trec import Lane, read_trec_qrels, read_trec_run
from crucible_batch.formats.verbs import MAY_BE_EMPTY, Verb


def read(sources: Sequence[Source], verb: Verb, *, lane: Lane | None = None) -> Reading:
    """Read `sources` lazily.

    Args:
        sources: Identified files (`sources.find`), in any mix of formats.
        verb: What is loaded.
        lane: Who gave the grades of TREC qrels, which do not say it themselves; human if None.

    Returns:
        Chunks to be consumed once, and the findings they fill.

    Raises:
        UsageError: The lane is an llm's without its judge.
        ContractError: While the chunks are consumed: an input is damaged, breaks its contract as a
            whole, or has no row.
    """
    lane = lane or Lane()
    lane.columns()  # a wrong lane is said before anything is read
    findings = Findings()
    return Reading(_counted(_chunks(sources, verb, lane, findings), findings, sources), findings)


def _chunks(
    sources: Sequence[Source], verb: Verb, lane: Lane, findings: Findings
) -> Iterator[Chunk]:
    trec = [source for source in sources if source.format is Format.TREC]
    for source in sources:
        if source.format is Format.PARQUET:
            yield from read_parquet(source, verb, findings)
        elif source.format is Format.JSONL:
            yield from read_jsonl(source, verb, findings)
        elif source.format is Format.GOLDSET:
            yield from read_goldset(source, findings)
        elif source.format is Format.YAML:
            # Few sources are YAML, and its library takes a while to import.
            from crucible_batch.formats.yaml import read_yaml

            yield from read_yaml(source, findings)
        elif source.format is Format.TOPICS:
            yield from read_topics(source, findings)
        elif source.format is Format.TREC and verb is Verb.QRELS:
            yield from read_trec_qrels(source, findings, lane)
    if trec and verb is Verb.RUN:  # together: a ranking may be spread over files
        yield from read_trec_run(trec, findings)
    texts = [source for source in sources if source.format is Format.TEXT]
    if texts:  # together: a row for each file would be as many pieces
        yield from read_documents(texts, findings)


def _with_ids(chunk: Chunk) -> Chunk:
    if chunk.table != "golden_assertions":
        return chunk
    return Chunk(chunk.table, with_assertion_ids(chunk.frame))


def _counted(
    chunks: Iterator[Chunk], findings: Findings, sources: Sequence[Source]
) -> Iterator[Chunk]:
    """Pass chunks on, count their rows, and refuse inputs that have none."""
    faults: list[str] = []
    for raw in chunks:
        chunk = _with_ids(raw)
        if chunk.frame.height and len(faults) < SHOWN:
            faults += _first_fault(chunk.frame)
        findings.n_rows[chunk.table] = findings.n_rows.get(chunk.table, 0) + chunk.frame.height
        yield chunk
    without = findings.reported - findings.n_rows.keys() - MAY_BE_EMPTY
    if without or not findings.n_rows:
        what = f"rows of {', '.join(sorted(without))}" if without else "rows"
        raise ContractError(
            f"There are no {what} in the input",
            problems=faults or [source.name for source in sources],
            fix="correct the lines: none of them can be read"
            if faults
            else "write the files again, or leave the empty ones out",
        )


def _first_fault(frame: pl.DataFrame) -> list[str]:
    """What is wrong with the first row, where reading found something."""
    file, row, reasons = frame.select("_source_file", "_source_row", "_reasons").row(0)
    return [f"{file} row {row}: {reasons[0]}"] if reasons else []
