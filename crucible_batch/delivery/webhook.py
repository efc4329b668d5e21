"""One try of one webhook: a signed POST to a checked address, and what came of it.

The body of an answer is not read: the status says everything, and nothing a receiver writes can
fill the memory, the log or the store. Redirects are not followed, and no proxy of the environment
is used, because either would lead past the check of the address.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache

import httpx

from crucible_batch.delivery.schedule import read_retry_after
from crucible_batch.delivery.signature import signed_headers
from crucible_batch.delivery.ssrf import (
    RefusedError,
    Resolve,
    checked_addresses,
    system_resolve,
)

GONE = 410
RESTING = frozenset({408, 429, 502, 503, 504})
"""Statuses that speak of the endpoint, not of the message."""

_SHOWN = 200


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """Where notices go.

    Attributes:
        name: Its name in the settings.
        url: Its address; may hold a secret, so it is never shown or stored.
        keys: Keys that sign, the newest first.
        allow: What may be sent to although it is not public; see `ssrf.checked_addresses`.
        allow_http: Whether the address may be without encryption.
        timeout_seconds: Longest time of one try, from resolving to the status.
    """

    name: str
    url: str = field(repr=False)
    keys: tuple[bytes, ...] = field(repr=False)
    allow: tuple[str, ...] = ()
    allow_http: bool = False
    timeout_seconds: float = 15.0


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came of a try.

    Attributes:
        status: HTTP status; None when there was none.
        error: What went wrong, without address or secret; None if it went well.
        retry_after: How long the receiver asks to be left alone.
        is_resting: The endpoint takes no message at all for now, not only not this one.
    """

    status: int | None = None
    error: str | None = None
    retry_after: timedelta | None = None
    is_resting: bool = False

    @property
    def is_ok(self) -> bool:
        """Whether the receiver took the message."""
        return self.error is None

    @property
    def is_gone(self) -> bool:
        """Whether the receiver wants no more messages."""
        return self.status == GONE


def send(
    endpoint: Endpoint,
    message_id: str,
    body: bytes,
    *,
    now: Callable[[], datetime],
    resolve: Resolve = system_resolve,
) -> Answer:
    """Send one message, once.

    Args:
        endpoint: Where to.
        message_id: The `webhook-id`, the same for every try.
        body: The bytes to sign and send.
        now: The clock.
        resolve: The resolver of host names.
    """
    headers = signed_headers(endpoint.keys, message_id, now(), body)
    headers["content-type"] = "application/json"
    try:
        response = asyncio.run(_within(endpoint, headers, body, resolve))
    except TimeoutError:
        wait = f"no answer within {endpoint.timeout_seconds:g} seconds"
        return Answer(error=wait, is_resting=True)
    except RefusedError as error:
        return Answer(error=str(error)[:_SHOWN], is_resting=True)
    except (httpx.HTTPError, ssl.SSLError) as error:
        return Answer(error=f"{type(error).__name__}: {error}"[:_SHOWN], is_resting=True)
    return understood(response.status_code, response.headers.get("retry-after"), now())


def understood(status: int, retry_after: str | None, now: datetime) -> Answer:
    """What an HTTP status means: 2xx is delivered, everything else is not."""
    if 200 <= status < 300:
        return Answer(status=status)
    wait = read_retry_after(retry_after, now)
    what = " (redirects are not followed)" if 300 <= status < 400 else ""
    return Answer(
        status=status,
        error=f"HTTP {status}{what}",
        retry_after=wait,
        is_resting=status in RESTING or wait is not None,
    )


async def _within(
    endpoint: Endpoint, headers: dict[str, str], body: bytes, resolve: Resolve
) -> httpx.Response:
    async with asyncio.timeout(endpoint.timeout_seconds):
        url = _checked_url(endpoint)
        port = url.port or (443 if url.scheme == "https" else 80)
        host = url.raw_host.decode("ascii")
        addresses = await checked_addresses(host, port, allow=endpoint.allow, resolve=resolve)
        client = httpx.AsyncClient(
            verify=_trusted() if url.scheme == "https" else False,
            trust_env=False,
            follow_redirects=False,
            timeout=httpx.Timeout(endpoint.timeout_seconds),
        )
        async with client:
            return await _first(client, url, [str(a) for a in addresses], headers, body)


@cache
def _trusted() -> ssl.SSLContext:
    """The certificate authorities of SSL_CERT_FILE or SSL_CERT_DIR, else those of certifi."""
    return httpx.create_ssl_context()


def _checked_url(endpoint: Endpoint) -> httpx.URL:
    try:
        url = httpx.URL(endpoint.url)
    except httpx.InvalidURL as error:
        raise RefusedError("the address is no URL") from error
    if url.scheme != "https" and not (url.scheme == "http" and endpoint.allow_http):
        raise RefusedError(f"the address begins with {url.scheme}:, not with https:")
    if not url.raw_host or url.userinfo:  # host would decode xn--, and fail where it cannot
        raise RefusedError("the address has no host, or a password in it")
    return url


async def _first(
    client: httpx.AsyncClient,
    url: httpx.URL,
    addresses: Sequence[str],
    headers: dict[str, str],
    body: bytes,
) -> httpx.Response:
    """Post to the first address that can be connected to, in the name of the host.

    Host header, SNI and the check of the certificate keep to the host of the URL.
    """
    named = headers | {"host": url.netloc.decode("ascii")}
    name = {"sni_hostname": url.raw_host.decode("ascii")}
    for number, address in enumerate(addresses, start=1):
        request = client.build_request(
            "POST", url.copy_with(host=address), headers=named, content=body, extensions=name
        )
        try:
            response = await client.send(request, stream=True)
        except httpx.ConnectError:
            if number == len(addresses):
                raise
        else:
            await response.aclose()
            return response
    raise RefusedError("the host has no address")
