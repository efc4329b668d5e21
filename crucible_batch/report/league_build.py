"""Tables of many runs in, the model of a league page out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from crucible_batch.report import words
from crucible_batch.report.blocked import Reasons, mark, reasons
from crucible_batch.report.facts import KPIS, Catalog, badge, gaps
from crucible_batch.report.figures import Badge, Fact, Figure
from crucible_batch.report.league import Cell, Entry, League
from crucible_batch.report.league_inputs import LeagueInputs
from crucible_batch.report.league_order import Ordered, key_metric, order_text, ordered
from crucible_batch.report.lines import Row, delta_text, interval_text

GROUNDS = ("Golden set", "Ruler", "Judge", "Evaluation")
NO_PAIRS = Badge("■", "no shared item", "warn")
HASH = 12
"""Characters of a hash that tell two apart."""

CAVEAT = (
    "A rank is that of the mean. Where intervals overlap, the order may be chance: "
    "compare the two runs with each other before you choose."
)
MEANS = "Values are of all results of a run, deltas of the items measured in both runs."


def build_league(inputs: LeagueInputs) -> League:
    """Make the model of a league page.

    Numbers are taken from the tables as they are and only formatted; nothing is measured here.

    Args:
        inputs: The tables, in the shape of their contracts.

    Returns:
        The model that `league_html`, `league_markdown` and `league_json` print.
    """
    catalog, numbers = Catalog(inputs.metric_catalog), inputs.numbers()
    key = key_metric(numbers)
    title, uses_judge = catalog.title(key), bool(catalog[key].get("uses_judge"))
    values = {one: _mean(numbers.get((one, key))) for one in inputs.run_ids}
    order = ordered(
        inputs.by_run("evaluations"),
        values,
        title=title,
        uses_judge=uses_judge,
        baseline=inputs.baseline_run_id,
    )
    entries = _Entries(inputs, catalog, numbers, order).all()
    return League(
        title=f"{words.count(len(inputs.run_ids), 'run')} by {title}",
        said=" ".join(filter(None, (_leader(entries, key, title), _verdicts(entries, key, title)))),
        baseline=inputs.baseline_run_id,
        key=key,
        key_title=title,
        order=order_text(title, len(order.ranks), uses_judge=uses_judge),
        metrics=tuple(map(catalog.title, headline(catalog))),
        entries=entries,
        notes=_notes(inputs),
        grounds=GROUNDS,
        provenance=_provenance(inputs),
    )


def headline(catalog: Catalog) -> tuple[str, ...]:
    """The columns of the page: the KPIs, then what else is headline, in catalog order."""
    declared = catalog.frame.filter(catalog.frame["headline"])["metric"]
    return (*KPIS, *(name for name in declared if name not in KPIS))


def _mean(row: Row | None) -> float | None:
    return None if row is None else row["mean"]


class _Entries:
    """The runs of a page, looked up by id."""

    def __init__(
        self,
        inputs: LeagueInputs,
        catalog: Catalog,
        numbers: Mapping[tuple[str, str], Row],
        order: Ordered,
    ) -> None:
        self._inputs, self._catalog, self._numbers, self._order = inputs, catalog, numbers, order
        self._runs, self._evaluations = inputs.by_run("runs"), inputs.by_run("evaluations")
        self._compared = inputs.compared()
        self._metrics = headline(catalog)

    def all(self) -> tuple[Entry, ...]:
        """Every run, in order."""
        return tuple(map(self._entry, self._order.run_ids))

    def _entry(self, run_id: str) -> Entry:
        run, made = self._runs[run_id], self._evaluations[run_id]
        cells = tuple(self._cell(run_id, metric) for metric in self._metrics)
        label, reason = run["label"], made["status_reason"]
        return Entry(
            rank=self._order.ranks.get(run_id),
            outside=self._order.outside.get(run_id, ""),
            run_id=run_id,
            label=words.shortened(label) if label and label != run_id else None,
            is_baseline=run_id == self._inputs.baseline_run_id,
            status=badge(words.STATUSES[made["status"]]),
            status_reason=reason and words.shortened(reason),
            counted=words.counted_line(
                made["n_expected"], made["n_results"], made["n_errored"], run["samples_n"]
            ),
            golden_set=run["golden_set"],
            against=_against(cells),
            cells=cells,
            rests_on=(
                f"{run['golden_set']} {made['golden_set_hash'].removeprefix('sha256:')[:HASH]}",
                made["ruler_hash"][:HASH],
                made["judge"] or words.DASH,
                made["evaluation_id"][:HASH],
            ),
        )

    def _cell(self, run_id: str, metric: str) -> Cell:
        row = self._numbers.get((run_id, metric))
        mean = _mean(row)
        low, high = (row["ci_low"], row["ci_high"]) if row else (None, None)
        ends = [words.amount(end, str(self._catalog[metric]["unit"])) for end in (low, high)]
        delta, delta_interval, verdict = self._against_baseline(run_id, metric)
        return Cell(
            metric=metric,
            value=self._catalog.figure(metric, mean),
            low=low,
            high=high,
            interval="" if low is None else f"[{', '.join(ends)}]",
            over=_over(row),
            label=row["ci_label"] if row and mean is not None and row["ci_label"] != "ok" else "",
            delta=delta,
            delta_interval=delta_interval,
            verdict=verdict,
        )

    def _against_baseline(
        self, run_id: str, metric: str
    ) -> tuple[Figure | None, str, Badge | None]:
        baseline = self._inputs.baseline_run_id
        if baseline is None or run_id == baseline:
            return None, "", None
        row = self._compared.get((run_id, metric))
        if row is None:
            return Figure(None, words.DASH), "", NO_PAIRS
        interval = interval_text(row, self._catalog[metric])
        return (
            Figure(row["delta"], delta_text(row, self._catalog[metric])),
            "" if interval == words.DASH else interval,
            badge(mark(row, self._reasons(run_id))),
        )

    def _reasons(self, run_id: str) -> Reasons:
        baseline = self._inputs.baseline_run_id or ""
        return reasons(self._evaluations[baseline], self._evaluations[run_id])


def _over(row: Row | None) -> str:
    """What a value is of; of a null, why it is null."""
    if row is None:
        return "not part of this evaluation"
    if row["mean"] is not None:
        return f"n {row['n_scored']:,}, {words.count(row['n_items'], 'item')}"
    return gaps(row) or "no result"


def _against(cells: tuple[Cell, ...]) -> str:
    """`2 improved, 1 regressed, 5 no significant change`: verdicts in the order of the metrics."""
    counts = Counter(cell.verdict.word for cell in cells if cell.verdict)
    return ", ".join(f"{n} {word}" for word, n in counts.most_common())


def _leader(entries: tuple[Entry, ...], key: str, title: str) -> str:
    """Who comes first, and how many have no place."""
    ranked = [entry for entry in entries if entry.rank is not None]
    n_left = len(entries) - len(ranked)
    left = f" {words.count(n_left, 'run')} cannot be ranked with them." if n_left else ""
    if not ranked:
        return f"No run can be ranked by {title}."
    first = [words.one_line(entry.run_id) for entry in ranked if entry.rank == 1]
    value = next(cell.value.text for cell in ranked[0].cells if cell.metric == key)
    of = words.count(len(ranked), "ranked run")
    verb = "has" if len(first) == 1 else "share"
    return f"{words.listed(first)} {verb} the highest {title} of {of}: {value}.{left}"


def _verdicts(entries: tuple[Entry, ...], key: str, title: str) -> str:
    """What became of the deciding metric against the baseline, counted over the runs."""
    found = [cell.verdict for entry in entries for cell in entry.cells if cell.metric == key]
    counts = Counter(verdict.word for verdict in found if verdict)
    if not counts:
        return ""
    each = [f"{n} {word}" for word, n in counts.most_common()]
    return f"{title} against the baseline: {', '.join(each)}."


def _notes(inputs: LeagueInputs) -> tuple[str, ...]:
    if inputs.baseline_run_id is None:
        return (CAVEAT,)
    n = len(inputs.run_ids) - 1
    if n == 1:
        return CAVEAT, MEANS
    chance = (
        f"p is adjusted over the headline metrics of a comparison, not over the {n:,} comparisons "
        f"of this page: if no run really differed, a verdict in up to {words.decimal(n / 20, 1)} "
        "of them would be chance."
    )
    return CAVEAT, MEANS, chance


def _provenance(inputs: LeagueInputs) -> tuple[Fact, ...]:
    """What all numbers depend on; where runs differ, every value."""
    made = inputs.evaluations
    columns = ("workspace_id", "qrel_source", "relevant_at", "granularity")
    facts = [
        Fact(name, words.listed(sorted({str(value) for value in made[name]})))
        for name in (*columns, "catalog_hash", "settings_hash")
    ]
    if not inputs.comparisons.is_empty():
        row = inputs.comparisons.row(0, named=True)
        facts.append(Fact("seed", str(row["seed"]), f"{row['n_resamples']:,} resamples"))
    if inputs.package_version:
        facts.append(Fact("crucible-batch", inputs.package_version))
    return tuple(facts)
