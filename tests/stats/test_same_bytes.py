"""The same comparison has the same bytes, whatever machine setting it runs under."""

import hashlib
import os
import subprocess
import sys

import pytest

PROGRAM = """
import dataclasses, json
import numpy as np
from crucible_batch.stats.comparison import MetricValues
from crucible_batch.stats.paired import paired_many

place = np.arange(300, dtype=np.int64)
def values(factor):
    return (place * factor % 2**32) / 2**32
metrics = {
    "graded": MetricValues(np.floor(values(2654435761) * 4) / 3, np.floor(values(40503) * 4) / 3),
    **{f"m{k}": MetricValues(values(2654435761 + k), values(2246822519 + 7 * k) + 0.01 * k)
       for k in range(9)},
}
rows = paired_many([f"q{k:03}" for k in place], metrics)
clustered = paired_many([f"q{k:03}" for k in place], metrics, clusters=(place % 90).tolist())
print(json.dumps([{n: dataclasses.asdict(r) for n, r in c.items()} for c in (rows, clustered)]))
"""

DIGEST = "1cee49b4d240ec2b"
"""Tried with numpy 2.4.6 and scipy 1.17.1, 2.4.0 and 1.17.0, 2.1.3 and 1.14.1."""


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"},
        {"PYTHONHASHSEED": "1", "OPENBLAS_NUM_THREADS": "2", "POLARS_MAX_THREADS": "1"},
        {"OPENBLAS_NUM_THREADS": "8", "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512_SKX AVX2"},
    ],
)
def test_a_comparison_has_the_same_bytes_everywhere(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        env={**os.environ, **environment},
        capture_output=True,
        check=True,
    )
    assert hashlib.sha256(done.stdout).hexdigest()[:16] == DIGEST
