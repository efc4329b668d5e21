"""The league page as one self-contained HTML page: no script, nothing loaded from anywhere."""

from __future__ import annotations

from crucible_batch.report.html import environment
from crucible_batch.report.league import League
from crucible_batch.report.league_chart import league_chart


def league_html(league: League) -> str:
    """Print the model as HTML.

    Args:
        league: The model.

    Returns:
        A page; equal models give equal text.
    """
    page = environment().get_template("league.html.j2")
    return page.render(r=league, chart=league_chart(league)) + "\n"
