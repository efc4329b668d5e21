"""TREC runs and relevance judgments (qrels).

A run line is `query Q0 document rank score tag`, a judgment `query iteration document grade`, with
any blanks between the columns. Ids are text and may contain `#`; nothing is a comment.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from crucible_batch.contracts.conform import META
from crucible_batch.errors import UsageError
from crucible_batch.formats.blanks import LINE, Parsed, parse
from crucible_batch.formats.chunk import Chunk, Findings, meta_columns
from crucible_batch.formats.sources import Source

RUN_COLUMNS = ("item_id", "q0", "doc_id", "rank", "score_text", "tag")
QREL_COLUMNS = ("query_id", "iteration", "doc_id", "grade_text")

CHUNK_ROWS = 500_000
SPILL_ROWS = 1_000_000
"""Beyond this many lines, rankings are gathered on disk instead of in memory."""

BUCKETS = 64
UNREADABLE = "\ufffd"
"""Stands where a line is not UTF-8."""

MAX_TAGS = 10

_RANKED: dict[str, pl.DataType] = {
    "item_id": pl.String(),
    "doc_id": pl.String(),
    "score": pl.Float64(),
    "_file": pl.Int64(),
    LINE: pl.Int64(),
}


@dataclass(frozen=True)
class Lane:
    """Who gave the grades of a file that does not say it.

    Attributes:
        source: human, provenance or llm.
        judge: Name of the judge; absent: the source's own. Of an llm it is model@prompt_version.
    """

    source: str = "human"
    judge: str | None = None

    def columns(self) -> dict[str, str]:
        """The columns of qrels that the lane fixes.

        Raises:
            UsageError: An llm lane without a judge of the form model@prompt_version.
        """
        if self.source != "llm":
            return {"source": self.source, "judge": self.judge or self.source}
        model, _, prompt = (self.judge or "").rpartition("@")
        if not model or not prompt:
            raise UsageError(
                f"The judge of llm grades is {self.judge!r}",
                fix="give --judge model@prompt_version",
            )
        return {
            "source": "llm",
            "judge": f"{model}@{prompt}",
            "judge_model": model,
            "prompt_version": prompt,
        }


def read_trec_qrels(source: Source, findings: Findings, lane: Lane) -> Iterator[Chunk]:
    """Read one file of judgments at document granularity.

    The grade is integer text: `1.9` is a problem of its line, never cut to 1. A pair judged twice
    stays two rows.

    Yields:
        Chunks of qrels, about 8 MiB of text each.
    """
    findings.reported.add("qrels")
    fixed = [pl.lit(value).alias(name) for name, value in lane.columns().items()]
    for part in parse(source, QREL_COLUMNS):
        if part.good.height:
            yield Chunk(
                "qrels",
                _graded(part.good, source.name).select(
                    "query_id", "doc_id", "grade", *fixed, *META
                ),
            )
        if part.bad:
            yield Chunk("qrels", _bad_rows(part, source.name, "query_id"))


def _graded(rows: pl.DataFrame, source: str) -> pl.DataFrame:
    text = pl.col("grade_text")
    whole = text.str.contains(r"^[+-]?[0-9]+$")
    grade = pl.when(whole).then(text.str.strip_prefix("+").cast(pl.Int64, strict=False))
    return _with_meta(rows.with_columns(grade=grade), source, "grade", "not an integer", text)


def _with_meta(
    rows: pl.DataFrame, source: str, column: str, check: str, text: pl.Expr
) -> pl.DataFrame:
    """Add the meta columns; a row whose `column` did not parse gets a reason and its text."""
    line = pl.concat_str(pl.exclude(column, LINE), separator=" ")
    problem = pl.format("{}: {}: {}", pl.lit(column), pl.lit(check), text.str.slice(0, 80))
    broken = pl.col(column).is_null()
    return rows.with_columns(
        _source_file=pl.lit(source, dtype=pl.String),
        _reasons=pl.when(broken)
        .then(pl.concat_list(problem))
        .otherwise(pl.lit([], META["_reasons"])),
        _row=pl.when(broken).then(line),
    )


def _bad_rows(part: Parsed, source: str, names: str) -> pl.DataFrame:
    """Broken lines as rows; the first word, if readable, is their query: column `names`."""
    numbers, reasons, texts = (list(column) for column in zip(*part.bad, strict=True))
    words = [text.split(" ", 1)[0] for text in texts]
    query = pl.Series(names, [None if UNREADABLE in w else w for w in words], dtype=pl.String)
    return pl.DataFrame([query, *meta_columns(source, numbers, [[r] for r in reasons], texts)])


def read_trec_run(sources: Sequence[Source], findings: Findings) -> Iterator[Chunk]:
    """Read the files of one run as results (one per query, sample 0) and their retrievals.

    The rank column is ignored: ranks are 1..n by score descending, then document id descending
    bytewise, in float64, over all files (METRICS.md). A pair retrieved twice stays two rows. The
    first line of a query is the source of its result.

    Args:
        sources: The files; a query may be spread over several.
        findings: Receives the run tags.

    Yields:
        Broken lines as retrievals with reasons, then results and retrievals.
    """
    findings.reported |= {"results", "retrievals"}
    names = [source.name for source in sources]
    with tempfile.TemporaryDirectory(prefix="crucible-trec-") as folder:
        gathered = _Gathered(Path(folder))
        for at, source in enumerate(sources):
            for part in parse(source, RUN_COLUMNS):
                findings.tags.update(_tags(part.good, findings))
                rows = part.good.with_columns(
                    score=pl.col("score_text").cast(pl.Float64, strict=False)
                )
                odd = rows.filter(~pl.col("score").is_finite().fill_null(value=False))
                if odd.height:
                    yield Chunk("retrievals", _odd_scores(odd, source.name))
                if part.bad:
                    yield Chunk("retrievals", _bad_rows(part, source.name, "item_id"))
                good = rows if not odd.height else rows.filter(pl.col("score").is_finite())
                gathered.add(good.with_columns(_file=pl.lit(at, pl.Int64)))
        for rows in gathered.parts():
            yield from _ranked(rows, names)


def _tags(rows: pl.DataFrame, findings: Findings) -> list[str]:
    if len(findings.tags) >= MAX_TAGS or not rows.height:
        return []
    return rows["tag"].unique().sort().head(MAX_TAGS).to_list()


def _odd_scores(rows: pl.DataFrame, source: str) -> pl.DataFrame:
    number = pl.col("score")
    check = pl.when(number.is_null()).then(pl.lit("not a number")).otherwise(pl.lit("not finite"))
    text = pl.col("score_text")
    return rows.select(
        "item_id",
        "doc_id",
        pl.lit(0, pl.Int64).alias("sample_index"),
        pl.lit(source).alias("_source_file"),
        LINE,
        pl.concat_list(pl.format("score: {}: {}", check, text.str.slice(0, 80))).alias("_reasons"),
        pl.concat_str(*RUN_COLUMNS, separator=" ").alias("_row"),
    )


class _Gathered:
    """Lines of a run until the last one is seen: in memory, or by query in files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.held: list[pl.DataFrame] = []
        self.n_held = 0
        self.n_spills = 0

    def add(self, rows: pl.DataFrame) -> None:
        """Take the rows of one block."""
        self.held.append(rows.select(*_RANKED.keys()))
        self.n_held += rows.height
        if self.n_held >= SPILL_ROWS:
            self._spill()

    def _spill(self) -> None:
        rows = pl.concat(self.held).with_columns(_bucket=pl.col("item_id").hash(0) % BUCKETS)
        for (bucket,), part in rows.partition_by(
            "_bucket", as_dict=True, include_key=False
        ).items():
            part.write_parquet(self.folder / f"{bucket}-{self.n_spills}.parquet", compression="lz4")
        self.held, self.n_held = [], 0
        self.n_spills += 1

    def parts(self) -> Iterator[pl.DataFrame]:
        """Rows such that all those of one query are in one part."""
        if not self.n_spills:
            yield pl.concat(self.held) if self.held else pl.DataFrame(schema=_RANKED)
            return
        if self.held:
            self._spill()
        for bucket in range(BUCKETS):
            files = sorted(self.folder.glob(f"{bucket}-*.parquet"))
            if files:
                yield pl.concat([pl.read_parquet(file, glob=False) for file in files])


def _ranked(rows: pl.DataFrame, names: list[str]) -> Iterator[Chunk]:
    if rows.is_empty():
        return
    # -0.0 and 0.0 are a tie for this sort; file and line only order lines that are equal.
    rows = rows.sort(
        ["item_id", "score", "doc_id", "_file", LINE],
        descending=[False, True, True, False, False],
    )
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("item_id")
    file = pl.col("_file").replace_strict(dict(enumerate(names)), return_dtype=pl.String)
    shared: list[pl.Expr] = [
        pl.lit(0, pl.Int64).alias("sample_index"),
        file.alias("_source_file"),
        pl.col(LINE),
        pl.lit([], META["_reasons"]).alias("_reasons"),
        pl.lit(None, pl.String).alias("_row"),
    ]
    first = rows.sort("_file", LINE).unique("item_id", keep="first", maintain_order=True)
    yield Chunk(
        "results", first.select("item_id", pl.lit(value=True).alias("retrieval_ran"), *shared)
    )
    retrievals = rows.select("item_id", rank.alias("rank"), "doc_id", "score", *shared)
    for part in retrievals.iter_slices(CHUNK_ROWS):
        yield Chunk("retrievals", part)
