"""Anchors in a night: judged again after the gate, and what the night then says."""

from __future__ import annotations

from pathlib import Path

import pytest
from anchoring import CHAT, anchor, saying
from nights import Nights

from crucible_batch.assemble.anchors import add_anchors
from crucible_batch.assemble.nightly import watching
from crucible_batch.errors import UsageError


@pytest.fixture
def nights(tmp_path, judge_server) -> Nights:
    """A job with twenty anchors and a chat judge that supports all of them."""
    job = Nights(tmp_path)
    job.run("base", "01:00")
    store = job.night("2026-05-01").store
    (store.root / "crucible.toml").write_text(CHAT.format(url=judge_server.base_url))
    add_anchors(store, [job.write("anchors.jsonl", *[anchor(n) for n in range(20)])])
    judge_server.say = saying(lambda prompt: "supported")
    return job


def test_a_night_asks_the_judge_and_writes_where_it_stands(nights, judge_server):
    nights.run("one", "02:00")
    first = nights.do("2026-05-01T03:00:00Z")
    assert judge_server.n_requests == 200
    assert "calibrated on 20 anchors" in first.anchors[0]
    assert first.said.verdict == "warming_up"
    nights.run("two", "04:00")
    judge_server.say = saying(lambda prompt: "missing" if "shed 1" in prompt else "supported")
    second = nights.do("2026-05-01T05:00:00Z")
    assert judge_server.n_requests == 220
    assert second.said.verdict == "judge_changed"
    assert second.said.since == second.as_of
    assert "11 of 20 anchors flipped" in second.said.line
    rows = nights.night("2026-05-01").store.table("judge_drift", "default").collect()
    told = rows.sort("as_of").select("n_flips", "alarm", "attribution").rows()
    assert told == [(0, False, "none"), (11, True, "judge")]
    again = nights.do("2026-05-01T05:00:00Z")
    assert (again.is_repeat, again.said.verdict) == (True, "judge_changed")
    assert judge_server.n_requests == 220


def test_an_endpoint_that_refuses_does_not_end_the_night(nights, judge_server):
    nights.run("one", "02:00")
    judge_server.script(*["401"] * 400)
    done = nights.do("2026-05-01T03:00:00Z")
    assert (done.candidate, done.said.verdict) == ("one", "warming_up")
    assert "200 calls, 200 failed" in done.anchors[0]


def test_a_judge_without_an_address_is_told_before_anything_is_loaded(nights):
    nights.run("one", "02:00")
    night = nights.night("2026-05-01")
    (night.store.root / "crucible.toml").write_text('[judge]\nmodel = "m"\n')
    with pytest.raises(UsageError, match="endpoint is not known"):
        nights.do("2026-05-01T03:00:00Z")
    assert night.store.table("runs", "default").collect().is_empty()


def job_with_anchors(folder: Path) -> Nights:
    """A job whose anchors the offline judge judges."""
    job = Nights(folder)
    job.run("base", "01:00")
    job.run("one", "02:00")
    add_anchors(
        job.night("2026-05-01").store,
        [job.write("anchors.jsonl", *[anchor(n) for n in range(20)])],
    )
    return job


def marts(job: Nights) -> dict[str, bytes]:
    folder = job.root / "default" / "marts"
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.parquet"))}


@pytest.mark.slow
@pytest.mark.parametrize("step", ["judge_anchors", "watch_night"])
def test_a_night_that_died_around_the_anchors_ends_in_the_same_bytes(tmp_path, monkeypatch, step):
    peaceful, killed = (job_with_anchors(tmp_path / name) for name in ("peaceful", "killed"))
    peaceful.do("2026-05-01")
    whole = getattr(watching, step)

    def dies(*args, **how):
        if step == "judge_anchors":
            whole(*args, **how)
        raise KeyboardInterrupt

    monkeypatch.setattr(watching, step, dies)
    with pytest.raises(KeyboardInterrupt):
        killed.do("2026-05-01")
    monkeypatch.setattr(watching, step, whole)
    assert killed.do("2026-05-01").candidate == "one"
    assert marts(killed) == marts(peaceful)
    verdicts = killed.night("2026-05-01").store.table("anchor_verdicts", "default").collect()
    assert verdicts.height == 200


def test_a_job_without_anchors_says_nothing_of_them(tmp_path):
    job = Nights(tmp_path)
    job.run("base", "01:00")
    job.run("one", "02:00")
    done = job.do("2026-05-01")
    assert done.anchors == ()
    assert job.night("2026-05-01").store.table("judge_drift", "default").collect().is_empty()
