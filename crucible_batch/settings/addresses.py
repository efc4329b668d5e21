"""Addresses of services as people write them in a settings file or an option."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit


def web_address(text: str) -> SplitResult:
    """Read an address that begins with http: or https:.

    Args:
        text: The address; may hold a secret, so no message quotes it.

    Raises:
        ValueError: It is none; the message goes on after the name of the setting.
    """
    # urlsplit would leave line feeds and tabs out, and read the rest.
    if re.search(r"[\x00-\x20\x7f-\xa0]", text):
        raise ValueError("holds a space or a control character")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise ValueError("cannot be read") from None
    usable = bool(parts.hostname) and "%" not in parts.netloc and port != 0
    if parts.scheme not in {"https", "http"} or not usable:
        raise ValueError("has to look like https://host/path")
    return parts


def allowed_host(entry: str) -> str:
    """Check a host name as an allow list holds it: ASCII, `hooks.example` or `hooks.example.`.

    Raises:
        ValueError: It is none.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?", entry):
        raise ValueError(f"{entry!r} is no host name, address or network")
    return entry
