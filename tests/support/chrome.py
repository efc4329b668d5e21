"""Chromium, headless: opens pages from disk and keeps what they do on their way."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 120_000
"""Milliseconds to wait for a page: a busy machine is no fault."""

OPEN_ALL = "document.querySelectorAll('details').forEach(one => one.open = true)"
"""Script that opens what is folded away."""


def chromium_path() -> str:
    """Where Chromium is; a test that asks for it never passes without."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise RuntimeError(
            f"No Chromium is installed (looked for {', '.join(NAMES)}).\n"
            "Fix: apt-get install chromium; .ci/run does so by itself."
        )
    return found


def style_of(name: str) -> str:
    """A script for `evaluate_all`: a computed style of every element found."""
    return f"all => all.map(one => getComputedStyle(one).{name})"


@contextmanager
def chromium() -> Iterator[Browser]:
    """One browser; root has to do without its sandbox."""
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium_path(), args=flags)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Opened:
    """A page in a tab, and what it did since it was opened.

    Attributes:
        tab: The tab.
        said: Console messages, errors of scripts and dialogs.
        asked: Addresses asked for, the page's own file among them.
    """

    tab: Tab
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def run(self, script: str, argument: Any = None) -> Any:
        """What a function or an expression of JavaScript gives in the page."""
        return self.tab.evaluate(script, argument)

    @property
    def overhang(self) -> int:
        """Pixels that the page is wider than its window: it would scroll sideways."""
        return int(
            self.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        )

    def violations(self) -> list[str]:
        """What axe-core finds wrong, WCAG 2.2 A and AA and best practices: rule and elements."""
        self.run(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
        found = self.run("axe.run(document, {resultTypes: ['violations']})")["violations"]
        return [
            f"{one['id']}: {node['html'][:160]} ({node['failureSummary']})"
            for one in found
            for node in one["nodes"]
        ]


@contextmanager
def opened(browser: Browser, path: Path, **how: Any) -> Iterator[Opened]:
    """Open a page from disk.

    Args:
        browser: The browser.
        path: The file.
        how: Options of a context: viewport, color_scheme, forced_colors, reduced_motion.
            `media="print"` shows it as it is printed.
    """
    media = how.pop("media", None)
    context = browser.new_context(**{"viewport": {"width": 1024, "height": 800}, **how})
    try:
        context.set_default_timeout(PATIENCE)
        page = Opened(context.new_page())
        page.tab.on("console", lambda message: page.said.append(f"{message.type}: {message.text}"))
        page.tab.on("pageerror", lambda error: page.said.append(f"error: {error}"))
        page.tab.on("request", lambda request: page.asked.append(request.url))
        page.tab.on("dialog", lambda dialog: (page.said.append("dialog"), dialog.dismiss()))
        if media:
            page.tab.emulate_media(media=media)
        page.tab.goto(path.as_uri())
        yield page
    finally:
        context.close()
