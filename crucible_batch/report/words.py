"""Numbers and vocabulary as people read them: one place, so that every page prints them alike.

Minus signs are U+2212, a missing number is an em dash, percentages round half up as the dashboard's
`Math.round` does. A space before `%` is a no-break space.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from crucible_batch import printable

one_line, visible = printable.one_line, printable.visible

DASH = "—"
MINUS = "−"
NBSP = "\u00a0"


class Mark(NamedTuple):
    """A verdict or status for people: never colour alone, always a glyph and a word.

    Attributes:
        glyph: One character.
        word: Lower-case words.
        tone: `good`, `bad`, `warn` or `muted`; the colour of the page.
    """

    glyph: str
    word: str
    tone: str


VERDICTS = {
    "improved": Mark("▲", "improved", "good"),
    "regressed": Mark("▼", "regressed", "bad"),
    "changed": Mark("◆", "changed", "warn"),
    "equivalent": Mark("●", "equivalent", "muted"),
    "no_significant_change": Mark("○", "no significant change", "muted"),
    "insufficient_items": Mark("◇", "insufficient items", "muted"),
    "no_test": Mark("·", "no test", "muted"),
}
NO_CURVE = "The run has no curve: none of its results is answered, labelled and with a confidence."
STATUSES = {
    "succeeded": Mark("✓", "succeeded", "good"),
    "failed": Mark("✕", "failed", "bad"),
    "degraded": Mark("!", "degraded", "warn"),
    "running": Mark("…", "running", "warn"),
}
CI_METHODS = {"bca": "BCa", "bca_analytic": "BCa (analytic)", "t_cr1": "t (CR1)"}
ADJUSTED = {"holm": "Holm", "bh": "BH", "by": "BY"}
P_METHODS = {"exact": "exact", "monte_carlo": "Monte Carlo"}
REASONS = {
    "unanswerable": "the item has no answer",
    "no_relevant_judged": "no judged document is relevant",
    "no_required_citations": "the item requires no citation",
    "no_concepts": "the item lists no such concept",
    "no_assertions": "the item has no such assertion",
    "no_result": "the run has no result",
    "errored": "the result is an error",
    "contexts_provided": "contexts were given, retrieval did not run",
    "no_answer_stage": "the run has no answer stage",
    "abstained": "the result abstained",
    "nothing_retrieved": "nothing was retrieved",
    "no_claims": "the answer makes no claim",
    "no_citations": "the answer cites nothing",
    "not_reported": "the run does not report it",
    "no_confidence": "the result has no confidence",
    "no_qrels": "the item has no judgments",
    "unplaced": "no judgment has a known document",
    "not_judged": "a verdict is missing",
    "malformed_verdict": "a verdict is unreadable",
}
"""Null reasons in words."""


def percent(value: float | None) -> str:
    """`0.125` is `13 %`: floor(100 x + 0.5), as JavaScript's Math.round."""
    if value is None:
        return DASH
    return f"{minus(str(math.floor(100 * value + 0.5)))}{NBSP}%"


def decimal(value: float | None, digits: int = 3) -> str:
    """A number with a fixed number of decimals; a negative one that rounds to zero is zero."""
    if value is None:
        return DASH
    text = f"{value:,.{digits}f}"
    return minus(text if text.strip("-0.,") else text.lstrip("-"))


def signed(value: float | None, digits: int = 3) -> str:
    """A delta: the sign is that of the exact number, so `+0.000` is above zero, `0.000` is zero."""
    if value is None:
        return DASH
    sign = "" if value == 0 else "+" if value > 0 else MINUS
    return f"{sign}{abs(value):,.{digits}f}"


def ratio(log_ratio: float | None, digits: int = 2) -> str:
    """A delta on the log scale, as the factor it means: `×1.12`."""
    if log_ratio is None:
        return DASH
    # Beyond this float64 has no exp; the reader only needs to know that it is huge.
    return f"×{math.exp(min(log_ratio, 700.0)):,.{digits}f}"


def probability(p: float | None) -> str:
    """A p-value with two significant digits, four where two would hide the side of 0.05."""
    if p is None:
        return DASH
    if p < 1e-4:
        return "<0.0001"
    if p >= 0.995:
        return "1" if p == 1 else ">0.99"
    digits = 4 if p != 0.05 and abs(p - 0.05) < 0.0005 else 2
    return f"{p:#.{digits}g}"


def amount(value: float | None, unit: str, digits: int = 3) -> str:
    """A value in the unit of its metric: fractions and signed scores plainly, others with unit."""
    if value is None:
        return DASH
    if unit == "signed":
        return signed(value, digits)
    if unit == "milliseconds":
        return f"{decimal(value, 0)}{NBSP}ms"
    if unit == "usd":
        return f"${decimal(value, 4)}"
    if unit in {"count", "tokens"}:
        return decimal(value, 1)
    return decimal(value, digits)


def count(n: int, one: str, many: str = "") -> str:
    """`1 item`, `2 items`."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def listed(names: list[str], most: int = 4) -> str:
    """`a`, `a and b`, `a, b and c`; past `most` the rest is counted."""
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def minus(text: str) -> str:
    """The same number with a true minus sign."""
    return text.replace("-", MINUS)


def counted_line(n_expected: int, n_results: int, n_errored: int, samples_n: int) -> str:
    """`118 of 120 results counted (60 items × 2 samples)`: errored results are not counted.

    Args:
        n_expected: Active items times samples.
        n_results: Results with a row.
        n_errored: Rows among them that are a provider error.
        samples_n: Samples per item.
    """
    return (
        f"{n_results - n_errored:,} of {n_expected:,} results counted "
        f"({count(n_expected // samples_n, 'item')} × {count(samples_n, 'sample')})"
    )


def shortened(text: str, longest: int = 200) -> str:
    """The beginning of a text of others, and how much was left out."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]} … ({len(text) - longest:,} more characters)"


def dotted(line: str) -> str:
    """A line whose parts stand two spaces apart, for pages that fold spaces: ` · ` between them."""
    return line.replace("  ", " · ")
