"""A judged gate as Markdown, for a job summary or a pull request."""

from __future__ import annotations

from crucible_batch.assemble.gate.text import GLYPHS, about, flaky_line
from crucible_batch.assemble.gate.verdict import PASS, GateVerdict, RuleResult
from crucible_batch.report import words
from crucible_batch.report.markdown_text import plain

LIMIT = 900 * 1024
"""Most bytes of a page: a job summary of GitHub ends at 1 MiB, and a longer one is dropped."""

HEADER = ("| outcome | rule | metric | slice | observed | why |", "|---|---|---|---|---:|---|")


def gate_markdown(verdict: GateVerdict) -> str:
    """The outcome, then every rule: what is not a pass first, so that a cut loses passes only.

    At most `LIMIT` bytes; rules left out are counted, and stand in `gate_results`.
    """
    head = [
        f"## {GLYPHS[verdict.outcome]} gate {verdict.word}: {plain(verdict.candidate)}",
        "",
        f"**{plain(words.dotted(verdict.line))}**",
        "",
    ]
    if verdict.not_comparable is not None:
        head += [f"Not comparable: {plain(words.shortened(verdict.not_comparable, 2_000))}", ""]
    for line in verdict.notices:
        head += [f"! {plain(words.shortened(line, 2_000))}", ""]
    ordered = sorted(verdict.results, key=lambda one: (one.outcome == PASS, not one.counts))
    rows = [_row(one) for one in ordered]
    flaky = [f"- {plain(flaky_line(verdict, place))}" for place in range(len(verdict.flaky))]
    foot = ["", f"gate_id `{verdict.gate_id}`"]
    used = _size([*head, *HEADER, *foot]) + 200  # two sentences about what is left out
    kept_rows = _fitting(rows, LIMIT - used)
    kept_flaky = _fitting(flaky, LIMIT - used - _size(kept_rows) - 60)
    lines = [*head, *HEADER, *kept_rows]
    if len(kept_rows) < len(rows):
        lines += ["", f"{words.count(len(rows) - len(kept_rows), 'more rule')} in `gate_results`."]
    if flaky:
        lines += ["", "Flaky items (must-pass rules only):", "", *kept_flaky]
    if len(kept_flaky) < len(flaky):
        lines += ["", f"{words.count(len(flaky) - len(kept_flaky), 'more flaky item')}."]
    return "\n".join([*lines, *foot]) + "\n"


def _row(one: RuleResult) -> str:
    outcome = f"{GLYPHS[one.outcome]} {one.outcome}{'' if one.counts else ' (warn)'}"
    where = "" if one.slice_by in {None, "all"} else f"{one.slice_by} = {one.slice}"
    observed = words.DASH if one.observed is None else words.minus(f"{one.observed:.4g}")
    cells = [plain(one.rule_id), plain(one.metric or ""), plain(where)]
    why = plain(words.shortened(about(one), 2_000))
    return f"| {outcome} | {' | '.join(cells)} | {observed} | {why} |"


def _fitting(lines: list[str], room: int) -> list[str]:
    """The first lines that fit."""
    kept, used = [], 0
    for line in lines:
        used += _size([line])
        if used > room:
            break
        kept.append(line)
    return kept


def _size(lines: list[str]) -> int:
    return sum(len(f"{line}\n".encode()) for line in lines)
