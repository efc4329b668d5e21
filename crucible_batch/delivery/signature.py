"""Signatures of Standard Webhooks 1.0: HMAC-SHA256 over id, time and body.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime

PREFIX = "whsec_"
LEAST_BYTES, MOST_BYTES = 24, 64


def read_secrets(text: str) -> tuple[bytes, ...]:
    """Read the secrets of an endpoint.

    Args:
        text: One secret, `whsec_` and base64 of 24 to 64 bytes; during a rotation the new and the
            old one, separated by white space.

    Returns:
        The keys, in that order.

    Raises:
        ValueError: There is none, or one is not written like that; the message never quotes it.
    """
    parts = text.split()
    if not parts:
        raise ValueError("it is empty")
    return tuple(_key(part, number) for number, part in enumerate(parts, start=1))


def signature(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """Sign one message.

    Args:
        key: Key of the endpoint.
        message_id: The `webhook-id`.
        timestamp: Time of the try, in seconds since 1970.
        body: The bytes that are sent.

    Returns:
        `v1,` and the base64 of the HMAC-SHA256 over `id.timestamp.body`.
    """
    signed = b".".join((message_id.encode(), str(timestamp).encode(), body))
    mac = hmac.new(key, signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(mac).decode()}"


def signed_headers(
    keys: Sequence[bytes], message_id: str, moment: datetime, body: bytes
) -> dict[str, str]:
    """The three headers of a try; every key signs, so a receiver may know any of them."""
    timestamp = int(moment.timestamp())
    signatures = [signature(key, message_id, timestamp, body) for key in keys]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signatures),
    }


def _key(text: str, number: int) -> bytes:
    which = f"secret {number}"
    if not text.startswith(PREFIX):
        raise ValueError(f"{which} does not begin with {PREFIX}")
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError(f"{which} is not base64 after {PREFIX}") from None
    if not LEAST_BYTES <= len(key) <= MOST_BYTES:
        raise ValueError(f"{which} has {len(key)} bytes, not {LEAST_BYTES} to {MOST_BYTES}")
    return key
