"""Take the pictures of the README from the report of `crucible demo`, in a real browser.

uv run --group browser python data/pictures/take.py
"""

from __future__ import annotations

import io
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from crucible_batch.assemble.demo import run_demo

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "support"))

from chrome import Opened, chromium, opened  # noqa: E402

WIDTH, SCALE, COLOURS, MOST_BYTES = 1080, 2, 64, 150 * 1024


@dataclass(frozen=True)
class Picture:
    """A part of the page.

    Attributes:
        name: Of the file.
        first: Selector of the element at whose top it begins.
        last: Selector of the element at whose foot it ends.
        scheme: light or dark.
        height: Pixels after which it is cut.
    """

    name: str
    first: str
    last: str
    scheme: str
    height: int = 900


def section(name: str) -> str:
    """Selector of a section of the report."""
    return f"section[aria-labelledby={name}]"


PICTURES = (
    Picture("verdict", "header", section("kpi"), "light"),
    Picture("comparison", section("comparison"), section("comparison"), "dark", 1200),
    Picture("moved", section("moved"), section("moved"), "light", 700),
)


def main() -> None:
    """Run the demo, open its report, write the pictures and say how large they are."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        report = run_demo(Path(folder) / "store").night.report
        for picture in PICTURES:
            content = small(taken(browser, Path(report), picture))
            if len(content) > MOST_BYTES:
                raise SystemExit(f"{picture.name}: {len(content):,} bytes, limit {MOST_BYTES:,}")
            (HERE / f"{picture.name}.png").write_bytes(content)
            sys.stdout.write(f"{picture.name}.png: {len(content) / 1024:.0f} KiB\n")


def taken(browser: Browser, report: Path, picture: Picture) -> bytes:
    """A picture as the browser gives it."""
    how: dict[str, Any] = {
        "viewport": {"width": WIDTH, "height": 900},
        "device_scale_factor": SCALE,
        "color_scheme": picture.scheme,
    }
    with opened(browser, report, **how) as page:
        top = edge(page, picture.first, "top")
        height = min(edge(page, picture.last, "bottom") - top + 16, picture.height)
        clip = {"x": 0, "y": top, "width": WIDTH, "height": height}
        return page.tab.screenshot(clip=clip, full_page=True)


def edge(page: Opened, selector: str, side: str) -> float:
    """Where an element begins or ends on the page, in pixels."""
    script = "([one, side]) => document.querySelector(one).getBoundingClientRect()[side] + scrollY"
    return float(page.run(script, [selector, side]))


def small(png: bytes) -> bytes:
    """The same picture with few colours: a fifth of the bytes, and no eye sees it."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    reduced = image.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    written = io.BytesIO()
    reduced.save(written, "PNG", optimize=True)
    return written.getvalue()


if __name__ == "__main__":
    main()
