"""`crucible nightly` killed with -9 and started again ends as if nothing had happened."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from crucible_batch.assemble.example import AS_OF, example_dir
from crucible_batch.contracts import TABLES, Storage
from crucible_batch.store import Store
from crucible_batch.store.doctor import diagnose

N_KILLS = 20
UNLIKE = ("created_at", "occurred_at", "_commit")
"""What may differ between two stores: when it was written, and where."""


def start(root: Path) -> subprocess.Popen[str]:
    """Start the nightly job on the example."""
    words = ["nightly", "--config", example_dir() / "nightly.toml", "--as-of", AS_OF]
    code = "from crucible_batch.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *words, "--root", root],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "CRUCIBLE_TRACEBACK": "1"},
    )


def ended(process: subprocess.Popen[str]) -> str:
    """Wait for a process that nobody kills; returns what it printed."""
    out, err = process.communicate(timeout=300)
    assert (process.returncode, err) == (0, "")
    return out


def derived(root: Path) -> dict[str, bytes]:
    """The bytes of every file that is derived from the lake."""
    workspace = root / "default"
    return {
        str(path.relative_to(workspace)): path.read_bytes()
        for folder in ("marts", "variants", "reports")
        for path in sorted((workspace / folder).rglob("*"))
        if path.is_file()
    }


def lake(root: Path) -> dict[str, pl.DataFrame]:
    """The rows of every lake table, by key, without what may differ."""
    snapshot = Store.open(root).workspace().snapshot()
    return {
        table.name: snapshot.read(table.name).sort(table.key).drop(UNLIKE, strict=False).collect()
        for table in TABLES.values()
        if table.storage in {Storage.EVENT, Storage.BULK}
    }


@dataclass(frozen=True)
class Peaceful:
    """A store that a night filled undisturbed; when its work began and ended, in seconds."""

    root: Path
    began: float
    ended: float


@pytest.fixture(scope="module")
def peaceful(tmp_path_factory: pytest.TempPathFactory) -> Peaceful:
    root = tmp_path_factory.mktemp("peaceful") / "store"
    Store.create(root)
    zero = time.monotonic()
    process = start(root)
    while not (root / "default").is_dir() and process.poll() is None:
        time.sleep(0.01)
    began = time.monotonic() - zero
    assert "done already" not in ended(process)
    return Peaceful(root, began, time.monotonic() - zero)


@pytest.mark.slow
def test_a_night_killed_at_random_moments_ends_in_the_same_bytes(tmp_path, peaceful):
    rng = random.Random(20_240_229)
    working = peaceful.ended - peaceful.began
    # A moment out of every twentieth of the work, in random order.
    moments = [peaceful.began + (n + rng.random()) / N_KILLS * working for n in range(N_KILLS)]
    rng.shuffle(moments)
    root, is_new = new_store(tmp_path), True
    while moments:
        process = start(root)
        try:
            _, err = process.communicate(timeout=moments[-1])
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            moments.pop()
            is_new = False
            continue
        # It ended before its moment: what was done had stayed done, so begin another store; or
        # the machine has become faster, so come earlier.
        assert (process.returncode, err) == (0, "")
        check(root, peaceful.root)
        moments[-1] *= 0.8 if is_new else 1
        root, is_new = new_store(tmp_path), True
    ended(start(root))
    check(root, peaceful.root)
    before = derived(root)
    assert "done already" in ended(start(root))
    assert derived(root) == before


def new_store(folder: Path) -> Path:
    root = folder / f"store{len(list(folder.iterdir()))}"
    Store.create(root)
    return root


def check(root: Path, peaceful: Path) -> None:
    """Compare a store with the one that was left in peace."""
    assert derived(root).keys() == derived(peaceful).keys()
    assert derived(root) == derived(peaceful)
    found, expected = lake(root), lake(peaceful)
    for name, rows in expected.items():
        assert found[name].equals(rows), name
    assert [f.what for f in diagnose(Store.open(root).workspace()) if f.level == "error"] == []
