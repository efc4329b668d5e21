"""One browser for all tests, and the pages they open: every kind, with kind and unkind content."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser_pages import PAGES
from chrome import Opened, chromium, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Open = Callable[..., AbstractContextManager[Opened]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever stands in this folder needs a browser."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("browser")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def open_page(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Open:
    """Open a page by its name in `PAGES`, written to disk once."""
    folder, written = tmp_path_factory.mktemp("pages"), {}

    def open_(name: str, **how: Any) -> AbstractContextManager[Opened]:
        if name not in written:
            written[name] = folder / f"{len(written)}.html"
            written[name].write_text(PAGES[name](), encoding="utf-8")
        return opened(browser, written[name], **how)

    return open_
