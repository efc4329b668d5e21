"""Three runs over forty items, and gates over them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench import JUDGE, Bench, item, result

from crucible_batch.assemble.gate import GateRun, run_gate
from crucible_batch.assemble.load import load_run

N = 40
IDS = [f"q{n:02}" for n in range(N)]
ACCURACY = '[[rules]]\nid = "r"\nkind = "regression"\nmetric = "accuracy"\n'
RANKING = '[[rules]]\nid = "n"\nkind = "regression"\nmetric = "retrieval_hit_rate"\n'
FLOOR = '[[rules]]\nid = "f"\nkind = "floor"\nmetric = "accuracy"\nfloor = 0.3\n'
MUST = '[[rules]]\nid = "m"\nkind = "must_pass"\ntag = "core"\n'
QUICK = "[scoring]\nks = [10]\n[statistics]\nn_resamples = 1000\n"
ALERT = '[[rules]]\nid = "a"\nkind = "no_open_alert"\n'


def results(n_right: int, *, ids: list[str] = IDS, **more: Any) -> list[dict[str, Any]]:
    """The first so many items are answered rightly, with their document found."""
    return [
        result(
            q,
            f"d-{q}" if n < n_right else "other",
            verdict="supported" if n < n_right else "missing",
            **more,
        )
        for n, q in enumerate(ids)
    ]


def finished(bench: Bench, run: str, at: str, *rows: dict[str, Any]) -> None:
    """Load a run that succeeded at this time of 2026-03-01."""
    header = {
        "run_id": run,
        "golden_set": "g",
        "judge": {"judge": JUDGE},
        "status": "succeeded",
        "occurred_at": f"2026-03-01T{at}:00Z",
    }
    load_run(bench.store, [bench.file({"run": header}, *rows)])


def scored_runs(folder: Path) -> Path:
    """Forty items; `good` has 36 right, `same` as well, `bad` 20."""
    bench = Bench(folder)
    bench.golden(
        *[
            item(
                q,
                must=1,
                required=(f"d-{q}",),
                shape="lookup" if n % 2 else "privacy",
                tags=["core"] if n < 2 else ["far"],
            )
            for n, q in enumerate(IDS)
        ]
    )
    bench.settings(QUICK)
    for run, n_right in (("good", 36), ("same", 36), ("bad", 20)):
        finished(bench, run, "10:00", *results(n_right))
    for run in ("good", "same", "bad"):
        bench.score(run)
    return bench.store.root


class Gates:
    """A store of one's own, and gates over it."""

    def __init__(self, folder: Path, template: Path) -> None:
        self.bench = Bench(folder, template)
        self.path = folder / "gate.toml"

    def write(self, text: str) -> Path:
        self.path.write_text(text, encoding="utf-8")
        return self.path

    def run(self, text: str, candidate: str, baseline: str, **more: Any) -> GateRun:
        return run_gate(self.bench.store, "default", candidate, baseline, self.write(text), **more)

    def outcomes(self, done: GateRun) -> dict[str, str]:
        return {one.rule_id: one.outcome for one in done.verdict.results}
