"""A store works in a folder whose name a glob or a shell would read otherwise."""

from __future__ import annotations

import json
from pathlib import Path

from crucible_batch.assemble.compare import compare_runs
from crucible_batch.assemble.load import load_golden, load_run
from crucible_batch.store import Store


def write(path: Path, lines: list[dict[str, object]]) -> Path:
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_brackets_stars_quotes_and_blanks_in_the_path_change_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "it's [a] *store?*"
    folder.mkdir()
    store = Store.create(folder / "s")
    items = [
        {"item_id": f"q{i}", "question": f"{i}?", "answerable": True,
         "citations": [{"doc_id": f"d{i}", "kind": "required"}]}
        for i in range(3)
    ]  # fmt: skip
    load_golden(store, [write(folder / "golden.jsonl", items)])
    for run in ("a", "b"):
        lines = [{"item_id": f"q{i}", "retrievals": [{"doc_id": f"d{i}"}]} for i in range(3)]
        load_run(store, [write(folder / f"{run}.jsonl", lines)], run=run)
    done = compare_runs(store, "default", "a", "b")
    hit = done.rows.filter(slice_by="all", metric="retrieval_hit_rate").row(0, named=True)
    assert (hit["mean_baseline"], hit["delta"], hit["n_pairs"]) == (1.0, 0.0, 3)
