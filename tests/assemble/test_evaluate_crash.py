"""A crash at any moment of a scoring or comparison ends in the same bytes."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import score_store
from bench import Bench, derived, item, result

from crucible_batch.contracts import TABLES
from crucible_batch.store import Store, durable
from crucible_batch.store.doctor import diagnose

IDS = [f"q{n:02}" for n in range(20)]


class Crash(BaseException):
    """The end of a process."""


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    """Runs a and b, scored and compared; then a judgment changed the ruler."""
    bench = Bench(tmp_path_factory.mktemp("template"))
    bench.golden(*[item(q, must=1) for q in IDS])
    bench.qrels(*[(q, f"d-{q}", 3) for q in IDS])
    for run_id, n_right in (("a", 5), ("b", 11)):
        rows = [
            result(q, f"d-{q}", verdict="supported" if n < n_right else "missing")
            for n, q in enumerate(IDS)
        ]
        bench.run(run_id, *rows)
    score_store.work(bench.store.root, ["a", "b"])
    bench.qrels(("q03", "x", 2))
    return bench.store.root


@pytest.fixture(scope="module")
def right(template, tmp_path_factory) -> tuple:
    """What an undisturbed scoring leaves."""
    root = tmp_path_factory.mktemp("right") / "store"
    shutil.copytree(template, root)
    score_store.work(root, ["a", "b"])
    return left_by(root)


def left_by(root: Path) -> tuple:
    """Bytes under marts and variants, and the rows that scoring appends, without times."""
    store = Store.open(root)
    rows = [
        store.table(table)
        .drop("_commit", "created_at", strict=False)
        .sort(TABLES[table].key)
        .collect()
        for table in ("evaluations", "eval_feedback")
    ]
    return derived(root / "default"), *[frame.to_dicts() for frame in rows]


@pytest.mark.parametrize(
    "moment", [0, 5, 13, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 4, 6, 9, 12))]
)
def test_a_crash_at_any_rename_is_finished_by_the_next_command(
    template, right, tmp_path, monkeypatch, moment
):
    """Six files of a, six of b, two of the comparison; the first `moment` of them are moved."""
    root = tmp_path / "store"
    shutil.copytree(template, root)
    moved, replace = [], durable.replace

    def replaced(source, target):
        if "/marts/" in str(target) and not target.name.startswith("_"):
            if len(moved) == moment:
                raise Crash
            moved.append(target)
        replace(source, target)

    opened = []
    real_open = Store.open
    with monkeypatch.context() as patch:
        patch.setattr(durable, "replace", replaced)
        patch.setattr(Store, "open", lambda *a: opened.append(real_open(*a)) or opened[-1])
        with pytest.raises(Crash):
            score_store.work(root, ["a", "b"])
    _end(opened[0])
    score_store.work(root, ["a", "b"])
    assert left_by(root) == right
    workspace = Store.open(root).workspace("default")
    assert [found.what for found in diagnose(workspace) if found.level == "error"] == []
    assert workspace.pending_moves() == ()


def _end(store: Store) -> None:
    """Give up what the store's process holds, as its end does."""
    for descriptor in store.workspace("default").staging._held.values():
        os.close(descriptor)


def scoring(template: Path, root: Path) -> subprocess.Popen[str]:
    """A process that begins to score a copy of the template now."""
    shutil.copytree(template, root)
    process = subprocess.Popen(
        [sys.executable, score_store.__file__, root, "a", "b"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.slow
def test_kills_at_random_moments_end_in_the_same_bytes(template, right, tmp_path):
    process, began = scoring(template, tmp_path / "peaceful"), time.monotonic()
    process.communicate()
    working = time.monotonic() - began
    assert process.returncode == 0
    rng = random.Random(3)
    n_cut = 0
    for number in range(14):
        root = tmp_path / f"store-{number}"
        process = scoring(template, root)
        time.sleep(rng.uniform(0.0, 0.8 * working))
        process.kill()
        process.communicate()
        n_cut += process.returncode < 0
        score_store.work(root, ["a", "b"])
        assert left_by(root) == right
        shutil.rmtree(root)
    assert n_cut >= 10
