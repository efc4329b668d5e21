from __future__ import annotations

import subprocess
import sys
from statistics import NormalDist

import pytest

from crucible_batch.stats.quantiles import normal_level, normal_quantile, t_quantile

NORMAL = NormalDist()


@pytest.mark.parametrize("level", [0.001, 0.025, 0.2, 0.5, 0.8, 0.975, 0.999])
def test_normal_quantiles_are_those_of_the_standard_library(level):
    assert normal_quantile(level) == pytest.approx(NORMAL.inv_cdf(level), abs=1e-12)
    assert normal_level(NORMAL.inv_cdf(level)) == pytest.approx(level, abs=1e-12)


# Gosset's table, as printed in NIST/SEMATECH e-Handbook, section 1.3.6.7.2.
@pytest.mark.parametrize(
    ("df", "level", "printed"),
    [(1, 0.975, 12.706), (10, 0.975, 2.228), (30, 0.95, 1.697), (100, 0.995, 2.626)],
)
def test_t_quantiles_are_those_of_the_printed_table(df, level, printed):
    assert t_quantile(df, level) == pytest.approx(printed, abs=5e-4)


PROGRAM = """
import sys
import crucible_batch.assemble.evaluate, crucible_batch.stats.paired
print("scipy" in sys.modules)
from crucible_batch.stats.quantiles import normal_level
normal_level(0.0)
print("scipy" in sys.modules)
"""


def test_scipy_waits_for_the_first_quantile():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]
