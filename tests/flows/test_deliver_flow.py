"""The flow that delivers does one pass, and fails when an endpoint cannot be sent to."""

from __future__ import annotations

import pytest
from outboxes import Nights
from receiver import Receiver

from crucible_batch.errors import UsageError


@pytest.fixture
def nights(tmp_path):
    receiver = Receiver()
    found = Nights(tmp_path)
    found.webhooks(receiver, "a")
    found.night(0.12)
    yield found
    receiver.close()


def test_the_flow_delivers_what_is_due(nights, prefect_home, monkeypatch, capsys):
    from outboxes import SECRET

    from flows.deliver_alerts import deliver_alerts

    monkeypatch.setenv("HOOK_SECRET", SECRET)
    assert deliver_alerts.fn(nights.store.root, "w") == {"ok": 1}
    assert "1 delivered" in capsys.readouterr().out
    assert deliver_alerts.fn(nights.store.root, "w") == {}


def test_the_flow_fails_when_a_secret_is_missing(nights, prefect_home):
    from flows.deliver_alerts import deliver_alerts

    with pytest.raises(UsageError, match="HOOK_SECRET holds no secret"):
        deliver_alerts.fn(nights.store.root, "w")
