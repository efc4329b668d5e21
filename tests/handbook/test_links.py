"""Links between pages lead somewhere, and every page can be found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from handbook_pages import HANDBOOK, PAGES, README, ROOT, anchor, anchors_of, links_of

from crucible_batch.assemble import handbook

DICTIONARY = ROOT / "data" / "README.md"


def dead(page: Path, text: str) -> list[str]:
    """Links of a page to a file or a heading that is not there."""
    found = []
    for link in links_of(text):
        if re.match(r"https?://", link):
            continue
        file, _, fragment = link.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (
            fragment and fragment not in anchors_of(target.read_text(encoding="utf-8"))
        ):
            found.append(link)
    return found


@pytest.mark.parametrize("page", [*PAGES, DICTIONARY], ids=lambda page: page.stem)
def test_every_link_of_a_page_leads_somewhere(page):
    assert dead(page, page.read_text(encoding="utf-8")) == []


def test_a_dead_link_is_found():
    page = ROOT / "crucible_batch" / "docs" / "page.md"
    text = "[a](faq.md) [b](gone.md) [c](faq.md#numbers) [d](faq.md#gone) `[e](gone.md)`"
    assert dead(page, text) == ["gone.md", "faq.md#gone"]


def test_an_anchor_is_made_as_github_makes_it():
    assert anchor("Windows? NFS? S3?") == "windows-nfs-s3"
    assert anchor("What does `coverage` mean?") == "what-does-coverage-mean"


def test_pages_of_the_handbook_link_each_other_and_nothing_outside_the_package():
    outside = [
        (page.name, link)
        for page in HANDBOOK
        for link in links_of(page.read_text(encoding="utf-8"))
        if link.startswith("..")
    ]
    assert outside == []


def test_every_page_has_its_place_in_the_reading_order():
    topics = {page.stem for page in HANDBOOK} | set(handbook.MADE_WHEN_READ)
    assert topics <= set(handbook.READING_ORDER)
    assert len(set(handbook.READING_ORDER)) == len(handbook.READING_ORDER)


def test_the_readme_links_every_page():
    linked = set(links_of(README.read_text(encoding="utf-8")))
    wanted = {page.relative_to(ROOT).as_posix() for page in HANDBOOK}
    assert wanted | {DICTIONARY.relative_to(ROOT).as_posix()} <= linked


def test_topics_that_pages_name_exist():
    known = {page.stem for page in HANDBOOK} | set(handbook.MADE_WHEN_READ)
    for page in PAGES:
        named = re.findall(r"crucible docs ([a-z]+)", page.read_text(encoding="utf-8"))
        assert set(named) <= known, page.name
