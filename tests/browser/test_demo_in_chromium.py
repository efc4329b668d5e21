"""The page that `crucible demo` makes of real runs: as people will first meet the report."""

from __future__ import annotations

from pathlib import Path

import pytest
from chrome import OPEN_ALL, opened

from crucible_batch.assemble.demo import run_demo


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = run_demo(tmp_path_factory.mktemp("demo") / "store").night.report
    assert page is not None
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_of_the_demo_is_sound(browser, report, scheme):
    window = {"width": 390, "height": 800}
    with opened(browser, report, color_scheme=scheme, viewport=window) as page:
        page.run(OPEN_ALL)
        assert page.overhang == 0
        assert page.tab.locator("[data-metric]").count() == 7
        assert page.said == []
        assert page.asked == [page.tab.url]
        assert page.violations() == []
