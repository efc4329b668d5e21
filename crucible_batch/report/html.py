"""The report as one self-contained HTML page: no script, nothing loaded from anywhere."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from crucible_batch.report import palette, svg, words
from crucible_batch.report.model import Report
from crucible_batch.report.svg_history import history_charts
from crucible_batch.report.svg_scatter import reliability, scatter

if TYPE_CHECKING:
    from jinja2 import Environment


def to_html(report: Report) -> str:
    """Print the model as HTML.

    Text of people and machines (ids, questions, answers) is escaped, its control and
    direction-changing characters are made visible, and long words wrap.

    Args:
        report: The model.

    Returns:
        A page; equal models give equal text.
    """
    charts = {
        "curve": svg.curve_chart(report.curves) if report.curves else None,
        "forest": svg.forest(report.compared) if report.compared else None,
        "scatter": scatter(report.head_to_head) if report.head_to_head else None,
        "reliability": reliability(report.bins) if report.bins else None,
        "history": history_charts(report.history) if report.history else (),
    }
    page = environment().get_template("page.html.j2")
    return page.render(r=report, charts=charts) + "\n"


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates; text is escaped and made visible where it is printed."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("crucible_batch.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printed,
    )
    environment.globals.update(
        light=palette.LIGHT,
        dark=palette.DARK,
        heat_light=palette.HEAT_LIGHT,
        heat_dark=palette.HEAT_DARK,
        count=words.count,
        dotted=words.dotted,
        no_curve=words.NO_CURVE,
    )
    return environment


def _printed(value: Any) -> Any:
    """What an expression of a template prints; a null that nobody worded is a bug."""
    if value is None:
        raise TypeError("A null reached the page; the model words it as an em dash")
    if isinstance(value, float):
        return f"{value:g}"
    return words.visible(value) if type(value) is str else value
