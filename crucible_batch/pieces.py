"""The rows of a lazy frame, a piece at a time, with every failure of reading them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, Full, Queue
from threading import Event
from types import TracebackType
from typing import Self

import polars as pl

PATIENCE = 0.1
"""Seconds after which a reader looks again whether anybody still wants its rows."""


class InPieces:
    """An iterator over pieces, in order; reading begins at once and stays one piece ahead.

    `LazyFrame.collect_batches` ends as if all were read when its engine panics, as it does over a
    file that was cut short; `sink_batches`, which is used here, raises.

    Args:
        lazy: What to read.
        n_rows: About how many rows a piece has.

    Raises:
        BaseException: Whatever reading raises, when the pieces before it were taken.
    """

    def __init__(self, lazy: pl.LazyFrame, n_rows: int) -> None:
        self._ready: Queue[pl.DataFrame | None] = Queue(maxsize=1)
        self._closed = Event()
        self._pool = ThreadPoolExecutor(1)
        self._reading = self._pool.submit(self._read, lazy, n_rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pl.DataFrame:
        piece = None if self._closed.is_set() else self._ready.get()
        if piece is None:
            self.close()
            self._reading.result()
            raise StopIteration
        return piece

    def close(self) -> None:
        """Stop reading: nobody wants the rest."""
        self._closed.set()
        with suppress(Empty):
            self._ready.get_nowait()
        self._pool.shutdown()

    def _read(self, lazy: pl.LazyFrame, n_rows: int) -> None:
        try:
            lazy.sink_batches(self._offer, chunk_size=n_rows, maintain_order=True)
        finally:
            self._offer(None)

    def _offer(self, piece: pl.DataFrame | None) -> bool:
        """Hand a piece on, None for the end; whether to stop."""
        while not self._closed.is_set():
            with suppress(Full):
                self._ready.put(piece, timeout=PATIENCE)
                return False
        return True
