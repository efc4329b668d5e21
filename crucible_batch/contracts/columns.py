"""Short builders for columns that recur, so that a table declaration reads like its contract."""

from __future__ import annotations

from functools import partial

from crucible_batch.contracts.table import Column, Kind

ident = partial(Column, kind=Kind.ID)
text = partial(Column, kind=Kind.TEXT)
nonblank = partial(Column, kind=Kind.NONBLANK)
word = partial(Column, kind=Kind.WORD)
json_text = partial(Column, kind=Kind.JSON)
integer = partial(Column, kind=Kind.INT)
number = partial(Column, kind=Kind.FLOAT)
boolean = partial(Column, kind=Kind.BOOL)
time = partial(Column, kind=Kind.TIME)
words = partial(Column, kind=Kind.WORDS)

LARGEST = 1e15
"""Bound of every number that is summed: sums of its squares and cubes over any run stay finite."""

count = partial(Column, kind=Kind.INT, low=0)
amount = partial(Column, kind=Kind.FLOAT, low=0.0, high=LARGEST)
measured = partial(Column, kind=Kind.FLOAT, low=-LARGEST, high=LARGEST)
share = partial(Column, kind=Kind.FLOAT, low=0.0, high=1.0)

WORKSPACE = ident(
    name="workspace_id",
    description="workspace the row belongs to; filled when an input leaves it out",
    filled=True,
)
RUN = ident(name="run_id", description="run that produced the row", filled=True)
ITEM = ident(name="item_id", description="golden item")
SAMPLE = integer(
    name="sample_index", description="sample of the item, from 0", low=0, high=9_999, default=0
)
CREATED = time(name="created_at", description="when the row was written", filled=True)

RESULT_COLUMNS = (WORKSPACE, RUN, ITEM, SAMPLE)
RESULT_KEY = ("workspace_id", "run_id", "item_id", "sample_index")
