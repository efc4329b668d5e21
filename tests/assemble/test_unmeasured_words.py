"""What was not measured is called so, and never printed as a zero."""

from __future__ import annotations

from datetime import UTC, datetime

from crucible_batch.assemble.anchors.status import drift_words
from crucible_batch.assemble.judge import Judged, judged_lines
from crucible_batch.watch.judge_drift import Drift, Wealth


def test_flips_without_a_noise_floor_have_no_p():
    drift = Drift(
        as_of=datetime(2026, 5, 1, tzinfo=UTC),
        n_anchors=20,
        n_failed=0,
        n_flips=3,
        f0=None,
        p_flip=None,
        wealth=Wealth(up=400.0),
        new_models=(),
    )
    assert drift_words(drift) == "3 of 20 anchors flipped (p not measured, e 200)"


def test_tokens_an_endpoint_does_not_count_are_unknown():
    done = Judged(
        judge="m@p",
        n_pool=1,
        n_there=0,
        n_kept_malformed=0,
        n_reused=0,
        n_calls=1,
        n_ok=1,
        prompt_tokens=10,
        completion_tokens=None,
    )
    told = judged_lines(done, dry_run=False)
    assert "1 judged, 0 malformed, 0 failed; 10 tokens in, unknown out, cost unknown" in told
