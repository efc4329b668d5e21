"""What stands behind a null in Arrow's buffers is no content."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from crucible_batch.store.fingerprint import RowFingerprint


def fingerprint(column: pa.Array) -> str:
    made = RowFingerprint(["x"])
    made.update(pa.table({"x": column}))
    return made.hexdigest()


def bitmap(*bits: int) -> pa.Buffer:
    return pa.py_buffer(np.packbits(np.array(bits, np.uint8), bitorder="little"))


def test_bytes_behind_a_null_text_do_not_count():
    offsets = pa.py_buffer(np.array([0, 1, 4, 5], np.int32))
    dirty = pa.Array.from_buffers(
        pa.string(), 3, [bitmap(1, 0, 1), offsets, pa.py_buffer(b"aXYZb")]
    )
    assert dirty.to_pylist() == ["a", None, "b"]
    assert fingerprint(dirty) == fingerprint(pa.array(["a", None, "b"]))


def test_a_number_behind_a_null_does_not_count():
    values = pa.py_buffer(np.array([1.5, np.nan, -0.0]))
    dirty = pa.Array.from_buffers(pa.float64(), 3, [bitmap(1, 0, 1), values])
    assert fingerprint(dirty) == fingerprint(pa.array([1.5, None, 0.0]))


def test_a_flag_behind_a_null_does_not_count():
    dirty = pa.Array.from_buffers(pa.bool_(), 3, [bitmap(1, 0, 1), bitmap(1, 1, 0)])
    assert fingerprint(dirty) == fingerprint(pa.array([True, None, False]))


def test_a_slice_is_its_own_rows():
    whole = pa.array([None, "a", None, "é", ""] * 3)
    assert fingerprint(whole[4:11]) == fingerprint(pa.array(whole[4:11].to_pylist()))
    flags = pa.array([True, None, False, True] * 5)
    assert fingerprint(flags[3:14]) == fingerprint(pa.array(flags[3:14].to_pylist()))
