"""Signatures of Standard Webhooks 1.0, held against its vector and its reference library."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError

from crucible_batch.delivery.signature import read_secrets, signature, signed_headers

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + base64.b64encode(bytes(range(32))).decode()


def test_the_vector_of_the_specification_holds():
    (key,) = read_secrets(SECRET)
    found = signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(st.binary(min_size=24, max_size=64), st.text(max_size=40))
def test_the_reference_library_signs_alike(key, body):
    secret = "whsec_" + base64.b64encode(key).decode()
    moment = datetime(2026, 5, 1, 3, 4, 5, tzinfo=UTC)
    data = body.encode("utf-8", "replace").decode()
    headers = signed_headers(read_secrets(secret), "evt_1", moment, data.encode())
    assert headers["webhook-signature"] == Webhook(secret).sign("evt_1", moment, data)


def test_during_a_rotation_both_secrets_verify():
    body = b'{"a":1}'
    headers = signed_headers(read_secrets(f"{OTHER} {SECRET}"), "evt_1", datetime.now(UTC), body)
    for secret in (OTHER, SECRET):
        assert Webhook(secret).verify(body, headers) == {"a": 1}
    with pytest.raises(WebhookVerificationError):
        Webhook("whsec_" + base64.b64encode(bytes(24)).decode()).verify(body, headers)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "secret 1 does not begin with whsec_"),
        (f"{SECRET} whsec_!", "secret 2 is not base64"),
        ("whsec_c2hvcnQ=", "secret 1 has 5 bytes, not 24 to 64"),
    ],
)
def test_a_secret_that_is_none_is_refused_without_being_quoted(text, said):
    with pytest.raises(ValueError, match=said) as caught:
        read_secrets(text)
    assert all(part not in str(caught.value) for part in text.split() if part != "whsec_!")
